"""Drawings: shapes in units of a page, drawn once as SVG and once as PNG. A shape has a role, and a role has a colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["ink", "ink2", "line", "grid", "base", "cand", "other", "warn", "ground"]
COLOURS: dict[Role, str] = {
    "ink": "#14181d",
    "ink2": "#4b5563",
    "line": "#d5dae1",
    "grid": "#edf0f3",
    "base": "#7f8997",
    "cand": "#005f9e",
    "other": "#b34700",
    "warn": "#8a4b00",
    "ground": "#ffffff",
}
"""Blue and orange follow Okabe and Ito, darkened; in grey the candidate is the darker mark."""

TEXT_SIZE = 11.5
PANEL_WIDTH = 348.0
FULL_WIDTH = 720.0
LONGEST_NAME = 28


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A straight line."""

    x1: float
    y1: float
    x2: float
    y2: float
    role: Role
    width: float = 1.0
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Polyline:
    """A line through points."""

    points: tuple[tuple[float, float], ...]
    role: Role
    width: float = 2.0
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A closed shape, filled pale: an interval band."""

    points: tuple[tuple[float, float], ...]
    role: Role
    opacity: float = 0.16


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    role: Role
    hollow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A mark. hollow: filled with the ground."""

    x: float
    y: float
    radius: float
    role: Role
    hollow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """Text on one line; y is its base line."""

    x: float
    y: float
    text: str
    role: Role = "ink2"
    anchor: Literal["start", "middle", "end"] = "start"
    bold: bool = False
    size: float = TEXT_SIZE


Shape = Line | Polyline | Area | Bar | Dot | Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One drawing. alt: what it shows, for those who cannot see it."""

    width: float
    height: float
    shapes: tuple[Shape, ...]
    alt: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A figure: narrow panels for the page, side by side where there is room, and the same at full width for files.

    name: of its files; question: its title; alt: its finding.
    """

    name: str
    question: str
    alt: str
    narrow: tuple[Panel, ...]
    wide: tuple[Panel, ...]


def shorten(name: str, longest: int = LONGEST_NAME) -> str:
    """Names over 28 characters are cut in the middle; the table has them whole."""
    if len(name) <= longest:
        return name
    half = (longest - 1) // 2
    return f"{name[: longest - 1 - half]}…{name[-half:]}"


def ticks(low: float, high: float, *, about: int = 5) -> tuple[float, ...]:
    """Round numbers from at or below `low` to at or above `high`."""
    span = max(high - low, 1e-9)
    step = next(
        size * 10.0**power
        for power in range(-9, 16)
        for size in (1.0, 2.0, 5.0)
        if span / (size * 10.0**power) <= about
    )
    first, last = int(low // step), -int(-high // step)
    return tuple(number * step for number in range(first, last + 1))


@dataclass(frozen=True, slots=True)
class Scale:
    """Data to units, linear."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The place of `value`."""
        return self.start + (value - self.low) / ((self.high - self.low) or 1.0) * (self.end - self.start)
