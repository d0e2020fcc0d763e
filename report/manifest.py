"""`MANIFEST.json`: every input and output of a build with its digest, the code's digest, the versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from manifests.digests import sha256_bytes
from manifests.documents import Document, dump_document
from manifests.errors import Finding
from prereg.seals import Chain
from report.evidence import Evidence
from report.origin import code_sha256, environment


class InputEntry(Document):
    """A file of the study that the build read. repo, revision: where it lies on the Hub, if it does."""

    path: str
    kind: str
    bytes: int
    sha256: str
    repo: str | None = None
    revision: str | None = None


class OutputEntry(Document):
    """A file of the bundle."""

    path: str
    bytes: int
    sha256: str


class RegistrationEntry(Document):
    """What verify said."""

    status: str
    block_sha256: str | None


class LedgerEntry(Document):
    """The end of the ledger's chain: a later ledger must still hold this row."""

    seq: int
    hash: str


class FindingEntry(Document):
    """One finding of the build."""

    where: str
    what: str
    mend: str


class BundleManifest(Document):
    """`bundle-manifest/1`."""

    format: Literal["bundle-manifest/1"]
    study: str
    code_sha256: str
    """Digest over the sorted lines `sha256  path` of the source files of `PACKAGES`."""
    environment: dict[str, str]
    registration: RegistrationEntry
    ledger_head: LedgerEntry | None
    amendments_head: str | None = None
    """The end of the chain of seals, `N:HASH`: later seals must still hold it."""
    allow_design_mismatch: bool = False
    """Sides that were not made alike were compared all the same; then nothing is PRIMARY."""
    drawings: dict[str, str] = Field(default_factory=dict)
    """PNG -> digest of the SVG that it shows."""
    findings: tuple[FindingEntry, ...] = ()
    """What the build had to say of the study; the bundle is whole all the same."""
    absent: tuple[str, ...] = ()
    """Files that were looked for and were not there."""
    inputs: tuple[InputEntry, ...]
    outputs: tuple[OutputEntry, ...]


def make_manifest(
    evidence: Evidence,
    outputs: Mapping[str, bytes],
    *,
    drawings: Mapping[str, str],
    allow_unequal: bool,
    findings: Sequence[Finding],
) -> bytes:
    """The manifest's bytes; of itself and the checksums it says nothing."""
    ledger = evidence.ledger
    manifest = BundleManifest(
        format="bundle-manifest/1",
        study=evidence.study.config.name,
        code_sha256=code_sha256(),
        environment=environment(),
        registration=RegistrationEntry(
            status=evidence.verification.status, block_sha256=evidence.verification.expected
        ),
        ledger_head=LedgerEntry(seq=ledger.head.seq, hash=ledger.head.hash) if ledger.entries else None,
        amendments_head=Chain(seals=evidence.effective.seals, findings=()).head
        if evidence.effective.seals
        else None,
        allow_design_mismatch=allow_unequal,
        drawings=dict(drawings),
        findings=tuple(FindingEntry(where=one.where, what=one.what, mend=one.mend) for one in findings),
        absent=evidence.absent,
        inputs=tuple(
            InputEntry(
                path=file.path,
                kind=file.kind,
                bytes=file.bytes,
                sha256=file.sha256,
                repo=file.place.repo if file.place else None,
                revision=file.place.revision if file.place else None,
            )
            for file in evidence.inputs
        ),
        outputs=tuple(
            OutputEntry(path=name, bytes=len(data), sha256=sha256_bytes(data))
            for name, data in sorted(outputs.items())
        ),
    )
    return dump_document(manifest)
