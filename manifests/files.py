"""Files written whole or not at all, and paths that stay inside their root. Standard library only."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath, PureWindowsPath

from manifests.errors import BeforehandError


def write_atomically(path: Path, data: bytes) -> None:
    """`path` holds `data`, on disk; a killed process leaves the old bytes or the new ones, never a part."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(path)
        sync_folder(path.parent)
    except OSError as err:
        partial.unlink(missing_ok=True)
        raise BeforehandError(
            f"cannot be written: {err.strerror}",
            where=str(path),
            mend="free some space or mend the folder's permissions; the old content is untouched",
        ) from err


def sync_folder(folder: Path) -> None:
    """A rename inside `folder` survives a power cut, where the file system allows folders to be synced."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:  # some network file systems refuse it; the rename itself has happened
        pass
    finally:
        os.close(descriptor)


def read_bytes(path: Path, *, mend: str = "") -> bytes:
    """The file's bytes; a missing or unreadable file is a BeforehandError that names it."""
    try:
        return path.read_bytes()
    except FileNotFoundError as err:
        raise BeforehandError("does not exist", where=str(path), mend=mend) from err
    except OSError as err:
        raise BeforehandError(f"cannot be read: {err.strerror}", where=str(path), mend=mend) from err


def read_text(path: Path, *, mend: str = "") -> str:
    """The file's text, strictly UTF-8, line endings as they are."""
    return decode_utf8(read_bytes(path, mend=mend), where=str(path))


def decode_utf8(data: bytes, *, where: str) -> str:
    """Strict UTF-8; the error names the byte."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as err:
        raise BeforehandError(
            f"is not UTF-8 (byte {err.start}: 0x{data[err.start]:02x})", where=where, mend="save it as UTF-8"
        ) from err


def inside(root: Path, relative: str, *, where: str) -> Path:
    """`root/relative` for a path that came from a record: POSIX, relative, and inside `root` with links resolved."""
    pure = PurePosixPath(relative)
    unsafe = (
        not relative
        or pure.is_absolute()
        or PureWindowsPath(relative).is_absolute()
        or PureWindowsPath(relative).drive
        or ".." in pure.parts
        or "\\" in relative
        or any(ord(character) < 32 for character in relative)
    )
    target = root / pure
    if unsafe or not target.resolve().is_relative_to(root.resolve()):
        raise BeforehandError(
            f"names the path {relative!r}, which leaves its folder",
            where=where,
            mend="a record may only name files below its own root, as relative POSIX paths",
        )
    return target
