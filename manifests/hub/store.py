"""The Hub as a store: records in the study folder, files in the client's cache at the commits that `pins.json` names.

Reading it opens no socket. Files that lie in the study folder itself are read from there: a study that was just
pushed needs no pull, and gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from manifests.console import note
from manifests.errors import CapabilityMissingError, Finding, FindingsError, NotInOrderError
from manifests.hub.cache import cached_path
from manifests.hub.layout import RECORD_FILE, Place, unit_path
from manifests.names import UnitId
from manifests.pins import Pin, read_pins
from manifests.records import read_record, record_sha256
from manifests.stores import LocalStore
from manifests.study import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class HubStore:
    """The units of a study, pinned and cached, or still in the study folder."""

    root: Path
    pins: Mapping[UnitId, Pin]

    @classmethod
    def of(cls, study: Study) -> HubStore:
        """The store as `pins.json` and the cache are now."""
        return cls(root=study.root, pins=read_pins(study.root).by_unit())

    @property
    def local(self) -> LocalStore:
        """The study folder."""
        return LocalStore(self.root)

    @property
    def restore(self) -> str:
        """How a file comes back."""
        return "`beforehand units pull STUDY` fetches it again; if it is in the study folder, remove it there first"

    def unit_ids(self) -> tuple[UnitId, ...]:
        """Every unit that has a record here or a pin, in order."""
        return tuple(sorted({*self.local.unit_ids(), *self.pins}))

    def is_local(self, unit: UnitId) -> bool:
        """True where the files lie in the study folder."""
        return unit not in self.pins or self.local.folder(unit).is_dir()

    def record_path(self, unit: UnitId) -> Path:
        """The record in the study folder; `pull` puts it there."""
        return self.local.record_path(unit)

    def folder(self, unit: UnitId) -> Path:
        """The unit's folder: in the study, or in the cached commit."""
        return self.local.folder(unit) if self.is_local(unit) else self.cached(unit, RECORD_FILE).parent

    def file_path(self, unit: UnitId, name: str) -> Path:
        """A file of the unit."""
        return self.local.file_path(unit, name) if self.is_local(unit) else self.cached(unit, name)

    def file_names(self, unit: UnitId) -> tuple[str, ...]:
        """What lies in the study folder; what else a cache holds is no part of a unit."""
        return self.local.file_names(unit) if self.is_local(unit) else ()

    def place(self, unit: UnitId) -> Place | None:
        """As pinned, also where the files still lie in the study folder: a bundle is the same either way."""
        return self.pins[unit].place if unit in self.pins else None

    def cached(self, unit: UnitId, name: str) -> Path:
        """Where a file of a pinned unit lies in the cache, or would lie."""
        return cached_path(self.pins[unit].place, unit_path(unit, name))

    def missing(self, unit: UnitId) -> str | None:
        """Why the pinned unit cannot be read offline; None where all its files are at hand."""
        if not self.record_path(unit).exists():
            return "its record is not in the study"
        record = read_record(self.record_path(unit))
        if record_sha256(record) != self.pins[unit].record_sha256:
            raise NotInOrderError(
                f"has the digest {record_sha256(record)}, the pin says {self.pins[unit].record_sha256}",
                where=str(self.record_path(unit)),
                mend="restore the record, or remove it and pull again",
            )
        absent = [file.path for file in record.files if not self.file_path(unit, file.path).is_file()]
        return f"{absent[0]} is not in the cache" if absent else None


def open_hub_store(study: Study, *, offline: bool, needed: Sequence[UnitId]) -> HubStore:
    """The store with every needed unit that exists at hand, or an error that says which one is not and how to get it."""
    store = HubStore.of(study)
    if not offline and any(_is_to_be_pulled(store, unit) for unit in needed):
        from manifests.hub.pull import pull_units  # noqa: PLC0415 - only this branch talks to the Hub

        pulled = pull_units(study, needed)
        if pulled.findings:
            raise DamagedPullError(
                "some units did not arrive as their records say", pulled.findings, where=study.hub_repo or ""
            )
        if pulled.not_asked:
            note(f"new units were not looked for: {pulled.not_asked}")
        store = HubStore.of(study)
    absent = {unit: store.missing(unit) for unit in needed if unit in store.pins}
    findings = tuple(
        Finding(where=str(unit), what=f"{why}; pinned at {store.pins[unit].place}")
        for unit, why in absent.items()
        if why
    )
    if findings:
        raise NotCachedError(
            f"{len(findings)} pinned units are not in the cache",
            findings,
            where=str(study.root),
            mend=f"with the network: beforehand units pull {study.root}",
        )
    return store


def _is_to_be_pulled(store: HubStore, unit: UnitId) -> bool:
    if unit in store.pins:
        return store.missing(unit) is not None
    return not store.record_path(unit).exists()


class DamagedPullError(NotInOrderError, FindingsError):
    """Bytes from the Hub are not what their digest says: exit code 1."""


class NotCachedError(CapabilityMissingError, FindingsError):
    """Units that only the network can give: exit code 4."""
