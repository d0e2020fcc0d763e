"""Summary: every comparison in one table and one figure, then one sentence each."""

from __future__ import annotations

from report.aggregate import Node
from report.content import Block, Bullets, Cell, GainRow, GainTable, Heading, Inline, Section, Strong
from report.figures.gains import GainMark, gains_picture
from report.numbers import DASH, caps
from report.sections.material import Material
from report.sections.phrases import endpoint_sentence, interval, n_of, p_of, sides_of, word

GROUPS = {
    "primary": "Primary, planned",
    "secondary": "Secondary, planned",
    "diagnostic": "Diagnostic, planned",
    "exploratory": "Not planned",
}


def summary(material: Material) -> Section:
    """Section 1."""
    nodes = material.nodes
    marks = [_mark(name, node) for name, node in nodes.items()]
    blocks: list[Block] = [
        GainTable(
            rows=tuple(_row(material, name, node) for name, node in nodes.items()),
            picture=gains_picture(marks),
        ),
        Bullets(items=tuple(endpoint_sentence(material, name, node) for name, node in nodes.items())),
    ]
    warnings: list[tuple[Inline, ...]] = [
        (Strong((f"{name}:",)), f" {warning}") for name, node in nodes.items() for warning in node.warnings
    ]
    warnings += [
        (Strong((f"{name}:",)), f" compared though {field}")
        for name, node in nodes.items()
        for field in node.unequal_allowed
    ]
    if warnings:
        blocks += [Heading(text="Warnings"), Bullets(items=tuple(warnings))]
    return Section(id="summary", title="Summary", blocks=(*blocks, *material.notes.get("summary", ())))


def _mark(name: str, node: Node) -> GainMark:
    estimate = node.estimate
    ci = estimate.ci if estimate else None
    return GainMark(
        id=name,
        name=estimate.name if estimate else "",
        sides=sides_of(node),
        gain=estimate.value if estimate else None,
        low=ci.low if ci else None,
        high=ci.high if ci else None,
        planned=node.role != "exploratory",
        primary=node.role == "primary",
        note=word(node),
    )


def _row(material: Material, name: str, node: Node) -> GainRow:
    estimate, numbers = node.estimate, material.numbers
    ci = estimate.ci if estimate else None
    withheld = "withheld" if node.conclusion == "invalid" else word(node)
    dash = Cell((DASH,), sort="")
    what: tuple[Inline, ...] = (sides_of(node),)
    if estimate is not None:
        what = (
            f"{estimate.name}, {sides_of(node)}, {caps(estimate.baseline.cap_tokens, estimate.candidate.cap_tokens)}",
        )
    return GainRow(
        id=name,
        name=what,
        group=GROUPS[node.role],
        label=node.label,
        gain=material.cell(f"{name}.gain") if estimate else Cell((withheld,), sort=""),
        interval=Cell(interval(numbers, name)) if estimate else dash,
        rates=Cell((numbers(f"{name}.baseline"), " → ", numbers(f"{name}.candidate"))) if estimate else dash,
        n=Cell(n_of(numbers, name), sort=str(estimate.n_problems)) if estimate else dash,
        p=Cell(p_of(numbers, name, node)) if estimate else dash,
        value=100 * estimate.value if estimate else None,
        low=100 * ci.low if ci else None,
        high=100 * ci.high if ci else None,
        planned=node.role != "exploratory",
        primary=node.role == "primary",
        note=word(node),
    )
