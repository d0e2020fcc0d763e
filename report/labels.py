"""Labels, and whether PRIMARY may be printed: only for a number that the registration, the rows and the records earn."""

from __future__ import annotations

from collections.abc import Sequence

from prereg.verification import Verification
from report.aggregate import Label
from report.evidence import Evidence, UnitEvidence

UNCHANGED = "unchanged"


def label_of(verification: Verification, units: Sequence[UnitEvidence]) -> Label:
    """The label of a planned comparison over these units.

    registered: the block is frozen, and every unit's record names it. retrospective: a unit was there before the
    freeze, so the data are older than the plan. exploratory: nothing is frozen.
    """
    if verification.expected is None:
        return "exploratory"
    older = any(unit.record.registration_sha256 != verification.expected for unit in units)
    return "retrospective" if older else "registered"


def why_not_primary(
    evidence: Evidence, label: Label, systems: Sequence[str], units: Sequence[UnitEvidence]
) -> tuple[str, ...]:
    """Every reason that forbids the word PRIMARY; empty when it may be printed."""
    reasons = []
    verification = evidence.verification
    if verification.status != UNCHANGED:
        reasons.append(f"the registration is {verification.status.replace('_', ' ')}")
    if label == "retrospective":
        reasons.append("the rows are older than the registration")
    if label != "retrospective":  # freeze records no witness yet, so nothing shows that the rows are younger
        reasons.append("no witness recorded: the freeze does not say where data were looked for")
    reasons.extend(
        f"no revision or hash of {system} is recorded"
        for system in sorted(set(systems))
        if not evidence.design.is_recorded(system)
    )
    reasons.extend(f"{finding.where}: {finding.what}" for unit in units for finding in unit.findings)
    return tuple(reasons)
