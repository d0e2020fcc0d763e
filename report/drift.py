"""Drift: why a bundle is not what would be built now: registration, data, text, code, environment, or a hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from manifests.digests import sha256_bytes
from manifests.errors import Finding
from report.build import Build, build, bundle_findings
from report.bundle import CHECKSUMS, checksums, parse_checksums, read_bundle
from report.manifest import BundleManifest

KINDS = {"registration": "registration", "data": "data", "ledger": "data", "text": "text"}
"""Kind of an input -> what drifted when it differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """drifted: the names, in a fixed order; findings: each difference."""

    drifted: tuple[str, ...]
    findings: tuple[Finding, ...]


ORDER = ("registration", "data", "text", "code", "environment", "bundle")


def find_drift(study_root: Path) -> Drift:
    """Rebuild in memory and compare with the bundle on disk; nothing is written."""
    present = read_bundle(study_root / "report")
    if not present:
        missing = Finding(where="report/", what="there is no bundle", mend="python build_report.py STUDY")
        return Drift(drifted=("bundle",), findings=(missing,))
    manifest = _manifest(present)
    built = build(study_root, allow_unequal=manifest is not None and manifest.allow_design_mismatch)
    shown = [("registration", finding) for finding in bundle_findings(study_root)]
    found = [*_edited(present), *shown, *_causes(present, built), *_outputs(present, built)]
    drifted = {name for name, _ in found}
    return Drift(
        drifted=tuple(name for name in ORDER if name in drifted),
        findings=tuple(finding for _, finding in found),
    )


def _edited(present: Mapping[str, bytes]) -> list[tuple[str, Finding]]:
    """Files that are not what the bundle's own checksums say."""
    mend = "build the report again"
    if CHECKSUMS not in present:
        return [("bundle", Finding(where=CHECKSUMS, what="is missing", mend=mend))]
    listed = parse_checksums(present[CHECKSUMS])
    found = []
    for name in sorted({*listed, *present} - {CHECKSUMS}):
        if name not in present:
            found.append(Finding(where=name, what="is listed in the checksums and missing", mend=mend))
        elif name not in listed:
            found.append(
                Finding(
                    where=name,
                    what="is not listed in the checksums",
                    mend="keep it elsewhere: a build leaves it alone",
                )
            )
        elif sha256_bytes(present[name]) != listed[name]:
            found.append(Finding(where=name, what="was changed after the build", mend=mend))
    return [("bundle", finding) for finding in found]


def _causes(present: Mapping[str, bytes], built: Build) -> list[tuple[str, Finding]]:
    old, new = _manifest(present), BundleManifest.model_validate_json(built.files["MANIFEST.json"])
    if old is None:
        mend = "build the report again"
        return [("bundle", Finding(where="MANIFEST.json", what="is missing or no manifest", mend=mend))]
    found = [*_input_drift(old, new)]
    if old.registration != new.registration:
        what = f"was {old.registration.status}, is {new.registration.status}"
        found.append(
            (
                "registration",
                Finding(where="PREREGISTRATION.md", what=what, mend="beforehand prereg verify STUDY"),
            )
        )
    if old.code_sha256 != new.code_sha256:
        what = f"the code was {old.code_sha256[:12]}, is {new.code_sha256[:12]}"
        found.append(
            (
                "code",
                Finding(where="code", what=what, mend="check out the commit of the bundle, or build again"),
            )
        )
    for name in sorted({*old.environment, *new.environment}):
        was, now = old.environment.get(name, "absent"), new.environment.get(name, "absent")
        if was != now:
            finding = Finding(where=name, what=f"was {was}, is {now}", mend="install the lock: make report")
            found.append(("environment", finding))
    return found


def _input_drift(old: BundleManifest, new: BundleManifest) -> list[tuple[str, Finding]]:
    before = {entry.path: entry for entry in old.inputs}
    after = {entry.path: entry for entry in new.inputs}
    found = []
    for path in sorted({*before, *after}):
        was, now = before.get(path), after.get(path)
        if was == now:
            continue
        entry = now or was
        what = (
            "is gone"
            if now is None
            else "is new"
            if was is None
            else f"was {was.sha256[:12]}, is {now.sha256[:12]}"
        )
        found.append((KINDS[entry.kind] if entry else "data", Finding(where=path, what=what)))
    return found


def _outputs(present: Mapping[str, bytes], built: Build) -> list[tuple[str, Finding]]:
    """Outputs that differ though nothing above explains it would be a bug of ours; they are listed either way."""
    wanted = {**built.files, CHECKSUMS: checksums(built.files)}
    names = [name for name in sorted({*wanted, *present}) if wanted.get(name) != present.get(name)]
    if not names:
        return []
    return [("bundle", Finding(where="report/", what=f"differs from a rebuild in {', '.join(names)}"))]


def _manifest(present: Mapping[str, bytes]) -> BundleManifest | None:
    try:
        return BundleManifest.model_validate_json(present.get("MANIFEST.json", b""))
    except ValidationError:
        return None


def describe(drifted: Sequence[str]) -> str:
    """One line for people."""
    return (
        f"drift in {', '.join(drifted)}"
        if drifted
        else "the bundle is, byte for byte, what would be built now"
    )
