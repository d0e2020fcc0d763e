"""The page: masthead and sections in their fixed order, figures numbered as they come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from report.aggregate import Aggregate
from report.content import Block, FigureBlock, GainTable, Page, Section
from report.drawing import Picture
from report.endpoints import Comparison
from report.evidence import Evidence
from report.narrative import Narrative, read_narrative
from report.pointers import Numbers
from report.pointing import point_at
from report.sections.cost import cost
from report.sections.deviations import deviations
from report.sections.diagnostics import diagnostics
from report.sections.flow import flow
from report.sections.inventory import inventory
from report.sections.limitations import limitations
from report.sections.masthead import make_masthead
from report.sections.material import Material
from report.sections.passk import passk
from report.sections.primary import primary
from report.sections.question import question
from report.sections.rebuild import rebuild
from report.sections.registered import registered
from report.sections.secondary import secondary
from report.sections.setup import setup
from report.sections.summary import summary

ORDER: Mapping[str, Callable[[Material], Section]] = {
    "summary": summary,
    "question": question,
    "registered": registered,
    "deviations": deviations,
    "setup": setup,
    "flow": flow,
    "primary": primary,
    "secondary": secondary,
    "passk": passk,
    "diagnostics": diagnostics,
    "limitations": limitations,
    "cost": cost,
    "rebuild": rebuild,
    "inventory": inventory,
}
"""Section id -> section. A new section is one function and one row."""


def make_page(
    evidence: Evidence, aggregate: Aggregate, comparisons: Mapping[str, Comparison]
) -> tuple[Page, Numbers, Narrative]:
    """The content of the report, its pointers, and the author's narrative with what is wrong in it."""
    numbers = point_at(aggregate)
    narrative = read_narrative(evidence.narrative, numbers, tuple(ORDER))
    material = Material(
        evidence=evidence,
        aggregate=aggregate,
        comparisons=comparisons,
        numbers=numbers,
        notes=narrative.notes,
    )
    sections = _numbered(tuple(make(material) for make in ORDER.values()))
    return Page(masthead=make_masthead(material), sections=sections), numbers, narrative


def _numbered(sections: tuple[Section, ...]) -> tuple[Section, ...]:
    number = 0
    result = []
    for section in sections:
        blocks: list[Block] = []
        for block in section.blocks:
            if isinstance(block, FigureBlock | GainTable):
                number += 1
                blocks.append(replace(block, number=number))
            else:
                blocks.append(block)
        result.append(replace(section, blocks=tuple(blocks)))
    return tuple(result)


def pictures(page: Page) -> tuple[Picture, ...]:
    """Every figure of the page, in order."""
    return tuple(
        block.picture
        for section in page.sections
        for block in section.blocks
        if isinstance(block, FigureBlock | GainTable)
    )
