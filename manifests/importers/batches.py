"""From single samples to record batches of the row schema: every cell is cast, and all that cannot be is reported at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from manifests.errors import BeforehandError, Finding, FindingsError
from manifests.importers.cells import CASTS, Cast
from manifests.importers.reading import Defaults, Tally
from manifests.jsonlines import MOST_FINDINGS
from manifests.rows import SCHEMA

ROWS_PER_BATCH = 4096
BYTES_PER_BATCH = 16 * 1024 * 1024

Entry = TypeVar("Entry")


@dataclass(slots=True, kw_only=True)
class RawRow:
    """One sample as an importer found it, every cell still foreign. place: where it stands in the source.

    Not frozen: a log has hundreds of thousands, and a frozen one takes three times as long to make.
    """

    place: str
    size: int
    """Bytes it took in the source, roughly: batches are cut by it."""
    problem_id: object
    sampling: object = None
    sample_idx: object = 0
    round: object = 0
    cap_tokens: object = None
    max_tokens: object = None
    seed: object = None
    n_prompt_tokens: object = None
    n_completion_tokens: object = None
    finish_reason: object = None
    completion: object = None
    answer: object = None
    extractor: object = None
    correct: object = None
    reasons: object = ()
    code_sha256: object = None
    verify_s: object = None
    statement: str | None = None
    """The problem's text, kept as a digest: two logs can then be told apart that ask different things under one id."""


class Refusals:
    """Cells that could not be taken: the first few with their place, and how many there are."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.count = 0

    def note(self, place: str, what: str) -> None:
        """One more cell that cannot be taken."""
        self.count += 1
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(Finding(where=place, what=what))

    def raise_if_any(self, path: Path) -> None:
        """FindingsError with every place, when there is any."""
        if not self.count:
            return
        raise FindingsError(
            f"{self.count} values cannot be taken"
            + (f" (the first {MOST_FINDINGS})" if self.count > MOST_FINDINGS else ""),
            tuple(self.findings),
            where=str(path),
            mend="mend the source, or the map; nothing was written",
        )


def chunks(
    entries: Iterable[Entry], size_of: Callable[[Entry], int], *, most: int = ROWS_PER_BATCH
) -> Iterator[list[Entry]]:
    """`entries` in lists of at most `most` entries and about BYTES_PER_BATCH bytes."""
    chunk: list[Entry] = []
    size = 0
    for entry in entries:
        chunk.append(entry)
        size += size_of(entry)
        if len(chunk) >= most or size >= BYTES_PER_BATCH:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def record_batch(
    chunk: list[Entry],
    columns: Mapping[str, Callable[[Entry], object]],
    place: Callable[[Entry], str],
    refusals: Refusals,
) -> pa.RecordBatch | None:
    """The chunk as rows; None once anything was refused, for nothing will be written then."""
    arrays = []
    for schema_field in SCHEMA:
        name = schema_field.name
        cell = columns.get(name)
        if cell is None:
            arrays.append(_constant(len(chunk), schema_field))
            continue
        try:
            values = [cell(entry) for entry in chunk]
        except (ValueError, KeyError):
            _explain(chunk, cell, place, name, refusals)
            values = []
        if not refusals.count:
            arrays.append(pa.array(values, type=schema_field.type))
    return None if refusals.count else pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _explain(
    chunk: list[Entry],
    cell: Callable[[Entry], object],
    place: Callable[[Entry], str],
    name: str,
    refusals: Refusals,
) -> None:
    for entry in chunk:
        try:
            cell(entry)
        except KeyError as err:
            refusals.note(f"{place(entry)} {name}", f"has no field {err.args[0]!r}")
        except ValueError as err:
            refusals.note(f"{place(entry)} {name}", str(err))


def _constant(count: int, schema_field: pa.Field) -> pa.Array:
    if schema_field.name == "reasons":
        return pa.array([[]] * count, type=schema_field.type)
    return pa.nulls(count, schema_field.type)


def batches_of_raw_rows(
    rows: Iterable[RawRow], path: Path, tally: Tally, defaults: Defaults
) -> Iterator[pa.RecordBatch]:
    """Cast the rows of an importer that knows its format."""
    columns = {name: _attribute(name, CASTS[name]) for name in SCHEMA.names}
    if defaults.cap_tokens is None:  # without a plan, a cap may be unknown
        columns["cap_tokens"] = _attribute("cap_tokens", CASTS["max_tokens"])
    refusals = Refusals()
    for chunk in chunks(rows, lambda row: row.size):
        tally.n_read += len(chunk)
        for row in chunk:
            if row.statement is not None:
                tally.note_statement(str(row.problem_id), row.statement, row.place)
        batch = record_batch(chunk, columns, lambda row: row.place, refusals)
        if batch is not None:
            yield batch
    refusals.raise_if_any(path)
    if not tally.n_read:
        raise nothing_in(path)


def nothing_in(path: Path) -> BeforehandError:
    """The error for a log without a row."""
    return BeforehandError(
        "holds no row", where=str(path), mend="the run that should have filled it wrote nothing"
    )


def _attribute(name: str, cast: Cast) -> Callable[[RawRow], object]:
    return lambda row: cast(getattr(row, name))
