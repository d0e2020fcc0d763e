"""The figure that asks: does the gain come from many problems or a few."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from report.drawing import FULL_WIDTH, PANEL_WIDTH, Label, Line, Panel, Picture, Polyline, Role, Shape
from report.figures.axes import Frame, make_frame, plain, x_axis, y_axis
from report.inference import Sides
from report.numbers import count

HEIGHT = 250.0
MOST_DROPS = 600
"""Above this many problems the lines between the arms would be a solid block; every n-th is drawn."""


def change_picture(endpoint_id: str, sides: Sides, alt: str) -> Picture:
    """Both arms, the same problems twice: sorted by the baseline at the left, by the candidate at the right."""
    panels = tuple(_panel(sides, PANEL_WIDTH, by=by, alt=alt) for by in ("baseline", "candidate"))
    wide = tuple(_panel(sides, (FULL_WIDTH - 24) / 2, by=by, alt=alt) for by in ("baseline", "candidate"))
    return Picture(
        name=f"change-{endpoint_id}",
        question="Does the gain come from many problems or from a few?",
        alt=alt,
        narrow=panels,
        wide=wide,
    )


def _panel(sides: Sides, width: float, *, by: str, alt: str) -> Panel:
    before, after = 100 * sides.baseline.values, 100 * sides.candidate.values
    key, other = (before, after) if by == "baseline" else (after, before)
    order = np.lexsort((other, key))
    before, after = before[order], after[order]
    total = len(order)
    frame = make_frame(width=width, height=HEIGHT, x=(0, max(total, 1)), y=(0, 100), left=34, right=12)
    shapes: list[Shape] = y_axis(frame, (0, 25, 50, 75, 100), plain)
    shapes += x_axis(frame, (0, total), lambda value: count(int(value)))
    middle = (frame.left + frame.right) / 2
    shapes.append(Label(x=middle, y=frame.bottom + 17, text="problems", anchor="middle"))
    step = max(1, total // MOST_DROPS)
    for index in range(0, total, step):
        if before[index] == after[index]:
            continue
        x = frame.x(index + 0.5)
        role: Role = "cand" if after[index] > before[index] else "other"
        shapes.append(
            Line(
                x1=x,
                y1=frame.y(float(before[index])),
                x2=x,
                y2=frame.y(float(after[index])),
                role=role,
                width=max(0.7, min(2.0, (frame.right - frame.left) / max(total, 1) * 0.55)),
                dashed=role == "other",
            )
        )
    if by == "baseline":
        shapes.append(_steps(before, frame, "base"))
    else:
        shapes.append(_steps(after, frame, "cand"))
    name = sides.names[0] if by == "baseline" else sides.names[1]
    return Panel(
        width=width, height=HEIGHT, shapes=tuple(shapes), alt=alt, title=f"Sorted by {name}, the {by}"
    )


def _steps(values: NDArray[np.float64], frame: Frame, role: Role) -> Polyline:
    points: list[tuple[float, float]] = []
    for index, value in enumerate(values.tolist()):
        start, end, y = frame.x(index), frame.x(index + 1), frame.y(value)
        if points and points[-1][1] == y:
            points[-1] = (end, y)
            continue
        points += [(start, y), (end, y)]
    return Polyline(points=tuple(points), role=role, width=2.0)


def change_sentence(names: Sequence[str], risen: int, fallen: int, unchanged: int) -> str:
    """The finding in words."""
    return (
        f"From {names[0]} to {names[1]}, {count(risen)} problems rose, {count(fallen)} fell and "
        f"{count(unchanged)} stayed."
    )
