"""Git, read only: no hook, no file-system monitor, no network, no configuration of the caller's environment. Standard library only."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from prereg.strict import DamagedRecordError, Fields

GIT = (
    *("git", "--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"),
    *("-c", "protocol.allow=never", "-c", "core.quotePath=false"),
)
TIMEOUT_S = 60


class GitError(Exception):
    """Git is not there, the folder is no repository, or the command failed: the message says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """A file's content in the history. path: one under which it was committed, relative to the repository."""

    oid: str
    path: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GitState:
    """The repository at the moment of freezing. commit: HEAD, or None before the first; dirty: the study differs from it."""

    commit: str | None
    dirty: bool
    roots: tuple[str, ...]
    shallow: bool

    def document(self) -> dict[str, object]:
        """The state as it stands in registration.json."""
        return {
            "commit": self.commit,
            "dirty": self.dirty,
            "roots": list(self.roots),
            "shallow": self.shallow,
        }

    @classmethod
    def read(cls, document: Mapping[str, object], *, where: str) -> GitState:
        """The state of a record; raises DamagedRecordError."""
        fields = Fields(document, "git")
        state = cls(
            commit=fields.optional_text("commit"),
            dirty=fields.flag("dirty"),
            roots=fields.texts("roots"),
            shallow=fields.flag("shallow"),
        )
        fields.finish()
        if fields.findings:
            raise DamagedRecordError(tuple(fields.findings), where=where)
        return state


@dataclass(frozen=True, slots=True)
class Repository:
    """The work tree that a folder belongs to. index: the index file of a commit in progress, as git tells a hook."""

    folder: Path
    index: str | None = None

    @classmethod
    def of(cls, folder: Path, *, index: str | None = None) -> Repository:
        """The repository around `folder`; raises GitError."""
        top = Path(_run(folder, "rev-parse", "--show-toplevel").rstrip("\n"))
        return cls(top, None if index is None else str(folder / index))

    def text(self, *arguments: str) -> str:
        """Standard output of a git command, as text."""
        return _run(self.folder, *arguments, index=self.index)

    def staged(self) -> tuple[str, ...]:
        """Paths in the index that are not as in HEAD, removed ones too; before the first commit all of them."""
        if self.head() is None:
            return tuple(filter(None, self.text("ls-files", "-z").split("\0")))
        return tuple(
            filter(
                None,
                self.text("diff", "--cached", "--name-only", "--no-renames", "--no-ext-diff", "-z").split(
                    "\0"
                ),
            )
        )

    def staged_bytes(self, path: str) -> bytes | None:
        """The file as it would be committed, or None."""
        return self._blob_of(f":{path}")

    def committed_bytes(self, path: str) -> bytes | None:
        """The file in HEAD, or None."""
        return self._blob_of(f"HEAD:{path}")

    def _blob_of(self, name: str) -> bytes | None:
        try:
            oid = self.text("rev-parse", "--verify", "--quiet", name).strip()
        except GitError:
            return None
        return self.bytes_of(oid)

    def hooks_folder(self) -> Path:
        """Where this repository's hooks lie, as its own configuration says."""
        top = self.folder / _run(self.folder, "rev-parse", "--git-common-dir").strip()
        finished = subprocess.run(  # noqa: S603 - fixed command, no shell; GIT would hide the configured folder
            ["git", "-C", str(self.folder), "config", "--get", "core.hooksPath"],  # noqa: S607
            capture_output=True,
            check=False,
            env=_environment(),
        )
        configured = finished.stdout.decode("utf-8", "surrogateescape").strip()
        return self.folder / configured if configured else top / "hooks"

    def head(self) -> str | None:
        """The commit that is checked out, or None before the first."""
        try:
            return self.text("rev-parse", "--verify", "--quiet", "HEAD^{commit}").strip()
        except GitError:
            return None

    def is_ancestor(self, commit: str) -> bool:
        """True when HEAD descends from the commit, or is it."""
        try:
            self.text("merge-base", "--is-ancestor", commit, "HEAD")
        except GitError:
            return False
        return True

    def committed_at(self, commit: str) -> datetime | None:
        """The committer's date, or None when the commit is not here."""
        try:
            return datetime.fromtimestamp(
                int(self.text("show", "--no-patch", "--format=%ct", f"{commit}^{{commit}}")), UTC
            )
        except (GitError, ValueError):
            return None

    def bytes_of(self, blob: str) -> bytes:
        """A file's content by its object id; empty when it is not here."""
        return next((data for _, data in self.contents((Blob(oid=blob, path="", bytes=0),))), b"")

    def is_shallow(self) -> bool:
        """True for a clone that lacks older commits."""
        return self.text("rev-parse", "--is-shallow-repository").strip() == "true"

    def roots(self) -> tuple[str, ...]:
        """Commits without parents that HEAD descends from."""
        return tuple(self.text("rev-list", "--max-parents=0", "HEAD").split())

    def state(self, folder: Path) -> GitState:
        """What freeze records."""
        head = self.head()
        return GitState(
            commit=head,
            dirty=self.is_dirty(folder),
            roots=self.roots() if head else (),
            shallow=self.is_shallow(),
        )

    def is_dirty(self, folder: Path) -> bool:
        """True when anything below `folder` is not as committed."""
        return bool(self.text("status", "--porcelain", "--untracked-files=all", "--", str(folder)).strip())

    def blobs(self) -> tuple[Blob, ...]:
        """Every file content that any ref or reflog reaches, deleted ones too."""
        paths: dict[str, str] = {}
        for line in self.text("rev-list", "--all", "--reflog", "--objects").splitlines():
            oid, _, path = line.partition(" ")
            if path:
                paths.setdefault(oid, path)
        listing = _run(
            self.folder,
            "cat-file",
            "--batch-check=%(objectname) %(objecttype) %(objectsize)",
            feed="\n".join(paths),
        )
        blobs = []
        for line in listing.splitlines():
            oid, kind, size = (*line.split(" "), "", "")[:3]
            if kind == "blob":
                blobs.append(Blob(oid=oid, path=paths[oid], bytes=int(size)))
        return tuple(blobs)

    def contents(self, blobs: tuple[Blob, ...]) -> Iterator[tuple[Blob, bytes]]:
        """Each blob with its bytes, through one process."""
        process = subprocess.Popen(  # noqa: S603 - fixed commands, no shell
            [*GIT, "-C", str(self.folder), "cat-file", "--batch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
        )
        if process.stdin is None or process.stdout is None:
            raise GitError("git gave no pipes")
        try:
            for blob in blobs:
                process.stdin.write(blob.oid.encode() + b"\n")
                process.stdin.flush()
                header = process.stdout.readline().split()
                if len(header) != 3:  # a missing object: a partial clone, or damage
                    continue
                data = process.stdout.read(int(header[2]))
                process.stdout.read(1)
                yield blob, data
        finally:
            process.stdin.close()
            process.stdout.close()
            process.terminate()
            process.wait()


def _environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return {
        **kept,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "LC_ALL": "C.UTF-8",
    }


def _run(folder: Path, *arguments: str, feed: str | None = None, index: str | None = None) -> str:
    try:
        finished = subprocess.run(  # noqa: S603 - fixed commands, no shell
            [*GIT, "-C", str(folder), *arguments],
            input=None if feed is None else feed.encode("utf-8", "surrogateescape"),
            stdin=subprocess.DEVNULL if feed is None else None,
            capture_output=True,
            check=False,
            timeout=TIMEOUT_S,
            env={**_environment(), **({} if index is None else {"GIT_INDEX_FILE": index})},
        )
    except FileNotFoundError as err:
        raise GitError("git is not installed") from err
    except subprocess.TimeoutExpired as err:
        raise GitError(f"git took more than {TIMEOUT_S} s") from err
    if finished.returncode != 0:
        reason = finished.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise GitError(reason or f"git {arguments[0]} ended with {finished.returncode}")
    return finished.stdout.decode("utf-8", "surrogateescape")
