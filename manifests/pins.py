"""`pins.json`: at which commit of which repository each unit lies, and the digest that its record must have there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from filelock import FileLock, Timeout
from pydantic import Field, field_validator

from manifests.documents import Document, dump_document, read_document
from manifests.errors import BeforehandError
from manifests.files import write_atomically
from manifests.hub.layout import Place
from manifests.names import UnitId
from manifests.records import Revision, Sha256

FILE_NAME = "pins.json"
LOCK_WAIT_S = 60

REPO_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$"
Repo = Annotated[str, Field(pattern=REPO_PATTERN)]


class Pin(Document):
    """One unit at one commit. Branches, tags and short hashes are refused: they move."""

    repo: Repo
    revision: Revision
    record_sha256: Sha256

    @property
    def place(self) -> Place:
        """The repository at the commit."""
        return Place(self.repo, self.revision)


class Pins(Document):
    """`pins/1`. The only file of a study that says where units lie; records say nothing of it."""

    format: Literal["pins/1"] = "pins/1"
    units: dict[str, Pin] = Field(default_factory=dict)

    @field_validator("units")
    @classmethod
    def _keys_are_unit_ids(cls, units: dict[str, Pin]) -> dict[str, Pin]:
        for key in units:
            try:
                UnitId.parse(key)
            except BeforehandError as err:
                raise ValueError(str(err)) from err
        return units

    def by_unit(self) -> dict[UnitId, Pin]:
        """The pins by parsed unit id, in order."""
        return {UnitId.parse(name): pin for name, pin in sorted(self.units.items())}


def read_pins(root: Path) -> Pins:
    """The study's pins; none where nothing was pushed or pulled yet."""
    path = root / FILE_NAME
    if not path.exists():
        return Pins()
    return read_document(Pins, path, mend="restore it, or remove it and pull again")


def write_pins(root: Path, pins: Mapping[UnitId, Pin]) -> None:
    """The given units are pinned so; the others keep their pins, also when another process pins at the same time."""
    if not pins:
        return
    path = root / FILE_NAME
    if all(read_pins(root).units.get(str(unit)) == pin for unit, pin in pins.items()):
        return
    try:
        with FileLock(root / ".pins.lock").acquire(timeout=LOCK_WAIT_S):
            before = read_pins(root)
            after = Pins(units={**before.units, **{str(unit): pin for unit, pin in pins.items()}})
            if after != before:
                write_atomically(path, dump_document(after))
    except Timeout as err:
        raise BeforehandError(
            f"another process has held the pins for {LOCK_WAIT_S} s",
            where=str(path),
            mend="wait for it, or end it",
        ) from err
    except OSError as err:
        raise BeforehandError(
            f"the pins cannot be written: {err.strerror}",
            where=str(path),
            mend="mend the folder's permissions",
        ) from err
