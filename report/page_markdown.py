"""README.md and summary.md: the page as Markdown, without HTML. Pointers leave no trace in the text, only in a map of lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import assert_never

from report import markdown
from report.content import (
    Block,
    Bounds,
    Bullets,
    Cell,
    Chip,
    Code,
    Em,
    FigureBlock,
    GainTable,
    Heading,
    Inline,
    Link,
    Masthead,
    Num,
    Page,
    Paragraph,
    Section,
    Strong,
    Table,
    Text,
    Verbatim,
    Word,
)
from report.sections.masthead import INTEGRITY, LABELS

OPEN, MIDDLE, CLOSE = "\x02", "\x03", "\x04"
"""Control characters mark a number's pointer while lines are counted; foreign text can hold none, it is made printable."""
MARKED = re.compile(f"{OPEN}([^{MIDDLE}]*){MIDDLE}([^{CLOSE}]*){CLOSE}")
SUMMARY_NOTE = (
    "Gains in percentage points (pp), candidate minus baseline, with their intervals; rates in per cent. n = problems × samples.\n"
    "p: of the registered test where its rule reads p. Cap: tokens of a completion at most."
)
GAIN_COLUMNS = ("Id", "Comparison", "Gain, pp [interval]", "Baseline → candidate, %", "n", "p", "Label")


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkdownPage:
    """The text, and which pointers stand on which line."""

    text: str
    lines: dict[int, tuple[str, ...]]


def write_readme(page: Page) -> MarkdownPage:
    """README.md."""
    targets = _targets(page)
    parts = [_masthead(page.masthead, targets)]
    parts += [_section(number, section, targets) for number, section in enumerate(page.sections, start=1)]
    return _unmarked("\n\n".join(parts) + "\n")


def write_summary(page: Page) -> MarkdownPage:
    """summary.md: the masthead's status, the summary and the cost, short enough for a mail."""
    head, targets = page.masthead, _targets(page)
    parts = [f"**{markdown.escape(head.banner)}**"] if head.banner else []
    parts.append(f"# {markdown.escape(head.title)}: summary")
    parts.append(f"> **{head.status_word}** {_line(head.status, targets)}")
    summary = next(section for section in page.sections if section.id == "summary")
    parts += [
        _gain_table(block) if isinstance(block, GainTable) else _block(block, targets)
        for block in summary.blocks
    ]
    for wanted in ("flow", "cost"):
        section = next(one for one in page.sections if one.id == wanted)
        parts += [_block(block, targets) for block in section.blocks[:1]]
    return _unmarked("\n\n".join(parts) + "\n")


def _targets(page: Page) -> dict[str, str]:
    """`#id` -> the anchor that a reader of Markdown makes of the heading."""
    targets = {}
    for number, section in enumerate(page.sections, start=1):
        slug = re.sub(r"[^\w\- ]", "", f"{number}. {section.title}".lower()).replace(" ", "-")
        targets[f"#{section.id}"] = f"#{slug}"
    return targets


def _masthead(head: Masthead, targets: dict[str, str]) -> str:
    parts = [f"**{markdown.escape(head.banner)}**"] if head.banner else []
    parts.append(f"# {markdown.escape(head.title)}")
    parts += [_line(conclusion, targets) for conclusion in head.conclusions]
    parts.append(f"> **{head.status_word}** {_line(head.status, targets)}")
    facts = []
    for fact in head.facts:
        question = fact.question.rstrip("?") + ("?" if fact.question.endswith("?") else ":")
        facts.append(
            f"- **{markdown.escape(question)}** {_line(fact.answer, targets)}; {_line(fact.detail, targets)}."
        )
    parts.append("\n".join(facts))
    labels = " · ".join(f"`{label}`" for label in LABELS)
    parts.append(
        f"Labels: {labels}. {INTEGRITY}\nInputs: {_line(head.inputs, targets)}.\n"
        "The same content with the source of every number on hover: [report.html](report.html)."
    )
    return "\n\n".join(parts)


def _section(number: int, section: Section, targets: dict[str, str]) -> str:
    blocks = [_block(block, targets) for block in section.blocks]
    return "\n\n".join([f"## {number}. {markdown.escape(section.title)}", *blocks])


def _block(block: Block, targets: dict[str, str]) -> str:
    match block:
        case Paragraph():
            return _paragraph(block, targets)
        case Bullets():
            return "\n".join(f"- {_line(item, targets)}" for item in block.items)
        case Heading():
            chip = f" ({block.chip})" if block.chip else ""
            return f"### {markdown.escape(block.text)}{chip}"
        case Verbatim():
            return markdown.quote(block.text, language=block.language)
        case Table():
            return _table(block, targets)
        case GainTable():
            return f"{SUMMARY_NOTE}\n\n{_gain_table(block)}\n\n{_picture(block)}"
        case FigureBlock():
            return f"{_picture(block)} {_line(block.caption, targets)}"
        case _:
            assert_never(block)


def _paragraph(block: Paragraph, targets: dict[str, str]) -> str:
    line = _line(block.parts, targets)
    return f"> {line}" if block.kind in {"warning", "author"} else line


def _picture(block: GainTable | FigureBlock) -> str:
    picture = block.picture
    filled = " Filled: planned. Hollow: not planned." if isinstance(block, GainTable) else ""
    return (
        f"![{markdown.escape(picture.alt)}](figures/{picture.name}.png)\n\n"
        f"*Figure {block.number}. {markdown.escape(picture.question)}*{filled}"
    )


def _table(table: Table, targets: dict[str, str]) -> str:
    rows = []
    for index, row in enumerate(table.rows):
        cells = [_cell(cell, targets) for cell in row]
        if index in table.main_rows:
            cells[0] = f"**{cells[0]}**"
        rows.append(cells)
    columns = [markdown.escape(column.title) for column in table.columns]
    numeric = [markdown.escape(column.title) for column in table.columns if column.numeric]
    caption = f"**{markdown.escape(table.caption)}.**"
    note = f" {markdown.escape(table.note)}" if table.note else ""
    return f"{caption}{note}\n\n{markdown.table(columns, rows, numeric=numeric)}"


def _gain_table(table: GainTable) -> str:
    rows = []
    for row in table.rows:
        bold = "**" if row.primary else ""
        gain = _cell(row.gain, {})
        if row.value is not None:
            gain = f"{gain} {_cell(row.interval, {})}"
        rows.append(
            [
                row.id,
                f"{bold}{_line(row.name, {})}, {_role(row.group)}{bold}",
                gain,
                *(_cell(cell, {}) for cell in (row.rates, row.n, row.p)),
                row.label,
            ]
        )
    return markdown.table(GAIN_COLUMNS, rows, numeric=GAIN_COLUMNS[2:4])


def _role(group: str) -> str:
    return group.partition(",")[0].lower()


def _cell(cell: Cell, targets: dict[str, str]) -> str:
    return _line(cell.parts, targets)


def _line(parts: Text, targets: dict[str, str]) -> str:
    """One line. What would open a list or a heading where the text begins is escaped once, for the whole line."""
    return markdown.guard_start("".join(_inline(part, targets) for part in parts))


def _inline(part: Inline, targets: dict[str, str]) -> str:
    match part:
        case str():
            return markdown.escape_inline(part)
        case Strong():
            return f"**{''.join(_inline(one, targets) for one in part.parts)}**"
        case Em():
            return f"*{''.join(_inline(one, targets) for one in part.parts)}*"
        case Code():
            return markdown.code(part.text)
        case Num():
            return f"{OPEN}{part.pointer}{MIDDLE}{markdown.escape_inline(part.text)}{CLOSE}"
        case Bounds():
            return f"[{_inline(part.low, targets)},\u00a0{_inline(part.high, targets)}]"
        case Link():
            return f"[{markdown.escape_inline(part.text)}]({targets.get(part.target, part.target)})"
        case Chip():
            return part.label
        case Word():
            return f"would read: {part.text}" if part.hollow else part.text
        case _:
            assert_never(part)


def _unmarked(marked: str) -> MarkdownPage:
    lines: dict[int, tuple[str, ...]] = {}
    plain = []
    for number, line in enumerate(marked.split("\n"), start=1):
        pointers = tuple(dict.fromkeys(match[1] for match in MARKED.finditer(line)))
        if pointers:
            lines[number] = pointers
        plain.append(MARKED.sub(r"\2", line))
    return MarkdownPage(text="\n".join(plain), lines=lines)
