"""Systems: models as they are evaluated, known by a revision or a hash, or still to be trained by a hashed config."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from manifests.digests import SHA256_PATTERN
from manifests.documents import Document
from manifests.names import SLUG_PATTERN

Slug = Annotated[str, Field(pattern=f"^{SLUG_PATTERN}$")]
Sha256 = Annotated[str, Field(pattern=SHA256_PATTERN)]
Sentence = Annotated[str, Field(min_length=1)]


class HubModel(Document):
    """A model repository at one commit. Branches, tags and short hashes are refused: they move."""

    repo: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$")]
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]


class LocalModel(Document):
    """A folder of weights, known by the digest of its tree. source: where it came from."""

    path: Sentence
    tree_sha256: Sha256
    source: Sentence


class UnrecordedModel(Document):
    """A model of which no revision and no hash exists: disclosed, never PRIMARY. Only for studies older than their plan."""

    unrecorded: Sentence


class PinnedConfig(Document):
    """A configuration file, relative to the study, and its digest."""

    path: Sentence
    sha256: Sha256


MODEL_KINDS = {"repo": "hub-model", "path": "local-model", "unrecorded": "unrecorded-model"}
"""The key that tells the kinds apart -> tag; tags are no key of any table, so that they can be cut from an error's place."""


def _kind(value: object) -> str:
    keys = value if isinstance(value, dict) else [key for key in MODEL_KINDS if hasattr(value, key)]
    return next((tag for key, tag in MODEL_KINDS.items() if key in keys), "hub-model")


ModelSource = Annotated[
    Annotated[HubModel, Tag("hub-model")]
    | Annotated[LocalModel, Tag("local-model")]
    | Annotated[UnrecordedModel, Tag("unrecorded-model")],
    Discriminator(_kind),
]


def _checkpoint(value: object) -> object:
    if value == "final" or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise ValueError(
        'is neither "final" nor a step: a checkpoint chosen by its result ("best") cannot be registered'
    )


Checkpoint = Annotated[Literal["final"] | int, BeforeValidator(_checkpoint)]


class System(Document):
    """A declared system: `model`, or `trained_from` another with a hashed config and a checkpoint fixed in advance."""

    model: ModelSource | None = None
    trained_from: Slug | None = None
    config: PinnedConfig | None = None
    checkpoint: Checkpoint | None = None
    checkpoints: tuple[Annotated[int, Field(ge=1)], ...] = ()

    @model_validator(mode="after")
    def _is_declared_one_way(self) -> "System":
        if self.model is not None:
            if self.trained_from or self.config or self.checkpoint or self.checkpoints:
                raise ValueError(
                    "has a `model`: then trained_from, config, checkpoint and checkpoints have no place"
                )
            return self
        if self.trained_from is None:
            raise ValueError("is left open: give `model`, or `trained_from`, `config` and `checkpoint`")
        if self.config is None:
            raise ValueError(
                "is trained without a `config`: give its path and sha256, or the recipe stays open"
            )
        if self.checkpoint is None and not self.checkpoints:
            raise ValueError(
                'does not say which checkpoint: write checkpoint = "final" or a step, or checkpoints = [20, 40]'
            )
        if len(set(self.checkpoints)) != len(self.checkpoints):
            raise ValueError("names a checkpoint twice")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandedSystem:
    """One system that has units. declared_as: the table of the design that it comes from."""

    name: str
    declared_as: str
    model: HubModel | LocalModel | UnrecordedModel | None
    trained_from: str | None
    config: PinnedConfig | None
    checkpoint: Literal["final"] | int | None


def expand(name: str, system: System) -> tuple[ExpandedSystem, ...]:
    """The systems that one table declares: `checkpoints = [20, 40]` gives `X-ckpt20` and `X-ckpt40`.

    The bare name stands for a system only where `model` or `checkpoint` says which.
    """
    steps: list[tuple[str, Literal["final"] | int | None]] = []
    if system.model is not None or system.checkpoint is not None:
        steps.append((name, system.checkpoint))
    steps.extend((f"{name}-ckpt{step}", step) for step in system.checkpoints)
    return tuple(
        ExpandedSystem(
            name=expanded,
            declared_as=name,
            model=system.model,
            trained_from=system.trained_from,
            config=system.config,
            checkpoint=checkpoint,
        )
        for expanded, checkpoint in steps
    )
