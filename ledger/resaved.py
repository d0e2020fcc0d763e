"""A ledger that a spreadsheet opened and saved: cells reformatted, nothing forged. The hashes tell the two apart."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation

from ledger.cells import PARSERS
from ledger.chain import HASH, row_hash
from ledger.entries import COLUMNS, RowError, format_time, parse_row
from ledger.layout import Row
from ledger.money import MICRO, plain, stored
from manifests.errors import Finding

MOST_TRIALS = 4000
DATES = (
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%m/%d/%y",
    "%d/%m/%y",
    "%d.%m.%Y",
    "%d.%m.%y",
    "%Y/%m/%d",
    "%d-%b-%y",
    "%d-%b-%Y",
)
TIMES = ("%H:%M:%S", "%H:%M", "%I:%M:%S %p", "%I:%M %p")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resaved:
    """The rows with every cell written back that gives its hash back, and the one finding about them."""

    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]


def undo_resaving(rows: Sequence[Row]) -> Resaved:
    """Write reformatted cells back where that, and only that, makes the row's own hash fit again."""
    restored: list[Row] = []
    columns: list[str] = []
    lines: list[int] = []
    for row in rows:
        original = None if _is_entry(row.cells) else _original(row.cells)
        restored.append(row if original is None else replace(row, cells=original))
        if original is not None:
            lines.append(row.line)
            columns += [
                name
                for name, was, now in zip(COLUMNS, original, row.cells, strict=True)
                if was != now and name not in columns
            ]
    if not lines:
        return Resaved(rows=tuple(rows), findings=())
    count = f"{len(lines)} row{'' if len(lines) == 1 else 's'} from line {lines[0]} on"
    what = f"was re-saved by a spreadsheet, which reformatted {', '.join(columns)} in {count}; written back, each fits its hash, so no value was changed"
    finding = Finding(
        where="the file",
        what=what,
        mend="take the file from version control, and open a copy (`ledger export --csv`) in the spreadsheet",
    )
    return Resaved(rows=tuple(restored), findings=(finding,))


def _is_entry(cells: Sequence[str]) -> bool:
    try:
        parse_row(cells)
    except RowError:
        return False
    return True


def _original(cells: tuple[str, ...]) -> tuple[str, ...] | None:
    """The only cells that these may have been before, proven by the row's hash; None where no trial fits."""
    choices = [_spellings(name, cell) for name, cell in zip(COLUMNS, cells, strict=True)]
    for trial in itertools.islice(itertools.product(*choices), MOST_TRIALS):
        if row_hash(trial) == cells[HASH] and _is_entry(trial):
            return trial
    return None


def _spellings(column: str, cell: str) -> tuple[str, ...]:
    restore = _RESTORERS.get(column)
    if not cell or restore is None:
        return (cell,)
    return tuple(dict.fromkeys(text for text in (*restore(cell), cell) if _is_spelling(column, text))) or (
        cell,
    )


def _is_spelling(column: str, text: str) -> bool:
    try:
        PARSERS[column](text)
    except ValueError:
        return False
    return True


def _numbers(text: str) -> Iterator[Decimal]:
    bare = text.strip().lstrip("$€").replace("\u00a0", "").replace(" ", "")
    for candidate in (bare.replace(",", ""), bare.replace(".", "").replace(",", "."), bare.replace(",", ".")):
        try:
            number = Decimal(candidate)
        except InvalidOperation:
            continue
        if number.is_finite() and abs(number) < 10**12:
            yield number


def _amounts(cell: str) -> list[str]:
    return [stored(number.quantize(MICRO)) for number in _numbers(cell)]


def _plain(decimals: int) -> Callable[[str], list[str]]:
    return lambda cell: [plain(number, decimals=decimals) for number in _numbers(cell)]


def _days(cell: str) -> list[str]:
    return [moment.date().isoformat() for moment in _moments(cell, DATES)]


def _times(cell: str) -> list[str]:
    formats = [f"{day} {clock}" for day in ("%Y-%m-%d", *DATES) for clock in TIMES]
    moments = list(_moments(cell, formats))
    if cell.count(":") == 1:  # the seconds are gone, but there are only sixty
        moments = [moment.replace(second=second) for moment in moments for second in range(60)]
    return [format_time(moment) for moment in moments]


def _moments(cell: str, formats: Sequence[str]) -> Iterator[datetime]:
    for form in formats:
        try:
            yield datetime.strptime(cell.strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue


def _notes(cell: str) -> list[str]:
    try:  # saved in the country's own encoding
        return [cell.encode("ascii", "surrogateescape").decode("cp1252")]
    except UnicodeError:
        return []


_RESTORERS: dict[str, Callable[[str], list[str]]] = {
    "seq": _plain(0),
    "attempt": _plain(0),
    "corrects_seq": _plain(0),
    "seconds": _plain(0),
    "rate_usd_per_h": _plain(2),
    "amount_usd": _amounts,
    "rate_date": _days,
    "time_utc": _times,
    "note": _notes,
}
