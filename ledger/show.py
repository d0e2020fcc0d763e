"""The ledger as a table that a person reads: filtered rows, a running total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from ledger.entries import Entry
from ledger.money import ZERO, shown
from ledger.totals import cap_name

COLUMNS = (
    "row",
    "date",
    "kind",
    "phase",
    "job or unit",
    "flavor",
    "hours",
    "USD",
    "spent",
    "basis",
    "outcome",
    "note",
)
NUMERIC = ("row", "hours", "USD", "spent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which rows to show; an empty condition lets all through."""

    kinds: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    flavors: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()

    def takes(self, entry: Entry) -> bool:
        """True where the row fits every condition; jobs may be given by their first characters."""
        return (
            (not self.kinds or entry.kind in self.kinds)
            and (not self.phases or entry.phase in self.phases)
            and (not self.flavors or entry.flavor in self.flavors)
            and (not self.jobs or entry.job_id.startswith(self.jobs))
            and (not self.units or bool(set(self.units) & set(entry.units)))
            and (not self.statuses or entry.status in self.statuses)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRow:
    """A row and what was spent, among the rows shown, up to it."""

    entry: Entry
    running_usd: Decimal


def select(entries: Sequence[Entry], condition: Filter) -> tuple[ShownRow, ...]:
    """The rows that fit, each with the running total of those."""
    rows: list[ShownRow] = []
    running = ZERO
    for entry in entries:
        if condition.takes(entry):
            running += entry.amount_usd if entry.kind in ("book", "correct") else ZERO
            rows.append(ShownRow(entry=entry, running_usd=running))
    return tuple(rows)


def cells(row: ShownRow) -> tuple[str, ...]:
    """The row in the order of COLUMNS."""
    entry = row.entry
    job = f"{entry.job_id}#{entry.attempt}" if entry.attempt and entry.attempt > 1 else entry.job_id
    kind = f"cap of {cap_name(entry)}" if entry.kind == "cap" else entry.kind
    return (
        str(entry.seq),
        entry.time_utc.date().isoformat(),
        f"{kind} {entry.corrects_seq}" if entry.corrects_seq else kind,
        entry.phase,
        job or entry.unit,
        entry.flavor,
        "" if entry.seconds is None else f"{entry.seconds / 3600:.3f}",
        shown(entry.amount_usd),
        shown(row.running_usd),
        entry.basis,
        entry.outcome,
        entry.note,
    )
