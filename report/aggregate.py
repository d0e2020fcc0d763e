"""`aggregate.json`: every number of the report under a stable pointer."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, JsonValue

from manifests.documents import Document
from report.numbers import significant

Label = Literal[
    "registered", "amended-before-results", "amended-after-results", "exploratory", "retrospective"
]
Conclusion = Literal["improved", "degraded", "no_detectable_difference", "invalid", "incomplete", "pending"]

Number = Annotated[float, AfterValidator(significant)]
"""A float as it is written: 12 significant digits."""


class Interval(Document):
    """Bounds at `level`; fractions."""

    low: Number
    high: Number
    level: str
    method: str


class Input(Document):
    """A unit that a number was computed from."""

    unit: str
    record_sha256: str


class MissingUnit(Document):
    """A planned unit that a comparison waits for, or that will not come."""

    unit: str
    status: Literal["pending", "skipped", "canceled", "substituted"]
    reason: str
    decision: str


class SideEstimate(Document):
    """One side of a comparison: the metric's value and the counts behind it."""

    system: str
    unit: str
    value: Number
    numerator: int | None
    """Correct samples, or solved problems; null where the metric is no ratio of counts."""
    denominator: int | None


class PairedCounts(Document):
    """Problems by outcome on the two sides, where an outcome is 0 or 1 per problem."""

    both: int
    neither: int
    lost: int
    gained: int


class Estimate(Document):
    """One computed number: the gain, candidate minus baseline, as a fraction."""

    name: str
    value: Number
    unit: Literal["fraction"]
    ci: Interval | None
    ci_reason: str | None
    p: Number | None
    p_at_floor: bool
    log10_p: Number | None
    method: str
    n_problems: int
    n_samples: int | None
    """Samples per problem on each side, as compared; null where they differ between problems."""
    cap_tokens: int
    baseline: SideEstimate
    candidate: SideEstimate
    paired: PairedCounts | None
    parameters: dict[str, JsonValue]
    """What the method was given and what fixes its random numbers."""


class Node(Document):
    """One endpoint. estimate null comes with a reason; PRIMARY may be printed only where `primary` is true."""

    label: Label
    role: Literal["primary", "secondary", "diagnostic", "exploratory"]
    conclusion: Conclusion
    reason: str | None
    primary: bool
    not_primary_because: tuple[str, ...]
    estimate: Estimate | None
    inputs: tuple[Input, ...]
    missing: tuple[MissingUnit, ...]
    registered_as: dict[str, JsonValue]
    """The endpoint as the design names it."""
    naive: Estimate | None
    """With a restricted pairing: the comparison over all samples of both sides."""
    warnings: tuple[str, ...]


class PassAtK(Document):
    """Unbiased pass@k of one sampling; null with a reason when k exceeds the samples."""

    k: int
    value: Number | None
    ci: Interval | None
    reason: str | None


class SamplingNode(Document):
    """One sampling of a unit."""

    planned: int
    got: int
    judged: int
    correct: int
    n_problems: int
    cap_tokens: int
    mean_max_tokens: Number | None
    truncated: int | None
    mean_completion_tokens: Number | None
    pass_at_k: tuple[PassAtK, ...]


class UnitNode(Document):
    """One planned unit."""

    status: Literal["found", "pending", "skipped", "canceled", "substituted"]
    reason: str
    decision: str
    record_sha256: str | None
    regraded: bool | None
    samplings: dict[str, SamplingNode]


class RegistrationNode(Document):
    """What verify says of the registration."""

    status: str
    block_sha256: str | None
    frozen_at: str | None
    witness: str


class MoneyNode(Document):
    """The ledger's totals; amounts are decimal strings in USD."""

    entries: int
    spent_usd: str
    reserved_usd: str
    cap_usd: str | None
    remaining_usd: str | None
    seconds: str
    head_seq: int | None
    head_hash: str | None


class Aggregate(Document):
    """`aggregate/1`. Keys of `endpoints` are endpoint ids."""

    format: Literal["aggregate/1"]
    study: str
    registration: RegistrationNode
    endpoints: dict[str, Node]
    exploratory: dict[str, Node]
    units: dict[str, UnitNode]
    money: MoneyNode
    warnings: tuple[str, ...]
