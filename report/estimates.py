"""Estimates: the registered method on the scores of two sides, one row of `METHODS` a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from prereg.methods import McnemarExact, Metric, PairedBootstrap, StatisticalTest
from report.aggregate import Estimate, Interval, PairedCounts, SideEstimate
from report.metrics import Scores
from report.numbers import p_phrase, p_value, significant
from report.statistics.bootstrap import WARNINGS, BootstrapResult, paired_bootstrap
from report.statistics.mcnemar import mcnemar_exact

COMPANION_LEVEL, COMPANION_SEED, COMPANION_RESAMPLES = "0.95", 42, 10_000
"""The interval beside a test that has none of its own; it takes no part in any decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Two sides with the same problems in the same order, and what names them."""

    baseline: Scores
    candidate: Scores
    systems: tuple[str, str]
    units: tuple[str, str]
    n_samples: int | None
    cap_tokens: int
    strata: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """What a test says of the gain, in the words of an estimate."""

    ci: Interval | None
    ci_reason: str | None
    p: float | None
    p_at_floor: bool
    log10_p: float | None
    paired: PairedCounts | None
    parameters: dict[str, JsonValue]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """An estimate and what has to be said about it."""

    estimate: Estimate
    warnings: tuple[str, ...]


def estimate(sides: Sides, metric: Metric, test: StatisticalTest) -> Computed:
    """The registered test of `metric` on these sides."""
    inference = METHODS[test.name](sides, test)
    return Computed(
        estimate=Estimate(
            name=name_of(metric),
            value=sides.candidate.mean - sides.baseline.mean,
            unit="fraction",
            ci=inference.ci,
            ci_reason=inference.ci_reason,
            p=inference.p,
            p_at_floor=inference.p_at_floor,
            log10_p=inference.log10_p,
            method=test.name,
            n_problems=len(sides.baseline.problem_ids),
            n_samples=sides.n_samples,
            cap_tokens=sides.cap_tokens,
            baseline=_side(sides.baseline, sides.systems[0], sides.units[0]),
            candidate=_side(sides.candidate, sides.systems[1], sides.units[1]),
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


def _mcnemar(sides: Sides, test: StatisticalTest) -> Inference:
    if not isinstance(test, McnemarExact):
        raise TypeError(test.name)
    table = mcnemar_exact(sides.baseline.values == 1, sides.candidate.values == 1)
    companion = _bootstrap_result(
        sides, level=COMPANION_LEVEL, resamples=COMPANION_RESAMPLES, seed=COMPANION_SEED
    )
    return Inference(
        ci=_interval(companion, COMPANION_LEVEL, "paired percentile bootstrap, companion"),
        ci_reason=companion.reason if companion.low is None else None,
        p=table.p_value,
        p_at_floor=table.p_is_bound,
        log10_p=table.log10_p,
        paired=PairedCounts(
            both=table.n_both, neither=table.n_neither, lost=table.n_lost, gained=table.n_gained
        ),
        parameters={"sides": test.sides, "alpha": str(test.alpha), "companion": _fixed_by(companion)},
        warnings=(table.reason,) if table.reason else (),
    )


def _bootstrap(sides: Sides, test: StatisticalTest) -> Inference:
    if not isinstance(test, PairedBootstrap):
        raise TypeError(test.name)
    level = str(test.level)
    result = _bootstrap_result(
        sides, level=level, resamples=test.resamples, seed=test.seed, strict=test.p == "strict"
    )
    return Inference(
        ci=_interval(result, level, "paired percentile bootstrap"),
        ci_reason=result.reason if result.low is None else None,
        p=result.p_value,
        p_at_floor=result.p_at_floor,
        log10_p=None,
        paired=None,
        parameters={
            **_fixed_by(result),
            "p": test.p,
            "strata": test.strata,
            "standard_error": None if result.standard_error is None else significant(result.standard_error),
            "sign_flip_p": None if result.sign_flip_p is None else significant(result.sign_flip_p),
        },
        warnings=tuple(f"{WARNINGS[warning]}{_companion_p(result, warning)}" for warning in result.warnings),
    )


METHODS: Mapping[str, Callable[[Sides, StatisticalTest], Inference]] = {
    "mcnemar_exact": _mcnemar,
    "paired_bootstrap": _bootstrap,
}
"""Test name of the design -> function. A new test is one function and one row."""


def _bootstrap_result(
    sides: Sides, *, level: str, resamples: int, seed: int, strict: bool = False
) -> BootstrapResult:
    """Integer sums where both sides have equal sample counts, else fractions; strata where the test names them."""
    baseline, candidate = sides.baseline, sides.candidate
    exact = baseline.counts is not None and candidate.counts is not None
    return paired_bootstrap(
        baseline.counts if baseline.counts is not None and exact else baseline.values,
        candidate.counts if candidate.counts is not None and exact else candidate.values,
        level=float(level),
        n_resamples=resamples,
        seed=seed,
        p_variant="strict" if strict else "plus_one",
        strata=sides.strata,
        n_samples=(baseline.per_problem or 1, candidate.per_problem or 1) if exact else None,
    )


def _companion_p(result: BootstrapResult, warning: str) -> str:
    if warning == "small_n" and result.sign_flip_p is not None:
        return f" (sign-flip {p_phrase(p_value(result.sign_flip_p))})"
    return ""


def _interval(result: BootstrapResult, level: str, method: str) -> Interval | None:
    if result.low is None or result.high is None:
        return None
    return Interval(low=result.low, high=result.high, level=level, method=method)


def _fixed_by(result: BootstrapResult) -> dict[str, JsonValue]:
    return {"resamples": result.n_resamples, "seed": result.seed, "index_sha256": result.index_sha256}


def _side(scores: Scores, system: str, unit: str) -> SideEstimate:
    return SideEstimate(
        system=system,
        unit=unit,
        value=scores.mean,
        numerator=scores.numerator,
        denominator=scores.denominator,
    )
