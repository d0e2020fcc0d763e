"""`DECISIONS.md`: the dated log of decisions, deviations, gates and results, entry by entry, verbatim.

An entry is a heading `## 2026-08-26 · DEVIATION · D7` and the text below it. An ERRATUM names what it mends:
`## 2026-08-27 · ERRATUM · D9 · mends D7`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from manifests.errors import BeforehandError, Finding, FindingsError
from manifests.files import decode_utf8, read_bytes
from prereg.fences import Line, Markdown

KINDS = ("DECISION", "DEVIATION", "RESOLUTION", "GATE", "EVENT", "RESULT", "NOTE", "ERRATUM")
FORM = "## 2026-08-26 · DEVIATION · D7"
HEADING = re.compile(
    r"## (?P<date>\d{4}-\d{2}-\d{2}) · (?P<kind>[A-Z]+) · (?P<id>[A-Za-z][A-Za-z0-9_-]{0,47})(?: · mends (?P<mends>\S+))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One entry. text: everything below its heading, verbatim; line: of its heading; mends: the entry an ERRATUM is about."""

    id: str
    day: date
    kind: str
    text: str
    line: int
    mends: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionLog:
    """The entries in the order of the file, and everything that is wrong with it."""

    entries: tuple[Decision, ...]
    findings: tuple[Finding, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids that may be cited."""
        return tuple(entry.id for entry in self.entries)


def read_decisions(path: Path) -> tuple[Decision, ...]:
    """The entries of a log without findings; raises FindingsError with all of them."""
    log = parse_decisions(read_bytes(path), where=path.name)
    if log.findings:
        raise FindingsError("is no decision log", log.findings, where=str(path))
    return log.entries


def parse_decisions(data: bytes, *, where: str) -> DecisionLog:
    """Split the log at its second-level headings; headings inside fences are text."""
    try:
        decode_utf8(data, where=where)
    except BeforehandError as err:
        return DecisionLog(entries=(), findings=(Finding(where=where, what=err.what, mend=err.mend),))
    headings = _headings(Markdown.scan(data), data)
    ends = [*(line.start for line in headings[1:]), len(data)][: len(headings)]
    findings: list[Finding] = []
    entries = []
    for line, end in zip(headings, ends, strict=True):
        entry = _entry(line, data[line.end + 1 : end].decode("utf-8"), where, findings)
        if entry is not None:
            entries.append(entry)
    return DecisionLog(entries=tuple(entries), findings=(*findings, *_across(entries, where)))


def _headings(document: Markdown, data: bytes) -> list[Line]:
    """Level-two headings, outside fences and HTML comments."""
    comments = [match.span() for match in re.finditer(rb"<!--.*?(?:-->|\Z)", data, re.DOTALL)]
    return [
        line
        for line in document.lines
        if not line.fence
        and re.match(rb" {0,3}##(?!#)", line.content)
        and not any(start < line.start < end for start, end in comments)
    ]


def _entry(line: Line, text: str, where: str, findings: list[Finding]) -> Decision | None:
    place = f"{where}:{line.number}"
    heading = line.content.decode("utf-8").rstrip("\r")
    match = HEADING.fullmatch(heading.rstrip())
    if match is None:
        findings.append(
            Finding(where=place, what=f"the heading {heading!r} is malformed", mend=f"write it as {FORM}")
        )
        return None
    try:
        day = date.fromisoformat(match["date"])
    except ValueError:
        findings.append(Finding(where=place, what=f"{match['date']} is no day of any calendar"))
        return None
    if match["kind"] not in KINDS:
        findings.append(
            Finding(where=place, what=f"{match['kind']} is no kind", mend=f"use one of {', '.join(KINDS)}")
        )
        return None
    if not text.strip():
        findings.append(
            Finding(where=place, what=f"{match['id']} says nothing below its heading", mend="write the text")
        )
    return Decision(
        id=match["id"], day=day, kind=match["kind"], text=text, line=line.number, mends=match["mends"]
    )


def _across(entries: list[Decision], where: str) -> list[Finding]:
    """Duplicate ids; errata without a target, or with one that is not above them; other kinds with a target."""
    findings = []
    seen: dict[str, int] = {}
    for entry in entries:
        place = f"{where}:{entry.line}"
        if entry.id in seen:
            what = f"the id {entry.id} stands on line {seen[entry.id]} already"
            findings.append(Finding(where=place, what=what, mend="give the later entry a new id"))
        if entry.kind == "ERRATUM" and entry.mends is None:
            mend = f"write ## {entry.day} · ERRATUM · {entry.id} · mends D7"
            findings.append(Finding(where=place, what="the erratum does not say what it mends", mend=mend))
        elif entry.kind == "ERRATUM" and entry.mends not in seen:
            what = f"mends {entry.mends}, which does not stand above it"
            findings.append(Finding(where=place, what=what, mend="name an earlier entry"))
        elif entry.kind != "ERRATUM" and entry.mends is not None:
            findings.append(
                Finding(where=place, what=f"a {entry.kind} mends nothing", mend="make it an ERRATUM")
            )
        seen.setdefault(entry.id, entry.line)
    return findings
