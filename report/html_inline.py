"""Inline parts as HTML: foreign text escaped and isolated, numbers with their pointers, labels as chips."""

from __future__ import annotations

from typing import assert_never

from manifests.text import printable
from report.content import Bounds, Chip, Code, Em, Inline, Link, Num, Strong, Text, Word
from report.svg import text

WORDS = {
    "improved": "up",
    "degraded": "down",
    "no_detectable_difference": "null",
    "invalid": "invalid",
    "incomplete": "open",
    "pending": "open",
}


def inlines(parts: Text) -> str:
    """A line of inline parts."""
    return "".join(_inline(part) for part in parts)


def chip(label: str) -> str:
    """A label as a chip with a mark that reads without colour."""
    return f'<span class="chip {text(label)}">{text(label.replace("-", " "))}</span>'


def number(part: Num, *, stop: bool = False) -> str:
    """A number with its pointer. stop: it is a stop of the Tab key; in tables only the gain is."""
    name, _, _ = part.pointer.rpartition(".")
    tab = "" if stop else ' tabindex="-1"'
    return f'<span class="n" data-ptr="{text(part.pointer)}"><a href="#{anchor(name)}"{tab}>{text(part.text)}</a></span>'


def anchor(name: str) -> str:
    """The id of a pointer's row: one id a name, whatever the name holds."""
    return f"ptr-{text(name)}"


def _inline(part: Inline) -> str:
    match part:
        case str():
            return text(part)
        case Strong():
            return f"<strong>{inlines(part.parts)}</strong>"
        case Em():
            return f"<em>{inlines(part.parts)}</em>"
        case Code():
            return code(part.text)
        case Num():
            return number(part, stop=part.pointer.endswith((".gain", ".spent")))
        case Bounds():
            return f'<span class="iv">[{number(part.low)}, {number(part.high)}]</span>'
        case Link():
            return f'<a href="{text(part.target)}">{text(part.text)}</a>'
        case Chip():
            return chip(part.label)
        case Word():
            hollow = " cond" if part.hollow else ""
            return f'<span class="word {WORDS.get(part.conclusion, "open")}{hollow}">{text(part.text)}</span>'
        case _:
            assert_never(part)


def code(foreign: str) -> str:
    """Foreign text: isolated in direction, control characters made visible."""
    shown = printable(foreign)
    pieces = (
        text(shown).replace("⟨", '<span class="ctl">⟨').replace("⟩", "⟩</span>")
        if shown != foreign
        else text(shown)
    )
    return f"<bdi><code>{pieces}</code></bdi>"
