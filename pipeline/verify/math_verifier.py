"""Mathematical answers: the ladder finds the answer, math-verify compares it with the problem's own.

Opened in a worker process, which the pool kills when it takes too long: math-verify's own timer works with signals and cannot
interrupt every loop, so it is switched off. Settings: `ladder`, a list of rungs; `gold`, the field of the problem that holds
the right answer.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping

from math_verify import parse, verify
from pydantic import JsonValue

from pipeline.verify.contract import Judgement, Submission
from pipeline.verify.ladder import NONE, STANDARD, extract

GOLD_FIELDS = ("gold", "answer", "ground_truth", "target")
DISTRIBUTIONS = ("math-verify", "latex2sympy2_extended", "sympy")
TRUNCATED = "truncated"


class MathVerifier:
    """The ladder and math-verify, open in this process."""

    def __init__(self, rungs: tuple[str, ...], gold_field: str | None) -> None:
        extract("", rungs)
        self._rungs = rungs
        self._gold_field = gold_field
        self.pins: Mapping[str, str] = {
            **{name: importlib.metadata.version(name) for name in DISTRIBUTIONS},
            "ladder": ", ".join(rungs),
        }

    def judge(self, submission: Submission) -> Judgement:
        """Accepted where the extracted answer equals the problem's; an answer that cannot be read is rejected."""
        gold = _parsed(self._gold(submission.problem))
        if not gold:
            raise ValueError("the problem's own answer cannot be read")
        found = extract(submission.text, self._rungs)
        cut = (TRUNCATED,) if submission.truncated else ()
        if found.answer is None:
            return Judgement(status="no_answer", reasons=("no_answer", *cut), extractor=NONE)
        answer = _parsed(found.answer)
        if not answer:
            return Judgement(
                status="rejected", reasons=("unreadable", *cut), answer=found.answer, extractor=found.rung
            )
        equal = verify(gold, answer, timeout_seconds=None)
        return Judgement(
            status="accepted" if equal else "rejected",
            reasons=() if equal else ("wrong_answer", *cut),
            answer=found.answer,
            extractor=found.rung,
        )

    def _gold(self, problem: Mapping[str, JsonValue]) -> str:
        names = GOLD_FIELDS if self._gold_field is None else (self._gold_field,)
        name = next((one for one in names if one in problem), None)
        if name is None:
            raise ValueError(f"the problem has no field {' or '.join(names)}")
        return str(problem[name])


def open_verifier(config: Mapping[str, JsonValue]) -> MathVerifier:
    """The verifier with these settings; an unknown setting is refused."""
    unknown = sorted(set(config) - {"ladder", "gold"})
    if unknown:
        raise ValueError(f"{unknown[0]} is no setting of the math verifier: ladder, gold")
    rungs = config.get("ladder", list(STANDARD))
    gold = config.get("gold")
    if not isinstance(rungs, list) or not (gold is None or isinstance(gold, str)):
        raise TypeError("ladder is a list of rungs, gold the name of a field")
    return MathVerifier(tuple(str(rung) for rung in rungs), gold)


def _parsed(text: str) -> list[object]:
    """What math-verify reads: as LaTeX where it holds any, else as it stands."""
    latex = f"${text}$" if "\\" in text and "$" not in text else text
    return list(parse(latex, parsing_timeout=None)) or list(parse(f"${text}$", parsing_timeout=None))
