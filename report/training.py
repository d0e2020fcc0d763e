"""What a training run left behind that a validity rule asks for: its problems, and the digests of what was read back.

`training/SYSTEM/problems.jsonl` has one line a training problem with `problem_id` and, where known, `statement`;
`training/SYSTEM/read_back.json` is `read-back/1`. SYSTEM is the table of the design that declares the system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from manifests.digests import SHA256_PATTERN
from manifests.documents import Document, findings_of
from manifests.errors import Finding, FindingsError
from manifests.jsonlines import parse_json_lines

FOLDER = "training"


class ReadBackRecord(Document):
    """Written after the training rows: the digest of what was written, and of what was read from disk afterwards."""

    format: Literal["read-back/1"]
    rows: Annotated[int, Field(ge=0)]
    written_sha256: Annotated[str, Field(pattern=SHA256_PATTERN)]
    read_sha256: Annotated[str, Field(pattern=SHA256_PATTERN)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemNames:
    """Ids and statements, the latter with their white space made equal."""

    ids: frozenset[str]
    statements: Mapping[str, str]
    """statement -> id"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingEvidence:
    """By system: training problems and read-back records; by benchmark: its problems."""

    problems: Mapping[str, ProblemNames]
    read_backs: Mapping[str, ReadBackRecord]
    benchmarks: Mapping[str, ProblemNames]

    def overlap(self, system: str, benchmark: str) -> tuple[str, ...] | None:
        """Ids of benchmark problems that were trained on; None where either side is not recorded."""
        trained, asked = self.problems.get(system), self.benchmarks.get(benchmark)
        if trained is None or asked is None:
            return None
        shared = trained.ids & asked.ids
        shared |= {asked.statements[one] for one in asked.statements.keys() & trained.statements.keys()}
        return tuple(sorted(shared))

    def read_back(self, system: str) -> ReadBackRecord | None:
        """The record of the system's training data; None where there is none."""
        return self.read_backs.get(system)

    def missing(self, system: str, name: str) -> str:
        """What is not recorded, and where it would stand."""
        return f"nothing is recorded: {FOLDER}/{system}/{name} does not exist"


def parse_problem_names(data: bytes, *, where: str) -> ProblemNames:
    """Ids and statements of a problem file; a line without `problem_id` is an error."""
    lines = parse_json_lines(data, where=where)
    if lines.findings:
        raise FindingsError("is no list of problems", lines.findings, where=where)
    nameless = tuple(
        Finding(where=f"{where}:{line.number}", what="problem_id is missing or no string")
        for line in lines.records
        if not _is_name(line.value.get("problem_id"))
    )
    if nameless:
        raise FindingsError("is no list of problems", nameless, where=where)
    return _names([line.value for line in lines.records])


def parse_read_back(data: bytes, *, where: str) -> ReadBackRecord:
    """The record in `data`."""
    try:
        return ReadBackRecord.model_validate_json(data)
    except ValidationError as err:
        raise FindingsError("is no read-back record", findings_of(err), where=where) from err


def _is_name(problem_id: object) -> bool:
    return isinstance(problem_id, str) and problem_id != ""


def _names(records: Sequence[Mapping[str, object]]) -> ProblemNames:
    ids: set[str] = set()
    statements: dict[str, str] = {}
    for record in records:
        name, statement = str(record.get("problem_id")), record.get("statement")
        ids.add(name)
        if isinstance(statement, str):
            statements.setdefault(" ".join(statement.split()), name)
    return ProblemNames(ids=frozenset(ids), statements=statements)
