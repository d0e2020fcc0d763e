"""Axes of a panel: a frame for the data, round ticks, pale grid, no second axis, no rotated text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from report.drawing import Label, Line, Scale, Shape, ticks
from report.numbers import MINUS


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Where the data lie inside a panel, in units, and both scales."""

    left: float
    right: float
    top: float
    bottom: float
    x: Scale
    y: Scale


def make_frame(
    *,
    width: float,
    height: float,
    x: tuple[float, float],
    y: tuple[float, float],
    left: float = 40.0,
    right: float = 70.0,
    top: float = 12.0,
    bottom: float = 26.0,
) -> Frame:
    """A frame whose scales run from left to right and from bottom to top."""
    return Frame(
        left=left,
        right=width - right,
        top=top,
        bottom=height - bottom,
        x=Scale(x[0], x[1], left, width - right),
        y=Scale(y[0], y[1], height - bottom, top),
    )


def y_axis(frame: Frame, values: Sequence[float], show: Callable[[float], str]) -> list[Shape]:
    """Pale lines with their values at the left."""
    shapes: list[Shape] = []
    for value in values:
        place = frame.y(value)
        shapes.append(
            Line(
                x1=frame.left,
                y1=place,
                x2=frame.right,
                y2=place,
                role="line" if value == frame.y.low else "grid",
            )
        )
        shapes.append(Label(x=frame.left - 6, y=place + 4, text=show(value), anchor="end"))
    return shapes


def x_axis(frame: Frame, values: Sequence[float], show: Callable[[float], str]) -> list[Shape]:
    """Values below the frame."""
    return [
        Label(x=frame.x(value), y=frame.bottom + 17, text=show(value), anchor="middle") for value in values
    ]


def nice_range(values: Sequence[float], *, with_zero: bool = True) -> tuple[float, float]:
    """A range of round numbers around the values; a single value still has room around it."""
    known = [*values, *([0.0] if with_zero else [])]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if low == high:
        high = low + 1.0
    marks = ticks(low, high)
    return marks[0], marks[-1]


def plain(value: float) -> str:
    """A tick: no trailing zeros, a true minus sign, thousands set off."""
    text = f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return text.replace("-", MINUS)


def signed(value: float) -> str:
    """A tick of a difference: signed, 0 without a sign."""
    return f"+{plain(value)}" if value > 0 else plain(value)


def spread(places: Sequence[float], *, apart: float = 13.0) -> list[float]:
    """Label places in the same order, moved so that none lie closer than `apart`."""
    order = sorted(range(len(places)), key=lambda index: (places[index], index))
    moved = list(places)
    for before, after in pairwise(order):
        moved[after] = max(moved[after], moved[before] + apart)
    overshoot = (moved[order[-1]] - places[order[-1]]) / 2 if order else 0.0
    return [place - overshoot for place in moved]
