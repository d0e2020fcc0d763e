"""The unit record, `unit-record/1`: what a unit is, its files with their digests, its counts. Immutable once written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from manifests.digests import SHA256_PATTERN, sha256_document
from manifests.documents import Document, validate_mapping
from manifests.errors import BeforehandError, NotInOrderError
from manifests.files import read_bytes
from manifests.jsonfile import dump_json, parse_json
from manifests.names import UnitId

DIGEST_KEY = "record_sha256"
RESTORE = (
    "unit records are never edited: restore the file, or remove it with the unit's files and import again"
)

Sha256 = Annotated[str, Field(pattern=SHA256_PATTERN)]
Revision = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]


class SystemIdentity(Document):
    """The model as it was evaluated; null where nothing was recorded."""

    name: str
    repo: str | None = None
    revision: Revision | None = None
    tree_sha256: Sha256 | None = None
    trained_from: str | None = None
    config_sha256: Sha256 | None = None
    checkpoint: str | None = None
    adapter: str | None = None
    tokenizer_sha256: Sha256 | None = None
    template_sha256: Sha256 | None = None
    unrecorded: str | None = None
    """Why no revision or hash exists."""


class BenchmarkIdentity(Document):
    """The problem set: n problems in a file with this digest."""

    name: str
    sha256: Sha256
    n: int = Field(ge=1)


class VerifierIdentity(Document):
    """Who judged: kind, pins as they were recorded, the configuration's digest."""

    kind: str
    pins: dict[str, str] = Field(default_factory=dict)
    config_sha256: Sha256 | None = None


class SourceFile(Document):
    """A file that rows were read from; only its name is kept, never its folder."""

    name: str
    bytes: int = Field(ge=0)
    sha256: Sha256


class Origin(Document):
    """How the rows came to be."""

    kind: Literal["pipeline", "import", "copy"]
    importer: str | None = None
    """`name@version` of the importer."""
    sources: tuple[SourceFile, ...] = ()
    map_sha256: Sha256 | None = None
    """Over RFC 8785 of the map that was used, guessed or given."""
    rows_read: int = Field(ge=0)
    rows_left_out: int = Field(ge=0, default=0)
    regraded: bool = False


class UnitFile(Document):
    """One file of the unit; `path` is relative to the unit's folder."""

    path: str
    bytes: int = Field(ge=0)
    sha256: Sha256


class Counts(Document):
    """Rows of one sampling. planned: problems x samples of the protocol; judged: with a verdict."""

    planned: int = Field(ge=0)
    got: int = Field(ge=0)
    judged: int = Field(ge=0)
    correct: int = Field(ge=0)

    @model_validator(mode="after")
    def _each_is_part_of_the_one_before(self) -> Counts:
        if not self.correct <= self.judged <= self.got:
            raise ValueError("counts must satisfy correct <= judged <= got")
        return self


class UnitRecord(Document):
    """`manifests/UNIT.json`, without its own digest.

    No pin and no status stands inside: where a unit lies and what is missing may change.
    """

    format: Literal["unit-record/1"]
    unit: str
    system: SystemIdentity
    benchmark: BenchmarkIdentity
    protocol: dict[str, JsonValue]
    """The protocol, whole and resolved."""
    prompts_sha256: Sha256 | None
    verifier: VerifierIdentity
    registration_sha256: Sha256 | None
    """Digest of the block that was frozen when the rows were made or imported; null: nothing was frozen."""
    job_ids: tuple[str, ...] = ()
    origin: Origin
    files: tuple[UnitFile, ...]
    counts: dict[str, Counts]
    deviations: tuple[str, ...] = ()
    """Verbatim."""

    @field_validator("unit")
    @classmethod
    def _unit_is_an_id(cls, unit: str) -> str:
        try:
            UnitId.parse(unit)
        except BeforehandError as err:
            raise ValueError(err.what) from err
        return unit

    @property
    def unit_id(self) -> UnitId:
        """The unit's name, parsed."""
        return UnitId.parse(self.unit)


def record_sha256(record: UnitRecord) -> str:
    """Digest over RFC 8785 of the record; what pins and reports name."""
    return sha256_document(record.model_dump(mode="json"))


def record_bytes(record: UnitRecord) -> bytes:
    """The record's file: its content and, as `record_sha256`, the digest of the content."""
    return dump_json({**record.model_dump(mode="json"), DIGEST_KEY: record_sha256(record)})


def read_record(path: Path) -> UnitRecord:
    """Load one record; a byte that is not as it was written is found, by the digest or by the layout."""
    data = read_bytes(path)
    raw = parse_json(data, where=str(path))
    if not isinstance(raw, dict):
        raise BeforehandError("is no unit record", where=str(path), mend=RESTORE)
    stated = raw.pop(DIGEST_KEY, None)
    record = validate_mapping(UnitRecord, raw, where=str(path))
    if stated != record_sha256(record):
        what = f"its content has the digest {record_sha256(record)}, its {DIGEST_KEY} is {stated!r}"
        raise NotInOrderError(what, where=str(path), mend=RESTORE)
    if data != record_bytes(record):
        raise NotInOrderError("is not laid out as it was written", where=str(path), mend=RESTORE)
    return record
