"""What each column's cell may hold: one parser a column, each refusing every text but the one way to write a value."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache

from ledger.money import plain
from manifests.digests import SHA256_PATTERN
from manifests.names import UnitId
from manifests.text import CONTROL_CHARACTERS

KINDS = ("cap", "reserve", "book", "release", "correct", "import")
SCOPES = ("study", "phase", "job")
BILLINGS = ("second", "minute")
BASES = ("running", "occupancy", "stated")
"""running: the platform's own seconds. occupancy: wall clock. stated: an amount read from a bill."""
STATUSES = ("completed", "failed", "canceled")
BOUGHT = ("unit", "training-record", "refuted-hypothesis", "nothing")
LONGEST_NOTE = 1000
PHASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,47}")
JOB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+\[\]-]{0,127}")
FLAVOR = re.compile(r"[a-z0-9][a-z0-9._-]{0,47}")
WHOLE = re.compile(r"[1-9][0-9]{0,8}")
AMOUNT = re.compile(r"-?(0|[1-9][0-9]{0,11})\.[0-9]{6}")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
DIGEST = re.compile(SHA256_PATTERN)
SURROGATE = re.compile(r"[\ud800-\udfff]")  # what is left of bytes that were not UTF-8
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


def _text(pattern: re.Pattern[str], shape: str) -> Callable[[str], str]:
    def parse(cell: str) -> str:
        if cell and pattern.fullmatch(cell) is None:
            raise ValueError(f"is not {shape}")
        return cell

    return parse


def _one_of(words: tuple[str, ...], *, may_be_empty: bool = True) -> Callable[[str], str]:
    def parse(cell: str) -> str:
        if cell not in words and (cell or not may_be_empty):
            raise ValueError(f"is none of {', '.join(words)}")
        return cell

    return parse


def _whole(cell: str) -> int:
    if WHOLE.fullmatch(cell) is None:
        raise ValueError("is not a number from 1 up")
    return int(cell)


def _optional_whole(cell: str) -> int | None:
    return _whole(cell) if cell else None


def _number(decimals_shown: int, most_decimals: int) -> Callable[[str], Decimal | None]:
    pattern = re.compile(rf"-?(0|[1-9][0-9]{{0,11}})(\.[0-9]{{1,{most_decimals}}})?")

    @lru_cache(maxsize=4096)
    def parse(cell: str) -> Decimal | None:
        if not cell:
            return None
        if pattern.fullmatch(cell) is None:
            raise ValueError(f"is not a decimal number with at most {most_decimals} decimals")
        number = Decimal(cell)
        if plain(number, decimals=decimals_shown) != cell or (cell.startswith("-") and number == 0):
            raise ValueError(
                f"is not written as the ledger writes it, {plain(abs(number), decimals=decimals_shown)}"
            )
        return number

    return parse


def _amount(cell: str) -> Decimal:
    if AMOUNT.fullmatch(cell) is None or cell == "-0.000000":
        raise ValueError("is not an amount with six decimals")
    return Decimal(cell)


@lru_cache(maxsize=4096)
def _moment(cell: str) -> datetime:
    if TIME.fullmatch(cell) is None:
        raise ValueError("is not a UTC time such as 2026-08-26T09:30:00Z")
    return datetime.fromisoformat(cell)


@lru_cache(maxsize=4096)
def _optional_date(cell: str) -> date | None:
    if cell and DATE.fullmatch(cell) is None:
        raise ValueError("is not a date such as 2026-08-22")
    return date.fromisoformat(cell) if cell else None


@lru_cache(maxsize=4096)
def _units(cell: str) -> str:
    ids = cell.split(" ") if cell else []
    for unit in ids:
        UnitId.parse(unit)
    if len(set(ids)) != len(ids):
        raise ValueError("names a unit twice")
    return cell


@lru_cache(maxsize=256)
def _outcome(cell: str) -> str:
    if cell:
        status, *bought = cell.split(" ")
        if status not in STATUSES or not set(bought) <= set(BOUGHT) or len(set(bought)) != len(bought):
            raise ValueError(
                f"is not one of {', '.join(STATUSES)}, then what it bought, of {', '.join(BOUGHT)}"
            )
        if "nothing" in bought and len(bought) > 1:
            raise ValueError("bought nothing and something")
    return cell


@lru_cache(maxsize=4096)
def _note(cell: str) -> str:
    if len(cell) > LONGEST_NOTE:
        raise ValueError(f"is longer than {LONGEST_NOTE} characters")
    if CONTROL_CHARACTERS.search(cell) or SURROGATE.search(cell):
        raise ValueError("holds a line break or another control character; a row is one line")
    if cell and cell[0] in "=+-@":
        raise ValueError("starts with a sign that a spreadsheet takes for a formula; begin with a word")
    return cell


def _digest(cell: str) -> str:
    if DIGEST.match(cell) is None or len(cell) != 64:
        raise ValueError("is not 64 lower-case hex digits")
    return cell


PARSERS: dict[str, Callable[[str], object]] = {
    "seq": _whole,
    "time_utc": _moment,
    "kind": _one_of(KINDS, may_be_empty=False),
    "scope": _one_of(SCOPES),
    "phase": _text(PHASE, "a phase name: letters, digits, _ and -, at most 48"),
    "job_id": _text(JOB_ID, "a job id: letters, digits and ._:/@+[]-, at most 128"),
    "attempt": _optional_whole,
    "unit": _units,
    "flavor": _text(FLAVOR, "a flavor: lower-case letters, digits and ._-, at most 48"),
    "seconds": _number(0, 3),
    "rate_usd_per_h": _number(2, 6),
    "rate_date": _optional_date,
    "billing": _one_of(BILLINGS),
    "basis": _one_of(BASES),
    "amount_usd": _amount,
    "outcome": _outcome,
    "corrects_seq": _optional_whole,
    "note": _note,
    "prev": _digest,
    "hash": _digest,
}
