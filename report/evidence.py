"""Evidence: everything of a study that a report is computed from, read once, each file with its digest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from ledger.book import Ledger, parse_ledger
from ledger.layout import empty_ledger
from manifests.digests import sha256_bytes
from manifests.errors import Finding, FindingsError, NotInOrderError
from manifests.files import read_bytes
from manifests.names import UnitId
from manifests.records import UnitRecord
from manifests.roster import RosterEntry, check_overrides, roster
from manifests.rows import ROWS_FILE, read_rows
from manifests.stores import LocalStore, check_files, load_record
from manifests.study import Study
from prereg.block import find_block
from prereg.decisions import DecisionLog, parse_decisions
from prereg.design import Design
from prereg.methods import PairedBootstrap
from prereg.plan import differences_from_plan, parse_block_design, plan_problems
from prereg.registration import FILE_NAME, Registration, parse_registration
from prereg.verification import Verification
from prereg.verify import verify
from prereg.witness import Witness
from report.samples import COLUMNS


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """One file that the report depends on. path: relative to the study, POSIX."""

    path: str
    kind: str
    """registration, data, ledger or text."""
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitEvidence:
    """A unit that is there, whole: its record, the columns of its rows that the report reads, its digests.

    findings: where its identity is not the planned one.
    """

    record: UnitRecord
    record_sha256: str
    rows: pa.Table
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a study holds at the moment of a build."""

    study: Study
    verification: Verification
    design: Design
    block_text: str
    registration: Registration | None
    """The freeze record; None where nothing is frozen or the record does not hold."""
    witness: Witness | None
    """Where freeze looked for data, and what it found; None where no witness is recorded."""
    decisions: DecisionLog
    ledger: Ledger
    roster: tuple[RosterEntry, ...]
    units: Mapping[UnitId, UnitEvidence]
    strata: Mapping[tuple[str, str], Mapping[str, str]]
    """(benchmark, field of its problem file) -> problem id -> label."""
    inputs: tuple[InputFile, ...]
    findings: tuple[Finding, ...]
    """What is wrong with the evidence but does not stop a report: a broken ledger chain, an override without decision."""


def load_evidence(study: Study) -> Evidence:
    """Read and check everything. Raises when a unit that is there is damaged: no number comes from such rows."""
    reader = _Reader(study)
    verification = verify(study.root)
    registration = reader.read("PREREGISTRATION.md", "text")
    record = _freeze_record(reader, verification)
    block_text = (
        record.frozen_text
        if record
        else find_block(registration, where="PREREGISTRATION.md").raw.decode("utf-8")
    )
    design = parse_block_design(block_text, where="the block of PREREGISTRATION.md")
    decisions = parse_decisions(reader.read("DECISIONS.md", "text", missing=b""), where="DECISIONS.md")
    ledger = parse_ledger(
        reader.read("ledger.csv", "ledger", missing=empty_ledger()), study_name=study.config.name
    )
    store = LocalStore(study.root)
    found = store.unit_ids()
    planned = [entry.unit for entry in design.planned_units()]
    unplanned = [unit for unit in found if unit not in set(planned)]
    units = {unit: _load_unit(reader, store, design, unit) for unit in found if unit in set(planned)}
    return Evidence(
        study=study,
        verification=verification,
        design=design,
        block_text=block_text,
        registration=record,
        witness=Witness.read(record.witness, where=FILE_NAME)
        if record and record.witness is not None
        else None,
        decisions=decisions,
        ledger=ledger,
        roster=roster(planned, found, study.config.roster),
        units=units,
        strata=_load_strata(reader, design),
        inputs=reader.inputs,
        findings=(
            *verification.findings,
            *decisions.findings,
            *ledger.findings,
            *check_overrides(planned, found, study.config.roster, decisions.ids),
            *(
                Finding(where=str(unit), what="the design plans no such unit; it is left out")
                for unit in unplanned
            ),
        ),
    )


def _freeze_record(reader: _Reader, verification: Verification) -> Registration | None:
    if verification.expected is None:
        return None
    return parse_registration(reader.read(FILE_NAME, "registration"), where=FILE_NAME)


def _load_unit(reader: _Reader, store: LocalStore, design: Design, unit: UnitId) -> UnitEvidence:
    record, record_sha256 = load_record(store, unit)
    reader.read(f"manifests/{unit}.json", "data")
    damage = check_files(store, record)
    if damage:
        raise DamagedEvidenceError(
            "the unit is not what its record says, so nothing is computed from it",
            damage,
            where=str(unit),
            mend="restore its files, or remove record and files and import it again",
        )
    for file in record.files:
        reader.note(f"units/{unit}/{file.path}", "data", size=file.bytes, sha256=file.sha256)
    return UnitEvidence(
        record=record,
        record_sha256=record_sha256,
        rows=read_rows(store.folder(unit) / ROWS_FILE, COLUMNS),
        findings=differences_from_plan(design, record),
    )


def _load_strata(reader: _Reader, design: Design) -> dict[tuple[str, str], Mapping[str, str]]:
    """The labels that stratified tests ask for; every problem file is an input, asked for or not."""
    strata: dict[tuple[str, str], Mapping[str, str]] = {}
    for _, benchmark in sorted(design.benchmarks.items()):
        if (reader.root / benchmark.problems).exists():
            reader.read(benchmark.problems, "data")
    for endpoint in design.endpoints.values():
        field = endpoint.test.strata if isinstance(endpoint.test, PairedBootstrap) else None
        key = (endpoint.benchmark, field or "")
        if field is not None and key not in strata:
            problems = plan_problems(design, endpoint.benchmark, reader.root, strata_field=field)
            strata[key] = dict(zip(problems.ids, problems.strata or (), strict=True))
    return strata


class DamagedEvidenceError(NotInOrderError, FindingsError):
    """Bytes are not what their digest says: exit code 1."""


class _Reader:
    """Reads files of the study and keeps the digest of each."""

    def __init__(self, study: Study) -> None:
        self.root = study.root
        self._inputs: dict[str, InputFile] = {}
        self.read("study.toml", "text")

    @property
    def inputs(self) -> tuple[InputFile, ...]:
        return tuple(self._inputs[path] for path in sorted(self._inputs))

    def read(self, path: str, kind: str, *, missing: bytes | None = None) -> bytes:
        if missing is not None and not (self.root / path).exists():
            return missing
        data = read_bytes(self.root / path)
        self.note(path, kind, size=len(data), sha256=sha256_bytes(data))
        return data

    def note(self, path: str, kind: str, *, size: int, sha256: str) -> None:
        self._inputs[path] = InputFile(path=path, kind=kind, bytes=size, sha256=sha256)
