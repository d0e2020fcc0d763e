"""Commands that append rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import cast

import click

from ledger import budget
from ledger.book import Book, Plan, read_ledger
from ledger.cells import BASES, BILLINGS, BOUGHT, STATUSES
from ledger.entries import Entry, parse_time
from ledger.money import Billing, charge, parse_number, parse_seconds, parse_usd
from ledger.place import find_ledger
from ledger.reading_cli import STUDY
from ledger.render import balance_document, entry_document, written_text
from manifests.console import Outcome, note, reporting
from manifests.errors import BeforehandError

PHASE = click.option("--phase", default="", help="Phase of the study, such as P4.")
NOTE = click.option("--note", "remark", default="", help="One line of prose.")
TIME = click.option("--time", "time_text", default=None, metavar="UTC", help="When it happened, if not now.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The cells that say what a stretch of time cost."""

    seconds: Decimal | None
    rate_usd_per_h: Decimal | None
    rate_date: date | None
    billing: str
    amount_usd: Decimal


@click.command("cap")
@STUDY
@click.option(
    "--amount",
    required=True,
    metavar="USD",
    help="The cap from now on; it replaces the earlier one of the same scope.",
)
@click.option("--by", "decided_by", required=True, help="Whose decision it is.")
@click.option("--scope", type=click.Choice(["study", "phase", "job"]), default="study", show_default=True)
@PHASE
@click.option("--job", "job_id", default="", help="With --scope job: this job; without it, each job.")
@NOTE
@TIME
@reporting
def cap(
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


@click.command("book")
@STUDY
@click.option(
    "--job", "job_id", required=True, help="The platform's job id, or a name of your own for local work."
)
@click.option("--attempt", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--seconds", metavar="S", help="How long it ran.")
@click.option("--flavor", default="", help="The hardware's name, such as a100x4 or cpu-local.")
@click.option("--rate", metavar="USD", help="USD per hour.")
@click.option(
    "--rate-date", metavar="DATE", help="The day that the rate was read; default: the day of the job."
)
@click.option(
    "--billing",
    type=click.Choice(BILLINGS),
    default="second",
    show_default=True,
    help="minute: started minutes are billed whole.",
)
@click.option(
    "--basis",
    type=click.Choice(BASES),
    default="occupancy",
    show_default=True,
    help="Whose seconds these are.",
)
@click.option("--amount", metavar="USD", help="With --basis stated: the amount on the bill.")
@click.option("--outcome", "status", type=click.Choice(STATUSES), default="completed", show_default=True)
@click.option(
    "--bought", type=click.Choice(BOUGHT), multiple=True, help="What the money bought; may be given twice."
)
@click.option("--unit", "units", multiple=True, help="A unit that the job serves; may be given twice.")
@PHASE
@NOTE
@TIME
@reporting
def book(
    *,
    study: Path,
    job_id: str,
    attempt: int,
    seconds: str | None,
    flavor: str,
    rate: str | None,
    rate_date: str | None,
    billing: str,
    basis: str,
    amount: str | None,
    status: str,
    bought: tuple[str, ...],
    units: tuple[str, ...],
    phase: str,
    remark: str,
    time_text: str | None,
) -> Outcome:
    """Book what a job cost. The same job and attempt is refused the second time."""
    when = moment(time_text)
    price = price_of(
        seconds=seconds,
        rate=rate,
        rate_date=rate_date,
        billing=billing,
        basis=basis,
        amount=amount,
        when=when,
    )
    entry = Entry(
        seq=1,
        time_utc=when,
        kind="book",
        phase=phase,
        job_id=job_id,
        attempt=attempt,
        unit=" ".join(units),
        flavor=flavor,
        seconds=price.seconds,
        rate_usd_per_h=price.rate_usd_per_h,
        rate_date=price.rate_date,
        billing=price.billing,
        basis=basis,
        amount_usd=price.amount_usd,
        outcome=" ".join((status, *bought)),
        note=remark,
    )
    return append(study, lambda _: (entry,))


def moment(text: str | None) -> datetime:
    """The time given, which may not lie in the future, or now."""
    now = datetime.now(UTC).replace(microsecond=0)
    given = now if text is None else parse_time(text, where="--time")
    if given > now:
        raise BeforehandError(f"{text!r} lies in the future", where="--time", mend="leave it out for now")
    return given


def append(study: Path, plan: Plan) -> Outcome:
    """Append the planned rows and say what stands now."""
    place = find_ledger(study)
    book = Book(place.path, study_name=place.study_name)
    rows = book.append_planned(plan)
    if book.dropped_bytes:
        note(f"dropped a torn tail of {book.dropped_bytes} bytes that a killed command had left")
    ledger = read_ledger(place.path, study_name=place.study_name)
    standing = budget.balance(ledger.entries)
    return Outcome(
        text=written_text(rows, standing),
        document={
            "rows": [entry_document(row) for row in rows],
            "balance": balance_document(standing, ledger.head),
        },
    )


def price_of(
    *,
    seconds: str | None,
    rate: str | None,
    rate_date: str | None,
    billing: str,
    basis: str,
    amount: str | None,
    when: datetime,
) -> Price:
    """Seconds x rate, or the amount on the bill; anything between is refused."""
    duration = None if seconds is None else parse_seconds(seconds, where="--seconds")
    if basis == "stated":
        if amount is None:
            raise BeforehandError(
                "is missing", where="--amount", mend="with --basis stated give the amount on the bill"
            )
        return Price(
            seconds=duration,
            rate_usd_per_h=None,
            rate_date=None,
            billing="",
            amount_usd=parse_usd(amount, where="--amount"),
        )
    if amount is not None:
        raise BeforehandError(
            "is given although the amount follows from seconds and rate",
            where="--amount",
            mend="add --basis stated or leave it out",
        )
    if duration is None or rate is None:
        raise BeforehandError(
            "is missing",
            where="--seconds" if duration is None else "--rate",
            mend="give seconds and rate, or --basis stated and --amount",
        )
    usd_per_h = parse_number(rate, where="--rate", unit="USD per hour")
    return Price(
        seconds=duration,
        rate_usd_per_h=usd_per_h,
        rate_date=when.date() if rate_date is None else _day(rate_date),
        billing=billing,
        amount_usd=charge(seconds=duration, rate_usd_per_h=usd_per_h, billing=cast("Billing", billing)),
    )


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as err:
        raise BeforehandError(
            f"{text!r} is not a date", where="--rate-date", mend="write it as 2026-08-22"
        ) from err
