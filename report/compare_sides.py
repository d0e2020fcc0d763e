"""One log as a side of a comparison, and what stands between two of them and a fair one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manifests.errors import BeforehandError, FindingsError
from manifests.importers.headlines import differing_headlines
from manifests.importers.mapping import RowMap, describe
from manifests.importers.reading import NO_PLAN, LogFacts, Tally
from manifests.importers.recognition import recognise
from manifests.rows import LIGHT, SCHEMA, check_keys
from report.samples import Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSide:
    """One log, read to its end, without its completions. name: A or B."""

    name: str
    file: str
    importer: str
    guess: str
    rows: pa.Table
    facts: LogFacts
    tally: Tally


def read_side(name: str, paths: tuple[Path, ...], *, row_map: RowMap | None, sampling: str | None) -> LogSide:
    """Read one log; a sample that stands twice is refused."""
    logs = recognise(paths, by_map=row_map is not None)
    if len(logs) != 1:
        told = ", ".join(log.file.path.name for log in logs)
        raise BeforehandError(
            f"{len(logs)} logs stand for one side: {told}", where=name, mend="compare two logs"
        )
    reading = logs[0].read(defaults=NO_PLAN, row_map=row_map)
    batches = [batch.select(list(LIGHT)) for batch in reading.batches]
    rows = pa.Table.from_batches(batches, schema=pa.schema([SCHEMA.field(column) for column in LIGHT]))
    rows = _one_sampling(rows, sampling, where=reading.name)
    rows = rows.filter(pc.equal(rows["round"], 0))
    findings = check_keys(rows, where=reading.name)
    if findings:
        raise FindingsError("cannot be paired", tuple(findings), where=reading.name)
    return LogSide(
        name=name,
        file=reading.name,
        importer=reading.importer,
        guess=describe(reading.row_map) if reading.guessed and reading.row_map is not None else "",
        rows=rows,
        facts=reading.facts,
        tally=reading.tally,
    )


def what_stands_between(
    a: LogSide, b: LogSide, samples_a: Samples, samples_b: Samples, paired: Samples
) -> Iterator[str]:
    """What stands between these two logs and a fair comparison, in sentences."""
    for side, samples in ((a, samples_a), (b, samples_b)):
        head = f"{side.name} ({side.file})"
        yield from (f"{head}: {text}" for text in side.facts.deviations)
        yield from (f"{head}: {text}" for text in differing_headlines(side.facts.headlines, side.rows))
        if samples.n_unjudged:
            died = f", {samples.n_infrastructure} of them died" if samples.n_infrastructure else ""
            yield f"{head}: {samples.n_unjudged} of {side.rows.num_rows} rows have no verdict{died}; they are paired with nothing"
        if side.tally.restated:
            yield f"{head}: {len(side.tally.restated)} problem ids stand for more than one text (first: {next(iter(side.tally.restated))!r})"
        sizes = np.unique(samples.samples_per_problem)
        if len(sizes) > 1:
            yield f"{head}: problems have from {sizes[0]} to {sizes[-1]} judged samples"
    yield from _differences(a, b)
    most = [int(samples.samples_per_problem.max(initial=0)) for samples in (samples_a, samples_b)]
    if most[0] != most[1]:
        yield f"samples a problem differ: up to {most[0]} for A, {most[1]} for B; only shared sample indices are paired"
    lone = len(set(samples_a.problem_ids) ^ set(samples_b.problem_ids))
    if lone:
        yield f"{lone} problems are on one side only and left out"
    unused = len(samples_a.correct) + len(samples_b.correct) - 2 * len(paired.correct)
    if unused:
        yield f"{unused} samples have no counterpart with the same problem and index on the other side and are left out"


def _differences(a: LogSide, b: LogSide) -> Iterator[str]:
    shared = a.tally.statements.keys() & b.tally.statements.keys()
    other = sorted(key for key in shared if a.tally.statements[key] != b.tally.statements[key])
    if other:
        yield f"{len(other)} of {len(shared)} shared ids ask another text on the other side (first: {other[0]!r}): these are not the same problems or not the same prompts"
    elif not shared:
        yield "the logs do not both hold the problems' texts: that equal ids ask the same is taken on trust"
    for what in ("benchmark", "verifier", "cap_tokens", "temperature", "top_p"):
        left, right = getattr(a.facts, what), getattr(b.facts, what)
        if left != right:
            yield f"{what.replace('_', ' ')} differs: {left} for A, {right} for B"
    caps = [pc.unique(side.rows["cap_tokens"]).drop_null().to_pylist() for side in (a, b)]
    if a.facts.cap_tokens == b.facts.cap_tokens and caps[0] != caps[1]:
        yield f"caps differ: {caps[0]} for A, {caps[1]} for B"
    limits = [pc.max(side.rows["max_tokens"]).as_py() for side in (a, b)]
    if limits[0] != limits[1]:
        shown = ["not stated" if limit is None else str(limit) for limit in limits]
        yield f"the largest max_tokens differs: {shown[0]} for A, {shown[1]} for B"
    if a.facts.cap_tokens is None and not caps[0] and limits == [None, None]:
        yield "no log says its cap on tokens: whether the two had the same budget is unknown"


def _one_sampling(rows: pa.Table, sampling: str | None, *, where: str) -> pa.Table:
    names = sorted(pc.unique(rows["sampling"]).to_pylist())
    if sampling is None and len(names) > 1:
        raise BeforehandError(
            f"holds {len(names)} samplings: {', '.join(names)}",
            where=where,
            mend="choose one: --sampling NAME",
        )
    if sampling is None or names == [NO_PLAN.sampling]:
        return rows
    if sampling not in names:
        raise BeforehandError(f"has no sampling {sampling!r}: {', '.join(names)}", where=where)
    return rows.filter(pc.equal(rows["sampling"], sampling))
