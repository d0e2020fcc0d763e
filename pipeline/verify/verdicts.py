"""A verdict: what a verifier said of one generation, the line of `verdicts.jsonl` that keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import Field

from manifests.documents import Document
from manifests.errors import Finding
from manifests.jsonlines import JsonLine
from pipeline.generations import Generation, RowKey, StaleError, parse_line
from pipeline.verify.contract import Status

MEND = "a verdict holds for the text it judged: move verdicts.jsonl away and verify again"


class Verdict(Document):
    """One line of `verdicts.jsonl`. order: the place in the order of work, by which validity rules cut batches."""

    sampling: str
    problem_id: str
    sample_idx: int
    round: int
    cap_tokens: int
    code_sha256: str
    status: Status
    reasons: tuple[str, ...]
    answer: str | None
    extractor: str | None
    verify_s: float = Field(ge=0)
    tries: int = Field(ge=1)
    order: int = Field(ge=0)
    pins: dict[str, str]

    @property
    def key(self) -> RowKey:
        """The sample's name."""
        return RowKey(self.sampling, self.problem_id, self.sample_idx, self.round, self.cap_tokens)

    @property
    def correct(self) -> bool | None:
        """True where accepted; None where infrastructure failed: that is nobody's wrong answer."""
        return None if self.status == "infrastructure" else self.status == "accepted"


def parse_verdicts(
    lines: Iterable[JsonLine], generations: Mapping[RowKey, Generation], *, where: str
) -> dict[RowKey, Verdict]:
    """The verdicts by key, each of exactly the generation that is on disk.

    Raises StaleError for a verdict on another text, on a sample that was never drawn, or given twice.
    """
    found: dict[RowKey, Verdict] = {}
    findings = []
    for line in lines:
        place = f"{where}:{line.number}"
        verdict = parse_line(Verdict, line.value, where=place)
        generation = generations.get(verdict.key)
        if generation is None:
            findings.append(Finding(where=place, what=f"judges {verdict.key}, which was never drawn"))
        elif generation.code_sha256 != verdict.code_sha256:
            findings.append(
                Finding(where=place, what=f"judges another text of {verdict.key} than the one on disk")
            )
        if verdict.key in found:
            findings.append(Finding(where=place, what=f"judges {verdict.key} a second time"))
        found[verdict.key] = verdict
    if findings:
        raise StaleError(
            "does not belong to the generations on disk", tuple(findings[:20]), where=where, mend=MEND
        )
    return found
