"""The map: which field of a foreign log becomes which column of a row. Declared in TOML, or guessed from common names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from manifests.digests import sha256_document
from manifests.documents import Document
from manifests.errors import BeforehandError
from manifests.rows import SCHEMA

FieldPath = str | tuple[str | int, ...]
"""`a.b.0` goes down objects by name and lists by position; a list of steps where a name holds a dot.

The step `*` stands for every place of a list: each becomes a row, and its place the sample index.
"""

EACH = "*"

MAPPABLE = tuple(name for name in SCHEMA.names if name not in {"reasons", "code_sha256"})


class ColumnSource(Document):
    """Where a column comes from: a field, a constant, or the number of the line (from 0)."""

    field: FieldPath | None = None
    value: JsonValue = None
    line_number: bool = False
    prefix: str = ""
    """Written before a line number."""
    values: dict[str, JsonValue] | None = None
    """What each found value becomes; keys are JSON texts such as `true`, or strings. A value that is not listed is an error."""

    @model_validator(mode="after")
    def _has_one_source(self) -> ColumnSource:
        given = [self.field is not None, self.value is not None, self.line_number]
        if sum(given) != 1:
            raise ValueError("give exactly one of field, value, line_number")
        return self


class RowFilter(Document):
    """Only lines whose field matches the whole expression become rows; the others are counted."""

    field: FieldPath
    matches: str

    @field_validator("matches")
    @classmethod
    def _compiles(cls, expression: str) -> str:
        try:
            re.compile(expression)
        except re.error as err:
            raise ValueError(f"is no regular expression: {err}") from err
        return expression


class RowMap(Document):
    """`map/1`."""

    format: Literal["map/1"]
    columns: dict[str, FieldPath | ColumnSource] = Field(min_length=1)
    where: RowFilter | None = None
    rows: FieldPath | None = None
    """In a JSON document: where its list of rows lies."""
    statement: FieldPath | None = None
    """The problem's text. Its digest is kept with the unit, so that another text under the same id is found."""

    @field_validator("columns")
    @classmethod
    def _columns_exist(
        cls, columns: dict[str, FieldPath | ColumnSource]
    ) -> dict[str, FieldPath | ColumnSource]:
        for name in columns:
            if name not in MAPPABLE:
                raise ValueError(f"{name} is no column of a row; known are {', '.join(MAPPABLE)}")
        return columns

    @property
    def sha256(self) -> str:
        """Digest of the map; keys that came after map/1 was first written count only where they are used."""
        document = self.model_dump(mode="json")
        later = ("rows", "statement")
        return sha256_document(
            {key: value for key, value in document.items() if key not in later or value is not None}
        )

    @property
    def each(self) -> tuple[FieldPath, ...]:
        """The paths that go through every place of a list."""
        sources = (self.source(column) for column in self.columns)
        paths = (source.field for source in sources if source is not None and source.field is not None)
        return tuple(path for path in paths if EACH in steps_of(path))

    def source(self, column: str) -> ColumnSource | None:
        """The column's source in its long form, or None when the map does not name the column."""
        given = self.columns.get(column)
        if given is None or isinstance(given, ColumnSource):
            return given
        return ColumnSource(field=given)


COMMON_NAMES: Mapping[str, tuple[str, ...]] = {
    "problem_id": (
        "problem_id", "unique_id", "source_id", "task_id", "question_id", "doc_id", "id", "idx", "index",
    ),
    "sample_idx": ("sample_idx", "sample_id", "sample_index", "sample", "epoch"),
    "round": ("round",),
    "cap_tokens": ("cap_tokens",),
    "max_tokens": ("max_tokens", "max_new_tokens"),
    "seed": ("seed",),
    "n_prompt_tokens": ("n_prompt_tokens", "prompt_tokens"),
    "n_completion_tokens": ("n_completion_tokens", "completion_tokens", "output_tokens", "n_tokens"),
    "finish_reason": ("finish_reason",),
    "completion": (
        "completion", "completion_text", "response", "generation", "output", "text", "solution", "ys",
    ),
    "answer": ("answer", "extracted_answer", "pred", "prediction"),
    "extractor": ("extractor", "extraction_method"),
    "correct": ("correct", "is_correct", "accepted", "passed", "ok", "accs", "acc", "exact_match", "score"),
    "verify_s": ("verify_s",),
}  # fmt: skip
"""Names that logs commonly use, the likeliest first."""

STATEMENT_NAMES = ("statement", "formal_statement", "question", "problem", "query", "input", "prompt")
SHARED_BY_SAMPLES = ("problem_id", "cap_tokens", "max_tokens")
"""Columns that one value may fill for every sample of a list."""


def guess_map(first: Mapping[str, Any], *, where: str, statements: bool = False) -> RowMap:
    """A map from the common names that the first object holds; without a problem id or a verdict there is none.

    Where the verdicts are a list, every sample has a place in it, and further columns are lists of the same length.
    statements: guess the problem's text too.
    """
    columns: dict[str, FieldPath | ColumnSource] = {}
    verdict = next((name for name in COMMON_NAMES["correct"] if name in first), None)
    listed = first[verdict] if verdict is not None and isinstance(first[verdict], list) else None
    for column, names in COMMON_NAMES.items():
        found = next((name for name in names if _fits(first, name, column, listed)), None)
        if found is not None:
            columns[column] = (
                (found, EACH) if isinstance(first[found], list) and listed is not None else (found,)
            )
    missing = [column for column in ("problem_id", "correct") if column not in columns]
    if missing:
        raise BeforehandError(
            f"no field is known to hold {' or '.join(missing)}; the fields are {', '.join(sorted(first)) or 'none'}",
            where=where,
            mend="write a map and name it: --map map.toml (docs/importers.md shows one)",
        )
    text = next((name for name in STATEMENT_NAMES if statements and isinstance(first.get(name), str)), None)
    return RowMap(format="map/1", columns=columns, statement=None if text is None else (text,))


def _fits(first: Mapping[str, Any], name: str, column: str, listed: list[Any] | None) -> bool:
    if name not in first:
        return False
    if listed is None or column in SHARED_BY_SAMPLES:
        return True
    return isinstance(first[name], list) and len(first[name]) == len(listed)


def describe(row_map: RowMap) -> str:
    """The map in one line, as it is printed when it was guessed."""
    parts = []
    for column in MAPPABLE:
        source = row_map.source(column)
        if source is not None and source.field is not None:
            parts.append(f"{column} from {'.'.join(str(step) for step in steps_of(source.field))}")
    return ", ".join(parts)


def steps_of(path: FieldPath) -> tuple[str | int, ...]:
    """The path, step by step."""
    return tuple(path.split(".")) if isinstance(path, str) else path


def look_up(value: Any, path: FieldPath, place: int | None = None) -> Any:  # noqa: ANN401 - foreign JSON
    """Follow a path into parsed JSON; `*` is taken as `place`. Raises KeyError, naming the step, when it leads nowhere."""
    steps = path.split(".") if isinstance(path, str) else path
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and place is not None and step == EACH and place < len(value):
            value = value[place]
        elif isinstance(value, list) and str(step).isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            raise KeyError(step)
    return value


def list_length(value: Any, path: FieldPath) -> int:  # noqa: ANN401 - foreign JSON
    """How many places the list at `*` has. Raises KeyError when the path leads nowhere, ValueError where no list is."""
    steps = steps_of(path)
    at = steps.index(EACH)
    found = look_up(value, steps[:at]) if at else value
    if not isinstance(found, list):
        raise ValueError(f"{'.'.join(str(step) for step in steps[:at])} is a {type(found).__name__}, no list")
    return len(found)
