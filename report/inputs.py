"""Inputs: every file that a build reads, with its digest, and every file that it looked for and did not find."""

from __future__ import annotations

from dataclasses import dataclass

from manifests.digests import sha256_bytes, sha256_file
from manifests.files import inside, read_bytes
from manifests.hub.layout import Place
from manifests.study import Study
from prereg.registration import FILE_NAME, Registration


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """One file that the report depends on. path: relative to the study, POSIX."""

    path: str
    kind: str
    """registration, data, ledger or text."""
    bytes: int
    sha256: str
    place: Place | None = None
    """The repository and commit that hold it, where one does."""


class InputReader:
    """Reads files of the study and keeps the digest of each."""

    def __init__(self, study: Study) -> None:
        self.root = study.root
        self._inputs: dict[str, InputFile] = {}
        self._absent: set[str] = set()
        self.read("study.toml", "text")

    @property
    def inputs(self) -> tuple[InputFile, ...]:
        """What was read, by path."""
        return tuple(self._inputs[path] for path in sorted(self._inputs))

    @property
    def absent(self) -> tuple[str, ...]:
        """What was looked for and is not there, by path."""
        return tuple(sorted(self._absent))

    def read(self, path: str, kind: str, *, missing: bytes | None = None) -> bytes:
        """The bytes of a file; of one that is not there `missing`, where that is given."""
        if missing is not None and not (self.root / path).exists():
            self._absent.add(path)
            return missing
        data = read_bytes(self.root / path)
        self.note(path, kind, size=len(data), sha256=sha256_bytes(data))
        return data

    def read_if_there(self, path: str, kind: str) -> bytes | None:
        """The bytes of a file inside the study, or None."""
        if not inside(self.root, path, where="the study").exists():
            self._absent.add(path)
            return None
        return self.read(path, kind)

    def note_pinned(self, record: Registration | None) -> None:
        """Files that the freeze pinned: their drift is told, so a bundle depends on them."""
        for file in record.pinned if record else ():
            path = inside(self.root, file.path, where=FILE_NAME)
            if not path.is_file():
                self._absent.add(file.path)
            else:
                self.note(file.path, "registration", size=path.stat().st_size, sha256=sha256_file(path))

    def note(self, path: str, kind: str, *, size: int, sha256: str, place: Place | None = None) -> None:
        """A file that was read elsewhere is an input too."""
        self._inputs[path] = InputFile(path=path, kind=kind, bytes=size, sha256=sha256, place=place)
