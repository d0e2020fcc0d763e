"""Limitations: what the builder can find itself, and what the author adds, under two headings."""

from __future__ import annotations

from report.content import Block, Bullets, Code, Heading, Inline, Section, Text
from report.sections.masthead import INTEGRITY
from report.sections.material import Material, empty
from report.sections.phrases import agree

SMALL_N = 100
UNSANDBOXED = "sandbox"
"""A verifier without this pin does not say that it ran in one."""


def limitations(material: Material) -> Section:
    """Section 11."""
    authored = material.notes.get("limitations", ())
    blocks: list[Block] = [
        Heading(text="Found by the builder"),
        Bullets(items=tuple(_found(material))),
        Heading(text="From the author"),
        *(authored or (empty("narrative.md has no section “limitations”."),)),
    ]
    return Section(id="limitations", title="Limitations", blocks=tuple(blocks))


def _found(material: Material) -> list[Text]:
    evidence, aggregate, design = material.evidence, material.aggregate, material.evidence.design
    found: list[Text] = []
    missing = [name for name, unit in aggregate.units.items() if unit.status != "found"]
    if missing:
        number = material.numbers("units.planned")
        found.append(
            (
                f"{len(missing)} of ", number, f" {agree(len(missing), 'planned units is', 'planned units are')} not there: ",
                *_codes(missing), ".",
            )
        )  # fmt: skip
    trained = sorted(
        name for name, system in design.systems_expanded.items() if system.trained_from is not None
    )
    if trained:
        found.append(
            (
                "One training run per trained system (", *_codes(trained),
                "): intervals cover the choice of problems, not of runs or sampling seeds.",
            )
        )  # fmt: skip
    else:
        found.append(
            ("Intervals cover the choice of problems; they say nothing about another sampling seed.",)
        )
    if any(unit.regraded is False for unit in aggregate.units.values()):
        found.append(("Verdicts were read from the source, not graded again.",))
    unrecorded = sorted(name for name in design.systems_expanded if not design.is_recorded(name))
    if unrecorded:
        found.append(("No revision or hash of the weights is recorded for ", *_codes(unrecorded), "."))
    small = [
        name
        for name, node in material.nodes.items()
        if node.estimate is not None and node.estimate.n_problems < SMALL_N
    ]
    if small:
        found.append(
            (
                f"Fewer than {SMALL_N} problems stand behind {', '.join(small)}: percentile intervals are too narrow there.",
            )
        )
    without_prompts = sorted(
        str(unit) for unit, there in evidence.units.items() if there.record.prompts_sha256 is None
    )
    if without_prompts:
        found.append(
            (
                f"{len(without_prompts)} of {len(evidence.units)} unit records hold no digest of the prompts: ",
                "that both sides were prompted alike is stated, not shown.",
            )
        )
    unsandboxed = sorted(
        {
            there.record.verifier.kind
            for there in evidence.units.values()
            if UNSANDBOXED not in there.record.verifier.pins and there.record.verifier.kind != "unstated"
        }
    )
    if unsandboxed:
        found.append(
            (
                f"No unit record says that its verifier ({', '.join(unsandboxed)}) ran in a sandbox; take it as unsandboxed.",
            )
        )
    found += _tests(material)
    found.append((f"{INTEGRITY} No time stamp of a third party stands in this bundle.",))
    return found


def _tests(material: Material) -> list[Text]:
    """Several comparisons at one level: said once, with the number of them."""
    tested = [name for name, node in material.nodes.items() if node.estimate is not None]
    if len(tested) < 2:
        return []
    return [
        (
            f"{len(tested)} comparisons are shown, each at its own level; nothing is adjusted for their number. ",
            "Only a primary endpoint decides.",
        )
    ]


def _codes(names: list[str]) -> tuple[Inline, ...]:
    parts: list[Inline] = []
    for index, name in enumerate(names):
        parts += [", ", Code(name)] if index else [Code(name)]
    return tuple(parts)
