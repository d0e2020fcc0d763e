"""The Hub: the calls that beforehand makes through the `huggingface_hub` client, each with a bound on time and patience.

Every call names a full revision except `head`, which is how a branch becomes one. Errors are those of `manifests.hub.errors`.
"""

from __future__ import annotations

import glob
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import httpx2
from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationDelete,
    HfApi,
    constants,
    get_session,
    get_token,
    snapshot_download,
)
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
from rich.console import Console
from rich.progress import Progress

from manifests.errors import BeforehandError
from manifests.hub.cache import RepoKind, cache_root, cached_path
from manifests.hub.errors import translated
from manifests.hub.failures import MissingEntryError, UnreachableError, VanishedError
from manifests.hub.layout import Place

KNOCK_TIMEOUT_S = 4.0
"""For the first, small question: a Hub that is down is known to be down soon."""
TIMEOUT = httpx2.Timeout(60.0, connect=KNOCK_TIMEOUT_S)
"""For all else; the client itself would wait forever."""
WAITS_S = (0.5, 1.0)
LONGEST_WAIT_S = 30.0
PATHS_A_REQUEST = 1000
COMMITS_AT_ONCE = 4

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A revision, resolved. repo: the name that the Hub uses now; files: every path at this commit."""

    repo: str
    sha: str
    gated: bool
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """One file at a commit. sha256: of large files only; of the others the Hub knows git's blob id."""

    path: str
    bytes: int
    blob_id: str
    sha256: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """One file to commit; sha256 is that of `content`."""

    path: str
    content: Path | bytes
    sha256: str


class Hub:
    """The Hub at the endpoint of the environment, with the token of the environment."""

    def __init__(self) -> None:
        # Before its first call the client would ask for a list of coding agents, 3 s long where nobody answers.
        constants.HF_HUB_DISABLE_TELEMETRY = True
        if not sys.stderr.isatty() and constants.HF_HUB_DISABLE_PROGRESS_BARS is None:
            disable_progress_bars()
        self._api = HfApi(library_name="beforehand")

    def head(self, repo: str, *, revision: str | None = None, kind: RepoKind = "dataset") -> Head:
        """The full sha of a revision (None: the main branch) and the files there. One request."""

        def ask() -> Head:
            info = self._api.repo_info(repo, repo_type=kind, revision=revision, timeout=KNOCK_TIMEOUT_S)
            if info.sha is None:
                raise VanishedError("the Hub names no commit", where=where)
            files = tuple(sorted(sibling.rfilename for sibling in getattr(info, "siblings", None) or ()))
            return Head(repo=info.id, sha=info.sha, gated=bool(getattr(info, "gated", False)), files=files)

        where = _place(repo, revision)
        return _patiently(ask, where=where)

    def may_read(self, repo: str, *, kind: RepoKind) -> None:
        """Nothing happens where the token may read the files; a gated repository is a GatedError."""
        _patiently(lambda: self._api.auth_check(repo, repo_type=kind), where=repo)

    def files(self, repo: str, paths: Sequence[str], *, revision: str) -> dict[str, RemoteFile]:
        """Those of `paths` that are files at the revision, by path. One request for 1,000 paths."""
        found: dict[str, RemoteFile] = {}
        for start in range(0, len(paths), PATHS_A_REQUEST):
            part = list(paths[start : start + PATHS_A_REQUEST])

            def ask(part: list[str] = part) -> list[RepoFile]:
                entries = self._api.get_paths_info(repo, part, revision=revision, repo_type="dataset")
                return [entry for entry in entries if isinstance(entry, RepoFile)]

            for entry in _patiently(ask, where=_place(repo, revision)):
                found[entry.path] = RemoteFile(
                    path=entry.path,
                    bytes=entry.size,
                    blob_id=entry.blob_id,
                    sha256=None if entry.lfs is None else entry.lfs.sha256,
                )
        return found

    def read(self, repo: str, path: str, *, revision: str) -> bytes:
        """One small file at a full commit."""
        place = Place(repo, revision)
        self.fetch(place, [path])
        return cached_path(place, path).read_bytes()

    def fetch(self, place: Place, paths: Sequence[str], *, kind: RepoKind = "dataset") -> None:
        """The files are in the cache, as the Hub sent them: verify them. What was fetched before is not fetched again."""

        def ask() -> None:
            snapshot_download(
                place.repo,
                revision=place.revision,
                repo_type=kind,
                cache_dir=cache_root(),
                allow_patterns=[glob.escape(path) for path in paths],
            )
            missing = [path for path in paths if not cached_path(place, path, kind=kind).exists()]
            if missing:
                raise MissingEntryError(
                    f"{missing[0]} is not at this commit ({len(missing)} files in all)",
                    where=str(place),
                    mend="`beforehand units pull STUDY --refresh` says what the repository holds now",
                )

        _patiently(ask, where=str(place))

    def fetch_all(self, wanted: Mapping[Place, Sequence[str]]) -> dict[Place, BeforehandError]:
        """`fetch` of several commits at once. Returned are the places that failed; a Hub that is down fails the whole."""
        if len(wanted) == 1:  # in this thread, so that an interrupt reaches the client at once
            [(place, paths)] = wanted.items()
            try:
                self.fetch(place, paths)
            except UnreachableError:
                raise
            except BeforehandError as failure:
                return {place: failure}
            return {}
        failed: dict[Place, BeforehandError] = {}
        # One commit shows the client's bar of bytes, several show one bar of commits.
        with _bars(len(wanted)) as advance, ThreadPoolExecutor(COMMITS_AT_ONCE) as pool:
            running = {
                place: pool.submit(self.fetch, place, paths) for place, paths in sorted(wanted.items())
            }
            try:
                for place, one in running.items():
                    err = one.exception()
                    if isinstance(err, BeforehandError) and not isinstance(err, UnreachableError):
                        failed[place] = err
                    elif err is not None:
                        raise err
                    advance()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return failed

    def commit(
        self,
        repo: str,
        additions: Sequence[Addition],
        *,
        deletions: Sequence[str] = (),
        message: str,
        parent: str,
    ) -> str:
        """One commit on top of `parent`, whole or not at all; its sha. Not retried: see `manifests.hub.commit.land`.

        Raises StaleParentError where the head is not `parent` any more, UnreachableError where the outcome is unknown.
        """
        for addition in additions:
            _refuse_token(addition)
        operations: list[CommitOperationAdd | CommitOperationDelete] = [
            CommitOperationDelete(path, is_folder=False) for path in deletions
        ]
        operations += [CommitOperationAdd(addition.path, addition.content) for addition in additions]
        with _bounded(where=repo):
            done = self._api.create_commit(
                repo, operations, commit_message=message, repo_type="dataset", parent_commit=parent
            )
        return done.oid

    def create(self, repo: str) -> None:
        """The dataset repository is there; a new one is private."""
        _patiently(
            lambda: self._api.create_repo(repo, repo_type="dataset", private=True, exist_ok=True), where=repo
        )


def _patiently(ask: Callable[[], Answer], *, where: str) -> Answer:
    """The answer, asked for again after a short pause where that may help."""
    for wait_s in (*WAITS_S, None):
        try:
            with _bounded(where=where):
                return ask()
        except UnreachableError as err:
            if wait_s is None or err.retry_after_s is None or err.retry_after_s > LONGEST_WAIT_S:
                raise
            time.sleep(max(wait_s, err.retry_after_s))
    raise AssertionError  # the last round returns or raises


@contextmanager
def _bounded(*, where: str) -> Iterator[None]:
    """The client's calls have a time limit, and its errors become ours."""
    get_session().timeout = TIMEOUT
    try:
        yield
    except BeforehandError:
        raise
    except Exception as err:  # noqa: BLE001 - `translated` raises what it does not know
        raise translated(
            err, where=where
        ) from None  # the client's own text may quote headers and signed addresses


@contextmanager
def _bars(commits: int) -> Iterator[Callable[[], None]]:
    """Call it once a commit. Several commits show a bar that counts them in place of the client's; on a terminal only."""
    hide = commits > 1 and not are_progress_bars_disabled()
    if hide:
        disable_progress_bars()
    console = Console(stderr=True)
    try:
        with Progress(
            console=console, transient=True, disable=not (hide and console.is_terminal)
        ) as progress:
            task = progress.add_task("Fetching commits", total=commits)
            yield lambda: progress.advance(task)
    finally:
        if hide:
            enable_progress_bars()


def _refuse_token(addition: Addition) -> None:
    token = get_token()
    content = addition.content if isinstance(addition.content, bytes) else addition.content.read_bytes()
    if token and token.encode() in content:
        raise BeforehandError(
            "holds the token that would push it; nothing was pushed",
            where=addition.path,
            mend="revoke that token, find out how it came into the file, and make the file anew",
        )


def _place(repo: str, revision: str | None) -> str:
    return repo if revision is None else f"{repo}@{revision}"
