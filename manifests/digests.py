"""SHA-256 of bytes, files, documents and trees. Standard library only."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from manifests.canonical import canonical_json
from manifests.errors import BeforehandError

SHA256_PATTERN = r"^[0-9a-f]{64}$"


def is_sha256(text: str) -> bool:
    """True for 64 lower-case hex digits, nothing else."""
    return re.fullmatch(SHA256_PATTERN[1:-1], text) is not None


def sha256_bytes(data: bytes) -> str:
    """Hex digest of `data`."""
    return hashlib.sha256(data).hexdigest()


def sha256_document(value: object) -> str:
    """Hex digest over the RFC 8785 form: the same however the file is laid out."""
    return sha256_bytes(canonical_json(value))


def sha256_file(path: Path) -> str:
    """Hex digest of a file's bytes, read in pieces."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as err:
        raise BeforehandError(f"cannot be read: {err.strerror}", where=str(path)) from err


def sha256_tree(files: dict[str, str]) -> str:
    """Digest of a set of files: over the sorted lines `sha256  path`, so that it can be redone by hand.

    files: POSIX path relative to the tree's root -> sha256 of the file.
    """
    return sha256_bytes("".join(f"{files[path]}  {path}\n" for path in sorted(files)).encode())
