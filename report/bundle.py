"""The bundle on disk: files written only when their bytes change, checksums last, a failed build leaves the old one whole."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from manifests.digests import sha256_bytes
from manifests.errors import BeforehandError
from manifests.files import sync_folder

CHECKSUMS = "CHECKSUMS.sha256"
LOCK_WAIT_S = 120


def checksums(files: Mapping[str, bytes]) -> bytes:
    """`sha256sum -c` format, sorted by path."""
    return "".join(f"{sha256_bytes(files[name])}  {name}\n" for name in sorted(files)).encode()


def parse_checksums(data: bytes) -> dict[str, str]:
    """Path -> sha256, from a checksums file; lines of another form are an error."""
    listed = {}
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        digest, separator, name = line.partition("  ")
        if not separator or len(digest) != 64 or not name:
            raise BeforehandError(
                "is no checksum line", where=f"{CHECKSUMS}:{number}", mend="build the report again"
            )
        listed[name] = digest
    return listed


def read_bundle(folder: Path) -> dict[str, bytes]:
    """Every file below `folder`, by POSIX path; empty when there is no bundle."""
    if not folder.is_dir():
        return {}
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(PARTIAL)
    }


PARTIAL = ".partial"


def write_bundle(folder: Path, files: Mapping[str, bytes]) -> tuple[str, ...]:
    """`folder` holds exactly `files` and their checksums. Returns the paths that were written or removed.

    All new bytes are on disk beside their targets before the first target changes, so that a full disk or an error
    leaves the old bundle untouched. A process killed between two renames leaves a mix that its checksums expose and
    the next build mends.
    """
    wanted = {**files, CHECKSUMS: checksums(files)}
    with _locked(folder):
        present = read_bundle(folder)
        changed = [name for name, data in wanted.items() if present.get(name) != data]
        changed.sort(key=lambda name: (name == CHECKSUMS, name))
        stale = sorted((set(present) & _ours(present)) - set(wanted))
        _remove_leftovers(folder)
        _stage(folder, {name: wanted[name] for name in changed})
        for name in changed:
            _partial(folder, name).replace(folder / name)
        for name in stale:
            (folder / name).unlink()
        _remove_empty_folders(folder)
        if folder.is_dir():
            sync_folder(folder)
    return (*changed, *stale)


def _ours(present: Mapping[str, bytes]) -> set[str]:
    """The files that an earlier build wrote; a file that somebody else put there is not ours to remove."""
    try:
        return set(parse_checksums(present.get(CHECKSUMS, b"")))
    except BeforehandError:
        return set()


def _stage(folder: Path, files: Mapping[str, bytes]) -> None:
    try:
        for name, data in files.items():
            partial = _partial(folder, name)
            partial.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
    except OSError as err:
        for name in files:
            _partial(folder, name).unlink(missing_ok=True)
        raise BeforehandError(
            f"the bundle cannot be written: {err.strerror}",
            where=str(folder),
            mend="free some space or mend the folder's permissions; the old bundle is untouched",
        ) from err


def _partial(folder: Path, name: str) -> Path:
    target = folder / name
    return target.with_name(f".{target.name}{PARTIAL}")


def _remove_leftovers(folder: Path) -> None:
    for path in folder.rglob(f".*{PARTIAL}"):
        path.unlink()


def _remove_empty_folders(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One build at a time writes a bundle; the other waits."""
    lock = FileLock(folder.with_name(f".{folder.name}.lock"))
    try:
        with lock.acquire(timeout=LOCK_WAIT_S):
            yield
    except Timeout as err:
        raise BeforehandError(
            f"another build has held the bundle for {LOCK_WAIT_S} s",
            where=str(folder),
            mend="wait for it, or end it",
        ) from err
    except OSError as err:
        raise BeforehandError(
            f"the bundle's folder cannot be written: {err.strerror}",
            where=str(folder.parent),
            mend="mend its permissions",
        ) from err
