"""The design in force: the registered one with the tables that amendments replaced. The registered one stays as it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from manifests.documents import parse_toml
from manifests.errors import BeforehandError
from prereg.access import is_before_results
from prereg.amendment import FENCE_INFO
from prereg.block import Block
from prereg.design import Design
from prereg.fences import Markdown
from prereg.seals import Seal

SECTIONS = ("benchmarks", "systems", "protocols", "endpoints")
WHOLE = ("validity", "units", "pinned")
"""Keys without names of their own: an amendment gives them anew as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveDesign:
    """registered: as frozen; in_force: after the amendments; amended: endpoint -> ids of the amendments that changed it, in order."""

    registered: Design
    in_force: Design
    amended: Mapping[str, tuple[str, ...]]
    seals: tuple[Seal, ...]

    def label(self, endpoint_id: str) -> str:
        """`registered`, or by what had been seen at the worst of its amendments; a replaced endpoint is shown as registered too."""
        ids = self.amended.get(endpoint_id, ())
        if not ids:
            return "registered"
        levels = [seal.evidence.stated for seal in self.seals if seal.id in ids]
        return "amended-before-results" if all(map(is_before_results, levels)) else "amended-after-results"


def effective_design(block: Block, seals: tuple[Seal, ...]) -> EffectiveDesign:
    """Apply the seals in order. Raises BeforehandError when a sealed table makes no design (amend refuses to seal such a one)."""
    fence = block.design
    registered = Design.from_toml(fence.content, where=block.where, first_line=fence.first_line)
    raw = parse_toml(fence.content, where=block.where)
    current = registered
    amended: dict[str, tuple[str, ...]] = {}
    for seal in seals:
        tables = tables_in_force(seal, seals)
        if not tables:
            continue
        raw = replaced(raw, tables, where=seal.id)
        after = Design.from_mapping(raw, where=f"amendment {seal.id}")
        for name in changed_endpoints(current, after):
            amended[name] = (*amended.get(name, ()), seal.id)
        current = after
    return EffectiveDesign(registered=registered, in_force=current, amended=amended, seals=seals)


def tables_in_force(seal: Seal, seals: tuple[Seal, ...]) -> dict[str, object]:
    """The tables that this seal puts in force: its own, those of the proposal that it confirms, none for a proposal."""
    if seal.kind == "proposal":
        return {}
    source = seal
    if seal.confirms is not None:
        source = next((one for one in seals if one.id == seal.confirms), seal)
    return tables_of(source.text, where=source.id)


def tables_of(text: str, *, where: str) -> dict[str, object]:
    """The tables in an entry's fence."""
    fences = [one for one in Markdown.scan(text.encode()).fences if one.info.split() == FENCE_INFO.split()]
    return parse_toml(fences[0].content, where=where) if fences else {}


def replaced(raw: dict[str, object], tables: Mapping[str, object], *, where: str) -> dict[str, object]:
    """`raw` with whole tables taken from `tables`; new names are added, nothing is removed."""
    result = dict(raw)
    for key, value in tables.items():
        if key in WHOLE:
            result[key] = value
        elif key in SECTIONS and isinstance(value, dict):
            section = raw.get(key, {})
            result[key] = {**(section if isinstance(section, dict) else {}), **value}
        else:
            mend = f"name tables such as [endpoints.P1]; known are {', '.join((*SECTIONS, *WHOLE))}"
            raise BeforehandError(f"replaces {key!r}, which is no table of a design", where=where, mend=mend)
    return result


def changed_endpoints(before: Design, after: Design) -> tuple[str, ...]:
    """Endpoints that are new, or whose table, sides, benchmark or validity rules are others."""
    changed = []
    for name, endpoint in after.endpoints.items():
        if name not in before.endpoints:
            changed.append(name)
            continue
        was = before.endpoints[name]
        same = (
            endpoint == was
            and before.sides(name) == after.sides(name)
            and before.benchmarks[was.benchmark] == after.benchmarks[endpoint.benchmark]
            and before.validity == after.validity
        )
        if not same:
            changed.append(name)
    return tuple(sorted(changed))
