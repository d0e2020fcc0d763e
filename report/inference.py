"""Inference: what each registered test says of the gain between two sides, one row of `METHODS` a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from prereg.methods import (
    ClusteredT,
    McnemarExact,
    McnemarMidp,
    PairedBootstrap,
    PairedT,
    SignFlip,
    StatisticalTest,
)
from report.aggregate import Interval, PairedCounts
from report.metrics import Scores
from report.numbers import p_phrase, p_value, significant
from report.statistics.bootstrap import WARNINGS, BootstrapResult
from report.statistics.clustered import clustered_mean
from report.statistics.mcnemar import mcnemar_exact, mcnemar_midp
from report.statistics.paired_t import paired_t
from report.statistics.sign_flip import sign_flip

COMPANION_LEVEL, COMPANION_SEED, COMPANION_RESAMPLES = "0.95", 42, 10_000
"""The interval beside a test that has none of its own; it takes no part in any decision."""

COMPANION_METHOD = "paired percentile bootstrap, companion"
FEW_CLUSTERS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Two sides with the same problems in the same order, and what names them."""

    baseline: Scores
    candidate: Scores
    systems: tuple[str, str]
    names: tuple[str, str]
    """What tells them apart in print: the systems, or the protocols of one system."""
    units: tuple[str, str]
    n_samples: int | None
    cap_tokens: tuple[int, int]
    groups: tuple[str, ...] | None
    """One label a problem, where the test stratifies or clusters."""


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


def _mcnemar(sides: Sides, test: StatisticalTest, companion: BootstrapResult) -> Inference:
    if not isinstance(test, McnemarExact | McnemarMidp):
        raise TypeError(test.name)
    table = mcnemar_exact(sides.baseline.values == 1, sides.candidate.values == 1)
    exact = isinstance(test, McnemarExact)
    ci = interval_of(companion.low, companion.high, COMPANION_LEVEL, COMPANION_METHOD)
    return Inference(
        ci=ci,
        ci_reason=companion.reason if ci is None else None,
        p=table.p_value if exact else mcnemar_midp(table.n_lost, table.n_gained),
        p_at_floor=exact and table.p_is_bound,
        log10_p=table.log10_p if exact else None,
        paired=PairedCounts(
            both=table.n_both, neither=table.n_neither, lost=table.n_lost, gained=table.n_gained
        ),
        parameters={"sides": test.sides, "alpha": str(test.alpha), "companion": _fixed_by(companion)},
        warnings=(table.reason,) if table.reason else (),
    )


def _bootstrap(_sides: Sides, test: StatisticalTest, result: BootstrapResult) -> Inference:
    if not isinstance(test, PairedBootstrap):
        raise TypeError(test.name)
    return Inference(
        ci=interval_of(result.low, result.high, str(test.level), "paired percentile bootstrap"),
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


def _sign_flip(sides: Sides, test: StatisticalTest, companion: BootstrapResult) -> Inference:
    if not isinstance(test, SignFlip):
        raise TypeError(test.name)
    differences, denominator = _differences(sides)
    result = sign_flip(differences, denominator=denominator, seed=test.seed, n_resamples=test.resamples)
    ci = interval_of(companion.low, companion.high, COMPANION_LEVEL, COMPANION_METHOD)
    return Inference(
        ci=ci,
        ci_reason=companion.reason if ci is None else None,
        p=result.p_value,
        p_at_floor=result.p_at_floor,
        log10_p=None,
        paired=None,
        parameters={
            "alpha": str(test.alpha),
            "seed": test.seed,
            "resamples": result.n_resamples,
            "method": result.method,
            "companion": _fixed_by(companion),
        },
        warnings=(result.reason,) if result.reason else (),
    )


def _paired_t(sides: Sides, test: StatisticalTest, _companion: BootstrapResult) -> Inference:
    if not isinstance(test, PairedT):
        raise TypeError(test.name)
    level = str(test.level)
    result = paired_t(sides.candidate.values - sides.baseline.values, level=float(level))
    return Inference(
        ci=interval_of(result.low, result.high, level, "paired t"),
        ci_reason=result.reason,
        p=result.p_value,
        p_at_floor=result.p_is_bound,
        log10_p=result.log10_p,
        paired=None,
        parameters={"level": level, "df": result.df},
        warnings=(),
    )


def _clustered_t(sides: Sides, test: StatisticalTest, _companion: BootstrapResult) -> Inference:
    if not isinstance(test, ClusteredT) or sides.groups is None:
        raise TypeError(test.name)
    level = str(test.level)
    differences = sides.candidate.values - sides.baseline.values
    result = clustered_mean(differences, sides.groups, level=float(level))
    few = f"{result.n_clusters} clusters: with fewer than 20 the interval is too narrow"
    return Inference(
        ci=interval_of(result.low, result.high, level, "cluster-robust t"),
        ci_reason=result.reason,
        p=None,
        p_at_floor=False,
        log10_p=None,
        paired=None,
        parameters={
            "level": level,
            "clusters": test.clusters,
            "n_clusters": result.n_clusters,
            "df": result.df,
        },
        warnings=(few,) if result.n_clusters < FEW_CLUSTERS else (),
    )


METHODS: Mapping[str, Callable[[Sides, StatisticalTest, BootstrapResult], Inference]] = {
    "mcnemar_exact": _mcnemar,
    "mcnemar_midp": _mcnemar,
    "paired_bootstrap": _bootstrap,
    "sign_flip": _sign_flip,
    "paired_t": _paired_t,
    "clustered_t": _clustered_t,
}
"""Test name of the design -> function. A new test is one function and one row. The bootstrap result is the test's own, or its companion."""


def _differences(sides: Sides) -> tuple[NDArray[np.float64] | NDArray[np.int64], int]:
    """Per problem, candidate minus baseline, and what to divide by: integers where sample counts allow it."""
    baseline, candidate = sides.baseline, sides.candidate
    if baseline.counts is None or candidate.counts is None or baseline.per_problem != candidate.per_problem:
        return candidate.values - baseline.values, 1
    return candidate.counts - baseline.counts, candidate.per_problem or 1


def _companion_p(result: BootstrapResult, warning: str) -> str:
    if warning == "small_n" and result.sign_flip_p is not None:
        return f" (sign-flip {p_phrase(p_value(result.sign_flip_p))})"
    return ""


def interval_of(low: float | None, high: float | None, level: str, method: str) -> Interval | None:
    """The interval, or None where a bound is missing."""
    if low is None or high is None:
        return None
    return Interval(low=low, high=high, level=level, method=method)


def _fixed_by(result: BootstrapResult) -> dict[str, JsonValue]:
    return {"resamples": result.n_resamples, "seed": result.seed, "index_sha256": result.index_sha256}
