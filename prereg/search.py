"""Searching a folder by content, in bounded time; what was not read is said."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from manifests.digests import sha256_bytes, sha256_file
from prereg.contents import HEAD_BYTES, Contents, looks_like_data, recognise
from prereg.witness import Place

NEVER_ENTERED = (".git",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Where a search stops: files listed, seconds spent, and bytes of one file that are looked into (its digest covers all)."""

    files: int = 250_000
    seconds: float = 60.0
    bytes_per_file: int = 64 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A file that holds data. path: relative to the place."""

    path: str
    bytes: int
    sha256: str
    contents: Contents


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What a search of one place gave."""

    place: Place
    sightings: tuple[Sighting, ...]


def search_folder(
    root: Path,
    *,
    name: str,
    limits: Limits,
    skip: frozenset[Path] = frozenset(),
    clock: Callable[[], float] = time.monotonic,
) -> Search:
    """Read every regular file below `root`, links to folders not followed. skip: resolved paths that are no data."""
    if not root.is_dir():
        return Search(place=Place(name=name, state="absent", files=0, note="no such folder"), sightings=())
    deadline = clock() + limits.seconds
    names = {path.name for path in skip}
    notes: list[str] = []
    sightings = []
    count = 0
    for path in _files(root, notes):
        if count >= limits.files or clock() > deadline:
            why = f"stopped after {count} files" + (
                "" if count >= limits.files else f" and {limits.seconds:.0f} s"
            )
            notes.append(f"{why}: the rest was not read")
            break
        count += 1
        if path.name in names and path.resolve() in skip:
            continue
        sighting = _sight(path, root, limits, notes)
        if sighting is not None:
            sightings.append(sighting)
    partly = any(not note.startswith("not entered: .git") for note in notes)
    place = Place(
        name=name, state="read in part" if partly else "read", files=count, note="; ".join(few(notes))
    )
    return Search(place=place, sightings=tuple(sorted(sightings, key=lambda one: one.path)))


def _files(root: Path, notes: list[str]) -> Iterator[Path]:
    """Regular files, folder by folder in the order of names."""
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as err:
            notes.append(f"not readable: {_relative(folder, root)} ({err.strerror})")
            continue
        folders = []
        for entry in entries:
            if entry.name in NEVER_ENTERED and entry.is_dir(follow_symlinks=False):
                notes.append(f"not entered: {entry.name}")
            elif entry.is_dir(follow_symlinks=False):
                folders.append(Path(entry.path))
            elif entry.is_symlink() and entry.is_dir():
                notes.append(f"link to a folder not followed: {_relative(Path(entry.path), root)}")
            else:
                yield Path(entry.path)
        waiting.extend(reversed(folders))


def _sight(path: Path, root: Path, limits: Limits, notes: list[str]) -> Sighting | None:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return None
        with path.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
            if not looks_like_data(head):
                return None
            data = head + stream.read(max(0, limits.bytes_per_file - len(head)))
    except OSError as err:
        notes.append(f"not readable: {_relative(path, root)} ({err.strerror})")
        return None
    contents = recognise(data)
    if contents is None:
        return None
    if contents.unread:
        notes.append(f"not read to the end: {_relative(path, root)} ({contents.unread})")
    whole = len(data) == status.st_size
    digest = sha256_bytes(data) if whole else sha256_file(path)
    return Sighting(path=_relative(path, root), bytes=status.st_size, sha256=digest, contents=contents)


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix().encode("utf-8", "backslashreplace").decode("utf-8")


def few(notes: list[str], most: int = 12) -> list[str]:
    """The first notes, none twice, and how many more there are."""
    unique = list(dict.fromkeys(notes))
    return unique if len(unique) <= most else [*unique[:most], f"and {len(unique) - most} more"]
