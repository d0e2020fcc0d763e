"""Metrics, tests and decision rules that an endpoint may name. A new test is one class here and one function in the statistics.

What is not listed cannot be computed, and is therefore refused before it can be frozen.
"""

import re
from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from manifests.documents import Document
from prereg.systems import Sentence, Slug


def _share(value: object) -> Decimal:
    if isinstance(value, Decimal):
        return value
    if not isinstance(value, str):
        raise ValueError('is no string: write it in quotes, as "0.05"')
    if not re.fullmatch(r"0?\.\d{1,12}", value) or not 0 < Decimal(value) < 1:
        raise ValueError("does not lie strictly between 0 and 1")
    return Decimal(value)


Share = Annotated[Decimal, BeforeValidator(_share)]
"""A number strictly between 0 and 1, written as a string, kept exactly."""

Round = Annotated[int, Field(ge=0, le=32767)]
Decide = Literal["p_below_alpha", "ci_excludes_zero"]


class MeanCorrect(Document):
    """Mean over problems of the share of correct samples. extractor: a row graded through another one counts as not correct."""

    name: Literal["mean_correct"]
    round: Round = 0
    extractor: Slug | None = None


class SolvedAtK(Document):
    """1 where at least one of the first k samples is correct, else 0."""

    name: Literal["solved_at_k"]
    k: Annotated[int, Field(ge=1)]
    rule: Literal["prefix"] = "prefix"
    round: Round = 0


class PassAtK(Document):
    """The unbiased estimator of Chen et al. 2021, eq. 1."""

    name: Literal["pass_at_k"]
    k: Annotated[int, Field(ge=1)]
    round: Round = 0


Metric = Annotated[MeanCorrect | SolvedAtK | PassAtK, Field(discriminator="name")]


class McnemarExact(Document):
    """Exact McNemar test on the discordant problems; one value of 0 or 1 a problem."""

    binary_only: ClassVar[bool] = True
    decides: ClassVar[tuple[Decide, ...]] = ("p_below_alpha",)

    name: Literal["mcnemar_exact"]
    sides: Literal[1, 2] = 2
    alpha: Share


class PairedBootstrap(Document):
    """Paired bootstrap over problems. strata: a field of the problem set whose groups are resampled each by itself."""

    binary_only: ClassVar[bool] = False
    decides: ClassVar[tuple[Decide, ...]] = ("ci_excludes_zero",)

    name: Literal["paired_bootstrap"]
    interval: Literal["percentile"] = "percentile"
    level: Share
    resamples: Annotated[int, Field(ge=1, le=10_000_000)]
    seed: Annotated[int, Field(ge=0, le=2**53 - 1)]
    p: Literal["plus_one", "strict"] = "plus_one"
    strata: Sentence | None = None


StatisticalTest = Annotated[McnemarExact | PairedBootstrap, Field(discriminator="name")]
