"""JSON Lines: one object a line, lines ended by LF alone (a completion may hold U+2028, U+0085 or any other break)."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from manifests.errors import Finding

MOST_FINDINGS = 20
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class JsonLine:
    """One object, the line it stands on, counted from 1, and the line's length in bytes."""

    number: int
    value: dict[str, Any]
    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLines:
    """What was read, and every line that could not be."""

    records: tuple[JsonLine, ...]
    findings: tuple[Finding, ...]


class JsonLineReader:
    """The objects of a stream, one at a time: memory holds one line. `findings` is whole once the iteration is over."""

    def __init__(self, stream: BinaryIO, *, where: str, lines_before: int = 0) -> None:
        self._stream = stream
        self._where = where
        self._first = lines_before + 1
        self._findings: list[Finding] = []

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The lines so far that are no object, the first MOST_FINDINGS of them."""
        return tuple(self._findings)

    def __iter__(self) -> Iterator[JsonLine]:
        """Blank lines are passed over, any other line that is no object is a finding."""
        for number, raw in enumerate(self._stream, start=self._first):
            line = raw.removeprefix(BOM) if number == 1 else raw
            if line.isspace() or not line:
                continue
            try:
                value = json.loads(line.decode("utf-8"))
                if not isinstance(value, dict):
                    raise ValueError(f"a {type(value).__name__}, not an object")
            except RecursionError:
                self._note(Finding(where=f"{self._where}:{number}", what="is nested too deeply to be read"))
            except ValueError as err:
                torn = not line.endswith(b"\n")
                self._note(_finding(err, line.rstrip(b"\n"), place=f"{self._where}:{number}", torn=torn))
            else:
                yield JsonLine(number, value, len(line))

    def _note(self, finding: Finding) -> None:
        if len(self._findings) < MOST_FINDINGS:
            self._findings.append(finding)


def parse_json_lines(data: bytes, *, where: str) -> JsonLines:
    """Parse every line; blank lines are passed over, any other line that is no object is a finding."""
    reader = JsonLineReader(io.BytesIO(data), where=where)
    records = tuple(reader)
    return JsonLines(records=records, findings=reader.findings)


def _finding(err: ValueError, line: bytes, *, place: str, torn: bool) -> Finding:
    if isinstance(err, UnicodeDecodeError):
        return Finding(
            where=place, what=f"is not UTF-8 (byte {err.start} of the line)", mend="save the file as UTF-8"
        )
    if isinstance(err, json.JSONDecodeError) and err.msg == "Extra data" and line.lstrip()[:1] == b"{":
        return Finding(
            where=place,
            what=f"holds more than one object (the second begins at character {err.pos + 1})",
            mend="a line feed was lost: put each object on its own line",
        )
    if torn:
        return Finding(
            where=place,
            what="is cut short: the file ends inside an object",
            mend="the writer was stopped half way; finish the run, or remove this last line and say so",
        )
    return Finding(where=place, what=f"is no JSON object: {err}")
