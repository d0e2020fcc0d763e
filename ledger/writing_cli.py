"""Commands that append a row without a job's price: cap, reserve, release, correct, import."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ledger.appending import append, moment
from ledger.book import Ledger
from ledger.cells import BASES, BOUGHT, STATUSES
from ledger.entries import Entry
from ledger.gate import within_caps
from ledger.money import parse_number, parse_usd
from ledger.reading_cli import STUDY
from ledger.reservations import find_reservation, release_row
from manifests.console import Outcome, reporting
from manifests.errors import BeforehandError

PHASE = click.option("--phase", default="", help="Phase of the study, such as P4.")
NOTE = click.option("--note", "remark", default="", help="One line of prose.")
TIME = click.option("--time", "time_text", default=None, metavar="UTC", help="When it happened, if not now.")
UNITS = click.option(
    "--unit", "units", multiple=True, help="A unit that the money serves; may be given twice."
)


def _named(_context: click.Context, _parameter: click.Parameter, text: str) -> str:
    """Somebody is named; a blank decides nothing."""
    if not text.strip():
        raise click.BadParameter("name whose decision it is")
    return text


@click.command("cap")
@STUDY
@click.option(
    "--amount",
    required=True,
    metavar="USD",
    help="The cap from now on; it replaces the earlier one of the same scope.",
)
@click.option("--by", "decided_by", required=True, callback=_named, help="Whose decision it is.")
@click.option("--scope", type=click.Choice(["study", "phase", "job"]), default="study", show_default=True)
@PHASE
@click.option("--job", "job_id", default="", help="With --scope job: this job; without it, each job.")
@NOTE
@TIME
@reporting
def cap(
    *,
    study: Path,
    amount: str,
    decided_by: str,
    scope: str,
    phase: str,
    job_id: str,
    remark: str,
    time_text: str | None,
) -> Outcome:
    """Set or raise a cap. The last cap of a scope holds; the earlier ones stay visible."""
    entry = Entry(
        seq=1,
        time_utc=moment(time_text),
        kind="cap",
        scope=scope,
        phase=phase,
        job_id=job_id,
        amount_usd=parse_usd(amount, where="--amount"),
        note=f"by {decided_by}: {remark}" if remark else f"by {decided_by}",
    )
    return append(study, lambda _: (entry,))


@click.command("reserve")
@STUDY
@click.option(
    "--high", required=True, metavar="USD", help="The high estimate of what is about to be launched."
)
@PHASE
@click.option("--job", "job_id", default="", help="The job id, where it is known already.")
@UNITS
@NOTE
@TIME
@reporting
def reserve(
    *,
    study: Path,
    high: str,
    phase: str,
    job_id: str,
    units: tuple[str, ...],
    remark: str,
    time_text: str | None,
) -> Outcome:
    """Set money aside before a launch. Refused, under the lock, when it would pass a cap."""
    entry = Entry(
        seq=1,
        time_utc=moment(time_text),
        kind="reserve",
        phase=phase,
        job_id=job_id,
        unit=" ".join(units),
        amount_usd=parse_usd(high, where="--high"),
        note=remark,
    )
    return append(study, lambda ledger: (within_caps(ledger.entries, entry),))


@click.command("release")
@STUDY
@click.option("--reservation", type=int, default=None, metavar="SEQ", help="The row that reserved the money.")
@click.option("--job", "job_id", default="", help="Or the job that it was reserved for.")
@click.option("--amount", metavar="USD", help="A part of it; default: all that is open.")
@NOTE
@TIME
@reporting
def release(
    *,
    study: Path,
    reservation: int | None,
    job_id: str,
    amount: str | None,
    remark: str,
    time_text: str | None,
) -> Outcome:
    """Give back money that was reserved and will not be spent."""
    part = None if amount is None else parse_usd(amount, where="--amount")
    template = Entry(seq=1, time_utc=moment(time_text), kind="release", note=remark)

    def plan(ledger: Ledger) -> Sequence[Entry]:
        return (
            release_row(
                find_reservation(ledger.entries, seq=reservation, job_id=job_id), template, amount_usd=part
            ),
        )

    return append(study, plan)


@click.command("correct")
@STUDY
@click.option("--row", "seq", type=int, required=True, metavar="SEQ", help="The booking to mend.")
@click.option(
    "--delta", default="0", show_default=True, metavar="USD", help="What to add to it; may be negative."
)
@click.option("--seconds", metavar="S", help="Seconds to add to it; may be negative.")
@click.option(
    "--basis", type=click.Choice(BASES), help="Whose seconds the delta comes from; default: as in the row."
)
@click.option(
    "--outcome", "status", type=click.Choice(STATUSES), help="How it ended, if the row says otherwise."
)
@click.option(
    "--bought", type=click.Choice(BOUGHT), multiple=True, help="What the money bought, as it is known now."
)
@PHASE
@click.option("--note", "remark", required=True, help="Why: one line.")
@TIME
@reporting
def correct(
    *,
    study: Path,
    seq: int,
    delta: str,
    seconds: str | None,
    basis: str | None,
    status: str | None,
    bought: tuple[str, ...],
    phase: str,
    remark: str,
    time_text: str | None,
) -> Outcome:
    """Mend a booking by a signed delta, or tag what its money bought. The old row stays."""
    when = moment(time_text)
    delta_usd = parse_usd(delta, where="--delta", signed=True)
    delta_s = None if seconds is None else parse_number(seconds, where="--seconds", unit="seconds")

    def plan(ledger: Ledger) -> Sequence[Entry]:
        row = next((entry for entry in ledger.entries if entry.seq == seq and entry.kind == "book"), None)
        if row is None:
            raise BeforehandError(
                f"row {seq} is not a booking", where="--row", mend="`ledger show --kind book` lists them"
            )
        said = " ".join((status or row.status, *bought)) if status or bought else ""
        entry = Entry(
            seq=1,
            time_utc=when,
            kind="correct",
            phase=phase or row.phase,
            job_id=row.job_id,
            attempt=row.attempt,
            unit=row.unit,
            flavor=row.flavor,
            seconds=delta_s,
            basis=basis or row.basis,
            amount_usd=delta_usd,
            outcome=said,
            corrects_seq=seq,
            note=remark,
        )
        return (entry,)

    return append(study, plan)


@click.command("import")
@STUDY
@click.option("--unit", "units", multiple=True, required=True, help="The unit; may be given twice.")
@click.option("--from", "source", required=True, help="Where the unit comes from: repository and revision.")
@PHASE
@TIME
@reporting
def import_unit(
    *, study: Path, units: tuple[str, ...], source: str, phase: str, time_text: str | None
) -> Outcome:
    """Say that a unit came from elsewhere and cost nothing here."""
    entry = Entry(
        seq=1,
        time_utc=moment(time_text),
        kind="import",
        phase=phase,
        unit=" ".join(units),
        note=f"from {source}",
    )
    return append(study, lambda _: (entry,))
