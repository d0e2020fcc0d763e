"""The text now against the text that was frozen. Standard library only."""

from __future__ import annotations

from pathlib import Path

from manifests.errors import Finding, FindingsError
from prereg.block import HASH_KEY, Block, find_block, with_lf
from prereg.drift import drift
from prereg.registration import FILE_NAME, Registration
from prereg.verification import Verification, difference, unified_diff

TYPE_CHECKING = False  # typing is slow to import, and only its aliases are needed
if TYPE_CHECKING:
    from prereg.verification import Status

DOCUMENT = "PREREGISTRATION.md"


def not_frozen(data: bytes) -> Verification:
    """What is said of a study without a record."""
    try:
        block = find_block(data, where=DOCUMENT)
    except FindingsError as err:
        return Verification(status="not_frozen", findings=err.findings)
    what = f"says {HASH_KEY}, but {FILE_NAME} is not there: the record was removed, or the line was written by hand"
    findings = tuple(
        Finding(where=f"{DOCUMENT}:{line.number}", what=what, mend="restore the record from version control")
        for line in block.hash_lines
    )
    return Verification(status="not_frozen", actual=block.sha256, findings=findings)


def block_against(record: Registration, study: Path, data: bytes) -> Verification:
    """The state of a registration that has a record. data: the bytes of PREREGISTRATION.md."""
    try:
        block = find_block(data, where=DOCUMENT)
    except FindingsError as err:
        status: Status = "line_endings_only" if _same_text(record, data) else "changed"
        return against(record, study, status, actual=None, now=_text_anyway(data), findings=err.findings)
    findings = _hash_line_findings(block, record)
    if block.sha256 == record.block_sha256:
        return against(
            record, study, "unchanged", actual=block.sha256, now=record.frozen_text, findings=findings
        )
    now = block.raw.decode("utf-8")
    return against(record, study, "changed", actual=block.sha256, now=now, findings=findings)


def against(
    record: Registration,
    study: Path,
    status: Status,
    *,
    actual: str | None,
    now: str,
    findings: tuple[Finding, ...],
) -> Verification:
    """The state, with the drift of pinned files and the difference. now: the block as text."""
    return Verification(
        status=status,
        findings=(*findings, *drift(record, study)),
        expected=record.block_sha256,
        actual=actual,
        unchecked=("git history: ask for it with --history",),
        frozen_at=record.frozen_at,
        n_pinned=len(record.pinned),
        diff=unified_diff(record.frozen_text, now) if status == "changed" else "",
        difference=difference(record.frozen_text, now) if status == "changed" else "",
    )


def _same_text(record: Registration, data: bytes) -> bool:
    try:
        return find_block(with_lf(data), where=DOCUMENT).sha256 == record.block_sha256
    except FindingsError:
        return False


def _text_anyway(data: bytes) -> str:
    """The block of a file that had to be mended to be read, for the diff alone."""
    try:
        return find_block(with_lf(data), where=DOCUMENT).raw.decode("utf-8")
    except FindingsError:
        return ""


def _hash_line_findings(block: Block, record: Registration) -> tuple[Finding, ...]:
    mend = f"write it right below the END marker: {HASH_KEY}: {record.block_sha256}"
    if not block.hash_lines:
        where = f"{DOCUMENT}:{block.end_line}"
        return (Finding(where=where, what=f"no {HASH_KEY} line stands below the block", mend=mend),)
    return tuple(
        Finding(
            where=f"{DOCUMENT}:{line.number}",
            what=f"the {HASH_KEY} line does not equal the record",
            mend=mend,
        )
        if line.sha256 != record.block_sha256
        else Finding(
            where=f"{DOCUMENT}:{line.number}", what=f"a further {HASH_KEY} line", mend="keep the first"
        )
        for index, line in enumerate(block.hash_lines)
        if index or line.sha256 != record.block_sha256
    )
