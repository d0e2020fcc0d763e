"""What a verifier is: a module that opens itself in a worker process and judges one submission at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from pydantic import JsonValue

Status = Literal["accepted", "rejected", "no_answer", "timed_out", "infrastructure"]
"""rejected, no_answer and timed_out are the model's failures; infrastructure is nobody's, and never becomes one of them."""
TRUNCATED = "truncated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What is judged. problem: the benchmark's own fields; truncated: the completion was cut at its limit."""

    text: str
    truncated: bool
    problem: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the verifier says. extractor: the rung that found the answer, `none` where there is none, None where none was used."""

    status: Status
    reasons: tuple[str, ...] = ()
    answer: str | None = None
    extractor: str | None = None


def without_cut(judgement: Judgement, *, truncated: bool) -> Judgement:
    """An accepted sample that was cut at its limit is rejected: it is not known how it would have ended, whatever stands in it."""
    if judgement.status != "accepted" or not truncated:
        return judgement
    return replace(judgement, status="rejected", reasons=(*judgement.reasons, TRUNCATED))


class Verifier(Protocol):
    """A verifier, open in this process."""

    pins: Mapping[str, str]
    """Versions of everything that can change a verdict, by name."""

    def judge(self, submission: Submission) -> Judgement:
        """The verdict. May raise, hang or die: the pool takes all three for infrastructure or time, never for a rejection."""
