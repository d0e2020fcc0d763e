"""Metrics: from the samples of one side to one value a problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prereg.methods import MeanCorrect, Metric, PassAtK, SolvedAtK
from report.samples import Samples
from report.statistics.pass_at_k import pass_at_k


class TooFewSamplesError(ValueError):
    """A problem has fewer samples than the metric needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """One side, problem by problem.

    values: (n_problems,) in [0, 1]. counts: (n_problems,) integers with values = counts / per_problem, where every
    problem has the same number of samples; else None. numerator, denominator: of the pooled rate, None where the
    mean is no ratio of counts.
    """

    problem_ids: tuple[str, ...]
    values: NDArray[np.float64]
    counts: NDArray[np.int64] | None
    per_problem: int | None
    numerator: int | None
    denominator: int | None

    @property
    def mean(self) -> float:
        """Mean over problems."""
        return float(self.values.mean()) if self.counts is None else self._exact_mean()

    def _exact_mean(self) -> float:
        if self.counts is None or self.per_problem is None:
            raise TypeError("no counts")
        return int(self.counts.sum()) / (self.per_problem * len(self.counts))


def score(samples: Samples, metric: Metric) -> Scores:
    """The metric of each problem. Raises TooFewSamplesError where k exceeds a problem's samples."""
    n_samples = samples.samples_per_problem
    n_correct = samples.correct_per_problem
    if isinstance(metric, MeanCorrect):
        return _scores(samples, n_correct, n_samples)
    short = int(np.count_nonzero(n_samples < metric.k))
    if short:
        raise TooFewSamplesError(f"{short} of {len(n_samples)} problems have fewer than {metric.k} samples")
    if isinstance(metric, SolvedAtK):
        solved = samples.solved_in_prefix(metric.k).astype(np.int64)
        return _scores(samples, solved, np.ones_like(solved))
    return _pass_at_k_scores(samples, n_samples, n_correct, metric)


def _scores(samples: Samples, counts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Scores:
    equal = len(sizes) > 0 and bool(np.all(sizes == sizes[0]))
    return Scores(
        problem_ids=samples.problem_ids,
        values=counts / np.maximum(sizes, 1),
        counts=counts if equal else None,
        per_problem=int(sizes[0]) if equal else None,
        numerator=int(counts.sum()) if equal else None,
        denominator=int(sizes.sum()) if equal else None,
    )


def _pass_at_k_scores(
    samples: Samples, n_samples: NDArray[np.int64], n_correct: NDArray[np.int64], metric: PassAtK
) -> Scores:
    values = pass_at_k(n_samples, n_correct, metric.k)
    return Scores(
        problem_ids=samples.problem_ids,
        values=np.asarray(values, dtype=np.float64),
        counts=None,
        per_problem=None,
        numerator=None,
        denominator=None,
    )
