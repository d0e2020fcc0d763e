"""pass@k curves of many units: the same numbers as one at a time, with each resampling index drawn once."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from report.aggregate import Interval, PassAtK
from report.inference import COMPANION_LEVEL, COMPANION_RESAMPLES, COMPANION_SEED
from report.statistics.inputs import tail_probabilities
from report.statistics.pass_at_k import pass_at_k
from report.statistics.proportion import wilson
from report.statistics.resampling import resample_sums

COLUMNS_AT_ONCE = 64
"""Bounds memory: 10,000 resamples of 64 columns are 5 MB."""
SAME_EVERYWHERE = "every problem has the same value: resampling cannot show how much it varies"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledProblems:
    """One sampling of one unit. n_samples, n_correct: (n_problems,), in the order of sorted problem ids."""

    n_samples: NDArray[np.int64]
    n_correct: NDArray[np.int64]

    @property
    def largest_k(self) -> int:
        """The samples that most problems have."""
        return int(np.median(self.n_samples)) if len(self.n_samples) else 0


@dataclass(slots=True, kw_only=True)
class _Point:
    """One k of one curve, while it is computed."""

    curve: int
    k: int
    values: NDArray[np.float64] | None
    value: float | None
    reason: str | None
    ci: Interval | None = None


def pass_at_k_curves(curves: Sequence[SampledProblems]) -> list[tuple[PassAtK, ...]]:
    """pass@k for k = 1, 2, 4, … of each curve, unbiased, with percentile intervals over problems.

    Where k is the number of samples of every problem, a problem has one value of 0 or 1 and Wilson's interval holds.
    """
    points = [point for index, curve in enumerate(curves) for point in _points(index, curve)]
    waiting: dict[int, list[_Point]] = defaultdict(list)
    for point in points:
        if point.values is not None and point.ci is None:
            waiting[len(point.values)].append(point)
    for group in waiting.values():
        for first in range(0, len(group), COLUMNS_AT_ONCE):
            _attach_intervals(group[first : first + COLUMNS_AT_ONCE])
    result: list[list[PassAtK]] = [[] for _ in curves]
    for point in points:
        result[point.curve].append(
            PassAtK(
                k=point.k, value=point.value, ci=point.ci, reason=point.reason if point.ci is None else None
            )
        )
    return [tuple(nodes) for nodes in result]


def _points(index: int, curve: SampledProblems) -> Iterator[_Point]:
    for exponent in range(curve.largest_k.bit_length()):
        k = 2**exponent
        values = np.ma.MaskedArray(pass_at_k(curve.n_samples, curve.n_correct, k))
        short = int(np.count_nonzero(np.ma.getmaskarray(values)))
        if short:
            reason = f"{short} of {len(values)} problems have fewer than k = {k} samples"
            yield _Point(curve=index, k=k, values=None, value=None, reason=reason)
            continue
        data = np.asarray(values.data, dtype=np.float64)
        value = math.fsum(data.tolist()) / len(data)
        if np.all(curve.n_samples == k):
            solved = wilson(int(np.count_nonzero(curve.n_correct)), len(data))
            yield _Point(
                curve=index, k=k, values=data, value=value, reason=solved.reason,
                ci=_interval(solved.low, solved.high, "Wilson over problems"),
            )  # fmt: skip
        elif np.ptp(data) == 0.0:
            yield _Point(curve=index, k=k, values=None, value=value, reason=SAME_EVERYWHERE)
        else:
            yield _Point(curve=index, k=k, values=data, value=value, reason=None)


def _attach_intervals(points: Sequence[_Point]) -> None:
    columns = np.stack([point.values for point in points if point.values is not None], axis=1)
    drawn = resample_sums(columns, n_resamples=COMPANION_RESAMPLES, seed=COMPANION_SEED)
    bounds = np.quantile(drawn.sums / len(columns), tail_probabilities(float(COMPANION_LEVEL)), axis=1)
    for point, low, high in zip(points, bounds[0].tolist(), bounds[1].tolist(), strict=True):
        point.ci = _interval(low, high, "percentile bootstrap over problems")


def _interval(low: float | None, high: float | None, method: str) -> Interval | None:
    if low is None or high is None:
        return None
    return Interval(low=low, high=high, level=COMPANION_LEVEL, method=method)
