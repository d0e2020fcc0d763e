"""JSON Lines, one object a line, read through a map."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from manifests.errors import Finding, FindingsError
from manifests.importers.batches import nothing_in
from manifests.importers.logfiles import LogFile
from manifests.importers.mapped import Entry, MappedSource, MapReader
from manifests.importers.mapping import RowMap, guess_map
from manifests.importers.plain_lines import PlainMap, blocks_of_lines
from manifests.importers.reading import Defaults, Part, Reading, Tally
from manifests.jsonlines import MOST_FINDINGS, JsonLine, JsonLineReader

NAME = "jsonl@1"


class JsonlImporter:
    """Any JSON lines."""

    NAME = NAME

    def part(self, file: LogFile) -> Part | None:
        """Every file of JSON lines; formats with fields of their own are asked before."""
        return "log" if file.container in {"jsonl", "empty"} else None

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
        first = first_object(path)
        used = (
            guess_map(first.value, where=str(path), statements=defaults.statements)
            if row_map is None
            else row_map
        )
        tally = Tally()
        return Reading(
            importer=NAME,
            files=(path,),
            batches=_batches(path, used, defaults, tally),
            tally=tally,
            row_map=used,
            guessed=row_map is None,
        )


def first_object(path: Path) -> JsonLine:
    """The first object; a file without one says why."""
    with path.open("rb") as stream:
        reader = JsonLineReader(stream, where=path.name)
        first = next(iter(reader), None)
    if first is None:
        _refuse_unread(reader.findings, path)
        raise nothing_in(path)
    return first


def objects_of(path: Path) -> Iterator[JsonLine]:
    """Every object of the file; raises at the end where a line was none."""
    with path.open("rb") as stream:
        reader = JsonLineReader(stream, where=path.name)
        yield from reader
    _refuse_unread(reader.findings, path)


def _refuse_unread(findings: Sequence[Finding], path: Path) -> None:
    if findings:
        raise FindingsError("cannot be read to the end", tuple(findings[:MOST_FINDINGS]), where=str(path))


def _batches(path: Path, row_map: RowMap, defaults: Defaults, tally: Tally) -> Iterator[pa.RecordBatch]:
    """Plain blocks go the quick way, two at a time, all others the exact way."""
    plain = PlainMap.of(row_map, defaults)
    source = MappedSource(path=path, place_of=lambda number: f"{path.name}:{number}")
    exact = MapReader(source, row_map, defaults, tally)
    lines = 0
    findings: list[Finding] = []
    with path.open("rb") as stream:
        for block, batch in _parsed(stream, plain):
            if batch is not None:
                tally.n_read += batch.num_rows
                yield batch
            else:
                reader = JsonLineReader(io.BytesIO(block), where=path.name, lines_before=lines)
                yield from exact.batches(Entry(line.number, line.value, line.size) for line in reader)
                findings.extend(reader.findings)
            lines += block.count(b"\n")
    _refuse_unread(findings, path)  # a line that is no object explains more than a cell that is missing
    exact.finish()


def _parsed(stream: BinaryIO, plain: PlainMap | None) -> Iterator[tuple[bytes, pa.RecordBatch | None]]:
    """Every block of lines in order, with its rows where it is plain."""
    blocks = blocks_of_lines(stream)
    if plain is None:
        yield from ((block, None) for block in blocks)
        return
    with ThreadPoolExecutor(max_workers=2) as pool:
        waiting: deque[tuple[bytes, Future[pa.RecordBatch | None]]] = deque()
        for block in blocks:
            waiting.append((block, pool.submit(plain.batch, block)))
            if len(waiting) > 2:
                done, future = waiting.popleft()
                yield done, future.result()
        for done, future in waiting:
            yield done, future.result()
