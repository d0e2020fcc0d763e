"""Endpoints: the registered questions. And the rules under which a comparison is invalid, which is not negative."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from manifests.documents import Document
from prereg.methods import Decide, Metric, Share, StatisticalTest
from prereg.systems import Slug

Varies = Literal["system", "prompt", "sampling", "cap_tokens", "verifier"]
"""What may differ between the two sides. The problem set never may; a smaller one on one side is a pairing."""


class Side(Document):
    """One side of a comparison; protocol and sampling stand here where the sides differ in them."""

    system: Slug
    protocol: Slug | None = None
    sampling: Slug | None = None


def _named(value: object) -> object:
    return {"system": value} if isinstance(value, str) else value


SideRef = Annotated[Side, BeforeValidator(_named)]


def side_names(baseline: Sequence[str], candidate: Sequence[str]) -> tuple[str, str]:
    """What tells the two sides apart: the systems, or where one system stands on both, the protocols, or the samplings.

    baseline, candidate: (system, protocol, sampling).
    """
    for first, second in zip(baseline, candidate, strict=True):
        if first != second:
            return first, second
    return baseline[0], candidate[0]


class Pairing(Document):
    """How sides of different size are paired: both cut to the problems and the sample indices of the one named."""

    problems: Literal["same", "baseline", "candidate"] = "same"
    samples: Literal["same", "baseline", "candidate"] = "same"
    naive_beside: bool = False


class Endpoint(Document):
    """One question: metric, two sides, test, decision rule, and its role."""

    role: Literal["primary", "secondary", "diagnostic"]
    baseline: SideRef
    candidate: SideRef
    benchmark: Slug
    protocol: Slug | None = None
    sampling: Slug | None = None
    varies: Annotated[tuple[Varies, ...], Field(min_length=1)] = ("system",)
    metric: Metric
    test: StatisticalTest
    pairing: Pairing = Pairing()
    decide: Decide


EndpointId = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,47}$")]


class ValidityRule(Document):
    """Base of the rules. endpoints: those that it guards; empty means all."""

    endpoints: tuple[EndpointId, ...] = ()


class SameVerifier(ValidityRule):
    """Kind, pins, configuration and budget of the verifier are the same on both sides."""

    rule: Literal["same_verifier"]


class NPerProblem(ValidityRule):
    """Every planned problem has every planned sample."""

    rule: Literal["n_per_problem"]


class NoTrainOverlap(ValidityRule):
    """No training problem shares a statement with the benchmark."""

    rule: Literal["no_train_overlap"]


class InfraShareMax(ValidityRule):
    """At most this share of any batch died for reasons of infrastructure. batch: rows a batch, in work order; None: the whole unit."""

    rule: Literal["infra_share_max"]
    share: Share
    batch: Annotated[int, Field(ge=1)] | None = None


class ReadBack(ValidityRule):
    """The training data were read back and found equal to what was written."""

    rule: Literal["read_back"]


class SamePrompts(ValidityRule):
    """The round-0 prompts of both sides have one digest."""

    rule: Literal["same_prompts"]


Validity = Annotated[
    SameVerifier | NPerProblem | NoTrainOverlap | InfraShareMax | ReadBack | SamePrompts,
    Field(discriminator="rule"),
]
