"""Pointers: every result, count and cost of the report under a stable name, as printed and as computed.

`P1.gain` is the field `gain` of the pointer `P1`. Sections print numbers only through a pointer, the narrative refers to them
as `{{P1.gain}}`, and `provenance.json` says of each where it comes from. `report.pointing` makes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from manifests.documents import Document
from report.content import Num


class PointedValue(Document):
    """One number. shown: as the report prints it; exact: as `aggregate.json` has it."""

    shown: str
    exact: str


class Provenance(Document):
    """Where the numbers of one pointer come from. units: the ids of the units that they were computed from."""

    method: str
    n: str
    label: str
    units: tuple[str, ...]
    at: str
    """JSON path in `aggregate.json`."""
    values: dict[str, PointedValue]


@dataclass(frozen=True, slots=True)
class Numbers:
    """All pointers of a report."""

    pointers: Mapping[str, Provenance]

    def __call__(self, pointer: str) -> Num:
        """The number as printed, with its pointer. A pointer that does not exist is a bug of ours: KeyError."""
        return Num(self.shown(pointer), pointer)

    def shown(self, pointer: str) -> str:
        """The number as text."""
        name, _, field = pointer.rpartition(".")
        return self.pointers[name].values[field].shown

    def find(self, pointer: str) -> PointedValue | None:
        """The number, or None where there is no such pointer."""
        name, _, field = pointer.rpartition(".")
        found = self.pointers.get(name)
        return found.values.get(field) if found else None

    def has(self, pointer: str) -> bool:
        """Whether the number exists."""
        return self.find(pointer) is not None
