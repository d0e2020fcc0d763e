"""The paired t test and its equivalence form (TOST), on one difference per problem."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaln, hyp2f1, stdtrit

from report.statistics.inputs import checked_level, vector
from report.statistics.p_value import bounded

_NO_SPREAD = 1e-12
_ONE_PROBLEM = "fewer than two problems: the spread of the differences is unknown"
_SAME_EVERYWHERE = "every problem has the same difference: the spread is 0 and t is not defined"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTResult:
    """Mean difference with t interval and two-sided p; None and a reason where the spread is unknown or 0."""

    gain: float | None
    low: float | None
    high: float | None
    level: float
    standard_error: float | None
    t: float | None
    df: int | None
    p_value: float | None
    p_is_bound: bool
    log10_p: float | None
    n_problems: int
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TostResult:
    """Two one-sided t tests against the margins; equivalent iff the 1 - 2 alpha interval lies strictly inside."""

    gain: float | None
    margin_low: float
    margin_high: float
    alpha: float
    low: float | None
    high: float | None
    t_lower: float | None
    t_upper: float | None
    df: int | None
    p_lower: float | None
    p_upper: float | None
    p_value: float | None
    p_is_bound: bool
    equivalent: bool | None
    n_problems: int
    reason: str | None


def paired_t(differences: ArrayLike, *, level: float = 0.95) -> PairedTResult:
    """The mean difference over problems has a t interval and a two-sided p with n - 1 degrees of freedom.

    differences: (n_problems,) candidate minus baseline, one per problem (means over samples: the spread between
    problems already holds the sampling noise). Fewer than two problems, or the same difference everywhere, give
    None with a reason. p below 1e-300 is a bound; log10_p has its value.
    Errors: ValueError for nulls, non-finite values, level outside (0, 1). Source: Student 1908; scipy ttest_rel.
    """
    checked_level(level)
    array = vector("differences", differences)
    mean, error, reason = _mean_and_error(array)
    if error is None or mean is None:
        return PairedTResult(
            gain=mean,
            low=None,
            high=None,
            level=level,
            standard_error=None,
            t=None,
            df=None,
            p_value=None,
            p_is_bound=False,
            log10_p=None,
            n_problems=len(array),
            reason=reason,
        )
    df, t = len(array) - 1, mean / error
    half = float(stdtrit(df, (1 + level) / 2)) * error
    p_value, is_bound = bounded(_two_sided(t, df))
    return PairedTResult(
        gain=mean,
        low=mean - half,
        high=mean + half,
        level=level,
        standard_error=error,
        t=t,
        df=df,
        p_value=p_value,
        p_is_bound=is_bound,
        log10_p=_log10_two_sided(t, df) if is_bound else math.log10(p_value) or 0.0,
        n_problems=len(array),
        reason=None,
    )


def tost_paired(
    differences: ArrayLike, *, margin_low: float, margin_high: float, alpha: float = 0.05
) -> TostResult:
    """Whether the mean difference is shown to lie between the two margins, at level alpha.

    Margins may be unequal; they belong in the registration. p = max of the two one-sided p. The interval has
    level 1 - 2 alpha (90 % at 0.05). "Not equivalent" is not "different".
    Errors: ValueError unless margin_low < margin_high and 0 < alpha < 0.5, and as `paired_t`.
    Source: Schuirmann 1987; statsmodels ttost_paired.
    """
    if not margin_low < margin_high:
        raise ValueError(f"margins are {margin_low} and {margin_high}: the lower one comes first")
    if not 0.0 < alpha < 0.5:
        raise ValueError(f"alpha is {alpha}: it must lie strictly between 0 and 0.5")
    array = vector("differences", differences)
    mean, error, reason = _mean_and_error(array)
    low = high = t_lower = t_upper = p_lower = p_upper = p_value = equivalent = df = None
    is_bound = False
    if error is not None and mean is not None:
        df = len(array) - 1
        half = float(stdtrit(df, 1 - alpha)) * error
        low, high = mean - half, mean + half
        t_lower, t_upper = (mean - margin_low) / error, (mean - margin_high) / error
        p_lower, p_upper = bounded(_upper_tail(t_lower, df))[0], bounded(_upper_tail(-t_upper, df))[0]
        p_value, is_bound = bounded(max(_upper_tail(t_lower, df), _upper_tail(-t_upper, df)))
        equivalent = margin_low < low and high < margin_high
    return TostResult(
        gain=mean,
        margin_low=margin_low,
        margin_high=margin_high,
        alpha=alpha,
        low=low,
        high=high,
        t_lower=t_lower,
        t_upper=t_upper,
        df=df,
        p_lower=p_lower,
        p_upper=p_upper,
        p_value=p_value,
        p_is_bound=is_bound,
        equivalent=equivalent,
        n_problems=len(array),
        reason=reason,
    )


def _mean_and_error(
    array: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> tuple[float | None, float | None, str | None]:
    """(mean, standard error of the mean, why there is no error)."""
    if len(array) == 0:
        return None, None, _ONE_PROBLEM
    mean = math.fsum(array.tolist()) / len(array)
    if len(array) == 1:
        return mean, None, _ONE_PROBLEM
    if float(np.ptp(array)) < _NO_SPREAD * max(1.0, abs(mean)):
        return mean, None, _SAME_EVERYWHERE
    return mean, float(array.std(ddof=1)) / math.sqrt(len(array)), None


def _two_sided(t: float, df: int) -> float:
    return float(betainc(df / 2, 0.5, df / (df + t * t)))


def _upper_tail(t: float, df: int) -> float:
    half = _two_sided(t, df) / 2
    return half if t > 0 else 1.0 - half


def _log10_two_sided(t: float, df: int) -> float:
    """log10 of I_x(df/2, 1/2) where the value itself underflows: DLMF 8.17.8, leading factor in logs."""
    a, x = df / 2, df / (df + t * t)
    series = float(hyp2f1(a + 0.5, 1.0, a + 1.0, x))
    log_p = a * math.log(x) + 0.5 * math.log1p(-x) - math.log(a) - float(betaln(a, 0.5)) + math.log(series)
    return log_p / math.log(10)
