"""Primary endpoint: rule, why PRIMARY is not printed where it is not, numbers, change by problem, power, fragility."""

from __future__ import annotations

from report.aggregate import Node
from report.content import (
    Block,
    Bounds,
    Bullets,
    Cell,
    Code,
    Column,
    FigureBlock,
    Heading,
    Inline,
    Paragraph,
    Section,
    Strong,
    Table,
)
from report.figures.change import change_picture, change_sentence
from report.pointing import method_of
from report.sections.examples import examples
from report.sections.material import Material, empty, paragraph, plain
from report.sections.phrases import CONCLUSIONS, endpoint_sentence, p_of, rule


def primary(material: Material) -> Section:
    """Section 7."""
    primaries = material.primaries
    blocks: list[Block] = []
    for name, node in primaries.items():
        blocks += _endpoint(material, name, node)
    if not primaries:
        blocks.append(empty("The design names no primary endpoint."))
    title = (
        "Planned primary endpoint"
        if any(not node.primary for node in primaries.values())
        else "Primary endpoint"
    )
    return Section(id="primary", title=title, blocks=(*blocks, *material.notes.get("primary", ())))


def _endpoint(material: Material, name: str, node: Node) -> list[Block]:
    blocks: list[Block] = [Heading(text=name, chip=node.label)]
    if node.not_primary_because:
        because = "; ".join(node.not_primary_because)
        blocks.append(Paragraph(parts=(Strong(("Not PRIMARY:",)), f" {because}."), kind="warning"))
    blocks.append(
        paragraph("Decision rule: ", Strong((rule(node),)), ". Metric and test: ", Code(method_of(node)), ".")
    )
    blocks.append(paragraph(*endpoint_sentence(material, name, node)))
    if node.amended_by:
        blocks.append(
            paragraph(
                f"Amended by {', '.join(node.amended_by)}; see section 3 for the endpoint as registered."
            )
        )
    if node.naive is not None:
        blocks.append(paragraph(*naive(material, name)))
    sides = material.comparisons[name].sides
    if node.estimate is None or node.change is None or sides is None:
        return blocks
    if node.estimate.paired is not None:
        blocks.append(paired_table(material, {name: node}))
    change = node.change
    blocks += [
        FigureBlock(
            picture=change_picture(
                name, sides, change_sentence(sides.names, change.risen, change.fallen, change.unchanged)
            ),
            caption=_change_caption(material, name, sides.names),
        ),
        Bullets(items=tuple(_standing(material, name, node))),
    ]
    return [*blocks, *examples(material, name)]


def _change_caption(material: Material, name: str, names: tuple[str, str]) -> tuple[Inline, ...]:
    numbers = material.numbers
    return (
        f"Per cent correct, problem by problem; the same problems twice, sorted by {names[0]} and by {names[1]}. ",
        "Solid upright lines: rose (",
        numbers(f"{name}.risen"),
        "). Dashed: fell (",
        numbers(f"{name}.fallen"),
        "). Unchanged: ",
        numbers(f"{name}.unchanged"),
        ", of them ",
        numbers(f"{name}.none_on_both"),
        " at 0 and ",
        numbers(f"{name}.all_on_both"),
        " at 100 in both arms.",
    )


def _standing(material: Material, name: str, node: Node) -> list[tuple[Inline, ...]]:
    """Power and fragility: what could be seen, and on how little the word hangs."""
    numbers = material.numbers
    items: list[tuple[Inline, ...]] = []
    if node.planning is not None:
        lead = f"Power: at the observed spread ({node.planning.basis}; "
        if numbers.has(f"{name}.detectable"):
            items.append(
                (
                    lead, numbers(f"{name}.spread"), ") this many problems show a gain of ",
                    numbers(f"{name}.detectable"), f"\u00a0pp with power {node.planning.target_power}.",
                )
            )  # fmt: skip
        else:
            items.append(
                (lead, numbers(f"{name}.spread"), f") none is detectable: {node.planning.detectable_reason}.")
            )
    if node.fragility is not None:
        if node.fragility.n_flips is None:
            items.append((f"Fragility: {node.fragility.reason}.",))
        else:
            after = CONCLUSIONS[node.fragility.conclusion_after or "no_detectable_difference"]
            items.append(
                (
                    "Fragility: with ", numbers(f"{name}.flips"), " problems out of ", numbers(f"{name}.n_problems"),
                    " otherwise (", numbers(f"{name}.gained_after"), " gained, ", numbers(f"{name}.lost_after"),
                    f" lost) the word would be {after}.",
                )
            )  # fmt: skip
    return items


def naive(material: Material, name: str) -> tuple[Inline, ...]:
    """The comparison over all samples of both sides, beside a restricted pairing."""
    numbers = material.numbers
    lead = Strong((f"{name}, all samples of both sides, not the registered pairing:",))
    bounds: tuple[Inline, ...] = ()
    if numbers.has(f"{name}.naive_ci_low"):
        bounds = (" ", Bounds(numbers(f"{name}.naive_ci_low"), numbers(f"{name}.naive_ci_high")))
    return (lead, " gain ", numbers(f"{name}.naive_gain"), "\u00a0pp", *bounds, ".")


def paired_table(material: Material, nodes: dict[str, Node]) -> Block:
    """The discordant table of every endpoint that counts a problem as 0 or 1."""
    rows = tuple(
        (
            plain(name),
            *(
                material.cell(f"{name}.{field}")
                for field in ("both", "lost", "gained", "neither", "n_problems")
            ),
            Cell(p_of(material.numbers, name, node)),
        )
        for name, node in nodes.items()
        if node.estimate is not None and node.estimate.paired is not None
    )
    if not rows:
        return empty("No endpoint counts a problem as 0 or 1, so there is no discordant table.")
    return Table(
        caption="Problems solved by both, by one, by neither",
        columns=(
            Column("Id"), Column("Both", numeric=True), Column("Baseline only", numeric=True),
            Column("Candidate only", numeric=True), Column("Neither", numeric=True), Column("n", numeric=True), Column("p"),
        ),
        rows=rows,
    )  # fmt: skip
