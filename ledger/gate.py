"""May this be launched? Spent, reserved and the high estimate against every cap that applies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from ledger.budget import CapStanding, balance, committed
from ledger.entries import Entry
from ledger.money import ZERO, shown
from manifests.errors import Finding, FindingsError, NotInOrderError


class OverCapError(NotInOrderError, FindingsError):
    """Money that no cap allows is not reserved: exit code 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateLine:
    """One cap and what would count against it after the launch."""

    cap_name: str
    cap_usd: Decimal
    spent_usd: Decimal
    reserved_usd: Decimal
    high_usd: Decimal

    @property
    def left_usd(self) -> Decimal:
        """What would be left if the launch cost its high estimate."""
        return self.cap_usd - self.spent_usd - self.reserved_usd - self.high_usd

    def __str__(self) -> str:
        """The sum as it is made."""
        verdict = f"left {shown(self.left_usd)}" if self.left_usd >= 0 else f"over by {shown(-self.left_usd)}"
        parts = f"spent {shown(self.spent_usd)} + reserved {shown(self.reserved_usd)} + high {shown(self.high_usd)}"
        return f"cap of {self.cap_name}: {parts} of {shown(self.cap_usd)} USD, {verdict}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The lines of every cap that applies, and the findings that forbid the launch."""

    lines: tuple[GateLine, ...]
    findings: tuple[Finding, ...]

    @property
    def is_open(self) -> bool:
        """The launch fits every cap, and the study has one."""
        return not self.findings


def gate(entries: Sequence[Entry], *, high_usd: Decimal, phase: str = "", job_id: str = "") -> Gate:
    """Hold the high estimate against the caps of the study, of its phase, and of the job.

    Of the ceilings for jobs the closest one holds: the job's own, else its phase's, else the general one.
    Earlier attempts of the same job count against the ceiling.
    """
    caps = balance(entries).caps
    applying = [cap for cap in caps if cap.scope == "study" or (cap.scope == "phase" and cap.phase == phase)]
    lines = [_line(cap, cap.spent_usd, cap.reserved_usd, high_usd) for cap in applying]
    ceiling = _job_ceiling(caps, phase=phase, job_id=job_id)
    if ceiling is not None:
        own = committed(entry for entry in entries if job_id and entry.job_id == job_id)
        lines.append(_line(ceiling, own.spent_usd, own.reserved_usd, high_usd))
    findings = [
        Finding(
            where=f"cap of {line.cap_name}",
            what=f"would be passed by {shown(-line.left_usd)} USD",
            mend="raise it by `ledger cap`, or plan less",
        )
        for line in lines
        if line.left_usd < ZERO
    ]
    if not any(cap.scope == "study" for cap in caps):
        findings.append(
            Finding(
                where="the study",
                what="has no cap, so nothing can be held against it",
                mend="set one with `ledger cap`",
            )
        )
    return Gate(lines=tuple(lines), findings=tuple(findings))


def within_caps(entries: Sequence[Entry], reservation: Entry) -> Entry:
    """The reservation, if every cap that applies allows it; else OverCapError with the caps that do not."""
    held = gate(entries, high_usd=reservation.amount_usd, phase=reservation.phase, job_id=reservation.job_id)
    if not held.is_open:
        raise OverCapError("the gate is closed, nothing was reserved", held.findings)
    return reservation


def _job_ceiling(caps: Sequence[CapStanding], *, phase: str, job_id: str) -> CapStanding | None:
    ceilings = {(cap.phase if not cap.job_id else "", cap.job_id): cap for cap in caps if cap.scope == "job"}
    own = ceilings.get(("", job_id)) if job_id else None
    return own or (ceilings.get((phase, "")) if phase else None) or ceilings.get(("", ""))


def _line(cap: CapStanding, spent_usd: Decimal, reserved_usd: Decimal, high_usd: Decimal) -> GateLine:
    name = "job" if cap.scope == "job" and not cap.job_id else cap.name
    return GateLine(
        cap_name=name, cap_usd=cap.cap_usd, spent_usd=spent_usd, reserved_usd=reserved_usd, high_usd=high_usd
    )
