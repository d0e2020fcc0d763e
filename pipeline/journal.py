"""A journal: an append-only file of JSON lines that a process may be killed over at any byte."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from manifests.errors import BeforehandError, FindingsError
from manifests.files import read_bytes, sync_folder
from manifests.jsonlines import JsonLine, parse_json_lines

MEND_DAMAGE = "a torn last line is mended by itself; this is other damage: restore the file, or move it away to start the stage again"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalContent:
    """What a journal holds. torn_bytes: of a last line that its writer did not finish; it counts for nothing."""

    lines: tuple[JsonLine, ...]
    torn_bytes: int


def read_journal(path: Path) -> JournalContent:
    """The whole lines of the file; one that does not exist is empty. Any other damage raises FindingsError."""
    if not path.exists():
        return JournalContent(lines=(), torn_bytes=0)
    data = read_bytes(path)
    whole = data[: data.rfind(b"\n") + 1]
    parsed = parse_json_lines(whole, where=path.name)
    if parsed.findings:
        raise FindingsError("is damaged", parsed.findings, where=str(path), mend=MEND_DAMAGE)
    return JournalContent(lines=parsed.records, torn_bytes=len(data) - len(whole))


class Journal:
    """The file open for appending: what `append` returned from is on disk."""

    def __init__(self, path: Path) -> None:
        """Open it; a torn last line is dropped. The folder is made."""
        path.parent.mkdir(parents=True, exist_ok=True)
        content = read_journal(path)
        self.path = path
        self.lines = content.lines
        """The lines that were there when it was opened."""
        self.dropped_bytes = content.torn_bytes
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._size = os.fstat(self._descriptor).st_size - content.torn_bytes
        os.ftruncate(self._descriptor, self._size)
        sync_folder(path.parent)

    def append(self, records: Sequence[Mapping[str, JsonValue]]) -> None:
        """The records stand in the file, in order, or none does and BeforehandError says why."""
        # ASCII only: text that no UTF-8 can hold (a lone surrogate) comes back as it was.
        data = "".join(
            json.dumps(record, sort_keys=True, allow_nan=False) + "\n" for record in records
        ).encode()
        rest = memoryview(data)
        try:
            os.lseek(self._descriptor, self._size, os.SEEK_SET)
            while rest:  # a nearly full disk takes a part first and refuses the rest on the second call
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
        except OSError as err:
            os.ftruncate(self._descriptor, self._size)
            raise BeforehandError(
                f"cannot be written: {err.strerror}",
                where=str(self.path),
                mend="free some space, then run the same command again; what was finished is kept",
            ) from err
        self._size += len(data)

    def close(self) -> None:
        """Release the file."""
        os.close(self._descriptor)
