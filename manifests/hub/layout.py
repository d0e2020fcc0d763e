"""Where things lie in a repository of the Hub: units, their records, bundles. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from manifests.files import inside
from manifests.names import UnitId

RECORD_FILE = "record.json"
"""The unit's record, beside its files; written last."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A repository at one commit."""

    repo: str
    revision: str

    def __str__(self) -> str:
        """As errors and tables show it."""
        return f"{self.repo}@{self.revision}"


def unit_folder(unit: UnitId) -> str:
    """`evals/system/benchmark/protocol`: names are slugs, so that no name can leave its folder."""
    return f"evals/{unit.system}/{unit.benchmark}/{unit.protocol}"


def unit_path(unit: UnitId, name: str) -> str:
    """One file of the unit. A name that leaves the unit's folder is refused, by its letters: no such folder need exist."""
    inside(Path(unit_folder(unit)), name, where=str(unit))
    return f"{unit_folder(unit)}/{name}"


def record_path(unit: UnitId) -> str:
    """The unit's record."""
    return unit_path(unit, RECORD_FILE)


def report_folder(study_name: str) -> str:
    """The bundle of one study: several studies may share a repository."""
    return f"reports/{study_name}"
