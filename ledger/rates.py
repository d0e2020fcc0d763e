"""What an hour of a flavor costs, on which day, and who says so."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from ledger.cells import FLAVOR
from ledger.money import NUMBER, Billing
from manifests.documents import Document, read_toml_document
from manifests.errors import BeforehandError

BUNDLED = Path(__file__).with_name("rates.toml")


def _price(text: object) -> Decimal:
    if not isinstance(text, str) or NUMBER.fullmatch(text) is None or text.startswith("-"):
        raise ValueError('a price is a quoted plain number, such as "2.50"')
    return Decimal(text)


def _flavor(text: str) -> str:
    if FLAVOR.fullmatch(text) is None:
        raise ValueError("a flavor is lower case: letters, digits and ._-")
    return text


Price = Annotated[Decimal, BeforeValidator(_price)]
Day = Annotated[date, BeforeValidator(lambda text: date.fromisoformat(str(text)))]


class RateTable(Document):
    """The prices of one day."""

    date: Day
    source: str
    billing: Billing
    exposed_ports_usd_per_h: Price = Decimal(0)
    usd_per_h: dict[Annotated[str, AfterValidator(_flavor)], Price] = Field(min_length=1)


class RateFile(Document):
    """A file of dated tables."""

    format: Literal["rates/1"]
    tables: tuple[RateTable, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A price with its day and its way of billing."""

    flavor: str
    usd_per_h: Decimal
    date: date
    billing: Billing


def read_rates(path: Path = BUNDLED) -> tuple[RateTable, ...]:
    """The tables of the file, oldest first."""
    tables = read_toml_document(RateFile, path).tables
    return tuple(sorted(tables, key=lambda table: table.date))


def find_rate(tables: Sequence[RateTable], flavor: str, *, day: date, exposed_ports: bool = False) -> Rate:
    """The price in force on `day`: the last table not younger than it. An unknown flavor, or an earlier day, is an error."""
    in_force = [table for table in tables if table.date <= day]
    if not in_force:
        first = min((table.date for table in tables), default=None)
        raise BeforehandError(
            f"no rates are known for {day}; the first table is of {first}",
            where=flavor,
            mend="give --rate and --rate-date, or --rate-date alone to take a known table on purpose",
        )
    table = in_force[-1]
    if flavor not in table.usd_per_h:
        near = difflib.get_close_matches(flavor.lower(), table.usd_per_h, n=3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise BeforehandError(
            f"is not a flavor of the rates of {table.date}",
            where=repr(flavor),
            mend=f"{hint}or give --rate, or --rates with a table of your own",
        )
    usd_per_h = table.usd_per_h[flavor] + (table.exposed_ports_usd_per_h if exposed_ports else 0)
    return Rate(flavor=flavor, usd_per_h=usd_per_h, date=table.date, billing=table.billing)
