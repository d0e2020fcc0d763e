"""Counters that a log keeps beside its samples, such as the money spent so far: a resume starts them anew."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MARKS = ("so_far", "cumulative")
"""In the name of a field: its value, or every number below it, only ever rises."""


def restarted_counters(objects: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """One sentence for each counter that falls, with its last value and the sum over all segments."""
    paths = (
        [path for path in _paths(objects[0]) if any(mark in step for step in path for mark in MARKS)]
        if objects
        else []
    )
    return tuple(sentence for path in paths if (sentence := _sentence(path, objects)) is not None)


def _sentence(path: tuple[str, ...], objects: Sequence[Mapping[str, Any]]) -> str | None:
    values = [value for one in objects if (value := _value(one, path)) is not None]
    falls = [place for place in range(1, len(values)) if values[place] < values[place - 1]]
    if not falls:
        return None
    total = sum(values[place - 1] for place in falls) + values[-1]
    name = ".".join(path)
    return (
        f"counter: {name} starts anew {len(falls)} times (first at object {falls[0]}): its last value is {values[-1]:.6g}, "
        f"its segments sum to {total:.6g}"
    )


def _paths(value: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, part in value.items():
        if isinstance(part, Mapping):
            yield from _paths(part, (*above, name))
        elif isinstance(part, int | float) and not isinstance(part, bool):
            yield (*above, name)


def _value(value: Any, path: tuple[str, ...]) -> float | None:  # noqa: ANN401 - foreign JSON
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) <= sys.float_info.max else None
