"""Exact McNemar: paired yes/no outcomes, judged on the problems where the two sides differ."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, gammaln

from report.statistics.inputs import outcomes, same_length, whole_number
from report.statistics.p_value import SMALLEST_P, bounded

_EXACT_UP_TO = 2_000  # discordant problems; integer sums stay under a millisecond


@dataclass(frozen=True, slots=True, kw_only=True)
class McNemarResult:
    """The paired table and its exact two-sided p; `p_value` is an upper bound where `p_is_bound`."""

    n_problems: int
    n_both: int
    n_neither: int
    n_lost: int
    n_gained: int
    gain: float | None
    p_value: float
    p_is_bound: bool
    log10_p: float
    reason: str | None


def mcnemar_exact(baseline_solved: ArrayLike, candidate_solved: ArrayLike) -> McNemarResult:
    """The paired outcomes are counted and tested by the exact conditional two-sided McNemar test.

    baseline_solved, candidate_solved: (n_problems,) bool, the same problem at the same place. Order never
    matters. p = min(1, 2 P(Bin(lost + gained, 1/2) <= min(lost, gained))); no discordant problem gives p = 1.
    `gain` is (gained - lost) / n_problems, None without problems.
    Errors: ValueError for unequal lengths, nulls and values other than 0 and 1.
    Source: McNemar 1947; exact form as scipy.stats.binomtest and statsmodels mcnemar(exact=True).
    """
    baseline = outcomes("baseline_solved", baseline_solved)
    candidate = outcomes("candidate_solved", candidate_solved)
    n_problems = same_length(baseline_solved=baseline, candidate_solved=candidate)
    n_lost = int(np.count_nonzero(baseline & ~candidate))
    n_gained = int(np.count_nonzero(candidate & ~baseline))
    n_both = int(np.count_nonzero(baseline & candidate))
    log10_p = mcnemar_log10_p(n_lost, n_gained)
    p_value = mcnemar_p(n_lost, n_gained)
    reason = None
    if n_problems == 0:
        reason = "no problems are shared by the two sides"
    elif n_lost + n_gained == 0:
        reason = "no problem is discordant: the two sides have the same outcome everywhere"
    return McNemarResult(
        n_problems=n_problems,
        n_both=n_both,
        n_neither=n_problems - n_both - n_lost - n_gained,
        n_lost=n_lost,
        n_gained=n_gained,
        gain=(n_gained - n_lost) / n_problems if n_problems else None,
        p_value=p_value,
        p_is_bound=p_value == SMALLEST_P,
        log10_p=log10_p,
        reason=reason,
    )


def mcnemar_p(lost: int, gained: int) -> float:
    """The exact two-sided p of `lost` against `gained` discordant problems, never 0.

    Up to 2,000 discordant problems the sum is over integers and rounded once, so a comparison with an alpha
    that is a power of two is exact. Where p < 1e-300 the value is the bound 1e-300 (see `mcnemar_log10_p`).
    Errors: ValueError for negative or non-integer counts.
    """
    discordant, smaller = _discordant(lost, gained)
    if 2 * smaller >= discordant:
        return 1.0
    if discordant <= _EXACT_UP_TO:
        p_value = float(Fraction(2 * _lower_tail(discordant, smaller), 2**discordant))
    else:
        p_value = 2.0 * float(betainc(discordant - smaller, smaller + 1, 0.5))
    return bounded(p_value)[0]


def mcnemar_log10_p(lost: int, gained: int) -> float:
    """log10 of the exact two-sided p, also where p itself is too small for a double (-601.76 for 0 : 2000).

    Errors: as `mcnemar_p`. Absolute error below 1e-9 for up to 10^6 discordant problems.
    """
    p_value = mcnemar_p(lost, gained)
    if p_value > SMALLEST_P:
        return math.log10(p_value) or 0.0  # -0.0 would print a sign
    discordant, smaller = _discordant(lost, gained)
    log_largest = gammaln(discordant + 1) - gammaln(smaller + 1) - gammaln(discordant - smaller + 1)
    sum_of_ratios = term = 1.0
    for count in range(
        smaller, 0, -1
    ):  # terms fall geometrically: p < 1e-300 means smaller << discordant / 2
        term *= count / (discordant - count + 1)
        sum_of_ratios += term
        if term < 1e-17 * sum_of_ratios:
            break
    log_p = math.log(2) + float(log_largest) + math.log(sum_of_ratios) - discordant * math.log(2)
    return log_p / math.log(10)


def mcnemar_midp(lost: int, gained: int) -> float:
    """The mid-p of the same test: the probability of the observed table counts half. Only by name.

    It is less conservative than the exact p and may exceed its nominal size a little, so a registration must
    name it. Equal counts give 1 - P(observed)/2. Errors: ValueError as `mcnemar_p`.
    Source: Fagerland, Lydersen and Laake 2013.
    """
    discordant, smaller = _discordant(lost, gained)
    if discordant == 0:
        return 1.0
    observed = math.exp(
        float(gammaln(discordant + 1) - gammaln(smaller + 1) - gammaln(discordant - smaller + 1))
        - discordant * math.log(2)
    )
    if discordant <= _EXACT_UP_TO:
        observed = math.comb(discordant, smaller) / 2**discordant
    if 2 * smaller == discordant:
        return 1.0 - observed / 2
    return bounded(mcnemar_p(lost, gained) - observed)[0]


def _discordant(lost: int, gained: int) -> tuple[int, int]:
    n_lost, n_gained = whole_number("lost", lost), whole_number("gained", gained)
    return n_lost + n_gained, min(n_lost, n_gained)


def _lower_tail(n: int, k: int) -> int:
    """Sum of C(n, i) for i = 0 to k, in integers."""
    term = total = 1
    for i in range(k):
        term = term * (n - i) // (i + 1)
        total += term
    return total
