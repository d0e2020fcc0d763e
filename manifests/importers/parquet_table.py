"""A Parquet table, read through a map; nested columns are objects and lists as in JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from manifests.errors import BeforehandError
from manifests.importers.batches import nothing_in
from manifests.importers.logfiles import LogFile
from manifests.importers.mapped import Entry, MappedSource, batches_through_map
from manifests.importers.mapping import RowMap, guess_map
from manifests.importers.reading import Defaults, Part, Reading, Tally

NAME = "parquet@1"
ROWS_AT_ONCE = 1024


class ParquetImporter:
    """Any Parquet table."""

    NAME = NAME

    def part(self, file: LogFile) -> Part | None:
        """Every Parquet file; formats with columns of their own are asked before."""
        return "log" if file.container == "parquet" else None

    def read(
        self,
        log: LogFile,
        companions: Sequence[LogFile] = (),
        *,
        defaults: Defaults,
        row_map: RowMap | None = None,
    ) -> Reading:
        """Open the log; without a map one is guessed from its columns."""
        del companions
        path = log.path
        entries = parquet_entries(path)
        first = next(entries, None)
        if first is None:
            raise nothing_in(path)
        used = (
            guess_map(first.value, where=str(path), statements=defaults.statements)
            if row_map is None
            else row_map
        )
        tally = Tally()
        source = MappedSource(path=path, place_of=lambda number: f"{path.name} row {number}")
        batches: Iterator[pa.RecordBatch] = batches_through_map(
            chain([first], entries), source, used, defaults, tally
        )
        return Reading(
            importer=NAME, files=(path,), batches=batches, tally=tally, row_map=used, guessed=row_map is None
        )


def parquet_entries(path: Path) -> Iterator[Entry]:
    """One entry a row, counted from 1; a damaged file is an error that names it."""
    number = 0
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:  # True holds every row group at once
            for batch in file.iter_batches(batch_size=ROWS_AT_ONCE):
                size = batch.nbytes // max(1, batch.num_rows)
                for value in batch.to_pylist():
                    number += 1
                    yield Entry(number, value, size)
    except (pa.ArrowException, OSError) as err:
        raise BeforehandError(
            f"is no readable Parquet file: {str(err).splitlines()[0]}",
            where=str(path),
            mend="it was cut or changed after it was written; restore it",
        ) from err
