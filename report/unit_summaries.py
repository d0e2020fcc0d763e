"""Summaries of units: rows, verdicts, lengths, extraction and reasons of every sampling, one unit in memory at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manifests.roster import RosterEntry
from manifests.rows import NO_EXTRACTOR, count_true
from report.aggregate import Extraction, Lengths, ReasonCount, SamplingNode, UnitNode
from report.evidence import Evidence, UnitEvidence
from report.pass_at_k_curves import SampledProblems, pass_at_k_curves
from report.samples import select_samples

MOST_REASONS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A sampling without its curve."""

    unit: str
    name: str
    node: SamplingNode
    problems: SampledProblems


def summarise_units(evidence: Evidence, known: Mapping[str, UnitNode] | None = None) -> dict[str, UnitNode]:
    """One node per planned unit, by id. known: nodes of units whose bytes, code and environment are the same as then."""
    reusable = known or {}
    nodes: dict[str, UnitNode] = {}
    drafts: list[_Draft] = []
    for entry in evidence.roster:
        unit = evidence.units.get(entry.unit)
        name = str(entry.unit)
        before = reusable.get(name)
        if unit is None:
            nodes[name] = _absent(entry)
        elif before is not None and before.record_sha256 == unit.record_sha256:
            nodes[name] = before
        else:
            nodes[name] = _found(unit)
            table = evidence.rows.table(unit)
            drafts.extend(_draft(name, unit, sampling, table) for sampling in sorted(unit.record.counts))
    curves = pass_at_k_curves([draft.problems for draft in drafts])
    for draft, curve in zip(drafts, curves, strict=True):
        finished = draft.node.model_copy(update={"pass_at_k": curve})
        samplings = {**nodes[draft.unit].samplings, draft.name: finished}
        nodes[draft.unit] = nodes[draft.unit].model_copy(update={"samplings": samplings})
    return nodes


def with_compared(
    units: Mapping[str, UnitNode], compared: Mapping[tuple[str, str], int]
) -> dict[str, UnitNode]:
    """The nodes with `compared` of each sampling: (unit, sampling) -> the most rows that one endpoint compared."""
    return {
        name: node.model_copy(
            update={
                "samplings": {
                    sampling: one.model_copy(update={"compared": compared.get((name, sampling), 0)})
                    for sampling, one in node.samplings.items()
                }
            }
        )
        for name, node in units.items()
    }


def _absent(entry: RosterEntry) -> UnitNode:
    return UnitNode(
        status=entry.status,
        reason=entry.reason,
        decision=entry.decision,
        record_sha256=None,
        regraded=None,
        samplings={},
    )


def _found(unit: UnitEvidence) -> UnitNode:
    origin = unit.record.origin
    return UnitNode(
        status="found",
        reason="",
        decision="",
        record_sha256=unit.record_sha256,
        regraded=origin.regraded if origin.kind != "pipeline" else None,
        samplings={},
    )


def _draft(name: str, unit: UnitEvidence, sampling: str, table: pa.Table) -> _Draft:
    rows = table.filter(pc.equal(table["sampling"], sampling))
    samples = select_samples(table, sampling=sampling, round_=0)
    counts = unit.record.counts[sampling]
    cap = unit.record.protocol.get("cap_tokens")
    stated = count_true(pc.is_valid(rows["finish_reason"])) == rows.num_rows
    cut = pc.equal(rows["finish_reason"], "length")
    lengths = _lengths(rows)
    node = SamplingNode(
        planned=counts.planned,
        got=counts.got,
        judged=counts.judged,
        correct=counts.correct,
        n_problems=len(samples.problem_ids),
        cap_tokens=cap if isinstance(cap, int) else 0,
        mean_max_tokens=pc.mean(rows["max_tokens"]).as_py(),
        truncated=count_true(cut) if stated else None,
        mean_completion_tokens=lengths.mean if lengths else None,
        pass_at_k=(),
        lengths=lengths,
        extraction=_extraction(rows, cut if stated else None),
        reasons=_reasons(rows),
    )
    problems = SampledProblems(n_samples=samples.samples_per_problem, n_correct=samples.correct_per_problem)
    return _Draft(unit=name, name=sampling, node=node, problems=problems)


def _lengths(rows: pa.Table) -> Lengths | None:
    tokens = rows["n_completion_tokens"].drop_null().to_numpy()
    if not len(tokens):
        return None
    median, ninetieth = np.quantile(tokens, (0.5, 0.9)).tolist()
    return Lengths(
        n=len(tokens),
        mean=int(tokens.sum(dtype=np.int64)) / len(tokens),
        median=median,
        p90=ninetieth,
        max=int(tokens.max()),
    )


def _extraction(rows: pa.Table, cut: pa.ChunkedArray | None) -> Extraction:
    """Counts by extractor, and how truncated rows fared; null where a row does not name its extractor."""
    named = pc.value_counts(rows["extractor"].combine_chunks())
    extractors = {one["values"]: one["counts"] for one in named.to_pylist() if one["values"] is not None}
    complete = rows["extractor"].null_count == 0 and rows.num_rows > 0
    answered = pc.not_equal(rows["extractor"], NO_EXTRACTOR)
    return Extraction(
        extractors=dict(sorted(extractors.items())),
        answered=count_true(answered) if complete else None,
        answered_correct=count_true(pc.and_kleene(answered, rows["correct"])) if complete else None,
        truncated_answered=count_true(pc.and_kleene(answered, cut)) if complete and cut is not None else None,
        truncated_correct=count_true(pc.and_kleene(rows["correct"], cut)) if cut is not None else None,
    )


def _reasons(rows: pa.Table) -> tuple[ReasonCount, ...]:
    counted = pc.value_counts(pc.list_flatten(rows["reasons"]).combine_chunks()).to_pylist()
    ordered = sorted(counted, key=lambda one: (-one["counts"], str(one["values"])))
    kept = [ReasonCount(reason=str(one["values"]), rows=one["counts"]) for one in ordered[:MOST_REASONS]]
    rest = sum(one["counts"] for one in ordered[MOST_REASONS:])
    return (*kept, ReasonCount(reason="other", rows=rest)) if rest else tuple(kept)
