"""Endpoints: each registered question, computed by exactly its method, concluded by exactly its rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from manifests.errors import BeforehandError
from prereg.design import Design, ResolvedSide
from prereg.endpoints import Endpoint
from prereg.methods import McnemarExact, Metric, PairedBootstrap
from prereg.plan import exploratory_design
from report.aggregate import Conclusion, Estimate, Input, MissingUnit, Node
from report.comparability import disagreements, shortfalls
from report.estimates import Computed, Sides, estimate
from report.evidence import Evidence, UnitEvidence
from report.labels import label_of, why_not_primary
from report.metrics import TooFewSamplesError, score
from report.samples import Samples, restrict, select_samples


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """The units behind an endpoint, each with its side of the design."""

    sides: tuple[ResolvedSide, ResolvedSide]
    units: tuple[UnitEvidence, UnitEvidence]


class _WithheldError(Exception):
    """No number may be shown, and the conclusion says why."""

    def __init__(self, conclusion: Conclusion, reason: str) -> None:
        super().__init__(reason)
        self.conclusion = conclusion
        self.reason = reason


def compute_endpoint(evidence: Evidence, design: Design, name: str) -> Node:
    """The node of one endpoint; what keeps it from a number is its conclusion and reason, never an exception."""
    endpoint = design.endpoints[name]
    sides = design.sides(name)
    there = [evidence.units[side.unit] for side in sides if side.unit in evidence.units]
    label = label_of(evidence, sides[1].unit, there)
    inputs = tuple(Input(unit=unit.record.unit, record_sha256=unit.record_sha256) for unit in there)
    registered_as = endpoint.model_dump(mode="json")
    missing = _missing(evidence, sides)
    reasons = why_not_primary(evidence, label, [side.system.name for side in sides], there)
    try:
        if missing:
            raise _WithheldError("pending", "; ".join(_why_missing(unit) for unit in missing))
        pair = _Pair(sides=sides, units=(evidence.units[sides[0].unit], evidence.units[sides[1].unit]))
        computed, naive = _compute(evidence, endpoint, pair)
    except _WithheldError as withheld:
        return Node(
            label=label,
            role=endpoint.role,
            conclusion=withheld.conclusion,
            reason=withheld.reason,
            primary=False,
            not_primary_because=_only_primary(
                endpoint, (f"the comparison is {withheld.conclusion}", *reasons)
            ),
            estimate=None,
            inputs=inputs,
            missing=missing,
            registered_as=registered_as,
            naive=None,
            warnings=(),
        )
    conclusion, reason = decide(endpoint, computed.estimate)
    return Node(
        label=label,
        role=endpoint.role,
        conclusion=conclusion,
        reason=reason,
        primary=endpoint.role == "primary" and not reasons,
        not_primary_because=_only_primary(endpoint, reasons),
        estimate=computed.estimate,
        inputs=inputs,
        missing=missing,
        registered_as=registered_as,
        naive=naive,
        warnings=computed.warnings,
    )


def decide(endpoint: Endpoint, computed: Estimate) -> tuple[Conclusion, str | None]:
    """The word that the registered rule gives, and why where there is something to say."""
    if endpoint.decide == "p_below_alpha" and isinstance(endpoint.test, McnemarExact):
        if computed.p is None or not Decimal(repr(computed.p)) < endpoint.test.alpha:
            return "no_detectable_difference", None
        return ("improved" if computed.value > 0 else "degraded"), None
    if computed.ci is None:
        return "no_detectable_difference", computed.ci_reason
    if computed.ci.low > 0:
        return "improved", None
    return ("degraded", None) if computed.ci.high < 0 else ("no_detectable_difference", None)


def _only_primary(endpoint: Endpoint, reasons: Sequence[str]) -> tuple[str, ...]:
    return tuple(reasons) if endpoint.role == "primary" else ()


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


def _compute(evidence: Evidence, endpoint: Endpoint, pair: _Pair) -> tuple[Computed, Estimate | None]:
    baseline, candidate = pair.units
    samplings = (pair.sides[0].sampling.name, pair.sides[1].sampling.name)
    unequal = disagreements(baseline.record, candidate.record, samplings=samplings, varies=endpoint.varies)
    if unequal:
        raise _WithheldError(
            "invalid",
            f"the two sides were not made alike: {'; '.join(unequal)}. This is not a negative result",
        )
    drawn = tuple(
        _samples(unit, sampling, endpoint.metric)
        for unit, sampling in zip(pair.units, samplings, strict=True)
    )
    missing = [
        gap
        for unit, sampling in zip(pair.units, samplings, strict=True)
        for gap in shortfalls(unit.record, sampling)
    ]
    if missing:
        raise _WithheldError("incomplete", "; ".join(missing))
    paired = _paired(drawn[0], drawn[1], endpoint)
    computed = _estimate(evidence, endpoint, pair, paired)
    naive = None
    if endpoint.pairing.naive_beside:
        unrestricted = _paired(drawn[0], drawn[1], endpoint, sample_indices=False)
        naive = _estimate(evidence, endpoint, pair, unrestricted).estimate
    return computed, naive


def _samples(unit: UnitEvidence, sampling: str, metric: Metric) -> Samples:
    extractor = metric.extractor if metric.name == "mean_correct" else None
    samples = select_samples(unit.rows, sampling=sampling, round_=metric.round, extractor=extractor)
    if samples.n_infrastructure:
        raise _WithheldError(
            "invalid",
            f"{samples.n_infrastructure} samples of {unit.record.unit} ({sampling}) died for infrastructure reasons; "
            "judge them again. This is not a negative result",
        )
    return samples


def _paired(
    baseline: Samples, candidate: Samples, endpoint: Endpoint, *, sample_indices: bool = True
) -> tuple[Samples, Samples]:
    """Both sides cut as the pairing says: to the problems, and the sample indices, of the side that it names."""
    pairing = endpoint.pairing
    by_sample = pairing.samples if sample_indices else "same"
    for named in ("baseline", "candidate"):
        problems, samples = pairing.problems == named, by_sample == named
        if named == "candidate":
            baseline = restrict(baseline, candidate, problems=problems, sample_indices=samples)
        else:
            candidate = restrict(candidate, baseline, problems=problems, sample_indices=samples)
    return baseline, candidate


def _estimate(
    evidence: Evidence, endpoint: Endpoint, pair: _Pair, paired: tuple[Samples, Samples]
) -> Computed:
    try:
        scores = score(paired[0], endpoint.metric), score(paired[1], endpoint.metric)
    except TooFewSamplesError as err:
        raise _WithheldError("incomplete", str(err)) from err
    if scores[0].problem_ids != scores[1].problem_ids:
        only = set(scores[0].problem_ids) ^ set(scores[1].problem_ids)
        raise _WithheldError(
            "incomplete", f"{len(only)} problems have rows on one side only (first: {min(only)})"
        )
    sides = Sides(
        baseline=scores[0],
        candidate=scores[1],
        systems=(pair.sides[0].system.name, pair.sides[1].system.name),
        units=(str(pair.sides[0].unit), str(pair.sides[1].unit)),
        n_samples=_samples_compared(paired, endpoint.metric),
        cap_tokens=pair.sides[0].protocol.cap_tokens,
        strata=_strata(evidence, endpoint, scores[0].problem_ids),
    )
    return estimate(sides, endpoint.metric, endpoint.test)


def _samples_compared(paired: tuple[Samples, Samples], metric: Metric) -> int | None:
    """Samples per problem that enter on each side; None where they differ."""
    if metric.name == "solved_at_k":
        return metric.k
    sizes = np.concatenate([side.samples_per_problem for side in paired])
    return int(sizes[0]) if len(sizes) and np.all(sizes == sizes[0]) else None


def _strata(evidence: Evidence, endpoint: Endpoint, problem_ids: Sequence[str]) -> tuple[str, ...] | None:
    if not isinstance(endpoint.test, PairedBootstrap) or endpoint.test.strata is None:
        return None
    labels = evidence.strata[endpoint.benchmark, endpoint.test.strata]
    try:
        return tuple(labels[problem_id] for problem_id in problem_ids)
    except KeyError as err:
        raise BeforehandError(
            f"the problem {err.args[0]!r} of the rows is not in the problem file", where=endpoint.benchmark
        ) from err


def compute_endpoints(evidence: Evidence) -> dict[str, Node]:
    """Every endpoint of the design, by id."""
    return {name: compute_endpoint(evidence, evidence.design, name) for name in evidence.design.endpoints}


def compute_exploratory(evidence: Evidence) -> dict[str, Node]:
    """Every comparison of study.toml, by id: the same methods, another label, never a primary role."""
    design = exploratory_design(evidence.design, evidence.study.config.exploratory)
    nodes = {name: compute_endpoint(evidence, design, name) for name in evidence.study.config.exploratory}
    as_exploratory = {
        "label": "exploratory",
        "role": "exploratory",
        "primary": False,
        "not_primary_because": (),
    }
    return {name: node.model_copy(update=as_exploratory) for name, node in nodes.items()}
