"""Units and flow: what was planned, what is there, and how many rows reach a comparison."""

from __future__ import annotations

from report.aggregate import Aggregate
from report.content import Block, Cell, Code, Column, FigureBlock, Inline, Link, Section, Table
from report.figures.flow import Stage, flow_picture
from report.numbers import DASH, count
from report.sections.material import Material, paragraph, plain
from report.sections.phrases import agree

STATUSES = ("found", "pending", "skipped", "canceled", "substituted")


def flow(material: Material) -> Section:
    """Section 6."""
    numbers = material.numbers
    parts: list[Inline] = [numbers("units.planned"), " units planned: "]
    for index, status in enumerate(STATUSES):
        parts += [", " if index else "", numbers(f"units.{status}"), f" {status}"]
    stages = _stages(material.aggregate)
    alt = "; ".join(f"{stage.name}: {count(stage.number)}" for stage in stages)
    return Section(
        id="flow",
        title="Units and flow",
        blocks=(
            paragraph(*parts, "."),
            FigureBlock(
                picture=flow_picture(stages, f"{alt}."),
                caption=(
                    "Rows of all units on one scale. Compared: of each sampling, the most rows that one endpoint used; see ",
                    Link("section 7", "#primary"),
                    ".",
                ),
            ),
            _roster(material),
            *material.notes.get("flow", ()),
        ),
    )


def _stages(aggregate: Aggregate) -> list[Stage]:
    samplings = [one for unit in aggregate.units.values() for one in unit.samplings.values()]
    planned, got, judged, compared = (
        sum(getattr(one, name) for one in samplings) for name in ("planned", "got", "judged", "compared")
    )
    unused = sum(one.got for one in samplings if not one.compared)
    absent = sum(unit.status != "found" for unit in aggregate.units.values())
    return [
        Stage(
            name="Rows planned, of the units that are there",
            number=planned,
            left=f"{count(absent)} {agree(absent, 'planned unit is', 'planned units are')} not there"
            if absent
            else "",
        ),
        Stage(
            name="Rows got",
            number=got,
            left=_minus(planned - got, "planned and never made", "more than planned"),
        ),
        Stage(name="Rows judged", number=judged, left=_minus(got - judged, "have no verdict", "")),
        Stage(
            name="Rows compared",
            number=compared,
            left=_minus(
                judged - compared,
                f"enter no comparison, {count(unused)} in samplings not used",
                "",
            ),
        ),
    ]


def _minus(number: int, below: str, above: str) -> str:
    if number == 0:
        return ""
    return f"{count(number)} {below}" if number > 0 else f"{count(-number)} {above}"


def _roster(material: Material) -> Block:
    rows = []
    for name, unit in material.aggregate.units.items():
        if unit.status != "found":
            why = (
                f"{unit.reason} ({unit.decision})" if unit.reason else "not there yet; rebuild when it lands"
            )
            dashes = tuple(Cell((DASH,), sort="") for _ in range(4))
            rows.append((Cell((Code(name),)), plain(unit.status), plain(DASH), *dashes, plain(why)))
            continue
        note = "not regraded" if unit.regraded is False else "regraded" if unit.regraded else ""
        rows += [
            (
                Cell((Code(name),)),
                plain("found"),
                plain(sampling),
                *(
                    material.cell(f"{name}/{sampling}.{field}")
                    for field in ("planned", "got", "judged", "compared")
                ),
                plain(note),
            )
            for sampling in unit.samplings
        ]
    return Table(
        caption="Roster",
        columns=(
            Column("Unit"), Column("Status"), Column("Sampling"), Column("Rows planned", numeric=True),
            Column("Got", numeric=True), Column("Judged", numeric=True), Column("Compared", numeric=True), Column("Note"),
        ),
        rows=tuple(rows),
    )  # fmt: skip
