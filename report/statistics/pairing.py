"""Two sides brought to the same problems and the same samples before anything is compared."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from report.statistics.inputs import counts, labels, outcomes, same_length


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """One side, one entry a sample in any order: problem id, sample index, verdict (no nulls)."""

    problem_ids: Sequence[str] | NDArray[np.str_]
    sample_idx: ArrayLike
    correct: ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True)
class RestrictedPairing:
    """Per-problem counts over shared samples, in sorted order of problem ids, with the naive means beside.

    `naive_*` use the same problems and every sample a side has. Dropped problems share no sample.
    """

    problem_ids: tuple[str, ...]
    n_samples: NDArray[np.int64]
    baseline_correct: NDArray[np.int64]
    candidate_correct: NDArray[np.int64]
    baseline_mean: NDArray[np.float64]
    candidate_mean: NDArray[np.float64]
    naive_baseline_mean: NDArray[np.float64]
    naive_candidate_mean: NDArray[np.float64]
    gain: float | None
    naive_gain: float | None
    dropped_problems: tuple[str, ...]
    n_samples_unused: int
    reason: str | None


def restricted_pairing(baseline: Samples, candidate: Samples) -> RestrictedPairing:
    """Both sides hold the same problems and, within each, the same sample indices; means are recomputed.

    A (problem, sample index) counts only if both sides have it. `gain` is the mean over problems of the
    restricted means' difference; `naive_gain` the same over all samples of those problems. Nothing shared gives
    None. Problem ids sort by code point. Order of the entries never matters.
    Errors: ValueError for unequal lengths, nulls, a negative index, or one (problem, sample index) twice.
    Source: seed 002 section 7.1 (same problems, same seeds).
    """
    ids = np.concatenate([np.asarray(side.problem_ids, dtype=np.str_) for side in (baseline, candidate)])
    problem, names = labels("problem_ids", ids)
    index = [counts("sample_idx", side.sample_idx) for side in (baseline, candidate)]
    verdict = [outcomes("correct", side.correct) for side in (baseline, candidate)]
    n_first = len(np.asarray(baseline.problem_ids))
    problems = [problem[:n_first], problem[n_first:]]
    width = 1 + max((int(array.max()) for array in index if array.size), default=0)
    keys = []
    for name, codes, place, correct in zip(("baseline", "candidate"), problems, index, verdict, strict=True):
        same_length(problem_ids=codes, sample_idx=place, correct=correct)
        key = codes * width + place
        found, times = np.unique(key, return_counts=True)
        if (times > 1).any():
            code, twice = divmod(int(found[times > 1][0]), width)
            raise ValueError(f"{name} has sample {twice} of {names[code]!r} twice: keep one row a sample")
        keys.append(key)
    shared = [np.isin(keys[0], keys[1]), np.isin(keys[1], keys[0])]

    def per_problem(side: int, *, restricted: bool, correct: bool) -> NDArray[np.int64]:
        chosen = shared[side] if restricted else np.ones(len(keys[side]), dtype=bool)
        chosen = chosen & verdict[side] if correct else chosen
        return np.bincount(problems[side][chosen], minlength=len(names)).astype(np.int64)

    n_shared = per_problem(0, restricted=True, correct=False)
    kept = n_shared > 0
    solved = [per_problem(side, restricted=True, correct=True)[kept] for side in (0, 1)]
    naive = [
        per_problem(side, restricted=False, correct=True)[kept]
        / per_problem(side, restricted=False, correct=False)[kept]
        for side in (0, 1)
    ]
    means = [side / n_shared[kept] for side in solved]
    some = bool(kept.any())
    return RestrictedPairing(
        problem_ids=tuple(str(names[i]) for i in np.flatnonzero(kept)),
        n_samples=n_shared[kept],
        baseline_correct=solved[0],
        candidate_correct=solved[1],
        baseline_mean=means[0],
        candidate_mean=means[1],
        naive_baseline_mean=naive[0],
        naive_candidate_mean=naive[1],
        gain=float(np.mean(means[1] - means[0])) if some else None,
        naive_gain=float(np.mean(naive[1] - naive[0])) if some else None,
        dropped_problems=tuple(str(names[i]) for i in np.flatnonzero(~kept)),
        n_samples_unused=sum(len(side) - int(np.count_nonzero(side)) for side in shared),
        reason=None if some else "the two sides share no sample of any problem",
    )
