"""Reuse: what the last bundle holds of units and figures that did not change.

Nothing is taken on trust of a time stamp: the bundle's own checksums must hold, code and environment must be those that wrote
it, and a unit or a drawing must have the same digest. `report verify` rebuilds from the rows and reuses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from manifests.digests import sha256_bytes
from manifests.errors import BeforehandError
from report.aggregate import Aggregate, UnitNode
from report.bundle import CHECKSUMS, parse_checksums, read_bundle
from report.manifest import BundleManifest
from report.origin import code_sha256, environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Pixels:
    """A PNG and the digest of the drawing that it shows."""

    drawing: str
    png: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Reusable:
    """units: by id, to be used only with the same record digest; pixels: path -> PNG."""

    units: Mapping[str, UnitNode]
    pixels: Mapping[str, Pixels]


NOTHING = Reusable(units={}, pixels={})


def find_reusable(folder: Path) -> Reusable:
    """What may be reused of the bundle in `folder`; nothing where anything about it is not as it was written."""
    files = read_bundle(folder)
    try:
        listed = parse_checksums(files.get(CHECKSUMS, b""))
        if {name: sha256_bytes(data) for name, data in files.items() if name != CHECKSUMS} != listed:
            return NOTHING
        manifest = BundleManifest.model_validate_json(files.get("MANIFEST.json", b""))
        if manifest.code_sha256 != code_sha256() or manifest.environment != environment():
            return NOTHING
        aggregate = Aggregate.model_validate_json(files.get("aggregate.json", b""))
    except (BeforehandError, ValidationError):
        return NOTHING
    return Reusable(
        units={name: unit for name, unit in aggregate.units.items() if unit.status == "found"},
        pixels={
            path: Pixels(drawing=drawing, png=files[path])
            for path, drawing in manifest.drawings.items()
            if path in files
        },
    )
