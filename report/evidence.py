"""Evidence: everything of a study that a report is computed from, read once, each file with its digest."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

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
from manifests.stores import Store, check_files, load_record, open_store
from manifests.study import Study
from prereg.block import BEGIN, END, find_block
from prereg.decisions import DecisionLog, parse_decisions
from prereg.design import Design
from prereg.effective import EffectiveDesign, effective_design
from prereg.plan import differences_from_plan, plan_problems
from prereg.registration import FILE_NAME, Registration, parse_registration
from prereg.seals import FILE_NAME as SEALS_FILE
from prereg.timestamp import FILE_NAME as TIMESTAMP_FILE
from prereg.verification import Verification
from prereg.verify import verify
from prereg.witness import Witness
from report.aggregate import Label
from report.inputs import InputFile, InputReader
from report.samples import COLUMNS, Samples, select_samples
from report.training import (
    FOLDER,
    ProblemNames,
    ReadBackRecord,
    TrainingEvidence,
    parse_problem_names,
    parse_read_back,
)

NARRATIVE = "narrative.md"
NO_CLOCK = "9999-12-31T23:59:59Z"
"""Verify takes the time to find dates that have not come yet; a build knows no time."""
UNITS_IN_MEMORY = 4
SIDES_IN_MEMORY = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitEvidence:
    """A unit that is there, whole: its record, where its rows lie, its digests.

    findings: where its identity is not the planned one.
    """

    record: UnitRecord
    record_sha256: str
    rows_path: Path
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads the columns that the report needs, one unit at a time; the last few units, and samples of sides, stay in memory."""

    _kept: OrderedDict[Path, pa.Table] = field(default_factory=OrderedDict)
    _samples: OrderedDict[tuple[Path, str, int, str | None], Samples] = field(default_factory=OrderedDict)

    def table(self, unit: UnitEvidence) -> pa.Table:
        """The rows of a unit, `COLUMNS` only."""
        path = unit.rows_path
        if path not in self._kept:
            self._kept[path] = read_rows(path, COLUMNS)
            while len(self._kept) > UNITS_IN_MEMORY:
                self._kept.popitem(last=False)
        self._kept.move_to_end(path)
        return self._kept[path]

    def samples(self, unit: UnitEvidence, sampling: str, *, round_: int, extractor: str | None) -> Samples:
        """The judged samples of one side; a baseline that many endpoints share is picked out once."""
        key = (unit.rows_path, sampling, round_, extractor)
        if key not in self._samples:
            self._samples[key] = select_samples(
                self.table(unit), sampling=sampling, round_=round_, extractor=extractor
            )
            while len(self._samples) > SIDES_IN_MEMORY:
                self._samples.popitem(last=False)
        self._samples.move_to_end(key)
        return self._samples[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a study holds at the moment of a build."""

    study: Study
    verification: Verification
    design: Design
    """The design in force."""
    effective: EffectiveDesign
    block_text: str
    registration: Registration | None
    """The freeze record; None where nothing is frozen or the record does not hold."""
    witness: Witness | None
    """Where freeze looked for data, and what it found; None where no witness is recorded."""
    decisions: DecisionLog
    ledger: Ledger
    roster: tuple[RosterEntry, ...]
    units: Mapping[UnitId, UnitEvidence]
    rows: RowReader
    narrative: bytes
    """`narrative.md`; empty where there is none."""
    training: TrainingEvidence
    strata: Mapping[tuple[str, str], Mapping[str, str]]
    """(benchmark, field of its problem file) -> problem id -> label."""
    inputs: tuple[InputFile, ...]
    absent: tuple[str, ...]
    """Files that were looked for and are not there."""
    findings: tuple[Finding, ...]
    """What is wrong with the evidence but does not stop a report: a broken ledger chain, an override without decision."""

    @property
    def registered_design(self) -> Design:
        """The design as frozen; the one in force itself where no amendment changed it."""
        return self.effective.registered

    def amended_by(self, endpoint_id: str) -> tuple[str, ...]:
        """Ids of the amendments that changed the endpoint."""
        return self.effective.amended.get(endpoint_id, ())

    def label_after_amendments(self, endpoint_id: str) -> Label:
        """registered, amended-before-results or amended-after-results."""
        if not self.amended_by(endpoint_id):
            return "registered"
        before = self.effective.label(endpoint_id) == "amended-before-results"
        return "amended-before-results" if before else "amended-after-results"


def load_evidence(study: Study) -> Evidence:
    """Read and check everything. Raises when a unit that is there is damaged: no number comes from such rows."""
    reader = InputReader(study)
    verification = verify(study.root, now=NO_CLOCK, bundles=False)
    registration = reader.read("PREREGISTRATION.md", "text")
    record = _freeze_record(reader, verification)
    block_text = (
        record.frozen_text
        if record
        else find_block(registration, where="PREREGISTRATION.md").raw.decode("utf-8")
    )
    block = find_block(f"{BEGIN}\n{block_text}{END}\n".encode(), where="the block of PREREGISTRATION.md")
    reader.read(SEALS_FILE, "registration", missing=b"")
    reader.read_if_there(TIMESTAMP_FILE, "registration")
    effective = effective_design(block, verification.seals)
    design = effective.in_force
    reader.note_pinned(record)
    decisions = parse_decisions(reader.read("DECISIONS.md", "text", missing=b""), where="DECISIONS.md")
    ledger = parse_ledger(
        reader.read("ledger.csv", "ledger", missing=empty_ledger()), study_name=study.config.name
    )
    planning = _planning(effective)
    planned = list(planning)
    store = open_store(study, offline=True, needed=planned)
    found = store.unit_ids()
    unplanned = [unit for unit in found if unit not in planning]
    units = {unit: _load_unit(reader, store, planning[unit], unit) for unit in found if unit in planning}
    return Evidence(
        study=study,
        verification=verification,
        design=design,
        effective=effective,
        block_text=block_text,
        registration=record,
        witness=Witness.read(record.witness, where=FILE_NAME)
        if record and record.witness is not None
        else None,
        decisions=decisions,
        ledger=ledger,
        roster=roster(planned, found, study.config.roster),
        units=units,
        rows=RowReader(),
        narrative=reader.read(NARRATIVE, "text", missing=b""),
        strata=_load_strata(reader, (design, effective.registered)),
        training=_load_training(reader, (design, effective.registered)),
        inputs=reader.inputs,
        absent=reader.absent,
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


def _freeze_record(reader: InputReader, verification: Verification) -> Registration | None:
    if verification.expected is None:
        reader.read_if_there(FILE_NAME, "registration")
        return None
    return parse_registration(reader.read(FILE_NAME, "registration"), where=FILE_NAME)


def _planning(effective: EffectiveDesign) -> dict[UnitId, Design]:
    """Unit -> the design that plans it: the one in force, else the registered one, whose endpoints are shown too."""
    return {
        entry.unit: design
        for design in (effective.registered, effective.in_force)
        for entry in design.planned_units()
    }


def _load_unit(reader: InputReader, store: Store, design: Design, unit: UnitId) -> UnitEvidence:
    record, record_sha256 = load_record(store, unit)
    data = read_bytes(store.record_path(unit))
    reader.note(f"manifests/{unit}.json", "data", size=len(data), sha256=sha256_bytes(data))
    damage = check_files(store, record)
    if damage:
        raise DamagedEvidenceError(
            "the unit is not what its record says, so nothing is computed from it",
            damage,
            where=str(unit),
            mend=f"{store.restore}, or remove record and files and import it again",
        )
    for file in record.files:
        path = f"units/{unit}/{file.path}"
        reader.note(path, "data", size=file.bytes, sha256=file.sha256, place=store.place(unit))
    return UnitEvidence(
        record=record,
        record_sha256=record_sha256,
        rows_path=store.file_path(unit, ROWS_FILE),
        findings=differences_from_plan(design, record),
    )


def _load_strata(
    reader: InputReader, designs: tuple[Design, ...]
) -> dict[tuple[str, str], Mapping[str, str]]:
    """The labels that tests group problems by; every problem file is an input, asked for or not."""
    strata: dict[tuple[str, str], Mapping[str, str]] = {}
    for design in designs:
        for _, benchmark in sorted(design.benchmarks.items()):
            reader.read_if_there(benchmark.problems, "data")
        for endpoint in design.endpoints.values():
            field = endpoint.test.problem_field
            key = (endpoint.benchmark, field or "")
            if field is not None and key not in strata:
                problems = plan_problems(design, endpoint.benchmark, reader.root, strata_field=field)
                strata[key] = dict(zip(problems.ids, problems.strata or (), strict=True))
    return strata


def _load_training(reader: InputReader, designs: tuple[Design, Design]) -> TrainingEvidence:
    """What training runs left for the validity rules; read only where a rule asks for it."""
    design = designs[0]
    asked = {rule.rule for one in designs for rule in one.validity}
    problems: dict[str, ProblemNames] = {}
    read_backs: dict[str, ReadBackRecord] = {}
    benchmarks: dict[str, ProblemNames] = {}
    for system in sorted(design.systems) if asked & {"no_train_overlap", "read_back"} else ():
        path = f"{FOLDER}/{system}/problems.jsonl"
        data = reader.read_if_there(path, "data")
        if data is not None:
            problems[system] = parse_problem_names(data, where=path)
        path = f"{FOLDER}/{system}/read_back.json"
        data = reader.read_if_there(path, "data")
        if data is not None:
            read_backs[system] = parse_read_back(data, where=path)
    for name, benchmark in sorted(design.benchmarks.items()) if "no_train_overlap" in asked else ():
        data = reader.read_if_there(benchmark.problems, "data")
        if data is not None:
            benchmarks[name] = parse_problem_names(data, where=benchmark.problems)
    return TrainingEvidence(problems=problems, read_backs=read_backs, benchmarks=benchmarks)


class DamagedEvidenceError(NotInOrderError, FindingsError):
    """Bytes are not what their digest says: exit code 1."""
