"""What the money was spent on, and on which basis: pure sums for reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from ledger.budget import CapStanding
from ledger.entries import Entry
from ledger.money import MICRO, ZERO, shown

UNTAGGED = "untagged"
NO_NAME = "(none)"
PLATFORM_BASES = ("running", "stated")
"""What the platform itself reports or bills; wall clock is ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The bookings of one phase, flavor, status or purchase."""

    name: str
    spent_usd: Decimal
    floor_usd: Decimal
    seconds: Decimal
    bookings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bases:
    """Both bases side by side. quoted = floor + what only the wall clock knows."""

    quoted_usd: Decimal
    floor_usd: Decimal
    wall_clock_bookings: int

    @property
    def wall_clock_usd(self) -> Decimal:
        """What the platform reports no seconds for: mostly cancelled jobs."""
        return self.quoted_usd - self.floor_usd

    def __str__(self) -> str:
        """Which basis is quoted, and why."""
        return (
            f"Quoted: {shown(self.quoted_usd)} USD, occupancy x rate including aborted work. "
            f"The platform's own running seconds and bills give {shown(self.floor_usd)} USD; this is a floor, because "
            f"canceled jobs report no duration. {shown(self.wall_clock_usd)} USD, of {self.wall_clock_bookings} "
            f"booking{'' if self.wall_clock_bookings == 1 else 's'}, rest on the wall clock."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitCost:
    """What one unit cost, with the jobs that served it."""

    unit: str
    spent_usd: Decimal
    job_ids: tuple[str, ...]
    imported: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CapChange:
    """A cap set or changed, by whom and when."""

    seq: int
    time_utc: datetime
    cap_name: str
    before_usd: Decimal | None
    after_usd: Decimal
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnPoint:
    """The study after one row: for a curve of money over time."""

    seq: int
    time_utc: datetime
    spent_usd: Decimal
    reserved_usd: Decimal
    cap_usd: Decimal | None


def by_phase(entries: Sequence[Entry]) -> tuple[Group, ...]:
    """Totals of each phase. A correction counts in the phase that it names."""
    return _grouped(entries, lambda entry: entry.phase or NO_NAME)


def by_flavor(entries: Sequence[Entry]) -> tuple[Group, ...]:
    """Totals of each kind of hardware."""
    return _grouped(entries, lambda entry: entry.flavor or NO_NAME)


def by_status(entries: Sequence[Entry]) -> tuple[Group, ...]:
    """Totals of completed, failed and canceled jobs, each with its corrections, as last said."""
    outcomes = effective_outcomes(entries)
    return _grouped(entries, lambda entry: outcomes[_booking_seq(entry)].partition(" ")[0])


def by_purchase(entries: Sequence[Entry]) -> tuple[Group, ...]:
    """Totals of what the money bought, as tagged. Several tags of one row stay together, so nothing counts twice."""
    outcomes = effective_outcomes(entries)
    return _grouped(
        entries, lambda entry: " + ".join(outcomes[_booking_seq(entry)].split(" ")[1:]) or UNTAGGED
    )


def effective_outcomes(entries: Sequence[Entry]) -> dict[int, str]:
    """Booking's seq -> its outcome as the last row about it says."""
    outcomes: dict[int, str] = {}
    for entry in entries:
        if entry.kind == "book" or (entry.kind == "correct" and entry.outcome):
            outcomes[_booking_seq(entry)] = entry.outcome
    return outcomes


def bases(entries: Sequence[Entry]) -> Bases:
    """The quoted total and the platform's floor."""
    money = _money_rows(entries)
    floor = sum((entry.amount_usd for entry in money if entry.basis in PLATFORM_BASES), ZERO)
    wall_clock = {
        _booking_seq(entry) for entry in money if entry.basis not in PLATFORM_BASES and entry.amount_usd != 0
    }
    return Bases(
        quoted_usd=sum((entry.amount_usd for entry in money), ZERO),
        floor_usd=floor,
        wall_clock_bookings=len(wall_clock),
    )


def unit_costs(entries: Sequence[Entry]) -> tuple[UnitCost, ...]:
    """What each unit cost. A job that serves several is split evenly; its last millionths go to the first."""
    spent: dict[str, Decimal] = {}
    jobs: dict[str, list[str]] = {}
    imported = {unit for entry in entries if entry.kind == "import" for unit in entry.units}
    for entry in _money_rows(entries):
        for unit, share in zip(entry.units, _shares(entry.amount_usd, len(entry.units)), strict=True):
            spent[unit] = spent.get(unit, ZERO) + share
            if entry.job_id not in jobs.setdefault(unit, []):
                jobs[unit].append(entry.job_id)
    return tuple(
        UnitCost(
            unit=unit,
            spent_usd=spent.get(unit, ZERO),
            job_ids=tuple(jobs.get(unit, ())),
            imported=unit in imported,
        )
        for unit in sorted(set(spent) | imported)
    )


def cost_per(spent_usd: Decimal, count: int) -> Decimal | None:
    """Cost of one of `count` solved problems, units or conclusions; None where there is none: not estimable, not 0."""
    return (spent_usd / count).quantize(MICRO) if count > 0 else None


def cap_history(entries: Sequence[Entry]) -> tuple[CapChange, ...]:
    """Every cap, in the order of the ledger, with the one that it replaced."""
    last: dict[tuple[str, str, str], Decimal] = {}
    changes: list[CapChange] = []
    for entry in entries:
        if entry.kind == "cap":
            key = (entry.scope, entry.phase, entry.job_id)
            changes.append(
                CapChange(
                    seq=entry.seq,
                    time_utc=entry.time_utc,
                    cap_name=cap_name(entry),
                    before_usd=last.get(key),
                    after_usd=entry.amount_usd,
                    note=entry.note,
                )
            )
            last[key] = entry.amount_usd
    return tuple(changes)


def cap_name(entry: Entry) -> str:
    """The scope of a cap row in words."""
    standing = CapStanding(
        scope=entry.scope,
        phase=entry.phase,
        job_id=entry.job_id,
        cap_usd=entry.amount_usd,
        seq=entry.seq,
        spent_usd=ZERO,
        reserved_usd=ZERO,
    )
    return standing.name


def burn_down(entries: Sequence[Entry]) -> tuple[BurnPoint, ...]:
    """Spent, reserved and the study's cap after every row, in the order of the ledger."""
    spent = reserved = ZERO
    cap: Decimal | None = None
    points: list[BurnPoint] = []
    for entry in entries:
        if entry.kind in ("book", "correct"):
            spent += entry.amount_usd
        elif entry.kind == "reserve":
            reserved += entry.amount_usd
        elif entry.kind == "release":
            reserved -= entry.amount_usd
        elif entry.kind == "cap" and entry.scope == "study":
            cap = entry.amount_usd
        points.append(
            BurnPoint(
                seq=entry.seq, time_utc=entry.time_utc, spent_usd=spent, reserved_usd=reserved, cap_usd=cap
            )
        )
    return tuple(points)


def _money_rows(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    return tuple(entry for entry in entries if entry.kind in ("book", "correct"))


def _booking_seq(entry: Entry) -> int:
    return entry.seq if entry.corrects_seq is None else entry.corrects_seq


def _grouped(entries: Sequence[Entry], name_of: Callable[[Entry], str]) -> tuple[Group, ...]:
    groups: dict[str, list[Entry]] = {}
    for entry in _money_rows(entries):
        groups.setdefault(name_of(entry), []).append(entry)
    return tuple(
        Group(
            name=name,
            spent_usd=sum((row.amount_usd for row in rows), ZERO),
            floor_usd=sum((row.amount_usd for row in rows if row.basis in PLATFORM_BASES), ZERO),
            seconds=sum((row.seconds or Decimal(0) for row in rows), Decimal(0)),
            bookings=sum(row.kind == "book" for row in rows),
        )
        for name, rows in sorted(groups.items())
    )


def _shares(amount_usd: Decimal, parts: int) -> tuple[Decimal, ...]:
    if parts == 0:
        return ()
    share = (amount_usd / parts).quantize(MICRO)
    return (amount_usd - share * (parts - 1), *([share] * (parts - 1)))
