"""Money: the ledger's totals as nodes of the aggregate; every amount a decimal string."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from ledger.budget import balance
from ledger.entries import Entry, format_time
from ledger.reservations import open_reservations
from ledger.totals import (
    Bases,
    Group,
    bases,
    burn_down,
    by_flavor,
    by_phase,
    by_purchase,
    by_status,
    cap_history,
    cost_per,
    unit_costs,
)
from report.aggregate import (
    BasesNode,
    BurnNode,
    CapNode,
    MoneyGroup,
    MoneyNode,
    Node,
    ReservationNode,
    UnitMoney,
)
from report.evidence import Evidence

CONCLUDED = ("improved", "degraded", "no_detectable_difference")


def summarise_money(evidence: Evidence, nodes: Sequence[Node]) -> MoneyNode:
    """Totals of the ledger; with no entry there is no head. nodes: the endpoints, for the cost of one conclusion."""
    entries = evidence.ledger.entries
    total = balance(entries)
    cap = total.study_cap
    seconds = sum((entry.seconds for entry in entries if entry.kind == "book" and entry.seconds), Decimal(0))
    per_unit = cost_per(total.spent_usd, len(evidence.units))
    per_conclusion = cost_per(total.spent_usd, sum(node.conclusion in CONCLUDED for node in nodes))
    return MoneyNode(
        entries=len(entries),
        spent_usd=str(total.spent_usd),
        reserved_usd=str(total.reserved_usd),
        cap_usd=str(cap.cap_usd) if cap else None,
        remaining_usd=str(cap.remaining_usd) if cap else None,
        seconds=str(seconds),
        head_seq=evidence.ledger.head.seq if entries else None,
        head_hash=evidence.ledger.head.hash if entries else None,
        by_phase=_groups(by_phase(entries)),
        by_flavor=_groups(by_flavor(entries)),
        by_status=_groups(by_status(entries)),
        by_purchase=_groups(by_purchase(entries)),
        bases=_bases(bases(entries)),
        caps=tuple(
            CapNode(
                seq=change.seq,
                time_utc=format_time(change.time_utc),
                cap=change.cap_name,
                before_usd=None if change.before_usd is None else str(change.before_usd),
                after_usd=str(change.after_usd),
                note=change.note,
            )
            for change in cap_history(entries)
        ),
        reservations=tuple(
            ReservationNode(
                seq=one.entry.seq,
                time_utc=format_time(one.entry.time_utc),
                job_id=one.entry.job_id,
                open_usd=str(one.open_usd),
            )
            for one in open_reservations(entries)
        ),
        burn_down=tuple(
            BurnNode(
                seq=point.seq,
                time_utc=format_time(point.time_utc),
                spent_usd=str(point.spent_usd),
                reserved_usd=str(point.reserved_usd),
                cap_usd=None if point.cap_usd is None else str(point.cap_usd),
            )
            for point in burn_down(entries)
        ),
        units={
            one.unit: UnitMoney(spent_usd=str(one.spent_usd), job_ids=one.job_ids, imported=one.imported)
            for one in unit_costs(entries)
        },
        reconciliation=_reconciliation(evidence, entries),
        per_unit_usd=None if per_unit is None else str(per_unit),
        per_conclusion_usd=None if per_conclusion is None else str(per_conclusion),
    )


def _groups(groups: Sequence[Group]) -> tuple[MoneyGroup, ...]:
    return tuple(
        MoneyGroup(
            name=group.name,
            spent_usd=str(group.spent_usd),
            floor_usd=str(group.floor_usd),
            seconds=str(group.seconds),
            bookings=group.bookings,
        )
        for group in groups
    )


def _bases(both: Bases) -> BasesNode:
    return BasesNode(
        quoted_usd=str(both.quoted_usd),
        floor_usd=str(both.floor_usd),
        wall_clock_usd=str(both.wall_clock_usd),
        wall_clock_bookings=both.wall_clock_bookings,
        sentence=str(both),
    )


def _reconciliation(evidence: Evidence, entries: Sequence[Entry]) -> tuple[str, ...]:
    """Units against rows of the ledger. The platform's list of jobs is no part of a study: `ledger reconcile` reads it."""
    booked = {unit for entry in entries for unit in entry.units if entry.kind in ("book", "import")}
    there = {str(unit) for unit in evidence.units}
    planned = {str(entry.unit) for entry in evidence.roster}
    sentences = [f"{unit} is there, and no row of the ledger names it" for unit in sorted(there - booked)]
    sentences += [
        f"the ledger names {unit}, which {'is not there' if unit in planned else 'the design does not plan'}"
        for unit in sorted(booked - there)
    ]
    return tuple(sentences)
