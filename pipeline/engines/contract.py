"""What an engine is: opened on a model folder, it renders chats, completes prompts, and is closed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from pipeline.prompts import Turn

FinishReason = Literal["stop", "length"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What an engine is opened with. threads: None leaves the library's default; batch_rows: rows decoded together."""

    model: Path
    dtype: str
    batch_rows: int
    threads: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineIdentity:
    """Who generated: name and versions, and the digests of what turned the chat into tokens."""

    name: str
    versions: tuple[tuple[str, str], ...]
    tokenizer_sha256: str
    template_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A chat as the model reads it."""

    text: str
    token_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """How a token is drawn. temperature 0 is greedy; top_p 1 and top_k 0 leave the whole vocabulary."""

    temperature: float
    top_p: float
    top_k: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One sample to draw. seed: of this sample, None for greedy; max_tokens: 1 or more."""

    problem_id: str
    sample_idx: int
    prompt_ids: tuple[int, ...]
    max_tokens: int
    seed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One sample drawn. token_ids: with the end-of-sequence token where it was drawn; seed: None where the engine has none."""

    problem_id: str
    sample_idx: int
    token_ids: tuple[int, ...]
    text: str
    finish_reason: FinishReason
    seed: int | None


class Engine(Protocol):
    """A model that is open. Everything it holds is released by `close`: no child process outlives it."""

    identity: EngineIdentity
    window_tokens: int
    """Prompt and completion together."""

    def render(self, turns: Sequence[Turn]) -> Rendered:
        """The chat under the model's own template, ready for the assistant's turn."""

    def complete(self, requests: Sequence[Request], draw: Draw) -> Iterator[tuple[Completion, ...]]:
        """Completions in batches, each batch as soon as it is done; every request once."""

    def close(self) -> None:
        """Release the model."""
