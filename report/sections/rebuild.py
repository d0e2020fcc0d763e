"""Rebuild: three commands and what each of them shows."""

from __future__ import annotations

from report.content import Bullets, Code, Section, Text, Verbatim
from report.sections.material import Material

COMMANDS = """python build_report.py STUDY --offline
python build_report.py STUDY --offline --verify
beforehand report verify --bundle STUDY/report
beforehand report trace STUDY {pointer}
sha256sum -c CHECKSUMS.sha256"""


def rebuild(material: Material) -> Section:
    """Section 13."""
    first = next(iter(material.nodes), "units")
    pointer = f"{first}.gain" if material.numbers.has(f"{first}.gain") else "units.planned"
    items: tuple[Text, ...] = (
        (
            "STUDY is the folder of ",
            Code(material.evidence.study.config.name),
            "; the last command runs inside this folder.",
        ),
        (
            "1 writes the bundle again; 2 rebuilds beside it and names what drifted: registration, data, text, code, environment.",
        ),
        (
            "3 checks this folder alone: checksums, frozen block, ledger head, and the primary endpoint where the rows are at hand.",
        ),
        (
            "4 names rows, files, digests, method and label behind one number. Exit codes: 0 clean, 1 a difference.",
        ),
    )
    return Section(
        id="rebuild",
        title="Rebuild",
        blocks=(
            Verbatim(text=COMMANDS.format(pointer=pointer)),
            Bullets(items=items),
            *material.notes.get("rebuild", ()),
        ),
    )
