"""One writer at a time: an advisory lock beside a file that is only appended to, such as the ledger."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from manifests.errors import BeforehandError

WAIT_S = 60.0
POLL_S = 0.002


def lock_path(guarded: Path) -> Path:
    """The lock file; it holds nothing, stays behind, and does not belong under version control."""
    return guarded.with_name(f".{guarded.name}.lock")


@contextmanager
def locked(guarded: Path, *, wait_s: float = WAIT_S) -> Iterator[None]:
    """No other process that locks appends while the block runs. The lock of a killed process is free at once.

    A file system without locks (some NFS mounts) is refused: a lock that only looks like one would let two
    machines write the same row. The lock does not hold across machines that mount the folder without lock support.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 - 60 ms of imports that only an append needs

    path = lock_path(guarded)
    lock = FileLock(path)
    try:
        with warnings.catch_warnings():
            # Newer versions fall back, with a warning, to a lock that the kernel does not keep.
            warnings.simplefilter("error")
            lock.acquire(timeout=wait_s, poll_interval=POLL_S)
    except Timeout as err:
        raise BeforehandError(
            f"has been locked by another process for {wait_s:g} s",
            where=str(guarded),
            mend="wait for the other command to end, then run this one again; nothing was written",
        ) from err
    except (OSError, NotImplementedError, UserWarning) as err:
        reason = getattr(err, "strerror", None) or str(err) or type(err).__name__
        raise BeforehandError(
            f"cannot be locked: {reason}",
            where=str(path),
            mend="the folder must be writable and on a file system with locks (a local disk, or NFS with a lock service); "
            "nothing was written",
        ) from err
    try:
        yield
    finally:
        lock.release()
