"""The mean of values that come in clusters (theorem families, source documents, paraphrases of one question)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from report.statistics.inputs import checked_level, labels, same_length, vector


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredMean:
    """Mean with its cluster-robust standard error and t(G - 1) interval; None and a reason for G < 2."""

    mean: float | None
    standard_error: float | None
    standard_error_uncorrected: float | None
    low: float | None
    high: float | None
    level: float
    n_values: int
    n_clusters: int
    df: int | None
    reason: str | None


def clustered_mean(values: ArrayLike, clusters: Sequence[object], *, level: float = 0.95) -> ClusteredMean:
    """The mean of `values` has a standard error that allows any correlation within a cluster (CRV1).

    values: (n,) scores or paired differences; clusters: (n,) labels. With e = value - mean,
    SE = sqrt(G / (G - 1) sum_g (sum_{i in g} e_i)^2) / n and the interval uses t with G - 1 degrees of freedom.
    `standard_error_uncorrected` leaves out G / (G - 1) (CRV0, Miller 2024). Fewer than two clusters give None.
    With few clusters (G < 20) or very unequal ones the interval is still too narrow.
    Errors: ValueError for a missing cluster label, unequal lengths, nulls, level outside (0, 1).
    Source: Liang and Zeger 1986; statsmodels OLS cov_type="cluster"; Miller 2024, arXiv 2411.00640.
    """
    checked_level(level)
    array = vector("values", values)
    codes, distinct = labels("clusters", clusters)
    n_values, n_clusters = same_length(values=array, clusters=codes), len(distinct)
    mean = math.fsum(array.tolist()) / n_values if n_values else None
    error = uncorrected = low = high = df = None
    reason: str | None = None
    if n_clusters < 2:
        reason = "fewer than two clusters: the spread between clusters is unknown"
    elif float(np.ptp(array)) == 0.0:
        reason = "every value is the same: the standard error would be 0"
    elif mean is not None:
        sums = np.bincount(codes, weights=array - mean)
        uncorrected = math.sqrt(math.fsum((sums * sums).tolist())) / n_values
        error = uncorrected * math.sqrt(n_clusters / (n_clusters - 1))
        df = n_clusters - 1
        half = float(stdtrit(df, (1 + level) / 2)) * error
        if half < 1e-12 * max(1.0, abs(mean)):
            error = uncorrected = None
            reason = "every cluster has the same mean: the standard error would be 0"
        else:
            low, high = mean - half, mean + half
    return ClusteredMean(
        mean=mean,
        standard_error=error,
        standard_error_uncorrected=uncorrected,
        low=low,
        high=high,
        level=level,
        n_values=n_values,
        n_clusters=n_clusters,
        df=df,
        reason=reason,
    )
