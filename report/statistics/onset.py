"""When a training metric goes over the edge: the first step past a threshold, the longest stretch, a runaway.

Values may be missing (None or NaN: the step was not logged). They are skipped and reported, never read as 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from report.statistics.inputs import counts, same_length, whole_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Onset:
    """The first step that meets the rule, or None with a reason; `missing_steps` had no value."""

    step: int | None
    value: float | None
    n_steps: int
    missing_steps: tuple[int, ...]
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """The longest stretch of recorded steps that meets the rule (the first of equals), or None with a reason."""

    first_step: int | None
    last_step: int | None
    n_steps: int
    missing_steps: tuple[int, ...]
    reason: str | None


def first_past(steps: Sequence[int], values: Sequence[float | None], *, threshold: float = 0.5) -> Onset:
    """The first step whose value is above the threshold is known (strict: 0.5 is not above 0.5).

    steps in any order. Source: the collapse rule of seed 002 (length-clip ratio > 0.5).
    Errors: ValueError for unequal lengths, a step twice, non-integer steps, infinite values.
    """
    step, value, missing = _recorded(steps, values)
    return _onset(step, value, value > threshold, missing, f"no recorded step is above {threshold:g}")


def longest_stretch(
    steps: Sequence[int], values: Sequence[float | None], *, threshold: float = 0.9
) -> Stretch:
    """The longest run of successive recorded steps above the threshold (strict) is known.

    A missing step neither breaks nor lengthens a run. Errors: as `first_past`.
    Source: the collapse watch of seed 002 (longest > 0.9 stretch, steps 63 to 89).
    """
    step, value, missing = _recorded(steps, values)
    padded = np.concatenate(([False], value > threshold, [False])).astype(np.int8)
    change = np.diff(padded)
    starts, ends = np.flatnonzero(change == 1), np.flatnonzero(change == -1)
    if not starts.size:
        return Stretch(
            first_step=None,
            last_step=None,
            n_steps=0,
            missing_steps=missing,
            reason=f"no recorded step is above {threshold:g}",
        )
    longest = int(np.argmax(ends - starts))
    return Stretch(
        first_step=int(step[starts[longest]]),
        last_step=int(step[ends[longest] - 1]),
        n_steps=int(ends[longest] - starts[longest]),
        missing_steps=missing,
        reason=None,
    )


def length_runaway(
    steps: Sequence[int],
    mean_lengths: Sequence[float | None],
    *,
    n_reference: int = 5,
    factor: float = 2.0,
    n_in_a_row: int = 3,
) -> Onset:
    """The first step from which the mean length stays above `factor` times its start, is known.

    mean_lengths: tokens per step. The start is the median of the first `n_reference` recorded values; the rule
    is met by `n_in_a_row` successive recorded values above it, and the step is the first of them. Fewer recorded
    values than n_reference + n_in_a_row give None. A diagnostic of ours: seed 002 names such a step but not its
    rule. Errors: as `first_past`; n_reference or n_in_a_row < 1; factor <= 1.
    """
    whole_number("n_reference", n_reference, at_least=1)
    whole_number("n_in_a_row", n_in_a_row, at_least=1)
    if not factor > 1.0:
        raise ValueError(f"factor is {factor}: it must be above 1, or every run is a runaway")
    step, value, missing = _recorded(steps, mean_lengths)
    if len(value) < n_reference + n_in_a_row:
        reason = f"{len(value)} recorded steps are fewer than {n_reference} + {n_in_a_row}"
        return Onset(step=None, value=None, n_steps=len(value), missing_steps=missing, reason=reason)
    limit = factor * float(np.median(value[:n_reference]))
    above = value > limit
    held = np.lib.stride_tricks.sliding_window_view(above, n_in_a_row).all(axis=1)
    held = np.concatenate((held, np.zeros(n_in_a_row - 1, dtype=bool)))
    return _onset(
        step, value, held, missing, f"no {n_in_a_row} recorded steps in a row are above {limit:g} tokens"
    )


def _recorded(
    steps: Sequence[int], values: Sequence[float | None]
) -> tuple[NDArray[np.int64], NDArray[np.float64], tuple[int, ...]]:
    """(steps in order, their values, the steps without a value)."""
    step = counts("steps", np.asarray(steps))
    value = np.array([np.nan if v is None else v for v in values], dtype=np.float64)
    same_length(steps=step, values=value)
    order = np.argsort(step, kind="stable")
    step, value = step[order], value[order]
    if (twice := np.flatnonzero(np.diff(step) == 0)).size:
        raise ValueError(
            f"step {step[twice[0]]} occurs twice: keep one value a step (a resumed run logs some again)"
        )
    if np.isinf(value).any():
        raise ValueError(f"the value of step {step[np.isinf(value)][0]} is infinite: log it as missing")
    missing = np.isnan(value)
    return step[~missing], value[~missing], tuple(step[missing].tolist())


def _onset(
    step: NDArray[np.int64],
    value: NDArray[np.float64],
    meets: NDArray[np.bool_],
    missing: tuple[int, ...],
    otherwise: str,
) -> Onset:
    places = np.flatnonzero(meets)
    first = int(places[0]) if places.size else None
    return Onset(
        step=None if first is None else int(step[first]),
        value=None if first is None else float(value[first]),
        n_steps=len(step),
        missing_steps=missing,
        reason=None if first is not None else otherwise if len(step) else "no recorded steps",
    )
