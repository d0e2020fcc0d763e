"""The extractor ladder: where in a completion the answer stands. The first rung that finds one is taken, and named with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

NONE = "none"
STANDARD = ("answer_line", "boxed")
"""The last `Answer:` line, else the last \\boxed{}; anything further has to be declared."""

ANSWER_LINE = re.compile(
    r"^[ \t>*_#-]*(?:final[ \t]+)?answer[ \t*_]*:[ \t*_]*(?P<answer>[^\r\n]*?)[ \t*_]*$",
    re.IGNORECASE | re.MULTILINE,
)
BOXED = re.compile(r"\\f?box(?:ed)?[ \t]*\{")
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:/\d+)?")


@dataclass(frozen=True, slots=True)
class Extracted:
    """An answer and the rung that found it; `none` has the answer None."""

    rung: str
    answer: str | None


def extract(text: str, rungs: Sequence[str] = STANDARD) -> Extracted:
    """The answer of the first rung that finds one. Raises ValueError for a rung that does not exist."""
    unknown = [rung for rung in rungs if rung not in RUNGS]
    if unknown:
        raise ValueError(f"the ladder has no rung {unknown[0]!r}: {', '.join(RUNGS)}")
    for rung in rungs:
        answer = RUNGS[rung](text)
        if answer is not None:
            return Extracted(rung, answer)
    return Extracted(NONE, None)


def rungs_from_words(words: str) -> tuple[str, ...]:
    """Rungs of a pin such as `last Answer: line, last boxed, last number`; ValueError for other words."""
    known = {"last answer: line": "answer_line", "last boxed": "boxed", "last number": "last_number"}
    parts = [part.strip().lower() for part in words.split(",")]
    unknown = [part for part in parts if part not in known and part not in RUNGS]
    if unknown:
        raise ValueError(f"the ladder has no rung {unknown[0]!r}: {', '.join(known)}")
    return tuple(known.get(part, part) for part in parts)


def _answer_line(text: str) -> str | None:
    """The last line that begins with `Answer:` and has something after it. A box on that line is opened."""
    found = [match["answer"].strip() for match in ANSWER_LINE.finditer(text) if match["answer"].strip()]
    if not found:
        return None
    return _boxed(found[-1]) or found[-1]


def _boxed(text: str) -> str | None:
    r"""What the last \boxed{} holds, braces counted; a box that is never closed holds nothing."""
    for match in reversed(list(BOXED.finditer(text))):
        depth = 1
        for place in range(match.end(), len(text)):
            depth += {"{": 1, "}": -1}.get(text[place], 0) if text[place - 1] != "\\" else 0
            if depth == 0:
                return text[match.end() : place].strip() or None
    return None


def _last_number(text: str) -> str | None:
    found = NUMBER.findall(text)
    return found[-1].replace(",", "") if found else None


RUNGS: Mapping[str, Callable[[str], str | None]] = {
    "answer_line": _answer_line,
    "boxed": _boxed,
    "last_number": _last_number,
}
