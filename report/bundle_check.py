"""A bundle checked by itself: its checksums, the frozen block, the ends of its chains; and, where the rows are at hand, its primary endpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ledger.book import parse_ledger
from manifests.digests import sha256_bytes
from manifests.errors import BeforehandError, Finding
from manifests.study import Study
from prereg.seals import FILE_NAME as SEALS_FILE
from prereg.seals import parse_chain
from prereg.verify import verify
from report.aggregate import Aggregate
from report.build import BLOCK
from report.bundle import CHECKSUMS, parse_checksums, read_bundle
from report.endpoints import compute_endpoints
from report.evidence import NO_CLOCK, load_evidence
from report.manifest import BundleManifest


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleCheck:
    """checked: what was looked at and held or not; unchecked: what could not be, and why."""

    checked: tuple[str, ...]
    unchecked: tuple[str, ...]
    findings: tuple[Finding, ...]


@dataclass(slots=True)
class _Notes:
    checked: list[str]
    unchecked: list[str]
    findings: list[Finding]


def check_bundle(folder: Path, *, study: Path | None = None) -> BundleCheck:
    """Check the bundle in `folder`. study: where its rows lie; by default the folder above, where that is its study."""
    files = read_bundle(folder)
    if not files:
        raise BeforehandError(
            "holds no bundle", where=str(folder), mend="name the folder that holds MANIFEST.json"
        )
    notes = _Notes([], [], [])
    notes.findings.extend(_checksums(files))
    notes.checked.append(f"checksums of {len(files)} files")
    try:
        manifest = BundleManifest.model_validate_json(files.get("MANIFEST.json", b""))
        aggregate = Aggregate.model_validate_json(files.get("aggregate.json", b""))
    except ValidationError as err:
        notes.findings.append(
            Finding(
                where="MANIFEST.json, aggregate.json", what=f"cannot be read: {err.error_count()} problems"
            )
        )
        return _result(notes)
    notes.findings.extend(_manifest(files, manifest))
    notes.checked.append("outputs of the manifest")
    _block(files, manifest, aggregate, notes)
    _against_study(_study_of(folder, study, manifest), manifest, aggregate, notes)
    return _result(notes)


def _result(notes: _Notes) -> BundleCheck:
    return BundleCheck(
        checked=tuple(notes.checked), unchecked=tuple(notes.unchecked), findings=tuple(notes.findings)
    )


def _checksums(files: Mapping[str, bytes]) -> Iterator[Finding]:
    mend = "fetch the bundle again, or build it again"
    if CHECKSUMS not in files:
        yield Finding(where=CHECKSUMS, what="is missing", mend=mend)
        return
    listed = parse_checksums(files[CHECKSUMS])
    for name in sorted({*listed, *files} - {CHECKSUMS}):
        if name not in files:
            yield Finding(where=name, what="is listed in the checksums and missing", mend=mend)
        elif name not in listed:
            yield Finding(
                where=name,
                what="is not listed in the checksums",
                mend="keep it elsewhere: a build leaves it alone",
            )
        elif sha256_bytes(files[name]) != listed[name]:
            yield Finding(where=name, what="is not what its checksum says", mend=mend)


def _manifest(files: Mapping[str, bytes], manifest: BundleManifest) -> Iterator[Finding]:
    for output in manifest.outputs:
        data = files.get(output.path)
        if data is None or sha256_bytes(data) != output.sha256:
            yield Finding(where=output.path, what="is not the output that the manifest names")


def _block(files: Mapping[str, bytes], manifest: BundleManifest, aggregate: Aggregate, notes: _Notes) -> None:
    expected = manifest.registration.block_sha256
    if expected is None:
        notes.unchecked.append("the frozen block: nothing is frozen")
        return
    if sha256_bytes(files.get(BLOCK, b"")) != expected:
        notes.findings.append(
            Finding(where=BLOCK, what=f"is not the block that was frozen, sha256 {expected[:12]}")
        )
    if aggregate.registration.block_sha256 != expected:
        notes.findings.append(
            Finding(where="aggregate.json", what="names another frozen block than MANIFEST.json")
        )
    if manifest.registration.status != "unchanged":
        notes.findings.append(
            Finding(
                where="MANIFEST.json",
                what=f"the registration was {manifest.registration.status} at the build",
            )
        )
    notes.checked.append("the frozen block against its digest")


def _study_of(folder: Path, study: Path | None, manifest: BundleManifest) -> Path | None:
    """The named study, or the folder above the bundle where it is the study of that name."""
    if study is not None:
        return study
    above = folder.resolve().parent
    if not (above / "study.toml").is_file():
        return None
    return above if Study.open(above).config.name == manifest.study else None


def _against_study(study: Path | None, manifest: BundleManifest, aggregate: Aggregate, notes: _Notes) -> None:
    if study is None:
        notes.unchecked += [
            "the study's registration: no study is at hand",
            "the ledger's head against a ledger: no ledger is at hand",
            "the primary endpoint against rows: no rows are at hand",
        ]
        return
    verification = verify(study, now=NO_CLOCK)
    if verification.expected != manifest.registration.block_sha256:
        notes.findings.append(
            Finding(where="registration.json", what="the study's registration is another than this bundle's")
        )
    notes.checked.append("the study's registration")
    _ledger(study, manifest, notes)
    _seals(study, manifest, notes)
    _primary(study, manifest, aggregate, notes)


def _ledger(study: Path, manifest: BundleManifest, notes: _Notes) -> None:
    head, path = manifest.ledger_head, study / "ledger.csv"
    if head is None or not path.is_file():
        notes.unchecked.append("the ledger's head: there is none in the bundle, or no ledger")
        return
    ledger = parse_ledger(path.read_bytes(), study_name=manifest.study)
    if not any(entry.seq == head.seq and entry.hash == head.hash for entry in ledger.entries):
        what = (
            f"row {head.seq} of this bundle's time is not in the ledger as it was: rows were cut or changed"
        )
        notes.findings.append(Finding(where="ledger.csv", what=what, mend="restore it from version control"))
    notes.checked.append("the ledger's head on its chain")


def _seals(study: Path, manifest: BundleManifest, notes: _Notes) -> None:
    if manifest.amendments_head is None:
        return
    number, _, digest = manifest.amendments_head.partition(":")
    path = study / SEALS_FILE
    chain = parse_chain(path.read_bytes() if path.is_file() else b"", root="")
    if not any(seal.n == int(number) and seal.hash == digest for seal in chain.seals):
        what = f"amendment {number} of this bundle's time is not sealed as it was: seals were cut or changed"
        notes.findings.append(Finding(where=SEALS_FILE, what=what, mend="restore it from version control"))
    notes.checked.append("the head of the amendments on their chain")


def _primary(study: Path, manifest: BundleManifest, aggregate: Aggregate, notes: _Notes) -> None:
    names = [name for name, node in aggregate.endpoints.items() if node.role == "primary"]
    if not names:
        notes.unchecked.append("the primary endpoint: the design names none")
        return
    evidence = load_evidence(Study.open(study))
    known = [name for name in names if name in evidence.design.endpoints]
    found = (
        compute_endpoints(evidence, names=known, allow_unequal=manifest.allow_design_mismatch)
        if known
        else {}
    )
    for name in names:
        node = found[name].node if name in found else None
        shown = aggregate.endpoints[name]
        if node is None or node.estimate != shown.estimate or node.conclusion != shown.conclusion:
            now = "no number" if node is None or node.estimate is None else f"{node.estimate.value!r}"
            was = "no number" if shown.estimate is None else f"{shown.estimate.value!r}"
            what = f"{name} is {was} in the bundle, {now} from the rows at hand"
            notes.findings.append(Finding(where="aggregate.json", what=what))
    notes.checked.append(f"primary endpoints from the rows: {', '.join(names)}")
