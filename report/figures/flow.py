"""The figure that asks: where did the planned units and rows go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from report.drawing import FULL_WIDTH, PANEL_WIDTH, Bar, Label, Panel, Picture, Scale, Shape
from report.numbers import count

ROW = 46.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One step of the flow. left: what went away before it, and why."""

    name: str
    number: int
    left: str


def flow_picture(stages: Sequence[Stage], alt: str) -> Picture:
    """Rows from plan to comparison, bars on one scale; each step says what left and why."""
    return Picture(
        name="flow",
        question="Where did the planned rows go?",
        alt=alt,
        narrow=(_panel(stages, PANEL_WIDTH, alt),),
        wide=(_panel(stages, FULL_WIDTH, alt),),
    )


def _panel(stages: Sequence[Stage], width: float, alt: str) -> Panel:
    scale = Scale(0, max([stage.number for stage in stages] or [1]) or 1, 0, width - 16)
    shapes: list[Shape] = []
    for index, stage in enumerate(stages):
        top = 6 + ROW * index
        shapes.append(Label(x=8, y=top + 11, text=stage.name, role="ink", bold=True))
        shapes.append(
            Label(x=width - 8, y=top + 11, text=count(stage.number), role="ink", anchor="end", bold=True)
        )
        shapes.append(Bar(x=8, y=top + 17, width=scale(stage.number), height=9, role="cand"))
        if scale(stage.number) < width - 18:
            start = 8 + scale(stage.number)
            shapes.append(Bar(x=start, y=top + 17, width=width - 8 - start, height=9, role="line"))
        if stage.left:
            shapes.append(Label(x=8, y=top + 37, text=_fit(stage.left, width), size=10.5))
    return Panel(width=width, height=12 + ROW * max(len(stages), 1), shapes=tuple(shapes), alt=alt)


def _fit(text: str, width: float) -> str:
    longest = int((width - 16) / 5.6)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
