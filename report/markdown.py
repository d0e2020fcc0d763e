"""Foreign text in Markdown: always data, never markup."""

from __future__ import annotations

import re
from collections.abc import Sequence

from manifests.text import printable

SPECIAL = re.compile(r"([\\`*\[\]<>#|~&$]|(?<![^\W_])_|_(?![^\W_]))")
LINE_START = re.compile(r"^(\s*)(?=[-+=])|^(\s*\d+)(?=[.)])")
"""What would open a list, a rule or a heading where the text begins a line."""
LINK_LIKE = re.compile(
    r"(?i)\b(https?|ftp|mailto|javascript|data|file|xmpp|www|[a-z][\w.+-]*|[\w.+-]+(?=@))(:(?=\S)|(?<=www)\.|@(?=[\w-]*\.\w))"
)


def escape(text: str) -> str:
    """One line of foreign text as plain Markdown text: no emphasis, link, HTML, table cell or control character."""
    return guard_start(escape_inline(text))


def escape_inline(text: str) -> str:
    """Foreign text that stands inside a line; where it may begin one, `guard_start` has to follow."""
    # A word joiner keeps autolinking readers from making a link of foreign text.
    return LINK_LIKE.sub("\\1\u2060\\2", SPECIAL.sub(r"\\\1", printable(text)))


def guard_start(line: str) -> str:
    """The line without what would make it a list, a rule or a heading."""
    return LINE_START.sub(lambda match: match[0] + "\\", line)


def code(text: str) -> str:
    """Foreign text as a code span that survives a table cell."""
    shown = printable(text)
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if shown.startswith("`") or shown.endswith("`") or not shown else ""
    return f"{fence}{padding}{shown}{padding}{fence}".replace("|", "\\|")


def quote(text: str, *, language: str = "") -> str:
    """Many lines verbatim in a fence that no line of theirs can close; control characters made visible."""
    lines = [
        "\t".join(printable(part) for part in line.split("\t"))
        for line in text.replace("\r\n", "\n").rstrip("\n").split("\n")
    ]
    longest = max((len(match[0]) for line in lines for match in re.finditer(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *lines, fence])


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, numeric: Sequence[str] = ()) -> str:
    """A pipe table. Cells are Markdown already: escape foreign text before."""
    rule = ["--:" if column in numeric else ":--" for column in columns]
    lines = [columns, rule, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
