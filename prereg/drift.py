"""Drift: pinned files that are not what they were at the freeze. Standard library only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from manifests.digests import sha256_file
from manifests.errors import BeforehandError, Finding
from manifests.files import inside
from prereg.registration import FILE_NAME, PinnedFile, Registration


def drift(record: Registration, study: Path) -> tuple[Finding, ...]:
    """A finding for each pinned file that is gone or has another digest."""
    findings = []
    for file in record.pinned:
        try:
            actual = sha256_file(inside(study, file.path, where=FILE_NAME))
        except BeforehandError as err:
            findings.append(
                Finding(where=file.path, what=f"pinned file: {err.what}", mend=err.mend or "restore it")
            )
            continue
        if actual != file.sha256:
            what = f"pinned file: drifted; recorded sha256 {file.sha256}, now {actual}"
            findings.append(Finding(where=file.path, what=what, mend="restore it from version control"))
    return tuple(findings)


def with_dates(
    findings: tuple[Finding, ...], record: Registration, since: Callable[[PinnedFile], str]
) -> tuple[Finding, ...]:
    """The same findings; those about pinned files say since when, as far as `since` knows."""
    pinned = {file.path: file for file in record.pinned}
    dated = []
    for finding in findings:
        clause = since(pinned[finding.where]) if finding.where in pinned else ""
        dated.append(replace(finding, what=f"{finding.what}; {clause}") if clause else finding)
    return tuple(dated)
