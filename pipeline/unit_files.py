"""Files of a unit on their way into the store: a scratch folder, digests, and the move that comes last."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from manifests.digests import sha256_file
from manifests.errors import BeforehandError
from manifests.files import sync_folder
from manifests.importers.reading import Reading
from manifests.names import UnitId
from manifests.records import SourceFile, UnitRecord
from manifests.rows import STATEMENTS_FILE
from manifests.stores import LocalStore
from manifests.study import Study


@contextmanager
def scratch(study: Study, unit: UnitId) -> Iterator[Path]:
    """A folder beside the units for what is not finished; it is gone afterwards, however the import ends."""
    units = study.root / "units"
    there = units.exists()
    folder = units / f".{unit}.{os.getpid()}.partial"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True)
        yield folder
    except OSError as err:
        raise BeforehandError(
            f"cannot be written: {err.strerror}",
            where=str(err.filename or folder),
            mend="free some space or mend the folder's permissions; nothing was written",
        ) from err
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if not there and units.is_dir() and not any(units.iterdir()):
            units.rmdir()


def put_files(store: LocalStore, record: UnitRecord, folder: Path) -> bool:
    """The unit's files lie in the store, its record last; a unit that is there already is left as it is."""
    if store.record_path(record.unit_id).exists():
        return store.put(record, {})
    target = store.folder(record.unit_id)
    target.mkdir(parents=True, exist_ok=True)
    for file in record.files:
        with (folder / file.path).open("rb") as stream:
            os.fsync(stream.fileno())
        (folder / file.path).replace(target / file.path)
    sync_folder(target)
    return store.put(record, {})


def refuse_changed(before: Mapping[Path, os.stat_result]) -> None:
    """A log that something still writes to gives rows and digests of different moments."""
    for path, stat in before.items():
        now = path.stat()
        if (now.st_size, now.st_mtime_ns) != (stat.st_size, stat.st_mtime_ns):
            raise BeforehandError(
                "changed while it was read", where=str(path), mend="wait until the run has ended, then import"
            )


def source_file(path: Path) -> SourceFile:
    """The file as the record names it: without its folder."""
    return SourceFile(name=path.name, bytes=path.stat().st_size, sha256=sha256_file(path))


def statements_file(folder: Path, readings: Sequence[Reading]) -> tuple[Path, ...]:
    """Digests of the problems' texts, one a line, where the sources hold them."""
    statements = {key: value for reading in readings for key, value in reading.tally.statements.items()}
    if not statements:
        return ()
    path = folder / STATEMENTS_FILE
    lines = (
        json.dumps({"problem_id": key, "sha256": statements[key]}, ensure_ascii=False)
        for key in sorted(statements)
    )
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return (path,)
