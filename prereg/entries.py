"""Amendments as they stand below the block, held against their seals. Standard library only.

An entry without seal and a seal without entry are both found. When both are taken away together, only git history or a bundle
that shows the chain's head can tell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from manifests.errors import Finding
from prereg.fences import Markdown
from prereg.seals import FILE_NAME, Chain

MARKER = re.compile(rb"<!-- AMENDMENT:(BEGIN|END) ([A-Za-z][A-Za-z0-9_-]{0,47}) -->")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An amendment as it stands in PREREGISTRATION.md. text: what lies between its two markers; line: of the first marker."""

    id: str
    text: str
    line: int


def entries_of(data: bytes, *, where: str) -> tuple[tuple[Entry, ...], tuple[Finding, ...]]:
    """The amendments of a registration's bytes, and what is wrong with their markers."""
    marks = [
        (match[1], match[2].decode(), line)
        for line in Markdown.scan(data).lines
        if not line.fence and (match := MARKER.fullmatch(line.content))
    ]
    entries: list[Entry] = []
    findings = []
    opened = None
    for kind, name, line in marks:
        if kind == b"BEGIN" and opened is None:
            opened = (name, line)
        elif kind == b"END" and opened is not None and opened[0] == name:
            text = data[opened[1].end + 1 : line.start].decode("utf-8", "replace")
            entries.append(Entry(id=name, text=text, line=opened[1].number))
            opened = None
        else:
            what = f"the marker of {name} does not pair with the one before it"
            findings.append(
                Finding(where=f"{where}:{line.number}", what=what, mend="restore the amendment's two markers")
            )
    if opened is not None:
        what = f"the amendment {opened[0]} has no END marker"
        findings.append(
            Finding(
                where=f"{where}:{opened[1].number}", what=what, mend="restore the amendment's two markers"
            )
        )
    return tuple(entries), tuple(findings)


def compare(chain: Chain, entries: tuple[Entry, ...], *, where: str) -> tuple[Finding, ...]:
    """Entries against seals: each has the other, with the same text, in the same order."""
    sealed = {seal.id: seal for seal in chain.seals}
    written = [entry.id for entry in entries]
    findings = []
    for entry in entries:
        place = f"{where}:{entry.line}"
        if entry.id not in sealed:
            what = f"the amendment {entry.id} has no seal: it was written by hand, or its seal was removed"
            findings.append(
                Finding(
                    where=place,
                    what=what,
                    mend=f"restore {FILE_NAME}; amendments are made by `beforehand prereg amend`",
                )
            )
        elif entry.text != sealed[entry.id].text:
            what = f"the text of the amendment {entry.id} is not the one that was sealed"
            findings.append(
                Finding(
                    where=place,
                    what=what,
                    mend=f"the sealed text stands in {FILE_NAME}; a new change is a new amendment",
                )
            )
    for number, seal in enumerate(chain.seals, start=1):
        if seal.id not in written:
            what = f"the amendment {seal.id} is sealed, and its text is not in {where}"
            findings.append(
                Finding(
                    where=f"{FILE_NAME}:{number}",
                    what=what,
                    mend="run the same `beforehand prereg amend` again, or restore the text",
                )
            )
    if not findings and written != [seal.id for seal in chain.seals]:
        findings.append(
            Finding(where=where, what="the amendments stand in another order than they were sealed in")
        )
    return tuple(findings)


def check_times(chain: Chain, *, frozen_at: str, now: str) -> tuple[Finding, ...]:
    """A clock that jumped back, and times that have not come yet. Times are compared as the strings they are."""
    findings = []
    before = frozen_at
    for number, seal in enumerate(chain.seals, start=1):
        place = f"{FILE_NAME}:{number}"
        if seal.sealed_at < before:
            findings.append(
                Finding(
                    where=place,
                    what=f"{seal.id} was sealed at {seal.sealed_at}, before what it follows ({before})",
                )
            )
        if seal.sealed_at > now:
            findings.append(
                Finding(where=place, what=f"{seal.id} was sealed at {seal.sealed_at}, which has not come yet")
            )
        before = max(before, seal.sealed_at)
    return tuple(findings)


def check_ledger_heads(chain: Chain, ledger: bytes | None) -> tuple[Finding, ...]:
    """Every ledger head in a seal must still be a row of the ledger: rows behind it were not cut off."""
    hashes: Mapping[str, str] = {}
    if ledger is not None:
        lines = ledger.decode("utf-8", "replace").split("\n")[1:]
        hashes = {line.partition(",")[0]: line.rpartition(",")[2].strip('"\r') for line in lines if line}
    findings = []
    for number, seal in enumerate(chain.seals, start=1):
        seq, _, digest = (seal.evidence.ledger_head or "").partition(":")
        if seq and seq != "0" and hashes.get(seq) != digest:
            what = f"{seal.id} saw row {seq} of the ledger, which is not there as it was"
            findings.append(
                Finding(
                    where=f"{FILE_NAME}:{number}", what=what, mend="restore ledger.csv from version control"
                )
            )
    return tuple(findings)


def with_entry(data: bytes, entry_id: str, text: str) -> bytes:
    """`data` with an amendment at its end; nothing before it changes."""
    gap = b"" if data.endswith(b"\n\n") else b"\n" if data.endswith(b"\n") else b"\n\n"
    begin, end = (f"<!-- AMENDMENT:{word} {entry_id} -->\n".encode() for word in ("BEGIN", "END"))
    return data + gap + begin + text.encode("utf-8") + end
