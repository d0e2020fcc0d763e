"""report.html: the page as one file that needs no network, no other file and, to be read, no script.

Text of any origin goes through `text`; there is no `style=` and no `on…=` attribute, and the security policy names the digests
of the one style sheet and the one script, so that nothing else can run even if something slipped through.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import assert_never

from jinja2 import Environment, PackageLoader, StrictUndefined

from report.content import (
    PARTLY,
    Block,
    Bullets,
    Cell,
    Column,
    Fact,
    FigureBlock,
    GainTable,
    Heading,
    Page,
    Paragraph,
    Section,
    Table,
    Verbatim,
)
from report.forest import forest_html
from report.html_inline import anchor, chip, code, inlines
from report.pointers import Numbers, Provenance
from report.sections.masthead import INTEGRITY, LABELS
from report.svg import inline_svg, text

TEMPLATE, STYLE, SCRIPT = "report.html.j2", "report.css", "report.js"


def write_html(page: Page, numbers: Numbers, digests: Mapping[str, str]) -> bytes:
    """The whole file. digests: unit -> digest of its record, for the pop-ups."""
    head = page.masthead
    style = _asset(STYLE).replace("@FOOTER@", _css_string(f"{head.study} · {_standing(page)}"))
    script = _asset(SCRIPT)
    environment = Environment(
        loader=PackageLoader("report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - `text` escapes every piece, and what comes here is HTML already
    )
    rendered = environment.get_template(TEMPLATE).render(
        style=style,
        script=script,
        style_hash=_policy_hash(style),
        script_hash=_policy_hash(script),
        title=text(f"{head.study}: {_standing(page)}"),
        study=text(head.study),
        heading=text(head.title),
        banner=text(head.banner),
        outline=[(section.id, text(section.title)) for section in page.sections],
        verdict_class=_verdict_class(page),
        chip=chip(head.label),
        status=f"<b>{text(_status_word(head.status_word))}</b> {inlines(head.status)}",
        conclusions=[inlines(one) for one in head.conclusions],
        facts=[_fact(fact) for fact in head.facts],
        legend=" ".join(chip(label) for label in LABELS),
        inputs=inlines(head.inputs),
        integrity=text(INTEGRITY),
        sections=[_section(number, section) for number, section in enumerate(page.sections, start=1)],
        provenance=_provenance_table(numbers, digests),
        data=_data(numbers, digests),
    )
    return rendered.encode()


def _status_word(word: str) -> str:
    """Without the label, which the chip before it says already."""
    without = word.removeprefix("Retrospective, ")
    return without[:1].upper() + without[1:]


def _fact(fact: Fact) -> str:
    return f"<div><dt>{text(fact.question)}</dt><dd>{inlines(fact.answer)}<small>{inlines(fact.detail)}</small></dd></div>"


def _section(number_: int, section: Section) -> str:
    body = "\n".join(_block(block) for block in section.blocks)
    return (
        f'<section id="{section.id}" aria-labelledby="h-{section.id}">'
        f'<h2 id="h-{section.id}"><span class="no">{number_}</span>{text(section.title)}</h2>\n{body}</section>'
    )


def _block(block: Block) -> str:
    match block:
        case Paragraph():
            return _paragraph(block)
        case Bullets():
            return "<ul>" + "".join(f"<li>{inlines(item)}</li>" for item in block.items) + "</ul>"
        case Heading():
            return f"<h3>{text(block.text)}{f' {chip(block.chip)}' if block.chip else ''}</h3>"
        case Verbatim():
            return f'<pre tabindex="0" dir="auto">{_verbatim(block.text)}</pre>'
        case Table():
            return _table(block)
        case GainTable():
            return forest_html(block, inlines)
        case FigureBlock():
            return _figure(block)
        case _:
            assert_never(block)


def _paragraph(block: Paragraph) -> str:
    body = inlines(block.parts)
    if block.kind == "author":
        return f'<div class="author"><p>{body}</p></div>'
    return f"<p>{body}</p>" if block.kind == "plain" else f'<p class="{block.kind}">{body}</p>'


def _verbatim(foreign: str) -> str:
    lines = foreign.replace("\r\n", "\n").rstrip("\n").split("\n")
    return "\n".join("\t".join(text(part) for part in line.split("\t")) for line in lines)


def _figure(block: FigureBlock) -> str:
    picture = block.picture
    panels = "".join(
        f"<div>{f'<b>{text(panel.title)}</b>' if panel.title else ''}{inline_svg(panel)}</div>"
        for panel in picture.narrow
    )
    return (
        f'<figure id="fig-{block.number}"><figcaption><b>Figure {block.number}. {text(picture.question)}</b>'
        f'<span class="d">{inlines(block.caption)}</span></figcaption><div class="panels">{panels}</div></figure>'
    )


def _table(table: Table) -> str:
    kind = " ".join(name for name, on in (("sortable", table.sortable), ("stack", table.stacked)) if on)
    note = f" <small>{text(table.note)}</small>" if table.note else ""
    head = "".join(f'<th scope="col"{_class(column)}>{text(column.title)}</th>' for column in table.columns)
    rows = "".join(_row(table, index, row) for index, row in enumerate(table.rows))
    return (
        f'<div class="scroll{"" if table.stacked else " s"}"><table class="{kind}"><caption>{text(table.caption)}{note}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _row(table: Table, index: int, row: tuple[Cell, ...]) -> str:
    main = ' class="main"' if index in table.main_rows else ""
    cells = [f'<th scope="row">{inlines(row[0].parts)}</th>']
    for column, cell in zip(table.columns[1:], row[1:], strict=True):
        sort = "" if cell.sort is None else f' data-v="{text(cell.sort)}"'
        label = f' data-l="{text(column.title)}"' if table.stacked else ""
        content = f"<span>{inlines(cell.parts)}</span>" if table.stacked else inlines(cell.parts)
        cells.append(f"<td{_class(column)}{label}{sort}>{content}</td>")
    return f"<tr{main}>{''.join(cells)}</tr>"


def _class(column: Column) -> str:
    return ' class="r"' if column.numeric else ' class="nb"' if column.whole else ""


def _standing(page: Page) -> str:
    head = page.masthead
    if head.status_word == PARTLY:
        return f"{head.label}, confirmatory in part"
    return head.label if head.status_word == "PRIMARY." else f"{head.label}, not confirmatory"


def _verdict_class(page: Page) -> str:
    label = page.masthead.label
    return "registered" if label.startswith(("registered", "amended")) else label


def _provenance_table(
    numbers: Numbers, digests: Mapping[str, str]
) -> list[tuple[str, str, str, str, str, str, str]]:
    return [
        (
            anchor(name),
            code(name),
            text("; ".join(f"{field} {value.exact}" for field, value in one.values.items()) or "no number"),
            text(one.method),
            text(one.n),
            text(_inputs(one, digests)),
            text(one.label),
        )
        for name, one in numbers.pointers.items()
    ]


def _inputs(one: Provenance, digests: Mapping[str, str]) -> str:
    if len(one.units) > 4:
        return f"{len(one.units)} unit records; see section 14"
    return (
        " · ".join(f"{unit} sha256 {digests[unit][:12]}" for unit in one.units) or f"aggregate.json {one.at}"
    )


def _data(numbers: Numbers, digests: Mapping[str, str]) -> str:
    """The pop-ups' data as JSON that cannot end a script element."""
    data = {
        name: {
            "method": one.method,
            "n": one.n,
            "inputs": _inputs(one, digests),
            "label": one.label,
            "values": {field: value.exact for field, value in one.values.items()},
        }
        for name, one in numbers.pointers.items()
    }
    dumped = json.dumps(data, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return dumped.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return files("report").joinpath("templates", name).read_text("utf-8").rstrip("\n")


def _policy_hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _css_string(content: str) -> str:
    """A string inside CSS: only slugs and words of ours come here; anything else is left out."""
    return "".join(letter for letter in content if letter.isalnum() or letter in " ·-_,.")
