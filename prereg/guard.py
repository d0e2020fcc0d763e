"""The guard at the door of a repository: what a commit may not change. Standard library only; git's hooks run it.

It compares the index with HEAD for every study in the repository. `git commit --no-verify` goes past it, and so does a
repository without the hook; `verify-prereg --history` then finds what was done.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from manifests.errors import EXIT_CLEAN, EXIT_FINDINGS, Finding, FindingsError
from manifests.text import printable
from prereg.block import find_block
from prereg.entries import entries_of
from prereg.git import GitError, Repository
from prereg.registration import parse_registration
from prereg.strict import DamagedRecordError

RECORD, DOCUMENT, SEALS, LEDGER = "registration.json", "PREREGISTRATION.md", "amendments.jsonl", "ledger.csv"
GUARDED = frozenset({RECORD, DOCUMENT, SEALS, LEDGER})


def check_staged(repository: Repository) -> tuple[Finding, ...]:
    """Everything staged that changes frozen text, a record, a seal or a ledger row."""
    findings: list[Finding] = []
    for path in repository.staged():
        folder, _, name = path.rpartition("/")
        if name not in GUARDED:
            continue
        before, after = repository.committed_bytes(path), repository.staged_bytes(path)
        record_path = f"{folder}/{RECORD}" if folder else RECORD
        record = repository.committed_bytes(record_path) or repository.staged_bytes(record_path)
        if name in {SEALS, LEDGER}:
            findings += _grows(path, before, after)
        elif name == RECORD and before is not None and after != before:
            what = "is removed" if after is None else "is changed"
            findings.append(
                Finding(where=path, what=what, mend="it is written once: git restore --staged --worktree")
            )
        elif name == DOCUMENT and record is not None:
            findings += _document(path, before, after, record)
    return tuple(findings)


def _grows(path: str, before: bytes | None, after: bytes | None) -> Iterator[Finding]:
    """Only rows added at the end."""
    if before is not None and (after is None or not after.startswith(before)):
        what = "loses or changes rows that are committed"
        yield Finding(where=path, what=what, mend="only add rows; a wrong one is mended by a further row")


def _document(path: str, before: bytes | None, after: bytes | None, record_data: bytes) -> Iterator[Finding]:
    if after is None:
        yield Finding(where=path, what="is removed, and it is frozen", mend="restore it")
        return
    try:
        record = parse_registration(record_data, where=RECORD)
        block = find_block(after, where=path)
    except DamagedRecordError as err:
        yield from err.findings
        return
    except FindingsError as err:
        yield from err.findings
        return
    if block.sha256 != record.block_sha256:
        mend = "write an amendment: beforehand prereg amend"
        yield Finding(where=path, what="the frozen text between the markers is changed", mend=mend)
    if [line.sha256 for line in block.hash_lines] != [record.block_sha256]:
        yield Finding(where=path, what="the PREREG_SHA256 line is not the record's, or is not there once")
    if before is not None:
        kept = {entry.id: entry.text for entry in entries_of(after, where=path)[0]}
        for entry in entries_of(before, where=path)[0]:
            if kept.get(entry.id) != entry.text:
                what = f"the amendment {entry.id} is changed or removed"
                yield Finding(where=path, what=what, mend="write a further amendment")


def main() -> int:
    """What the hook runs: 0 when the commit may go on, 1 when it may not."""
    try:
        repository = Repository.of(Path.cwd(), index=os.environ.get("GIT_INDEX_FILE"))
        findings = check_staged(repository)
    except GitError as err:
        print(f"beforehand: cannot look at the commit: {printable(str(err))}", file=sys.stderr)
        return EXIT_FINDINGS
    if findings:
        lines = ["beforehand: this commit changes what is frozen", *(str(finding) for finding in findings)]
        print("\n".join(printable(line) for one in lines for line in one.split("\n")), file=sys.stderr)
    return EXIT_FINDINGS if findings else EXIT_CLEAN


if __name__ == "__main__":
    raise SystemExit(main())
