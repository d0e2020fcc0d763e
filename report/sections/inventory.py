"""Inventory: units with their digests and sources, every input, and where to find every number's origin."""

from __future__ import annotations

from report.content import Block, Cell, Code, Column, Link, Section, Table
from report.numbers import DASH, count
from report.sections.material import Material, empty, paragraph, plain


def inventory(material: Material) -> Section:
    """Section 14."""
    return Section(
        id="inventory",
        title="Inventory",
        blocks=(
            _units(material),
            Table(
                caption="Inputs",
                note="Every file of the study that this report was computed from.",
                columns=(Column("File"), Column("Kind"), Column("Bytes", numeric=True), Column("sha256")),
                rows=tuple(
                    (
                        Cell((Code(file.path),)),
                        plain(file.kind),
                        Cell((count(file.bytes),), sort=str(file.bytes)),
                        Cell((Code(file.sha256),)),
                    )
                    for file in material.evidence.inputs
                ),
                stacked=True,
            ),
            paragraph(
                "The bundle's own files stand in ", Link("MANIFEST.json", "MANIFEST.json"), " and ",
                Link("CHECKSUMS.sha256", "CHECKSUMS.sha256"), "; where every number comes from in ",
                Link("provenance.json", "provenance.json"), ".",
            ),
            *material.notes.get("inventory", ()),
        ),
    )  # fmt: skip


def _units(material: Material) -> Block:
    rows = []
    for _, unit in sorted(material.evidence.units.items()):
        origin = unit.record.origin
        sources = ", ".join(f"{source.name} {source.sha256[:12]}" for source in origin.sources)
        rows.append(
            (
                Cell((Code(unit.record.unit),)),
                Cell((Code(unit.record_sha256),)),
                plain(f"{origin.kind}, {origin.importer}" if origin.importer else origin.kind),
                plain(sources or DASH),
                plain(", ".join(unit.record.job_ids) or DASH),
            )
        )
    if not rows:
        return empty("No unit is there yet.")
    return Table(
        caption="Unit records",
        columns=(
            Column("Unit"),
            Column("sha256 of the record"),
            Column("Origin"),
            Column("Sources"),
            Column("Jobs"),
        ),
        rows=tuple(rows),
        stacked=True,
    )
