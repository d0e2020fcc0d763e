"""The Hub client's cache on disk: where a file of a commit lies, and whether its bytes are what they must be.

The client takes a body of the right size as the right body. The name of a blob in the cache is its digest (git's for
small files, SHA-256 for large ones), so a damaged one can be found offline, and it is, before any use.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

from huggingface_hub import constants

from manifests.digests import is_sha256
from manifests.errors import BeforehandError
from manifests.files import inside
from manifests.hub.layout import Place

RepoKind = Literal["dataset", "model"]
PIECE_BYTES = 1 << 24
"""Large, because threads that download hold the interpreter, and each piece waits for it twice."""


def cache_root() -> Path:
    """The folder of the client's cache, as HF_HUB_CACHE or HF_HOME place it."""
    return Path(constants.HF_HUB_CACHE)


def cached_path(place: Place, path: str, *, kind: RepoKind = "dataset") -> Path:
    """Where the file of this commit lies, or would lie. A path that leaves the cache is refused."""
    # As the client names it; its own function would load the whole client.
    folder = f"{kind}s--{place.repo.replace('/', '--')}"
    # Inside the cache, not inside the repository's folder: blobs may be shared between repositories.
    return inside(cache_root(), f"{folder}/snapshots/{place.revision}/{path}", where=str(place))


def git_blob_id(data: bytes) -> str:
    """Git's name of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()  # noqa: S324 - git's own digest, not a safeguard


def damage(path: Path, *, size: int, sha256: str) -> str | None:
    """What is wrong with a cached file; None when size, SHA-256 and the name of its blob all hold."""
    try:
        found = path.stat().st_size
    except OSError:
        return "is not in the cache"
    if found != size:
        return f"has {found} bytes, the record says {size}"
    # One link deep: a blob fetched by xet is itself a link, to a shared file under another kind of name.
    blob = path.readlink().name if path.is_symlink() else sha256
    content, name = _digests(path, size, with_blob_id=not is_sha256(blob))
    if content != sha256:
        return f"has sha256 {content}, the record says {sha256}"
    if name is None:
        name = content
    return None if blob == name else f"lies in the cache as {blob}, its content has the id {name}"


def discard(path: Path) -> None:
    """The cache holds neither the entry nor its bytes, so that the client fetches them again."""
    try:
        links = [path]
        while links[-1].is_symlink():
            links.append(links[-1].parent / links[-1].readlink())
        for link in links:
            link.unlink(missing_ok=True)
    except OSError as err:
        raise BeforehandError(
            f"is damaged and cannot be removed: {err.strerror}",
            where=str(path),
            mend="make the cache writable, or point HF_HOME to another folder",
        ) from err


def _digests(path: Path, size: int, *, with_blob_id: bool) -> tuple[str, str | None]:
    """SHA-256 and, if wanted, git's blob id."""
    content = hashlib.sha256()
    blob = hashlib.sha1(b"blob %d\0" % size)  # noqa: S324 - git's own digest
    piece = memoryview(bytearray(min(size, PIECE_BYTES) or 1))
    with path.open("rb", buffering=0) as stream:
        while n := stream.readinto(piece):
            content.update(piece[:n])
            if with_blob_id:
                blob.update(piece[:n])
    return content.hexdigest(), blob.hexdigest() if with_blob_id else None
