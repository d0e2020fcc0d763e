"""What a stored unit would have scored under a smaller token cap: two readings, neither of them enough alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from report.statistics.inputs import counts, labels, outcomes, same_length, whole_number


@dataclass(frozen=True, slots=True, kw_only=True)
class OverCapSensitivity:
    """Per-problem means in sorted order of problem ids, and their means over problems.

    `kept_only` is masked, and its problem dropped and listed, where every sample is over the cap.
    """

    cap_tokens: int
    problem_ids: tuple[str, ...]
    native: NDArray[np.float64]
    over_cap_as_wrong: NDArray[np.float64]
    kept_only: np.ma.MaskedArray[tuple[int], np.dtype[np.float64]]
    native_mean: float | None
    over_cap_as_wrong_mean: float | None
    kept_only_mean: float | None
    n_samples: int
    n_samples_over_cap: int
    dropped_problems: tuple[str, ...]
    reason: str | None


def over_cap_sensitivity(
    problem_ids: Sequence[str] | NDArray[np.str_],
    correct: ArrayLike,
    n_tokens: ArrayLike,
    *,
    cap_tokens: int,
) -> OverCapSensitivity:
    """Every sample longer than the cap is once counted wrong and once left out.

    problem_ids, correct, n_tokens: one entry a sample; a sample of exactly cap_tokens tokens is kept.
    over_cap_as_wrong keeps the denominators and is a lower bound (a cut sample may still hold an answer);
    kept_only is biased upwards (short samples are the easy problems) and covers fewer problems.
    Errors: ValueError for unequal lengths, nulls, non-integer or negative tokens, cap_tokens < 1.
    Source: seed 002 section 8.4.
    """
    whole_number("cap_tokens", cap_tokens, at_least=1)
    codes, names = labels("problem_ids", np.asarray(problem_ids, dtype=np.str_))
    verdict, tokens = outcomes("correct", correct), counts("n_tokens", n_tokens)
    same_length(problem_ids=codes, correct=verdict, n_tokens=tokens)
    n_problems = len(names)
    fits = tokens <= cap_tokens
    n_all = np.bincount(codes, minlength=n_problems)
    n_kept = np.bincount(codes[fits], minlength=n_problems)
    n_correct = np.bincount(codes[verdict], minlength=n_problems)
    n_correct_kept = np.bincount(codes[verdict & fits], minlength=n_problems)
    none_left = n_kept == 0
    native, as_wrong = n_correct / n_all, n_correct_kept / n_all
    kept_only = np.ma.MaskedArray(n_correct_kept / np.where(none_left, 1, n_kept), mask=none_left)
    return OverCapSensitivity(
        cap_tokens=cap_tokens,
        problem_ids=tuple(str(name) for name in names),
        native=native,
        over_cap_as_wrong=as_wrong,
        kept_only=kept_only,
        native_mean=float(native.mean()) if n_problems else None,
        over_cap_as_wrong_mean=float(as_wrong.mean()) if n_problems else None,
        kept_only_mean=float(kept_only.compressed().mean()) if not none_left.all() else None,
        n_samples=len(codes),
        n_samples_over_cap=int(np.count_nonzero(~fits)),
        dropped_problems=tuple(str(names[i]) for i in np.flatnonzero(none_left)),
        reason=None if n_problems else "no samples",
    )
