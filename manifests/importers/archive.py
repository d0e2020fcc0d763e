"""A zip archive of another tool, read member by member in memory; nothing of it is ever unpacked onto the disk."""

from __future__ import annotations

import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from manifests.errors import BeforehandError
from manifests.zipmembers import read_member

MEMBER_BYTES = 512 * 1024**2
"""Most bytes a member may have unpacked."""
RATIO, RATIO_FROM_BYTES = 200, 16 * 1024**2
"""A member above RATIO_FROM_BYTES may be at most this many times its packed size: text packs 5 to 30 times, a bomb 1,000."""


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive whose names and sizes have been looked at."""

    path: Path
    members: tuple[zipfile.ZipInfo, ...]

    @classmethod
    def open(cls, path: Path) -> Archive:
        """Look at the table of contents. Refused: absolute names, names with `..`, a name twice, bombs."""
        try:
            with zipfile.ZipFile(path) as archive:
                members = tuple(info for info in archive.infolist() if not info.is_dir())
        except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError, struct.error) as err:
            raise BeforehandError(
                f"is no readable zip archive: {err}",
                where=str(path),
                mend="it was cut or changed after it was written; restore it",
            ) from err
        names = [info.filename for info in members]
        for info in members:
            name = PurePosixPath(info.filename)
            if not name.parts:
                raise _refused(path, info, "has a name of no file")
            if name.is_absolute() or ".." in name.parts or "\\" in info.filename or ":" in name.parts[0]:
                raise _refused(path, info, "has a name that leaves its archive")
            if names.count(info.filename) > 1:
                raise _refused(path, info, "stands twice in it")
            bomb = info.file_size > max(RATIO_FROM_BYTES, RATIO * info.compress_size)
            if bomb or info.file_size > MEMBER_BYTES:
                raise _refused(
                    path, info, f"would unpack from {info.compress_size} to {info.file_size} bytes"
                )
        return cls(path, members)

    def names(self) -> tuple[str, ...]:
        """Names of the members, in the order in which they were written."""
        return tuple(info.filename for info in self.members)

    def read(self, name: str) -> bytes:
        """A member's bytes, at most as many as the table of contents promises; KeyError for an unknown name."""
        info = {member.filename: member for member in self.members}[name]
        try:
            with self.path.open("rb") as stream:
                data = read_member(stream, info, most=info.file_size + 1)
        except (zipfile.BadZipFile, OSError) as err:
            raise _refused(self.path, info, f"cannot be unpacked: {err}") from err
        if len(data) != info.file_size:
            raise _refused(self.path, info, f"unpacks to other than its {info.file_size} bytes")
        return data


def _refused(path: Path, info: zipfile.ZipInfo, what: str) -> BeforehandError:
    return BeforehandError(
        f"its member {info.filename[:80]!r} {what}",
        where=str(path),
        mend="such an archive is not read; make it anew",
    )
