"""`units check`: every unit against its bytes, its plan and its siblings; all findings at once, in groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from manifests.errors import BeforehandError, Finding, FindingsError
from manifests.files import read_bytes
from manifests.names import UnitId
from manifests.records import UnitRecord
from manifests.roster import check_overrides
from manifests.rows import LIGHT, ROWS_FILE, check_rows, read_rows
from manifests.stores import Store, check_files, load_record, open_store
from manifests.study import Study
from pipeline.auditing import audit_coverage, audit_seeds, audit_texts, audit_tokens
from pipeline.importing import against_plan, count_rows
from pipeline.siblings import audit_siblings, audit_source
from prereg.decisions import parse_decisions
from prereg.design import Design
from prereg.plan import differences_from_plan, plan_problems, plan_unit
from prereg.planned import design_in_force

GROUPS = ("bytes", "plan", "rows", "coverage", "tokens", "samples", "source", "across units", "roster")


@dataclass(frozen=True, slots=True)
class Found:
    """A finding and the group it belongs to."""

    group: str
    finding: Finding


def check_units(study: Study) -> tuple[Finding, ...]:
    """Findings of all units that are there, and of the roster's overrides."""
    return tuple(found.finding for found in audit_units(study))


def audit_units(study: Study) -> tuple[Found, ...]:
    """The same with the group of each, in the order of `GROUPS`."""
    design = design_in_force(study.root)
    store = open_store(study, offline=True)
    units = store.unit_ids()
    found: list[Found] = []
    records: list[UnitRecord] = []
    for unit in units:
        record = _load(store, unit, found)
        if record is None:
            continue
        records.append(record)
        damage = check_files(store, record)
        found.extend(Found("bytes", finding) for finding in damage)
        if not damage:  # rows that are not the record's rows would only repeat it
            found.extend(_audit(study, store, design, record))
    found.extend(Found("across units", finding) for finding in audit_siblings(store, records))
    planned = [entry.unit for entry in design.planned_units()]
    decisions = read_bytes(study.decisions_path) if study.decisions_path.exists() else b""
    log = parse_decisions(decisions, where=study.decisions_path.name)
    overrides = check_overrides(planned, units, study.config.roster, log.ids)
    found.extend(Found("roster", finding) for finding in (*log.findings, *overrides))
    return tuple(sorted(found, key=lambda one: GROUPS.index(one.group)))


def _load(store: Store, unit: UnitId, found: list[Found]) -> UnitRecord | None:
    try:
        return load_record(store, unit)[0]
    except FindingsError as err:
        where = f"manifests/{unit}.json"
        found.extend(
            Found("bytes", Finding(where=f"{where} {f.where}", what=f.what, mend=f.mend))
            for f in err.findings
        )
    except BeforehandError as err:
        found.append(Found("bytes", Finding(where=err.where, what=err.what, mend=err.mend)))
    return None


def _audit(study: Study, store: Store, design: Design, record: UnitRecord) -> Iterator[Found]:
    """Everything that can be said of one unit whose bytes are whole."""
    yield from _in("plan", lambda: differences_from_plan(design, record))
    yield from _in("source", lambda: audit_source(record))
    folder = store.folder(record.unit_id)
    try:
        rows = read_rows(folder / ROWS_FILE, LIGHT)
        plan = plan_unit(design, record.unit_id)
    except BeforehandError as err:
        yield Found("bytes", Finding(where=err.where, what=err.what, mend=err.mend))
        return
    yield from _in("rows", lambda: check_rows(rows, where=record.unit))
    yield from _in("rows", lambda: _counts(rows, record, design))
    try:
        problem_ids = plan_problems(design, record.unit_id.benchmark, study.root, protocol=plan.protocol).ids
    except BeforehandError as err:
        yield Found("plan", Finding(where=err.where, what=err.what, mend=err.mend))
        problem_ids = ()
    if problem_ids:
        yield from _in("plan", lambda: against_plan(rows, plan, problem_ids))
    yield from _in("coverage", lambda: audit_coverage(rows, plan, problem_ids))
    yield from _in("tokens", lambda: audit_tokens(rows, plan))
    yield from _in("samples", lambda: audit_seeds(rows, plan))
    yield from _in("samples", lambda: audit_texts(folder, plan))


def _in(group: str, check: Callable[[], Iterable[Finding]]) -> Iterator[Found]:
    yield from (Found(group, finding) for finding in check())


def _counts(rows: pa.Table, record: UnitRecord, design: Design) -> Iterator[Finding]:
    counts = count_rows(rows, plan_unit(design, record.unit_id))
    for name in sorted({*counts, *record.counts}):
        stated, got = record.counts.get(name), counts.get(name)
        if stated != got:
            what = f"{name}: the record counts {stated}, the rows and the plan {got}"
            yield Finding(
                where=record.unit, what=what, mend="import the unit again under the plan that stands now"
            )
