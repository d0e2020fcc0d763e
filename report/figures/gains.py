"""The figure that asks: how large is each paired gain, and does its interval exclude 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from report.drawing import (
    FULL_WIDTH,
    LONGEST_NAME,
    PANEL_WIDTH,
    Dot,
    Label,
    Line,
    Panel,
    Picture,
    Scale,
    Shape,
    shorten,
    ticks,
)
from report.figures.axes import nice_range, signed
from report.numbers import interval, points

QUESTION = "How large is each paired gain, and does its interval exclude 0?"
MOST_ROWS = 40
ROW = 34.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GainMark:
    """One row. gain None: the row stays and `note` says why; fractions."""

    id: str
    name: str
    sides: str
    gain: float | None
    low: float | None
    high: float | None
    planned: bool
    primary: bool
    note: str


def gains_picture(marks: Sequence[GainMark]) -> Picture:
    """Each comparison a row: a mark at the gain, a line over its interval, the zero line dark."""
    alt = finding(marks)
    return Picture(
        name="gains",
        question=QUESTION,
        alt=alt,
        narrow=(_panel(marks, PANEL_WIDTH, alt),),
        wide=(_panel(marks, FULL_WIDTH, alt),),
    )


def gain_scale(marks: Sequence[tuple[float | None, float | None, float | None]]) -> tuple[float, float]:
    """One range for all rows, in percentage points, 0 always inside."""
    return nice_range([100 * value for mark in marks for value in mark if value is not None])


def finding(marks: Sequence[GainMark]) -> str:
    """Which intervals lie above, below and around 0."""
    groups: dict[str, list[str]] = {"above": [], "below": [], "around": [], "none": []}
    for mark in marks:
        if mark.low is None or mark.high is None:
            groups["none"].append(mark.id)
        else:
            groups["above" if mark.low > 0 else "below" if mark.high < 0 else "around"].append(mark.id)
    words = {
        "above": ("lies above 0", "lie above 0"),
        "below": ("lies below 0", "lie below 0"),
        "around": ("includes 0", "include 0"),
        "none": ("has no interval", "have no interval"),
    }
    parts = [
        f"{_list(names)} {words[key][0 if len(names) == 1 else 1]}" for key, names in groups.items() if names
    ]
    return f"Paired gains with intervals. {'; '.join(parts) or 'No comparison is planned'}."


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 20 else f"{', '.join(names[:20])} and {len(names) - 20} more"


def _panel(marks: Sequence[GainMark], width: float, alt: str) -> Panel:
    shown = marks[:MOST_ROWS]
    wide = width > PANEL_WIDTH
    left, right = (226.0, width - 150.0) if wide else (8.0, width - 8.0)
    row = ROW if wide else ROW + 14
    low, high = gain_scale([(mark.gain, mark.low, mark.high) for mark in marks])
    scale = Scale(low, high, left, right)
    bottom = 10.0 + row * max(len(shown), 1)
    shapes: list[Shape] = []
    for value in ticks(low, high):
        x = scale(value)
        if value:
            shapes.append(Line(x1=x, y1=6, x2=x, y2=bottom, role="grid"))
        shapes.append(
            Label(
                x=x, y=bottom + 17, text=signed(value), anchor="middle", role="ink" if not value else "ink2"
            )
        )
    shapes.append(Line(x1=scale(0), y1=4, x2=scale(0), y2=bottom, role="ink", width=1.25))
    for index, mark in enumerate(shown):
        shapes += _row(mark, 10 + row * index, scale, row=row, width=width)
    caption = "candidate minus baseline, percentage points"
    shapes.append(Label(x=(left + right) / 2, y=bottom + 34, text=caption, anchor="middle"))
    height = bottom + 44
    if len(marks) > len(shown):
        height += 16
        rest = f"{len(marks) - len(shown)} more in the table"
        shapes.append(Label(x=8, y=bottom + 52, text=rest, role="ink"))
    if not marks:
        shapes.append(Label(x=left + 6, y=30, text="no comparison is planned"))
    return Panel(width=width, height=height, shapes=tuple(shapes), alt=alt)


def _row(mark: GainMark, top: float, scale: Scale, *, row: float, width: float) -> list[Shape]:
    wide = width > PANEL_WIDTH
    name = shorten(f"{mark.id}  {mark.name}", LONGEST_NAME + 6)
    y = top + row / 2 if wide else top + row - 12
    upper, lower = (y - 2, y + 12) if wide else (top + 10, top + 24)
    shapes: list[Shape] = [
        Label(x=8, y=upper, text=name, role="ink", bold=mark.primary),
        Label(x=8, y=lower, text=shorten(mark.sides, LONGEST_NAME + 6), size=10.5),
    ]
    if mark.gain is None:
        shapes.append(Label(x=scale(0) + 6, y=y + 4, text=mark.note))
        return shapes
    if mark.low is not None and mark.high is not None:
        shapes.append(
            Line(
                x1=scale(100 * mark.low),
                y1=y,
                x2=scale(100 * mark.high),
                y2=y,
                role="cand",
                width=3.0 if mark.primary else 2.0,
            )
        )
    shapes.append(
        Dot(
            x=scale(100 * mark.gain),
            y=y,
            radius=6.0 if mark.primary else 4.5,
            role="cand",
            hollow=not mark.planned,
        )
    )
    text = f"{points(mark.gain)} {interval(mark.low, mark.high, signed=True)}"
    anchor_x = width - 8
    shapes.append(
        Label(
            x=anchor_x, y=y + 4 if wide else top + 10, text=text, role="ink", anchor="end", bold=mark.primary
        )
    )
    return shapes
