"""Freeze: the record of the block, written once, then the hash line below the block.

The record goes first. Killed between the two, a study has a record and no hash line; freezing it again finishes the job,
because the record still holds. The other order would leave a hash that looks frozen and is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from manifests.errors import BeforehandError, Finding, FindingsError
from manifests.files import read_bytes, write_atomically
from manifests.study import Study
from prereg.block import Block, find_block, with_hash_line
from prereg.check import examine
from prereg.registration import Registration, parse_registration, write_once


@dataclass(frozen=True, slots=True, kw_only=True)
class Freezing:
    """What freeze did. finished_interrupted: the record was there already, only the hash line was missing."""

    registration: Registration
    finished_interrupted: bool


def clock() -> datetime:
    """Now, in UTC, by this machine's clock."""
    return datetime.now(UTC)


def freeze(study: Path, *, now: Callable[[], datetime] = clock) -> Freezing:
    """The registration is frozen: `registration.json` and the line `PREREG_SHA256:` are on disk.

    Raises FindingsError with everything that is missing; BeforehandError when the study is frozen already.
    """
    opened = Study.open(study)
    if opened.freeze_record_path.exists():
        return _finish(opened)
    examination = examine(study)
    block = examination.block
    findings = (*examination.findings, *(_stray_hash_lines(block) if block else ()))
    if findings or block is None or examination.design is None:
        raise FindingsError(
            "cannot be frozen yet", findings, where=str(study), mend="mend what is listed, then freeze"
        )
    registration = Registration(
        study=opened.config.name,
        block_sha256=block.sha256,
        frozen_text=block.raw.decode("utf-8"),
        frozen_at=now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        tool=tool(),
        pinned=examination.pinned,
    )
    write_once(opened.freeze_record_path, registration.dump())
    _write_hash_line(opened.registration_path, examination.data, block)
    return Freezing(registration=registration, finished_interrupted=False)


def tool() -> str:
    """Name and version of this software, as installed."""
    try:
        return f"beforehand {version('beforehand')}"
    except PackageNotFoundError:
        return "beforehand, not installed"


def _finish(study: Study) -> Freezing:
    """Write the hash line of a freeze that was killed; anything else that finds a record is a second freeze."""
    registration = parse_registration(
        read_bytes(study.freeze_record_path), where=str(study.freeze_record_path)
    )
    data = read_bytes(study.registration_path)
    block = find_block(data, where=study.registration_path.name)
    if block.hash_lines or block.sha256 != registration.block_sha256:
        raise BeforehandError(
            f"is frozen already, on {registration.frozen_at}, and is frozen once",
            where=str(study.root),
            mend="to change the plan, write an amendment below the block; to see what changed: beforehand prereg verify",
        )
    _write_hash_line(study.registration_path, data, block)
    return Freezing(registration=registration, finished_interrupted=True)


def _write_hash_line(path: Path, data: bytes, block: Block) -> None:
    if read_bytes(path) != data:
        raise BeforehandError(
            "was edited while it was being frozen", where=str(path), mend="run freeze again"
        )
    write_atomically(path, with_hash_line(data, block))


def _stray_hash_lines(block: Block) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            where=f"{block.where}:{line.number}",
            what="holds a PREREG_SHA256 line, but no registration.json stands beside it",
            mend="restore registration.json if this study was frozen; else remove the line, freeze writes it",
        )
        for line in block.hash_lines
    )
