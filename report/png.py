"""PNG: the same drawing as pixels, 1440 wide, in the font that matplotlib ships. Its renderer is used without its figures."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.colors import to_rgba
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.transforms import Affine2D
from PIL import Image

from report.drawing import COLOURS, Area, Bar, Dot, Label, Line, Picture, Polyline, Role, Shape
from report.svg import arrange

DPI = 144
PIXELS_PER_UNIT = 2
POINTS_PER_UNIT = 72 / DPI * PIXELS_PER_UNIT
FONT = "DejaVu Sans"
"""Ships with matplotlib, so the glyphs are the same everywhere; it runs wider than the page's fonts, so text is set smaller."""
SHRINK = 0.9
DASHES = (5.0, 4.0)


def file_png(picture: Picture) -> bytes:
    """The figure's bytes: no date, no version, white ground."""
    panel = arrange(picture)
    width, height = round(panel.width * PIXELS_PER_UNIT), round(panel.height) * PIXELS_PER_UNIT
    canvas = _Canvas(width, height)
    for shape in panel.shapes:
        canvas.draw(shape)
    return canvas.png()


class _Canvas:
    """Pixels, and the way from units of a drawing to them."""

    def __init__(self, width: int, height: int) -> None:
        self._renderer: Any = RendererAgg(width, height, DPI)  # type: ignore[no-untyped-call]  # matplotlib's own
        self._size = (width, height)
        self._place = Affine2D().scale(PIXELS_PER_UNIT, -PIXELS_PER_UNIT).translate(0, height)
        self._fill(Path.unit_rectangle(), "ground", Affine2D().scale(width, height))

    def draw(self, shape: Shape) -> None:
        """The shape lies on what was drawn before."""
        if isinstance(shape, Line):
            self._stroke(((shape.x1, shape.y1), (shape.x2, shape.y2)), shape)
        elif isinstance(shape, Polyline):
            self._stroke(shape.points, shape)
        elif isinstance(shape, Area):
            self._fill(Path(shape.points), shape.role, self._place, opacity=shape.opacity)
        elif isinstance(shape, Bar):
            corner = Affine2D().scale(shape.width, shape.height).translate(shape.x, shape.y)
            self._fill(Path.unit_rectangle(), shape.role, corner + self._place)
        elif isinstance(shape, Dot):
            self._dot(shape)
        else:
            self._text(shape)

    def png(self) -> bytes:
        """The picture's bytes."""
        sink = io.BytesIO()
        pixels = Image.frombuffer("RGBA", self._size, self._renderer.buffer_rgba(), "raw", "RGBA", 0, 1)
        pixels.convert("RGB").save(sink, format="png", dpi=(DPI, DPI))
        return sink.getvalue()

    def _context(self, role: Role, *, width: float = 0.0) -> Any:  # noqa: ANN401 - matplotlib's context is not typed
        context = self._renderer.new_gc()
        context.set_foreground(to_rgba(COLOURS[role]), isRGBA=True)
        context.set_linewidth(width * POINTS_PER_UNIT)
        context.set_antialiased(True)
        return context

    def _stroke(self, points: tuple[tuple[float, float], ...], shape: Line | Polyline) -> None:
        context = self._context(shape.role, width=shape.width)
        context.set_capstyle("butt")
        context.set_joinstyle("round")
        if shape.dashed:
            context.set_dashes(0, [length * POINTS_PER_UNIT for length in DASHES])
        self._renderer.draw_path(context, Path(points), self._place)

    def _fill(self, path: Path, role: Role, place: Any, *, opacity: float = 1.0) -> None:  # noqa: ANN401 - a transform
        context = self._context(role)
        context.set_alpha(opacity)
        self._renderer.draw_path(context, path, place, to_rgba(COLOURS[role], opacity))

    def _dot(self, dot: Dot) -> None:
        place = Affine2D().scale(dot.radius).translate(dot.x, dot.y) + self._place
        context = self._context(dot.role, width=2.0 if dot.hollow else 0.0)
        inside = COLOURS["ground"] if dot.hollow else COLOURS[dot.role]
        self._renderer.draw_path(context, Path.unit_circle(), place, to_rgba(inside))

    def _text(self, label: Label) -> None:
        font = FontProperties(
            family=FONT,
            size=label.size * SHRINK * POINTS_PER_UNIT,
            weight="bold" if label.bold else "normal",
        )
        width, _, _ = self._renderer.get_text_width_height_descent(label.text, font, ismath=False)
        left = {"start": 0.0, "middle": width / 2, "end": width}[label.anchor]
        x, y = label.x * PIXELS_PER_UNIT - left, label.y * PIXELS_PER_UNIT
        context = self._context(label.role)
        self._renderer.draw_text(context, x, y, label.text, font, 0.0, ismath=False)
