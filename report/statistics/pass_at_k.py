"""pass@k (unbiased) and solved@k (the prefix rule). Unit of both: the problem."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from report.statistics.inputs import counts, outcomes, same_length, tail_probabilities, whole_number
from report.statistics.resampling import resample_sums

MaskedFloats = np.ma.MaskedArray[Any, np.dtype[np.float64]]

_EXACT_UP_TO = 20_000  # samples per problem; the integers of the exact form stay small enough


@dataclass(frozen=True, slots=True, kw_only=True)
class PassAtK:
    """Mean pass@k over problems with its problem-level interval, or None with a reason."""

    k: int
    estimate: float | None
    low: float | None
    high: float | None
    level: float
    n_problems: int
    n_problems_short: int
    n_resamples: int
    seed: int
    index_sha256: str | None
    numpy_version: str
    reason: str | None


@overload
def pass_at_k(n: int, c: int, k: int) -> float | None: ...
@overload
def pass_at_k(n: ArrayLike, c: ArrayLike, k: int) -> MaskedFloats: ...
def pass_at_k(n: ArrayLike, c: ArrayLike, k: int) -> float | MaskedFloats | None:
    """The unbiased estimate of "at least one of k samples is correct", 1 - C(n-c, k) / C(n, k).

    n samples, c of them correct: two integers give a float, or None for k > n (never 0, never 1); arrays, one
    value per problem, give a masked array, masked where k > n. n may be one number for all problems.
    Exact integers, rounded once, up to 20,000 samples per problem; above, the product form (relative 1e-9).
    Errors: ValueError for k < 1, c > n, non-integer or negative counts, unequal lengths.
    Source: Chen et al. 2021 (arXiv 2107.03374), eq. 1.
    """
    whole_number("k", k, at_least=1)
    if np.ndim(n) == 0 and np.ndim(c) == 0:
        whole_number("n", n)  # type: ignore[arg-type]  # the check is what makes it an int
        whole_number("c", c)  # type: ignore[arg-type]
        return _pass_at_k(int(n), int(c), k)  # type: ignore[arg-type]
    n_correct = counts("c", c)
    n_samples = counts("n", np.full(len(n_correct), n) if np.ndim(n) == 0 else n)
    same_length(n=n_samples, c=n_correct)
    width = 1 + int(n_correct.max(initial=0))
    pairs, place = np.unique(n_samples * width + n_correct, return_inverse=True)
    values = [_pass_at_k(pair // width, pair % width, k) for pair in pairs.tolist()]
    short = np.array([value is None for value in values], dtype=bool)
    filled = np.array([0.0 if value is None else value for value in values])
    return np.ma.MaskedArray(filled[place], mask=short[place])


def pass_at_k_mean(
    n: ArrayLike,
    c: ArrayLike,
    k: int,
    *,
    seed: int,
    level: float = 0.95,
    n_resamples: int = 10_000,
) -> PassAtK:
    """The mean of pass@k over problems has a percentile interval from resampling problems.

    n, c: (n_problems,) samples and correct samples per problem, in the order of sorted problem ids. A problem
    with fewer than k samples makes the mean not estimable: leaving it out would change the problem set, so
    the result is None and counts them. One problem, or the same value on all problems, has no interval.
    Errors: as `pass_at_k`, and level outside (0, 1).
    """
    tails = tail_probabilities(level)
    whole_number("n_resamples", n_resamples, at_least=100)
    values = pass_at_k(np.atleast_1d(np.asarray(n)) if np.ndim(n) else n, np.atleast_1d(np.asarray(c)), k)
    n_problems = len(values)
    n_short = int(np.count_nonzero(np.ma.getmaskarray(values)))
    estimate = low = high = sha256 = None
    reason = "no problems" if n_problems == 0 else None
    if n_short:
        reason = f"{n_short} of {n_problems} problems have fewer than k = {k} samples"
    elif n_problems:
        estimate = math.fsum(values.data.tolist()) / n_problems
        if np.ptp(values.data) == 0.0:
            reason = "every problem has the same value: resampling cannot show how much it varies"
        else:
            drawn = resample_sums(values.data[:, None], n_resamples=n_resamples, seed=seed)
            low, high = np.quantile(drawn.sums[0] / n_problems, tails).tolist()
            sha256 = drawn.index_sha256
    return PassAtK(
        k=k,
        estimate=estimate,
        low=low,
        high=high,
        level=level,
        n_problems=n_problems,
        n_problems_short=n_short,
        n_resamples=n_resamples,
        seed=seed,
        index_sha256=sha256,
        numpy_version=np.__version__,
        reason=reason,
    )


def solved_at_k(correct: ArrayLike | Sequence[ArrayLike], k: int) -> NDArray[np.bool_]:
    """Whether at least one of the first k samples of each problem is correct (the prefix rule).

    correct: (n_problems, n_samples) bool, or one row per problem of any length; samples in the order of
    sample_idx. More than k samples are allowed: the first k count, so a top-up never changes the outcome.
    Errors: ValueError for k < 1, a null outcome, and any problem with fewer than k samples (its outcome is
    unknown, not False).
    """
    whole_number("k", k, at_least=1)
    if isinstance(correct, np.ndarray) and correct.ndim == 2 and correct.dtype.kind == "b":
        if correct.shape[1] < k:
            raise ValueError(f"problems have {correct.shape[1]} samples, k is {k}: sample more or lower k")
        return np.asarray(correct[:, :k].any(axis=1))
    rows = [outcomes(f"problem {i}", row) for i, row in enumerate(correct)]  # type: ignore[arg-type]  # rows of a 2-d array
    short = [i for i, row in enumerate(rows) if len(row) < k]
    if short:
        raise ValueError(
            f"{len(short)} problems have fewer than k = {k} samples (first: problem {short[0]} has "
            f"{len(rows[short[0]])}): sample more or lower k"
        )
    return np.array([bool(row[:k].any()) for row in rows], dtype=bool)


def _pass_at_k(n: int, c: int, k: int) -> float | None:
    if c > n:
        raise ValueError(f"{c} correct of {n} samples: pass counts per problem, n first")
    if k > n:
        return None
    if n - c < k:
        return 1.0
    if n <= _EXACT_UP_TO:
        every = math.comb(n, k)
        return (every - math.comb(n - c, k)) / every
    return float(-np.expm1(np.log1p(-k / np.arange(n - c + 1, n + 1)).sum()))
