"""One row of the ledger: its columns, its values, its text."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from decimal import Decimal

from ledger.cells import PARSERS
from ledger.money import ZERO, plain, stored
from manifests.errors import BeforehandError


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A row, field for column in the file's order; an empty cell is "" or None."""

    seq: int
    time_utc: datetime
    kind: str
    scope: str = ""
    phase: str = ""
    job_id: str = ""
    attempt: int | None = None
    unit: str = ""
    flavor: str = ""
    seconds: Decimal | None = None
    rate_usd_per_h: Decimal | None = None
    rate_date: date | None = None
    billing: str = ""
    basis: str = ""
    amount_usd: Decimal = ZERO
    outcome: str = ""
    corrects_seq: int | None = None
    note: str = ""
    prev: str = ""
    hash: str = ""

    @property
    def units(self) -> tuple[str, ...]:
        """The unit ids that the money serves: one job can serve two."""
        return tuple(self.unit.split(" ")) if self.unit else ()

    @property
    def status(self) -> str:
        """How the job ended, "" where that was not said."""
        return self.outcome.partition(" ")[0]

    @property
    def bought(self) -> tuple[str, ...]:
        """What the money bought, as tagged; empty where nobody tagged it."""
        return tuple(self.outcome.split(" ")[1:])


COLUMNS = tuple(field.name for field in fields(Entry))
_COLUMN_PARSERS = tuple((column, PARSERS[column]) for column in COLUMNS)


class RowError(ValueError):
    """A row that is no entry; `reasons` holds one sentence a cell."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = tuple(reasons)


def format_row(entry: Entry) -> tuple[str, ...]:
    """The cells of the row, in the order of COLUMNS."""
    return (
        str(entry.seq),
        format_time(entry.time_utc),
        entry.kind,
        entry.scope,
        entry.phase,
        entry.job_id,
        "" if entry.attempt is None else str(entry.attempt),
        entry.unit,
        entry.flavor,
        "" if entry.seconds is None else plain(entry.seconds),
        "" if entry.rate_usd_per_h is None else plain(entry.rate_usd_per_h, decimals=2),
        "" if entry.rate_date is None else entry.rate_date.isoformat(),
        entry.billing,
        entry.basis,
        stored(entry.amount_usd),
        entry.outcome,
        "" if entry.corrects_seq is None else str(entry.corrects_seq),
        entry.note,
        entry.prev,
        entry.hash,
    )


def parse_row(cells: Sequence[str]) -> Entry:
    """The entry that these cells write; RowError names every cell that is not written as `format_row` writes it."""
    if len(cells) != len(COLUMNS):
        raise RowError([f"has {len(cells)} cells where {len(COLUMNS)} belong"])
    try:
        values = {column: parse(cell) for (column, parse), cell in zip(_COLUMN_PARSERS, cells, strict=True)}
    except (ValueError, BeforehandError) as err:
        raise RowError(_reasons(cells)) from err
    return Entry(**values)  # type: ignore[arg-type] # each parser returns its field's type


def _reasons(cells: Sequence[str]) -> list[str]:
    """One sentence for each cell that its parser refuses."""
    reasons: list[str] = []
    for (column, parse), cell in zip(_COLUMN_PARSERS, cells, strict=True):
        try:
            parse(cell)
        except (ValueError, BeforehandError) as err:
            shown = cell if len(cell) <= 60 else f"{cell[:57]}…"
            reasons.append(f"{column} {shown!r} {err}")
    return reasons


def format_line(cells: Sequence[str]) -> str:
    """The line of the file, with its line feed. A row is one line: no cell holds a control character."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerow(cells)
    return stream.getvalue()


def format_time(moment: datetime) -> str:
    """UTC to the second, `2026-08-26T09:30:00Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str, *, where: str) -> datetime:
    """A UTC time typed by a person; other zones, and times without one, are refused."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as err:
        raise BeforehandError(
            f"{text!r} is not a time", where=where, mend="write UTC, such as 2026-08-26T09:30:00Z"
        ) from err
    if moment.tzinfo is None or moment.utcoffset() != UTC.utcoffset(None):
        raise BeforehandError(f"{text!r} is not in UTC", where=where, mend="convert it and end it with Z")
    return moment.astimezone(UTC).replace(microsecond=0)
