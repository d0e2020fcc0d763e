"""Named prompts: `prompts.toml` of a study, each a chat with one place for the problem."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue, model_validator

from manifests.documents import Document, read_toml_document
from manifests.errors import BeforehandError
from prereg.systems import Slug

PROMPTS_FILE = "prompts.toml"
PLACE = re.compile(r"\{([a-z][a-z0-9_]*)\}")
"""`{question}` stands for the problem's field of that name. It is replaced once: braces inside a problem stay as they are."""

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a chat."""

    role: Role
    content: str


class Shot(Document):
    """A worked example: a user's turn and the assistant's."""

    user: str
    assistant: str


class Handler(Document):
    """One named prompt. user: the last turn, with the problem's fields in braces; system: left out, the template's own default stands."""

    system: str | None = None
    shots: tuple[Shot, ...] = ()
    user: Annotated[str, Field(min_length=1)]

    @model_validator(mode="after")
    def _has_a_place(self) -> Handler:
        if PLACE.search(self.user) is None:
            raise ValueError(
                "has no place for the problem: write {question}, or another field of the problem set"
            )
        return self

    def turns(self, problem: Mapping[str, JsonValue], *, where: str) -> tuple[Turn, ...]:
        """The chat for one problem; a field that it lacks is an error."""

        def field(match: re.Match[str]) -> str:
            value = problem.get(match[1])
            if not isinstance(value, str):
                raise BeforehandError(
                    f"the problem has no text {match[1]!r}",
                    where=where,
                    mend=f"mend the place {match[0]} in {PROMPTS_FILE}",
                )
            return value

        examples = [
            turn
            for shot in self.shots
            for turn in (Turn("user", shot.user), Turn("assistant", shot.assistant))
        ]
        first = [Turn("system", self.system)] if self.system is not None else []
        return (*first, *examples, Turn("user", PLACE.sub(field, self.user)))


class Prompts(Document):
    """`prompts.toml`."""

    format: Literal["prompts/1"]
    prompts: dict[Slug, Handler] = Field(min_length=1)

    def handler(self, name: str | None, *, where: str) -> Handler:
        """The prompt of that name; a sampling that names none, or another, is an error."""
        if name is None or name not in self.prompts:
            raise BeforehandError(
                f"no prompt has the name {name!r}",
                where=where,
                mend=f"{PROMPTS_FILE} has {', '.join(sorted(self.prompts))}",
            )
        return self.prompts[name]


def read_prompts(study: Path) -> Prompts:
    """The prompts of the study."""
    return read_toml_document(Prompts, study / PROMPTS_FILE, mend="write the prompts that the design names")
