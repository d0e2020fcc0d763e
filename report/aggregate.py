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
    cap_tokens: int
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
    cap_tokens: int | None
    """Of both sides; null where they differ, and each side has its own."""
    baseline: SideEstimate
    candidate: SideEstimate
    paired: PairedCounts | None
    parameters: dict[str, JsonValue]
    """What the method was given and what fixes its random numbers."""


class ValidityNode(Document):
    """One validity rule on one comparison. unknown: what it asks for is not recorded, so it neither holds nor fails."""

    rule: str
    state: Literal["holds", "violated", "unknown"]
    detail: str
    rows: tuple[str, ...]
    """The rows that violate it, `UNIT SAMPLING PROBLEM SAMPLE`; at most 20, `detail` has the number."""


class PlanningNode(Document):
    """What the comparison could see: at the spread that was observed, so it describes and decides nothing."""

    target_power: str
    detectable: Number | None
    """The smallest gain with that power, a fraction."""
    detectable_reason: str | None
    spread: Number
    """Share of discordant problems for McNemar; else the standard deviation of per-problem differences."""
    basis: str


class FragilityNode(Document):
    """How many problems would have to come out otherwise for another conclusion."""

    n_flips: int | None
    conclusion_after: Conclusion | None
    lost_after: int | None
    gained_after: int | None
    reason: str | None


class ChangeNode(Document):
    """Problems by the sign of their change."""

    risen: int
    fallen: int
    unchanged: int
    none_on_both: int
    """Of the unchanged: no sample is correct on either side."""
    all_on_both: int


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
    validity: tuple[ValidityNode, ...] = ()
    planning: PlanningNode | None = None
    fragility: FragilityNode | None = None
    change: ChangeNode | None = None
    unequal_allowed: tuple[str, ...] = ()
    """Fields in which the sides differ and that were compared all the same, by `--allow-design-mismatch`."""
    amended_by: tuple[str, ...] = ()


class PassAtK(Document):
    """Unbiased pass@k of one sampling; null with a reason when k exceeds the samples."""

    k: int
    value: Number | None
    ci: Interval | None
    reason: str | None


class Lengths(Document):
    """Completion tokens over the rows that state them; p90 is the linear 90th percentile."""

    n: int
    mean: Number
    median: Number
    p90: Number
    max: int


class Extraction(Document):
    """How answers were found. answered: an extractor found one; null counts where the rows do not say."""

    extractors: dict[str, int]
    answered: int | None
    answered_correct: int | None
    truncated_answered: int | None
    truncated_correct: int | None


class ReasonCount(Document):
    """A reason that verdicts give, and how many rows give it."""

    reason: str
    rows: int


class SamplingNode(Document):
    """One sampling of a unit. compared: the most of its rows that one endpoint compared."""

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
    lengths: Lengths | None
    extraction: Extraction
    reasons: tuple[ReasonCount, ...]
    """Most frequent first; at most 12, the rest is `other`."""
    compared: int = 0


class UnitNode(Document):
    """One planned unit. regraded null: the pipeline made the verdicts itself."""

    status: Literal["found", "pending", "skipped", "canceled", "substituted"]
    reason: str
    decision: str
    record_sha256: str | None
    regraded: bool | None
    samplings: dict[str, SamplingNode]


class WitnessPlace(Document):
    """One place that freeze looked at."""

    name: str
    state: str
    files: int
    note: str


class WitnessFind(Document):
    """One thing that it found."""

    place: str
    path: str
    kind: str
    n_records: int
    sha256: str
    touches: tuple[str, ...]


class AmendmentNode(Document):
    """One sealed amendment."""

    id: str
    kind: str
    sealed_at: str
    touches: tuple[str, ...]
    seen: str
    text: str


class EventNode(Document):
    """One moment of the timeline. stated: nobody but the machine that wrote it vouches for the time."""

    at: str | None
    kind: str
    what: str
    source: str


class RegistrationNode(Document):
    """What verify says of the registration."""

    status: str
    block_sha256: str | None
    frozen_at: str | None
    witness: str
    acknowledged: str | None = None
    places: tuple[WitnessPlace, ...] = ()
    found: tuple[WitnessFind, ...] = ()
    amendments: tuple[AmendmentNode, ...] = ()
    amendments_head: str | None = None
    events: tuple[EventNode, ...] = ()


class MoneyGroup(Document):
    """Bookings of one phase, flavor, status or purchase."""

    name: str
    spent_usd: str
    floor_usd: str
    seconds: str
    bookings: int


class CapNode(Document):
    """A cap set or changed."""

    seq: int
    time_utc: str
    cap: str
    before_usd: str | None
    after_usd: str
    note: str


class ReservationNode(Document):
    """Money set aside and not yet settled."""

    seq: int
    time_utc: str
    job_id: str
    open_usd: str


class BurnNode(Document):
    """The study after one row."""

    seq: int
    time_utc: str
    spent_usd: str
    reserved_usd: str
    cap_usd: str | None


class BasesNode(Document):
    """Both bases side by side, and which is quoted and why."""

    quoted_usd: str
    floor_usd: str
    wall_clock_usd: str
    wall_clock_bookings: int
    sentence: str


class UnitMoney(Document):
    """What a unit cost."""

    spent_usd: str
    job_ids: tuple[str, ...]
    imported: bool


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
    by_phase: tuple[MoneyGroup, ...]
    by_flavor: tuple[MoneyGroup, ...]
    by_status: tuple[MoneyGroup, ...]
    by_purchase: tuple[MoneyGroup, ...]
    bases: BasesNode
    caps: tuple[CapNode, ...]
    reservations: tuple[ReservationNode, ...]
    burn_down: tuple[BurnNode, ...]
    units: dict[str, UnitMoney]
    reconciliation: tuple[str, ...]
    """Units without a booking and bookings without a unit: what the study alone can show, no list of jobs at hand."""
    per_unit_usd: str | None
    per_conclusion_usd: str | None


class Aggregate(Document):
    """`aggregate/1`. Keys of `endpoints` are endpoint ids; as_registered: endpoints that an amendment replaced."""

    format: Literal["aggregate/1"]
    study: str
    registration: RegistrationNode
    endpoints: dict[str, Node]
    as_registered: dict[str, Node]
    exploratory: dict[str, Node]
    units: dict[str, UnitNode]
    money: MoneyNode
    log: dict[str, int]
    """Entries of the decision log by kind."""
    warnings: tuple[str, ...]
