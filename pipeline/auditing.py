"""The audit of one unit's rows against its plan: what a mean over these rows would hide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from manifests.errors import Finding
from manifests.rows import INFRASTRUCTURE, ROWS_FILE, count_true, iterate_rows
from prereg.plan import UnitPlan
from prereg.protocols import ResolvedSampling

COPIED_SHARE, COPIED_PROBLEMS = 0.9, 5
"""Two sample indices are copies of each other where their texts agree in so many problems."""
LONG_TEXT = 400
"""Characters from which two samples of one problem do not have the same text by chance."""
TEXT_COLUMNS = ("sampling", "problem_id", "sample_idx", "round", "completion")


def audit_coverage(rows: pa.Table, plan: UnitPlan, problem_ids: Sequence[str]) -> Iterator[Finding]:
    """Keys of the plan that no row has; problems of which nothing is there; unequal denominators; rows without verdict."""
    for sampling in plan.protocol.samplings:
        part = _part(rows, sampling)
        yield from _missing(part, plan, sampling, problem_ids)
        yield from _unjudged(part, plan, sampling)


def audit_tokens(rows: pa.Table, plan: UnitPlan) -> Iterator[Finding]:
    """Finish reasons against token counts, and completions that had less room than the cap."""
    where = str(plan.unit)
    reached = pc.equal(rows["n_completion_tokens"], rows["max_tokens"])
    almost = pc.equal(pc.add(rows["n_completion_tokens"], 1), rows["max_tokens"])
    stopped = pc.equal(rows["finish_reason"], "stop")
    at_cap, below_cap = count_true(pc.and_(stopped, reached)), count_true(pc.and_(stopped, almost))
    if (
        at_cap > 2 and at_cap > 3 * below_cap
    ):  # a model may stop at the very cap, but not more often than just below it
        what = f"{at_cap} rows end exactly at max_tokens with finish_reason stop, {below_cap} one token below"
        yield Finding(
            where=where, what=what, mend="they were most likely cut: find out how the log sets finish_reason"
        )
    unknown = count_true(pc.and_(pc.is_null(rows["finish_reason"]), reached))
    if unknown:
        yield Finding(
            where=where,
            what=f"{unknown} rows end exactly at max_tokens and have no finish_reason",
            mend="whether they were cut is unknown: map the log's finish reason",
        )
    clipped = pc.less(rows["max_tokens"], rows["cap_tokens"])
    n_clipped = count_true(clipped)
    if n_clipped:
        mean = pc.mean(rows["max_tokens"].filter(pc.fill_null(clipped, fill_value=False))).as_py()
        what = f"{n_clipped} rows had room for {mean:.0f} tokens on average, the cap is {plan.protocol.cap_tokens}"
        yield Finding(
            where=where,
            what=what,
            mend="the context clipped them: name the effective cap wherever the cap is named",
        )
    above = count_true(pc.greater(rows["max_tokens"], rows["cap_tokens"]))
    if above:
        yield Finding(
            where=where,
            what=f"{above} rows were allowed more tokens than the cap",
            mend="caps are never pooled",
        )


def audit_seeds(rows: pa.Table, plan: UnitPlan) -> Iterator[Finding]:
    """Seeds that are not those of the plan, and one seed under several sample indices."""
    for sampling in plan.protocol.samplings:
        part = _part(rows, sampling).select(["problem_id", "sample_idx", "seed"])
        part = part.filter(pc.is_valid(part["seed"]))
        if not part.num_rows:
            continue
        where = f"{plan.unit} {sampling.name}"
        if sampling.seeds is not None:
            index = part["sample_idx"].to_numpy()
            planned = np.asarray(sampling.seeds, dtype=np.int64)
            inside = (index >= 0) & (index < len(planned))
            wrong = int(np.count_nonzero(part["seed"].to_numpy()[inside] != planned[index[inside]]))
            if wrong:
                yield Finding(
                    where=where,
                    what=f"{wrong} rows have another seed than the plan gives their sample index",
                    mend="map sample_idx so that sample i has the plan's seed i",
                )
        pairs = part.group_by(["problem_id", "seed"]).aggregate([("sample_idx", "count_distinct")])
        shared = count_true(pc.greater(pairs["sample_idx_count_distinct"], 1))
        if shared:
            yield Finding(
                where=where,
                what=f"{shared} times one seed stands under several sample indices of a problem",
                mend="such samples are copies, not further evidence: import each seed once",
            )


def audit_texts(folder: Path, plan: UnitPlan) -> Iterator[Finding]:
    """Sample indices that hold the same texts, so that k samples are fewer than k. Reads completions in batches."""
    texts = _Texts()
    for batch in iterate_rows(folder / ROWS_FILE, TEXT_COLUMNS, rows_at_once=8192):
        texts.add(batch)
    for sampling in plan.protocol.samplings:
        where = f"{plan.unit} {sampling.name}"
        yield from _copies(texts, sampling, where)


class _Texts:
    """Texts of round 0 by sampling, as numbers that are equal where two texts of one problem are: problem, index, text, length.

    Rows lie in key order, so a problem's rows follow each other; the last problem of a batch waits for the next.
    """

    def __init__(self) -> None:
        self._parts: dict[str, list[tuple[NDArray[np.int64], ...]]] = {}
        self._waiting: pa.Table | None = None
        self._n_problems = self._n_texts = 0

    def add(self, batch: pa.RecordBatch) -> None:
        kept = pa.Table.from_batches([batch])
        kept = kept.filter(pc.and_(pc.is_valid(kept["completion"]), pc.equal(kept["round"], 0)))
        rows = kept if self._waiting is None else pa.concat_tables([self._waiting, kept])
        if not rows.num_rows:
            return
        last = rows.slice(rows.num_rows - 1)
        same = pc.and_(
            pc.equal(rows["problem_id"], last["problem_id"][0]),
            pc.equal(rows["sampling"], last["sampling"][0]),
        )
        done = rows.num_rows - int(pc.sum(same).as_py())
        self._waiting = rows.slice(done)
        self._take(rows.slice(0, done))

    def columns(self, sampling: str) -> tuple[NDArray[np.int64], ...]:
        if self._waiting is not None:
            self._take(self._waiting)
            self._waiting = None
        parts = self._parts.get(sampling, [])
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True)) if parts else ()

    def _take(self, rows: pa.Table) -> None:
        for name in pc.unique(rows["sampling"]).to_pylist():
            part = rows.filter(pc.equal(rows["sampling"], name)).combine_chunks()
            texts = part["completion"].chunk(0).dictionary_encode()
            problems = part["problem_id"].chunk(0).dictionary_encode()
            lengths = pc.utf8_length(part["completion"]).to_numpy().astype(np.int64)
            self._parts.setdefault(name, []).append(
                (
                    problems.indices.to_numpy().astype(np.int64) + self._n_problems,
                    part["sample_idx"].to_numpy().astype(np.int64),
                    texts.indices.to_numpy().astype(np.int64) + self._n_texts,
                    lengths,
                )
            )
            self._n_problems += len(problems.dictionary)
            self._n_texts += len(texts.dictionary)


def _copies(texts: _Texts, sampling: ResolvedSampling, where: str) -> Iterator[Finding]:
    columns = texts.columns(sampling.name)
    if not columns or sampling.samples < 2:
        return
    problem, index, codes, lengths = columns
    _, row = np.unique(problem, return_inverse=True)
    inside = (index >= 0) & (index < sampling.samples)
    table = np.zeros((int(row.max()) + 1, sampling.samples), dtype=np.int64)
    there = np.zeros(table.shape, dtype=bool)
    table[row[inside], index[inside]] = codes[inside]
    there[row[inside], index[inside]] = True
    pairs = []
    for first in range(sampling.samples):
        both = there[:, first, None] & there[:, first + 1 :]
        same = np.count_nonzero((table[:, first, None] == table[:, first + 1 :]) & both, axis=0)
        known = np.count_nonzero(both, axis=0)
        copied = (known >= COPIED_PROBLEMS) & (same >= COPIED_SHARE * known)
        pairs += [
            (first, first + 1 + int(other), int(same[other]), int(known[other]))
            for other in np.flatnonzero(copied)
        ]
    if pairs:
        first, other, n_same, n_known = pairs[0]
        yield Finding(
            where=where,
            what=f"{len(pairs)} pairs of sample indices hold the same texts (first: {first} and {other}, in {n_same} of {n_known} problems)",
            mend="they are one run counted twice, or greedy decoding: not independent samples",
        )
        return
    long = lengths >= LONG_TEXT
    keys = np.stack([row[long], codes[long]], axis=1)
    distinct, counts = (
        np.unique(keys, axis=0, return_counts=True) if len(keys) else (keys, np.zeros(0, dtype=np.int64))
    )
    repeated = np.unique(distinct[counts > 1][:, 0])
    if len(repeated):
        yield Finding(
            where=where,
            what=f"{len(repeated)} problems hold one text of {LONG_TEXT} characters or more under several sample indices",
            mend="texts that long do not come twice by chance: look for a resume that wrote a sample again",
        )


def _part(rows: pa.Table, sampling: ResolvedSampling) -> pa.Table:
    return rows.filter(pc.and_(pc.equal(rows["sampling"], sampling.name), pc.equal(rows["round"], 0)))


def _missing(
    part: pa.Table, plan: UnitPlan, sampling: ResolvedSampling, problem_ids: Sequence[str]
) -> Iterator[Finding]:
    where = f"{plan.unit} {sampling.name}"
    distinct = part.select(["problem_id", "sample_idx"]).group_by(["problem_id", "sample_idx"]).aggregate([])
    inside = distinct.filter(
        pc.and_(
            pc.greater_equal(distinct["sample_idx"], 0), pc.less(distinct["sample_idx"], sampling.samples)
        )
    )
    counted = inside.group_by("problem_id").aggregate([("sample_idx", "count"), ("sample_idx", "max")])
    n_samples = counted["sample_idx_count"].to_numpy()
    there = counted["problem_id"].to_pylist()
    short = n_samples < sampling.samples
    holes = int(np.count_nonzero(n_samples <= counted["sample_idx_max"].to_numpy()))
    if plan.n_problems > len(there):
        absent = sorted(set(problem_ids) - set(there)) if plan.n_problems == len(problem_ids) else []
        first = f" (first: {absent[0]!r})" if absent else ""
        yield Finding(
            where=where,
            what=f"holds {len(there)} of {plan.n_problems} problems{first}",
            mend="finish the run; until then no mean of it stands beside a complete one",
        )
    if short.any():
        first = there[int(np.flatnonzero(short)[0])]
        n_holes = f"; {holes} of them have a hole between their sample indices" if holes else ""
        what = f"{int(short.sum())} problems have fewer than {sampling.samples} samples (from {int(n_samples.min())}; first: {first!r}){n_holes}"
        yield Finding(
            where=where, what=what, mend="finish the run: unequal denominators weigh problems unequally"
        )


def _unjudged(part: pa.Table, plan: UnitPlan, sampling: ResolvedSampling) -> Iterator[Finding]:
    open_rows = part.filter(pc.is_null(part["correct"]))
    if not open_rows.num_rows:
        return
    died = sum(
        any(reason.startswith(INFRASTRUCTURE) for reason in reasons)
        for reasons in open_rows["reasons"].to_pylist()
    )
    yield Finding(
        where=f"{plan.unit} {sampling.name}",
        what=f"{open_rows.num_rows} of {part.num_rows} rows have no verdict, {died} of them for infrastructure reasons",
        mend="judge them, or run them again: left out, they would shrink the denominator",
    )
