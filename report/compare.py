"""Two logs compared without a study: what cannot be paired first, then the paired numbers. Everything here is exploratory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow.compute as pc

from manifests.errors import BeforehandError
from prereg.methods import MeanCorrect, Metric
from report.compare_sides import LogSide, what_stands_between
from report.metrics import Scores, TooFewSamplesError, score
from report.samples import Samples, restrict, select_samples
from report.statistics.bootstrap import BootstrapResult, paired_bootstrap
from report.statistics.clustered import clustered_mean
from report.statistics.mcnemar import McNemarResult, mcnemar_exact
from report.statistics.pass_at_k import pass_at_k
from report.statistics.proportion import wilson

SEED, LEVEL = 42, 0.95
RESAMPLES, RESAMPLES_OF_MANY, MANY_PROBLEMS = 10_000, 2_000, 5_000
"""With many problems fewer resamples are drawn, so that the answer comes at once; how many is printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideNumbers:
    """One side over all its judged samples, and over the paired ones. Fractions."""

    n_problems: int
    n_rows: int
    n_judged: int
    n_correct: int
    n_only_here: int
    value: float
    low: float | None
    high: float | None
    interval: str
    paired_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PassAtKPair:
    """pass@k of both sides on the paired samples; null with a reason where a problem has fewer than k."""

    k: int
    a: float | None
    b: float | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """B minus A. said: everything that a reader must know before any number."""

    said: tuple[str, ...]
    metric: str
    a: SideNumbers
    b: SideNumbers
    n_shared: int
    n_paired_samples: int
    samples_per_problem: int | None
    outcome: str
    mcnemar: McNemarResult
    bootstrap: BootstrapResult
    pass_at_k: tuple[PassAtKPair, ...] = field(default=())


def compare(a: LogSide, b: LogSide, metric: Metric) -> Comparison:
    """The paired comparison of `metric`, on the samples that both sides have and have judged."""
    samples_a, samples_b = _samples(a), _samples(b)
    paired_a = restrict(samples_a, samples_b, problems=True, sample_indices=True)
    paired_b = restrict(samples_b, paired_a, problems=True, sample_indices=True)
    if not paired_a.problem_ids:
        raise _nothing_shared(a, b, samples_a, samples_b)
    try:
        scores_a, scores_b = score(paired_a, metric), score(paired_b, metric)
    except TooFewSamplesError as err:
        raise BeforehandError(
            f"among the paired samples, {err}", where="--k", mend="choose a smaller k"
        ) from err
    counts = paired_a.samples_per_problem
    k = min(int(counts.min()), getattr(metric, "k", int(counts.min())))
    return Comparison(
        said=tuple(what_stands_between(a, b, samples_a, samples_b, paired_a)),
        metric=metric_name(metric),
        a=_side(a, samples_a, paired_a, scores_a),
        b=_side(b, samples_b, paired_b, scores_b),
        n_shared=len(paired_a.problem_ids),
        n_paired_samples=int(counts.sum()),
        samples_per_problem=int(counts[0]) if (counts == counts[0]).all() else None,
        outcome="correct" if k == 1 else f"at least one of the first {k} paired samples is correct",
        mcnemar=mcnemar_exact(paired_a.solved_in_prefix(k), paired_b.solved_in_prefix(k)),
        bootstrap=_bootstrap(scores_a, scores_b),
        pass_at_k=tuple(_pass_at_k(paired_a, paired_b, getattr(metric, "k", 1))),
    )


def _nothing_shared(a: LogSide, b: LogSide, samples_a: Samples, samples_b: Samples) -> BeforehandError:
    for side, samples in ((a, samples_a), (b, samples_b)):
        if not samples.problem_ids:
            return BeforehandError(
                f"none of its {side.rows.num_rows} rows has a verdict",
                where=side.file,
                mend="score the log, or import it and regrade its completions",
            )
    first = [samples.problem_ids[0] for samples in (samples_a, samples_b)]
    return BeforehandError(
        "the two logs share no sample of any problem",
        where=f"{a.file}, {b.file}",
        mend=f"ids must be the same on both sides (first: {first[0]!r} and {first[1]!r}); a map can mend them",
    )


def metric_name(metric: Metric) -> str:
    """How the metric is printed."""
    if isinstance(metric, MeanCorrect):
        return "mean correct (pass@1)"
    return f"{'solved' if metric.name == 'solved_at_k' else 'pass'}@{metric.k}"


def _samples(side: LogSide) -> Samples:
    names = pc.unique(side.rows["sampling"]).to_pylist()
    return select_samples(side.rows, sampling=names[0] if names else "", round_=0)


def _side(side: LogSide, samples: Samples, paired: Samples, scores: Scores) -> SideNumbers:
    n_correct = int(np.count_nonzero(samples.correct))
    own = samples.correct_per_problem / samples.samples_per_problem
    low: float | None
    high: float | None
    if (samples.samples_per_problem == 1).all():
        proportion = wilson(n_correct, len(samples.correct))
        low, high, interval = proportion.low, proportion.high, "Wilson"
    else:
        mean = clustered_mean(own, np.arange(len(own)).tolist())
        low, high, interval = mean.low, mean.high, "t over problems"
        low, high = (None if low is None else max(0.0, low)), (None if high is None else min(1.0, high))
    return SideNumbers(
        n_problems=len(pc.unique(side.rows["problem_id"])),
        n_rows=side.rows.num_rows,
        n_judged=len(samples.correct),
        n_correct=n_correct,
        n_only_here=len(set(samples.problem_ids) - set(paired.problem_ids)),
        value=float(own.mean()),
        low=low,
        high=high,
        interval=interval,
        paired_value=scores.mean,
    )


def _bootstrap(a: Scores, b: Scores) -> BootstrapResult:
    exact = a.counts is not None and b.counts is not None and a.per_problem == b.per_problem
    return paired_bootstrap(
        a.counts if exact and a.counts is not None else a.values,
        b.counts if exact and b.counts is not None else b.values,
        seed=SEED,
        level=LEVEL,
        n_resamples=RESAMPLES if len(a.values) <= MANY_PROBLEMS else RESAMPLES_OF_MANY,
        n_samples=a.per_problem if exact else None,
    )


def _pass_at_k(a: Samples, b: Samples, asked: int) -> Iterator[PassAtKPair]:
    """K = 1, 2, 4, … up to the most that a problem has, and the k that was asked for."""
    most = int(a.samples_per_problem.max())
    for k in sorted({1, asked, *(2**power for power in range(20) if 2**power <= most)}):
        short = int(np.count_nonzero(a.samples_per_problem < k))
        if short:
            reason = f"{short} of {len(a.problem_ids)} problems have fewer than {k} paired samples"
            yield PassAtKPair(k=k, a=None, b=None, reason=reason)
        else:
            means = [
                float(np.mean(pass_at_k(s.samples_per_problem, s.correct_per_problem, k))) for s in (a, b)
            ]
            yield PassAtKPair(k=k, a=means[0], b=means[1], reason=None)
