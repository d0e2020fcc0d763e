"""SVG: a panel as text. Inside the page colours come from its style sheet; a file carries its own."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from manifests.text import printable
from report.drawing import COLOURS, Area, Bar, Dot, Label, Line, Panel, Picture, Polyline, Shape

GAP = 24.0
TITLE_HEIGHT = 30.0
PANEL_TITLE_HEIGHT = 20.0
FONTS = "-apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', Arial, sans-serif"


def inline_svg(panel: Panel) -> str:
    """The panel for a page: no style of its own, classes `r-ROLE` and `f-ROLE`."""
    body = "".join(shape_svg(shape) for shape in panel.shapes)
    return (
        f'<svg class="fit" viewBox="0 0 {number(panel.width)} {number(panel.height)}" role="img" '
        f'aria-label="{text(panel.alt)}">{body}</svg>'
    )


def file_svg(picture: Picture) -> bytes:
    """The figure as a file: title, panels two by two, white ground, its own colours."""
    layout = arrange(picture)
    size = f'width="{number(layout.width)}" height="{number(layout.height)}"'
    box = f'viewBox="0 0 {number(layout.width)} {number(layout.height)}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} role="img" aria-label="{text(picture.alt)}">',
        f"<style>{_style()}</style>",
        f'<rect {size} class="f-ground"/>',
        *(shape_svg(shape) for shape in layout.shapes),
        "</svg>\n",
    ]
    return "".join(parts).encode()


def arrange(picture: Picture) -> Panel:
    """All panels of the wide picture as one, under the question: rows of as many as fit into 720 units."""
    width = 720.0
    shapes: list[Shape] = [Label(x=8, y=19, text=picture.question, role="ink", bold=True, size=13.5)]
    x, y, tallest = 0.0, TITLE_HEIGHT, 0.0
    for panel in picture.wide:
        if x and x + panel.width > width + 1:
            x, y, tallest = 0.0, y + tallest + 14, 0.0
        head = PANEL_TITLE_HEIGHT if panel.title else 0.0
        if panel.title:
            shapes.append(Label(x=x + 8, y=y + 13, text=panel.title, role="ink2", bold=True))
        shapes += [move(shape, x, y + head) for shape in panel.shapes]
        tallest = max(tallest, panel.height + head)
        x += panel.width + GAP
    return Panel(width=width, height=y + tallest + 6, shapes=tuple(shapes), alt=picture.alt)


def move(shape: Shape, dx: float, dy: float) -> Shape:
    """The same shape elsewhere."""
    if isinstance(shape, Line):
        return Line(
            x1=shape.x1 + dx, y1=shape.y1 + dy, x2=shape.x2 + dx, y2=shape.y2 + dy,
            role=shape.role, width=shape.width, dashed=shape.dashed,
        )  # fmt: skip
    if isinstance(shape, Polyline):
        return Polyline(
            points=_moved(shape.points, dx, dy), role=shape.role, width=shape.width, dashed=shape.dashed
        )
    if isinstance(shape, Area):
        return Area(points=_moved(shape.points, dx, dy), role=shape.role, opacity=shape.opacity)
    if isinstance(shape, Bar):
        return Bar(
            x=shape.x + dx, y=shape.y + dy, width=shape.width, height=shape.height, role=shape.role, hollow=shape.hollow
        )  # fmt: skip
    if isinstance(shape, Dot):
        return Dot(x=shape.x + dx, y=shape.y + dy, radius=shape.radius, role=shape.role, hollow=shape.hollow)
    return Label(
        x=shape.x + dx, y=shape.y + dy, text=shape.text, role=shape.role,
        anchor=shape.anchor, bold=shape.bold, size=shape.size,
    )  # fmt: skip


def _moved(points: Sequence[tuple[float, float]], dx: float, dy: float) -> tuple[tuple[float, float], ...]:
    return tuple((x + dx, y + dy) for x, y in points)


def shape_svg(shape: Shape) -> str:
    """One element."""
    if isinstance(shape, Line):
        return (
            f'<line class="r-{shape.role}" x1="{number(shape.x1)}" y1="{number(shape.y1)}" x2="{number(shape.x2)}" '
            f'y2="{number(shape.y2)}" stroke-width="{number(shape.width)}"{_dash(dashed=shape.dashed)}/>'
        )
    if isinstance(shape, Polyline):
        return (
            f'<polyline class="r-{shape.role}" fill="none" points="{_points(shape.points)}" '
            f'stroke-width="{number(shape.width)}" stroke-linejoin="round"{_dash(dashed=shape.dashed)}/>'
        )
    if isinstance(shape, Area):
        return f'<polygon class="f-{shape.role}" fill-opacity="{number(shape.opacity)}" points="{_points(shape.points)}"/>'
    if isinstance(shape, Bar):
        paint = f'class="f-ground r-{shape.role}"' if shape.hollow else f'class="f-{shape.role}"'
        return (
            f'<rect {paint} x="{number(shape.x)}" y="{number(shape.y)}" width="{number(shape.width)}" '
            f'height="{number(shape.height)}"/>'
        )
    if isinstance(shape, Dot):
        paint = (
            f'class="f-ground r-{shape.role}" stroke-width="2"' if shape.hollow else f'class="f-{shape.role}"'
        )
        return f'<circle {paint} cx="{number(shape.x)}" cy="{number(shape.y)}" r="{number(shape.radius)}"/>'
    bold = ' font-weight="600"' if shape.bold else ""
    anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
    return (
        f'<text class="f-{shape.role}" x="{number(shape.x)}" y="{number(shape.y)}" font-size="{number(shape.size)}"'
        f"{anchor}{bold}>{text(shape.text)}</text>"
    )


def number(value: float) -> str:
    """Two decimals at most: finer than any screen, the same on every processor."""
    return (
        f"{value:.2f}".rstrip("0").rstrip(".").replace("-0", "0")
        if abs(value) < 0.005
        else (f"{value:.2f}".rstrip("0").rstrip("."))
    )


def text(value: str) -> str:
    """Foreign text as XML text or attribute."""
    return escape(printable(value), quote=True)


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{number(x)},{number(y)}" for x, y in points)


def _dash(*, dashed: bool) -> str:
    return ' stroke-dasharray="5 4"' if dashed else ""


def _style() -> str:
    fills = "".join(
        f".f-{role}{{fill:{colour}}}.r-{role}{{stroke:{colour}}}" for role, colour in COLOURS.items()
    )
    return f"text{{font-family:{FONTS};font-variant-numeric:tabular-nums}}{fills}"
