"""How many verdicts a conclusion hangs on."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal

from report.statistics.inputs import checked_level, whole_number
from report.statistics.mcnemar import mcnemar_p

Conclusion = Literal["improved", "degraded", "no_detectable_difference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragility:
    """The smallest number of flipped verdicts that changes the conclusion, and the table it leads to.

    None, with a reason, if no flips can change it.
    """

    conclusion: Conclusion
    n_flips: int | None
    conclusion_after: Conclusion | None
    lost_after: int | None
    gained_after: int | None
    reason: str | None


def mcnemar_conclusion(lost: int, gained: int, *, alpha: float = 0.05) -> Conclusion:
    """The registered reading of exact McNemar: p < alpha (strict) and the side that is higher."""
    if mcnemar_p(lost, gained) >= checked_level(alpha, "alpha"):
        return "no_detectable_difference"
    return "improved" if gained > lost else "degraded"


def mcnemar_fragility(lost: int, gained: int, *, n_problems: int, alpha: float = 0.05) -> Fragility:
    """How many problems would have to flip for exact McNemar to conclude otherwise.

    One flip is one problem whose outcome changes on one side: a discordant problem becomes concordant, or a
    concordant one becomes lost or gained. Flips are on distinct problems, so at most n_problems of them.
    From a significant result the way is to fewer gained or more lost (or the mirror); from a null result the
    nearer of the two directions counts, and "improved" if both are as near.
    Errors: ValueError for lost + gained > n_problems, negative counts, alpha outside (0, 1).
    Source: the fragility index of Walsh et al. 2014, on paired data.
    """
    whole_number("n_problems", n_problems)
    if whole_number("lost", lost) + whole_number("gained", gained) > n_problems:
        raise ValueError(
            f"{lost} lost and {gained} gained exceed {n_problems} problems: pass counts of problems"
        )
    now = mcnemar_conclusion(lost, gained, alpha=alpha)
    toward_loss = {"improved": (True,), "degraded": (False,), "no_detectable_difference": (False, True)}[now]
    found = [
        nearest
        for losing in toward_loss
        if (nearest := _nearest(lost, gained, losing=losing, n_problems=n_problems, alpha=alpha, now=now))
    ]
    if not found:
        return Fragility(
            conclusion=now,
            n_flips=None,
            conclusion_after=None,
            lost_after=None,
            gained_after=None,
            reason=f"no outcome of {n_problems} problems reaches p < {alpha} from here",
        )
    n_flips, lost_after, gained_after = min(found, key=lambda nearest: nearest[0])
    return Fragility(
        conclusion=now,
        n_flips=n_flips,
        conclusion_after=mcnemar_conclusion(lost_after, gained_after, alpha=alpha),
        lost_after=lost_after,
        gained_after=gained_after,
        reason=None,
    )


def _nearest(
    lost: int, gained: int, *, losing: bool, n_problems: int, alpha: float, now: Conclusion
) -> tuple[int, int, int] | None:
    """(flips, lost, gained) of the nearest table in one direction with another conclusion, or None.

    Each flip moves gained - lost by one, whichever problem flips. At equal difference p grows with the number
    of discordant problems, so leaving significance is quickest over concordant problems and reaching it is
    quickest over discordant ones. Along that way the conclusion changes once, so halving finds the place.
    """
    shrinking, growing = (gained, lost) if losing else (lost, gained)
    n_concordant = n_problems - lost - gained

    def table(n_flips: int) -> tuple[int, int]:
        leaves = now != "no_detectable_difference"
        grown = min(n_flips, n_concordant) if leaves else max(0, n_flips - shrinking)
        after = (growing + grown, shrinking - (n_flips - grown))
        return after if losing else (after[1], after[0])

    flips = range(shrinking + n_concordant + 1)
    place = bisect_left(flips, 1, key=lambda k: int(mcnemar_conclusion(*table(k), alpha=alpha) != now))
    return (place, *table(place)) if place < len(flips) else None
