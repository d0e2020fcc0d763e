"""The study folder: where each file of a study lies, and `study.toml`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue, field_validator

from manifests.documents import Document, read_toml_document
from manifests.errors import BeforehandError
from manifests.names import SLUG_PATTERN, UnitId

RosterStatus = Literal["pending", "skipped", "canceled", "substituted"]


class RosterOverride(Document):
    """Why a planned unit is not there; cites an entry of DECISIONS.md."""

    status: RosterStatus
    reason: str = Field(min_length=1)
    decision: str = Field(min_length=1)
    substitute: str | None = None


class StudyConfig(Document):
    """`study.toml`: presentation and places. No revision, no cap, no endpoint stands here."""

    name: str = Field(pattern=f"^{SLUG_PATTERN}$")
    title: str = Field(min_length=1)
    store: Literal["local"] = "local"
    data_roots: tuple[str, ...] = ()
    exploratory: dict[str, JsonValue] = Field(default_factory=dict)
    """Comparisons that no registration names, written like endpoints of the design."""
    roster: dict[str, RosterOverride] = Field(default_factory=dict)

    @field_validator("roster")
    @classmethod
    def _keys_are_unit_ids(cls, roster: dict[str, RosterOverride]) -> dict[str, RosterOverride]:
        for key in roster:
            try:
                UnitId.parse(key)
            except BeforehandError as err:
                raise ValueError(str(err)) from err
        return roster


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A study folder that has a `study.toml`."""

    root: Path
    config: StudyConfig

    @classmethod
    def open(cls, root: Path) -> Study:
        """Read `study.toml`; a folder without one is no study."""
        if not root.is_dir():
            raise BeforehandError(
                "is not a folder", where=str(root), mend="name a study folder, or make one: beforehand new"
            )
        config = read_toml_document(
            StudyConfig,
            root / "study.toml",
            mend="name a study folder, or make one: beforehand new studies/NAME",
        )
        return cls(root=root, config=config)

    @property
    def registration_path(self) -> Path:
        """The prose with the frozen block."""
        return self.root / "PREREGISTRATION.md"

    @property
    def freeze_record_path(self) -> Path:
        """What freeze wrote."""
        return self.root / "registration.json"

    @property
    def decisions_path(self) -> Path:
        """The decision log."""
        return self.root / "DECISIONS.md"

    @property
    def ledger_path(self) -> Path:
        """The money."""
        return self.root / "ledger.csv"

    @property
    def report_path(self) -> Path:
        """The bundle's folder."""
        return self.root / "report"
