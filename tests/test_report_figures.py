"""Figures: the same bytes for the same numbers, and nothing breaks on few, many or odd ones."""

import struct
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from report.aggregate import BurnNode, EventNode, Interval, Lengths, PassAtK
from report.drawing import Label, shorten, ticks
from report.figures.axes import spread
from report.figures.cost import cost_picture
from report.figures.curves import Curve, CurvePanel, curves_picture
from report.figures.flow import Stage, flow_picture
from report.figures.gains import GainMark, gains_picture
from report.figures.lengths import LengthRow, lengths_picture
from report.figures.timeline import timeline_picture
from report.png import file_png
from report.svg import file_svg, inline_svg, number


def marks(count, name="solved@8"):
    return [
        GainMark(
            id=f"E{i}", name=name, sides="candidate − baseline on benchmark", gain=0.1 - 0.01 * i, low=0.05 - 0.01 * i,
            high=0.2 - 0.01 * i, planned=i % 2 == 0, primary=i == 0, note="improved",
        )
        for i in range(count)
    ]  # fmt: skip


def curve(name, values, *, is_baseline=False):
    points = tuple(
        PassAtK(k=2**i, value=value, reason=None, ci=Interval(low=value * 0.8, high=min(1.0, value * 1.2), level="0.95", method="m"))
        for i, value in enumerate(values)
    )  # fmt: skip
    return Curve(name=name, points=points, is_baseline=is_baseline)


def burn(amounts, caps):
    return [
        BurnNode(seq=i + 1, time_utc="2026-01-01T00:00:00Z", spent_usd=amount, reserved_usd="0", cap_usd=cap)
        for i, (amount, cap) in enumerate(zip(amounts, caps, strict=True))
    ]


def length_rows(count, name="system.benchmark.protocol sample"):
    lengths = Lengths(n=10, mean=500.0, median=400.0, p90=900.0, max=4096)
    return [
        LengthRow(name=f"{name} {i}", lengths=lengths, cut=i / count, cap_tokens=4096) for i in range(count)
    ]


EVENTS = [EventNode(at="2026-01-02T03:04:05Z", kind="freeze", what="registration frozen", source="s")]
PICTURES = {
    "gains, none": gains_picture([]),
    "gains, one": gains_picture(marks(1)),
    "gains, 200": gains_picture(marks(200)),
    "gains, long names": gains_picture(marks(3, name="n" * 48)),
    "gains, no number": gains_picture(
        [
            GainMark(
                id="E",
                name="",
                sides="a − b",
                gain=None,
                low=None,
                high=None,
                planned=True,
                primary=True,
                note="pending",
            )
        ]
    ),
    "gains, no width": gains_picture(
        [
            GainMark(
                id="E",
                name="x",
                sides="a − b",
                gain=0.0,
                low=None,
                high=None,
                planned=True,
                primary=True,
                note="",
            )
        ]
    ),
    "curves, one point": curves_picture([CurvePanel(title="t", curves=(curve("a", [0.5]),))], "alt"),
    "curves, none": curves_picture([CurvePanel(title="t", curves=())], "alt"),
    "curves, 200": curves_picture(
        [CurvePanel(title="t", curves=tuple(curve(f"s{i}", [0.1, 0.2, 0.4]) for i in range(200)))], "alt"
    ),
    "curves, all 0": curves_picture([CurvePanel(title="t", curves=(curve("a" * 48, [0.0, 0.0]),))], "alt"),
    "flow, nothing": flow_picture([Stage(name="Rows planned", number=0, left="")], "alt"),
    "flow": flow_picture(
        [Stage(name="Rows planned", number=10, left="w" * 300), Stage(name="Rows got", number=3, left="")],
        "alt",
    ),
    "lengths, one": lengths_picture(length_rows(1), "alt"),
    "lengths, 200": lengths_picture(length_rows(200, "n" * 48), "alt"),
    "cost, one": cost_picture(burn(["0.5"], [None]), "alt"),
    "cost, cap raised": cost_picture(burn(["0", "92.87", "332.36"], ["200", "200", "500"]), "alt"),
    "timeline": timeline_picture(EVENTS, "alt"),
    "timeline, 200": timeline_picture(EVENTS * 200, "alt"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_figure_is_drawn_twice_with_the_same_bytes(name):
    picture = PICTURES[name]
    assert file_svg(picture) == file_svg(picture)
    assert file_png(picture) == file_png(picture)


@pytest.mark.parametrize("name", PICTURES)
def test_a_figure_is_1440_pixels_wide_and_well_formed(name):
    picture = PICTURES[name]
    width, height = struct.unpack(">II", file_png(picture)[16:24])
    assert width == 1440
    assert 100 < height < 4500
    assert ET.fromstring(file_svg(picture).decode()).get("aria-label") == picture.alt
    for panel in (*picture.narrow, *picture.wide):
        ET.fromstring(inline_svg(panel))


@pytest.mark.parametrize("name", PICTURES)
def test_no_text_starts_left_of_its_panel_or_reaches_far_beyond_it(name):
    for panel in PICTURES[name].narrow:
        for label in (shape for shape in panel.shapes if isinstance(shape, Label)):
            assert 0 <= label.x <= panel.width
            assert 0 <= label.y <= panel.height
            reach = (
                4.9 * len(label.text) * label.size / 11.5
            )  # a narrow guess: text that must overflow is found
            if label.anchor == "start":
                assert label.x + reach <= panel.width + 60, label.text
            if label.anchor == "end":
                assert label.x - reach >= -60, label.text


def test_more_than_40_rows_are_cut_and_the_rest_is_counted():
    texts = [shape.text for shape in PICTURES["gains, 200"].wide[0].shapes if isinstance(shape, Label)]
    assert "160 more in the table" in texts


def test_the_finding_says_where_the_intervals_lie():
    assert gains_picture(marks(1)).alt == "Paired gains with intervals. E0 lies above 0."
    assert gains_picture([]).alt == "Paired gains with intervals. No comparison is planned."


def test_long_names_are_cut_in_the_middle():
    assert shorten("a" * 48) == "a" * 14 + "…" + "a" * 13
    assert len(shorten("b" * 48)) == 28


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3.2, 27), (0, 0), (-1e-6, 1e-6), (0, 1e9)])
def test_ticks_are_few_and_reach_around_the_data(low, high):
    found = ticks(low, high)
    assert found[0] <= low
    assert found[-1] >= high
    assert len(found) <= 8


def test_labels_that_would_overlap_are_moved_apart_in_their_order():
    moved = spread([10.0, 10.0, 12.0])
    assert [after - before >= 12.9 for before, after in pairwise(moved)] == [True, True]


def test_a_place_is_written_with_two_decimals_at_most():
    assert [number(value) for value in (1.0, 1.005, -0.001, 12.3456)] == ["1", "1", "0", "12.35"]
