"""From what a person knows of a job to the cells that price it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ledger.money import Billing, charge, parse_number, parse_seconds, parse_usd
from manifests.errors import BeforehandError

if TYPE_CHECKING:
    from ledger.rates import RateTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The cells of a row that say what a stretch of time cost."""

    seconds: Decimal | None
    rate_usd_per_h: Decimal | None
    rate_date: date | None
    billing: str
    amount_usd: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceOptions:
    """What the command line was told, as typed."""

    seconds: str | None
    flavor: str
    rate: str | None
    rate_date: str | None
    rates_path: Path | None
    exposed_ports: bool
    billing: str | None
    basis: str
    amount: str | None


def price_of(options: PriceOptions, *, day: date) -> Price:
    """Seconds x rate, or the amount on the bill; anything between is refused. day: when the job ran."""
    seconds = None if options.seconds is None else parse_seconds(options.seconds, where="--seconds")
    if options.basis == "stated":
        if options.amount is None:
            raise BeforehandError(
                "is missing", where="--amount", mend="with --basis stated give the amount on the bill"
            )
        amount = parse_usd(options.amount, where="--amount")
        return Price(seconds=seconds, rate_usd_per_h=None, rate_date=None, billing="", amount_usd=amount)
    if options.amount is not None:
        what = "is given although the amount follows from seconds and rate"
        raise BeforehandError(what, where="--amount", mend="add --basis stated or leave it out")
    if seconds is None:
        raise BeforehandError(
            "is missing", where="--seconds", mend="give the seconds it ran, or --basis stated and --amount"
        )
    rate_day = None if options.rate_date is None else parse_day(options.rate_date)
    if options.rate is None:
        return _looked_up(options, seconds, day=rate_day or day)
    usd_per_h = parse_number(options.rate, where="--rate", unit="USD per hour")
    if usd_per_h < 0:
        raise BeforehandError(f"{options.rate!r} is a negative rate", where="--rate", mend="give 0 or more")
    return priced(seconds, usd_per_h, rate_date=rate_day or day, billing=options.billing or "second")


def priced(seconds: Decimal, usd_per_h: Decimal, *, rate_date: date, billing: str) -> Price:
    """The charge with everything that it follows from."""
    amount = charge(seconds=seconds, rate_usd_per_h=usd_per_h, billing=cast("Billing", billing))
    return Price(
        seconds=seconds, rate_usd_per_h=usd_per_h, rate_date=rate_date, billing=billing, amount_usd=amount
    )


def rate_tables(path: Path | None) -> Sequence[RateTable]:
    """The tables of the given file, or the bundled ones."""
    from ledger.rates import BUNDLED, read_rates  # noqa: PLC0415 - its models cost 100 ms that an explicit rate saves

    return read_rates(path or BUNDLED)


def parse_day(text: str) -> date:
    """A day typed by a person, as 2026-08-22."""
    try:
        return date.fromisoformat(text)
    except ValueError as err:
        raise BeforehandError(
            f"{text!r} is not a date", where="--rate-date", mend="write it as 2026-08-22"
        ) from err


def _looked_up(options: PriceOptions, seconds: Decimal, *, day: date) -> Price:
    from ledger.rates import find_rate  # noqa: PLC0415 - see rate_tables

    if not options.flavor:
        raise BeforehandError(
            "is missing", where="--flavor", mend="give the flavor, and --rate if it is not in the rates"
        )
    rate = find_rate(
        rate_tables(options.rates_path), options.flavor, day=day, exposed_ports=options.exposed_ports
    )
    return priced(seconds, rate.usd_per_h, rate_date=rate.date, billing=options.billing or rate.billing)
