"""Rows in any order become one rows file in key order, in bounded memory: sorted runs on disk, merged by rank."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from manifests.rows import HEAVY, SCHEMA, key_order

RUN_BYTES = 32 * 1024 * 1024
SLICE_BYTES = 1024 * 1024
GROUP_ROWS, GROUP_BYTES = 65_536, 32 * 1024 * 1024
"""A row group ends at whichever comes first. Both are functions of the rows alone, so that the bytes are too."""


class RowsWriter:
    """Takes batches of rows, gives the rows without their completions, and writes the file. Scratch files lie in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pending: list[pa.RecordBatch] = []
        self._pending_bytes = 0
        self._runs: list[_Run] = []
        self._light: list[pa.Table] = []
        self._text_bytes: list[NDArray[np.int64]] = []
        self._order: NDArray[np.int64] | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Keep the rows of `batch`, in memory or in a run on disk."""
        self._pending.append(batch)
        self._pending_bytes += batch.nbytes
        if self._pending_bytes >= RUN_BYTES:
            self._end_run(in_memory=False)

    def light_rows(self) -> pa.Table:
        """Every row in key order without its completion. No further batch may be added."""
        if self._order is None:
            if self._pending or not self._runs:
                self._end_run(in_memory=not self._runs)
            self._light = [pa.concat_tables(self._light)]
            self._order = key_order(self._light[0])
            self._light = [self._light[0].take(pa.array(self._order))]
        return self._light[0]

    def write(self, path: Path) -> None:
        """`path` holds the rows as Parquet; the same rows give the same bytes under one pyarrow version."""
        self.light_rows()
        with pq.ParquetWriter(
            path, SCHEMA, compression="zstd", write_statistics=True, store_schema=True
        ) as writer:
            groups = self._groups()
            with ThreadPoolExecutor(
                max_workers=1
            ) as beside:  # the next group is merged while this one is packed
                coming = beside.submit(next, groups, None)
                while (group := coming.result()) is not None:
                    coming = beside.submit(next, groups, None)
                    writer.write_table(group, row_group_size=max(1, group.num_rows))

    def _end_run(self, *, in_memory: bool) -> None:
        table = pa.Table.from_batches(self._pending, schema=SCHEMA)
        order = key_order(table)
        if (np.diff(order) < 0).any():  # most logs are written in order: nothing is copied then
            table = table.take(pa.array(order))
        self._pending, self._pending_bytes = [], 0
        self._light.append(table.drop_columns(list(HEAVY)))
        lengths = pc.fill_null(pc.binary_length(table["completion"]), 0)
        self._text_bytes.append(lengths.to_numpy().astype(np.int64))
        run = _Run(table.num_rows, self._folder / f"run-{len(self._runs)}.arrow")
        run.keep(table) if in_memory else run.spill(table)
        self._runs.append(run)

    def _groups(self) -> Iterator[pa.Table]:
        """Row groups in key order. Each run is sorted, so its part of a group is its next rows."""
        if self._order is None:
            raise RuntimeError("light_rows comes first")
        starts = np.cumsum([0, *(run.n_rows for run in self._runs)])
        run_of = np.searchsorted(starts, self._order, side="right") - 1
        sizes = np.concatenate(self._text_bytes)[self._order]
        for first, last in _cuts(sizes):
            runs = run_of[first:last]
            counts = np.bincount(runs, minlength=len(self._runs))
            parts = [run.take(int(count)) for run, count in zip(self._runs, counts, strict=True) if count]
            joined = pa.concat_tables(parts) if parts else SCHEMA.empty_table()
            if len(parts) > 1:
                places = np.empty(len(runs), dtype=np.int64)
                places[np.argsort(runs, kind="stable")] = np.arange(len(runs))
                if (np.diff(places) < 0).any():
                    joined = joined.take(pa.array(places))
            yield joined.combine_chunks()


class _Run:
    """Rows in key order, in memory or in a file of small batches, handed out from the front."""

    def __init__(self, n_rows: int, path: Path) -> None:
        self.n_rows = n_rows
        self._path = path
        self._reader: pa.ipc.RecordBatchFileReader | None = None
        self._next = 0
        self._rest = SCHEMA.empty_table()

    def keep(self, table: pa.Table) -> None:
        self._rest = table

    def spill(self, table: pa.Table) -> None:
        rows = max(1, table.num_rows * SLICE_BYTES // max(1, table.nbytes))
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with pa.OSFile(str(self._path), "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
            writer.write_table(table, max_chunksize=rows)

    def take(self, count: int) -> pa.Table:
        """The next `count` rows."""
        parts = [self._rest]
        there = self._rest.num_rows
        while there < count:
            if self._reader is None:
                self._reader = pa.ipc.open_file(pa.OSFile(str(self._path), "rb"))
            batch = self._reader.get_batch(self._next)
            self._next += 1
            parts.append(pa.Table.from_batches([batch]))
            there += batch.num_rows
        joined = pa.concat_tables(parts)
        self._rest = joined.slice(count)
        return joined.slice(0, count)


def _cuts(sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """(first, last) of each row group; one empty group where there is no row."""
    ends = np.cumsum(sizes)
    first = 0
    while True:
        before = int(ends[first - 1]) if first else 0
        by_bytes = int(np.searchsorted(ends, before + GROUP_BYTES, side="right"))
        last = min(len(sizes), first + GROUP_ROWS, max(by_bytes, first + 1))
        yield first, last
        first = last
        if first >= len(sizes):
            return
