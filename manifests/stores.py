"""Stores: where units lie. A store gives a unit's record and files; it never interprets them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from manifests.digests import sha256_file
from manifests.errors import BeforehandError, Finding
from manifests.files import inside, write_atomically
from manifests.hub.layout import Place
from manifests.names import UnitId
from manifests.records import UnitRecord, read_record, record_bytes, record_sha256
from manifests.study import Study


class Store(Protocol):
    """What the builder needs of a place that holds units."""

    @property
    def restore(self) -> str:
        """How a missing or damaged file comes back: the mend of findings."""

    def unit_ids(self) -> tuple[UnitId, ...]:
        """Every unit that has a record, in order."""

    def record_path(self, unit: UnitId) -> Path:
        """The record as a local file."""

    def folder(self, unit: UnitId) -> Path:
        """The unit's files as a local folder."""

    def file_path(self, unit: UnitId, name: str) -> Path:
        """One file of the unit; a name that leaves the store is refused."""

    def file_names(self, unit: UnitId) -> tuple[str, ...]:
        """What lies in the unit's folder and would be part of the unit, by POSIX path."""

    def place(self, unit: UnitId) -> Place | None:
        """The repository and commit that hold the unit, where one does."""


@dataclass(frozen=True, slots=True)
class LocalStore:
    """The study folder itself: `manifests/UNIT.json` beside `units/UNIT/`."""

    root: Path

    @property
    def restore(self) -> str:
        """How a file comes back."""
        return "restore it or import the unit again"

    def unit_ids(self) -> tuple[UnitId, ...]:
        """Every unit that has a record, in order; a file whose name is no unit id is an error."""
        paths = sorted((self.root / "manifests").glob("*.json"))
        return tuple(sorted(UnitId.parse(path.stem, where=str(path)) for path in paths))

    def record_path(self, unit: UnitId) -> Path:
        """The record's file."""
        return self.root / "manifests" / f"{unit}.json"

    def folder(self, unit: UnitId) -> Path:
        """The folder of the unit's files."""
        return self.root / "units" / str(unit)

    def file_path(self, unit: UnitId, name: str) -> Path:
        """A file below the unit's folder."""
        return inside(self.folder(unit), name, where=f"manifests/{unit}.json")

    def file_names(self, unit: UnitId) -> tuple[str, ...]:
        """Every file below the unit's folder."""
        folder = self.folder(unit)
        found = sorted(folder.rglob("*")) if folder.is_dir() else []
        return tuple(path.relative_to(folder).as_posix() for path in found if path.is_file())

    def place(self, unit: UnitId) -> None:
        """Nowhere but here."""

    def put(self, record: UnitRecord, files: Mapping[str, bytes]) -> bool:
        """The unit lies in the store, record last. False when exactly this unit already lay there.

        A unit with the same name and other content is refused: records are immutable. One that was put before the
        freeze stays as it is: rows do not grow younger by being put again.
        """
        unit = record.unit_id
        path = self.record_path(unit)
        if path.exists():
            if _is_same_unit(read_record(path), record) and not check_files(self, record):
                return False
            raise BeforehandError(
                "this unit already has a record with other content",
                where=str(path),
                mend=f"unit records are immutable: use another unit id, or remove this file and {self.folder(unit)} by hand",
            )
        for name, content in files.items():
            write_atomically(inside(self.folder(unit), name, where=str(unit)), content)
        write_atomically(path, record_bytes(record))
        return True


def open_store(study: Study, *, offline: bool, needed: Sequence[UnitId] = ()) -> Store:
    """The study's store, with every needed unit that exists in it at hand.

    From a Hub store what is missing is pulled first. offline: no socket is opened, and a pinned unit that is neither
    in the study folder nor in the cache is an error that says how to get it.
    """
    if study.hub_repo is None:
        return LocalStore(study.root)
    from manifests.hub.store import open_hub_store  # noqa: PLC0415 - only a Hub store needs the client's cache

    return open_hub_store(study, offline=offline, needed=needed)


def _is_same_unit(there: UnitRecord, record: UnitRecord) -> bool:
    return there.model_copy(update={"registration_sha256": record.registration_sha256}) == record


def load_record(store: Store, unit: UnitId) -> tuple[UnitRecord, str]:
    """The unit's record and its digest; a record that names another unit is refused."""
    path = store.record_path(unit)
    record = read_record(path)
    if record.unit_id != unit:
        raise BeforehandError(
            f"is the record of {record.unit}", where=str(path), mend="restore the right file"
        )
    return record, record_sha256(record)


def check_files(store: Store, record: UnitRecord) -> tuple[Finding, ...]:
    """Every file that the record names is there with its size and digest, and no other file is."""
    findings = []
    for file in record.files:
        where = f"{record.unit}/{file.path}"
        try:
            path = store.file_path(record.unit_id, file.path)
        except BeforehandError as err:
            findings.append(Finding(where=err.where, what=err.what, mend=err.mend))
            continue
        if not path.is_file():
            findings.append(Finding(where=where, what="is missing", mend=store.restore))
        elif path.stat().st_size != file.bytes:
            what = f"has {path.stat().st_size} bytes, the record says {file.bytes}"
            findings.append(Finding(where=where, what=what, mend=store.restore))
        elif (found := sha256_file(path)) != file.sha256:
            what = f"has sha256 {found}, the record says {file.sha256}"
            findings.append(Finding(where=where, what=what, mend=store.restore))
    named = {file.path for file in record.files}
    findings.extend(
        Finding(
            where=f"{record.unit}/{name}",
            what="is named by no record",
            mend="if the record is sound, remove the file; else restore the record",
        )
        for name in store.file_names(record.unit_id)
        if name not in named
    )
    return tuple(findings)
