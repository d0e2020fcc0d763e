"""`registration.json`, `registration/1`: what freeze recorded, once. Standard library only, so that verify runs anywhere.

`witness`, `git`, `acknowledged` and `succeeds` are null where nothing was recorded: a null witness means that nobody looked
for existing data, not that there were none. What stands inside them is read by `Witness.read`, `GitState.read` and
`Succession.read`; here they are only kept whole, under the record's digest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from manifests.digests import sha256_bytes, sha256_document
from manifests.errors import BeforehandError, Finding
from manifests.files import read_bytes, sync_folder
from manifests.jsonfile import dump_json, parse_json
from prereg.strict import DamagedRecordError, Fields

FORMAT = "registration/1"
FILE_NAME = "registration.json"
DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
MEND = "restore it from version control: freeze writes it once and nothing ever rewrites it"


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedFile:
    """A file that the design names. path: POSIX, relative to the study."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """The record, key for key. frozen_text: the block; frozen_at: UTC by the clock of the machine that froze."""

    study: str
    block_sha256: str
    frozen_text: str
    frozen_at: str
    tool: str
    pinned: tuple[PinnedFile, ...]
    acknowledged: str | None = None
    witness: Mapping[str, object] | None = None
    git: Mapping[str, object] | None = None
    succeeds: Mapping[str, object] | None = None

    @property
    def record_sha256(self) -> str:
        """Digest over RFC 8785 of the record without this key."""
        return sha256_document(_document(self))

    def dump(self) -> bytes:
        """The file's bytes."""
        return self.dump_with(self.record_sha256)

    def dump_with(self, record_sha256: str) -> bytes:
        """The file's bytes, for a digest that is known already: it takes most of the time of a verification."""
        return dump_json({**_document(self), "record_sha256": record_sha256})


def _document(registration: Registration) -> dict[str, object]:
    return {
        "format": FORMAT,
        "study": registration.study,
        "block_sha256": registration.block_sha256,
        "frozen_text": registration.frozen_text,
        "frozen_at": registration.frozen_at,
        "tool": registration.tool,
        "pinned": [{"path": file.path, "sha256": file.sha256} for file in registration.pinned],
        "acknowledged": registration.acknowledged,
        "witness": registration.witness,
        "git": registration.git,
        "succeeds": registration.succeeds,
    }


def read_registration(path: Path) -> Registration:
    """Load the record. Raises DamagedRecordError when it is not, byte for byte, what freeze writes."""
    return parse_registration(read_bytes(path), where=path.name)


def parse_registration(data: bytes, *, where: str) -> Registration:
    """The record in `data`, strictly: known keys, its own digest, the digest of the text it keeps, and its layout."""
    try:
        fields = Fields(parse_json(data, where=where), "")
    except (BeforehandError, RecursionError) as err:
        raise DamagedRecordError((Finding(where="", what=_reason(err)),), where=where) from err
    registration = Registration(
        study=fields.text("study"),
        block_sha256=fields.sha256("block_sha256"),
        frozen_text=fields.text("frozen_text"),
        frozen_at=fields.text("frozen_at"),
        tool=fields.text("tool"),
        pinned=tuple(_pinned(one) for one in fields.objects("pinned")),
        acknowledged=fields.optional_text("acknowledged"),
        witness=fields.mapping("witness"),
        git=fields.mapping("git"),
        succeeds=fields.mapping("succeeds"),
    )
    if fields.text("format") != FORMAT:
        fields.wrong("format", f"is not {FORMAT}")
    if not is_moment(registration.frozen_at):
        fields.wrong("frozen_at", "is no time in UTC")
    recorded = fields.sha256("record_sha256")
    fields.finish()
    if not fields.findings:
        _check_digests(fields, registration, recorded, data)
    if fields.findings:
        raise DamagedRecordError(tuple(fields.findings), where=where)
    return registration


def is_moment(text: str) -> bool:
    """True for a time as the records write it: `2026-08-26T12:00:00Z`, of a day that its month can have."""
    match = re.fullmatch(r"\d{4}-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", text, re.ASCII)
    return match is not None and 1 <= int(match[1]) <= 12 and 1 <= int(match[2]) <= DAYS[int(match[1]) - 1]


def _pinned(fields: Fields) -> PinnedFile:
    file = PinnedFile(path=fields.text("path"), sha256=fields.sha256("sha256"))
    fields.finish()
    return file


def _check_digests(fields: Fields, registration: Registration, recorded: str, data: bytes) -> None:
    if sha256_bytes(registration.frozen_text.encode("utf-8", "surrogatepass")) != registration.block_sha256:
        fields.wrong("frozen_text", "does not have the digest block_sha256")
    try:
        if registration.record_sha256 != recorded:
            fields.wrong("record_sha256", "is not the digest of the record")
        elif registration.dump_with(recorded) != data:
            fields.wrong("", "is not laid out as freeze wrote it")
    except (ValueError, UnicodeEncodeError) as err:
        fields.wrong("", f"holds text that freeze cannot have written: {err}")


def _reason(err: Exception) -> str:
    return err.what if isinstance(err, BeforehandError) else "is nested too deeply"


def write_once(path: Path, data: bytes) -> None:
    """`path` holds `data`, whole and on disk; an existing file is never replaced, not even by two processes at once."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.link(partial, path)
        sync_folder(path.parent)
    except FileExistsError as err:
        raise BeforehandError("exists already", where=str(path), mend="it is written once") from err
    except OSError as err:
        mend = "the folder must be writable and on a file system with hard links"
        raise BeforehandError(f"cannot be written: {err.strerror}", where=str(path), mend=mend) from err
    finally:
        partial.unlink(missing_ok=True)
