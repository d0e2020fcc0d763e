"""Import: a log that another tool wrote becomes a unit of the study, rows first, record last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from manifests.digests import sha256_bytes, sha256_document
from manifests.errors import BeforehandError, Finding, FindingsError, NotInOrderError
from manifests.importers.jsonl import NAME, Defaults, ImportedRows, read_jsonl
from manifests.importers.mapping import RowMap
from manifests.names import UnitId, is_slug
from manifests.records import Counts, Origin, UnitFile, UnitRecord
from manifests.rows import ROWS_FILE, check_rows, count_true, in_key_order, rows_bytes
from manifests.stores import LocalStore
from manifests.study import Study
from prereg.plan import UnitPlan, load_design, plan_problems, plan_unit
from prereg.verify import verify


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One log file, and the sampling that all its rows belong to where the log itself does not say."""

    path: Path
    sampling: str | None = None

    @classmethod
    def parse(cls, text: str) -> Source:
        """`FILE`, or `SAMPLING=FILE`; an existing file of that whole name is meant as a file."""
        name, separator, rest = text.partition("=")
        if separator and is_slug(name) and rest and not Path(text).exists():
            return cls(path=Path(rest), sampling=name)
        return cls(path=Path(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """What an import did: the record, what each source gave, and whether anything new was written."""

    record: UnitRecord
    sources: tuple[ImportedRows, ...]
    written: bool


def import_unit(study: Study, unit: UnitId, sources: Sequence[Source], *, row_map: RowMap | None) -> Import:
    """The unit lies in the study's store, or nothing does: every finding in the sources refuses the import."""
    design = load_design(study.registration_path)
    plan = plan_unit(design, unit)
    problem_ids = plan_problems(design, unit.benchmark, study.root).ids
    imported = tuple(
        read_jsonl(source.path, row_map=row_map, defaults=_defaults(plan, source)) for source in sources
    )
    table = pa.concat_tables([part.table for part in imported])
    findings = (*_against_plan(table, plan, problem_ids), *check_rows(in_key_order(table), where=str(unit)))
    if findings:
        raise FindingsError(
            "the rows do not fit the plan",
            findings,
            where=str(unit),
            mend="mend the source, the map or the unit's name; nothing was written",
        )
    data = rows_bytes(table)
    record = UnitRecord(
        format="unit-record/1",
        unit=str(unit),
        system=plan.system,
        benchmark=plan.benchmark,
        protocol=plan.protocol_document,
        prompts_sha256=None,
        verifier=plan.verifier,
        registration_sha256=_frozen_block(study),
        origin=Origin(
            kind="import",
            importer=NAME,
            sources=tuple(part.source for part in imported),
            map_sha256=sha256_document(imported[0].row_map.model_dump(mode="json")),
            rows_read=sum(part.n_read for part in imported),
            rows_left_out=sum(part.n_left_out for part in imported),
        ),
        files=(UnitFile(path=ROWS_FILE, bytes=len(data), sha256=sha256_bytes(data)),),
        counts=count_rows(table, plan),
    )
    return Import(
        record=record, sources=imported, written=LocalStore(study.root).put(record, {ROWS_FILE: data})
    )


def count_rows(table: pa.Table, plan: UnitPlan) -> dict[str, Counts]:
    """Per sampling of the protocol: rows planned, got, judged, correct (round 0 and corrections alike)."""
    counts = {}
    for sampling in plan.protocol.samplings:
        verdicts = table.filter(pc.equal(table["sampling"], sampling.name))["correct"]
        counts[sampling.name] = Counts(
            planned=plan.n_problems * sampling.samples,
            got=len(verdicts),
            judged=len(verdicts) - verdicts.null_count,
            correct=count_true(verdicts),
        )
    return counts


def _frozen_block(study: Study) -> str | None:
    """Digest of the frozen block, None before the freeze; a registration that does not hold takes no rows."""
    verification = verify(study.root)
    if verification.status not in {"unchanged", "not_frozen"}:
        raise NotInOrderError(
            f"the registration is {verification.status.replace('_', ' ')}",
            where=str(study.registration_path),
            mend="restore what was frozen (`beforehand prereg verify` shows the difference), then import",
        )
    return verification.expected


def _defaults(plan: UnitPlan, source: Source) -> Defaults:
    samplings = {sampling.name: sampling.samples for sampling in plan.protocol.samplings}
    if source.sampling is not None and source.sampling not in samplings:
        raise BeforehandError(
            f"the protocol {plan.protocol.name} has no sampling {source.sampling!r}",
            where=str(source.path),
            mend=f"its samplings are {', '.join(samplings)}",
        )
    only = next(iter(samplings)) if len(samplings) == 1 else None
    sampling = source.sampling or only
    return Defaults(
        sampling=sampling,
        cap_tokens=plan.protocol.cap_tokens,
        n_samples=samplings[sampling] if sampling is not None else None,
    )


def _against_plan(table: pa.Table, plan: UnitPlan, problem_ids: Sequence[str]) -> list[Finding]:
    """Rows that the plan has no place for: foreign problems, samplings, sample indices, caps."""
    findings = []
    where = str(plan.unit)
    known = pc.is_in(table["problem_id"], value_set=pa.array(problem_ids, pa.string()))
    foreign = table.filter(pc.invert(known))
    if foreign.num_rows:
        what = f"{foreign.num_rows} rows belong to no problem of {plan.benchmark.name}"
        first = foreign["problem_id"][0].as_py()
        findings.append(
            Finding(
                where=where, what=f"{what} (first: {first!r})", mend="leave them out with `where` in the map"
            )
        )
    samplings = {sampling.name: sampling.samples for sampling in plan.protocol.samplings}
    for name in sorted(set(table["sampling"].to_pylist()) - set(samplings)):
        mend = f"its samplings are {', '.join(samplings)}"
        findings.append(Finding(where=where, what=f"the protocol has no sampling {name!r}", mend=mend))
    for name, samples in samplings.items():
        over = table.filter(
            pc.and_(pc.equal(table["sampling"], name), pc.greater_equal(table["sample_idx"], samples))
        )
        if over.num_rows:
            what = f"{over.num_rows} rows of {name} have a sample_idx of {samples} or more, the plan ends at {samples - 1}"
            findings.append(
                Finding(where=where, what=what, mend="import them under a protocol that plans them")
            )
    caps = sorted(set(table["cap_tokens"].to_pylist()) - {plan.protocol.cap_tokens})
    if caps:
        what = f"rows have a cap of {caps[0]} tokens, the protocol {plan.protocol.cap_tokens}"
        findings.append(
            Finding(where=where, what=what, mend="caps are never pooled: give them a protocol of their own")
        )
    return findings
