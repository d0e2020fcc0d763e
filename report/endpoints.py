"""Endpoints: each registered question, computed by exactly its method, concluded by exactly its rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from prereg.design import Design, ResolvedSide
from prereg.endpoints import Endpoint
from prereg.plan import exploratory_design
from report.aggregate import Conclusion, Estimate, Input, MissingUnit, Node, ValidityNode
from report.estimates import Computed, Request, estimate_many
from report.evidence import Evidence, UnitEvidence
from report.inference import Sides
from report.labels import label_of, why_not_primary
from report.planning import change_of, fragility_of, plan_of
from report.sides import Prepared, WithheldError, prepare


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """An endpoint's node and, where it has a number, the per-problem scores behind it."""

    node: Node
    sides: Sides | None
    compared: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """An endpoint with what the study holds of its two sides."""

    name: str
    endpoint: Endpoint
    sides: tuple[ResolvedSide, ResolvedSide]
    there: tuple[UnitEvidence, ...]
    missing: tuple[MissingUnit, ...]


def compute_endpoints(
    evidence: Evidence,
    *,
    design: Design | None = None,
    allow_unequal: bool = False,
    names: Iterable[str] = (),
) -> dict[str, Comparison]:
    """Every endpoint of the design in force, or of `design`, by id; what keeps one from a number is its reason."""
    chosen = design or evidence.design
    questions = [_question(evidence, chosen, name) for name in (tuple(names) or chosen.endpoints)]
    outcomes = [_prepared(evidence, chosen, question, allow_unequal=allow_unequal) for question in questions]
    return _comparisons(evidence, chosen, list(zip(questions, outcomes, strict=True)))


def compute_exploratory(evidence: Evidence, *, allow_unequal: bool = False) -> dict[str, Comparison]:
    """Every comparison of study.toml, by id: the same methods, another label, never a primary role."""
    names = tuple(evidence.study.config.exploratory)
    if not names:
        return {}
    design = exploratory_design(evidence.design, evidence.study.config.exploratory)
    found = compute_endpoints(evidence, design=design, allow_unequal=allow_unequal, names=names)
    as_exploratory = {
        "label": "exploratory",
        "role": "exploratory",
        "primary": False,
        "not_primary_because": (),
    }
    return {
        name: Comparison(
            node=one.node.model_copy(update=as_exploratory), sides=one.sides, compared=one.compared
        )
        for name, one in found.items()
    }


def decide(endpoint: Endpoint, computed: Estimate) -> tuple[Conclusion, str | None]:
    """The word that the registered rule gives, and why where there is something to say."""
    if endpoint.decide == "p_below_alpha":
        alpha = getattr(endpoint.test, "alpha", None)
        if not isinstance(alpha, Decimal):
            raise TypeError("a test without alpha passed the design's checks")
        if computed.p is None or not Decimal(repr(computed.p)) < alpha:
            return "no_detectable_difference", None
        return ("improved" if computed.value > 0 else "degraded"), None
    if computed.ci is None:
        return "no_detectable_difference", computed.ci_reason
    if computed.ci.low > 0:
        return "improved", None
    return ("degraded", None) if computed.ci.high < 0 else ("no_detectable_difference", None)


def _question(evidence: Evidence, design: Design, name: str) -> _Question:
    sides = design.sides(name)
    return _Question(
        name=name,
        endpoint=design.endpoints[name],
        sides=sides,
        there=tuple(evidence.units[side.unit] for side in sides if side.unit in evidence.units),
        missing=_missing(evidence, sides),
    )


def _prepared(
    evidence: Evidence, design: Design, question: _Question, *, allow_unequal: bool
) -> Prepared | WithheldError:
    if question.missing:
        return WithheldError("pending", "; ".join(_why_missing(unit) for unit in question.missing))
    pair = evidence.units[question.sides[0].unit], evidence.units[question.sides[1].unit]
    try:
        return prepare(evidence, design, question.name, pair, allow_unequal=allow_unequal)
    except WithheldError as withheld:
        return withheld


def _comparisons(
    evidence: Evidence, design: Design, outcomes: Sequence[tuple[_Question, Prepared | WithheldError]]
) -> dict[str, Comparison]:
    requests: list[Request] = []
    places: dict[str, tuple[int, int | None]] = {}
    for question, outcome in outcomes:
        if isinstance(outcome, Prepared):
            endpoint = question.endpoint
            requests.append(Request(sides=outcome.sides, metric=endpoint.metric, test=endpoint.test))
            naive = None
            if outcome.naive is not None:
                naive = len(requests)
                requests.append(Request(sides=outcome.naive, metric=endpoint.metric, test=endpoint.test))
            places[question.name] = (len(requests) - (1 if naive is None else 2), naive)
    computed = estimate_many(requests)
    comparisons = {}
    for question, outcome in outcomes:
        if isinstance(outcome, WithheldError):
            node = _withheld_node(evidence, design, question, outcome)
            comparisons[question.name] = Comparison(node=node, sides=None, compared=())
            continue
        own, naive = places[question.name]
        beside = computed[naive].estimate if naive is not None else None
        node = _node(evidence, design, question, outcome, computed[own], beside)
        comparisons[question.name] = Comparison(node=node, sides=outcome.sides, compared=outcome.compared)
    return comparisons


def _withheld_node(evidence: Evidence, design: Design, question: _Question, withheld: WithheldError) -> Node:
    because = (f"the comparison is {withheld.conclusion}", *_why_not(evidence, design, question, ()))
    return Node(
        label=label_of(evidence, design, question.name, question.there),
        role=question.endpoint.role,
        conclusion=withheld.conclusion,
        reason=withheld.reason,
        primary=False,
        not_primary_because=because if question.endpoint.role == "primary" else (),
        estimate=None,
        inputs=_inputs(question),
        missing=question.missing,
        registered_as=question.endpoint.model_dump(mode="json"),
        naive=None,
        warnings=(),
        validity=withheld.validity,
        amended_by=evidence.amended_by(question.name),
    )


def _node(
    evidence: Evidence,
    design: Design,
    question: _Question,
    prepared: Prepared,
    computed: Computed,
    naive: Estimate | None,
) -> Node:
    endpoint = question.endpoint
    conclusion, reason = decide(endpoint, computed.estimate)
    because = _why_not(evidence, design, question, prepared.validity)
    if prepared.unequal_allowed:
        because = ("unequal designs are compared by --allow-design-mismatch", *because)
    is_primary = endpoint.role == "primary"
    return Node(
        label=label_of(evidence, design, question.name, question.there),
        role=endpoint.role,
        conclusion=conclusion,
        reason=reason,
        primary=is_primary and not because,
        not_primary_because=because if is_primary else (),
        estimate=computed.estimate,
        inputs=_inputs(question),
        missing=question.missing,
        registered_as=endpoint.model_dump(mode="json"),
        naive=naive,
        warnings=computed.warnings,
        validity=prepared.validity,
        planning=plan_of(prepared.sides, endpoint.test),
        fragility=fragility_of(computed.estimate, endpoint.test),
        change=change_of(prepared.sides),
        unequal_allowed=prepared.unequal_allowed,
        amended_by=evidence.amended_by(question.name),
    )


def _why_not(
    evidence: Evidence, design: Design, question: _Question, validity: Sequence[ValidityNode]
) -> tuple[str, ...]:
    untold = tuple(
        f"validity rule {node.rule} cannot be checked: {node.detail}"
        for node in validity
        if node.state == "unknown"
    )
    return (*why_not_primary(evidence, design, question.name, question.there), *untold)


def _inputs(question: _Question) -> tuple[Input, ...]:
    return tuple(Input(unit=unit.record.unit, record_sha256=unit.record_sha256) for unit in question.there)


def _missing(evidence: Evidence, sides: tuple[ResolvedSide, ResolvedSide]) -> tuple[MissingUnit, ...]:
    """The sides' units that are not there, with what the roster says of them."""
    entries = {entry.unit: entry for entry in evidence.roster}
    missing = []
    for unit in sorted({side.unit for side in sides} - set(evidence.units)):
        entry = entries.get(unit)
        status = entry.status if entry is not None and entry.status != "found" else "pending"
        reason = entry.reason if entry is not None else "the design plans no such unit; list it under `units`"
        decision = entry.decision if entry is not None else ""
        missing.append(MissingUnit(unit=str(unit), status=status, reason=reason, decision=decision))
    return tuple(missing)


def _why_missing(unit: MissingUnit) -> str:
    if unit.reason:
        cited = f" ({unit.decision})" if unit.decision else ""
        return f"{unit.unit} is {unit.status}: {unit.reason}{cited}"
    return f"{unit.unit} is not there yet; when it lands, rebuilding is the only action needed"


def rows_compared(comparisons: Mapping[str, Comparison]) -> dict[tuple[str, str], int]:
    """(unit, sampling) -> the most of its rows that one comparison used."""
    most: dict[tuple[str, str], int] = {}
    for comparison in comparisons.values():
        for unit, sampling, rows in comparison.compared:
            most[unit, sampling] = max(rows, most.get((unit, sampling), 0))
    return most
