"""Secondary and exploratory: described, never rescuing the primary."""

from __future__ import annotations

from report.aggregate import Node
from report.content import Block, Bullets, Heading, Inline, Section
from report.sections.material import Material, empty, paragraph
from report.sections.phrases import CONCLUSIONS, endpoint_sentence
from report.sections.primary import naive, paired_table

GROUPS = (
    ("secondary", "Secondary endpoints"),
    ("diagnostic", "Diagnostic comparisons"),
    ("exploratory", "Not planned"),
)


def secondary(material: Material) -> Section:
    """Section 8."""
    others = {name: node for name, node in material.nodes.items() if node.role != "primary"}
    if not others:
        nothing = empty("The design names no secondary endpoint, and study.toml no exploratory comparison.")
        return Section(id="secondary", title="Secondary and exploratory", blocks=(nothing,))
    blocks: list[Block] = [
        paragraph("These comparisons are described. None of them can rescue a primary endpoint.")
    ]
    for role, title in GROUPS:
        nodes = {name: node for name, node in others.items() if node.role == role}
        if not nodes:
            continue
        labels = {node.label for node in nodes.values()}
        blocks.append(Heading(text=title, chip=labels.pop() if len(labels) == 1 else None))
        items: list[tuple[Inline, ...]] = []
        for name, node in nodes.items():
            items.append(endpoint_sentence(material, name, node))
            if node.naive is not None:
                items.append(naive(material, name))
            items += _fragility(material, name, node)
        blocks.append(Bullets(items=tuple(items)))
    blocks.append(paired_table(material, others))
    return Section(
        id="secondary",
        title="Secondary and exploratory",
        blocks=(*blocks, *material.notes.get("secondary", ())),
    )


def _fragility(material: Material, name: str, node: Node) -> list[tuple[Inline, ...]]:
    if node.fragility is None or node.fragility.n_flips is None:
        return []
    after = CONCLUSIONS[node.fragility.conclusion_after or "no_detectable_difference"]
    numbers = material.numbers
    return [
        (
            f"{name}, fragility: with ", numbers(f"{name}.flips"), " problems otherwise (",
            numbers(f"{name}.gained_after"), " gained, ", numbers(f"{name}.lost_after"), f" lost) the word would be {after}.",
        )
    ]  # fmt: skip
