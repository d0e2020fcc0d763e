"""Landing a commit: files are in a repository, in one commit, however often the answer is lost or another writer is first.

Each round reads the head and compares what is there with what is wanted. So a lost answer, a commit of another writer
and a second call with the same files are one case: what is there already is not sent again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from manifests.digests import sha256_bytes
from manifests.errors import NotInOrderError
from manifests.hub.cache import git_blob_id
from manifests.hub.client import Addition, Head, Hub, RemoteFile
from manifests.hub.failures import StaleParentError, UnreachableError
from manifests.hub.layout import record_path
from manifests.records import UnitRecord, record_bytes

CONFLICTS_MAX = 60
"""Rounds that other writers may win."""
LOSSES_MAX = 3
"""Rounds whose answer may be lost."""
LONGEST_WAIT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """Where the files lie. sha: a commit that holds them all; new: this call, or a lost one of its rounds, made it."""

    sha: str
    new: bool


def land(
    hub: Hub, repo: str, additions: Sequence[Addition], *, message: str, replaces: str | None = None
) -> Landed:
    """The files are in the repository, in one commit.

    replaces: a folder that shall then hold nothing else; None: a file that is there with other content is refused.
    """
    conflicts = losses = 0
    while True:
        head = hub.head(repo)
        there = hub.files(repo, [addition.path for addition in additions], revision=head.sha)
        wanted = [addition for addition in additions if not is_same(addition, there.get(addition.path))]
        stale = _stale(head, additions, replaces)
        if not wanted and not stale:
            return Landed(sha=head.sha, new=losses > 0)
        if replaces is None:
            _refuse_other_content(repo, head, wanted, there)
        try:
            sha = hub.commit(repo, wanted, deletions=stale, message=message, parent=head.sha)
        except StaleParentError as err:
            conflicts += 1
            if conflicts > CONFLICTS_MAX:
                raise UnreachableError(
                    f"other writers came first {conflicts} times",
                    where=repo,
                    mend="run the same command again",
                ) from err
            time.sleep(random.uniform(0.02, 0.1) * min(conflicts, 10))  # noqa: S311 - spreads the writers, no secret
        except UnreachableError as err:
            # The commit may have landed: the next round looks.
            losses += 1
            if losses > LOSSES_MAX or (err.retry_after_s or 0) > LONGEST_WAIT_S:
                raise
            time.sleep(max(0.5 * losses, err.retry_after_s or 0))
        else:
            return Landed(sha=sha, new=True)


def record_addition(record: UnitRecord) -> Addition:
    """The record as a file of the repository; its content names every other file of the unit by digest."""
    data = record_bytes(record)
    return Addition(path=record_path(record.unit_id), content=data, sha256=sha256_bytes(data))


def is_same(addition: Addition, remote: RemoteFile | None) -> bool:
    """True where the remote file has the addition's content, by SHA-256 or by git's blob id."""
    if remote is None:
        return False
    if remote.sha256 is not None:
        return remote.sha256 == addition.sha256
    content = addition.content
    return remote.blob_id == git_blob_id(content.read_bytes() if isinstance(content, Path) else content)


def _stale(head: Head, additions: Sequence[Addition], replaces: str | None) -> list[str]:
    if replaces is None:
        return []
    kept = {addition.path for addition in additions}
    return [path for path in head.files if path.startswith(f"{replaces}/") and path not in kept]


def _refuse_other_content(
    repo: str, head: Head, wanted: Sequence[Addition], there: dict[str, RemoteFile]
) -> None:
    for addition in wanted:
        remote = there.get(addition.path)
        if remote is not None:
            raise NotInOrderError(
                f"{addition.path} is there with other content ({_digest(remote)}); here it has sha256 {addition.sha256}",
                where=f"{repo}@{head.sha}",
                mend="units are immutable: give the new rows another unit id, or pull what is there",
            )


def _digest(remote: RemoteFile) -> str:
    return f"sha256 {remote.sha256}" if remote.sha256 else f"git blob {remote.blob_id}"
