"""The summary's table in HTML: rows grouped by plan, the middle column drawn, the texts real text."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from report.content import GainRow, GainTable, Text
from report.drawing import Scale, ticks
from report.figures.axes import nice_range, signed
from report.svg import number, text

Render = Callable[[Text], str]


def forest_html(table: GainTable, render: Render) -> str:
    """Two lines a row on a phone, one on a desk. render: inline parts to HTML."""
    values = [value for row in table.rows for value in (row.value, row.low, row.high) if value is not None]
    scale = Scale(*nice_range(values), 0.0, 100.0)
    marks = ticks(scale.low, scale.high)
    bodies = "".join(
        _group(group, list(rows), scale, marks, render)
        for group, rows in groupby(table.rows, key=lambda row: (row.group, row.label))
    )
    picture = table.picture
    return (
        f'<figure class="first" id="fig-{table.number}"><figcaption><b>Figure {table.number}. {text(picture.question)}</b>'
        '<span class="d">Dot: mean difference over problems; line: its interval; dark line: 0. Filled: planned; hollow: not '
        "planned. Percentage points, candidate minus baseline.</span></figcaption>"
        '<table class="forest sortable"><caption class="vh">Paired gains with intervals</caption>'
        '<colgroup><col class="a"><col class="g"><col class="e"><col class="m"><col class="p"></colgroup>'
        f'<thead><tr><th scope="col">Comparison</th><th scope="col" class="g" data-nosort=""><span class="vh">Interval, drawn</span>{_axis(scale, marks)}</th>'
        '<th scope="col">Gain, pp [interval]</th><th scope="col" data-nosort="">Baseline → candidate, %</th>'
        f'<th scope="col" data-nosort="">n; p</th></tr></thead>{bodies}</table></figure>'
    )


def _group(
    key: tuple[str, str], rows: list[GainRow], scale: Scale, marks: tuple[float, ...], render: Render
) -> str:
    title, label = key
    chip = f'<span class="chip {text(label)}">{text(label.replace("-", " "))}</span>'
    head = f'<tr class="grp"><th colspan="5" scope="rowgroup">{text(title)} {chip}</th></tr>'
    return f"<tbody>{head}{''.join(_row(row, scale, marks, render) for row in rows)}</tbody>"


def _row(row: GainRow, scale: Scale, marks: tuple[float, ...], render: Render) -> str:
    main = ' class="main"' if row.primary else ""
    sort = f' data-v="{row.value!r}"' if row.value is not None else ' data-v=""'
    gain = render(row.gain.parts)
    shown = (
        f"<b>{gain}</b> {render(row.interval.parts)}"
        if row.value is not None
        else f'<span class="mut">{gain}</span>'
    )
    return (
        f'<tr{main}><th scope="row">{text(row.id)} <small>{render(row.name)}</small></th>'
        f'<td class="g">{_interval(row, scale, marks)}</td><td class="e"{sort}>{shown}</td>'
        f'<td class="m">{render(row.rates.parts)}</td><td class="p">{render(row.n.parts)}{_p(row, render)}</td></tr>'
    )


def _p(row: GainRow, render: Render) -> str:
    shown = render(row.p.parts)
    return "" if shown in {"", "–"} else f"; p {shown}"


def _axis(scale: Scale, marks: tuple[float, ...]) -> str:
    labels = "".join(
        f'<text class="{"f-ink" if not mark else "f-ink2"}" x="{number(scale(mark))}%" y="14" text-anchor="middle">'
        f"{text(signed(mark))}</text>"
        for mark in marks
    )
    return f'<svg aria-hidden="true" height="22" width="100%">{labels}</svg>'


def _interval(row: GainRow, scale: Scale, marks: tuple[float, ...]) -> str:
    parts = [
        f'<line class="{"r-ink" if not mark else "r-grid"}" x1="{number(scale(mark))}%" x2="{number(scale(mark))}%" y1="0" y2="100%"/>'
        for mark in marks
    ]
    if row.value is None:
        parts.append(f'<text class="f-ink2" x="{number(scale(0) + 2)}%" y="60%">{text(row.note)}</text>')
    if row.low is not None and row.high is not None:
        width = 3 if row.primary else 2
        parts.append(
            f'<line class="r-cand" stroke-width="{width}" x1="{number(scale(row.low))}%" x2="{number(scale(row.high))}%" y1="50%" y2="50%"/>'
        )
    if row.value is not None:
        paint = 'class="f-cand"' if row.planned else 'class="f-ground r-cand" stroke-width="2"'
        radius = 6 if row.primary else 4.5
        parts.append(f'<circle {paint} cx="{number(scale(row.value))}%" cy="50%" r="{radius}"/>')
    return f'<svg aria-hidden="true" width="100%" height="34">{"".join(parts)}</svg>'
