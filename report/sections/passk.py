"""pass@k with intervals, nominal cap and mean effective `max_tokens` in every row."""

from __future__ import annotations

from collections import defaultdict

from report.content import Block, Bounds, Cell, Code, Column, FigureBlock, Section, Table
from report.figures.curves import Curve, CurvePanel, curves_picture
from report.numbers import count, percent
from report.sections.material import Material, empty, plain


def passk(material: Material) -> Section:
    """Section 9."""
    rows = tuple(_rows(material))
    if not rows:
        return Section(id="passk", title="pass@k", blocks=(empty("No unit is there yet."),))
    blocks: list[Block] = []
    panels = _panels(material)
    if panels:
        blocks.append(
            FigureBlock(
                picture=curves_picture(panels, _alt(panels)),
                caption=(
                    "pass@k in per cent, mean over problems, unbiased estimator; bands: 95\u00a0% intervals over problems. ",
                    "Dashed: baselines. Curves end at the k that every arm of a panel has.",
                ),
            )
        )
    else:
        blocks.append(empty("No sampling has more than one sample of each problem, so no curve is drawn."))
    blocks.append(
        Table(
            caption="pass@k, per cent, with 95 % intervals",
            note="Cap: nominal limit of completion tokens. Effective: mean max_tokens over the rows.",
            columns=(
                Column("Unit"), Column("Sampling"), Column("k", numeric=True), Column("pass@k", numeric=True),
                Column("95 % interval", numeric=True), Column("n", numeric=True), Column("Cap", numeric=True),
                Column("Effective", numeric=True),
            ),
            rows=rows,
        )
    )  # fmt: skip
    return Section(id="passk", title="pass@k", blocks=(*blocks, *material.notes.get("passk", ())))


def _rows(material: Material) -> list[tuple[Cell, ...]]:
    numbers = material.numbers
    found: list[tuple[Cell, ...]] = []
    for unit, node in material.aggregate.units.items():
        for sampling, one in node.samplings.items():
            key = f"{unit}/{sampling}"
            for point in one.pass_at_k:
                low, high = f"{key}.pass{point.k}_low", f"{key}.pass{point.k}_high"
                bounds = (
                    Cell((Bounds(numbers(low), numbers(high)),))
                    if numbers.has(low)
                    else plain("not estimable")
                )
                value = f"{key}.pass{point.k}"
                found.append(
                    (
                        Cell((Code(unit),)),
                        plain(sampling),
                        Cell((str(point.k),), sort=str(point.k)),
                        material.cell(value) if numbers.has(value) else plain("not estimable"),
                        bounds,
                        Cell((count(one.n_problems),), sort=str(one.n_problems)),
                        Cell((count(one.cap_tokens),), sort=str(one.cap_tokens)),
                        material.cell(f"{key}.max_tokens"),
                    )
                )
    return found


def _panels(material: Material) -> list[CurvePanel]:
    """One panel a benchmark, protocol and sampling with more than one sample: caps are never pooled."""
    design = material.evidence.design
    baselines = {endpoint.baseline.system for endpoint in design.endpoints.values()}
    grouped: dict[tuple[str, str, str], list[Curve]] = defaultdict(list)
    for name, node in material.aggregate.units.items():
        system, benchmark, protocol = name.split(".")
        for sampling, one in node.samplings.items():
            if len(one.pass_at_k) > 1:
                curve = Curve(name=system, points=one.pass_at_k, is_baseline=system in baselines)
                grouped[benchmark, protocol, sampling].append(curve)
    panels = []
    for (benchmark, protocol, sampling), curves in sorted(grouped.items()):
        some = any(curve.is_baseline for curve in curves) and any(not curve.is_baseline for curve in curves)
        ordered = sorted(curves, key=lambda curve: (not curve.is_baseline, curve.name))
        if not some:
            ordered = [Curve(name=curve.name, points=curve.points, is_baseline=False) for curve in ordered]
        panels.append(CurvePanel(title=f"{benchmark}, {protocol}, {sampling}", curves=tuple(ordered)))
    return panels[:8]


def _alt(panels: list[CurvePanel]) -> str:
    parts = []
    for panel in panels[:4]:
        ends = [
            f"{curve.name} from {percent(curve.points[0].value)} to {percent(curve.points[-1].value)} per cent"
            for curve in panel.curves[:6]
            if curve.points[0].value is not None and curve.points[-1].value is not None
        ]
        parts.append(f"{panel.title}: {', '.join(ends)}")
    return f"pass@k from k = 1 to the last k. {'; '.join(parts)}."
