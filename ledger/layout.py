"""The bytes of the file as rows: LF, UTF-8, one row a line; what a killed process, git or a spreadsheet did to them is named."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

from ledger.entries import COLUMNS, format_line
from manifests.errors import Finding

BOM = b"\xef\xbb\xbf"
CONFLICT_MARKS = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line below the header."""

    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The file's rows, the torn bytes after its last line feed, and what is wrong with its form."""

    rows: tuple[Row, ...]
    torn: bytes
    findings: tuple[Finding, ...]


def header_line() -> str:
    """The first line of every ledger, with its line feed."""
    return format_line(COLUMNS)


def empty_ledger() -> bytes:
    """A ledger without a row."""
    return header_line().encode()


def read_layout(data: bytes) -> Layout:
    """Split the file; nothing is repaired silently, and every departure from the written form is a finding."""
    findings: list[Finding] = []
    if data.startswith(BOM):
        findings.append(
            Finding(
                where="byte 1",
                what="starts with a byte order mark, as spreadsheets and some editors write it",
            )
        )
        data = data.removeprefix(BOM)
    if b"\r\n" in data:
        findings.append(
            Finding(
                where="line ends", what="are CRLF where LF belongs, as spreadsheets on Windows write them"
            )
        )
        data = data.replace(b"\r\n", b"\n")
    whole, line_feed, torn = data.rpartition(b"\n")
    lines = (whole + line_feed).decode("utf-8", "surrogateescape").split("\n")[:-1]
    if not lines:
        findings.append(Finding(where="line 1", what="the header is missing"))
        return Layout(rows=(), torn=torn, findings=tuple(findings))
    if lines[0] + "\n" != header_line():
        findings.append(_header_finding(lines[0]))
    rows = _fast(lines[1:])
    if rows is None:
        rows, row_findings = _slow(lines[1:])
        findings.extend(row_findings)
    return Layout(rows=rows, torn=torn, findings=tuple(findings))


def _header_finding(line: str) -> Finding:
    for mark, name in ((";", "semicolons"), ("\t", "tabs")):
        if mark in line and "," not in line:
            return Finding(
                where="line 1",
                what=f"cells are separated by {name}, as a spreadsheet saves them in some countries",
            )
    return Finding(
        where="line 1",
        what="is not the header of a ledger",
        mend="take the file's first line from version control",
    )


def _fast(lines: list[str]) -> tuple[Row, ...] | None:
    """All rows in one pass, or None where a line is not written exactly as the ledger writes it."""
    try:
        parsed = list(csv.reader(lines, strict=True))
    except csv.Error:
        return None
    if len(parsed) != len(lines):
        return None
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(parsed)
    if stream.getvalue() != "".join(f"{line}\n" for line in lines):
        return None
    if any(len(cells) != len(COLUMNS) for cells in parsed):
        return None
    return tuple(Row(line=number, cells=tuple(cells)) for number, cells in enumerate(parsed, start=2))


def _slow(lines: list[str]) -> tuple[tuple[Row, ...], list[Finding]]:
    rows: list[Row] = []
    findings: list[Finding] = []
    respelled: list[int] = []
    for number, line in enumerate(lines, start=2):
        where = f"line {number}"
        if line.startswith(CONFLICT_MARKS):
            findings.append(_conflict(where))
            continue
        try:
            parsed = list(csv.reader([line], delimiter=_delimiter(line), strict=True))
        except csv.Error as err:
            findings.append(Finding(where=where, what=f"is not a row of CSV: {err}"))
            continue
        cells = tuple(parsed[0]) if parsed else ()
        if not any(cells):
            findings.append(Finding(where=where, what="is an empty line"))
        elif len(cells) != len(COLUMNS):
            findings.append(Finding(where=where, what=f"has {len(cells)} cells where {len(COLUMNS)} belong"))
        else:
            if format_line(cells) != f"{line}\n":
                respelled.append(number)
            rows.append(Row(line=number, cells=cells))
    if respelled:
        count = f"{len(respelled)} line{'' if len(respelled) == 1 else 's'}"
        what = f"{count} in all quoted or separated otherwise than the ledger writes them"
        findings.append(
            Finding(where=f"line {respelled[0]}", what=what, mend="take the file from version control")
        )
    return tuple(rows), findings


def _delimiter(line: str) -> str:
    return max((",", ";", "\t"), key=line.count)


def _conflict(where: str) -> Finding:
    return Finding(
        where=where,
        what="is a conflict mark of git: two ledgers were merged",
        mend="keep one side's rows as they stand, remove the marks and the other side's rows, then book those again",
    )
