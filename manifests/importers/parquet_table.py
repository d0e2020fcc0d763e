"""A Parquet table, read through a map; nested columns are objects and lists as in JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from manifests.errors import BeforehandError
from manifests.importers.logfiles import LogFile
from manifests.importers.mapped import Entry, MappedSource, read_entries
from manifests.importers.mapping import RowMap
from manifests.importers.reading import Defaults, Part, Reading

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
        source = MappedSource(path=path, place_of=lambda number: f"{path.name} row {number}")
        return read_entries(parquet_entries(path), source, importer=NAME, row_map=row_map, defaults=defaults)


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
