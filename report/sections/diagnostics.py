"""Diagnostics: truncation, lengths, extraction, reasons. Read time-outs on both sides before a small gap."""

from __future__ import annotations

from report.aggregate import SamplingNode
from report.content import Block, Cell, Code, Column, FigureBlock, Heading, Section, Table
from report.figures.lengths import LengthRow, lengths_picture
from report.numbers import percent
from report.sections.material import Material, empty, plain

Rows = list[tuple[str, str, SamplingNode]]


def diagnostics(material: Material) -> Section:
    """Section 10."""
    rows: Rows = [
        (unit, sampling, one)
        for unit, node in material.aggregate.units.items()
        for sampling, one in node.samplings.items()
    ]
    if not rows:
        return Section(id="diagnostics", title="Diagnostics", blocks=(empty("No unit is there yet."),))
    return Section(
        id="diagnostics",
        title="Diagnostics",
        blocks=(
            *_figure(rows),
            _lengths(material, rows),
            *_extraction(material, rows),
            Heading(text="Reasons that verdicts give"),
            *_reasons(material, rows),
            *material.notes.get("diagnostics", ()),
        ),
    )


def _figure(rows: Rows) -> list[Block]:
    drawn = [
        LengthRow(
            name=f"{unit} {sampling}",
            lengths=one.lengths,
            cut=one.truncated / one.got if one.truncated is not None and one.got else None,
            cap_tokens=one.cap_tokens,
        )
        for unit, sampling, one in rows
        if one.lengths is not None
    ]
    if not drawn:
        return [empty("No row states its number of completion tokens, so no lengths are drawn.")]
    known = [row for row in drawn if row.cut is not None]
    worst = max(known, key=lambda row: row.cut or 0.0, default=None)
    alt = "Lengths and truncation of every sampling. " + (
        f"Most truncated: {worst.name}, {percent(worst.cut or 0.0)} per cent of rows."
        if worst
        else "Truncation is not stated."
    )
    return [
        FigureBlock(
            picture=lengths_picture(drawn, alt),
            caption=(
                "Completion tokens as a share of the nominal cap, and the share of rows that ended at the cap.",
            ),
        )
    ]


def _named(unit: str, sampling: str) -> tuple[Cell, Cell]:
    return Cell((Code(unit),)), plain(sampling)


def _lengths(material: Material, rows: Rows) -> Table:
    fields = ("got", "share", "truncated_share", "mean", "median", "p90", "max")
    return Table(
        caption="Accuracy, truncation and lengths",
        note="Per cent of rows; lengths in completion tokens.",
        columns=(
            Column("Unit"), Column("Sampling"), Column("n rows", numeric=True), Column("Correct, %", numeric=True),
            Column("Truncated, %", numeric=True), Column("Mean", numeric=True), Column("Median", numeric=True),
            Column("p90", numeric=True), Column("Max", numeric=True),
        ),
        rows=tuple(
            (*_named(unit, sampling), *(material.cell(f"{unit}/{sampling}.{field}") for field in fields))
            for unit, sampling, _ in rows
        ),
    )  # fmt: skip


def _extraction(material: Material, rows: Rows) -> list[Block]:
    names = sorted({name for _, _, one in rows for name in one.extraction.extractors})
    if not names:
        return [empty("No row names an extractor, so shares of extractors are not known.")]
    fields = (
        *(f"extracted_{name}_share" for name in names),
        "answered_share",
        "correct_given_answer",
        "truncated_answered_share",
        "truncated_correct_share",
    )
    return [
        Table(
            caption="How answers were found",
            note="Per cent of rows; the last two of truncated rows. An extractor named none found no answer.",
            columns=(
                Column("Unit"), Column("Sampling"), *(Column(f"{name}, %", numeric=True) for name in names),
                Column("Answered, %", numeric=True), Column("Correct given an answer, %", numeric=True),
                Column("Truncated: answered, %", numeric=True), Column("Truncated: correct, %", numeric=True),
            ),
            rows=tuple(
                (*_named(unit, sampling), *(material.cell(f"{unit}/{sampling}.{field}") for field in fields))
                for unit, sampling, _ in rows
            ),
        )
    ]  # fmt: skip


def _reasons(material: Material, rows: Rows) -> list[Block]:
    found = tuple(
        (
            *_named(unit, sampling),
            Cell((Code(reason.reason),)),
            material.cell(f"{unit}/{sampling}.reason_{place}"),
            plain(percent(reason.rows / one.got)),
        )
        for unit, sampling, one in rows
        for place, reason in enumerate(one.reasons, start=1)
    )
    if not found:
        return [empty("Rows carry no reasons, so there is no histogram.")]
    return [
        Table(
            caption="Reasons by system",
            note="A row may give several. Time-outs depend on the load of the machine: read them on both sides before a small gap.",
            columns=(
                Column("Unit"), Column("Sampling"), Column("Reason"), Column("Rows", numeric=True), Column("% of rows", numeric=True),
            ),
            rows=found,
        )
    ]  # fmt: skip
