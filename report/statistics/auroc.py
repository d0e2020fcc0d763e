"""How well a score orders correct samples above incorrect ones, plain and with length held fixed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from report.statistics.inputs import outcomes, same_length, vector, whole_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Auroc:
    """P(score of a positive > score of a negative) + half the ties; None with a reason for one class only."""

    auroc: float | None
    n_positive: int
    n_negative: int
    n_pairs: int
    reason: str | None


def auroc(positive: ArrayLike, negative: ArrayLike) -> Auroc:
    """The share of (positive, negative) pairs in the right order is known, ties counted half.

    positive, negative: scores of the two classes, any finite units; higher means more positive. Exact integer
    counts, n log n. An empty class gives None. It says nothing of calibration, and has no interval here: samples
    of one problem are correlated. Errors: ValueError for nulls and non-finite scores.
    Source: Mann and Whitney 1947 (U / (n+ n-)); scipy.stats.mannwhitneyu.
    """
    above, below = vector("positive", positive), vector("negative", negative)
    n_pairs = len(above) * len(below)
    return Auroc(
        auroc=_twice_wins(above, below) / (2 * n_pairs) if n_pairs else None,
        n_positive=len(above),
        n_negative=len(below),
        n_pairs=n_pairs,
        reason=None if n_pairs else "one class is empty",
    )


def auroc_length_controlled(
    scores: ArrayLike, is_positive: ArrayLike, lengths: ArrayLike, *, n_bins: int = 10
) -> Auroc:
    """The same share, over pairs of similar length only, so a score that merely follows length gets 0.5.

    Samples are put into `n_bins` groups at the quantiles of `lengths` (tokens; equal lengths share a group);
    pairs within a group count, pooled over groups. `n_pairs` is what is left; no pair gives None. Length still
    varies within a group: more bins control more and use fewer pairs. Errors: as `auroc`, unequal lengths.
    Source: stratified Mann-Whitney (van Elteren 1960, pair weights).
    """
    score, length = vector("scores", scores), vector("lengths", lengths)
    positive = outcomes("is_positive", is_positive)
    same_length(scores=score, is_positive=positive, lengths=length)
    whole_number("n_bins", n_bins, at_least=1)
    twice_wins = n_pairs = 0
    if len(score):
        inner_edges = np.quantile(length, np.arange(1, n_bins) / n_bins)
        group = np.searchsorted(inner_edges, length, side="left")
        for g in range(n_bins):
            above, below = score[(group == g) & positive], score[(group == g) & ~positive]
            twice_wins += _twice_wins(above, below)
            n_pairs += len(above) * len(below)
    return Auroc(
        auroc=twice_wins / (2 * n_pairs) if n_pairs else None,
        n_positive=int(np.count_nonzero(positive)),
        n_negative=int(np.count_nonzero(~positive)),
        n_pairs=n_pairs,
        reason=None if n_pairs else "no group of similar length holds both classes",
    )


def _twice_wins(above: NDArray[np.float64], below: NDArray[np.float64]) -> int:
    """Twice the number of pairs won, a tie being half a win: an integer."""
    ordered = np.sort(below)
    lower = np.searchsorted(ordered, above, side="left").sum(dtype=np.int64)
    not_higher = np.searchsorted(ordered, above, side="right").sum(dtype=np.int64)
    return int(lower) + int(not_higher)
