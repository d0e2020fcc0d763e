"""PNG: the same drawing as pixels, 1440 wide, in the font that matplotlib ships."""

from __future__ import annotations

import io
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Polygon, Rectangle

from report.drawing import COLOURS, Area, Bar, Label, Line, Picture, Polyline, Shape
from report.svg import arrange

DPI = 144
PIXELS_PER_UNIT = 2
POINTS_PER_UNIT = 72 / DPI * PIXELS_PER_UNIT
STYLE: dict[Any, Any] = {"font.family": "DejaVu Sans", "path.simplify": False}
ALIGNMENTS: dict[str, Literal["left", "center", "right"]] = {
    "start": "left",
    "middle": "center",
    "end": "right",
}
SHRINK = 0.9
"""DejaVu Sans runs wider than the page's fonts."""


def file_png(picture: Picture) -> bytes:
    """The figure's bytes: no date, no version, white ground."""
    panel = arrange(picture)
    with mpl.rc_context(STYLE):
        figure = Figure(
            figsize=(panel.width * PIXELS_PER_UNIT / DPI, round(panel.height) * PIXELS_PER_UNIT / DPI),
            dpi=DPI,
            facecolor="white",
        )
        canvas = FigureCanvasAgg(figure)
        transform = mpl.transforms.Affine2D().scale(PIXELS_PER_UNIT, -PIXELS_PER_UNIT)
        transform = transform.translate(0, round(panel.height) * PIXELS_PER_UNIT)
        for order, shape in enumerate(panel.shapes):
            artist = _artist(shape, transform)
            artist.set_zorder(order)
            figure.add_artist(artist)
        sink = io.BytesIO()
        canvas.print_png(sink, metadata={"Software": None})  # type: ignore[no-untyped-call]  # matplotlib's own
        return sink.getvalue()


def _artist(shape: Shape, transform: Any) -> Any:  # noqa: ANN401 - matplotlib's artists share no useful type
    if isinstance(shape, Line | Polyline):
        points = shape.points if isinstance(shape, Polyline) else ((shape.x1, shape.y1), (shape.x2, shape.y2))
        line = Line2D(
            [x for x, _ in points],
            [y for _, y in points],
            color=COLOURS[shape.role],
            linewidth=shape.width * POINTS_PER_UNIT,
            linestyle=(0, (3.5, 2.5)) if shape.dashed else "-",
            solid_capstyle="butt",
            solid_joinstyle="round",
        )
        line.set_transform(transform)
        return line
    if isinstance(shape, Label):
        return _text(shape, transform)
    colour = COLOURS[shape.role]
    if isinstance(shape, Area):
        patch: Any = Polygon(shape.points, closed=True, facecolor=colour, alpha=shape.opacity, linewidth=0)
    elif isinstance(shape, Bar):
        patch = Rectangle((shape.x, shape.y), shape.width, shape.height, facecolor=colour, linewidth=0)
    else:
        patch = Circle(
            (shape.x, shape.y),
            shape.radius,
            facecolor="white" if shape.hollow else colour,
            edgecolor=colour,
            linewidth=2 * POINTS_PER_UNIT if shape.hollow else 0,
        )
    patch.set_transform(transform)
    return patch


def _text(shape: Label, transform: Any) -> Any:  # noqa: ANN401 - as above
    x, y = transform.transform((shape.x, shape.y))
    label = mpl.text.Text(
        x,
        y,
        shape.text,
        color=COLOURS[shape.role],
        fontsize=shape.size * SHRINK * POINTS_PER_UNIT,
        fontweight="bold" if shape.bold else "normal",
        horizontalalignment=ALIGNMENTS[shape.anchor],
        verticalalignment="baseline",
        parse_math=False,
    )
    label.set_transform(mpl.transforms.IdentityTransform())
    return label
