"""`MANIFEST.json`: every input and output of a build with its digest, the code's digest, the versions."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from pydantic import Field

from manifests.digests import sha256_bytes, sha256_file, sha256_tree
from manifests.documents import Document, dump_document
from prereg.seals import Chain
from report.evidence import Evidence

PACKAGES = ("report", "prereg", "ledger", "manifests")
"""What can move a number or a word of a bundle."""

LIBRARIES = ("jinja2", "matplotlib", "numpy", "pyarrow", "pydantic", "scipy")


class InputEntry(Document):
    """A file of the study that the build read."""

    path: str
    kind: str
    bytes: int
    sha256: str


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
    inputs: tuple[InputEntry, ...]
    outputs: tuple[OutputEntry, ...]


def make_manifest(
    evidence: Evidence, outputs: Mapping[str, bytes], *, drawings: Mapping[str, str], allow_unequal: bool
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
        inputs=tuple(
            InputEntry(path=file.path, kind=file.kind, bytes=file.bytes, sha256=file.sha256)
            for file in evidence.inputs
        ),
        outputs=tuple(
            OutputEntry(path=name, bytes=len(data), sha256=sha256_bytes(data))
            for name, data in sorted(outputs.items())
        ),
    )
    return dump_document(manifest)


def code_sha256() -> str:
    """One digest over the code that builds bundles, the same wherever it is installed."""
    root = Path(__file__).resolve().parent.parent
    files = {
        path.relative_to(root).as_posix(): sha256_file(path)
        for package in PACKAGES
        for path in sorted((root / package).rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    }
    return sha256_tree(files)


def environment() -> dict[str, str]:
    """Versions that a figure's pixels may depend on; a patch release of Python moves nothing."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **{library: version(library) for library in LIBRARIES}}
