"""What is spent, what is reserved, what is left of every cap."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from ledger.entries import Entry
from ledger.money import ZERO


@dataclass(frozen=True, slots=True, kw_only=True)
class CapStanding:
    """A cap in force and the money that counts against it."""

    scope: str
    phase: str
    job_id: str
    cap_usd: Decimal
    seq: int
    spent_usd: Decimal
    reserved_usd: Decimal

    @property
    def remaining_usd(self) -> Decimal:
        """What may still be committed; negative when the cap is passed."""
        return self.cap_usd - self.spent_usd - self.reserved_usd

    @property
    def name(self) -> str:
        """The scope in words: `study`, `phase P4`, `each job`, `each job of phase P4`, `job 6a8d7e7a`."""
        if self.scope == "study":
            return "study"
        if self.scope == "phase":
            return f"phase {self.phase}"
        if self.job_id:
            return f"job {self.job_id}"
        return f"each job of phase {self.phase}" if self.phase else "each job"


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """spent = book + correct; reserved = reserve - release; caps: the last one of each scope."""

    spent_usd: Decimal
    reserved_usd: Decimal
    caps: tuple[CapStanding, ...]

    @property
    def study_cap(self) -> CapStanding | None:
        """The cap of the whole study, None where nobody set one."""
        return next((cap for cap in self.caps if cap.scope == "study"), None)

    @property
    def cap_usd(self) -> Decimal | None:
        """Its amount."""
        return self.study_cap.cap_usd if self.study_cap else None

    @property
    def remaining_usd(self) -> Decimal | None:
        """What the study may still commit, None without a cap."""
        return self.study_cap.remaining_usd if self.study_cap else None


@dataclass(frozen=True, slots=True)
class Committed:
    """Money gone and money promised."""

    spent_usd: Decimal
    reserved_usd: Decimal


def balance(entries: Sequence[Entry]) -> Balance:
    """The balance after these rows; a sum, so the order matters only for which cap is the last."""
    total = committed(entries)
    last_caps: dict[tuple[str, str, str], Entry] = {}
    for entry in entries:
        if entry.kind == "cap":
            last_caps[entry.scope, entry.phase, entry.job_id] = entry
    caps = tuple(_standing(cap, entries) for _, cap in sorted(last_caps.items(), key=_cap_order))
    return Balance(spent_usd=total.spent_usd, reserved_usd=total.reserved_usd, caps=caps)


def committed(entries: Iterable[Entry]) -> Committed:
    """Sums over these rows."""
    spent = reserved = ZERO
    for entry in entries:
        if entry.kind in ("book", "correct"):
            spent += entry.amount_usd
        elif entry.kind == "reserve":
            reserved += entry.amount_usd
        elif entry.kind == "release":
            reserved -= entry.amount_usd
    return Committed(spent, reserved)


def _cap_order(pair: tuple[tuple[str, str, str], Entry]) -> tuple[int, str, str]:
    (scope, phase, job_id), _ = pair
    return ("study", "phase", "job").index(scope), phase, job_id


def _standing(cap: Entry, entries: Sequence[Entry]) -> CapStanding:
    """A ceiling for each job is held against the dearest job."""
    if cap.scope == "study":
        counted = committed(entries)
    elif cap.scope == "phase":
        counted = committed(entry for entry in entries if entry.phase == cap.phase)
    elif cap.job_id:
        counted = committed(entry for entry in entries if entry.job_id == cap.job_id)
    else:
        counted = _dearest_job(entries, cap)
    return CapStanding(
        scope=cap.scope,
        phase=cap.phase,
        job_id=cap.job_id,
        cap_usd=cap.amount_usd,
        seq=cap.seq,
        spent_usd=counted.spent_usd,
        reserved_usd=counted.reserved_usd,
    )


def _dearest_job(entries: Sequence[Entry], cap: Entry) -> Committed:
    own_ceiling = {entry.job_id for entry in entries if entry.kind == "cap" and entry.job_id}
    jobs: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if (
            entry.kind != "cap"
            and entry.job_id
            and entry.job_id not in own_ceiling
            and cap.phase in ("", entry.phase)
        ):
            jobs[entry.job_id].append(entry)
    sums = (committed(rows) for rows in jobs.values())
    return max(sums, key=lambda job: job.spent_usd + job.reserved_usd, default=Committed(ZERO, ZERO))
