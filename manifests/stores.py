"""Stores: where units lie. A store gives a unit's record and files; it never interprets them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from manifests.digests import sha256_file
from manifests.errors import BeforehandError, Finding
from manifests.files import inside, write_atomically
from manifests.names import UnitId
from manifests.records import UnitRecord, read_record, record_bytes, record_sha256


class Store(Protocol):
    """What the builder needs of a place that holds units."""

    def unit_ids(self) -> tuple[UnitId, ...]:
        """Every unit that has a record, in order."""

    def record_path(self, unit: UnitId) -> Path:
        """The record as a local file."""

    def folder(self, unit: UnitId) -> Path:
        """The unit's files as a local folder."""


@dataclass(frozen=True, slots=True)
class LocalStore:
    """The study folder itself: `manifests/UNIT.json` beside `units/UNIT/`."""

    root: Path

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
    folder = store.folder(record.unit_id)
    findings = []
    named = set()
    for file in record.files:
        where = f"{record.unit}/{file.path}"
        try:
            path = inside(folder, file.path, where=f"manifests/{record.unit}.json")
        except BeforehandError as err:
            findings.append(Finding(where=err.where, what=err.what, mend=err.mend))
            continue
        named.add(path)
        if not path.is_file():
            findings.append(
                Finding(where=where, what="is missing", mend="restore it or import the unit again")
            )
        elif path.stat().st_size != file.bytes:
            size = path.stat().st_size
            findings.append(
                Finding(
                    where=where, what=f"has {size} bytes, the record says {file.bytes}", mend="restore it"
                )
            )
        elif sha256_file(path) != file.sha256:
            found = sha256_file(path)
            findings.append(
                Finding(
                    where=where, what=f"has sha256 {found}, the record says {file.sha256}", mend="restore it"
                )
            )
    if folder.is_dir():
        findings.extend(
            Finding(where=f"{record.unit}/{path.name}", what="is named by no record", mend="remove it")
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path not in named
        )
    return tuple(findings)
