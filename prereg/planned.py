"""The study's design as it is in force, the units that it needs, and whether its registration lets units be made."""

from __future__ import annotations

from pathlib import Path

from manifests.errors import NotInOrderError
from manifests.files import read_bytes
from manifests.names import UnitId
from prereg.block import BEGIN, END, Block, find_block
from prereg.design import Design
from prereg.effective import EffectiveDesign, effective_design
from prereg.registration import FILE_NAME, read_registration
from prereg.succession import withdrawal
from prereg.verification import Verification
from prereg.verify import verify

DOCUMENT = "PREREGISTRATION.md"


def study_design(root: Path) -> EffectiveDesign:
    """The design as registered and as amendments left it; before the freeze both are what the registration says now."""
    verification = verify(root)
    return effective_design(_block(root, verification), verification.seals)


def design_in_force(root: Path) -> Design:
    """The design that units are made, imported, listed and checked under."""
    return study_design(root).in_force


def planned_units(root: Path) -> tuple[UnitId, ...]:
    """Unit ids of both designs, sorted; a study that is not frozen plans what its registration says now."""
    design = study_design(root)
    planned = (*design.registered.planned_units(), *design.in_force.planned_units())
    return tuple(sorted({entry.unit for entry in planned}))


def held_registration(root: Path) -> Verification:
    """A registration that is not frozen, or one that holds. Raises NotInOrderError for one that does not, or is withdrawn."""
    result = verify(root)
    if result.status == "not_frozen":
        return result
    where = str(root / DOCUMENT)
    if result.exit_code or result.expected is None:
        raise NotInOrderError(
            f"the registration does not hold: {result.status.replace('_', ' ')}"
            + "".join(f"\n  {finding}" for finding in result.findings),
            where=where,
            mend="restore what was frozen (`beforehand prereg verify` shows the difference)",
        )
    seal = withdrawal(result.seals)
    if seal is not None:
        raise NotInOrderError(
            f"the registration is withdrawn, by {seal.id}",
            where=where,
            mend="work in the study that succeeds it: beforehand prereg freeze --succeeds",
        )
    return result


def _block(root: Path, verification: Verification) -> Block:
    """The block as frozen, which its record keeps; as it is now where there is no record that holds."""
    path = root / DOCUMENT
    if verification.expected is None:
        return find_block(read_bytes(path, mend="`beforehand new` writes one"), where=str(path))
    frozen = read_registration(root / FILE_NAME).frozen_text
    return find_block(f"{BEGIN}\n{frozen}{END}\n".encode(), where=f"the block of {DOCUMENT}")
