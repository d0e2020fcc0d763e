"""The ledger in words: a row, a balance, for people and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from ledger.budget import Balance, CapStanding
from ledger.chain import Head
from ledger.entries import COLUMNS, Entry, format_row
from ledger.money import shown, stored
from ledger.reservations import Reservation
from ledger.totals import cap_name
from manifests.errors import Finding


def entry_document(entry: Entry) -> dict[str, str]:
    """The row as the file holds it, cell by cell."""
    return dict(zip(COLUMNS, format_row(entry), strict=True))


def entry_sentence(entry: Entry) -> str:
    """One line about a row that was just written."""
    if entry.kind == "cap":
        return f"row {entry.seq}: cap of {cap_name(entry)}: {shown(entry.amount_usd)} USD"
    kind = f"{entry.kind} row {entry.corrects_seq}" if entry.corrects_seq else entry.kind
    named = " ".join(part for part in (entry.job_id, entry.unit, entry.phase and f"({entry.phase})") if part)
    return f"row {entry.seq}: {kind} {shown(entry.amount_usd)} USD {named}".rstrip()


def balance_document(balance: Balance, head: Head) -> dict[str, object]:
    """Amounts as strings with six decimals, as in the file."""
    return {
        "spent_usd": stored(balance.spent_usd),
        "reserved_usd": stored(balance.reserved_usd),
        "remaining_usd": _stored_or_none(balance.remaining_usd),
        "caps": [_cap_document(cap) for cap in balance.caps],
        "head": str(head),
    }


def balance_text(balance: Balance, head: Head, reservations: Sequence[Reservation]) -> str:
    """What is spent, reserved and left, cap by cap."""
    lines = [f"spent {shown(balance.spent_usd)} USD, reserved {shown(balance.reserved_usd)} USD"]
    lines += [
        f"cap of {cap.name}: {shown(cap.cap_usd)} USD (row {cap.seq}); spent {shown(cap.spent_usd)}, "
        f"reserved {shown(cap.reserved_usd)}, left {shown(cap.remaining_usd)}"
        for cap in balance.caps
    ]
    lines += [
        f"open reservation, row {each.entry.seq}: {shown(each.open_usd)} USD {each.entry.job_id or each.entry.unit}".rstrip()
        for each in reservations
    ]
    if balance.study_cap is None:
        lines.append("no cap is set for the study: `beforehand ledger cap` sets one")
    return "\n".join([*lines, f"head {head}"])


def balance_findings(balance: Balance) -> tuple[Finding, ...]:
    """Every cap that is passed."""
    return tuple(
        Finding(
            where=f"cap of {cap.name}",
            what=f"is passed by {shown(-cap.remaining_usd)} USD",
            mend="raise the cap by a dated row of its own, or release what is reserved and not needed",
        )
        for cap in balance.caps
        if cap.remaining_usd < 0
    )


def written_text(rows: Sequence[Entry], balance: Balance) -> str:
    """What a command that wrote rows says."""
    left = (
        ""
        if balance.remaining_usd is None
        else f", {shown(balance.remaining_usd)} left of {shown(balance.cap_usd or Decimal(0))}"
    )
    standing = f"spent {shown(balance.spent_usd)} USD, reserved {shown(balance.reserved_usd)} USD{left}"
    return "\n".join([*(entry_sentence(row) for row in rows), standing])


def _cap_document(cap: CapStanding) -> dict[str, object]:
    return {
        "scope": cap.scope,
        "phase": cap.phase,
        "job_id": cap.job_id,
        "cap_usd": stored(cap.cap_usd),
        "spent_usd": stored(cap.spent_usd),
        "reserved_usd": stored(cap.reserved_usd),
        "remaining_usd": stored(cap.remaining_usd),
        "seq": cap.seq,
    }


def _stored_or_none(amount: Decimal | None) -> str | None:
    return None if amount is None else stored(amount)
