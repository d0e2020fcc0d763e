"""Question and plan: the frozen block verbatim, and the endpoints that it registers."""

from __future__ import annotations

from report.content import Block, Cell, Code, Column, Section, Table, Verbatim
from report.pointing import method_of
from report.sections.material import Material, paragraph
from report.sections.phrases import rule, sides_of


def question(material: Material) -> Section:
    """Section 2."""
    evidence = material.evidence
    frozen = "as frozen" if evidence.registration is not None else "not frozen"
    rows = tuple(
        (
            Cell((name,)),
            Cell((node.role,)),
            Cell((sides_of(node),)),
            Cell((method_of(node),)),
            Cell((rule(node),)),
            Cell((node.label,)),
        )
        for name, node in material.aggregate.endpoints.items()
    )
    blocks: list[Block] = [
        Table(
            caption="Registered endpoints",
            note="Metric and test as the design names them.",
            columns=(
                Column("Id"), Column("Role"), Column("Comparison"), Column("Metric; test"), Column("Rule"), Column("Label"),
            ),
            rows=rows,
            main_rows=frozenset(
                index for index, node in enumerate(material.aggregate.endpoints.values()) if node.role == "primary"
            ),
            stacked=True,
        ),
        paragraph(f"The block, verbatim, {frozen}:"),
        Verbatim(text=evidence.block_text, language="markdown"),
    ]  # fmt: skip
    if material.aggregate.registration.block_sha256 is not None:
        blocks.insert(1, paragraph("Block sha256 ", Code(material.aggregate.registration.block_sha256), "."))
    return Section(
        id="question", title="Question and plan", blocks=(*blocks, *material.notes.get("question", ()))
    )
