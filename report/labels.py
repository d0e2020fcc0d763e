"""Labels, and whether PRIMARY may be printed: only for a number that the registration, the rows and the records earn."""

from __future__ import annotations

from collections.abc import Sequence

from manifests.errors import Finding
from prereg.design import Design
from prereg.registration import FILE_NAME
from prereg.succession import withdrawal
from prereg.witness import JUDGED
from report.aggregate import Label
from report.evidence import Evidence, UnitEvidence

UNCHANGED = "unchanged"
STATED_TIME = f"{FILE_NAME} frozen_at"


def label_of(evidence: Evidence, design: Design, name: str, units: Sequence[UnitEvidence]) -> Label:
    """The label of a planned comparison whose units that are there are `units`.

    exploratory: nothing is frozen. retrospective: the data are older than the plan; either a unit's record does not
    name this registration, or the witness found verdicts of the candidate, or the compared rows themselves.
    amended-*: an amendment changed the endpoint; after results as soon as one of them came after verdicts.
    """
    if evidence.registration is None:
        return "exploratory"
    block = evidence.registration.block_sha256
    older = any(unit.record.registration_sha256 != block for unit in units)
    if older or _witnessed(evidence, design, name, units):
        return "retrospective"
    return "registered" if design is evidence.registered_design else evidence.label_after_amendments(name)


def why_not_primary(
    evidence: Evidence, design: Design, name: str, units: Sequence[UnitEvidence]
) -> tuple[str, ...]:
    """Every reason that forbids the word PRIMARY; empty when it may be printed."""
    reasons = []
    if evidence.verification.status != UNCHANGED:
        reasons.append(f"the registration is {evidence.verification.status.replace('_', ' ')}")
    reasons.extend(f"{finding.where}: {finding.what}" for finding in registration_findings(evidence))
    withdrawn = withdrawal(evidence.effective.seals)
    if withdrawn is not None:
        reasons.append(f"the registration was withdrawn by {withdrawn.id}")
    label = label_of(evidence, design, name, units)
    if label == "retrospective":
        reasons.append("the rows are older than the registration")
    if label == "amended-after-results":
        reasons.append(f"the endpoint was amended after results by {', '.join(evidence.amended_by(name))}")
    if evidence.registration is not None and evidence.witness is None:
        reasons.append("no witness recorded: the freeze does not say where data were looked for")
    systems = {side.system.name for side in design.sides(name)}
    reasons.extend(
        f"no revision or hash of {system} is recorded"
        for system in sorted(systems)
        if not design.is_recorded(system)
    )
    reasons.extend(f"{finding.where}: {finding.what}" for unit in units for finding in unit.findings)
    return tuple(reasons)


def registration_findings(evidence: Evidence) -> tuple[Finding, ...]:
    """What verify found, but for the time that the record states: a wrong clock changes nothing that was registered."""
    return tuple(one for one in evidence.verification.findings if one.where != STATED_TIME)


def _witnessed(evidence: Evidence, design: Design, name: str, units: Sequence[UnitEvidence]) -> bool:
    """True when freeze saw verdicts of the candidate on the benchmark, or the very files that are compared."""
    if evidence.witness is None:
        return False
    candidate = design.sides(name)[1].unit
    of_candidate = evidence.witness.touching_side(candidate.system, candidate.benchmark)
    compared = {file.sha256 for unit in units for file in unit.record.files}
    seen = {found.sha256 for found in evidence.witness.found}
    return any(found.kind in JUDGED for found in of_candidate) or bool(compared & seen)
