"""A log file before it is read: its kind and its first object, by content and never by the ending of its name."""

from __future__ import annotations

import contextlib
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from manifests.errors import BeforehandError
from manifests.files import read_bytes
from manifests.jsonlines import BOM

Container = Literal["jsonl", "json", "csv", "parquet", "zip", "empty"]
PEEK_BYTES = 64 * 1024
FIRST_LINE_BYTES = 64 * 1024 * 1024
JSON_BYTES = 2 * 1024**3
"""A JSON document is read whole; a larger one is refused with the mend to write JSON lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """One file. first: its first object (a JSON document: the document itself), empty where there is none.

    columns: the names at the top of a table, or the keys of `first`.
    """

    path: Path
    container: Container
    first: dict[str, Any]
    columns: frozenset[str]


def open_log(path: Path) -> LogFile:
    """Look at the beginning of a file; a missing or unreadable file is an error that names it."""
    try:
        with path.open("rb") as stream:
            head = stream.read(PEEK_BYTES)
    except FileNotFoundError as err:
        raise BeforehandError("does not exist", where=str(path)) from err
    except OSError as err:
        raise BeforehandError(f"cannot be read: {err.strerror}", where=str(path)) from err
    container, first = _look(path, head)
    columns = frozenset(first)
    if container == "parquet":
        columns = _parquet_columns(path)
    elif container == "csv":
        columns = frozenset(_first_row(head))
    return LogFile(path=path, container=container, first=first, columns=columns)


def read_json_document(path: Path) -> Any:  # noqa: ANN401 - foreign JSON
    """A whole JSON document of another tool (duplicate keys and NaN are its own business)."""
    if path.stat().st_size > JSON_BYTES:
        raise BeforehandError(
            "is a JSON document of more than 2 GiB, which has to be read whole",
            where=str(path),
            mend="write it as JSON lines: one sample a line",
        )
    try:
        return json.loads(read_bytes(path).removeprefix(BOM).decode("utf-8"))
    except UnicodeDecodeError as err:
        raise BeforehandError(
            f"is not UTF-8 (byte {err.start})", where=str(path), mend="save the file as UTF-8"
        ) from err
    except (ValueError, RecursionError) as err:
        raise BeforehandError(
            f"is no JSON: {err}", where=str(path), mend="the writer may have been stopped half way"
        ) from err


def _look(path: Path, head: bytes) -> tuple[Container, dict[str, Any]]:
    if head.startswith(b"PK\x03\x04") or zipfile.is_zipfile(path):
        return "zip", {}
    if head.startswith(b"PAR1"):
        return "parquet", {}
    text = head.removeprefix(BOM).lstrip()
    if not text:
        return "empty", {}
    if text[:1] == b"[":
        return "json", {}
    if text[:1] != b"{":
        return "csv", {}
    first = _first_line(path)
    if first is not None:
        return "jsonl", first
    # An object that does not end on its line is a document; one that ends nowhere is a torn line of JSON lines.
    with contextlib.suppress(BeforehandError):
        document = read_json_document(path)
        if isinstance(document, dict):
            return "json", document
    return "jsonl", {}


def _first_line(path: Path) -> dict[str, Any] | None:
    """The object on the first line that is not blank; {} for a line that only the line reader can explain, None for part of a document."""
    with path.open("rb") as stream:
        for raw in iter(lambda: stream.readline(FIRST_LINE_BYTES), b""):
            line = raw.removeprefix(BOM).strip()
            if line:
                break
        else:
            return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {} if len(line) > 1 and line.endswith(b"}") else None
    return value if isinstance(value, dict) else None


def _first_row(head: bytes) -> list[str]:
    import csv  # noqa: PLC0415 - only a table of text needs it

    lines = head.removeprefix(BOM).decode("utf-8", "replace").splitlines()
    with contextlib.suppress(csv.Error):
        return next(iter(csv.reader(lines[:1])), [])
    return []


def _parquet_columns(path: Path) -> frozenset[str]:
    try:
        return frozenset(pq.read_schema(path).names)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as err:
        raise BeforehandError(
            f"is no readable Parquet file: {str(err).splitlines()[0]}",
            where=str(path),
            mend="it was cut or changed after it was written; restore it",
        ) from err
