"""The units that a study needs: those of the design as registered, and those of the design as amendments left it."""

from __future__ import annotations

from pathlib import Path

from manifests.files import read_bytes
from manifests.names import UnitId
from prereg.block import find_block
from prereg.effective import effective_design
from prereg.verify import verify


def planned_units(root: Path) -> tuple[UnitId, ...]:
    """Unit ids, sorted; a study that is not frozen plans what its registration says now."""
    path = root / "PREREGISTRATION.md"
    block = find_block(read_bytes(path), where=str(path))
    design = effective_design(block, verify(root).seals)
    planned = (*design.registered.planned_units(), *design.in_force.planned_units())
    return tuple(sorted({entry.unit for entry in planned}))
