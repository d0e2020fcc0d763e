"""Money: decimals in, decimals out. Amounts are kept to a millionth of a dollar and shown to the cent."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Literal

from manifests.errors import BeforehandError

Billing = Literal["second", "minute"]

MICRO = Decimal("0.000001")
CENT = Decimal("0.01")
ZERO = Decimal("0.000000")
NUMBER = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,6})?")


def parse_usd(text: str, *, where: str, signed: bool = False) -> Decimal:
    """An amount typed by a person, to 6 decimals; signs of currency, commas, exponents, NaN are refused."""
    number = parse_number(text, where=where, unit="USD")
    if number < 0 and not signed:
        raise BeforehandError(
            f"{text!r} is negative", where=where, mend="give 0 or more; `ledger correct` takes a signed delta"
        )
    return number.quantize(MICRO)


def parse_number(text: str, *, where: str, unit: str) -> Decimal:
    """A plain decimal: digits, at most one point, at most 6 decimals."""
    if NUMBER.fullmatch(text) is None:
        raise BeforehandError(
            f"{text!r} is not a plain decimal number",
            where=where,
            mend=f"write {unit} as digits with a point, such as 44.43: no currency sign, no comma, no exponent, at most 6 decimals",
        )
    return Decimal(text)


def parse_seconds(text: str, *, where: str) -> Decimal:
    """A duration in seconds, 0 or more, to the millisecond."""
    seconds = parse_number(text, where=where, unit="seconds")
    if seconds < 0 or seconds != seconds.quantize(Decimal("0.001")):
        raise BeforehandError(
            f"{text!r} is not a duration", where=where, mend="give seconds, 0 or more, at most 3 decimals"
        )
    return seconds


@lru_cache(maxsize=4096)
def charge(*, seconds: Decimal, rate_usd_per_h: Decimal, billing: Billing) -> Decimal:
    """What `seconds` cost: per second exactly, or per started minute (61 s are 2 minutes); rounded half up to 6 decimals."""
    if billing == "minute":
        minutes = (seconds / 60).to_integral_value(ROUND_CEILING)
        seconds = minutes * 60
    return (seconds * rate_usd_per_h / 3600).quantize(MICRO, ROUND_HALF_UP)


def shown(amount: Decimal) -> str:
    """An amount for people: two decimals, rounded half up, thousands set off."""
    cents = amount.quantize(CENT, ROUND_HALF_UP)
    return f"{abs(cents) if cents == 0 else cents:,.2f}"


def stored(amount: Decimal) -> str:
    """An amount as the file holds it: six decimals, no exponent, never a negative zero."""
    return f"{abs(amount) if amount == 0 else amount:.6f}"


def plain(number: Decimal, *, decimals: int = 0) -> str:
    """The one way to write a number that is not an amount: no trailing zeros beyond `decimals`, no exponent."""
    text = f"{number:f}"
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0").ljust(decimals, "0")
    return f"{whole}.{fraction}" if fraction else whole
