"""The roster: every unit that the design plans, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from manifests.errors import Finding
from manifests.names import UnitId
from manifests.study import RosterOverride

Status = Literal["found", "pending", "skipped", "canceled", "substituted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RosterEntry:
    """One planned unit. reason and decision stand with every status but found and plain pending."""

    unit: UnitId
    status: Status
    reason: str = ""
    decision: str = ""


def roster(
    planned: Iterable[UnitId], found: Iterable[UnitId], overrides: Mapping[str, RosterOverride]
) -> tuple[RosterEntry, ...]:
    """One entry per planned unit, sorted. A unit that is there is `found`, whatever an override says."""
    there = set(found)
    entries = []
    for unit in sorted(set(planned)):
        override = overrides.get(str(unit))
        if unit in there:
            entries.append(RosterEntry(unit=unit, status="found"))
        elif override is None:
            entries.append(RosterEntry(unit=unit, status="pending"))
        else:
            entries.append(
                RosterEntry(
                    unit=unit, status=override.status, reason=override.reason, decision=override.decision
                )
            )
    return tuple(entries)


def check_overrides(
    planned: Iterable[UnitId],
    found: Iterable[UnitId],
    overrides: Mapping[str, RosterOverride],
    decisions: Iterable[str],
) -> tuple[Finding, ...]:
    """Overrides that name no planned unit, a unit that is there, or a decision that the log does not hold."""
    known = {str(unit) for unit in planned}
    there = {str(unit) for unit in found}
    logged = set(decisions)
    findings = []
    for unit, override in sorted(overrides.items()):
        where = f"study.toml roster.{unit}"
        if unit not in known:
            findings.append(
                Finding(where=where, what="the design plans no such unit", mend="mend the unit id")
            )
        if unit in there:
            findings.append(
                Finding(
                    where=where,
                    what=f"is called {override.status}, yet it is there",
                    mend="remove the override",
                )
            )
        if override.decision not in logged:
            mend = f"write the decision, or cite one of {', '.join(sorted(logged)) or 'those you write'}"
            findings.append(
                Finding(where=where, what=f"DECISIONS.md has no entry {override.decision}", mend=mend)
            )
    return tuple(findings)
