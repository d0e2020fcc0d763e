"""Content: what a report says, as data. Two writers, Markdown and HTML, print the same content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from report.drawing import Picture


@dataclass(frozen=True, slots=True)
class Strong:
    """Bold."""

    parts: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Em:
    """Italic."""

    parts: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """Foreign text or a name, set in the fixed-width face."""

    text: str


@dataclass(frozen=True, slots=True)
class Num:
    """A number that says where it comes from. pointer: `P1.gain`; text: as printed."""

    text: str
    pointer: str


@dataclass(frozen=True, slots=True)
class Bounds:
    """An interval, `[+19.5, +27.2]`."""

    low: Num
    high: Num


@dataclass(frozen=True, slots=True)
class Link:
    """A link to a section of the report, `#id`, or to a file of the bundle."""

    text: str
    target: str


@dataclass(frozen=True, slots=True)
class Chip:
    """A label as a chip; in Markdown a plain word."""

    label: str


@dataclass(frozen=True, slots=True)
class Word:
    """The word of a conclusion with its mark. hollow: it only would read so."""

    text: str
    conclusion: str
    hollow: bool = False


Inline = str | Strong | Em | Code | Num | Bounds | Link | Chip | Word
"""A plain `str` is text, ours or foreign: every writer escapes it."""

Text = tuple[Inline, ...]
ParagraphKind = Literal["plain", "small", "warning", "empty", "author"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """One paragraph."""

    parts: Text
    kind: ParagraphKind = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bullets:
    """A list."""

    items: tuple[Text, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading below a section's."""

    text: str
    chip: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verbatim:
    """Many lines, as they are."""

    text: str
    language: str = "text"


@dataclass(frozen=True, slots=True)
class Column:
    """A column; numbers stand right. whole: its cells are never broken, as dates."""

    title: str
    numeric: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell. sort: the value that a sortable table compares, where the text does not serve."""

    parts: Text
    sort: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table. Rows are never dropped; narrow screens stack it, or scroll it sideways with the first column fixed."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    main_rows: frozenset[int] = frozenset()
    sortable: bool = True
    stacked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GainRow:
    """One comparison of the summary. Values in percentage points, None where there is no number."""

    id: str
    name: Text
    group: str
    label: str
    gain: Cell
    interval: Cell
    rates: Cell
    n: Cell
    p: Cell
    value: float | None
    low: float | None
    high: float | None
    planned: bool
    primary: bool
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GainTable:
    """The summary: in Markdown a table and a picture, in HTML a table whose middle column is drawn."""

    rows: tuple[GainRow, ...]
    picture: Picture
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureBlock:
    """A figure with its caption. The title is the question that it answers; the page numbers figures as they come."""

    picture: Picture
    caption: Text
    number: int = 0


Block = Paragraph | Bullets | Heading | Verbatim | Table | GainTable | FigureBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section; its number is its place. id: stable, for links."""

    id: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One of the six: a question, a large word, a small line."""

    question: str
    answer: Text
    detail: Text


PARTLY = "PRIMARY in part."
"""The status word where some primary endpoints earned it and some did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Masthead:
    """The first screen. label: of the primary endpoints; status: one bold word and a sentence."""

    banner: str
    title: str
    study: str
    label: str
    status_word: str
    status: Text
    conclusions: tuple[Text, ...]
    facts: tuple[Fact, ...]
    inputs: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The whole report."""

    masthead: Masthead
    sections: tuple[Section, ...]
