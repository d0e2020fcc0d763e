"""The frozen block of a registration: where it begins, where it ends, its design, the hash line below it.

Standard library only: a registration can be verified wherever there is a Python.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from manifests.digests import is_sha256, sha256_bytes
from manifests.errors import Finding, FindingsError
from prereg.fences import Fence, Line, Markdown

BEGIN = "<!-- PREREG:BEGIN -->"
END = "<!-- PREREG:END -->"
HASH_KEY = "PREREG_SHA256"
DESIGN_INFO = "toml design"
BOM = b"\xef\xbb\xbf"

ALMOST_A_MARKER = re.compile(rb"\s*<!--\s*PREREG\s*:\s*(BEGIN|END)\s*-->\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class HashLine:
    """A line `PREREG_SHA256: …` below the block. sha256: 64 hex digits, or empty when the line is malformed."""

    number: int
    start: int
    end: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The bytes between the two markers, and what stands around them.

    raw: after the newline of the BEGIN line, up to the first byte of the END line.
    begin_line, end_line: numbers of the two marker lines; tail: offset of the byte behind the END marker.
    """

    raw: bytes
    begin_line: int
    end_line: int
    tail: int
    hash_lines: tuple[HashLine, ...]
    fences: tuple[Fence, ...]
    where: str

    @property
    def sha256(self) -> str:
        """Hex digest of the raw bytes: what freeze records."""
        return sha256_bytes(self.raw)

    @property
    def design(self) -> Fence:
        """The one design fence; none, two, or one outside the block are refused."""
        findings = _design_findings(self)
        if findings:
            raise FindingsError("has no usable design", findings, where=self.where)
        return next(fence for fence in self.fences if self.holds(fence) and _is_design(fence))

    def holds(self, fence: Fence) -> bool:
        """True when the fence lies between the markers."""
        return self.begin_line < fence.opened < self.end_line


def find_block(data: bytes, *, where: str) -> Block:
    """The block of a registration's bytes.

    Raises FindingsError when there is not exactly one pair of markers, each alone on its line, outside any fence and in order,
    when the file starts with a byte order mark, and when the block is not UTF-8 with LF line endings.
    """
    document = Markdown.scan(data)
    markers = tuple(
        line
        for line in document.lines
        if b"<!--" in line.content and ALMOST_A_MARKER.fullmatch(line.content.removeprefix(BOM))
    )
    outside = tuple(line for line in markers if not line.fence)
    findings = [*_bom_findings(data, where), *_marker_findings(outside, markers, where)]
    begin, end = _pair(outside)
    if not findings and begin and end:
        findings = [*_byte_findings(data[begin.end + 1 : end.start], begin.number + 1, where)]
    if findings or not begin or not end:
        raise FindingsError(
            "has no frozen block that can be read in one way only", tuple(findings), where=where
        )
    return Block(
        raw=data[begin.end + 1 : end.start],
        begin_line=begin.number,
        end_line=end.number,
        tail=end.end,
        hash_lines=tuple(_hash_lines(document, below=end.number)),
        fences=document.fences,
        where=where,
    )


def with_lf(data: bytes) -> bytes:
    """The same text without byte order mark and with LF alone: what is left equal when only line endings differ."""
    return data.removeprefix(BOM).replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def with_hash_line(data: bytes, block: Block) -> bytes:
    """`data` with the line `PREREG_SHA256: <hex>` right below the END marker; no other byte differs."""
    line = f"{HASH_KEY}: {block.sha256}\n".encode()
    if block.tail == len(data):
        return data + b"\n" + line
    return data[: block.tail + 1] + line + data[block.tail + 1 :]


def _pair(markers: tuple[Line, ...]) -> tuple[Line | None, Line | None]:
    begins = [line for line in markers if line.content == BEGIN.encode()]
    ends = [line for line in markers if line.content == END.encode()]
    return (begins[0] if begins else None, ends[0] if ends else None)


def _bom_findings(data: bytes, where: str) -> list[Finding]:
    if not data.startswith(BOM):
        return []
    return [
        Finding(where=f"{where}:1", what="starts with a byte order mark", mend="save it as UTF-8 without BOM")
    ]


def _marker_findings(outside: tuple[Line, ...], markers: tuple[Line, ...], where: str) -> list[Finding]:
    findings = [
        _spelling(line, where) for line in outside if line.content not in {BEGIN.encode(), END.encode()}
    ]
    for marker in (BEGIN, END):
        spelled = [line for line in outside if _meant(line) == marker]
        if not spelled:
            findings.append(_missing(marker, [line for line in markers if _meant(line) == marker], where))
        findings.extend(
            Finding(
                where=f"{where}:{line.number}",
                what=f"a further {marker}, after the one on line {spelled[0].number}",
                mend="keep one pair of markers; show examples inside a fenced code block",
            )
            for line in spelled[1:]
        )
    begin, end = _pair(outside)
    if begin and end and end.number < begin.number:
        findings.append(
            Finding(
                where=f"{where}:{end.number}",
                what=f"{END} stands above {BEGIN} (line {begin.number})",
                mend="put BEGIN above END",
            )
        )
    return findings


def _meant(line: Line) -> str:
    match = ALMOST_A_MARKER.fullmatch(line.content.removeprefix(BOM))
    return BEGIN if match and match[1].upper() == b"BEGIN" else END


def _spelling(line: Line, where: str) -> Finding:
    place = f"{where}:{line.number}"
    if line.content.rstrip(b"\r") in {BEGIN.encode(), END.encode()}:
        return Finding(
            where=place, what="the line ends with CR LF", mend="save the file with LF line endings"
        )
    if line.content.removeprefix(BOM) in {BEGIN.encode(), END.encode()}:
        return Finding(
            where=place,
            what="a byte order mark stands before the marker",
            mend="save it as UTF-8 without BOM",
        )
    return Finding(
        where=place, what="is almost a marker", mend=f"write exactly {_meant(line)}, without spaces around it"
    )


def _missing(marker: str, fenced: list[Line], where: str) -> Finding:
    if fenced:
        return Finding(
            where=f"{where}:{fenced[0].number}",
            what=f"the only {marker} stands inside the fence that opens on line {fenced[0].fence}",
            mend="close that fence above the marker, or move the marker out of it",
        )
    return Finding(where=where, what=f"has no line {marker}", mend="put it alone on its line")


def _byte_findings(raw: bytes, first_line: int, where: str) -> list[Finding]:
    findings = []
    if (at := raw.find(b"\r")) >= 0:
        what = "a carriage return stands in the block"
        place = _place(raw, at, first_line, where)
        findings.append(Finding(where=place, what=what, mend="save the file with LF line endings"))
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as err:
        what = f"is not UTF-8 (byte 0x{raw[err.start]:02x})"
        findings.append(
            Finding(where=_place(raw, err.start, first_line, where), what=what, mend="save it as UTF-8")
        )
    return findings


def _place(raw: bytes, offset: int, first_line: int, where: str) -> str:
    line = first_line + raw.count(b"\n", 0, offset)
    return f"{where}:{line}"


def _hash_lines(document: Markdown, *, below: int) -> list[HashLine]:
    return [
        HashLine(number=line.number, start=line.start, end=line.end, sha256=_recorded(line.content))
        for line in document.lines[below:]
        if not line.fence and line.content.lstrip().upper().startswith(HASH_KEY.encode())
    ]


def _recorded(content: bytes) -> str:
    key, _, value = content.partition(b": ")
    text = value.decode("ascii", "replace")
    return text if key == HASH_KEY.encode() and is_sha256(text) else ""


def _is_design(fence: Fence) -> bool:
    return fence.info.split() == DESIGN_INFO.split()


def _design_findings(block: Block) -> tuple[Finding, ...]:
    designs = [fence for fence in block.fences if _is_design(fence)]
    inside = [fence for fence in designs if block.holds(fence)]
    findings = [
        Finding(
            where=f"{block.where}:{fence.opened}",
            what="a design fence stands outside the block, where nothing freezes it",
            mend="move it between the markers, or take `design` off its info string",
        )
        for fence in designs
        if not block.holds(fence)
    ]
    findings += [
        Finding(
            where=f"{block.where}:{fence.opened}",
            what=f"a second design fence, after the one on line {inside[0].opened}",
            mend="keep one design in the block",
        )
        for fence in inside[1:]
    ]
    if not inside:
        others = [
            fence for fence in block.fences if block.holds(fence) and fence.info.lower().startswith("toml")
        ]
        hint = f"; the fence on line {others[0].opened} says {others[0].info!r}" if others else ""
        findings.append(
            Finding(
                where=f"{block.where}:{block.begin_line}",
                what=f"the block holds no design fence{hint}",
                mend=f"open one with ```{DESIGN_INFO}",
            )
        )
    return tuple(findings)
