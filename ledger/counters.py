"""A cumulative counter in a log: it only grows, unless the run was resumed and started again from zero."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from manifests.errors import BeforehandError, Finding
from manifests.files import decode_utf8, read_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """What the last value says, what the run really used, and where (0-based) the counter fell."""

    stated: Decimal
    real: Decimal
    restarts: tuple[int, ...]


def read_counter(values: Sequence[Decimal]) -> Counter:
    """Segments end where the next value is smaller; what was really used is the sum of the segments' last values.

    A floor: use between a segment's last value and the interruption was never written down.
    """
    restarts = tuple(place for place in range(1, len(values)) if values[place] < values[place - 1])
    ends = [values[place - 1] for place in restarts] + list(values[-1:])
    zero = Decimal(0)
    return Counter(stated=values[-1] if values else zero, real=sum(ends, zero), restarts=restarts)


def counter_findings(counter: Counter, *, where: str) -> tuple[Finding, ...]:
    """A counter that fell."""
    if not counter.restarts:
        return ()
    places = ", ".join(str(place) for place in counter.restarts)
    what = f"the counter falls at record {places} (from 0): the run was resumed; it states {counter.stated:.2f}, its segments sum to {counter.real:.2f}"
    return (Finding(where=where, what=what, mend="book the sum of the segments"),)


def read_counter_values(path: Path, field: str) -> tuple[Decimal, ...]:
    """The values of `field` (dots go inwards: `usage_so_far.cost`) in a JSON list or in JSON lines."""
    text = decode_utf8(read_bytes(path), where=str(path))
    try:
        if text.lstrip().startswith("["):
            records = json.loads(text, parse_float=Decimal, parse_int=Decimal)
        else:
            records = [
                json.loads(line, parse_float=Decimal, parse_int=Decimal)
                for line in text.split("\n")
                if line.strip()
            ]
    # A number beyond what Decimal holds, such as 1e9999999999999999999, is an InvalidOperation.
    except (ValueError, RecursionError, InvalidOperation) as err:
        raise BeforehandError(f"is neither a JSON list nor JSON lines: {err}", where=str(path)) from err
    return tuple(
        _value(record, field, where=f"{path}, record {number}") for number, record in enumerate(records)
    )


def _value(record: object, field: str, *, where: str) -> Decimal:
    for name in field.split("."):
        if not isinstance(record, dict) or name not in record:
            raise BeforehandError(
                f"has no field {field!r}",
                where=where,
                mend="give the field with dots inwards, such as usage_so_far.cost",
            )
        record = record[name]
    if not isinstance(record, Decimal) or not record.is_finite():
        raise BeforehandError(f"has {record!r} in {field!r}, which is no number", where=where)
    return record
