"""Figures: the same bytes for the same numbers, PNG and SVG, readable in grey and at half size."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from report.numbers import MINUS

INK, INK_2, LINE, CANDIDATE = "#14181d", "#4b5563", "#d5dae1", "#005f9e"
WIDTH_IN = 7.2
ROW_IN = 0.44
PNG_DPI = 200
"""1440 px wide."""
LONGEST_NAME = 28

STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same glyphs everywhere
    "font.size": 9.5,
    "svg.hashsalt": "beforehand",
    "svg.fonttype": "path",
    "axes.unicode_minus": True,
    "path.simplify": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GainRow:
    """One row of the interval figure. gain None: the row stays and `note` says why."""

    name: str
    sides: str
    gain: float | None
    low: float | None
    high: float | None
    planned: bool
    primary: bool
    note: str


def gains_figure(rows: Sequence[GainRow]) -> Figure:
    """Each comparison a row: a mark at the gain, a line over its interval, the zero line dark."""
    with mpl.rc_context(STYLE):
        count = max(len(rows), 1)
        figure = Figure(figsize=(WIDTH_IN, 1.25 + ROW_IN * count), dpi=PNG_DPI, facecolor="white")
        figure.suptitle(
            "How large is each paired gain, and does its interval exclude 0?",
            x=0.012, y=1 - 0.12 / figure.get_figheight(), ha="left", va="top", fontsize=10.5, fontweight="bold", color=INK,
        )  # fmt: skip
        axes = figure.add_axes(_panel(figure, rows))
        axes.axvline(0, color=INK, linewidth=1.4, zorder=1)
        for position, row in enumerate(rows):
            _draw_row(axes, position, row)
        _dress(axes, rows)
    return figure


def encode(figure: Figure, kind: str) -> bytes:
    """PNG or SVG bytes without date, version or random ids."""
    with mpl.rc_context(STYLE):
        sink = io.BytesIO()
        metadata = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
        figure.savefig(sink, format=kind, dpi=PNG_DPI, metadata=metadata)
        return sink.getvalue()


def shorten(name: str) -> str:
    """Names over 28 characters are cut in the middle; the table has them whole."""
    if len(name) <= LONGEST_NAME:
        return name
    half = (LONGEST_NAME - 1) // 2
    return f"{name[:half]}…{name[-half:]}"


def _panel(figure: Figure, rows: Sequence[GainRow]) -> tuple[float, float, float, float]:
    longest = max((max(len(shorten(row.name)), 0.9 * len(shorten(row.sides))) for row in rows), default=10)
    left = min(0.42, 0.035 + 0.0108 * longest)
    bottom = 0.62 / figure.get_figheight()
    top = 1 - 0.48 / figure.get_figheight()
    return left, bottom, 0.985 - left, top - bottom


def _draw_row(axes: Axes, position: int, row: GainRow) -> None:
    if row.gain is None:
        axes.annotate(
            row.note,
            (0, position),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=INK_2,
            fontsize=9,
        )
        return
    if row.low is not None and row.high is not None:
        axes.plot(
            [100 * row.low, 100 * row.high], [position, position],
            color=CANDIDATE, linewidth=3 if row.primary else 2, solid_capstyle="butt", zorder=2,
        )  # fmt: skip
    axes.plot(
        [100 * row.gain], [position], marker="o", markersize=9 if row.primary else 7, color=CANDIDATE,
        markerfacecolor=CANDIDATE if row.planned else "white", markeredgewidth=1.6, linestyle="none", zorder=3,
    )  # fmt: skip


def _write_name(axes: Axes, position: int, row: GainRow) -> None:
    """Two lines left of the panel: id and metric, and below it the two sides."""
    weight = "bold" if row.primary else "normal"
    upper = {"va": "bottom", "xytext": (-8, 1), "color": INK, "fontweight": weight}
    lower = {"va": "top", "xytext": (-8, -1), "color": INK_2, "fontsize": 8}
    for text, look in ((row.name, upper), (row.sides, lower)):
        axes.annotate(
            shorten(text), (0, position), xycoords=("axes fraction", "data"), textcoords="offset points", ha="right",
            annotation_clip=False, **look,
        )  # fmt: skip


def _dress(axes: Axes, rows: Sequence[GainRow]) -> None:
    bounds = [0.0]
    for row in rows:
        bounds.extend(100 * value for value in (row.gain, row.low, row.high) if value is not None)
    margin = 0.06 * max(max(bounds) - min(bounds), 1.0)
    axes.set_xlim(min(bounds) - margin, max(bounds) + margin)
    axes.set_ylim(max(len(rows), 1) - 0.4, -0.6)
    axes.set_yticks([])
    for position, row in enumerate(rows):
        _write_name(axes, position, row)
    axes.xaxis.set_major_formatter(
        lambda value, _position: f"{value:+g}".replace("-", MINUS) if value else "0"
    )
    axes.set_xlabel("gain, candidate minus baseline, percentage points", color=INK_2)
    axes.tick_params(length=0, colors=INK_2)
    axes.grid(axis="x", color=LINE, linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    if not rows:
        axes.annotate(
            "no comparison is planned", (0, 0), xytext=(6, 0), textcoords="offset points", color=INK_2
        )
