"""Markdown as lines of bytes, each known to stand inside a fenced code block or outside. Standard library only.

Source of the rules: CommonMark 0.31, 4.5. Fences inside list items and block quotes are not followed; a document in
which that matters has its markers reported as lying inside a fence, never silently accepted elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

OPENING = re.compile(rb" {0,3}(`{3,}|~{3,})([^\n]*)")
CLOSING = re.compile(rb" {0,3}(`{3,}|~{3,})[ \t\r]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line. start: offset of its first byte; content: without the newline; fence: line that opened the fence around it, or 0."""

    number: int
    start: int
    content: bytes
    fence: int

    @property
    def end(self) -> int:
        """Offset just behind the content: of the newline, or the end of the document."""
        return self.start + len(self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """One fenced code block. opened: its first line; content: the bytes between the two fence lines."""

    info: str
    opened: int
    content: bytes

    @property
    def first_line(self) -> int:
        """Number of the first line of the content."""
        return self.opened + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Markdown:
    """A document's lines and fences, in order."""

    lines: tuple[Line, ...]
    fences: tuple[Fence, ...]

    @classmethod
    def scan(cls, data: bytes) -> Markdown:
        """Split at line feeds and follow the fences; a fence that is never closed reaches the end of the document."""
        lines: list[Line] = []
        fences: list[Fence] = []
        opened = info_from = start = 0
        mark = b""
        for number, content in enumerate(data.split(b"\n"), start=1):
            if not opened and (match := _opens(content)):
                mark, opened, info_from = match[1], number, start + match.start(2)
                lines.append(Line(number=number, start=start, content=content, fence=opened))
            else:
                lines.append(Line(number=number, start=start, content=content, fence=opened))
                if opened and _closes(content, mark):
                    fences.append(_fence(data, opened=opened, info_from=info_from, end=start))
                    opened = 0
            start += len(content) + 1
        if opened:
            fences.append(_fence(data, opened=opened, info_from=info_from, end=len(data)))
        return cls(lines=tuple(lines), fences=tuple(fences))


def _opens(content: bytes) -> re.Match[bytes] | None:
    match = OPENING.fullmatch(content)
    # A backtick fence whose info string holds a backtick is inline code.
    return None if match is None or (match[1].startswith(b"`") and b"`" in match[2]) else match


def _closes(content: bytes, mark: bytes) -> bool:
    match = CLOSING.fullmatch(content)
    return match is not None and match[1].startswith(mark[:1]) and len(match[1]) >= len(mark)


def _fence(data: bytes, *, opened: int, info_from: int, end: int) -> Fence:
    newline = data.find(b"\n", info_from)
    info = data[info_from : newline if newline >= 0 else len(data)]
    content = data[newline + 1 : end] if newline >= 0 else b""
    return Fence(info=info.decode("utf-8", "replace").strip(), opened=opened, content=content)
