"""The time of a stage in the ledger: reserved before it starts, booked when it ends, however it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import ROUND_UP, Decimal

from ledger.book import Book, Ledger, read_ledger
from ledger.entries import Entry
from ledger.gate import within_caps
from ledger.money import ZERO, charge
from ledger.prices import priced
from ledger.reservations import open_reservations, release_row
from manifests.names import UnitId
from manifests.study import Study
from pipeline.run_settings import Booking

SECONDS = Decimal("0.001")


def job_id(unit: UnitId, stage: str) -> str:
    """The name under which a stage of a unit is booked; a further start of it is a further attempt."""
    return f"run:{unit}:{stage}"


class StageBooks:
    """The ledger's rows of one stage of one unit."""

    def __init__(self, study: Study, booking: Booking, unit: UnitId, stage: str) -> None:
        self._book = Book(study.ledger_path, study_name=study.config.name)
        self._booking = booking
        self._unit = unit
        self.job_id = job_id(unit, stage)

    def reserve(self, *, high_s: Decimal) -> None:
        """Money for `high_s` is set aside, if every cap allows it. Raises OverCapError (exit 1) with the caps in the way."""
        rate = self._booking.rate_usd_per_h
        high_usd = charge(seconds=high_s.quantize(SECONDS, ROUND_UP), rate_usd_per_h=rate, billing="second")

        def plan(ledger: Ledger) -> Sequence[Entry]:
            entry = self._row(
                "reserve",
                amount_usd=high_usd,
                note=f"up to {high_s:.0f} s at {rate:f} USD an hour, every row at its cap",
            )
            return (within_caps(ledger.entries, entry),)

        self._book.append_planned(plan)

    def settle(self, *, seconds: Decimal, status: str, note: str = "") -> None:
        """The seconds are booked, and what was reserved is given back. status: completed, failed or canceled."""

        def plan(ledger: Ledger) -> Sequence[Entry]:
            price = priced(
                seconds.quantize(SECONDS),
                self._booking.rate_usd_per_h,
                rate_date=datetime.now(UTC).date(),
                billing="second",
            )
            attempts = [
                one.attempt or 0 for one in ledger.entries if one.kind == "book" and one.job_id == self.job_id
            ]
            booked = replace(
                self._row("book", amount_usd=price.amount_usd, note=note),
                attempt=max(attempts, default=0) + 1,
                flavor=self._booking.flavor,
                seconds=price.seconds,
                rate_usd_per_h=price.rate_usd_per_h,
                rate_date=price.rate_date,
                billing=price.billing,
                basis="occupancy",
                outcome=f"{status} unit" if status == "completed" else f"{status} nothing",
            )
            reserved = [one for one in open_reservations(ledger.entries) if one.entry.job_id == self.job_id]
            released = [
                release_row(one, self._row("release", amount_usd=ZERO, note="settled")) for one in reserved
            ]
            return (booked, *released)

        self._book.append_planned(plan)

    def settle_orphan(self, last_write: datetime | None) -> bool:
        """Where an earlier start was killed before it could settle, its time up to its last write is booked. True if there was one."""
        there = read_ledger(self._book.path, study_name=self._book.study_name)
        reserved = [one.entry for one in open_reservations(there.entries) if one.entry.job_id == self.job_id]
        if not reserved:
            return False
        lived = (last_write - reserved[0].time_utc).total_seconds() if last_write else 0.0
        self.settle(
            seconds=Decimal(max(0.0, lived)),
            status="failed",
            note="killed without a word; the seconds run from the reservation to its last write",
        )
        return True

    def _row(self, kind: str, *, amount_usd: Decimal, note: str) -> Entry:
        return Entry(
            seq=1,
            time_utc=datetime.now(UTC).replace(microsecond=0),
            kind=kind,
            phase=self._booking.phase,
            job_id=self.job_id,
            unit=str(self._unit),
            amount_usd=amount_usd,
            note=note,
        )
