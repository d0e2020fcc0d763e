"""What rows may say: each kind's cells, one booking a job and attempt, references to rows that exist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from operator import attrgetter
from typing import cast

from ledger.entries import Entry
from ledger.money import ZERO, Billing, charge, plain, shown, stored
from manifests.errors import Finding

TIMED = ("seconds", "rate_usd_per_h", "rate_date", "billing")
_EMPTY_CELLS = {
    "cap": ("attempt", "unit", "flavor", *TIMED, "basis", "outcome", "corrects_seq"),
    "reserve": ("scope", "basis", "outcome", "corrects_seq"),
    "book": ("scope", "corrects_seq"),
    "release": ("scope", *TIMED, "basis", "outcome"),
    "correct": ("scope",),
    "import": ("scope", "job_id", "attempt", "flavor", *TIMED, "basis", "outcome", "corrects_seq"),
}
_FILLED_CELLS = {
    "cap": ("scope", "note"),
    "reserve": (),
    "book": ("job_id", "attempt", "basis", "outcome"),
    "release": ("corrects_seq",),
    "correct": ("corrects_seq", "basis", "note"),
    "import": ("unit", "note"),
}
_MAY_BE_BLANK = tuple(
    sorted(
        {
            column
            for cells in (_EMPTY_CELLS, _FILLED_CELLS)
            for columns in cells.values()
            for column in columns
        }
    )
)
_READ = attrgetter(*_MAY_BE_BLANK)


@dataclass(slots=True)
class Standing:
    """What the rows so far allow the next one to say. `check` asks, `add` takes a row in."""

    bookings: dict[tuple[str, int | None], int] = field(default_factory=dict)
    booked: dict[int, tuple[str, int | None, Decimal]] = field(default_factory=dict)
    reserved: dict[int, tuple[str, str, Decimal]] = field(default_factory=dict)
    seconds: dict[int, Decimal] = field(default_factory=dict)

    def copy(self) -> Standing:
        """The same standing, to try rows on."""
        return Standing(
            bookings=dict(self.bookings),
            booked=dict(self.booked),
            reserved=dict(self.reserved),
            seconds=dict(self.seconds),
        )

    def check(self, entry: Entry) -> tuple[Finding, ...]:
        """Everything that speaks against `entry` as the next row."""
        where = f"row {entry.seq}"
        return tuple(
            Finding(where=where, what=what)
            for what in (*_cell_problems(entry), *self._reference_problems(entry))
        )

    def add(self, entry: Entry) -> None:
        """`entry` counts from now on."""
        if entry.kind == "book":
            self.bookings.setdefault((entry.job_id, entry.attempt), entry.seq)
            self.booked[entry.seq] = (entry.job_id, entry.attempt, entry.amount_usd)
            self.seconds[entry.seq] = entry.seconds or ZERO
        elif entry.kind == "reserve":
            self.reserved[entry.seq] = (entry.phase, entry.job_id, entry.amount_usd)
        elif entry.kind == "release" and entry.corrects_seq in self.reserved:
            phase, job_id, open_usd = self.reserved.pop(entry.corrects_seq)
            if open_usd > entry.amount_usd:
                self.reserved[entry.corrects_seq] = (phase, job_id, open_usd - entry.amount_usd)
        elif entry.kind == "correct" and entry.corrects_seq in self.booked:
            job_id, attempt, amount = self.booked[entry.corrects_seq]
            self.booked[entry.corrects_seq] = (job_id, attempt, amount + entry.amount_usd)
            self.seconds[entry.corrects_seq] += entry.seconds or ZERO

    def _reference_problems(self, entry: Entry) -> list[str]:
        if entry.kind == "book":
            earlier = self.bookings.get((entry.job_id, entry.attempt))
            again = f"books job {entry.job_id}, attempt {entry.attempt} again: row {earlier} is its booking"
            return [] if earlier is None else [again]
        if entry.kind == "release":
            return self._release_problems(entry)
        return self._correction_problems(entry) if entry.kind == "correct" else []

    def _release_problems(self, entry: Entry) -> list[str]:
        named = entry.corrects_seq
        if named is None or named not in self.reserved:
            return [f"releases row {named}, which is not an open reservation"]
        phase, job_id, open_usd = self.reserved[named]
        if (phase, job_id) != (entry.phase, entry.job_id):
            return [f"releases row {named} under another phase or job than that row's"]
        if entry.amount_usd > open_usd:
            return [f"releases {stored(entry.amount_usd)} USD where {stored(open_usd)} are reserved"]
        return []

    def _correction_problems(self, entry: Entry) -> list[str]:
        named = entry.corrects_seq
        if named is None or named not in self.booked:
            return [f"corrects row {named}, which is not a booking"]
        job_id, attempt, amount = self.booked[named]
        if (job_id, attempt) != (entry.job_id, entry.attempt):
            return [f"corrects row {named} under another job or attempt than that row's"]
        if amount + entry.amount_usd < 0:
            return [f"would leave row {named} at {shown(amount + entry.amount_usd)} USD"]
        seconds = self.seconds[named] + (entry.seconds or ZERO)
        if seconds < 0:
            return [f"would leave row {named} at {plain(seconds)} seconds"]
        return []


def check_rules(entries: Sequence[Entry]) -> tuple[Finding, ...]:
    """All rows that say what no row may say."""
    standing = Standing()
    findings: list[Finding] = []
    for entry in entries:
        findings.extend(standing.check(entry))
        standing.add(entry)
    return tuple(findings)


def _cell_problems(entry: Entry) -> list[str]:
    blank = _blank_columns(entry)
    problems = [
        f"is a {entry.kind} and may not fill {column}"
        for column in _EMPTY_CELLS[entry.kind]
        if column not in blank
    ]
    problems += [
        f"is a {entry.kind} and must fill {column}" for column in _FILLED_CELLS[entry.kind] if column in blank
    ]
    if entry.amount_usd < 0 and entry.kind != "correct":
        problems.append(f"has a negative amount, {stored(entry.amount_usd)}; only a correction may")
    if entry.seconds is not None and entry.seconds < 0 and entry.kind != "correct":
        problems.append("has negative seconds; only a correction may")
    if entry.rate_usd_per_h is not None and entry.rate_usd_per_h < 0:
        problems.append("has a negative rate")
    if entry.kind == "cap":
        problems += _scope_problems(entry)
    if entry.kind == "import" and entry.amount_usd != ZERO:
        problems.append("imports a unit at a price; imported units cost nothing here")
    if entry.kind == "book":
        problems += _price_problems(entry)
    return problems


def _blank_columns(entry: Entry) -> frozenset[str]:
    return frozenset(
        column
        for column, value in zip(_MAY_BE_BLANK, _READ(entry), strict=True)
        if value is None or value == ""
    )


def _scope_problems(entry: Entry) -> list[str]:
    if entry.scope == "phase" and (not entry.phase or entry.job_id):
        return ["caps a phase and must name the phase and no job"]
    if entry.scope == "study" and (entry.phase or entry.job_id):
        return ["caps the study and may name neither a phase nor a job"]
    return []


def _price_problems(entry: Entry) -> list[str]:
    if entry.basis == "stated":
        return []
    if (
        not entry.flavor
        or entry.seconds is None
        or entry.rate_usd_per_h is None
        or not (entry.rate_date and entry.billing)
    ):
        missing = [column for column in ("flavor", *TIMED) if column in _blank_columns(entry)]
        return [f"is booked on the basis {entry.basis!r} and must fill {', '.join(missing)}"]
    due = charge(
        seconds=entry.seconds, rate_usd_per_h=entry.rate_usd_per_h, billing=cast("Billing", entry.billing)
    )
    if due != entry.amount_usd:
        return [
            f"has the amount {stored(entry.amount_usd)} where its seconds, rate and billing give {stored(due)}"
        ]
    return []
