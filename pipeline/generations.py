"""A generation: one sample as an engine drew it, the line of `generations.jsonl` that keeps it, and its key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from pydantic import JsonValue

from manifests.digests import sha256_bytes
from manifests.documents import Document, validate_mapping
from manifests.errors import Finding, FindingsError, NotInOrderError
from manifests.jsonlines import JsonLine

Line = TypeVar("Line", bound=Document)


class RowKey(NamedTuple):
    """What names a sample, in a journal and in the rows."""

    sampling: str
    problem_id: str
    sample_idx: int
    round: int
    cap_tokens: int

    def __str__(self) -> str:
        """The key in words."""
        return f"{self.sampling} {self.problem_id} sample {self.sample_idx} round {self.round} cap {self.cap_tokens}"


class Generation(Document):
    """One line of `generations.jsonl`.

    max_tokens: what the engine was allowed, below cap_tokens where the window clipped it, 0 where the prompt left no room.
    completion_ids: with the end-of-sequence token where it was drawn. seed: null where the engine has none, or drew greedily.
    """

    sampling: str
    problem_id: str
    sample_idx: int
    round: int
    cap_tokens: int
    max_tokens: int
    seed: str | None
    prompt_sha256: str
    n_prompt_tokens: int
    finish_reason: Literal["stop", "length", "error"]
    completion_ids: tuple[int, ...]
    completion_text: str
    code_sha256: str
    """Digest of the text that is judged: a verdict holds for this text only."""

    @property
    def key(self) -> RowKey:
        """The sample's name."""
        return RowKey(self.sampling, self.problem_id, self.sample_idx, self.round, self.cap_tokens)


def text_sha256(text: str) -> str:
    """Digest of a completion's text."""
    return sha256_bytes(text.encode())


def storable(text: str) -> str:
    """The text with U+FFFD where no UTF-8 stands for it (lone surrogates); the token ids keep what was drawn."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def parse_generations(lines: Iterable[JsonLine], *, where: str) -> dict[RowKey, Generation]:
    """The generations by key. A key that stands twice, and a text that is not the one its line names, are errors."""
    found: dict[RowKey, Generation] = {}
    findings = []
    for line in lines:
        place = f"{where}:{line.number}"
        generation = parse_line(Generation, line.value, where=place)
        if generation.key in found:
            findings.append(Finding(where=place, what=f"draws {generation.key} a second time"))
        if text_sha256(generation.completion_text) != generation.code_sha256:
            findings.append(
                Finding(where=place, what=f"the text of {generation.key} was edited after it was drawn")
            )
        found[generation.key] = generation
    if findings:
        raise StaleError("is not what was generated", tuple(findings), where=where, mend="restore the file")
    return found


def parse_line(model: type[Line], value: Mapping[str, JsonValue], *, where: str) -> Line:
    """One line of a journal, strictly."""
    return validate_mapping(model, dict(value), where=where)


class StaleError(NotInOrderError, FindingsError):
    """Stages that do not belong together: exit code 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSample:
    """One sample that the design plans. seed: of this sample, None for greedy."""

    key: RowKey
    prompt: str
    seed: int | None
