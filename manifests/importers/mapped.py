"""Rows through a map: shared by the formats that are tables or lists of objects, whatever file they lie in."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from manifests.errors import BeforehandError
from manifests.importers.batches import Refusals, chunks, nothing_in, record_batch
from manifests.importers.cells import CASTS, Cast
from manifests.importers.mapping import ColumnSource, FieldPath, RowMap, guess_map, list_length, look_up
from manifests.importers.reading import Defaults, Reading, Tally

MENDS = {
    "problem_id": "name its field in the map",
    "sampling": "name it before the file: SAMPLING=FILE",
    "sample_idx": "name its field in the map: several samples of a problem are told apart by it",
    "correct": "name its field in the map",
}
"""Columns that something has to fill."""


@dataclass(slots=True)
class Entry:
    """One object of a source. number: from 1; size: bytes, roughly; place: which element of its lists is meant."""

    number: int
    value: dict[str, Any]
    size: int
    place: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedSource:
    """What a format's reader knows of its file. as_text: every cell is text, as in CSV; place_of: names an entry."""

    path: Path
    place_of: Callable[[int], str]
    as_text: bool = False

    def place(self, entry: Entry) -> str:
        """Where the entry stands, with its place in the list it came from."""
        head = self.place_of(entry.number)
        return head if entry.place is None else f"{head}[{entry.place}]"


class MapReader:
    """Filters, spreads lists, casts. Every entry that cannot become a row is reported; nothing is repaired or skipped in silence."""

    def __init__(self, source: MappedSource, row_map: RowMap, defaults: Defaults, tally: Tally) -> None:
        self._source = source
        self._map = row_map
        self._tally = tally
        self._columns = _columns(row_map, defaults, source)
        self._refusals = Refusals()

    def batches(self, entries: Iterable[Entry]) -> Iterator[pa.RecordBatch]:
        """The rows of these entries; none once anything was refused."""
        each = self._map.each
        for chunk in chunks(entries, lambda entry: entry.size):
            samples = [one for entry in chunk for one in self._spread(entry, each)] if each else chunk
            kept = [entry for entry in samples if _matches(self._map, entry, self._source)]
            self._tally.n_read += len(samples)
            self._tally.n_left_out += len(samples) - len(kept)
            if self._map.statement is not None:
                self._note_statements(kept, self._map.statement)
            batch = record_batch(kept, self._columns, self._source.place, self._refusals)
            if batch is not None and batch.num_rows:
                yield batch

    def finish(self) -> None:
        """Raise FindingsError when anything was refused."""
        self._refusals.raise_if_any(self._source.path)

    def _spread(self, entry: Entry, paths: tuple[FieldPath, ...]) -> Iterator[Entry]:
        """One entry for each place of its lists, which must all be of one length."""
        try:
            lengths = {list_length(entry.value, path) for path in paths}
            if len(lengths) > 1:
                told = " and ".join(str(length) for length in sorted(lengths))
                raise ValueError(f"its lists of samples have different lengths: {told}")
        except KeyError as err:
            self._refusals.note(self._source.place(entry), f"has no field {err.args[0]!r}")
        except ValueError as err:
            self._refusals.note(self._source.place(entry), str(err))
        else:
            count = lengths.pop()
            yield from (
                Entry(entry.number, entry.value, entry.size // count, place) for place in range(count)
            )

    def _note_statements(self, kept: list[Entry], path: FieldPath) -> None:
        for entry in kept:
            place = self._source.place(entry)
            try:
                statement = look_up(entry.value, path, entry.place)
                if not isinstance(statement, str):
                    raise ValueError(f"a {type(statement).__name__} is no text")
                self._tally.note_statement(str(self._columns["problem_id"](entry)), statement, place)
            except KeyError as err:
                self._refusals.note(f"{place} statement", f"has no field {err.args[0]!r}")
            except ValueError as err:
                self._refusals.note(f"{place} statement", str(err))


def batches_through_map(
    entries: Iterable[Entry], source: MappedSource, row_map: RowMap, defaults: Defaults, tally: Tally
) -> Iterator[pa.RecordBatch]:
    """All entries of one source through its map."""
    reader = MapReader(source, row_map, defaults, tally)
    yield from reader.batches(entries)
    reader.finish()


def _matches(row_map: RowMap, entry: Entry, source: MappedSource) -> bool:
    if row_map.where is None:
        return True
    try:
        found = look_up(entry.value, row_map.where.field)
    except KeyError as err:
        raise BeforehandError(
            f"has no field {err.args[0]!r}, which `where` asks for",
            where=str(source.path.with_name(source.place_of(entry.number))),
        ) from err
    return re.fullmatch(row_map.where.matches, str(found)) is not None


def _columns(
    row_map: RowMap, defaults: Defaults, source: MappedSource
) -> dict[str, Callable[[Entry], object]]:
    """One function per column that this source fills; a column without one stays null."""
    constants = {"sampling": defaults.sampling, "cap_tokens": defaults.cap_tokens, "round": 0}
    if defaults.n_samples == 1:
        constants["sample_idx"] = 0
    columns: dict[str, Callable[[Entry], object]] = {}
    for name, cast in CASTS.items():
        given = row_map.source(name)
        if given is None and constants.get(name) is not None:
            given = ColumnSource(value=constants[name])
        if given is not None:
            columns[name] = _column(given, _from_text(name, cast) if source.as_text else cast)
    if "sample_idx" not in columns and row_map.each:
        columns["sample_idx"] = lambda entry: entry.place
    if "sample_idx" not in columns and defaults.number_samples and "problem_id" in columns:
        columns["sample_idx"] = _in_order_of_appearance(columns["problem_id"])
    for name, mend in MENDS.items():
        if name not in columns:
            raise BeforehandError(f"nothing says the {name} of a row", where=str(source.path), mend=mend)
    return columns


def _in_order_of_appearance(problem_id: Callable[[Entry], object]) -> Callable[[Entry], object]:
    seen: Counter[object] = Counter()

    def number(entry: Entry) -> int:
        key = problem_id(entry)
        seen[key] += 1
        return seen[key] - 1

    return number


def _column(source: ColumnSource, cast: Cast) -> Callable[[Entry], object]:
    if source.line_number:
        return lambda entry: cast(f"{source.prefix}{entry.number - 1}")
    if source.field is None:
        constant = cast(source.value)
        return lambda _entry: constant
    path = source.field
    if source.values is None:
        return _plain(path, cast)
    table = source.values

    def translated(entry: Entry) -> object:
        found = look_up(entry.value, path, entry.place)
        key = found if isinstance(found, str) else json.dumps(found)
        if key not in table:
            raise ValueError(f"the map's values do not list {key[:60]!r}")
        return cast(table[key])

    return translated


def _plain(path: FieldPath, cast: Cast) -> Callable[[Entry], object]:
    """Most columns are one key at the top: half the time of an import is spent here."""
    steps = path.split(".") if isinstance(path, str) else path
    if len(steps) == 1 and isinstance(steps[0], str):
        key = steps[0]
        return lambda entry: cast(entry.value[key])
    return lambda entry: cast(look_up(entry.value, path, entry.place))


TEXT_COLUMNS = ("sampling", "problem_id", "finish_reason", "completion", "answer", "extractor")
WHOLE_NUMBER = re.compile(r"[+-]?\d{1,20}")


def _from_text(name: str, cast: Cast) -> Cast:
    """The cast for a cell that can only be text: an empty one is null (but for a completion), numbers are read."""
    if name in {"completion", "problem_id", "sampling"}:
        return cast
    if name in TEXT_COLUMNS:
        return lambda text: cast(text or None) if isinstance(text, str) else cast(text)
    return lambda text: cast(_literal(text)) if isinstance(text, str) else cast(text)


def _literal(text: str) -> object:
    words = {"": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    if WHOLE_NUMBER.fullmatch(text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text


def read_entries(
    entries: Iterator[Entry],
    source: MappedSource,
    *,
    importer: str,
    row_map: RowMap | None,
    defaults: Defaults,
) -> Reading:
    """The reading of a table: through the given map, or one guessed from the first entry."""
    path = source.path
    first = next(entries, None)
    if first is None:
        raise nothing_in(path)
    used = row_map
    if used is None:
        used = guess_map(first.value, where=str(path), statements=defaults.statements)
    tally = Tally()
    batches = batches_through_map(chain([first], entries), source, used, defaults, tally)
    return Reading(
        importer=importer, files=(path,), batches=batches, tally=tally, row_map=used, guessed=row_map is None
    )
