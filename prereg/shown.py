"""What a bundle shows of the registration it was built on, held against the record. Standard library only."""

from __future__ import annotations

import re
from pathlib import Path

from manifests.errors import Finding
from prereg.registration import Registration

TYPE_CHECKING = False  # typing and the seals' classes are slow to import, and only annotations need them
if TYPE_CHECKING:
    from prereg.seals import Chain

BUNDLE_FILES = ("report/aggregate.json", "report/MANIFEST.json")
BLOCK = re.compile(rb'"block_sha256"\s*:\s*"([0-9a-f]{64})"')
HEAD = re.compile(rb'"amendments_head"\s*:\s*"(\d+):([0-9a-f]{64})"')


def check_bundles(study: Path, record: Registration, chain: Chain | None) -> tuple[Finding, ...]:
    """A bundle that shows another block, or a head of the seals that is not on the chain any more."""
    hashes = {(str(seal.n), seal.hash) for seal in chain.seals} if chain else set()
    findings = []
    for name in BUNDLE_FILES:
        path = study / name
        data = path.read_bytes() if path.is_file() else b""
        if any(digest.decode() != record.block_sha256 for digest in BLOCK.findall(data)):
            what = "was built on another registration: block and record were rewritten, or the bundle is a foreign one"
            findings.append(
                Finding(where=name, what=what, mend="restore the registration, or build again and say why")
            )
        for n, digest in HEAD.findall(data):
            if (n.decode(), digest.decode()) not in hashes:
                what = f"shows a seal number {n.decode()} that is not on the chain: seals were removed or rewritten"
                findings.append(
                    Finding(where=name, what=what, mend="restore amendments.jsonl from version control")
                )
    return tuple(findings)
