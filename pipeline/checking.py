"""`units check`: every unit against its record, its plan and its digests; all findings at once."""

from __future__ import annotations

from manifests.errors import BeforehandError, Finding, FindingsError
from manifests.files import read_bytes
from manifests.names import UnitId
from manifests.records import UnitRecord
from manifests.roster import check_overrides
from manifests.rows import LIGHT, ROWS_FILE, check_rows, read_rows
from manifests.stores import LocalStore, check_files, load_record
from manifests.study import Study
from pipeline.importing import count_rows
from prereg.decisions import parse_decisions
from prereg.design import Design
from prereg.plan import differences_from_plan, load_design, plan_unit


def check_units(study: Study) -> tuple[Finding, ...]:
    """Findings of all units that are there, and of the roster's overrides."""
    design = load_design(study.registration_path)
    store = LocalStore(study.root)
    found = store.unit_ids()
    findings = [finding for unit in found for finding in _check_unit(store, design, unit)]
    planned = [entry.unit for entry in design.planned_units()]
    log = parse_decisions(read_bytes(study.decisions_path), where=study.decisions_path.name)
    findings.extend(log.findings)
    findings.extend(check_overrides(planned, found, study.config.roster, log.ids))
    return tuple(findings)


def _check_unit(store: LocalStore, design: Design, unit: UnitId) -> list[Finding]:
    try:
        record, _ = load_record(store, unit)
    except FindingsError as err:
        return [
            Finding(where=f"manifests/{unit}.json {f.where}", what=f.what, mend=f.mend) for f in err.findings
        ]
    except BeforehandError as err:
        return [Finding(where=err.where, what=err.what, mend=err.mend)]
    findings = list(check_files(store, record))
    if findings:
        return findings  # counts of rows that are not the record's rows would only repeat it
    return [*_check_rows(store, design, record), *differences_from_plan(design, record)]


def _check_rows(store: LocalStore, design: Design, record: UnitRecord) -> list[Finding]:
    where = record.unit
    try:
        table = read_rows(store.folder(record.unit_id) / ROWS_FILE, LIGHT)
        counts = count_rows(table, plan_unit(design, record.unit_id))
    except BeforehandError as err:
        return [Finding(where=err.where, what=err.what, mend=err.mend)]
    findings = list(check_rows(table, where=where))
    for name in sorted({*counts, *record.counts}):
        stated, got = record.counts.get(name), counts.get(name)
        if stated != got:
            findings.append(
                Finding(where=where, what=f"{name}: the record counts {stated}, the rows and the plan {got}")
            )
        elif got is not None and got.got != got.planned:
            findings.append(
                Finding(where=where, what=f"{name}: {got.got} of {got.planned} planned rows are there")
            )
    return findings
