"""JSON Lines: one object a line, lines ended by LF alone (a completion may hold U+2028, U+0085 or any other break)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from manifests.errors import Finding

MOST_FINDINGS = 20
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class JsonLine:
    """One object and the line it stands on, counted from 1."""

    number: int
    value: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLines:
    """What was read, and every line that could not be."""

    records: tuple[JsonLine, ...]
    findings: tuple[Finding, ...]


def parse_json_lines(data: bytes, *, where: str) -> JsonLines:
    """Parse every line; blank lines are passed over, any other line that is no object is a finding."""
    records: list[JsonLine] = []
    findings: list[Finding] = []
    lines = data.removeprefix(BOM).split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line.decode("utf-8"))
            if not isinstance(value, dict):
                raise ValueError(f"a {type(value).__name__}, not an object")
        except ValueError as err:
            if len(findings) < MOST_FINDINGS:
                torn = number == len(lines)
                findings.append(_finding(err, line, place=f"{where}:{number}", torn=torn))
            continue
        records.append(JsonLine(number, value))
    return JsonLines(records=tuple(records), findings=tuple(findings))


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
