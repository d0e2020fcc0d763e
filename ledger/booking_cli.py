"""Commands that book what a job cost: book, and settle for a job that money was reserved for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import click

from ledger.appending import append, moment
from ledger.book import Ledger
from ledger.cells import BASES, BILLINGS, BOUGHT, STATUSES
from ledger.entries import Entry
from ledger.prices import PriceOptions, price_of
from ledger.reading_cli import STUDY
from ledger.reservations import find_reservation, release_row
from ledger.writing_cli import NOTE, PHASE, TIME, UNITS
from manifests.console import Outcome, reporting

_OPTIONS = (
    click.option(
        "--job", "job_id", required=True, help="The platform's job id, or a name of your own for local work."
    ),
    click.option("--attempt", type=click.IntRange(min=1), default=1, show_default=True),
    click.option("--seconds", metavar="S", help="How long it ran."),
    click.option("--flavor", default="", help="The hardware's name, such as a100x4 or cpu-local."),
    click.option("--rate", metavar="USD", help="USD per hour; default: looked up in the dated rates."),
    click.option("--rate-date", metavar="DATE", help="The day of the rate; default: the day of the job."),
    click.option(
        "--rates",
        "rates_path",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="A file of rates of your own.",
    ),
    click.option(
        "--ports", "exposed_ports", is_flag=True, help="The job exposed ports, which has its price."
    ),
    click.option(
        "--billing",
        type=click.Choice(BILLINGS),
        help="minute: started minutes are billed whole. Default: as in the rates, else second.",
    ),
    click.option(
        "--basis",
        type=click.Choice(BASES),
        default="occupancy",
        show_default=True,
        help="Whose seconds these are.",
    ),
    click.option("--amount", metavar="USD", help="With --basis stated: the amount on the bill."),
    click.option("--outcome", "status", type=click.Choice(STATUSES), default="completed", show_default=True),
    click.option(
        "--bought",
        type=click.Choice(BOUGHT),
        multiple=True,
        help="What the money bought; may be given twice.",
    ),
    UNITS,
    PHASE,
    NOTE,
    TIME,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BookingOptions:
    """What both commands are told, as typed."""

    job_id: str
    attempt: int
    seconds: str | None
    flavor: str
    rate: str | None
    rate_date: str | None
    rates_path: Path | None
    exposed_ports: bool
    billing: str | None
    basis: str
    amount: str | None
    status: str
    bought: tuple[str, ...]
    units: tuple[str, ...]
    phase: str
    remark: str
    time_text: str | None

    def entry(self, when: datetime) -> Entry:
        """The booking."""
        price = price_of(
            PriceOptions(
                seconds=self.seconds,
                flavor=self.flavor,
                rate=self.rate,
                rate_date=self.rate_date,
                rates_path=self.rates_path,
                exposed_ports=self.exposed_ports,
                billing=self.billing,
                basis=self.basis,
                amount=self.amount,
            ),
            day=when.date(),
        )
        return Entry(
            seq=1,
            time_utc=when,
            kind="book",
            phase=self.phase,
            job_id=self.job_id,
            attempt=self.attempt,
            unit=" ".join(self.units),
            flavor=self.flavor,
            seconds=price.seconds,
            rate_usd_per_h=price.rate_usd_per_h,
            rate_date=price.rate_date,
            billing=price.billing,
            basis=self.basis,
            amount_usd=price.amount_usd,
            outcome=" ".join((self.status, *self.bought)),
            note=self.remark,
        )


def _booking_options(command: Callable[..., Outcome]) -> Callable[..., Outcome]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command("book")
@STUDY
@_booking_options
@reporting
def book(*, study: Path, **given: object) -> Outcome:
    """Book what a job cost. The same job and attempt is refused the second time."""
    options = BookingOptions(**given)  # type: ignore[arg-type] # click gives each option its type
    entry = options.entry(moment(options.time_text))
    return append(study, lambda _: (entry,))


@click.command("settle")
@STUDY
@click.option(
    "--reservation",
    type=int,
    default=None,
    metavar="SEQ",
    help="The row that reserved the money; default: the job's.",
)
@_booking_options
@reporting
def settle(*, study: Path, reservation: int | None, **given: object) -> Outcome:
    """Book what a job cost and release what was reserved for it, under one lock."""
    options = BookingOptions(**given)  # type: ignore[arg-type] # click gives each option its type
    when = moment(options.time_text)

    def plan(ledger: Ledger) -> Sequence[Entry]:
        reserved = find_reservation(ledger.entries, seq=reservation, job_id=options.job_id)
        booking = options.entry(when)
        booking = replace(
            booking, phase=booking.phase or reserved.entry.phase, unit=booking.unit or reserved.entry.unit
        )
        return booking, release_row(
            reserved, Entry(seq=1, time_utc=when, kind="release", note=f"settled by job {options.job_id}")
        )

    return append(study, plan)
