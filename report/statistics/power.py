"""What a design can see: McNemar's minimum split, unconditional power and minimum detectable effects."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaln, nctdtr, ndtri, stdtrit, xlog1py, xlogy

from report.statistics.inputs import checked_level, whole_number
from report.statistics.mcnemar import mcnemar_p

Counting = Literal["candidate_higher", "either_direction"]

_NEAR_ALPHA = 1e-9  # relative: closer than this, the comparison is made with the exact p


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimumDetectable:
    """The smallest effect that reaches the target power, or None; `largest_power` is what delta = d reaches."""

    effect: float | None
    target_power: float
    largest_power: float | None
    reason: str | None


def minimum_split(n_discordant: int, *, alpha: float = 0.05) -> int | None:
    """The largest smaller side that is still significant (9 of 30: 9:21 rejects), or None if no split is.

    Errors: ValueError for a negative count or alpha outside (0, 1).
    """
    whole_number("n_discordant", n_discordant)
    smaller = int(_critical(np.array([n_discordant], dtype=np.int64), checked_level(alpha, "alpha"))[0])
    return smaller if smaller >= 0 else None


def mcnemar_power(
    *,
    n_problems: int,
    discordant: float,
    gain: float,
    alpha: float = 0.05,
    counting: Counting = "candidate_higher",
) -> float:
    """The probability that exact two-sided McNemar rejects, over the random number of discordant problems.

    discordant: expected share of problems on which the two sides differ; gain: expected (gained - lost) / n,
    both fractions. D ~ Bin(n, d), gained | D ~ Bin(D, (d + gain) / (2 d)), rejection iff p < alpha (strict).
    "candidate_higher" counts only rejections in favour of the candidate; "either_direction" all.
    Errors: ValueError for |gain| > discordant (impossible), shares outside [0, 1], alpha outside (0, 1).
    Source: exact sum of the trinomial model; reproduces the table of seed 000 section 1.
    """
    plan = _McNemarPlan(n_problems, discordant, alpha)
    if abs(gain) > discordant:
        raise ValueError(
            f"gain {gain} is larger than the discordant share {discordant}: a net gain cannot exceed the "
            "share of problems that change; lower the gain or raise the share"
        )
    power = plan.power(gain)
    return min(1.0, power + plan.power(-gain)) if counting == "either_direction" else power


def mcnemar_mde(
    *, n_problems: int, discordant: float, target_power: float = 0.8, alpha: float = 0.05
) -> MinimumDetectable:
    """The smallest net gain with at least `target_power` (candidate higher), found to 1e-13.

    None with a reason if even gain = discordant (nothing lost) falls short. Errors: as `mcnemar_power`.
    """
    checked_level(target_power, "target_power")
    plan = _McNemarPlan(n_problems, discordant, alpha)
    largest = plan.power(discordant)
    if largest < target_power:
        reason = f"even a gain of {discordant} with nothing lost has a power of only {largest:.3f}"
        return MinimumDetectable(effect=None, target_power=target_power, largest_power=largest, reason=reason)
    effect = _smallest(lambda gain: plan.power(gain) >= target_power, 0.0, discordant)
    return MinimumDetectable(effect=effect, target_power=target_power, largest_power=largest, reason=None)


def paired_mean_mde(
    *,
    n_problems: int,
    sd: float,
    target_power: float = 0.8,
    alpha: float = 0.05,
    method: Literal["t", "z"] = "t",
) -> MinimumDetectable:
    """The smallest mean difference that a two-sided paired test sees with `target_power`.

    sd: standard deviation of the per-problem differences, from a pilot or a registered assumption (the result
    is in its unit). z: (z_{1-alpha/2} + z_power) sd / sqrt(n); t: noncentral t, both tails. n < 2 or sd = 0
    give None. Errors: ValueError for sd < 0, levels outside (0, 1).
    Source: closed form; statsmodels TTestPower.solve_power.
    """
    checked_level(target_power, "target_power")
    checked_level(alpha, "alpha")
    whole_number("n_problems", n_problems)
    if not (math.isfinite(sd) and sd >= 0.0):
        raise ValueError(
            f"sd is {sd}: give the standard deviation of the per-problem differences, at least 0"
        )
    if n_problems < 2 or sd == 0.0:
        reason = "fewer than two problems" if n_problems < 2 else "sd is 0: any difference would be seen"
        return MinimumDetectable(effect=None, target_power=target_power, largest_power=None, reason=reason)
    shift = float(ndtri(1 - alpha / 2) + ndtri(target_power))
    if method == "t":
        df = n_problems - 1
        critical = float(stdtrit(df, 1 - alpha / 2))

        def seen(noncentrality: float) -> bool:
            upper = 1.0 - float(nctdtr(df, noncentrality, critical))
            return upper + float(nctdtr(df, noncentrality, -critical)) >= target_power

        shift = _smallest(seen, 0.0, 2.0 * (shift + critical))
    effect = shift * sd / math.sqrt(n_problems)
    return MinimumDetectable(effect=effect, target_power=target_power, largest_power=None, reason=None)


class _McNemarPlan:
    """Everything about (n, d, alpha) that does not depend on the gain."""

    def __init__(self, n_problems: int, discordant: float, alpha: float) -> None:
        checked_level(alpha, "alpha")
        n = whole_number("n_problems", n_problems)
        if not 0.0 <= discordant <= 1.0:
            raise ValueError(f"discordant is {discordant}: give the share of problems that differ, in [0, 1]")
        reach = 40.0 + 9.0 * math.sqrt(n * discordant * (1.0 - discordant))  # beyond: below 1e-17
        first = max(0, math.floor(n * discordant - reach))
        last = min(n, math.ceil(n * discordant + reach))
        d = np.arange(first, last + 1)
        log_choose = gammaln(n + 1) - gammaln(d + 1) - gammaln(n - d + 1)
        probability = np.exp(log_choose + xlogy(d, discordant) + xlog1py(n - d, -discordant))
        smaller = _critical(d, alpha)
        fires = smaller >= 0
        self.share = discordant
        self.discordant, self.smaller, self.probability = d[fires], smaller[fires], probability[fires]

    def power(self, gain: float) -> float:
        """P(reject with the candidate higher): lost | D ~ Bin(D, (d - gain) / (2 d)) is at most the critical value."""
        if self.share == 0.0 or not len(self.discordant):
            return 0.0
        lost_share = min(1.0, max(0.0, (self.share - gain) / (2.0 * self.share)))
        rejects = betainc(self.discordant - self.smaller, self.smaller + 1.0, 1.0 - lost_share)
        return min(1.0, math.fsum((self.probability * rejects).tolist()))


def _critical(discordant: NDArray[np.int64], alpha: float) -> NDArray[np.int64]:
    """For each D the largest m with 2 P(Bin(D, 1/2) <= m) < alpha, or -1."""
    start = np.floor(discordant / 2 + float(ndtri(alpha / 2)) * np.sqrt(discordant) / 2)
    m = np.clip(start.astype(np.int64), -1, (discordant - 1) // 2)
    while True:
        up = _significant(discordant, m + 1, alpha)
        down = ~up & ~_significant(discordant, m, alpha)
        if not (up.any() or down.any()):
            return m
        m = m + up - down


def _significant(discordant: NDArray[np.int64], m: NDArray[np.int64], alpha: float) -> NDArray[np.bool_]:
    """Whether the split m : D - m has p < alpha; m = -1 always has, a split past the middle never."""
    inside = (m >= 0) & (2 * m < discordant)
    p = 2.0 * betainc(np.where(inside, discordant - m, 1.0), np.where(inside, m + 1.0, 1.0), 0.5)
    p = np.where(m < 0, 0.0, np.where(inside, p, 1.0))
    significant: NDArray[np.bool_] = p < alpha
    for i in np.flatnonzero(inside & (np.abs(p - alpha) < _NEAR_ALPHA * alpha)).tolist():
        significant[i] = mcnemar_p(int(m[i]), int(discordant[i] - m[i])) < alpha
    return significant


def _smallest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest x in [low, high] where `holds` (false below, true above; true at high), to 1e-13 of high."""
    if holds(low):
        return low
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
