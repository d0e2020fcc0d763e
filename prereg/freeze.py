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
from prereg.git import GitError, Repository
from prereg.looking import HubListing, look
from prereg.registration import Registration, parse_registration, write_once
from prereg.search import Limits
from prereg.succession import succession
from prereg.witness import Witness

ACKNOWLEDGE = (
    'freeze --acknowledge "what exists, who has seen it": it enters the record, the report and every label'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Freezing:
    """What freeze did. finished_interrupted: the record was there already, only the hash line was missing."""

    registration: Registration
    finished_interrupted: bool


def clock() -> datetime:
    """Now, in UTC, by this machine's clock."""
    return datetime.now(UTC)


def freeze(
    study: Path,
    *,
    acknowledge: str | None = None,
    succeeds: Path | None = None,
    now: Callable[[], datetime] = clock,
    limits: Limits | None = None,
    hub: HubListing | None = None,
) -> Freezing:
    """The registration is frozen: `registration.json` and the line `PREREG_SHA256:` are on disk.

    succeeds: the study whose withdrawn registration this one replaces.
    acknowledge: what the author says of the data that exist already; without it, data that touch the design stop the freeze.
    Raises FindingsError with everything that is missing, or with the data found; BeforehandError when the study is frozen already.
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
    witness = look(opened, examination.design, limits=limits, hub=hub)
    if witness.touching and not (acknowledge and acknowledge.strip()):
        raise FindingsError(
            "data of the registered comparison exist already",
            sightings(witness),
            where=str(study),
            mend=ACKNOWLEDGE,
        )
    registration = Registration(
        study=opened.config.name,
        block_sha256=block.sha256,
        frozen_text=block.raw.decode("utf-8"),
        frozen_at=now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        tool=tool(),
        pinned=examination.pinned,
        acknowledged=acknowledge,
        witness=witness.document(),
        git=_git_state(study),
        succeeds=None if succeeds is None else succession(study, succeeds).document(),
    )
    write_once(opened.freeze_record_path, registration.dump())
    _write_hash_line(opened.registration_path, examination.data, block)
    return Freezing(registration=registration, finished_interrupted=False)


def sightings(witness: Witness) -> tuple[Finding, ...]:
    """What touches the design, one finding a file."""
    return tuple(
        Finding(
            where=f"{one.place}: {one.path}",
            what=f"{one.kind}, {one.n_records} records, touching {', '.join(one.touches)}",
        )
        for one in witness.touching
    )


def _git_state(study: Path) -> dict[str, object] | None:
    try:
        return Repository.of(study).state(study.resolve()).document()
    except GitError:
        return None


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
