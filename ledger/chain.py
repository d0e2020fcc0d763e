"""The chain: each row's hash covers the row and the hash before it, so nothing inside can change unseen.

It proves that the rows hang together, not who wrote them nor when; a cut tail shows only against a head noted elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from json.encoder import encode_basestring
from operator import itemgetter

from ledger.entries import COLUMNS, Entry, format_row
from ledger.layout import Row
from manifests.digests import is_sha256, sha256_bytes
from manifests.errors import BeforehandError, Finding

# Every row has the same keys and only strings, so RFC 8785 is one template with the cells escaped as JSON; a test holds it
# to `canonical_json`. It spares the general encoder, which was the largest part of verifying 10,000 rows.
_SORTED = sorted(range(len(COLUMNS) - 1), key=lambda place: COLUMNS[place])
_TEMPLATE = "{" + ",".join(f'"{COLUMNS[place]}":%s' for place in _SORTED) + "}"
_HASHED_CELLS = itemgetter(*_SORTED)
SEQ, PREV, HASH = (COLUMNS.index(name) for name in ("seq", "prev", "hash"))
MEND_EDITED = "restore the row from version control; a wrong amount is mended by a new row, `ledger correct`"


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain, short enough to be shown in a bundle, a seal or a commit."""

    seq: int
    hash: str

    def __str__(self) -> str:
        """`SEQ:HASH`, as --head takes it."""
        return f"{self.seq}:{self.hash}"

    @classmethod
    def parse(cls, text: str, *, where: str = "--head") -> Head:
        """The head that `str` wrote."""
        seq, colon, digest = text.partition(":")
        if not (colon and seq.isascii() and seq.isdigit() and is_sha256(digest)):
            raise BeforehandError(
                f"{text!r} is not a head", where=where, mend="give SEQ:HASH, as `ledger balance` prints it"
            )
        return cls(int(seq), digest)


def genesis(study_name: str) -> Head:
    """The head of a ledger without rows: its hash is the `prev` of the first row."""
    return Head(0, sha256_bytes(f"ledger/1\n{study_name}".encode()))


def row_hash(cells: Sequence[str]) -> str:
    """SHA-256 of RFC 8785 of the row as an object of strings, without `hash`."""
    text = _TEMPLATE % tuple(map(encode_basestring, _HASHED_CELLS(cells)))
    return sha256_bytes(text.encode("utf-8", "surrogateescape"))


def link(entry: Entry, head: Head) -> Entry:
    """`entry` as the next row after `head`."""
    placed = replace(entry, seq=head.seq + 1, prev=head.hash, hash="")
    return replace(placed, hash=row_hash(format_row(placed)))


def verify(rows: Sequence[Row], *, study_name: str, after: Head | None = None) -> tuple[Finding, ...]:
    """Every break of the chain: edited, missing, re-ordered and merged rows, each named."""
    start = after or genesis(study_name)
    expected = start
    seen = {start.hash: start.seq}
    lines = {row.cells[HASH]: row for row in rows}
    findings: list[Finding] = []
    for row in rows:
        seq, prev, digest = row.cells[SEQ], row.cells[PREV], row.cells[HASH]
        where = f"line {row.line}, row {seq}"
        if row_hash(row.cells) != digest:
            findings.append(
                Finding(
                    where=where,
                    what="was changed after it was written: its hash does not fit",
                    mend=MEND_EDITED,
                )
            )
        if prev != expected.hash:
            findings.append(_break(where, row, expected, seen=seen, lines=lines))
        elif seq != str(expected.seq + 1):
            findings.append(
                Finding(where=where, what=f"carries number {seq} where {expected.seq + 1} belongs")
            )
        seen[digest] = int(seq) if seq.isascii() and seq.isdigit() else expected.seq + 1
        expected = Head(seen[digest], digest)
    return tuple(findings)


def check_head(entries: Sequence[Entry], head: Head, *, study_name: str) -> tuple[Finding, ...]:
    """A head shown elsewhere lies on this chain; otherwise the tail was cut or the past rewritten."""
    where = f"head {head.seq}:{head.hash[:12]}…"
    if head == genesis(study_name):
        return ()
    if not any(entry.seq == head.seq for entry in entries):
        last = entries[-1].seq if entries else 0
        what = f"row {head.seq} was there when the head was noted and is gone; the ledger ends with row {last}: its tail was cut"
        return (Finding(where=where, what=what, mend="restore the rows from version control"),)
    if not any(entry.hash == head.hash for entry in entries):
        what = (
            f"row {head.seq} is not the row that stood there when the head was noted: the past was rewritten"
        )
        return (Finding(where=where, what=what, mend="restore the rows from version control"),)
    return ()


def _break(
    where: str, row: Row, expected: Head, *, seen: Mapping[str, int], lines: Mapping[str, Row]
) -> Finding:
    prev = row.cells[PREV]
    if row.cells[SEQ] == "1" and expected.seq == 0:
        return Finding(
            where=where,
            what="starts the chain of another study's name, or was changed",
            mend="the name in study.toml is part of the chain",
        )
    if prev in seen:
        what = f"follows row {seen[prev]}, as an earlier line already does: two ledgers were merged, or a row stands twice or late"
        return Finding(
            where=where,
            what=what,
            mend="keep one side's rows in their order, remove the other's, and book those again",
        )
    if prev in lines:
        what = f"stands before the row that it follows (line {lines[prev].line}): rows were re-ordered"
        return Finding(where=where, what=what, mend="put the rows back in the order of their numbers")
    seq = row.cells[SEQ]
    missing = int(seq) - expected.seq - 1 if seq.isascii() and seq.isdigit() else 0
    if missing > 0:
        rows = (
            f"row {expected.seq + 1} is" if missing == 1 else f"rows {expected.seq + 1} to {int(seq) - 1} are"
        )
        return Finding(
            where=where,
            what=f"does not follow row {expected.seq}: {rows} missing",
            mend="restore them from version control",
        )
    return Finding(
        where=where, what=f"does not follow row {expected.seq}: its `prev` is another hash", mend=MEND_EDITED
    )
