"""The ledger against the platform's jobs and the study's units: what is missing on either side, and what differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from ledger.entries import Entry
from ledger.jobs import JobRecord
from ledger.money import ZERO, shown, stored
from ledger.totals import PLATFORM_BASES, effective_outcomes
from manifests.errors import Finding

LOCAL_FLAVORS = ("local", "cpu-local", "gpu-local")
"""Flavors of work on one's own machine; no platform lists their jobs."""
SLACK_S = 60
"""A wall clock may pass the booked seconds by this much: starting and stopping take time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """What the comparison found, what can be appended, and the sums of its statement."""

    findings: tuple[Finding, ...]
    missing: tuple[JobRecord, ...]
    live: tuple[JobRecord, ...]
    jobs: int
    platform_usd: Decimal
    wall_clock_usd: Decimal
    unlisted_usd: Decimal
    ledger_usd: Decimal

    def __str__(self) -> str:
        """The statement: where the ledger's total comes from."""
        return (
            f"{self.jobs} jobs, {len(self.missing)} missing from the ledger, {len(self.live)} still running; "
            f"platform's seconds and bills {shown(self.platform_usd)} USD + wall clock {shown(self.wall_clock_usd)} USD "
            f"+ rows without a listed job {shown(self.unlisted_usd)} USD = ledger {shown(self.ledger_usd)} USD"
        )


def reconcile(
    entries: Sequence[Entry], jobs: Sequence[JobRecord], *, units: Sequence[str] | None = None
) -> Reconciliation:
    """Compare. units: the unit ids that the study holds; None leaves the units out."""
    money = [entry for entry in entries if entry.kind in ("book", "correct")]
    listed = {job.job_id for job in jobs}
    booked = {entry.job_id for entry in money}
    ended = [job for job in jobs if job.is_terminal]
    missing = tuple(job for job in ended if job.job_id not in booked)
    findings = [
        *(_missing_finding(job, entries) for job in missing),
        *_rows_without_job(money, listed),
        *(finding for job in ended if job.job_id in booked for finding in _differences(job, entries)),
        *_running_totals(jobs, entries),
        *(_unit_findings(entries, units) if units is not None else ()),
    ]
    in_jobs = [entry for entry in money if entry.job_id in listed]
    platform = sum((entry.amount_usd for entry in in_jobs if entry.basis in PLATFORM_BASES), ZERO)
    total = sum((entry.amount_usd for entry in money), ZERO)
    wall_clock = sum((entry.amount_usd for entry in in_jobs if entry.basis not in PLATFORM_BASES), ZERO)
    return Reconciliation(
        findings=tuple(findings),
        missing=missing,
        live=tuple(job for job in jobs if not job.is_terminal),
        jobs=len(jobs),
        platform_usd=platform,
        wall_clock_usd=wall_clock,
        unlisted_usd=total - platform - wall_clock,
        ledger_usd=total,
    )


def _missing_finding(job: JobRecord, entries: Sequence[Entry]) -> Finding:
    where = f"job {job.job_id}"
    reserved = [entry.seq for entry in entries if entry.kind == "reserve" and entry.job_id == job.job_id]
    held = f"; row {reserved[0]} reserves money for it" if reserved else ""
    if job.running_s is not None:
        return Finding(
            where=where,
            what=f"{job.stage}, {job.running_s} s on {job.flavor}: not in the ledger{held}",
            mend="--append books it",
        )
    if job.wall_clock_s is not None:
        what = f"{job.stage} without durations, {job.wall_clock_s} s from start to finish on {job.flavor}: not in the ledger{held}"
        return Finding(where=where, what=what, mend="--append books it on the wall clock")
    what = f"{job.stage} without durations on {job.flavor}: its cost is unknown, which is not zero; not in the ledger{held}"
    return Finding(
        where=where, what=what, mend="book the time that you saw it run: `ledger book --basis occupancy`"
    )


def _rows_without_job(money: Sequence[Entry], listed: set[str]) -> Iterator[Finding]:
    for entry in money:
        if entry.kind == "book" and entry.job_id not in listed and entry.flavor not in LOCAL_FLAVORS:
            what = f"books job {entry.job_id}, which the platform's list does not hold"
            yield Finding(where=f"row {entry.seq}", what=what, mend="check the id, or get the whole list")


def _differences(job: JobRecord, entries: Sequence[Entry]) -> Iterator[Finding]:
    rows = [entry for entry in entries if entry.job_id == job.job_id and entry.kind in ("book", "correct")]
    where = f"job {job.job_id}"
    flavors = {entry.flavor for entry in rows if entry.kind == "book" and entry.flavor}
    if job.flavor and flavors - {job.flavor}:
        yield Finding(where=where, what=f"ran on {job.flavor}, booked on {', '.join(sorted(flavors))}")
    outcomes = effective_outcomes(entries)
    last = [outcomes[row.seq].partition(" ")[0] for row in rows if row.kind == "book"][-1]
    if job.status and last != job.status:
        yield Finding(
            where=where, what=f"ended {job.stage}, booked as {last}", mend="`ledger correct --outcome`"
        )
    yield from _duration_differences(job, rows, where=where)
    spent = sum((row.amount_usd for row in rows), ZERO)
    if job.stated_usd is not None and spent != job.stated_usd:
        yield Finding(
            where=where,
            what=f"cost {stored(job.stated_usd)} USD by the platform's statement, booked {stored(spent)} USD",
        )


def _duration_differences(job: JobRecord, rows: Sequence[Entry], *, where: str) -> Iterator[Finding]:
    """Attempts of one job add up: the platform reports one duration a job."""
    timed = [row for row in rows if row.seconds is not None]
    running = sum((row.seconds or ZERO for row in timed if row.basis == "running"), Decimal(0))
    everything = sum((row.seconds or ZERO for row in timed), Decimal(0))
    if job.stage == "CANCELED" and job.wall_clock_s is not None and everything < job.wall_clock_s - SLACK_S:
        what = f"was occupied for {job.wall_clock_s:f} s from start to finish, {everything:f} s are booked; a canceled job's seconds are a floor"
        yield Finding(where=where, what=what, mend="`ledger correct --basis occupancy` books the rest")
    by_platform = [row for row in timed if row.kind == "book" and row.basis == "running"]
    if job.running_s is None:
        if by_platform and job.billed_minutes is None:
            yield Finding(
                where=where,
                what=f"reports no duration, booked with {running:f} s as the platform's",
                mend="book it on the basis occupancy",
            )
    elif by_platform and running != job.running_s:
        yield Finding(
            where=where,
            what=f"ran {job.running_s:f} s, booked {running:f} s",
            mend="`ledger correct` mends it",
        )
    elif not by_platform and timed and everything < job.running_s:
        what = f"ran {job.running_s:f} s, but only {everything:f} s of wall clock are booked"
        yield Finding(where=where, what=what, mend="the wall clock is never shorter: `ledger correct`")


def _running_totals(jobs: Sequence[JobRecord], entries: Sequence[Entry]) -> Iterator[Finding]:
    """A table of charges that states running totals: each must be what the ledger spent and reserved so far."""
    signs = {"book": 1, "correct": 1, "reserve": 1, "release": -1}
    so_far = ZERO
    for job in jobs:
        so_far += sum(
            (entry.amount_usd * signs.get(entry.kind, 0) for entry in entries if entry.job_id == job.job_id),
            ZERO,
        )
        if job.stated_total_usd is not None and so_far != job.stated_total_usd:
            what = f"its running total is stated as {stored(job.stated_total_usd)} USD, the ledger has {stored(so_far)} USD"
            yield Finding(where=f"job {job.job_id}", what=what)


def _unit_findings(entries: Sequence[Entry], units: Sequence[str]) -> Iterator[Finding]:
    paid = {unit for entry in entries if entry.kind in ("book", "correct", "import") for unit in entry.units}
    for unit in sorted(set(units) - paid):
        yield Finding(
            where=f"unit {unit}", what="has no row in the ledger", mend="book its job, or `ledger import` it"
        )
    outcomes = effective_outcomes(entries)
    for entry in entries:
        claims = entry.kind == "import" or (
            entry.kind == "book" and outcomes[entry.seq].startswith("completed")
        )
        for unit in entry.units if claims else ():
            if unit not in units:
                yield Finding(
                    where=f"row {entry.seq}",
                    what=f"pays for unit {unit}, which the study does not hold",
                    mend="import the unit, or tag the row",
                )
