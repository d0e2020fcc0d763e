"""Estimates: every comparison computed by its registered test; those that share a resampling index draw it once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from prereg.methods import Metric, PairedBootstrap, StatisticalTest
from report.aggregate import Estimate, SideEstimate
from report.inference import COMPANION_LEVEL, COMPANION_RESAMPLES, COMPANION_SEED, METHODS, Sides
from report.metrics import Scores
from report.statistics.bootstrap import BootstrapResult, PairedScores, paired_bootstrap_many

COMPARISONS_AT_ONCE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """An estimate and what has to be said about it."""

    estimate: Estimate
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One comparison to compute."""

    sides: Sides
    metric: Metric
    test: StatisticalTest


def estimate(sides: Sides, metric: Metric, test: StatisticalTest) -> Computed:
    """The registered test of `metric` on these sides."""
    return estimate_many([Request(sides=sides, metric=metric, test=test)])[0]


def estimate_many(requests: Sequence[Request]) -> list[Computed]:
    """Each as by itself; comparisons that draw the same resampling index draw it once."""
    results = _bootstraps(requests)
    return [_computed(request, result) for request, result in zip(requests, results, strict=True)]


def _computed(request: Request, result: BootstrapResult) -> Computed:
    sides = request.sides
    inference = METHODS[request.test.name](sides, request.test, result)
    return Computed(
        estimate=Estimate(
            name=name_of(request.metric),
            value=sides.candidate.mean - sides.baseline.mean,
            unit="fraction",
            ci=inference.ci,
            ci_reason=inference.ci_reason,
            p=inference.p,
            p_at_floor=inference.p_at_floor,
            log10_p=inference.log10_p,
            method=request.test.name,
            n_problems=len(sides.baseline.problem_ids),
            n_samples=sides.n_samples,
            cap_tokens=sides.cap_tokens[0] if len(set(sides.cap_tokens)) == 1 else None,
            baseline=_side(sides.baseline, sides, 0),
            candidate=_side(sides.candidate, sides, 1),
            paired=inference.paired,
            parameters=inference.parameters,
        ),
        warnings=inference.warnings,
    )


def name_of(metric: Metric) -> str:
    """How the metric is printed: pass@1 for mean_correct, solved@8, pass@4."""
    if metric.name == "mean_correct":
        return "pass@1" if metric.extractor is None else f"pass@1, {metric.extractor} only"
    return f"{'solved' if metric.name == 'solved_at_k' else 'pass'}@{metric.k}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Index:
    """What fixes a resampling index, and how results are read off it."""

    n_problems: int
    level: str
    resamples: int
    seed: int
    strict: bool
    strata: tuple[str, ...] | None


def _index_of(request: Request) -> _Index:
    """The test's own resampling, or that of the companion interval beside a test without one."""
    sides, test = request.sides, request.test
    own = test if isinstance(test, PairedBootstrap) else None
    return _Index(
        n_problems=len(sides.baseline.problem_ids),
        level=str(own.level) if own else COMPANION_LEVEL,
        resamples=own.resamples if own else COMPANION_RESAMPLES,
        seed=own.seed if own else COMPANION_SEED,
        strict=own is not None and own.p == "strict",
        strata=sides.groups if own and own.strata else None,
    )


def _bootstraps(requests: Sequence[Request]) -> list[BootstrapResult]:
    """One result a request; at most 64 comparisons are resampled at once, which bounds memory."""
    groups: dict[_Index, list[int]] = defaultdict(list)
    for place, request in enumerate(requests):
        groups[_index_of(request)].append(place)
    results: dict[int, BootstrapResult] = {}
    for index, places in groups.items():
        for first in range(0, len(places), COMPARISONS_AT_ONCE):
            chunk = places[first : first + COMPARISONS_AT_ONCE]
            drawn = paired_bootstrap_many(
                [_paired_scores(requests[place].sides) for place in chunk],
                level=float(index.level),
                n_resamples=index.resamples,
                seed=index.seed,
                p_variant="strict" if index.strict else "plus_one",
                strata=index.strata,
            )
            results.update(zip(chunk, drawn, strict=True))
    return [results[place] for place in range(len(requests))]


def _paired_scores(sides: Sides) -> PairedScores:
    """Integer counts where every problem of a side has the same number of samples, on both sides; else fractions."""
    baseline, candidate = sides.baseline, sides.candidate
    if baseline.counts is None or candidate.counts is None:
        return PairedScores(baseline=baseline.values, candidate=candidate.values)
    return PairedScores(
        baseline=baseline.counts,
        candidate=candidate.counts,
        n_samples=(baseline.per_problem or 1, candidate.per_problem or 1),
    )


def _side(scores: Scores, sides: Sides, place: int) -> SideEstimate:
    return SideEstimate(
        system=sides.systems[place],
        unit=sides.units[place],
        cap_tokens=sides.cap_tokens[place],
        value=scores.mean,
        numerator=scores.numerator,
        denominator=scores.denominator,
    )
