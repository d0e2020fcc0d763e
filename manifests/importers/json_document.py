"""A JSON document that holds a list of objects, read through a map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from manifests.errors import BeforehandError
from manifests.importers.batches import nothing_in
from manifests.importers.counters import restarted_counters
from manifests.importers.logfiles import LogFile, read_json_document
from manifests.importers.mapped import Entry, MappedSource, batches_through_map
from manifests.importers.mapping import RowMap, guess_map, look_up
from manifests.importers.reading import Defaults, LogFacts, Part, Reading, Tally

NAME = "json@1"


class JsonDocumentImporter:
    """A list of objects, or an object that holds one; `rows` in the map says where."""

    NAME = NAME

    def part(self, file: LogFile) -> Part | None:
        """Every JSON document; formats with fields of their own are asked before."""
        return "log" if file.container == "json" else None

    def read(
        self,
        log: LogFile,
        companions: Sequence[LogFile] = (),
        *,
        defaults: Defaults,
        row_map: RowMap | None = None,
    ) -> Reading:
        """Open the log; without a map one is guessed from its first object."""
        del companions
        path = log.path
        objects = _objects(read_json_document(path), path, row_map)
        if not objects:
            raise nothing_in(path)
        used = row_map
        if used is None:
            used = guess_map(objects[0], where=str(path), statements=defaults.statements)
        tally = Tally()
        size = max(1, path.stat().st_size // len(objects))
        entries = (Entry(number, value, size) for number, value in enumerate(objects, start=1))
        source = MappedSource(path=path, place_of=lambda number: f"{path.name}[{number - 1}]")
        batches: Iterator[pa.RecordBatch] = batches_through_map(entries, source, used, defaults, tally)
        return Reading(
            importer=NAME,
            files=(path,),
            batches=batches,
            tally=tally,
            facts=LogFacts(deviations=restarted_counters(objects)),
            row_map=used,
            guessed=row_map is None,
        )


def _objects(document: Any, path: Path, row_map: RowMap | None) -> list[dict[str, Any]]:  # noqa: ANN401 - foreign JSON
    found = document
    if row_map is not None and row_map.rows is not None:
        try:
            found = look_up(document, row_map.rows)
        except KeyError as err:
            raise BeforehandError(
                f"has no field {err.args[0]!r}, where the map's `rows` lead", where=str(path)
            ) from err
    elif isinstance(document, dict):
        lists = [key for key, value in document.items() if _is_list_of_objects(value)]
        if len(lists) != 1:
            told = f"{len(lists)} of its fields hold a list of objects"
            raise BeforehandError(
                f"is no list of samples: {told}",
                where=str(path),
                mend='say which in the map: rows = "results"',
            )
        found = document[lists[0]]
    if not isinstance(found, list) or not all(isinstance(element, dict) for element in found):
        raise BeforehandError("does not hold a list of objects", where=str(path))
    return found


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(element, dict) for element in value)
