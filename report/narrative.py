"""The author's prose, `narrative.md`: notes to sections, with numbers that are looked up and never typed.

`## limitations` opens the notes of that section; text above the first heading goes to the summary. A paragraph, a list and the
marks `**strong**`, `*em*` and `` `code` `` are all there is. `{{P1.gain}}` becomes the number of that pointer; it is matched by
a regular expression and looked up, never evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from manifests.errors import Finding
from manifests.files import decode_utf8
from report.content import Block, Bullets, Code, Em, Inline, Num, Paragraph, Strong, Text
from report.pointers import Numbers

FILE_NAME = "narrative.md"
HEADING = re.compile(r"#{1,3}\s+(.+?)\s*#*\s*")
REFERENCE = re.compile(r"\{\{\s*([A-Za-z0-9][A-Za-z0-9_./-]*)\s*\}\}")
INLINE = re.compile(
    r"(?P<code>`[^`\n]+`)|(?P<strong>\*\*[^*\n]+\*\*)|(?P<em>\*[^*\n]+\*)|(?P<ref>" + REFERENCE.pattern + ")"
)
LEAD = "Author's note."


@dataclass(frozen=True, slots=True, kw_only=True)
class NarrativePart:
    """A paragraph or a list item, the line it begins on, and the section it belongs to."""

    section: str
    line: int
    text: str
    is_item: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrative:
    """Notes by section id, and every reference that names no number."""

    notes: Mapping[str, tuple[Block, ...]]
    findings: tuple[Finding, ...]


def read_narrative(data: bytes, numbers: Numbers, section_ids: tuple[str, ...]) -> Narrative:
    """The notes of `data`. An unknown section or reference is a finding; the reference is shown as unknown."""
    findings: list[Finding] = []
    notes: dict[str, list[Block]] = {}
    items: list[Text] = []
    last: NarrativePart | None = None
    for part in narrative_parts(data):
        if part.section not in section_ids:
            findings.append(_unknown_section(part, section_ids))
            continue
        blocks = notes.setdefault(part.section, [])
        text = tuple(_inlines(part, numbers, findings))
        if part.is_item:
            items = [*items, text] if last and last.is_item and last.section == part.section else [text]
            if len(items) > 1:
                blocks.pop()
            blocks.append(Bullets(items=tuple(items)))
        else:
            lead: Text = () if blocks else (Strong((LEAD,)), " ")
            blocks.append(Paragraph(parts=(*lead, *text), kind="author"))
        last = part
    return Narrative(
        notes={section: tuple(blocks) for section, blocks in notes.items()}, findings=tuple(_once(findings))
    )


def narrative_parts(data: bytes) -> Iterator[NarrativePart]:
    """Paragraphs and list items in order, lines counted from 1."""
    section, start, lines = "summary", 0, list[str]()
    for number, line in enumerate([*decode_utf8(data, where=FILE_NAME).splitlines(), ""], start=1):
        heading = HEADING.fullmatch(line)
        is_item = line.lstrip().startswith(("- ", "* "))
        if lines and (heading or is_item or not line.strip()):
            yield _part(section, start, lines)
            lines = []
        if heading:
            section = heading[1].strip().lower()
        elif line.strip():
            if not lines:
                start = number
            lines.append(line.strip())


def _part(section: str, line: int, lines: list[str]) -> NarrativePart:
    text = " ".join(lines)
    is_item = text.startswith(("- ", "* "))
    return NarrativePart(section=section, line=line, text=text[2:] if is_item else text, is_item=is_item)


def _inlines(part: NarrativePart, numbers: Numbers, findings: list[Finding]) -> Iterator[Inline]:
    place = 0
    for match in INLINE.finditer(part.text):
        if match.start() > place:
            yield part.text[place : match.start()]
        place = match.end()
        yield _inline(match, part, numbers, findings)
    if place < len(part.text):
        yield part.text[place:]


def _inline(match: re.Match[str], part: NarrativePart, numbers: Numbers, findings: list[Finding]) -> Inline:
    if match["code"]:
        return Code(match[0][1:-1])
    if match["strong"]:
        return Strong(tuple(_inner(match[0][2:-2], part, numbers, findings)))
    if match["em"]:
        return Em(tuple(_inner(match[0][1:-1], part, numbers, findings)))
    reference = REFERENCE.fullmatch(match[0])
    pointer = reference[1] if reference else match[0]
    found = numbers.find(pointer)
    if found is None:
        findings.append(
            Finding(
                where=f"{FILE_NAME}:{part.line}",
                what=f"{{{{{pointer}}}}} names no number of this report",
                mend="provenance.json lists every pointer with its fields",
            )
        )
        return f"[unknown: {pointer}]"
    return Num(found.shown, pointer)


def _inner(text: str, part: NarrativePart, numbers: Numbers, findings: list[Finding]) -> Iterator[Inline]:
    inside = NarrativePart(section=part.section, line=part.line, text=text, is_item=part.is_item)
    yield from _inlines(inside, numbers, findings)


def _unknown_section(part: NarrativePart, section_ids: tuple[str, ...]) -> Finding:
    return Finding(
        where=f"{FILE_NAME}:{part.line}",
        what=f"belongs to {part.section!r}, which is no section",
        mend=f"use a heading of {', '.join(section_ids)}",
    )


def _once(findings: list[Finding]) -> Iterator[Finding]:
    seen: set[Finding] = set()
    for finding in findings:
        if finding not in seen:
            seen.add(finding)
            yield finding
