"""Money set aside before a launch, until it is settled or released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from ledger.entries import Entry
from ledger.money import ZERO, shown
from manifests.errors import BeforehandError, Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A reserve row and what of it is still open."""

    entry: Entry
    open_usd: Decimal


def open_reservations(entries: Sequence[Entry]) -> tuple[Reservation, ...]:
    """Every reservation that was not given back whole, oldest first. One of 0 USD is open until its release row."""
    released: dict[int, Decimal] = {}
    for entry in entries:
        if entry.kind == "release" and entry.corrects_seq is not None:
            released[entry.corrects_seq] = released.get(entry.corrects_seq, ZERO) + entry.amount_usd
    return tuple(
        Reservation(entry=entry, open_usd=entry.amount_usd - released.get(entry.seq, ZERO))
        for entry in entries
        if entry.kind == "reserve" and (entry.seq not in released or released[entry.seq] < entry.amount_usd)
    )


def find_reservation(entries: Sequence[Entry], *, seq: int | None, job_id: str) -> Reservation:
    """The open reservation of that row, or the only one of that job."""
    candidates = open_reservations(entries)
    named = [
        each
        for each in candidates
        if each.entry.seq == seq or (seq is None and job_id and each.entry.job_id == job_id)
    ]
    if len(named) != 1:
        known = ", ".join(
            f"{each.entry.seq} ({each.open_usd} USD {each.entry.job_id or each.entry.unit})"
            for each in candidates
        )
        what = (
            f"row {seq} is not an open reservation"
            if seq is not None
            else f"{len(named)} open reservations name job {job_id!r}"
        )
        raise BeforehandError(
            what, where="--reservation", mend=f"name one of the open rows: {known or 'there is none'}"
        )
    return named[0]


def release_row(reservation: Reservation, template: Entry, *, amount_usd: Decimal | None = None) -> Entry:
    """The row that gives the reservation back, or a part of it; time and note are the template's, phase and job the reservation's."""
    given_back = reservation.open_usd if amount_usd is None else amount_usd
    reserved = reservation.entry
    return replace(
        template,
        kind="release",
        scope="",
        phase=reserved.phase,
        job_id=reserved.job_id,
        attempt=None,
        unit=reserved.unit,
        flavor="",
        seconds=None,
        rate_usd_per_h=None,
        rate_date=None,
        billing="",
        basis="",
        amount_usd=given_back,
        outcome="",
        corrects_seq=reserved.seq,
    )


def reservation_findings(entries: Sequence[Entry]) -> tuple[Finding, ...]:
    """Reservations for jobs that are booked already: a settling that was cut short, or a booking past its reservation."""
    booked = {entry.job_id: entry.seq for entry in entries if entry.kind == "book"}
    return tuple(
        Finding(
            where=f"row {each.entry.seq}",
            what=f"still reserves {shown(each.open_usd)} USD for job {each.entry.job_id}, which row {booked[each.entry.job_id]} books",
            mend=f"`ledger release --reservation {each.entry.seq}`, unless a further attempt is to come",
        )
        for each in open_reservations(entries)
        if each.entry.job_id in booked
    )
