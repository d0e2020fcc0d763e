"""Import: a log that another tool wrote becomes a unit of the study, rows first, record last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from manifests.digests import sha256_file
from manifests.errors import BeforehandError, Finding, FindingsError
from manifests.importers.headlines import differing_headlines
from manifests.importers.mapping import RowMap
from manifests.importers.reading import Defaults, Reading
from manifests.importers.recognition import recognise
from manifests.names import UnitId, is_slug
from manifests.records import Counts, Origin, UnitFile, UnitRecord
from manifests.rows import ROWS_FILE, check_rows, count_true
from manifests.sorting import RowsWriter
from manifests.stores import LocalStore
from manifests.study import Study
from pipeline.unit_files import put_files, refuse_changed, scratch, source_file, statements_file
from prereg.plan import UnitPlan, plan_problems, plan_unit
from prereg.planned import design_in_force, held_registration


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
    sources: tuple[Reading, ...]
    written: bool


def import_unit(study: Study, unit: UnitId, sources: Sequence[Source], *, row_map: RowMap | None) -> Import:
    """The unit lies in the study's store, or nothing does: every finding in the sources refuses the import.

    Planned is what the design in force plans. Raises NotInOrderError where a frozen registration does not hold or is withdrawn.
    Rows are read, sorted and written in batches: memory holds no more than their keys and verdicts.
    """
    registration_sha256 = held_registration(study.root).expected
    design = design_in_force(study.root)
    plan = plan_unit(design, unit)
    problem_ids = plan_problems(design, unit.benchmark, study.root, protocol=plan.protocol).ids
    readings = _open(sources, plan, row_map)
    with scratch(study, unit) as folder, ThreadPoolExecutor(max_workers=1) as beside:
        paths = {path: path.stat() for reading in readings for path in reading.files}
        digests = [beside.submit(source_file, path) for path in paths]
        writer = RowsWriter(folder)
        for reading in readings:
            for batch in reading.batches:
                writer.add(batch)
        rows = writer.light_rows()
        refuse_changed(paths)
        _refuse_findings(unit, rows, plan, problem_ids, readings)
        path = folder / ROWS_FILE
        writer.write(path)
        record = UnitRecord(
            format="unit-record/1",
            unit=str(unit),
            system=plan.system,
            benchmark=plan.benchmark,
            protocol=plan.protocol_document,
            prompts_sha256=None,
            verifier=plan.verifier,
            registration_sha256=registration_sha256,
            origin=Origin(
                kind="import",
                importer=", ".join(sorted({reading.importer for reading in readings})),
                sources=tuple(digest.result() for digest in digests),
                map_sha256=None if readings[0].row_map is None else readings[0].row_map.sha256,
                rows_read=sum(reading.tally.n_read for reading in readings),
                rows_left_out=sum(reading.tally.n_left_out for reading in readings),
            ),
            files=tuple(
                UnitFile(path=file.name, bytes=file.stat().st_size, sha256=sha256_file(file))
                for file in (path, *statements_file(folder, readings))
            ),
            counts=count_rows(rows, plan),
            deviations=deviations(readings, rows),
        )
        written = put_files(LocalStore(study.root), record, folder)
    return Import(record=record, sources=readings, written=written)


def _open(sources: Sequence[Source], plan: UnitPlan, row_map: RowMap | None) -> tuple[Reading, ...]:
    """Every log opened, with its sampling and what the plan says where it is silent."""
    logs = recognise([source.path for source in sources], by_map=row_map is not None)
    named = {log.file.path for log in logs}
    with_rows = [source for source in sources if source.path in named]
    return tuple(
        log.read(defaults=_defaults(plan, source), row_map=row_map)
        for log, source in zip(logs, with_rows, strict=True)
    )


def _refuse_findings(
    unit: UnitId,
    rows: pa.Table,
    plan: UnitPlan,
    problem_ids: Sequence[str],
    readings: Sequence[Reading],
) -> None:
    findings = [*against_plan(rows, plan, problem_ids), *check_rows(rows, where=str(unit))]
    if not rows.num_rows:
        findings.append(
            Finding(where=str(unit), what="no row is left of what was read", mend="mend `where` in the map")
        )
    findings.extend(
        Finding(
            where=place,
            what=f"another statement stands under the problem id {problem_id!r} further up",
            mend="one id names one problem: mend the ids in the source",
        )
        for problem_id, place in _restated(readings)
    )
    if findings:
        raise FindingsError(
            "the rows do not fit the plan",
            tuple(findings),
            where=str(unit),
            mend="mend the source, the map or the unit's name; nothing was written",
        )


def _restated(readings: Sequence[Reading]) -> Iterator[tuple[str, str]]:
    """(problem id, place) of statements that are not the first under their id, within a log and between logs."""
    known: dict[str, str] = {}
    for reading in readings:
        yield from reading.tally.restated.items()
        for problem_id, digest in reading.tally.statements.items():
            if known.setdefault(problem_id, digest) != digest:
                yield problem_id, reading.name


def deviations(readings: Sequence[Reading], rows: pa.Table) -> tuple[str, ...]:
    """What the logs say went otherwise, verbatim, and each number they print that their rows do not give."""
    stated = [text for reading in readings for text in reading.facts.deviations]
    headlines = [headline for reading in readings for headline in reading.facts.headlines]
    return (*stated, *differing_headlines(headlines, rows))


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


def against_plan(table: pa.Table, plan: UnitPlan, problem_ids: Sequence[str]) -> list[Finding]:
    """Rows that the plan has no place for: foreign problems, samplings, sample indices, caps."""
    findings = []
    where = str(plan.unit)
    known = pc.is_in(table["problem_id"], value_set=pa.array(problem_ids, pa.string()))
    foreign = table.filter(pc.invert(known))
    if foreign.num_rows:
        part = "" if plan.protocol.problems is None else f" that the protocol {plan.protocol.name} chooses"
        what = f"{foreign.num_rows} rows belong to no problem of {plan.benchmark.name}{part}"
        first = foreign["problem_id"][0].as_py()
        findings.append(
            Finding(
                where=where, what=f"{what} (first: {first!r})", mend="leave them out with `where` in the map"
            )
        )
    samplings = {sampling.name: sampling.samples for sampling in plan.protocol.samplings}
    for name in sorted(set(pc.unique(table["sampling"]).to_pylist()) - set(samplings)):
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
    caps = sorted(set(pc.unique(table["cap_tokens"]).to_pylist()) - {plan.protocol.cap_tokens})
    if caps:
        what = f"rows have a cap of {caps[0]} tokens, the protocol {plan.protocol.cap_tokens}"
        findings.append(
            Finding(where=where, what=what, mend="caps are never pooled: give them a protocol of their own")
        )
    return findings
