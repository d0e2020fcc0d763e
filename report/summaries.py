"""Summaries of units and money: what every planned unit holds, and what the ledger adds up to."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow.compute as pc

from ledger.budget import balance
from manifests.roster import RosterEntry
from manifests.rows import count_true
from report.aggregate import Interval, MoneyNode, PassAtK, SamplingNode, UnitNode
from report.estimates import COMPANION_LEVEL, COMPANION_RESAMPLES, COMPANION_SEED
from report.evidence import Evidence, UnitEvidence
from report.samples import select_samples
from report.statistics.pass_at_k import pass_at_k_mean
from report.statistics.proportion import wilson


def summarise_units(evidence: Evidence) -> dict[str, UnitNode]:
    """One node per planned unit, by id."""
    return {str(entry.unit): _unit(entry, evidence.units.get(entry.unit)) for entry in evidence.roster}


def summarise_money(evidence: Evidence) -> MoneyNode:
    """Totals of the ledger; with no entry there is no head."""
    entries = evidence.ledger.entries
    total = balance(entries)
    cap = total.study_cap
    seconds = sum((entry.seconds for entry in entries if entry.kind == "book" and entry.seconds), Decimal(0))
    return MoneyNode(
        entries=len(entries),
        spent_usd=str(total.spent_usd),
        reserved_usd=str(total.reserved_usd),
        cap_usd=str(cap.cap_usd) if cap else None,
        remaining_usd=str(cap.remaining_usd) if cap else None,
        seconds=str(seconds),
        head_seq=evidence.ledger.head.seq if entries else None,
        head_hash=evidence.ledger.head.hash if entries else None,
    )


def _unit(entry: RosterEntry, unit: UnitEvidence | None) -> UnitNode:
    if unit is None:
        return UnitNode(
            status=entry.status,
            reason=entry.reason,
            decision=entry.decision,
            record_sha256=None,
            regraded=None,
            samplings={},
        )
    return UnitNode(
        status="found",
        reason="",
        decision="",
        record_sha256=unit.record_sha256,
        regraded=unit.record.origin.regraded if unit.record.origin.kind != "pipeline" else None,
        samplings={name: _sampling(unit, name) for name in sorted(unit.record.counts)},
    )


def _sampling(unit: UnitEvidence, name: str) -> SamplingNode:
    rows = unit.rows.filter(pc.equal(unit.rows["sampling"], name))
    samples = select_samples(unit.rows, sampling=name, round_=0)
    counts = unit.record.counts[name]
    stated = pc.is_valid(rows["finish_reason"])
    cut = count_true(pc.equal(rows["finish_reason"], "length"))
    cap = unit.record.protocol.get("cap_tokens")
    return SamplingNode(
        planned=counts.planned,
        got=counts.got,
        judged=counts.judged,
        correct=counts.correct,
        n_problems=len(samples.problem_ids),
        cap_tokens=cap if isinstance(cap, int) else 0,
        mean_max_tokens=pc.mean(rows["max_tokens"]).as_py(),
        truncated=cut if count_true(stated) == rows.num_rows else None,
        mean_completion_tokens=pc.mean(rows["n_completion_tokens"]).as_py(),
        pass_at_k=tuple(_pass_at_k(samples.samples_per_problem, samples.correct_per_problem)),
    )


def _pass_at_k(n_samples: np.ndarray, n_correct: np.ndarray) -> list[PassAtK]:
    """pass@k for k = 1, 2, 4, … up to the samples that most problems have."""
    largest = int(np.median(n_samples)) if len(n_samples) else 0
    powers = [2**exponent for exponent in range(largest.bit_length()) if 2**exponent <= largest]
    nodes = []
    for k in powers:
        result = pass_at_k_mean(
            n_samples,
            n_correct,
            k,
            seed=COMPANION_SEED,
            level=float(COMPANION_LEVEL),
            n_resamples=COMPANION_RESAMPLES,
        )
        ci = None
        if largest == k and np.all(
            n_samples == k
        ):  # one 0/1 value a problem: Wilson holds, at 0 and at n too
            solved = wilson(int(np.count_nonzero(n_correct)), len(n_correct))
            if solved.low is not None and solved.high is not None:
                ci = Interval(
                    low=solved.low, high=solved.high, level=COMPANION_LEVEL, method="Wilson over problems"
                )
        elif result.low is not None and result.high is not None:
            method = "percentile bootstrap over problems"
            ci = Interval(low=result.low, high=result.high, level=COMPANION_LEVEL, method=method)
        nodes.append(PassAtK(k=k, value=result.estimate, ci=ci, reason=result.reason))
    return nodes
