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


Resamples = Annotated[int, Field(ge=100, le=10_000_000)]
Seed = Annotated[int, Field(ge=0, le=2**53 - 1)]


class RegisteredTest(Document):
    """Base of the tests. binary_only: takes one value of 0 or 1 a problem; decides: the rules that it can serve."""

    binary_only: ClassVar[bool] = False
    decides: ClassVar[tuple[Decide, ...]]

    @property
    def problem_field(self) -> str | None:
        """The field of the problem file whose values group the problems, if the test asks for one."""
        return None


class McnemarExact(RegisteredTest):
    """Exact McNemar test on the discordant problems; one value of 0 or 1 a problem."""

    binary_only: ClassVar[bool] = True
    decides: ClassVar[tuple[Decide, ...]] = ("p_below_alpha",)

    name: Literal["mcnemar_exact"]
    sides: Literal[2] = 2
    alpha: Share


class McnemarMidp(RegisteredTest):
    """McNemar test with the mid-p: less conservative than the exact one, and only by this name."""

    binary_only: ClassVar[bool] = True
    decides: ClassVar[tuple[Decide, ...]] = ("p_below_alpha",)

    name: Literal["mcnemar_midp"]
    sides: Literal[2] = 2
    alpha: Share


class PairedBootstrap(RegisteredTest):
    """Paired bootstrap over problems. strata: a field of the problem set whose groups are resampled each by itself."""

    decides: ClassVar[tuple[Decide, ...]] = ("ci_excludes_zero",)

    name: Literal["paired_bootstrap"]
    interval: Literal["percentile"] = "percentile"
    level: Share
    resamples: Resamples
    seed: Seed
    p: Literal["plus_one", "strict"] = "plus_one"
    strata: Sentence | None = None

    @property
    def problem_field(self) -> str | None:
        """The stratum."""
        return self.strata


class SignFlip(RegisteredTest):
    """Two-sided sign-flip test of the mean difference: exact up to 20 problems that differ, drawn above."""

    decides: ClassVar[tuple[Decide, ...]] = ("p_below_alpha",)

    name: Literal["sign_flip"]
    alpha: Share
    resamples: Resamples = 10_000
    seed: Seed


class PairedT(RegisteredTest):
    """Paired t over problems, with n - 1 degrees of freedom."""

    decides: ClassVar[tuple[Decide, ...]] = ("ci_excludes_zero",)

    name: Literal["paired_t"]
    level: Share


class ClusteredT(RegisteredTest):
    """Cluster-robust t of the mean difference. clusters: a field of the problem set; its groups may correlate within."""

    decides: ClassVar[tuple[Decide, ...]] = ("ci_excludes_zero",)

    name: Literal["clustered_t"]
    level: Share
    clusters: Sentence

    @property
    def problem_field(self) -> str | None:
        """The cluster."""
        return self.clusters


StatisticalTest = Annotated[
    McnemarExact | McnemarMidp | PairedBootstrap | SignFlip | PairedT | ClusteredT,
    Field(discriminator="name"),
]
