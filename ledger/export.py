"""The ledger for accountants: beancount text, and a CSV that a spreadsheet may open."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from decimal import Decimal

from ledger.cells import FLAVOR
from ledger.entries import Entry, format_time
from ledger.money import ZERO, stored

MONEY_KINDS = ("book", "correct")
CSV_COLUMNS = (
    "row",
    "date",
    "time_utc",
    "kind",
    "phase",
    "job",
    "attempt",
    "units",
    "flavor",
    "hours",
    "usd_per_h",
    "basis",
    "outcome",
    "spent_usd",
    "reserved_usd",
    "cap_usd",
    "running_spent_usd",
    "note",
)


def to_csv(entries: Sequence[Entry]) -> str:
    """One line a row, with a running total. A copy to work in: it carries no chain and is not read back."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    running = ZERO
    for entry in entries:
        spent = entry.amount_usd if entry.kind in MONEY_KINDS else ZERO
        running += spent
        writer.writerow(
            (
                entry.seq,
                entry.time_utc.date().isoformat(),
                format_time(entry.time_utc),
                entry.kind,
                entry.phase,
                entry.job_id,
                "" if entry.attempt is None else entry.attempt,
                entry.unit,
                entry.flavor,
                "" if entry.seconds is None else f"{entry.seconds / 3600:.4f}",
                "" if entry.rate_usd_per_h is None else f"{entry.rate_usd_per_h:f}",
                entry.basis,
                entry.outcome,
                stored(spent),
                stored(_reserved(entry)),
                stored(entry.amount_usd) if entry.kind == "cap" else "",
                stored(running),
                entry.note,
            )
        )
    return stream.getvalue()


def to_beancount(entries: Sequence[Entry], *, study_name: str) -> str:
    """Bookings and corrections as transactions of beancount 2 or 3; caps and reservations, which move no money, as comments."""
    money = [entry for entry in entries if entry.kind in MONEY_KINDS and entry.amount_usd != 0]
    owed = "Liabilities:Compute"
    accounts = sorted({_expense(entry) for entry in money} | {owed}) if money else []
    first = min((entry.time_utc for entry in money), default=None)
    lines = [f"; the ledger of {_quoted(study_name)}, exported; the ledger itself stays the record"]
    lines += [f"{first.date()} open {account} USD" for account in accounts if first is not None]
    for entry in entries:
        if entry.kind in MONEY_KINDS and entry.amount_usd != 0:
            lines += ["", *_transaction(entry, owed)]
        else:
            lines.append(
                f"; row {entry.seq}: {entry.kind} {stored(entry.amount_usd)} USD {entry.note}".rstrip()
            )
    return "\n".join(lines) + "\n"


def _transaction(entry: Entry, owed: str) -> list[str]:
    words = " ".join(part for part in (entry.kind, entry.flavor, entry.outcome, entry.note) if part)
    lines = [f"{entry.time_utc.date()} * {_quoted(entry.job_id)} {_quoted(words)}", f"  row: {entry.seq}"]
    if entry.unit:
        lines.append(f"  units: {_quoted(entry.unit)}")
    amount = stored(entry.amount_usd)
    return [*lines, f"  {_expense(entry)}  {amount} USD", f"  {owed}  {stored(-entry.amount_usd)} USD"]


def _expense(entry: Entry) -> str:
    """Account components start with a capital or a digit and hold letters, digits and dashes."""
    parts = (
        _component(entry.phase or "Unphased"),
        _component(entry.flavor) if FLAVOR.fullmatch(entry.flavor) else "Other",
    )
    return ":".join(("Expenses", "Compute", *parts))


def _component(name: str) -> str:
    safe = name.replace("_", "-").replace(".", "-")
    return safe[0].upper() + safe[1:]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _reserved(entry: Entry) -> Decimal:
    return {"reserve": entry.amount_usd, "release": -entry.amount_usd}.get(entry.kind, ZERO)
