"""Intervals for a share of independent problems (solved@k), and the labelled one for pooled samples."""

import math
from dataclasses import dataclass

from scipy.special import betaincinv, ndtri

from report.statistics.inputs import tail_probabilities, whole_number

ANTI_CONSERVATIVE = "anti-conservative: samples of one problem are correlated, so the interval is too narrow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proportion:
    """A share and its interval, or None with a reason; `caution` must be printed where it is set."""

    successes: int
    n: int
    estimate: float | None
    low: float | None
    high: float | None
    level: float
    method: str
    caution: str | None
    reason: str | None


def wilson(successes: int, n: int, level: float = 0.95) -> Proportion:
    """The share of `successes` in `n` independent trials has a Wilson score interval, within [0, 1].

    At 0 successes the lower bound is exactly 0, at n it is exactly 1. n = 0 gives None with a reason.
    Errors: ValueError for non-integers, negatives, successes > n, level outside (0, 1).
    Source: Wilson 1927; statsmodels proportion_confint(method="wilson").
    """
    return _proportion(successes, n, level, "wilson")


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> Proportion:
    """The share of `successes` in `n` has the exact (conservative) Clopper-Pearson interval.

    Bounds are quantiles of Beta(c, n - c + 1) and Beta(c + 1, n - c). Edge cases and errors as `wilson`.
    Source: Clopper and Pearson 1934; scipy binomtest().proportion_ci().
    """
    return _proportion(successes, n, level, "clopper_pearson")


def wilson_pooled_samples(successes: int, n_samples: int, level: float = 0.95) -> Proportion:
    """The Wilson interval over samples pooled from several problems; it always carries its caution.

    Its trials are not independent: at 30 problems x 32 samples a 95 % interval covers 40 to 45 %.
    """
    return _proportion(successes, n_samples, level, "wilson_pooled_samples", caution=ANTI_CONSERVATIVE)


def _proportion(successes: int, n: int, level: float, method: str, caution: str | None = None) -> Proportion:
    tail = tail_probabilities(level)[0]
    whole_number("n", n)
    whole_number("successes", successes)
    if successes > n:
        raise ValueError(
            f"successes is {successes} of n = {n}: pass the count first, then the number of trials"
        )
    low = high = None
    if n:
        bounds = _clopper_pearson_bounds if method == "clopper_pearson" else _wilson_bounds
        low, high = bounds(successes, n, tail)
        low = 0.0 if successes == 0 else max(0.0, low)  # the formula can miss the end by 1e-17
        high = 1.0 if successes == n else min(1.0, high)
    return Proportion(
        successes=successes,
        n=n,
        estimate=successes / n if n else None,
        low=low,
        high=high,
        level=level,
        method=method,
        caution=caution,
        reason=None if n else "no trials",
    )


def _wilson_bounds(successes: int, n: int, tail: float) -> tuple[float, float]:
    z_squared = float(ndtri(tail)) ** 2
    centre = (successes + z_squared / 2) / (n + z_squared)
    half = math.sqrt(z_squared * (successes * (n - successes) / n + z_squared / 4)) / (n + z_squared)
    return centre - half, centre + half


def _clopper_pearson_bounds(successes: int, n: int, tail: float) -> tuple[float, float]:
    low = float(betaincinv(successes, n - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, n - successes, 1 - tail)) if successes < n else 1.0
    return low, high
