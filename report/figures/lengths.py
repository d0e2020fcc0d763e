"""The figure that asks: do the arms differ in length, or run into the cap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from report.aggregate import Lengths
from report.drawing import (
    FULL_WIDTH,
    PANEL_WIDTH,
    Bar,
    Dot,
    Label,
    Line,
    Panel,
    Picture,
    Scale,
    Shape,
    shorten,
)
from report.figures.axes import plain
from report.numbers import percent

MOST_ROWS = 40
ROW = 40.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthRow:
    """One unit and sampling. cut: share of rows that ended at the cap; None where rows do not say."""

    name: str
    lengths: Lengths
    cut: float | None
    cap_tokens: int


def lengths_picture(rows: Sequence[LengthRow], alt: str) -> Picture:
    """Lengths (median, mean, p90, longest) as a share of the cap, beside the share of rows that were cut."""
    return Picture(
        name="lengths",
        question="Do the arms differ in length, or run into the cap?",
        alt=alt,
        narrow=(_lengths_panel(rows, PANEL_WIDTH, alt), _cut_panel(rows, PANEL_WIDTH, alt)),
        wide=(
            _lengths_panel(rows, (FULL_WIDTH - 24) / 2, alt),
            _cut_panel(rows, (FULL_WIDTH - 24) / 2, alt),
        ),
    )


def _lengths_panel(rows: Sequence[LengthRow], width: float, alt: str) -> Panel:
    shown = rows[:MOST_ROWS]
    scale = Scale(0, 100, 10, width - 16)
    shapes: list[Shape] = []
    bottom = 8 + ROW * len(shown)
    for value in (0, 25, 50, 75, 100):
        shapes.append(
            Line(
                x1=scale(value),
                y1=4,
                x2=scale(value),
                y2=bottom,
                role="line" if value in {0, 100} else "grid",
            )
        )
        shapes.append(Label(x=scale(value), y=bottom + 16, text=plain(value), anchor="middle"))
    shapes.append(Label(x=scale(50), y=bottom + 31, text="completion tokens, % of the cap", anchor="middle"))
    for index, row in enumerate(shown):
        y = 8 + ROW * index + 27
        cap = max(row.cap_tokens, 1)
        shapes.append(Label(x=10, y=y - 13, text=shorten(row.name, 40), role="ink", size=10.5))
        start, end = (
            min(scale(100 * value / cap), width - 6) for value in (row.lengths.median, row.lengths.p90)
        )
        shapes.append(Line(x1=start, y1=y, x2=end, y2=y, role="cand", width=2.0))
        shapes.append(Dot(x=start, y=y, radius=4.5, role="cand"))
        shapes.append(
            Dot(
                x=min(scale(100 * row.lengths.mean / cap), width - 6),
                y=y,
                radius=3.4,
                role="cand",
                hollow=True,
            )
        )
        longest = min(scale(100 * row.lengths.max / cap), width - 6)
        shapes.append(Line(x1=longest, y1=y - 5, x2=longest, y2=y + 5, role="ink2", width=1.5))
    _more(shapes, rows, shown, bottom)
    return Panel(
        width=width,
        height=bottom + 52,
        shapes=tuple(shapes),
        alt=alt,
        title="Filled: median; hollow: mean; line: p90; tick: longest",
    )


def _cut_panel(rows: Sequence[LengthRow], width: float, alt: str) -> Panel:
    shown = rows[:MOST_ROWS]
    top = max([row.cut or 0.0 for row in shown] or [0.0])
    limit = next((value for value in (0.05, 0.1, 0.25, 0.5) if top <= value), 1.0)
    scale = Scale(0, 100 * limit, 10, width - 60)
    shapes: list[Shape] = []
    bottom = 8 + ROW * len(shown)
    for part in range(5):
        value = 25 * limit * part
        shapes.append(
            Line(x1=scale(value), y1=4, x2=scale(value), y2=bottom, role="line" if not part else "grid")
        )
        shapes.append(Label(x=scale(value), y=bottom + 16, text=plain(value), anchor="middle"))
    shapes.append(
        Label(x=scale(50 * limit), y=bottom + 31, text="rows that ended at the cap, %", anchor="middle")
    )
    for index, row in enumerate(shown):
        y = 8 + ROW * index + 21
        if row.cut is None:
            shapes.append(Label(x=16, y=y + 9, text="not stated"))
            continue
        shapes.append(
            Bar(x=scale(0), y=y, width=max(scale(100 * row.cut) - scale(0), 0.0), height=11, role="other")
        )
        shapes.append(Label(x=scale(100 * row.cut) + 6, y=y + 10, text=percent(row.cut), role="ink"))
    _more(shapes, rows, shown, bottom)
    return Panel(
        width=width, height=bottom + 52, shapes=tuple(shapes), alt=alt, title="Truncated rows, same order"
    )


def _more(shapes: list[Shape], rows: Sequence[LengthRow], shown: Sequence[LengthRow], bottom: float) -> None:
    if len(rows) > len(shown):
        shapes.append(
            Label(x=10, y=bottom + 47, text=f"{len(rows) - len(shown)} more in the table", role="ink")
        )
