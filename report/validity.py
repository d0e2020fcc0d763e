"""Validity rules on one comparison: each holds, is violated, or cannot be told from what is recorded.

A violated rule makes the comparison invalid, which is not negative; what cannot be told forbids PRIMARY.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manifests.rows import INFRASTRUCTURE
from prereg.design import ResolvedSide
from prereg.endpoints import InfraShareMax, Validity
from report.aggregate import ValidityNode
from report.evidence import Evidence, UnitEvidence
from report.training import TrainingEvidence

MOST_ROWS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Both sides of a comparison as they lie in the study: baseline first. rows: of the side's sampling, round 0."""

    sides: tuple[ResolvedSide, ResolvedSide]
    units: tuple[UnitEvidence, UnitEvidence]
    rows: tuple[pa.Table, pa.Table]
    training: TrainingEvidence
    planned_problems: tuple[int, int]


def check_validity(
    rules: Sequence[Validity], endpoint_id: str, compared: Compared
) -> tuple[ValidityNode, ...]:
    """Every rule that guards this endpoint, in the order of the design."""
    return tuple(
        CHECKS[rule.rule](rule, compared)
        for rule in rules
        if not rule.endpoints or endpoint_id in rule.endpoints
    )


def rows_of_sampling(evidence: Evidence, unit: UnitEvidence, sampling: str) -> pa.Table:
    """The rows of one sampling, first round, in key order."""
    table = evidence.rows.table(unit)
    return table.filter(pc.and_(pc.equal(table["sampling"], sampling), pc.equal(table["round"], 0)))


def _holds(rule: str, detail: str) -> ValidityNode:
    return ValidityNode(rule=rule, state="holds", detail=detail, rows=())


def _violated(rule: str, detail: str, rows: Sequence[str] = ()) -> ValidityNode:
    return ValidityNode(rule=rule, state="violated", detail=detail, rows=tuple(rows[:MOST_ROWS]))


def _unknown(rule: str, detail: str) -> ValidityNode:
    return ValidityNode(rule=rule, state="unknown", detail=detail, rows=())


def _same_verifier(_rule: Validity, compared: Compared) -> ValidityNode:
    """Kind, pins and configuration of the records, and the verifier of the protocols with its budget."""
    first, second = (
        {
            **unit.record.verifier.model_dump(mode="json"),
            **{f"protocol.{key}": value for key, value in _verifier_settings(unit).items()},
        }
        for unit in compared.units
    )
    differing = sorted(key for key in {*first, *second} if first.get(key) != second.get(key))
    if not differing:
        return _holds("same_verifier", "kind, pins, configuration and budget are the same on both sides")
    shown = "; ".join(f"{key}: {first.get(key)!r} and {second.get(key)!r}" for key in differing)
    return _violated(
        "same_verifier", f"the verifiers differ in {shown}", [unit.record.unit for unit in compared.units]
    )


def _verifier_settings(unit: UnitEvidence) -> Mapping[str, object]:
    settings = unit.record.protocol.get("verifier")
    return settings if isinstance(settings, dict) else {}


def _n_per_problem(_rule: Validity, compared: Compared) -> ValidityNode:
    wrong: list[str] = []
    for side, unit, rows, problems in zip(
        compared.sides, compared.units, compared.rows, compared.planned_problems, strict=True
    ):
        counted = rows.group_by("problem_id").aggregate([("sample_idx", "count_distinct")])
        sampling, planned = side.sampling.name, side.sampling.samples
        wrong += [
            f"{unit.record.unit} {sampling} {name}: {n} of {planned}"
            for name, n in sorted(
                zip(
                    counted["problem_id"].to_pylist(),
                    counted["sample_idx_count_distinct"].to_pylist(),
                    strict=True,
                )
            )
            if n != planned
        ]
        if counted.num_rows != problems:
            wrong.append(
                f"{unit.record.unit} {sampling}: {counted.num_rows} of {problems} problems have rows"
            )
    if not wrong:
        return _holds("n_per_problem", "every planned problem has every planned sample on both sides")
    return _violated("n_per_problem", f"{len(wrong)} places differ from the plan", wrong)


def _infra_share_max(rule: Validity, compared: Compared) -> ValidityNode:
    """Shares of rows that died for reasons of infrastructure, in batches of consecutive rows in key order."""
    if not isinstance(rule, InfraShareMax):
        raise TypeError(rule.rule)
    limit = float(rule.share)
    worst = 0.0
    wrong: list[str] = []
    for side, unit, rows in zip(compared.sides, compared.units, compared.rows, strict=True):
        died = np.array(
            [
                any(reason.startswith(INFRASTRUCTURE) for reason in reasons)
                for reasons in rows["reasons"].to_pylist()
            ],
            dtype=bool,
        )
        size = rule.batch or max(len(died), 1)
        for number, first in enumerate(range(0, len(died), size), start=1):
            batch = died[first : first + size]
            share = float(np.mean(batch))
            worst = max(worst, share)
            if share > limit:
                places = first + np.flatnonzero(batch)
                wrong += [
                    f"{unit.record.unit} {side.sampling.name} {rows['problem_id'][int(place)].as_py()} "
                    f"sample {rows['sample_idx'][int(place)].as_py()} (batch {number})"
                    for place in places[:MOST_ROWS]
                ]
    detail = f"the largest share of a batch is {worst:.4g}, the limit {rule.share}"
    return _violated("infra_share_max", detail, wrong) if wrong else _holds("infra_share_max", detail)


def _same_prompts(_rule: Validity, compared: Compared) -> ValidityNode:
    first, second = (unit.record.prompts_sha256 for unit in compared.units)
    if first is None or second is None:
        without = [unit.record.unit for unit in compared.units if unit.record.prompts_sha256 is None]
        return _unknown("same_prompts", f"no digest of the prompts is recorded for {', '.join(without)}")
    if first == second:
        return _holds("same_prompts", f"the prompts of both sides have the digest {first[:12]}")
    return _violated(
        "same_prompts",
        f"the prompts have the digests {first[:12]} and {second[:12]}",
        [unit.record.unit for unit in compared.units],
    )


def _no_train_overlap(_rule: Validity, compared: Compared) -> ValidityNode:
    side = compared.sides[1]
    overlap = compared.training.overlap(side.system.declared_as, side.unit.benchmark)
    if overlap is None:
        return _unknown(
            "no_train_overlap", compared.training.missing(side.system.declared_as, "problems.jsonl")
        )
    if not overlap:
        return _holds(
            "no_train_overlap", "no training problem shares an id or a statement with the benchmark"
        )
    return _violated(
        "no_train_overlap",
        f"{len(overlap)} problems of the benchmark are among the training problems",
        overlap,
    )


def _read_back(_rule: Validity, compared: Compared) -> ValidityNode:
    system = compared.sides[1].system.declared_as
    state = compared.training.read_back(system)
    if state is None:
        return _unknown("read_back", compared.training.missing(system, "read_back.json"))
    if state.written_sha256 == state.read_sha256:
        return _holds("read_back", f"written and read back with the digest {state.written_sha256[:12]}")
    return _violated(
        "read_back",
        f"{state.rows} rows were written with the digest {state.written_sha256[:12]} "
        f"and read back with {state.read_sha256[:12]}",
        [f"training/{system}"],
    )


CHECKS: Mapping[str, Callable[[Validity, Compared], ValidityNode]] = {
    "same_verifier": _same_verifier,
    "n_per_problem": _n_per_problem,
    "no_train_overlap": _no_train_overlap,
    "infra_share_max": _infra_share_max,
    "read_back": _read_back,
    "same_prompts": _same_prompts,
}
"""Rule of the design -> check. The list is closed."""
