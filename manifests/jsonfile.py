"""JSON as it lies on disk: strict when read, laid out for people and diffs when written. Standard library only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

from manifests.errors import BeforehandError
from manifests.files import decode_utf8, read_bytes


def dump_json(value: object) -> bytes:
    """Sorted keys, indent 1, UTF-8, one final newline; NaN and infinity are refused."""
    return (json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def parse_json(data: bytes, *, where: str) -> object:
    """Parse strictly: UTF-8 without BOM, no duplicate key, no NaN."""
    try:
        return json.loads(
            decode_utf8(data, where=where),
            object_pairs_hook=_refuse_duplicates,
            parse_constant=_refuse_constant,
        )
    except RecursionError as err:
        raise BeforehandError("is nested too deeply to be read", where=where) from err
    except ValueError as err:
        raise BeforehandError(f"is not the JSON that beforehand writes: {err}", where=where) from err


def read_json(path: Path, *, mend: str = "") -> object:
    """Parse the file strictly."""
    return parse_json(read_bytes(path, mend=mend), where=str(path))


def _refuse_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(key for key in keys if keys.count(key) > 1)!r} stands twice")
    return mapping


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a value")
