"""Samples of one side of a comparison: rows of one sampling and round, as arrays in key order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from manifests.rows import INFRASTRUCTURE

COLUMNS = (
    "sampling",
    "problem_id",
    "sample_idx",
    "round",
    "cap_tokens",
    "max_tokens",
    "n_completion_tokens",
    "finish_reason",
    "extractor",
    "correct",
    "reasons",
)
"""What the report reads of a row; completions are left on disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Judged samples, sorted by problem id (code point) and sample index.

    problem_ids: (n_problems,) distinct; problem: (n_rows,) index into it; sample_idx, correct: (n_rows,).
    n_unjudged: rows whose verdict is null; n_infrastructure: those of them that died for infrastructure reasons.
    """

    problem_ids: tuple[str, ...]
    problem: NDArray[np.int64]
    sample_idx: NDArray[np.int64]
    correct: NDArray[np.bool_]
    n_unjudged: int
    n_infrastructure: int

    @property
    def samples_per_problem(self) -> NDArray[np.int64]:
        """(n_problems,) number of samples."""
        return np.bincount(self.problem, minlength=len(self.problem_ids))

    @property
    def correct_per_problem(self) -> NDArray[np.int64]:
        """(n_problems,) number of correct samples."""
        return np.bincount(self.problem[self.correct], minlength=len(self.problem_ids))

    def keep(self, mask: NDArray[np.bool_]) -> Samples:
        """The samples where `mask` (n_rows,) is true; problems that lose all their samples go."""
        present = np.unique(self.problem[mask])
        return Samples(
            problem_ids=tuple(self.problem_ids[code] for code in present),
            problem=np.searchsorted(present, self.problem[mask]),
            sample_idx=self.sample_idx[mask],
            correct=self.correct[mask],
            n_unjudged=self.n_unjudged,
            n_infrastructure=self.n_infrastructure,
        )

    def solved_in_prefix(self, k: int) -> NDArray[np.bool_]:
        """(n_problems,) at least one of the first k samples, by sample index, is correct."""
        starts = np.searchsorted(self.problem, np.arange(len(self.problem_ids)))
        rank = np.arange(len(self.problem)) - starts[self.problem]
        hits = self.problem[(rank < k) & self.correct]
        return np.bincount(hits, minlength=len(self.problem_ids)) > 0


def select_samples(rows: pa.Table, *, sampling: str, round_: int, extractor: str | None = None) -> Samples:
    """The judged samples of one sampling and round.

    extractor: when given, a row that another extractor graded counts as not correct.
    """
    chosen = rows.filter(pc.and_(pc.equal(rows["sampling"], sampling), pc.equal(rows["round"], round_)))
    judged = pc.is_valid(chosen["correct"])
    unjudged = chosen.filter(pc.invert(judged))
    kept = chosen.filter(judged)
    correct = kept["correct"]
    if extractor is not None:
        correct = pc.and_(correct, pc.fill_null(pc.equal(kept["extractor"], extractor), fill_value=False))
    ids = kept["problem_id"].combine_chunks().dictionary_encode()
    dictionary = ids.dictionary.to_pylist() if kept.num_rows else []
    order = sorted(range(len(dictionary)), key=lambda code: dictionary[code])
    position = np.empty(len(dictionary), dtype=np.int64)
    position[order] = np.arange(len(dictionary))
    problem = position[ids.indices.to_numpy()] if kept.num_rows else np.zeros(0, dtype=np.int64)
    sample_idx = kept["sample_idx"].to_numpy().astype(np.int64)
    by_key = np.lexsort((sample_idx, problem))
    return Samples(
        problem_ids=tuple(dictionary[code] for code in order),
        problem=problem[by_key],
        sample_idx=sample_idx[by_key],
        correct=correct.to_numpy(zero_copy_only=False).astype(bool)[by_key],
        n_unjudged=unjudged.num_rows,
        n_infrastructure=_count_infrastructure(unjudged),
    )


def restrict(samples: Samples, to: Samples, *, problems: bool, sample_indices: bool) -> Samples:
    """Those of `samples` whose problem `to` has too, and, when asked, whose sample index it has for that problem."""
    position = {problem_id: code for code, problem_id in enumerate(to.problem_ids)}
    shared = np.array([position.get(problem_id, -1) for problem_id in samples.problem_ids], dtype=np.int64)
    codes = shared[samples.problem] if len(samples.problem) else samples.problem
    kept = codes >= 0
    if not problems:
        kept = np.ones_like(kept)
    if sample_indices:
        width = 1 + max(int(samples.sample_idx.max(initial=0)), int(to.sample_idx.max(initial=0)))
        wanted = to.problem * width + to.sample_idx
        kept &= (codes < 0) | np.isin(codes * width + samples.sample_idx, wanted)
    return samples.keep(kept)


def _count_infrastructure(unjudged: pa.Table) -> int:
    return sum(
        any(reason.startswith(INFRASTRUCTURE) for reason in reasons)
        for reasons in unjudged["reasons"].to_pylist()
    )
