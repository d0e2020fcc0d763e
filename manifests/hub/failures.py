"""How a call to the Hub can fail, as far as a caller acts differently. Importing this loads no client."""

from __future__ import annotations

from manifests.errors import BeforehandError, CapabilityMissingError, NotInOrderError


class UnreachableError(CapabilityMissingError):
    """No usable answer came. retry_after_s: None where asking again at once is of no use."""

    def __init__(self, what: str, *, where: str, mend: str, retry_after_s: float | None = None) -> None:
        super().__init__(what, where=where, mend=mend)
        self.retry_after_s = retry_after_s


class StaleParentError(BeforehandError):
    """Another commit came first: read the head again."""


class MissingRepoError(BeforehandError):
    """No such repository, as far as this token can see."""


class MissingEntryError(BeforehandError):
    """The repository has the commit, the commit has no such file."""


class GatedError(BeforehandError):
    """The repository is there; this account was not let in."""


class VanishedError(NotInOrderError):
    """A commit that was there is not there any more."""
