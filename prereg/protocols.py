"""Protocols: everything that fixes how rows are made, and how a reduced protocol inherits from a whole one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field, JsonValue, model_validator

from manifests.documents import Document
from prereg.systems import Sentence, Sha256, Slug

MAX_SEEDS = 1_000_000


class Verifier(Document):
    """What judges a sample. Any further key is a pin of its version, such as `mathlib = "d1d1e4b7"`."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, JsonValue]

    kind: Slug
    config: Sentence | None = None
    budget_s: Annotated[float, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _pins_are_strings(self) -> "Verifier":
        wrong = [key for key, value in self.__pydantic_extra__.items() if not isinstance(value, str)]
        if wrong:
            raise ValueError(f"the pin {wrong[0]!r} is no string: write it in quotes")
        return self

    @property
    def pins(self) -> tuple[tuple[str, str], ...]:
        """The version pins, by key."""
        return tuple(sorted((key, str(value)) for key, value in self.__pydantic_extra__.items()))


class Sampling(Document):
    """One way of drawing samples. seeds: `0-31` or `1,5,9-12`, one a sample, in the order of the samples."""

    samples: Annotated[int, Field(ge=1, le=MAX_SEEDS)] | None = None
    seeds: str | None = None
    temperature: Annotated[float, Field(ge=0)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=0)] | None = None
    prompt: Sentence | None = None

    @model_validator(mode="after")
    def _seeds_fit_samples(self) -> "Sampling":
        if self.seeds is not None:
            count = len(parse_seeds(self.seeds))
            if self.samples is not None and count != self.samples:
                raise ValueError(f"lists {count} seeds for {self.samples} samples")
        return self


class Subset(Document):
    """A part of a benchmark: `even = 100` evenly spaced problems, or the `n` ids of a hashed file, one a line."""

    even: Annotated[int, Field(ge=1)] | None = None
    ids: Sentence | None = None
    sha256: Sha256 | None = None
    n: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _is_one_of_two(self) -> "Subset":
        listed = (self.ids, self.sha256, self.n)
        if self.even is not None and any(part is not None for part in listed):
            raise ValueError("says both `even` and an id list: keep one")
        if self.even is None and any(part is None for part in listed):
            raise ValueError("write { even = 100 }, or { ids = …, sha256 = …, n = … } with the number of ids")
        return self

    @property
    def n_problems(self) -> int:
        """How many problems are left."""
        n = self.even if self.even is not None else self.n
        if n is None:
            raise TypeError("a subset without size passed its validator")
        return n


class Protocol(Document):
    """A protocol as the design writes it; with `reduces`, only what differs from another is listed."""

    reduces: Slug | None = None
    cap_tokens: Annotated[int, Field(ge=1)] | None = None
    verifier: Verifier | None = None
    sampling: dict[Slug, Sampling] = Field(default_factory=dict)
    problems: Subset | None = None

    @model_validator(mode="after")
    def _stands_alone_or_reduces(self) -> "Protocol":
        if self.reduces is not None:
            return self
        if self.cap_tokens is None:
            raise ValueError("has no cap_tokens")
        if not self.sampling:
            raise ValueError("has no sampling: write sampling.main = { samples = 8, … }")
        for name, sampling in self.sampling.items():
            if sampling.samples is None and sampling.seeds is None:
                raise ValueError(f"sampling.{name} says neither samples nor seeds")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedSampling:
    """A sampling with everything inherited. None: the design leaves it to the engine's default. seeds: one a sample, or None."""

    name: str
    samples: int
    seeds: tuple[int, ...] | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    prompt: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedProtocol:
    """A protocol with everything inherited. samplings: by name; problems: None means the whole benchmark."""

    name: str
    cap_tokens: int
    verifier: Verifier | None
    samplings: tuple[ResolvedSampling, ...]
    problems: Subset | None

    def sampling(self, name: str) -> ResolvedSampling:
        """The sampling of that name; raises KeyError."""
        return {sampling.name: sampling for sampling in self.samplings}[name]


def resolve(name: str, protocols: Mapping[str, Protocol]) -> ResolvedProtocol:
    """The protocol with what it reduces applied. Raises KeyError for unknown names, ValueError for a cycle."""
    return _resolve(name, protocols, ())


def _resolve(name: str, protocols: Mapping[str, Protocol], seen: tuple[str, ...]) -> ResolvedProtocol:
    if name in seen:
        raise ValueError(f"reduces itself: {' -> '.join((*seen, name))}")
    protocol = protocols[name]
    if protocol.reduces is None:
        if protocol.cap_tokens is None:
            raise TypeError("a protocol without cap passed its validator")
        samplings = tuple(_whole(key, protocol.sampling[key]) for key in sorted(protocol.sampling))
        return ResolvedProtocol(
            name=name,
            cap_tokens=protocol.cap_tokens,
            verifier=protocol.verifier,
            samplings=samplings,
            problems=protocol.problems,
        )
    parent = _resolve(protocol.reduces, protocols, (*seen, name))
    inherited = {sampling.name: sampling for sampling in parent.samplings}
    for key, change in protocol.sampling.items():
        inherited[key] = _reduced(inherited[key], change) if key in inherited else _whole(key, change)
    return ResolvedProtocol(
        name=name,
        cap_tokens=protocol.cap_tokens or parent.cap_tokens,
        verifier=protocol.verifier or parent.verifier,
        samplings=tuple(inherited[key] for key in sorted(inherited)),
        problems=protocol.problems or parent.problems,
    )


def _whole(name: str, sampling: Sampling) -> ResolvedSampling:
    seeds = parse_seeds(sampling.seeds) if sampling.seeds is not None else None
    samples = sampling.samples if sampling.samples is not None else len(seeds or ())
    if samples < 1:
        raise ValueError(f"sampling.{name} says neither samples nor seeds")
    return ResolvedSampling(
        name=name,
        samples=samples,
        seeds=seeds,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        prompt=sampling.prompt,
    )


def _reduced(parent: ResolvedSampling, change: Sampling) -> ResolvedSampling:
    """`parent` with what `change` lists; fewer samples keep the first seeds, and seeds alone say how many samples."""
    seeds = parse_seeds(change.seeds) if change.seeds is not None else parent.seeds
    samples = change.samples or (len(seeds) if change.seeds is not None and seeds else parent.samples)
    if seeds is not None:
        if len(seeds) < samples:
            raise ValueError(
                f"sampling.{parent.name} asks for {samples} samples of {len(seeds)} inherited seeds"
            )
        seeds = seeds[:samples]
    return ResolvedSampling(
        name=parent.name,
        samples=samples,
        seeds=seeds,
        temperature=parent.temperature if change.temperature is None else change.temperature,
        top_p=parent.top_p if change.top_p is None else change.top_p,
        top_k=parent.top_k if change.top_k is None else change.top_k,
        prompt=parent.prompt if change.prompt is None else change.prompt,
    )


def parse_seeds(text: str) -> tuple[int, ...]:
    """`0-31` or `1,5,9-12` as integers, in the order written; raises ValueError."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,19})(?:-(\d{1,19}))?\s*", part)
        if match is None:
            raise ValueError(f"{text!r} is no list of seeds: write 0-31 or 1,5,9-12")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last - first >= MAX_SEEDS - len(seeds):
            raise ValueError(f"{part.strip()!r} runs backwards or names more than {MAX_SEEDS} seeds")
        seeds.extend(range(first, last + 1))
    if len(set(seeds)) != len(seeds):
        raise ValueError(f"{text!r} names a seed twice")
    return tuple(seeds)
