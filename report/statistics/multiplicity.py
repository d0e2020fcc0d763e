"""Adjusted p values of a named family: Holm (family-wise error) and Benjamini-Hochberg (false discovery rate).

The family is fixed by the registration before the data. A rule reads `adjusted < alpha`, strict, as for one p.
"""

import numpy as np
from numpy.typing import ArrayLike

from report.statistics.inputs import fractions


def holm(p_values: ArrayLike) -> tuple[float, ...]:
    """Each p is adjusted so that rejecting below alpha keeps the family-wise error at alpha, in any dependence.

    Running maximum of (m - rank) p over ascending p, capped at 1; the order of the result is that of the input.
    Errors: ValueError for a null (a p that is not estimable enters as 1), or a value outside [0, 1].
    Source: Holm 1979; statsmodels multipletests("holm").
    """
    p, order = _ascending(p_values)
    steps = p[order] * np.arange(len(p), 0, -1)
    return _restored(np.maximum.accumulate(steps), order)


def benjamini_hochberg(p_values: ArrayLike) -> tuple[float, ...]:
    """Each p is adjusted so that rejecting below alpha keeps the expected share of false rejections at alpha.

    Running minimum of m p / rank from the largest p down, capped at 1. Valid for independent or positively
    dependent p. Errors: as `holm`. Source: Benjamini and Hochberg 1995; scipy.stats.false_discovery_control.
    """
    p, order = _ascending(p_values)
    steps = p[order] * (len(p) / np.arange(1, len(p) + 1))
    return _restored(np.minimum.accumulate(steps[::-1])[::-1], order)


def _ascending(
    p_values: ArrayLike,
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.intp]]]:
    p = fractions("p_values", p_values)
    return p, np.argsort(p, kind="stable")


def _restored(
    sorted_values: np.ndarray[tuple[int], np.dtype[np.float64]],
    order: np.ndarray[tuple[int], np.dtype[np.intp]],
) -> tuple[float, ...]:
    adjusted = np.empty_like(sorted_values)
    adjusted[order] = np.minimum(sorted_values, 1.0)
    return tuple(adjusted.tolist())
