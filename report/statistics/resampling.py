"""One resampling index per (problems, seed, resamples), shared by every comparison of the same problems.

The index is the registered one: `default_rng(seed).integers(0, n, (B, n))`. It is never held whole: rows are
drawn in chunks (the stream is the same), turned into counts by bincount, and one matrix product per chunk
gives the resample sums of all comparisons. Sums never depend on the order of addition, so not on the linear
algebra library or its threads: integers are exact, floats are split into an exact part and a rest.
"""

import hashlib
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_CHUNK_ELEMENTS = 1 << 19  # 4 MB of index: few products, so waiting threads of a busy machine cost little
_EXACT_IN_FLOAT32 = 1 << 24
_EXACT_IN_FLOAT64 = 1 << 53


@dataclass(frozen=True, slots=True, kw_only=True)
class ResampleSums:
    """Sums over each resample of each column, and what identifies the index that made them."""

    sums: NDArray[np.float64]
    index_sha256: str
    numpy_version: str


def resampling_index(*, n_problems: int, n_resamples: int, seed: int) -> NDArray[np.int64]:
    """The whole index, (n_resamples, n_problems) int64, as the registered method draws it.

    Memory is 8 n_resamples n_problems bytes; `resample_sums` gives the same sums without holding it.
    NumPy promises the stream for one build only (NEP 19), so results carry its version and the sha256.
    """
    return np.random.default_rng(seed).integers(0, n_problems, (n_resamples, n_problems))


def resample_sums(
    columns: NDArray[np.float64] | NDArray[np.int64],
    *,
    n_resamples: int,
    seed: int,
    strata_sizes: tuple[int, ...] = (),
) -> ResampleSums:
    """Every column is summed over every resample of its rows; `sums` has shape (n_columns, n_resamples).

    columns: (n_problems, n_columns), one comparison a column. With `strata_sizes`, rows are grouped by stratum
    and each stratum is resampled within itself, one after the other from one generator. Integer columns
    give exact sums; a float column is split at a power of two so that the sum of its leading part is exact
    and the rest, below 2^-52 of the largest sum, is added once.
    `index_sha256` is over the drawn index as little-endian int64, strata one after the other.
    Errors: ValueError if integers could exceed 2^53 or the strata do not add up.
    """
    n_problems, n_columns = columns.shape
    sizes = strata_sizes or (n_problems,)
    if sum(sizes) != n_problems or min(sizes) < 1:
        raise ValueError(
            f"strata of sizes {sizes} do not make up {n_problems} problems: give each row a stratum"
        )
    work = np.hstack(_exact_parts(columns))
    generator = np.random.default_rng(seed)
    digest = hashlib.sha256()
    sums = np.zeros((n_resamples, work.shape[1]))
    start = 0
    for size in sizes:
        rows_per_chunk = max(1, _CHUNK_ELEMENTS // size)
        for first in range(0, n_resamples, rows_per_chunk):
            rows = min(rows_per_chunk, n_resamples - first)
            index = generator.integers(0, size, (rows, size))
            digest.update(index.astype("<i8", copy=False).data)
            index += np.arange(rows)[:, None] * size
            drawn = np.bincount(index.ravel(), minlength=rows * size).reshape(rows, size)
            sums[first : first + rows] += drawn.astype(work.dtype) @ work[start : start + size]
        start += size
    total = sums[:, :n_columns] + (sums[:, n_columns:] if work.shape[1] > n_columns else 0.0)
    return ResampleSums(
        sums=np.ascontiguousarray(total.T),
        index_sha256=digest.hexdigest(),
        numpy_version=np.__version__,
    )


def _exact_parts(
    columns: NDArray[np.float64] | NDArray[np.int64],
) -> list[NDArray[np.float32] | NDArray[np.float64]]:
    """Parts that add up to `columns`; every partial sum of the first is exact in its float type."""
    n_problems = max(1, len(columns))
    largest_sum = float(np.abs(columns).max(initial=0)) * n_problems
    if np.issubdtype(columns.dtype, np.integer):
        if largest_sum >= _EXACT_IN_FLOAT64:
            raise ValueError(f"sums may reach {largest_sum:g}, beyond exact float64: use fewer samples")
        if largest_sum < _EXACT_IN_FLOAT32:
            return [columns.astype(np.float32)]
        return [columns.astype(np.float64)]
    if largest_sum == 0.0:
        return [columns.astype(np.float64)]
    scale = 2.0 ** (52 - math.frexp(largest_sum)[1])
    leading = np.rint(columns * scale) / scale
    rest = columns - leading
    return [leading, rest] if rest.any() else [leading]
