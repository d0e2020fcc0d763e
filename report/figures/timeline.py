"""The figure that asks: in which order did plan, data and reading come."""

from __future__ import annotations

from collections.abc import Sequence

from report.aggregate import EventNode
from report.drawing import FULL_WIDTH, PANEL_WIDTH, Dot, Label, Line, Panel, Picture, Role, Shape

ROW = 34.0
MOST_EVENTS = 40
ROLES: dict[str, Role] = {"freeze": "cand", "amendment": "other", "result": "other"}


def timeline_picture(events: Sequence[EventNode], alt: str) -> Picture:
    """One event a row, in the order of their recorded times; hollow where a time is only stated or not recorded."""
    return Picture(
        name="timeline",
        question="In which order did plan, data and reading come?",
        alt=alt,
        narrow=(_panel(events, PANEL_WIDTH, alt),),
        wide=(_panel(events, FULL_WIDTH, alt),),
    )


def _panel(events: Sequence[EventNode], width: float, alt: str) -> Panel:
    shown = events[:MOST_EVENTS]
    shapes: list[Shape] = []
    axis = 146.0
    bottom = 10 + ROW * max(len(shown), 1)
    if len(shown) > 1:
        shapes.append(
            Line(x1=axis, y1=18, x2=axis, y2=10 + ROW * (len(shown) - 1) + 8, role="line", width=2.0)
        )
    for index, event in enumerate(shown):
        y = 18 + ROW * index
        is_recorded = event.at is not None and "T" in event.at
        shapes.append(Dot(x=axis, y=y, radius=5, role=ROLES.get(event.kind, "base"), hollow=not is_recorded))
        shapes.append(Label(x=axis - 14, y=y + 4, text=_when(event.at), anchor="end"))
        shapes.append(Label(x=axis + 14, y=y + 4, text=_fit(event.what, width - axis - 20), role="ink"))
    if len(events) > len(shown):
        shapes.append(Label(x=axis + 14, y=bottom + 10, text=f"{len(events) - len(shown)} more in the table"))
        bottom += 16
    shapes.append(Label(x=8, y=bottom + 12, text="not to scale; UTC", size=10.5))
    return Panel(width=width, height=bottom + 20, shapes=tuple(shapes), alt=alt)


def _when(at: str | None) -> str:
    if at is None:
        return "no time recorded"
    return at.replace("T", " ").removesuffix("Z")


def _fit(text: str, width: float) -> str:
    longest = int(width / 6.1)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
