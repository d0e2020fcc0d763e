"""What each comparison could see, and on how many problems its conclusion hangs: at the observed spread, deciding nothing."""

from __future__ import annotations

import numpy as np

from prereg.methods import McnemarExact, McnemarMidp, StatisticalTest
from report.aggregate import ChangeNode, Estimate, FragilityNode, PlanningNode
from report.inference import Sides
from report.statistics.fragility import mcnemar_fragility
from report.statistics.power import mcnemar_mde, paired_mean_mde

TARGET_POWER = "0.80"


def plan_of(sides: Sides, test: StatisticalTest) -> PlanningNode:
    """The smallest gain that this many problems show with power 0.80, were the spread what it was."""
    differences = sides.candidate.values - sides.baseline.values
    if isinstance(test, McnemarExact | McnemarMidp):
        discordant = float(np.mean(differences != 0)) if len(differences) else 0.0
        seen = mcnemar_mde(
            n_problems=len(differences), discordant=discordant, target_power=float(TARGET_POWER), alpha=float(test.alpha)
        )  # fmt: skip
        return PlanningNode(
            target_power=TARGET_POWER,
            detectable=seen.effect,
            detectable_reason=seen.reason,
            spread=discordant,
            basis="exact McNemar at the observed share of discordant problems",
        )
    spread = float(np.std(differences, ddof=1)) if len(differences) > 1 else 0.0
    alpha = float(1 - test.level) if hasattr(test, "level") else float(test.alpha)
    mean = paired_mean_mde(
        n_problems=len(differences), sd=spread, target_power=float(TARGET_POWER), alpha=alpha
    )
    return PlanningNode(
        target_power=TARGET_POWER,
        detectable=mean.effect,
        detectable_reason=mean.reason,
        spread=spread,
        basis="paired t at the observed standard deviation of per-problem differences",
    )


def fragility_of(estimate: Estimate, test: StatisticalTest) -> FragilityNode | None:
    """Where a problem counts 0 or 1: how many would have to come out otherwise. None for other tests."""
    if estimate.paired is None or not isinstance(test, McnemarExact):
        return None
    found = mcnemar_fragility(
        estimate.paired.lost, estimate.paired.gained, n_problems=estimate.n_problems, alpha=float(test.alpha)
    )
    return FragilityNode(
        n_flips=found.n_flips,
        conclusion_after=found.conclusion_after,
        lost_after=found.lost_after,
        gained_after=found.gained_after,
        reason=found.reason,
    )


def change_of(sides: Sides) -> ChangeNode:
    """Problems that rose, fell and stayed."""
    before, after = sides.baseline.values, sides.candidate.values
    same = before == after
    return ChangeNode(
        risen=int(np.count_nonzero(after > before)),
        fallen=int(np.count_nonzero(after < before)),
        unchanged=int(np.count_nonzero(same)),
        none_on_both=int(np.count_nonzero(same & (before == 0))),
        all_on_both=int(np.count_nonzero(same & (before == 1))),
    )
