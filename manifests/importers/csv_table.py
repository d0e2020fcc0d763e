"""A table of comma-separated text with a header, read through a map. A quoted cell may hold line feeds."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from manifests.errors import BeforehandError
from manifests.importers.logfiles import LogFile
from manifests.importers.mapped import Entry, MappedSource, read_entries
from manifests.importers.mapping import RowMap
from manifests.importers.reading import Defaults, Part, Reading

NAME = "csv@1"
LONGEST_CELL = 2**31 - 1


class CsvImporter:
    """Any CSV with a header."""

    NAME = NAME

    def part(self, file: LogFile) -> Part | None:
        """Text that is no JSON and has at least two columns."""
        return "log" if file.container == "csv" and len(file.columns) > 1 else None

    def read(
        self,
        log: LogFile,
        companions: Sequence[LogFile] = (),
        *,
        defaults: Defaults,
        row_map: RowMap | None = None,
    ) -> Reading:
        """Open the log; without a map one is guessed from its header."""
        del companions
        path = log.path
        source = MappedSource(path=path, place_of=lambda number: f"{path.name} row {number}", as_text=True)
        return read_entries(_entries(path), source, importer=NAME, row_map=row_map, defaults=defaults)


def _entries(path: Path) -> Iterator[Entry]:
    """One entry a record, however many lines it takes. A record with more or fewer cells than the header is refused."""
    csv.field_size_limit(LONGEST_CELL)
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, strict=True)
        number = 0
        try:
            header = next(reader, [])
            repeated = next((name for name in header if name and header.count(name) > 1), None)
            if repeated is not None:
                raise BeforehandError(
                    f"has the column {repeated!r} {header.count(repeated)} times",
                    where=str(path),
                    mend="give each column a name of its own: which of them is meant cannot be told",
                )
            for number, cells in enumerate((record for record in reader if record), start=1):
                if len(cells) != len(header):
                    raise BeforehandError(
                        f"has {len(cells)} cells, the header {len(header)}",
                        where=f"{path} row {number} (ends on line {reader.line_num})",
                        mend="quote cells that hold a comma or a line feed; a last row that is short was cut",
                    )
                yield Entry(number, dict(zip(header, cells, strict=True)), sum(len(cell) for cell in cells))
        except csv.Error as err:
            raise BeforehandError(
                f"is no CSV: {err}",
                where=f"{path} row {number + 1} (line {reader.line_num})",
                mend="a quote is not closed: the writer may have been stopped half way",
            ) from err
        except UnicodeDecodeError as err:
            raise BeforehandError(
                f"is not UTF-8 (near row {number + 1})", where=str(path), mend="save the file as UTF-8"
            ) from err
