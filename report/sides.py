"""The two sides of an endpoint, cut as its pairing says and scored; or the reason why no number may be shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manifests.errors import BeforehandError
from prereg.design import Design, ResolvedSide
from prereg.endpoints import Endpoint, side_names
from prereg.methods import Metric
from report.aggregate import Conclusion, ValidityNode
from report.comparability import disagreements, shortfalls
from report.evidence import Evidence, UnitEvidence
from report.inference import Sides
from report.metrics import TooFewSamplesError, score
from report.samples import Samples, restrict
from report.validity import Compared, check_validity, rows_of_sampling


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Both sides ready for their test. naive: over all samples; compared: rows of (unit, sampling) that enter."""

    sides: Sides
    naive: Sides | None
    validity: tuple[ValidityNode, ...]
    unequal_allowed: tuple[str, ...]
    compared: tuple[tuple[str, str, int], ...]


class WithheldError(Exception):
    """No number may be shown, and the conclusion says why."""

    def __init__(
        self, conclusion: Conclusion, reason: str, *, validity: tuple[ValidityNode, ...] = ()
    ) -> None:
        super().__init__(reason)
        self.conclusion = conclusion
        self.reason = reason
        self.validity = validity


def prepare(
    evidence: Evidence,
    design: Design,
    name: str,
    pair: tuple[UnitEvidence, UnitEvidence],
    *,
    allow_unequal: bool,
) -> Prepared:
    """The sides of the endpoint, whose units are there. Raises WithheldError."""
    endpoint, sides = design.endpoints[name], design.sides(name)
    samplings = (sides[0].sampling.name, sides[1].sampling.name)
    unequal = disagreements(pair[0].record, pair[1].record, samplings=samplings, varies=endpoint.varies)
    validity = _validity(evidence, design, name, pair)
    if unequal and not allow_unequal:
        raise WithheldError(
            "invalid",
            f"the two sides were not made alike: {'; '.join(unequal)}. This is not a negative result",
            validity=validity,
        )
    violated = [f"{node.rule}: {node.detail}" for node in validity if node.state == "violated"]
    if violated:
        raise WithheldError(
            "invalid", f"a validity rule is violated: {'; '.join(violated)}. This is not a negative result", validity=validity
        )  # fmt: skip
    drawn = tuple(
        _samples(evidence, unit, sampling, endpoint.metric, validity)
        for unit, sampling in zip(pair, samplings, strict=True)
    )
    problems = {entry.unit: entry.n_problems for entry in design.planned_units()}
    missing = [
        gap
        for side, samples in zip(sides, drawn, strict=True)
        for gap in shortfalls(side, samples, n_problems=problems[side.unit])
    ]
    if missing:
        raise WithheldError("incomplete", "; ".join(missing), validity=validity)
    paired = _paired(drawn[0], drawn[1], endpoint)
    naive = None
    if endpoint.pairing.naive_beside:
        unrestricted = _paired(drawn[0], drawn[1], endpoint, sample_indices=False)
        naive = _sides(evidence, endpoint, sides, unrestricted, validity)
    return Prepared(
        sides=_sides(evidence, endpoint, sides, paired, validity),
        naive=naive,
        validity=validity,
        unequal_allowed=unequal,
        compared=tuple(
            (str(side.unit), side.sampling.name, _rows_compared(samples, endpoint.metric))
            for side, samples in zip(sides, paired, strict=True)
        ),
    )


def _validity(
    evidence: Evidence, design: Design, name: str, pair: tuple[UnitEvidence, UnitEvidence]
) -> tuple[ValidityNode, ...]:
    if not design.validity:
        return ()
    sides = design.sides(name)
    planned = {entry.unit: entry.n_problems for entry in design.planned_units()}
    compared = Compared(
        sides=sides,
        units=pair,
        rows=(
            rows_of_sampling(evidence, pair[0], sides[0].sampling.name),
            rows_of_sampling(evidence, pair[1], sides[1].sampling.name),
        ),
        training=evidence.training,
        planned_problems=(planned[sides[0].unit], planned[sides[1].unit]),
    )
    return check_validity(design.validity, name, compared)


def _samples(
    evidence: Evidence, unit: UnitEvidence, sampling: str, metric: Metric, validity: tuple[ValidityNode, ...]
) -> Samples:
    extractor = metric.extractor if metric.name == "mean_correct" else None
    samples = evidence.rows.samples(unit, sampling, round_=metric.round, extractor=extractor)
    if samples.n_infrastructure:
        raise WithheldError(
            "invalid",
            f"{samples.n_infrastructure} samples of {unit.record.unit} ({sampling}) died for infrastructure reasons; "
            "judge them again. This is not a negative result",
            validity=validity,
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


def _sides(
    evidence: Evidence,
    endpoint: Endpoint,
    sides: tuple[ResolvedSide, ResolvedSide],
    paired: tuple[Samples, Samples],
    validity: tuple[ValidityNode, ...],
) -> Sides:
    try:
        scores = score(paired[0], endpoint.metric), score(paired[1], endpoint.metric)
    except TooFewSamplesError as err:
        raise WithheldError("incomplete", str(err), validity=validity) from err
    if scores[0].problem_ids != scores[1].problem_ids:
        only = set(scores[0].problem_ids) ^ set(scores[1].problem_ids)
        raise WithheldError(
            "incomplete",
            f"{len(only)} problems have rows on one side only (first: {min(only)})",
            validity=validity,
        )
    return Sides(
        baseline=scores[0],
        candidate=scores[1],
        systems=(sides[0].system.name, sides[1].system.name),
        names=side_names(*((side.system.name, side.protocol.name, side.sampling.name) for side in sides)),
        units=(str(sides[0].unit), str(sides[1].unit)),
        n_samples=_samples_compared(paired, endpoint.metric),
        cap_tokens=(sides[0].protocol.cap_tokens, sides[1].protocol.cap_tokens),
        groups=_groups(evidence, endpoint, scores[0].problem_ids),
    )


def _samples_compared(paired: tuple[Samples, Samples], metric: Metric) -> int | None:
    """Samples per problem that enter on each side; None where they differ."""
    if metric.name == "solved_at_k":
        return metric.k
    sizes = np.concatenate([side.samples_per_problem for side in paired])
    return int(sizes[0]) if len(sizes) and np.all(sizes == sizes[0]) else None


def _rows_compared(samples: Samples, metric: Metric) -> int:
    if metric.name == "solved_at_k":
        return int(np.minimum(samples.samples_per_problem, metric.k).sum())
    return len(samples.correct)


def _groups(evidence: Evidence, endpoint: Endpoint, problem_ids: Sequence[str]) -> tuple[str, ...] | None:
    field = endpoint.test.problem_field
    if field is None:
        return None
    labels = evidence.strata[endpoint.benchmark, field]
    try:
        return tuple(labels[problem_id] for problem_id in problem_ids)
    except KeyError as err:
        raise BeforehandError(
            f"the problem {err.args[0]!r} of the rows is not in the problem file", where=endpoint.benchmark
        ) from err
