"""What git history says of a registration: when its record first appeared, and whether it was ever another one. Standard library only.

Limits: whoever owns a repository can rewrite it whole and set every date. What the history shows is then only as good as a
copy of it that somebody else holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from manifests.digests import sha256_bytes
from manifests.errors import Finding
from prereg.git import GitError, GitState, Repository
from prereg.registration import FILE_NAME, PinnedFile, Registration
from prereg.seals import FILE_NAME as SEALS_NAME
from prereg.seals import Chain
from prereg.strict import DamagedRecordError
from prereg.witness import Witness

SLACK = timedelta(hours=24)
"""A record may be committed this long after its stated time before the time counts as unproven."""

DATA_FOLDERS = ("units", "manifests", "training", "report")


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A file as one commit left it. at: the committer's date, in UTC; blob: None where the commit removed it."""

    commit: str
    at: str
    path: str
    blob: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """first_commit, first_commit_at: of the record, or None while it is not committed; unchecked: what could not be looked at."""

    findings: tuple[Finding, ...] = ()
    first_commit: str | None = None
    first_commit_at: str | None = None
    unchecked: tuple[str, ...] = ()


def read_history(study: Path, record: Registration, chain: Chain) -> History:
    """Hold the record, its stated time and its seals against the repository around the study."""
    try:
        repository = Repository.of(study)
        inside = study.resolve().relative_to(repository.folder.resolve())
        return _read(repository, inside.as_posix(), record, chain)
    except (GitError, ValueError) as err:
        return History(unchecked=(f"git history: {err}",))


def _read(repository: Repository, inside: str, record: Registration, chain: Chain) -> History:
    unchecked = ("older commits: this clone is shallow",) if repository.is_shallow() else ()
    versions = tuple(versions_of(repository, f"{inside}/{FILE_NAME}"))
    if not versions:
        mend = "commit registration.json and PREREGISTRATION.md"
        finding = Finding(
            where=FILE_NAME,
            what="is in no commit: nothing but this machine's clock speaks for its time",
            mend=mend,
        )
        return History(
            findings=(finding, *_state(repository, record, None, shallow=bool(unchecked))),
            unchecked=unchecked,
        )
    first = versions[0]
    findings = [
        *_rewritten(repository, versions, record),
        *_stated_time(record, first, shallow=bool(unchecked)),
        *_state(repository, record, first, shallow=bool(unchecked)),
        *_together(repository, first, inside, record),
        *_earlier_data(repository, first, inside, record),
        *_seals(repository, inside, chain),
        *_gates(repository, inside),
    ]
    return History(
        findings=tuple(findings), first_commit=first.commit, first_commit_at=first.at, unchecked=unchecked
    )


def versions_of(repository: Repository, *paths: str) -> Iterator[Version]:
    """Every version of the files in any ref or reflog, oldest first by the committer's date."""
    output = repository.text(
        "log", "--all", "--reflog", "--reverse", "--date-order", "--no-renames", "-m", "--root",
        "--raw", "--no-abbrev", "--format=commit %H %ct", "--", *paths,
    )  # fmt: skip
    commit = at = ""
    for line in output.splitlines():
        if line.startswith("commit "):
            _, commit, seconds = line.split(" ")
            at = datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        elif line.startswith(":"):
            fields, _, path = line.partition("\t")
            blob = fields.split(" ")[3]
            yield Version(commit=commit, at=at, path=path, blob=blob if blob.strip("0") else None)


def _short(commit: str) -> str:
    return commit[:12]


def _rewritten(
    repository: Repository, versions: tuple[Version, ...], record: Registration
) -> Iterator[Finding]:
    current = record.dump()
    seen: set[str] = set()
    for version in versions:
        if version.blob is None:
            what = f"was removed in commit {_short(version.commit)} of {version.at}"
            yield Finding(where=FILE_NAME, what=what, mend="a registration is frozen once; its record stays")
        elif version.blob not in seen and repository.bytes_of(version.blob) != current:
            what = f"was another one in commit {_short(version.commit)} of {version.at}: block and record were rewritten"
            yield Finding(where=FILE_NAME, what=what, mend="restore the first record")
        seen.add(version.blob or "")


def _moment(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def _stated_time(record: Registration, first: Version, *, shallow: bool) -> Iterator[Finding]:
    stated, committed = _moment(record.frozen_at), _moment(first.at)
    if stated is None or committed is None:
        yield Finding(where=f"{FILE_NAME} frozen_at", what=f"{record.frozen_at!r} is no time in UTC")
    elif committed < stated - timedelta(hours=1):
        what = f"states {record.frozen_at}, but commit {_short(first.commit)} of {first.at} holds it already"
        yield Finding(
            where=f"{FILE_NAME} frozen_at", what=what, mend="one of the two clocks was wrong: say which"
        )
    elif committed > stated + SLACK and not shallow:
        days = (committed - stated).days
        what = f"states {record.frozen_at}, and the first commit that holds it is {days} days younger ({first.at})"
        yield Finding(
            where=f"{FILE_NAME} frozen_at", what=what, mend="count the commit's date as the date of the plan"
        )


def _state(
    repository: Repository, record: Registration, first: Version | None, *, shallow: bool
) -> Iterator[Finding]:
    """The commit that was checked out at the freeze must still lead to HEAD, and be no younger than the freeze says it is."""
    if first is not None and not repository.is_ancestor(first.commit):
        what = f"commit {_short(first.commit)}, the first to hold it, is no ancestor of HEAD"
        yield Finding(
            where=FILE_NAME,
            what=what,
            mend="a squash, a rebase or another branch cut it off: keep it under a tag",
        )
    if record.git is None:
        return
    try:
        state = GitState.read(record.git, where=FILE_NAME)
    except DamagedRecordError as err:
        yield from err.findings
        return
    roots = repository.roots() if repository.head() else ()
    if state.roots and not shallow and not set(roots) & set(state.roots):
        what = "was frozen in a history with another root commit: the repository was started anew"
        yield Finding(where=FILE_NAME, what=what, mend="keep the old history, under a tag or in an archive")
    if state.commit is None or shallow:
        return
    if not repository.is_ancestor(state.commit):
        what = f"commit {_short(state.commit)}, on which it was frozen, is not in the history of HEAD"
        yield Finding(where=FILE_NAME, what=what, mend="a squash or rebase orphaned it: keep it under a tag")
    made = repository.committed_at(state.commit)
    if (
        made is not None
        and (stated := _moment(record.frozen_at)) is not None
        and made > stated + timedelta(hours=1)
    ):
        what = f"states {record.frozen_at}, but was frozen on commit {_short(state.commit)}, made at {made:%Y-%m-%dT%H:%M:%SZ}"
        yield Finding(where=f"{FILE_NAME} frozen_at", what=what, mend="the stated time is too early")


def _together(repository: Repository, first: Version, inside: str, record: Registration) -> Iterator[Finding]:
    """Data that came in the very commit that first holds the record: nothing shows which was first."""
    if _acknowledged(record):
        return
    names = repository.text(
        "show", "--format=", "--name-only", "--no-renames", first.commit, "--", *_folders(inside)
    ).split("\n")
    data = sorted(name for name in names if name)
    if data:
        what = f"was first committed together with {len(data)} files of data (first: {data[0]}), commit {_short(first.commit)}"
        yield Finding(
            where=FILE_NAME, what=what, mend="nothing shows that the plan came first: say so in an amendment"
        )


def _earlier_data(
    repository: Repository, first: Version, inside: str, record: Registration
) -> Iterator[Finding]:
    if _acknowledged(record):
        return
    data = next((one for one in versions_of(repository, *_folders(inside)) if one.at < first.at), None)
    if data is not None:
        what = f"{data.path} was committed at {data.at}, before the record ({first.at}), and the freeze acknowledges nothing"
        yield Finding(where=FILE_NAME, what=what, mend="disclose it in an amendment")


def _acknowledged(record: Registration) -> bool:
    if record.acknowledged:
        return True
    return isinstance(record.witness, dict) and bool(Witness.read(record.witness, where=FILE_NAME).touching)


def _folders(inside: str) -> tuple[str, ...]:
    return tuple(f"{inside}/{name}" for name in DATA_FOLDERS)


def _seals(repository: Repository, inside: str, chain: Chain) -> Iterator[Finding]:
    """Each version of the seals that was ever committed must be a beginning of those there are now."""
    current = b"".join(seal.line() for seal in chain.seals)
    seen: set[str] = set()
    for version in versions_of(repository, f"{inside}/{SEALS_NAME}"):
        if version.blob is None or version.blob in seen:
            continue
        seen.add(version.blob)
        if not current.startswith(repository.bytes_of(version.blob)):
            what = f"commit {_short(version.commit)} of {version.at} holds seals that are not there any more, or were others"
            yield Finding(where=SEALS_NAME, what=what, mend="restore them: seals are added, never taken away")


def _gates(repository: Repository, inside: str) -> Iterator[Finding]:
    """A GATE entry of the log that was committed in one go with a RESULT entry or with data: it gated nothing visibly."""
    path = f"{inside}/DECISIONS.md"
    known: set[bytes] = set()
    for version in versions_of(repository, path):
        if version.blob is None:
            continue
        headings = set(
            re.findall(
                rb"^## \S+ \xc2\xb7 (?:GATE|RESULT) \xc2\xb7 .*$",
                repository.bytes_of(version.blob),
                re.MULTILINE,
            )
        )
        added = headings - known
        known |= headings
        gates = sorted(one for one in added if b" GATE " in one)
        if gates and (results := sorted(one for one in added if b" RESULT " in one)):
            what = f"{_name(gates[0])} and {_name(results[0])} came in one commit, {_short(version.commit)}"
            yield Finding(
                where="DECISIONS.md", what=what, mend="nothing shows that the gate came before its result"
            )


def _name(heading: bytes) -> str:
    return heading.decode("utf-8", "replace").removeprefix("## ").strip()


def drift_date(study: Path, file: PinnedFile) -> str:
    """Since when a pinned file has other content, as a clause for a finding; empty where git cannot say."""
    try:
        repository = Repository.of(study)
        inside = (study.resolve().relative_to(repository.folder.resolve()) / file.path).as_posix()
        matched = False
        for version in versions_of(repository, inside):
            same = version.blob is not None and sha256_bytes(repository.bytes_of(version.blob)) == file.sha256
            if matched and not same:
                return f"first seen in commit {_short(version.commit)} of {version.at}"
            matched = matched or same
    except (GitError, ValueError):
        return ""
    return "not committed yet" if matched else ""
