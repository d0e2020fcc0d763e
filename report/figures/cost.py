"""The figure that asks: how much of the cap was spent."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from report.aggregate import BurnNode
from report.drawing import (
    FULL_WIDTH,
    PANEL_WIDTH,
    Dot,
    Label,
    Line,
    Panel,
    Picture,
    Polyline,
    Role,
    Shape,
    ticks,
)
from report.figures.axes import Frame, make_frame, nice_range, plain, spread, y_axis
from report.numbers import count, usd

HEIGHT = 240.0


def cost_picture(points: Sequence[BurnNode], alt: str) -> Picture:
    """Booked, and booked plus reserved, after every row of the ledger; the cap in force is a dashed step."""
    return Picture(
        name="cost",
        question="How much of the cap was spent?",
        alt=alt,
        narrow=(_panel(points, PANEL_WIDTH, alt),),
        wide=(_panel(points, FULL_WIDTH, alt),),
    )


def _panel(points: Sequence[BurnNode], width: float, alt: str) -> Panel:
    spent = [float(Decimal(point.spent_usd)) for point in points]
    held = [float(Decimal(point.spent_usd) + Decimal(point.reserved_usd)) for point in points]
    caps = [None if point.cap_usd is None else float(Decimal(point.cap_usd)) for point in points]
    y = nice_range([*spent, *held, *(cap for cap in caps if cap is not None)])
    frame = make_frame(
        width=width, height=HEIGHT, x=(0, max(len(points), 1)), y=y, left=54, right=112, bottom=40
    )
    shapes: list[Shape] = y_axis(frame, ticks(*y), plain)
    shapes.append(Label(x=frame.left, y=frame.bottom + 16, text="row 1", anchor="start"))
    shapes.append(Label(x=frame.right, y=frame.bottom + 16, text=f"row {count(len(points))}", anchor="end"))
    middle = (frame.left + frame.right) / 2
    shapes.append(Label(x=middle, y=frame.bottom + 32, text="rows of the ledger; USD", anchor="middle"))
    ends: list[tuple[float, str, Role]] = []
    if points:
        if held != spent:
            shapes.append(_step(held, frame, "other", dashed=False))
        shapes.append(_step(spent, frame, "cand", dashed=False))
        ends.append((frame.y(spent[-1]), f"booked {_short(spent[-1])}", "cand"))
        if held[-1] != spent[-1]:
            ends.append((frame.y(held[-1]), f"+ reserved {_short(held[-1])}", "other"))
        shapes += _cap_steps(caps, frame)
        if caps[-1] is not None:
            ends.append((frame.y(caps[-1]), f"cap {_short(caps[-1])}", "ink"))
        else:
            ends.append((frame.top, "no cap is set", "ink2"))
        if len(points) == 1:
            shapes.append(Dot(x=frame.x(1), y=frame.y(spent[0]), radius=4, role="cand"))
    places = spread([place for place, _, _ in ends])
    for (_, text, role), place in zip(ends, places, strict=True):
        shapes.append(Label(x=frame.right + 7, y=place + 4, text=text, role=role, bold=True))
    return Panel(width=width, height=HEIGHT, shapes=tuple(shapes), alt=alt)


def _short(amount: float) -> str:
    return usd(Decimal(str(amount))).split("\u00a0")[1]


def _step(values: Sequence[float], frame: Frame, role: Role, *, dashed: bool) -> Polyline:
    places: list[tuple[float, float]] = []
    for index, value in enumerate(values):
        places += [(frame.x(index), frame.y(value)), (frame.x(index + 1), frame.y(value))]
    return Polyline(points=tuple(places), role=role, width=2.0, dashed=dashed)


def _cap_steps(caps: Sequence[float | None], frame: Frame) -> list[Shape]:
    shapes: list[Shape] = []
    before: float | None = None
    for index, cap in enumerate(caps):
        if cap is not None:
            x, y = frame.x(index), frame.y(cap)
            if before is not None and before != cap:
                shapes.append(Line(x1=x, y1=frame.y(before), x2=x, y2=y, role="ink", width=1.5, dashed=True))
            shapes.append(Line(x1=x, y1=y, x2=frame.x(index + 1), y2=y, role="ink", width=1.5, dashed=True))
        before = cap
    return shapes
