"""The paired sign-flip (randomisation) test: under no difference each problem's sign is a fair coin."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from report.statistics.inputs import vector, whole_number

EXACT_UP_TO = 20
"""Non-zero differences; above, signs are drawn and the p counts the observed table (plus one)."""

_TIE = 1e-12  # relative; float sums that differ by less are the same sum
_CHUNK_ELEMENTS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SignFlipResult:
    """Two-sided p of the sum of differences; `p_at_floor`: no drawn sign vector reached the observed sum."""

    n_problems: int
    n_nonzero: int
    gain: float | None
    p_value: float
    p_at_floor: bool
    method: str
    n_resamples: int | None
    seed: int | None
    reason: str | None


def sign_flip(
    differences: ArrayLike, *, seed: int, n_resamples: int = 10_000, denominator: int = 1
) -> SignFlipResult:
    """The paired differences are tested against random signs, two-sided.

    differences: (n_problems,), candidate minus baseline; integers with their common `denominator`, or floats.
    p = #{signs: |sum s d| >= |sum d|} / 2^n, exact for up to 20 non-zero differences (zeros do not change
    it); above, (count + 1) / (n_resamples + 1) over `default_rng(seed).integers(0, 2, (B, n))`. On
    {-1, 0, 1} data the exact form equals exact McNemar. No non-zero difference gives p = 1 with a reason.
    Errors: ValueError for nulls, non-finite values, fewer than 1 resample.
    Source: Fisher 1935; scipy.stats.permutation_test(permutation_type="samples"); plus one: Phipson and Smyth 2010.
    """
    array = np.asarray(differences)
    column = array if array.dtype.kind == "i" and array.ndim == 1 else vector("differences", array)
    return sign_flip_many(column[:, None], seed=seed, n_resamples=n_resamples, denominator=denominator)[0]


def sign_flip_many(
    columns: NDArray[np.float64] | NDArray[np.int64],
    *,
    seed: int,
    n_resamples: int = 10_000,
    denominator: int = 1,
) -> tuple[SignFlipResult, ...]:
    """Every column is tested as `sign_flip` does; drawn signs are shared, so each result equals its own call.

    columns: (n_problems, n_comparisons).
    """
    whole_number("n_resamples", n_resamples, at_least=1)
    whole_number("denominator", denominator, at_least=1)
    n_problems, n_columns = columns.shape
    observed = np.abs(columns.sum(axis=0, dtype=np.float64))
    n_nonzero = np.count_nonzero(columns, axis=0)
    drawn = np.flatnonzero(n_nonzero > EXACT_UP_TO)
    reached = np.zeros(n_columns, dtype=np.int64)
    if drawn.size:
        limit = _limit(columns[:, drawn], observed[drawn])
        reached[drawn] = _count_drawn(columns[:, drawn], limit, n_resamples=n_resamples, seed=seed)
    results = []
    for j in range(n_columns):
        exact = n_nonzero[j] <= EXACT_UP_TO
        p_value = _exact_p(columns[:, j]) if exact else (int(reached[j]) + 1) / (n_resamples + 1)
        results.append(
            SignFlipResult(
                n_problems=n_problems,
                n_nonzero=int(n_nonzero[j]),
                gain=float(columns[:, j].sum()) / (n_problems * denominator) if n_problems else None,
                p_value=p_value,
                p_at_floor=not exact and int(reached[j]) == 0,
                method="exact" if exact else "monte_carlo_plus_one",
                n_resamples=None if exact else n_resamples,
                seed=None if exact else seed,
                reason="no problem differs between the two sides" if n_nonzero[j] == 0 else None,
            )
        )
    return tuple(results)


def _limit(
    columns: NDArray[np.float64] | NDArray[np.int64], observed: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What a sum must reach to count: the observed one, less the rounding of a float sum."""
    if columns.dtype.kind == "i":
        return observed
    rounding: NDArray[np.float64] = np.abs(columns).sum(axis=0, dtype=np.float64) * _TIE
    return observed - rounding


def _count_drawn(
    columns: NDArray[np.float64] | NDArray[np.int64],
    limit: NDArray[np.float64],
    *,
    n_resamples: int,
    seed: int,
) -> NDArray[np.int64]:
    """How many of `n_resamples` drawn sign vectors reach `limit`, per column. Memory is flat in n_resamples."""
    generator = np.random.default_rng(seed)
    work = columns.astype(np.float64)
    rows_per_chunk = max(1, _CHUNK_ELEMENTS // max(1, len(columns)))
    reached = np.zeros(columns.shape[1], dtype=np.int64)
    for first in range(0, n_resamples, rows_per_chunk):
        rows = min(rows_per_chunk, n_resamples - first)
        signs = generator.integers(0, 2, (rows, len(columns))).astype(np.float64) * 2.0 - 1.0
        reached += np.count_nonzero(np.abs(signs @ work) >= limit, axis=0)
    return reached


def _exact_p(column: NDArray[np.float64] | NDArray[np.int64]) -> float:
    """The share of all sign vectors that reach the observed sum; 2^19 sums at most (the rest mirrors them)."""
    nonzero = column[column != 0]
    if nonzero.size == 0:
        return 1.0
    sums = nonzero[:1].copy()  # the first sign is fixed: the other half has the same absolute sums
    for value in nonzero[1:]:
        sums = np.concatenate((sums + value, sums - value))
    observed = np.abs(nonzero.sum(dtype=np.float64))
    limit = _limit(nonzero[:, None], np.array([observed]))[0]
    return float(np.mean(np.abs(sums) >= limit))
