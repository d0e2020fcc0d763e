"""The study folder: where each file of a study lies, and `study.toml`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Discriminator, Field, JsonValue, Tag, field_validator

from manifests.documents import Document, read_toml_document
from manifests.errors import BeforehandError
from manifests.names import SLUG_PATTERN, UnitId
from manifests.pins import Repo

RosterStatus = Literal["pending", "skipped", "canceled", "substituted"]


class RosterOverride(Document):
    """Why a planned unit is not there; cites an entry of DECISIONS.md."""

    status: RosterStatus
    reason: str = Field(min_length=1)
    decision: str = Field(min_length=1)
    substitute: str | None = None


class HubPlace(Document):
    """Units lie in this dataset repository of the Hub; `pins.json` says at which commits."""

    hub: Repo


def _store_kind(value: object) -> str:
    return "local" if isinstance(value, str) else "hub-store"


StorePlace = Annotated[
    Annotated[Literal["local"], Tag("local")] | Annotated[HubPlace, Tag("hub-store")],
    Discriminator(_store_kind),
]


class StudyConfig(Document):
    """`study.toml`: presentation and places. No revision, no cap, no endpoint stands here."""

    name: str = Field(pattern=f"^{SLUG_PATTERN}$")
    title: str = Field(min_length=1)
    store: StorePlace = "local"
    """Where units lie: `"local"`, in the study folder, or `{ hub = "owner/name" }`."""
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
                raise ValueError(err.what) from err
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
    def hub_repo(self) -> str | None:
        """The Hub repository that is the study's store; None for a local store."""
        return self.config.store.hub if isinstance(self.config.store, HubPlace) else None

    def require_hub_repo(self) -> str:
        """The Hub repository; a study with a local store has none to push to or pull from."""
        if self.hub_repo is None:
            raise BeforehandError(
                "the study's store is local: there is no repository to push to or pull from",
                where=str(self.root / "study.toml"),
                mend='write: store = { hub = "owner/name" }',
            )
        return self.hub_repo

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
