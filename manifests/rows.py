"""Rows: one sample each, as Parquet with one schema, one key and one order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from manifests.errors import BeforehandError, Finding

ROWS_FILE = "rows.parquet"
"""Name of the rows inside a unit's folder."""

STATEMENTS_FILE = "statements.jsonl"
"""Beside the rows where their source holds the problems' texts: problem_id and the sha256 of its text, one a line."""

KEY = ("sampling", "problem_id", "sample_idx", "round", "cap_tokens")
"""What names a row, and the order in which rows lie."""

SCHEMA = pa.schema(
    [
        pa.field("sampling", pa.string(), nullable=False),
        pa.field("problem_id", pa.string(), nullable=False),
        pa.field("sample_idx", pa.int32(), nullable=False),
        pa.field("round", pa.int16(), nullable=False),
        pa.field("cap_tokens", pa.int32(), nullable=False),
        # Null where the source does not say: unknown is not 0.
        pa.field("max_tokens", pa.int32()),
        pa.field("seed", pa.int64()),
        pa.field("n_prompt_tokens", pa.int32()),
        pa.field("n_completion_tokens", pa.int32()),
        pa.field("finish_reason", pa.string()),
        pa.field("completion", pa.large_string()),
        pa.field("answer", pa.string()),
        pa.field("extractor", pa.string()),
        pa.field("correct", pa.bool_()),
        pa.field("reasons", pa.list_(pa.string()), nullable=False),
        pa.field("code_sha256", pa.string()),
        pa.field("verify_s", pa.float32()),
    ]
)

HEAVY = ("completion",)
"""Columns that make up nearly all of a file's bytes; checks of everything else leave them on disk."""
LIGHT = tuple(name for name in SCHEMA.names if name not in HEAVY)

FINISH_REASONS = ("stop", "length", "error")
NO_EXTRACTOR = "none"
INFRASTRUCTURE = "infra:"
"""Prefix of the reasons that make a comparison invalid instead of a sample wrong."""


def key_order(table: pa.Table) -> NDArray[np.int64]:
    """The places of the rows when they are sorted by `KEY`; text by code point, equal keys as they stood."""
    if is_in_key_order(table):  # most logs are: looking takes a tenth of the time that sorting does
        return np.arange(table.num_rows, dtype=np.int64)
    order = pc.sort_indices(table.select(list(KEY)), sort_keys=[(name, "ascending") for name in KEY])
    return np.asarray(order.to_numpy(), dtype=np.int64)


def is_in_key_order(table: pa.Table) -> bool:
    """No row has a smaller key than the row before it."""
    tied = np.ones(max(0, table.num_rows - 1), dtype=bool)
    for name in KEY:
        before, after = table[name].slice(0, len(tied)), table[name].slice(1)
        if bool((pc.greater(before, after).to_numpy() & tied).any()):
            return False
        tied &= pc.equal(before, after).to_numpy()
    return True


def in_key_order(table: pa.Table) -> pa.Table:
    """The rows sorted by `KEY`."""
    return table.take(pa.array(key_order(table)))


def read_rows(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows, or some of their columns; a damaged file or another schema is an error that names the file."""
    kept = [field for field in SCHEMA if columns is None or field.name in columns]
    batches = list(iterate_rows(path, [field.name for field in kept]))
    return pa.Table.from_batches(batches, schema=pa.schema(kept)).select(columns or SCHEMA.names)


def iterate_rows(
    path: Path, columns: Sequence[str] | None = None, *, rows_at_once: int = 65_536
) -> Iterator[pa.RecordBatch]:
    """The rows in batches, so that a file larger than memory can be read. Errors as `read_rows`."""
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:  # True holds every row group at once
            if not file.schema_arrow.equals(SCHEMA):
                raise BeforehandError(
                    "does not have the columns of a rows file", where=str(path), mend="import the rows again"
                )
            yield from file.iter_batches(
                batch_size=rows_at_once, columns=None if columns is None else list(columns)
            )
    except (pa.ArrowException, OSError) as err:
        raise BeforehandError(
            f"is no readable Parquet file: {str(err).splitlines()[0]}",
            where=str(path),
            mend="it was cut or changed after it was written; restore it or import the rows again",
        ) from err


def check_rows(table: pa.Table, *, where: str) -> tuple[Finding, ...]:
    """Findings that need no plan: order, duplicate keys, ranges, finish reasons, verdicts that contradict themselves."""
    findings = [
        *check_keys(table, where=where),
        *_check_order(table, where=where),
        *_check_ranges(table, where=where),
    ]
    cut = pc.and_(
        pc.equal(table["finish_reason"], "length"), pc.less(table["n_completion_tokens"], table["max_tokens"])
    )
    over = pc.greater(table["n_completion_tokens"], table["max_tokens"])
    ungraded = pc.and_(
        pc.equal(table["extractor"], NO_EXTRACTOR), pc.fill_null(table["correct"], fill_value=True)
    )
    for mask, what in (
        (pc.less(table["sample_idx"], 0), "sample_idx below 0"),
        (pc.less(table["round"], 0), "round below 0"),
        (pc.less(table["cap_tokens"], 1), "cap_tokens below 1"),
        (pc.less(table["max_tokens"], 0), "max_tokens below 0; unknown is null"),
        (pc.less(table["n_prompt_tokens"], 0), "n_prompt_tokens below 0; unknown is null"),
        (pc.less(table["n_completion_tokens"], 0), "n_completion_tokens below 0; unknown is null"),
        (cut, "finish_reason is length, yet fewer tokens than max_tokens"),
        (over, "more completion tokens than max_tokens"),
        (ungraded, "extractor is none, yet correct is not false"),
    ):
        count = count_true(mask)
        if count:
            findings.append(
                Finding(where=where, what=f"{count} rows: {what} (first: {_first_key(table, mask)})")
            )
    return tuple(findings)


def count_true(mask: pa.ChunkedArray) -> int:
    """Number of true values; null is not true."""
    return int(pc.sum(pc.fill_null(mask, fill_value=False)).as_py() or 0)


def check_keys(table: pa.Table, *, where: str) -> list[Finding]:
    """Keys that stand more than once."""
    keys = table.select(list(KEY))
    groups = keys.append_column("one", pa.array(np.ones(keys.num_rows, dtype=np.int32))).group_by(list(KEY))
    counted = groups.aggregate([("one", "sum")])
    repeated = counted.filter(pc.greater(counted["one_sum"], 1))
    if not repeated.num_rows:
        return []
    first = ", ".join(f"{name}={repeated[name][0].as_py()!r}" for name in KEY)
    return [
        Finding(
            where=where,
            what=f"{repeated.num_rows} keys stand more than once (first: {first})",
            mend="one sample is one row: remove the copies in the source",
        )
    ]


def _check_order(table: pa.Table, *, where: str) -> list[Finding]:
    if is_in_key_order(table):
        return []
    return [Finding(where=where, what="rows are not in key order", mend="import the rows again")]


def _check_ranges(table: pa.Table, *, where: str) -> list[Finding]:
    known = pc.is_in(table["finish_reason"], value_set=pa.array(FINISH_REASONS))
    unknown = pc.and_(pc.is_valid(table["finish_reason"]), pc.invert(known))
    if not count_true(unknown):
        return []
    example = table["finish_reason"].filter(unknown)[0].as_py()
    return [Finding(where=where, what=f"finish_reason {example!r} is none of {', '.join(FINISH_REASONS)}")]


def _first_key(table: pa.Table, mask: pa.ChunkedArray) -> str:
    row = table.select(list(KEY)).filter(pc.fill_null(mask, fill_value=False)).slice(0, 1).to_pylist()[0]
    return f"{row['sampling']} {row['problem_id']} sample {row['sample_idx']}"
