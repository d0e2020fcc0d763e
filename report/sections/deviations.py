"""Deviations and decisions: the table of deviations, and the log verbatim with each erratum beside what it mends."""

from __future__ import annotations

from prereg.decisions import Decision
from report.content import Block, Cell, Column, Heading, Section, Strong, Table, Verbatim
from report.sections.material import Material, empty, paragraph, plain


def deviations(material: Material) -> Section:
    """Section 4."""
    entries = material.evidence.decisions.entries
    mended = {entry.mends: entry for entry in entries if entry.mends is not None}
    blocks: list[Block] = []
    departed = [entry for entry in entries if entry.kind == "DEVIATION"]
    if departed:
        blocks.append(
            Table(
                caption="What differed from the plan",
                columns=(Column("Id"), Column("Date", whole=True), Column("What differed")),
                rows=tuple(
                    (plain(entry.id), plain(entry.day.isoformat()), Cell((_first_paragraph(entry, mended),)))
                    for entry in departed
                ),
                stacked=True,
            )
        )
    else:
        blocks.append(empty("No deviation is logged in DECISIONS.md."))
    recorded = [
        (unit.record.unit, text)
        for _, unit in sorted(material.evidence.units.items())
        for text in unit.record.deviations
    ]
    if recorded:
        blocks.append(
            Table(
                caption="Deviations in unit records, verbatim",
                columns=(Column("Unit"), Column("Deviation")),
                rows=tuple((plain(unit), plain(text)) for unit, text in recorded),
                stacked=True,
            )
        )
    blocks += [Heading(text="Decision log"), *_log(entries, mended)]
    blocks += [Heading(text="Errata"), *_errata(entries)]
    return Section(
        id="deviations",
        title="Deviations and decisions",
        blocks=(*blocks, *material.notes.get("deviations", ())),
    )


def _first_paragraph(entry: Decision, mended: dict[str, Decision]) -> str:
    text = " ".join(entry.text.strip().split("\n\n")[0].split())
    return f"{text} (mended by {mended[entry.id].id})" if entry.id in mended else text


def _log(entries: tuple[Decision, ...], mended: dict[str, Decision]) -> list[Block]:
    if not entries:
        return [empty("The decision log is empty.")]
    shown = []
    for entry in entries:
        if entry.kind == "ERRATUM" and entry.mends in {other.id for other in entries}:
            continue
        shown.append(_entry(entry))
        if entry.id in mended:
            shown.append(_entry(mended[entry.id]))
    return [paragraph("Verbatim; an erratum stands below what it mends."), Verbatim(text="\n\n".join(shown))]


def _entry(entry: Decision) -> str:
    mends = f" · mends {entry.mends}" if entry.mends else ""
    return f"{entry.day.isoformat()} · {entry.kind} · {entry.id}{mends}\n{entry.text.strip()}"


def _errata(entries: tuple[Decision, ...]) -> list[Block]:
    errata = [entry for entry in entries if entry.kind == "ERRATUM"]
    if not errata:
        return [empty("No published number of this study has changed, by its log.")]
    by_id = {entry.id: entry for entry in entries}
    rows = tuple(
        (
            Cell((Strong((entry.id,)),)),
            plain(entry.mends or ""),
            plain(" ".join(by_id[entry.mends].text.split()) if entry.mends in by_id else "not in the log"),
            plain(" ".join(entry.text.split())),
        )
        for entry in errata
    )
    return [
        Table(
            caption="Errata beside what they correct",
            columns=(Column("Erratum"), Column("Mends"), Column("What it said"), Column("What holds")),
            rows=rows,
            stacked=True,
        )
    ]
