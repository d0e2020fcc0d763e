"""Registered before data? The status, where data were looked for, amendments, and who could have seen what when."""

from __future__ import annotations

from collections.abc import Sequence

from report.aggregate import Node, RegistrationNode
from report.content import (
    Block,
    Bullets,
    Cell,
    Code,
    Column,
    FigureBlock,
    Heading,
    Inline,
    Section,
    Strong,
    Table,
    Text,
    Verbatim,
)
from report.figures.timeline import timeline_picture
from report.numbers import DASH
from report.sections.masthead import INTEGRITY
from report.sections.material import Material, empty, plain
from report.sections.phrases import endpoint_sentence

MOST_FOUND = 20


def registered(material: Material) -> Section:
    """Section 3."""
    node = material.aggregate.registration
    blocks: list[Block] = [Bullets(items=tuple(_status(material, node)))]
    blocks += _timeline(node)
    blocks += [Heading(text="Where data were looked for at the freeze"), *_witness(node)]
    blocks += [Heading(text="Amendments"), *_amendments(material, node)]
    blocks += [Heading(text="Validity rules"), *_validity(material.nodes)]
    return Section(
        id="registered",
        title="Registered before data?",
        blocks=(*blocks, *material.notes.get("registered", ())),
    )


def _status(material: Material, node: RegistrationNode) -> list[Text]:
    items: list[Text] = [("Status: ", Strong((node.status.replace("_", " "),)), ".")]
    if node.block_sha256 is not None:
        items.append(
            (
                "Block sha256 ",
                Code(node.block_sha256),
                f", frozen at {node.frozen_at} by the clock of that machine.",
            )
        )
    items.append((f"Witness: {node.witness}.",))
    if node.acknowledged:
        items.append((f"Acknowledged at the freeze: {node.acknowledged}",))
    items += [
        (str(finding).removeprefix("- ").replace("\n", " "),)
        for finding in material.evidence.verification.findings
    ]
    older = [
        str(unit)
        for unit, there in sorted(material.evidence.units.items())
        if node.block_sha256 is None or there.record.registration_sha256 != node.block_sha256
    ]
    if older:
        names: list[Inline] = ["Units whose record does not name this registration: "]
        for index, unit in enumerate(older):
            names += [", ", Code(unit)] if index else [Code(unit)]
        items.append((*names, "."))
    return [*items, (f"{INTEGRITY} Times are those of the machines that wrote them.",)]


def _timeline(node: RegistrationNode) -> list[Block]:
    if not node.events:
        return [empty("No event has a recorded time, so there is no timeline.")]
    finding = "; ".join(f"{event.what}: {event.at or 'no time recorded'}" for event in node.events[:12])
    rows = tuple((plain(event.at or DASH), plain(event.what), plain(event.source)) for event in node.events)
    return [
        FigureBlock(
            picture=timeline_picture(node.events, f"{finding}."),
            caption=(
                "In the order of the recorded times, not to scale. Hollow: a day only, or no time recorded.",
            ),
        ),
        Table(
            caption="Events and their sources",
            columns=(Column("Time, UTC"), Column("Event"), Column("Source")),
            rows=rows,
            stacked=True,
        ),
    ]


def _witness(node: RegistrationNode) -> list[Block]:
    if not node.places:
        return [empty("No witness recorded: nobody knows what existed at the freeze.")]
    places = tuple(
        (
            plain(place.name),
            plain(place.state),
            Cell((f"{place.files:,d}",), sort=str(place.files)),
            plain(place.note or DASH),
        )
        for place in node.places
    )
    blocks: list[Block] = [
        Table(
            caption="Places looked at",
            note="“Nothing found” is a statement about these places.",
            columns=(
                Column("Place"),
                Column("State"),
                Column("Files read", numeric=True),
                Column("Left out, and why"),
            ),
            rows=places,
            stacked=True,
        )
    ]
    if not node.found:
        return [*blocks, empty("Nothing was found in the places looked at.")]
    found = tuple(
        (
            Cell((Code(one.path),)),
            plain(one.place),
            plain(one.kind),
            Cell((f"{one.n_records:,d}",), sort=str(one.n_records)),
            plain(", ".join(one.touches) or DASH),
        )
        for one in sorted(node.found, key=lambda one: not one.touches)[:MOST_FOUND]
    )
    more = len(node.found) - len(found)
    return [
        *blocks,
        Table(
            caption="Found at the freeze",
            note=f"{more:,d} more in registration.json." if more else "",
            columns=(
                Column("Path"), Column("Place"), Column("Kind"), Column("Records", numeric=True), Column("Touches"),
            ),
            rows=found,
            stacked=True,
        ),
    ]  # fmt: skip


def _amendments(material: Material, node: RegistrationNode) -> list[Block]:
    if not node.amendments:
        return [empty("None is sealed.")]
    rows = tuple(
        (
            plain(one.id),
            plain(one.kind),
            plain(one.sealed_at),
            plain(", ".join(one.touches) or "no endpoint"),
            plain(one.seen),
        )
        for one in node.amendments
    )
    blocks: list[Block] = [
        Table(
            caption="Amendments",
            note="Seen: what anybody could have seen of the results when it was sealed, as computed or raised by the author.",
            columns=(
                Column("Id"),
                Column("Kind"),
                Column("Sealed, UTC", whole=True),
                Column("Touches"),
                Column("Seen"),
            ),
            rows=rows,
            stacked=True,
        ),
    ]
    blocks.extend(Verbatim(text=one.text.strip("\n"), language="markdown") for one in node.amendments)
    blocks += _replaced(material)
    return blocks


def _replaced(material: Material) -> list[Block]:
    """Every endpoint that an amendment replaced, computed as it was registered."""
    nodes = material.aggregate.as_registered
    if not nodes:
        return []
    return [
        Heading(text="Replaced endpoints, as registered", chip="registered"),
        Bullets(
            items=tuple(
                endpoint_sentence(material, f"{name}-as-registered", node) for name, node in nodes.items()
            )
        ),
    ]


def _validity(nodes: dict[str, Node]) -> Sequence[Block]:
    rows = tuple(
        (
            plain(name),
            plain(one.rule),
            Cell((Strong((one.state,)) if one.state != "holds" else one.state,)),
            plain(one.detail + (f"; {'; '.join(one.rows)}" if one.rows else "")),
        )
        for name, node in nodes.items()
        for one in node.validity
    )
    if not rows:
        return [empty("The design names no validity rule, or none could be tried yet.")]
    return [
        Table(
            caption="Validity rules",
            note="A violated rule makes a comparison invalid, which is not negative; one that cannot be told forbids PRIMARY.",
            columns=(Column("Id"), Column("Rule"), Column("State"), Column("What was found")),
            rows=rows,
            stacked=True,
        )
    ]
