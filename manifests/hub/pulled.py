"""What a pull gives: units at their commits, with the files that the cache holds of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from manifests.errors import Finding
from manifests.hub.cache import cached_path, damage
from manifests.hub.layout import Place, unit_path
from manifests.names import UnitId
from manifests.pins import Pin
from manifests.records import UnitRecord, record_sha256

Damage = tuple[tuple[Path, str], ...]
"""Files with what is wrong with them; empty where nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PulledUnit:
    """A unit at a commit. fetched: bytes of it came over the network now; new: it was pinned now."""

    unit: UnitId
    place: Place
    record: UnitRecord
    fetched: bool = False
    new: bool = False

    @property
    def pin(self) -> Pin:
        """Its line in `pins.json`."""
        return Pin(
            repo=self.place.repo, revision=self.place.revision, record_sha256=record_sha256(self.record)
        )

    @property
    def bytes(self) -> int:
        """Size of its files, without the record."""
        return sum(file.bytes for file in self.record.files)

    @property
    def paths(self) -> tuple[str, ...]:
        """Each file's path in the repository."""
        return tuple(unit_path(self.unit, file.path) for file in self.record.files)

    def cached(self) -> list[Path]:
        """Each file's path in the cache, there or not."""
        return [cached_path(self.place, path) for path in self.paths]

    def is_cached(self) -> bool:
        """True where every file is in the cache, whole as far as the client knows: it links a file last."""
        return all(path.exists() for path in self.cached())

    def damaged(self) -> Damage:
        """Cached files that are not what the record says, each with what is wrong."""
        cached = self.cached()
        wrong = [
            damage(path, size=file.bytes, sha256=file.sha256)
            for file, path in zip(self.record.files, cached, strict=True)
        ]
        return tuple((path, what) for path, what in zip(cached, wrong, strict=True) if what is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """units: at hand, verified; absent: asked for, and neither here nor in the repository."""

    units: tuple[PulledUnit, ...]
    absent: tuple[UnitId, ...] = ()
    findings: tuple[Finding, ...] = ()
    not_asked: str = ""
    """Why the repository could not be asked for new units, where all pinned ones are at hand."""
