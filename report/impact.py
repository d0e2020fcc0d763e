"""Impact: which numbers and conclusions depend on a unit, or on one problem of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from manifests.errors import BeforehandError
from manifests.names import UnitId
from manifests.study import Study
from report.endpoints import Comparison, compute_endpoints, compute_exploratory, decide
from report.estimates import Request, estimate_many
from report.evidence import Evidence, load_evidence
from report.inference import Sides
from report.metrics import Scores
from report.numbers import points
from report.sections.phrases import CONCLUSIONS, word


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependent:
    """One comparison that uses the unit. without: gain and word when the problem is left out, where one was named."""

    id: str
    role: str
    word: str
    conclusion: str
    gain: float | None
    gain_without: float | None
    conclusion_without: str | None

    @property
    def text(self) -> str:
        """One line."""
        shown = "no number" if self.gain is None else f"gain {points(self.gain)} pp"
        line = f"{self.id} ({self.role}): {shown}, {self.word}"
        if self.gain_without is None or self.conclusion_without is None:
            return line
        changed = "" if self.conclusion_without == self.conclusion else "  <- changes"
        return f"{line}; without the problem {points(self.gain_without, 2)} pp, {CONCLUSIONS[self.conclusion_without]}{changed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """comparisons that use the unit; pointers of the unit's own numbers."""

    unit: str
    problem: str | None
    comparisons: tuple[Dependent, ...]
    pointers: tuple[str, ...]


def impact(study_root: Path, unit: str, problem: str | None = None) -> Impact:
    """What depends on the unit. Raises when the study has no such unit, or the unit no such problem."""
    evidence = load_evidence(Study.open(study_root))
    wanted = UnitId.parse(unit, where="--unit")
    there = evidence.units.get(wanted)
    if there is None:
        names = ", ".join(map(str, sorted(evidence.units)))
        raise BeforehandError(
            f"the study holds no unit {unit}", where="--unit", mend=f"it holds {names or 'none'}"
        )
    if problem is not None:
        known = set(evidence.rows.table(there)["problem_id"].to_pylist())
        if problem not in known:
            mend = f"the first are {', '.join(sorted(known)[:5])}"
            raise BeforehandError(f"{unit} has no problem {problem!r}", where="--problem", mend=mend)
    comparisons = {**compute_endpoints(evidence), **compute_exploratory(evidence)}
    using = {
        name: one for name, one in comparisons.items() if unit in {entry.unit for entry in one.node.inputs}
    }
    return Impact(
        unit=unit,
        problem=problem,
        comparisons=_dependents(evidence, using, problem),
        pointers=tuple(f"{unit}/{sampling}" for sampling in sorted(there.record.counts)),
    )


def _dependents(
    evidence: Evidence, using: dict[str, Comparison], problem: str | None
) -> tuple[Dependent, ...]:
    cut = {
        name: without_problem(one.sides, problem)
        for name, one in using.items()
        if problem is not None and one.sides is not None and name in evidence.design.endpoints
        and problem in one.sides.baseline.problem_ids
    }  # fmt: skip
    endpoints = evidence.design.endpoints
    computed = estimate_many(
        [
            Request(sides=sides, metric=endpoints[name].metric, test=endpoints[name].test)
            for name, sides in cut.items()
        ]
    )
    without = dict(zip(cut, computed, strict=True))
    return tuple(
        Dependent(
            id=name,
            role=one.node.role,
            word=word(one.node),
            conclusion=one.node.conclusion,
            gain=one.node.estimate.value if one.node.estimate else None,
            gain_without=without[name].estimate.value if name in without else None,
            conclusion_without=decide(endpoints[name], without[name].estimate)[0]
            if name in without
            else None,
        )
        for name, one in using.items()
    )


def without_problem(sides: Sides, problem: str) -> Sides:
    """Both sides with one problem left out."""
    kept = np.array([name != problem for name in sides.baseline.problem_ids])
    groups = sides.groups
    return replace(
        sides,
        baseline=_cut(sides.baseline, kept),
        candidate=_cut(sides.candidate, kept),
        groups=None if groups is None else tuple(one for one, keep in zip(groups, kept, strict=True) if keep),
    )


def _cut(scores: Scores, kept: np.ndarray) -> Scores:
    counts = None if scores.counts is None else scores.counts[kept]
    return replace(
        scores,
        problem_ids=tuple(name for name, keep in zip(scores.problem_ids, kept, strict=True) if keep),
        values=scores.values[kept],
        counts=counts,
        numerator=None if counts is None else int(counts.sum()),
        denominator=None
        if counts is None or scores.per_problem is None
        else scores.per_problem * len(counts),
    )
