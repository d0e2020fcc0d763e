"""The ledger on disk: read whole, appended to under a lock, one row or several at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ledger.chain import Head, check_head, genesis, link, verify
from ledger.entries import Entry, RowError, format_line, format_row, format_time, parse_row
from ledger.layout import Row, empty_ledger, read_layout
from ledger.lock import WAIT_S, locked
from ledger.resaved import undo_resaving
from ledger.rules import Standing, check_rules
from manifests.errors import BeforehandError, Finding, FindingsError, NotInOrderError
from manifests.files import read_bytes

CLOCK_TOLERANCE = timedelta(minutes=5)
"""Two machines' clocks may differ by this much before a row is refused."""
MEND_MISSING = "`beforehand new` makes a study with an empty ledger"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """A ledger as read: the rows that can be read, the end of the chain, and everything that is wrong."""

    entries: tuple[Entry, ...]
    head: Head
    findings: tuple[Finding, ...]


Plan = Callable[[Ledger], Sequence[Entry]]
"""Looks at the ledger under the lock and returns the rows to append; their seq, prev and hash are set on appending."""


class BrokenLedgerError(NotInOrderError, FindingsError):
    """The ledger is not whole, so nothing is appended to it: exit code 1."""


def read_ledger(path: Path, *, study_name: str) -> Ledger:
    """The ledger with all findings of form, chain and rules; only a file that cannot be read raises."""
    return parse_ledger(read_bytes(path, mend=MEND_MISSING), study_name=study_name)


def parse_ledger(data: bytes, *, study_name: str) -> Ledger:
    """The ledger that these bytes hold."""
    layout = read_layout(data)
    rows = layout.rows
    resaved: tuple[Finding, ...] = ()
    entries, findings = _parse_rows(rows)
    if findings:
        undone = undo_resaving(rows)
        rows, resaved = undone.rows, undone.findings
        entries, findings = _parse_rows(rows)
    findings = [
        *resaved,
        *layout.findings,
        *findings,
        *verify(rows, study_name=study_name),
        *check_rules(entries),
    ]
    if layout.torn:
        what = f"is torn: {len(layout.torn)} bytes without a line end; a command was killed while it wrote, before it returned"
        findings.append(
            Finding(
                where="the last line",
                what=what,
                mend="the next append drops it; run the killed command again",
            )
        )
    head = Head(entries[-1].seq, entries[-1].hash) if entries else genesis(study_name)
    return Ledger(entries=tuple(entries), head=head, findings=tuple(findings))


def _parse_rows(rows: Sequence[Row]) -> tuple[list[Entry], list[Finding]]:
    entries: list[Entry] = []
    findings: list[Finding] = []
    for row in rows:
        try:
            entries.append(parse_row(row.cells))
        except RowError as err:
            findings.extend(Finding(where=f"line {row.line}", what=reason) for reason in err.reasons)
    return entries, findings


@dataclass(slots=True)
class _Verified:
    """What an open book has seen and found whole."""

    head: Head
    data: bytearray = field(default_factory=lambda: bytearray(empty_ledger()))
    entries: list[Entry] = field(default_factory=list)
    standing: Standing = field(default_factory=Standing)

    def take(self, data: bytes, entries: Sequence[Entry]) -> None:
        self.data += data
        self.entries.extend(entries)
        for entry in entries:
            self.standing.add(entry)
        if entries:
            self.head = Head(entries[-1].seq, entries[-1].hash)


class Book:
    """A ledger open for appending.

    Within one process an append verifies only what is new since the last one. What was verified is kept in memory
    and compared byte for byte with the file each time, so any edit of any row stops the next append.
    """

    def __init__(self, path: Path, *, study_name: str, now: Callable[[], datetime] | None = None) -> None:
        self.path = path
        self.study_name = study_name
        self._now = now or (lambda: datetime.now(UTC))
        self._verified = _Verified(genesis(study_name))
        self.dropped_bytes = 0
        """How many bytes of torn tails, left by killed commands, the appends have dropped."""

    def append(self, *entries: Entry, wait_s: float = WAIT_S) -> tuple[Entry, ...]:
        """The rows stand on disk, written at once; returned as written. All are refused or none."""
        return self.append_planned(lambda _ledger: entries, wait_s=wait_s)

    def append_planned(self, plan: Plan, *, wait_s: float = WAIT_S) -> tuple[Entry, ...]:
        """As `append`, for rows that depend on the ledger: `plan` sees it under the lock, so no other row slips in."""
        if not self.path.is_file():
            raise BeforehandError("does not exist", where=str(self.path), mend=MEND_MISSING)
        with locked(self.path, wait_s=wait_s):
            on_disk = read_bytes(self.path)
            self._catch_up(on_disk)
            known = self._verified
            planned = plan(Ledger(entries=tuple(known.entries), head=known.head, findings=()))
            rows = self._sealed(planned)
            data = "".join(format_line(format_row(row)) for row in rows).encode()
            self._write(data, bytes_on_disk=len(on_disk))
            known.take(data, rows)
        return rows

    def _catch_up(self, on_disk: bytes) -> None:
        """What others appended is verified and taken in; a ledger that is not whole raises. A torn tail is left out."""
        whole = on_disk[: on_disk.rfind(b"\n") + 1]
        known = self._verified
        if len(known.data) == len(on_disk) + 1 and known.data[:-1] == on_disk:
            return  # a lost line end, seen by an append that was then refused: see below
        if whole[: len(known.data)] != known.data or not self._take_new(whole[len(known.data) :]):
            ledger = parse_ledger(on_disk, study_name=self.study_name)
            # Rows that this process has seen may be gone from a chain that holds without them.
            gone = check_head(ledger.entries, known.head, study_name=self.study_name)
            raise BrokenLedgerError(
                "is not whole, so nothing is appended to it",
                (*ledger.findings, *gone),
                where=str(self.path),
                mend="see `beforehand ledger verify`; nothing was written",
            )
        # An editor may have taken the last line feed of a whole row: that row was booked and stays.
        if tail := on_disk[len(whole) :]:
            self._take_new(tail + b"\n")

    def _take_new(self, added: bytes) -> bool:
        known = self._verified
        layout = read_layout(empty_ledger() + added)
        entries, findings = _parse_rows(layout.rows)
        broken = verify(layout.rows, study_name=self.study_name, after=known.head)
        if layout.findings or findings or broken or any(self._against(entries)):
            return False
        known.take(added, entries)
        return True

    def _against(self, entries: Sequence[Entry]) -> tuple[Finding, ...]:
        """What the rules have against these rows, one after the other."""
        standing = self._verified.standing.copy() if len(entries) > 1 else self._verified.standing
        findings: list[Finding] = []
        for position, entry in enumerate(entries, start=1):
            findings.extend(standing.check(entry))
            if position < len(entries):
                standing.add(entry)
        return tuple(findings)

    def _sealed(self, planned: Sequence[Entry]) -> tuple[Entry, ...]:
        rows: list[Entry] = []
        findings = list(self._clock_findings(planned))
        head = self._verified.head
        for entry in planned:
            row = link(entry, head)
            head = Head(row.seq, row.hash)
            try:
                rows.append(parse_row(format_row(row)))
            except RowError as err:
                findings.extend(Finding(where=f"row {row.seq}", what=reason) for reason in err.reasons)
        findings = findings or list(self._against(rows))
        if findings:
            raise FindingsError(
                "the row is refused, nothing was written", tuple(findings), where=str(self.path)
            )
        return tuple(rows)

    def _clock_findings(self, planned: Sequence[Entry]) -> tuple[Finding, ...]:
        now = self._now()
        last = max((entry.time_utc for entry in self._verified.entries[-1:]), default=now)
        findings = [
            Finding(
                where=format_time(entry.time_utc),
                what=f"lies in the future; this machine's clock says {format_time(now)}",
            )
            for entry in planned
            if entry.time_utc > now + CLOCK_TOLERANCE
        ]
        if last > now + CLOCK_TOLERANCE:
            what = f"this machine's clock says {format_time(now)}, but the last row was written at {format_time(last)}"
            findings.append(
                Finding(where="the clock", what=what, mend="set the clock of the machine that is wrong")
            )
        return tuple(findings)

    def _write(self, data: bytes, *, bytes_on_disk: int) -> None:
        """What was verified, then `data`, is the file; if the disk refuses, the file is what it was."""
        kept = min(
            bytes_on_disk, len(self._verified.data)
        )  # more on disk is a torn tail, less a lost line end
        addition = bytes(self._verified.data[kept:]) + data
        self.dropped_bytes += bytes_on_disk - kept
        try:
            descriptor = os.open(self.path, os.O_WRONLY)
        except OSError as err:
            raise self._unwritable(err) from err
        try:
            os.ftruncate(descriptor, kept)
            os.lseek(descriptor, 0, os.SEEK_END)
            _write_all(descriptor, addition)
            os.fsync(descriptor)
        except OSError as err:
            with suppress(OSError):  # a part that stays is a torn tail, which the next append drops
                os.ftruncate(descriptor, kept)
            raise self._unwritable(err) from err
        finally:
            os.close(descriptor)

    def _unwritable(self, err: OSError) -> BeforehandError:
        mend = "free some space or mend the permissions; the ledger holds what it held before"
        return BeforehandError(f"cannot be written: {err.strerror}", where=str(self.path), mend=mend)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:  # a nearly full disk takes a part first and refuses the rest on the second call
        data = data[os.write(descriptor, data) :]
