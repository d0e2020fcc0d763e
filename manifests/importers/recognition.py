"""Which importer reads a file: by content, the formats with fields of their own first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from manifests.errors import BeforehandError
from manifests.importers.csv_table import CsvImporter
from manifests.importers.generations import GenerationsImporter
from manifests.importers.inspect_log import InspectImporter
from manifests.importers.json_document import JsonDocumentImporter
from manifests.importers.jsonl import JsonlImporter
from manifests.importers.lighteval import LightevalImporter
from manifests.importers.lm_eval import LmEvalImporter
from manifests.importers.logfiles import LogFile, open_log
from manifests.importers.mapping import RowMap
from manifests.importers.parquet_table import ParquetImporter
from manifests.importers.reading import Defaults, Importer, Reading
from manifests.importers.scores import ScoresImporter

OWN_FORMATS: tuple[Importer, ...] = (
    InspectImporter(),
    LmEvalImporter(),
    LightevalImporter(),
    GenerationsImporter(),
    ScoresImporter(),
)
BY_MAP: tuple[Importer, ...] = (JsonlImporter(), JsonDocumentImporter(), CsvImporter(), ParquetImporter())
"""These read anything of their container through a map; a map that is given always means one of them."""


MISSHAPEN = (TypeError, AttributeError, KeyError, IndexError, UnicodeDecodeError, OverflowError)
"""What reaching into a foreign object raises where it is not built as expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A file with rows, the importer that reads it, and the files that belong to it."""

    file: LogFile
    importer: Importer
    companions: tuple[LogFile, ...]

    def read(self, *, defaults: Defaults, row_map: RowMap | None = None) -> Reading:
        """Open it. A log of another shape than its tool writes is wrong input, wherever in it that comes out."""
        try:
            reading = self.importer.read(self.file, self.companions, defaults=defaults, row_map=row_map)
        except MISSHAPEN as err:
            raise self._misshapen(err) from err
        return replace(reading, batches=self._guarded(reading.batches))

    def _guarded(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except MISSHAPEN as err:
            raise self._misshapen(err) from err

    def _misshapen(self, err: Exception) -> BeforehandError:
        return BeforehandError(
            f"does not have the shape that {self.importer.NAME} expects: {type(err).__name__}: {err}",
            where=str(self.file.path),
            mend="it was damaged, or the tool changed its format; a map may read it: --map (docs/importers.md)",
        )


def recognise(paths: Sequence[Path], *, by_map: bool = False) -> tuple[Log, ...]:
    """One log for each file that holds rows of its own, in the order given; the others become companions.

    by_map: a map was given, so only the formats that take one are asked. A companion without a log, and several
    companions that could belong to several logs, are refused.
    """
    importers = BY_MAP if by_map else (*OWN_FORMATS, *BY_MAP)
    logs: list[tuple[LogFile, Importer]] = []
    companions: list[tuple[LogFile, Importer]] = []
    for path in paths:
        file = open_log(path)
        importer = next((one for one in importers if one.part(file) is not None), None)
        if importer is None:
            raise BeforehandError(
                f"is no log that can be read: a {file.container} file"
                + (f" with the fields {', '.join(sorted(file.columns))}" if file.columns else ""),
                where=str(path),
                mend="docs/importers.md lists the formats and shows how to write a map",
            )
        (logs if importer.part(file) == "log" else companions).append((file, importer))
    return tuple(
        Log(file=file, importer=importer, companions=_belonging(file, importer, logs, companions))
        for file, importer in logs
    ) or _refuse(companions)


def _belonging(
    log: LogFile,
    importer: Importer,
    logs: Sequence[tuple[LogFile, Importer]],
    companions: Sequence[tuple[LogFile, Importer]],
) -> tuple[LogFile, ...]:
    """One companion belongs to every log of its format; as many as there are logs belong to them in order."""
    rivals = [file for file, other in logs if other is importer]
    mine = [file for file, other in companions if other is importer]
    if len(rivals) == 1 or len(mine) == 1:
        return tuple(mine)
    if len(mine) in {0, len(rivals)}:
        return tuple(mine[index] for index, file in enumerate(rivals) if file is log and mine)
    raise BeforehandError(
        f"{len(mine)} files belong to {len(rivals)} logs, and nothing says which to which",
        where=", ".join(file.path.name for file in mine),
        mend="name one such file a log, in the order of the logs",
    )


def _refuse(companions: Sequence[tuple[LogFile, Importer]]) -> tuple[Log, ...]:
    if not companions:
        return ()
    file, importer = companions[0]
    raise BeforehandError(
        f"holds no rows of its own: it belongs to another file of a {importer.NAME.partition('@')[0]} log",
        where=str(file.path),
        mend="name both files",
    )
