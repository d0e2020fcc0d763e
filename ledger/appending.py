"""What every appending command ends with: the rows are in the ledger, and it says what stands now."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from ledger import budget
from ledger.book import Book, Plan, read_ledger
from ledger.entries import parse_time
from ledger.place import find_ledger
from ledger.render import balance_document, entry_document, written_text
from manifests.console import Outcome, note
from manifests.errors import BeforehandError


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
