"""Material: what every section is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from report.aggregate import Aggregate, Node
from report.content import Block, Cell, Inline, Paragraph, Text
from report.endpoints import Comparison
from report.evidence import Evidence
from report.numbers import DASH
from report.pointers import Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """The evidence, the numbers computed from it, and the pointers to them. notes: section id -> the author's notes."""

    evidence: Evidence
    aggregate: Aggregate
    comparisons: Mapping[str, Comparison]
    numbers: Numbers
    notes: Mapping[str, tuple[Block, ...]]

    @property
    def nodes(self) -> dict[str, Node]:
        """Endpoints and exploratory comparisons, by id."""
        return {**self.aggregate.endpoints, **self.aggregate.exploratory}

    @property
    def primaries(self) -> dict[str, Node]:
        """The primary endpoints."""
        return {name: node for name, node in self.aggregate.endpoints.items() if node.role == "primary"}

    def cell(self, pointer: str) -> Cell:
        """A number in a table; an en dash where there is none."""
        found = self.numbers.find(pointer)
        if found is None:
            return Cell((DASH,), sort="")
        return Cell((self.numbers(pointer),), sort=_sortable(found.exact))


def empty(sentence: str) -> Paragraph:
    """Why a section is empty, in one line."""
    return Paragraph(parts=(sentence,), kind="empty")


def paragraph(*parts: Inline) -> Paragraph:
    """A paragraph of these parts."""
    return Paragraph(parts=parts)


def plain(*parts: str) -> Cell:
    """A cell of text."""
    return Cell(tuple(parts))


def joined(items: Sequence[Text], between: str = ", ") -> Text:
    """Texts one after the other."""
    parts: list[Inline] = []
    for index, item in enumerate(items):
        parts += [between, *item] if index else item
    return tuple(parts)


def _sortable(exact: str) -> str:
    numerator, _, denominator = exact.partition("/")
    return repr(int(numerator) / int(denominator)) if denominator else exact
