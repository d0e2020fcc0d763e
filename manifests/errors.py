"""The one error type of the project: what is wrong, where, and the mend. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass

EXIT_CLEAN = 0
EXIT_FINDINGS = 1
EXIT_WRONG_INPUT = 2
EXIT_CAPABILITY_MISSING = 4
EXIT_OUR_BUG = 70


class BeforehandError(Exception):
    """Wrong use or wrong input. `exit_code` is what the command ends with."""

    exit_code = EXIT_WRONG_INPUT

    def __init__(self, what: str, *, where: str = "", mend: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.mend = mend

    def __str__(self) -> str:
        """One paragraph: where, what, mend."""
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head}\n  mend: {self.mend}" if self.mend else head


class NotInOrderError(BeforehandError):
    """A digest, a record or the registration does not hold: exit code 1, as a failed check."""

    exit_code = EXIT_FINDINGS


class FindingsError(BeforehandError):
    """Input refused for several reasons at once; `findings` holds them all."""

    def __init__(self, what: str, findings: tuple[Finding, ...], *, where: str = "", mend: str = "") -> None:
        super().__init__(what, where=where, mend=mend)
        self.findings = findings

    def __str__(self) -> str:
        """The head, then one paragraph a finding."""
        return "\n".join([super().__str__(), *(str(finding) for finding in self.findings)])


class CapabilityMissingError(BeforehandError):
    """Something that this machine lacks: a GPU, Lean, the network, an extra."""

    exit_code = EXIT_CAPABILITY_MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing a check found. A check returns all of them; it never stops at the first."""

    where: str
    what: str
    mend: str = ""

    def __str__(self) -> str:
        """One line, or two with the mend."""
        head = f"- {self.where}: {self.what}" if self.where else f"- {self.what}"
        return f"{head}\n    mend: {self.mend}" if self.mend else head
