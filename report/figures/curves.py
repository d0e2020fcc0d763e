"""The figure that asks: does the gain shrink when more samples are allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from report.aggregate import PassAtK
from report.drawing import (
    FULL_WIDTH,
    PANEL_WIDTH,
    Area,
    Dot,
    Label,
    Panel,
    Picture,
    Polyline,
    Role,
    Shape,
    shorten,
)
from report.figures.axes import Frame, make_frame, plain, spread, y_axis

HEIGHT = 260.0
MOST_CURVES = 6
"""Of one panel; more cannot be told apart and stand in the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One system's curve. is_baseline: drawn grey and dashed."""

    name: str
    points: tuple[PassAtK, ...]
    is_baseline: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePanel:
    """Curves that may be compared: one benchmark, one sampling, one cap."""

    title: str
    curves: tuple[Curve, ...]


def curves_picture(panels: Sequence[CurvePanel], alt: str) -> Picture:
    """One panel a benchmark and sampling; curves run to the k that every arm of the panel has."""
    half = (FULL_WIDTH - 24) / 2
    return Picture(
        name="pass-at-k",
        question="Does the gain shrink when more samples are allowed?",
        alt=alt,
        narrow=tuple(_panel(panel, PANEL_WIDTH, alt) for panel in panels),
        wide=tuple(_panel(panel, FULL_WIDTH if len(panels) == 1 else half, alt) for panel in panels),
    )


def _panel(panel: CurvePanel, width: float, alt: str) -> Panel:
    curves = panel.curves[:MOST_CURVES]
    usable = [{point.k: point for point in curve.points if point.value is not None} for curve in curves]
    common = sorted(set.intersection(*(set(one) for one in usable))) if usable else []
    top = max(
        (point.ci.high if point.ci else point.value or 0 for one in usable for point in one.values()),
        default=1.0,
    )
    ceiling = min(100.0, 20.0 * math.ceil(5 * top + 1e-9)) or 20.0
    longest = max((len(shorten(curve.name, 16)) for curve in curves), default=4)
    frame = make_frame(
        width=width,
        height=HEIGHT,
        x=(0, max(math.log2(common[-1]), 1) if common else 1),
        y=(0, ceiling),
        right=14 + 6.6 * longest,
    )
    shapes: list[Shape] = y_axis(frame, [ceiling * part / 4 for part in range(5)], plain)
    shapes += [
        Label(x=frame.x(math.log2(k)), y=frame.bottom + 17, text=str(k), anchor="middle") for k in common
    ]
    shapes.append(Label(x=frame.right + 10, y=frame.bottom + 17, text="k"))
    ends: list[float] = []
    for curve, found in zip(curves, usable, strict=True):
        role = _role(curve, curves)
        points = [found[k] for k in common]
        shapes += _band(points, frame, role)
        line = tuple((frame.x(math.log2(one.k)), frame.y(100 * (one.value or 0.0))) for one in points)
        if len(line) > 1:
            shapes.append(Polyline(points=line, role=role, dashed=curve.is_baseline))
        shapes += [Dot(x=x, y=y, radius=3.2, role=role, hollow=curve.is_baseline) for x, y in line]
        ends.append(line[-1][1] if line else frame.bottom)
    for curve, place in zip(curves, spread(ends), strict=True):
        shapes.append(
            Label(
                x=frame.right + 10,
                y=place + 4,
                text=shorten(curve.name, 16),
                role="ink2" if curve.is_baseline else _role(curve, curves),
                bold=True,
            )
        )
    if len(panel.curves) > len(curves):
        text = f"{len(panel.curves) - len(curves)} more in the table"
        shapes.append(Label(x=frame.left + 4, y=frame.top + 10, text=text))
    return Panel(width=width, height=HEIGHT, shapes=tuple(shapes), alt=alt, title=panel.title)


def _role(curve: Curve, curves: Sequence[Curve]) -> Role:
    if curve.is_baseline:
        return "base"
    others = [one.name for one in curves if not one.is_baseline]
    return "cand" if others.index(curve.name) % 2 == 0 else "other"


def _band(points: Sequence[PassAtK], frame: Frame, role: Role) -> list[Shape]:
    if len(points) < 2 or any(point.ci is None for point in points):
        return []
    upper = [(frame.x(math.log2(one.k)), frame.y(100 * one.ci.high)) for one in points if one.ci]
    lower = [(frame.x(math.log2(one.k)), frame.y(100 * one.ci.low)) for one in points if one.ci]
    return [Area(points=(*upper, *reversed(lower)), role=role)]
