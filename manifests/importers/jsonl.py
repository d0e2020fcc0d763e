"""JSON Lines, one sample a line, read through a map."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from manifests.digests import sha256_bytes
from manifests.errors import BeforehandError, Finding, FindingsError
from manifests.files import read_bytes
from manifests.importers.mapping import ColumnSource, RowMap, guess_map, look_up
from manifests.jsonlines import MOST_FINDINGS, JsonLine, parse_json_lines
from manifests.records import SourceFile
from manifests.rows import FINISH_REASONS, SCHEMA

NAME = "jsonl@1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRows:
    """What one source gave: the rows, the map that was used, how many lines its filter left out."""

    table: pa.Table
    row_map: RowMap
    guessed: bool
    source: SourceFile
    n_read: int
    n_left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What the plan says where a source is silent. sampling None: the source must name it."""

    sampling: str | None
    cap_tokens: int
    n_samples: int | None
    """Planned samples per problem; with 1, a source need not number its samples."""


def read_jsonl(path: Path, *, row_map: RowMap | None, defaults: Defaults) -> ImportedRows:
    """Read one log. Every line that cannot become a row is reported; nothing is repaired or skipped in silence."""
    data = read_bytes(path)
    lines = parse_json_lines(data, where=path.name)
    if lines.findings:
        raise FindingsError("cannot be read to the end", lines.findings, where=str(path))
    if not lines.records:
        raise BeforehandError(
            "holds no row", where=str(path), mend="the run that should have filled it wrote nothing"
        )
    used = guess_map(lines.records[0].value, where=str(path)) if row_map is None else row_map
    kept = [line for line in lines.records if _matches(used, line, path)]
    converters = _converters(used, defaults, where=str(path))
    columns: dict[str, list[object]] = {name: [] for name in converters}
    findings: list[Finding] = []
    for line in kept:
        for name, convert in converters.items():
            try:
                columns[name].append(convert(line))
            except (ValueError, KeyError) as err:
                what = f"has no field {err.args[0]!r}" if isinstance(err, KeyError) else str(err)
                columns[name].append(None)
                findings.append(Finding(where=f"{path.name}:{line.number} {name}", what=what))
    if findings:
        raise FindingsError(
            f"{len(findings)} values cannot be taken"
            + (f" (the first {MOST_FINDINGS})" if len(findings) > MOST_FINDINGS else ""),
            tuple(findings[:MOST_FINDINGS]),
            where=str(path),
            mend="mend the source, or the map; nothing was written",
        )
    return ImportedRows(
        table=_table(columns, len(kept)),
        row_map=used,
        guessed=row_map is None,
        source=SourceFile(name=path.name, bytes=len(data), sha256=sha256_bytes(data)),
        n_read=len(lines.records),
        n_left_out=len(lines.records) - len(kept),
    )


def _matches(row_map: RowMap, line: JsonLine, path: Path) -> bool:
    if row_map.where is None:
        return True
    try:
        found = look_up(line.value, row_map.where.field)
    except KeyError as err:
        raise BeforehandError(
            f"has no field {err.args[0]!r}, which `where` asks for", where=f"{path}:{line.number}"
        ) from err
    return re.fullmatch(row_map.where.matches, str(found)) is not None


def _table(columns: dict[str, list[object]], count: int) -> pa.Table:
    arrays = []
    for field in SCHEMA:
        values = columns.get(field.name)
        if values is None:
            values = [[]] * count if field.name == "reasons" else [None] * count
        arrays.append(pa.array(values, type=field.type))
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def _converters(
    row_map: RowMap, defaults: Defaults, *, where: str
) -> dict[str, Callable[[JsonLine], object]]:
    """One function per column that this source fills; a column without one stays null."""
    constants = {"sampling": defaults.sampling, "cap_tokens": defaults.cap_tokens, "round": 0}
    if defaults.n_samples == 1:
        constants["sample_idx"] = 0
    converters = {}
    for name, cast in CASTS.items():
        source = row_map.source(name)
        if source is None and constants.get(name) is not None:
            source = ColumnSource(value=constants[name])
        if source is not None:
            converters[name] = _converter(source, cast)
    mends = {
        "problem_id": "name its field in the map",
        "sampling": "name it before the file: SAMPLING=FILE",
        "sample_idx": "name its field in the map: several samples of a problem are told apart by it",
        "correct": "name its field in the map",
    }
    for name, mend in mends.items():
        if name not in converters:
            raise BeforehandError(f"nothing says the {name} of a row", where=where, mend=mend)
    return converters


def _converter(source: ColumnSource, cast: Callable[[Any], object]) -> Callable[[JsonLine], object]:
    if source.line_number:
        return lambda line: cast(f"{source.prefix}{line.number - 1}")
    if source.field is None:
        constant = cast(source.value)
        return lambda _line: constant
    path = source.field
    if source.values is None:
        return lambda line: cast(look_up(line.value, path))
    table = source.values

    def translated(line: JsonLine) -> object:
        found = look_up(line.value, path)
        key = found if isinstance(found, str) else json.dumps(found)
        if key not in table:
            raise ValueError(f"the map's values do not list {key[:60]!r}")
        return cast(table[key])

    return translated


def _problem_id(value: Any) -> str:  # noqa: ANN401 - foreign JSON, as in all casts below
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise ValueError(f"{_shown(value)} is no problem id")
    return _text(str(value))


def _text(value: Any) -> str:  # noqa: ANN401
    if not isinstance(value, str):
        raise ValueError(f"{_shown(value)} is no text")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as err:
        raise ValueError(
            f"holds a lone surrogate (\\u{ord(value[err.start]):04x}), which no UTF-8 file can hold"
        ) from err
    return value


def _text_or_null(value: Any) -> str | None:  # noqa: ANN401
    return None if value is None else _text(value)


def _answer(value: Any) -> str | None:  # noqa: ANN401
    """Extracted answers are kept as text; a number keeps the digits that JSON gave it."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    return _text_or_null(value)


def _integer(bits: int) -> Callable[[Any], int]:
    limit = 2 ** (bits - 1)

    def cast(value: Any) -> int:  # noqa: ANN401
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"{_shown(value)} is no whole number")
        if not -limit <= value < limit:
            raise ValueError(f"{value} is out of range")
        return value

    return cast


def _integer_or_null(bits: int) -> Callable[[Any], int | None]:
    cast = _integer(bits)
    return lambda value: None if value is None else cast(value)


def _verdict(value: Any) -> bool | None:  # noqa: ANN401
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and value in {0, 1}:
        return bool(value)
    raise ValueError(f"{_shown(value)} is no verdict: true, false, 0, 1 or null")


def _finish_reason(value: Any) -> str | None:  # noqa: ANN401
    if value is None or value in FINISH_REASONS:
        return None if value is None else str(value)
    raise ValueError(
        f"{_shown(value)} is none of {', '.join(FINISH_REASONS)}; translate it with `values` in the map"
    )


def _seconds(value: Any) -> float | None:  # noqa: ANN401
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ValueError(f"{_shown(value)} is no number of seconds")
    return float(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


CASTS: dict[str, Callable[[Any], object]] = {
    "sampling": _text,
    "problem_id": _problem_id,
    "sample_idx": _integer(32),
    "round": _integer(16),
    "cap_tokens": _integer(32),
    "max_tokens": _integer_or_null(32),
    "seed": _integer_or_null(64),
    "n_prompt_tokens": _integer_or_null(32),
    "n_completion_tokens": _integer_or_null(32),
    "finish_reason": _finish_reason,
    "completion": _text_or_null,
    "answer": _answer,
    "extractor": _text_or_null,
    "correct": _verdict,
    "verify_s": _seconds,
}
