"""Places in a TOML text: the line on which a dotted key stands. Standard library only."""

from __future__ import annotations

import re
from dataclasses import dataclass

HEADER = re.compile(r"\s*(\[\[?)\s*([A-Za-z0-9_.\s\"'-]+?)\s*\]\]?\s*(?:#.*)?")
KEY = re.compile(r"\s*([A-Za-z0-9_.\s\"'-]+?)\s*=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Dotted key -> line. A hint for error messages: multi-line strings that look like TOML can mislead it."""

    lines: tuple[tuple[str, int], ...]
    first_line: int

    @classmethod
    def of(cls, text: str, *, first_line: int) -> Places:
        """Read headers and keys. first_line: number of the text's first line in its file."""
        found: list[tuple[str, int]] = []
        counts: dict[str, int] = {}
        table = ""
        for number, line in enumerate(text.split("\n"), start=first_line):
            if header := HEADER.fullmatch(line):
                table = _dotted(header[2])
                if header[1] == "[[":
                    counts[table] = counts.get(table, -1) + 1
                    table = f"{table}.{counts[table]}"
                found.append((table, number))
            elif key := KEY.match(line):
                found.append((".".join(filter(None, (table, _dotted(key[1])))), number))
        return cls(lines=tuple(found), first_line=first_line)

    def line(self, place: str) -> int:
        """The line of the key, or of the first below it, or of the nearest table around it, or the first of the text."""
        known = dict(reversed(self.lines))
        parts = place.split(".")
        while parts:
            key = ".".join(parts)
            if key in known:
                return known[key]
            below = [line for name, line in self.lines if name.startswith(f"{key}.")]
            if below:
                return below[0]
            parts.pop()
        return self.first_line


def _dotted(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))
