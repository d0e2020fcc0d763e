"""Unchanged: is the bundle on disk, byte for byte, what a build would write? Told by digests alone, without computing anything.

A build is a function of the bytes it reads, the code and the environment. The manifest lists all three, and what was looked for
and not found; when every one of them is the same and the bundle's own files are as written, so is the result. Light imports
only: this is what makes a build of nothing new quick, though every byte is hashed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from manifests.digests import sha256_bytes, sha256_file
from manifests.errors import BeforehandError, Finding
from manifests.jsonfile import parse_json
from report.bundle import CHECKSUMS, parse_checksums
from report.origin import LISTED, code_sha256, environment, listed

MANIFEST = "MANIFEST.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnchangedBundle:
    """A bundle that a build would write again as it is. findings: those of the build that wrote it."""

    files: tuple[str, ...]
    findings: tuple[Finding, ...]


def find_unchanged(study_root: Path, *, allow_unequal: bool) -> UnchangedBundle | None:
    """The bundle, or None where anything differs, is missing or cannot be told."""
    folder = study_root / "report"
    try:
        manifest = parse_json((folder / MANIFEST).read_bytes(), where=MANIFEST)
        checksums = parse_checksums((folder / CHECKSUMS).read_bytes())
        if not isinstance(manifest, dict) or manifest.get("format") != "bundle-manifest/1":
            return None
        same = (
            manifest["allow_design_mismatch"] is allow_unequal
            and manifest["code_sha256"] == code_sha256()
            and manifest["environment"] == environment()
            and listed(study_root) == _listed_inputs(manifest["inputs"])
            and not any((study_root / path).exists() for path in manifest["absent"])
            and _outputs_hold(folder, checksums)
            and _inputs_hold(study_root, manifest["inputs"])
        )
        findings = tuple(Finding(**one) for one in manifest["findings"])
    except (OSError, BeforehandError, KeyError, TypeError):
        return None
    return UnchangedBundle(files=tuple(sorted(checksums)), findings=findings) if same else None


def _listed_inputs(inputs: list[dict[str, object]]) -> tuple[str, ...]:
    """Inputs in the folders that a build lists; where units lie elsewhere, on the Hub, these are not on disk."""
    return tuple(
        sorted(str(entry["path"]) for entry in inputs if str(entry["path"]).partition("/")[0] in LISTED)
    )


def _outputs_hold(folder: Path, checksums: Mapping[str, str]) -> bool:
    present = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    present.pop(CHECKSUMS, None)
    return set(present) == set(checksums) and all(
        sha256_bytes(path.read_bytes()) == checksums[name] for name, path in present.items()
    )


def _inputs_hold(root: Path, inputs: list[dict[str, object]]) -> bool:
    return all(
        (root / str(entry["path"])).stat().st_size == entry["bytes"]
        and sha256_file(root / str(entry["path"])) == entry["sha256"]
        for entry in inputs
    )
