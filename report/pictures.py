"""Figures as files: PNG and SVG of every picture. One whose drawing did not change keeps the pixels it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from manifests.digests import sha256_bytes
from report.drawing import Picture
from report.reuse import Reusable
from report.svg import file_svg


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """files: path in the bundle -> bytes; drawings: path of a PNG -> digest of the SVG that it shows."""

    files: Mapping[str, bytes]
    drawings: Mapping[str, str]


def draw(pictures: Sequence[Picture], reusable: Reusable) -> Drawn:
    """Every figure. The SVG says all that the PNG shows, so its digest tells whether the pixels still hold."""
    files: dict[str, bytes] = {}
    drawings: dict[str, str] = {}
    for picture in pictures:
        svg = file_svg(picture)
        png = f"figures/{picture.name}.png"
        drawings[png] = sha256_bytes(svg)
        files[f"figures/{picture.name}.svg"] = svg
        before = reusable.pixels.get(png)
        files[png] = before.png if before and before.drawing == drawings[png] else _pixels(picture)
    return Drawn(files=files, drawings=drawings)


def _pixels(picture: Picture) -> bytes:
    from report.png import file_png  # noqa: PLC0415 - matplotlib takes half a second to import, and is often not needed

    return file_png(picture)
