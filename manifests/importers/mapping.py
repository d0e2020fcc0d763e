"""The map: which field of a foreign log becomes which column of a row. Declared in TOML, or guessed from common names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from manifests.documents import Document
from manifests.errors import BeforehandError
from manifests.rows import SCHEMA

FieldPath = str | tuple[str | int, ...]
"""`a.b.0` goes down objects by name and lists by position; a list of steps where a name holds a dot."""

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

    @field_validator("columns")
    @classmethod
    def _columns_exist(
        cls, columns: dict[str, FieldPath | ColumnSource]
    ) -> dict[str, FieldPath | ColumnSource]:
        for name in columns:
            if name not in MAPPABLE:
                raise ValueError(f"{name} is no column of a row; known are {', '.join(MAPPABLE)}")
        return columns

    def source(self, column: str) -> ColumnSource | None:
        """The column's source in its long form, or None when the map does not name the column."""
        given = self.columns.get(column)
        if given is None or isinstance(given, ColumnSource):
            return given
        return ColumnSource(field=given)


COMMON_NAMES: Mapping[str, tuple[str, ...]] = {
    "problem_id": ("problem_id", "unique_id", "task_id", "question_id", "doc_id", "id"),
    "sample_idx": ("sample_idx", "sample_id", "sample_index", "sample", "epoch"),
    "round": ("round",),
    "cap_tokens": ("cap_tokens",),
    "max_tokens": ("max_tokens", "max_new_tokens"),
    "seed": ("seed",),
    "n_prompt_tokens": ("n_prompt_tokens", "prompt_tokens"),
    "n_completion_tokens": ("n_completion_tokens", "completion_tokens", "output_tokens", "n_tokens"),
    "finish_reason": ("finish_reason",),
    "completion": ("completion", "completion_text", "response", "generation", "output", "text", "solution"),
    "answer": ("answer", "extracted_answer", "pred", "prediction"),
    "extractor": ("extractor", "extraction_method"),
    "correct": ("correct", "is_correct", "accepted", "passed", "ok"),
    "verify_s": ("verify_s",),
}
"""Names that logs commonly use, the likeliest first."""


def guess_map(first: Mapping[str, Any], *, where: str) -> RowMap:
    """A map from the common names that the first object holds; without a problem id or a verdict there is none."""
    columns: dict[str, FieldPath | ColumnSource] = {}
    for column, names in COMMON_NAMES.items():
        found = next((name for name in names if name in first), None)
        if found is not None:
            columns[column] = (found,)
    missing = [column for column in ("problem_id", "correct") if column not in columns]
    if missing:
        raise BeforehandError(
            f"no field is known to hold {' or '.join(missing)}; the fields are {', '.join(sorted(first)) or 'none'}",
            where=where,
            mend="write a map and name it: --map map.toml (docs/formats.md shows one)",
        )
    return RowMap(format="map/1", columns=columns)


def describe(row_map: RowMap) -> str:
    """The map in one line, as it is printed when it was guessed."""
    parts = []
    for column in MAPPABLE:
        source = row_map.source(column)
        if source is not None and source.field is not None:
            steps = (
                source.field
                if isinstance(source.field, str)
                else ".".join(str(step) for step in source.field)
            )
            parts.append(f"{column} from {steps}")
    return ", ".join(parts)


def look_up(value: Any, path: FieldPath) -> Any:  # noqa: ANN401 - foreign JSON
    """Follow a path into parsed JSON. Raises KeyError, naming the step, when it leads nowhere."""
    steps = path.split(".") if isinstance(path, str) else path
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and str(step).isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            raise KeyError(step)
    return value
