"""One heavy job a machine: a lock that its holder names, that its children hold too, and that dies with the last of them."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from manifests.console import note
from manifests.errors import BeforehandError

PATH_VARIABLE = "BEFOREHAND_HEAVY_LOCK"
"""Environment variable with another place for the lock, where one machine has several accelerators to share out."""
DESCRIPTOR_VARIABLE = "BEFOREHAND_HEAVY_LOCK_FD"
"""Set for children: the number of the file descriptor under which they inherited the lock."""
POLL_S = 0.5
MEND = "wait for it, or give --wait; if that process hangs, stop it by its number: the lock is free as soon as it is gone"


def lock_path() -> Path:
    """The machine's lock file. It stays behind when the lock is free; the kernel knows whether it is held."""
    given = os.environ.get(PATH_VARIABLE)
    return Path(given) if given else Path(tempfile.gettempdir()) / "beforehand-heavy.lock"


@contextmanager
def heavy_lock(purpose: str, *, wait_s: float, say: Callable[[str], None] = note) -> Iterator[int]:
    """The lock is held while the block runs; gives the descriptor to hand to children. Inherited, it is held already.

    The lock is the kernel's (flock): it is free once the holder and all children that inherited it have ended, killed or
    not, so a file that names a process that is gone is stale and taken over, which is said. It holds on one machine.
    Raises BeforehandError that names the holder, when it is not free after wait_s.
    """
    inherited = os.environ.get(DESCRIPTOR_VARIABLE)
    if inherited is not None and _is_lock(int(inherited)):
        yield int(inherited)
        return
    path = lock_path()
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as err:
        raise BeforehandError(
            f"cannot be opened: {err.strerror}", where=str(path), mend=f"set {PATH_VARIABLE}"
        ) from err
    try:
        _acquire(descriptor, path, wait_s=wait_s, say=say)
        if stale := _holder(descriptor):
            say(f"{path}: the lock of {stale}, which has ended without releasing it, is taken over")
        _write(
            descriptor,
            {"pid": os.getpid(), "host": socket.gethostname(), "purpose": purpose, "since": time.time()},
        )
        try:
            yield descriptor
        finally:
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _is_lock(descriptor: int) -> bool:
    """True where the descriptor is open on the lock file: a number left over in an environment proves nothing."""
    try:
        here, there = os.fstat(descriptor), lock_path().stat()
    except OSError:
        return False
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def _acquire(descriptor: int, path: Path, *, wait_s: float, say: Callable[[str], None]) -> None:
    until = time.monotonic() + wait_s
    said = False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as err:
            holder = _holder(descriptor) or "another process"
            if time.monotonic() >= until:
                raise BeforehandError(
                    f"the machine's heavy-job lock is held by {holder}", where=str(path), mend=MEND
                ) from err
            if not said:
                say(f"waiting for the heavy-job lock, held by {holder}")
                said = True
            time.sleep(min(POLL_S, max(0.0, until - time.monotonic())))
        else:
            return


def _holder(descriptor: int) -> str:
    """Who wrote the file, in words; empty where nobody did."""
    try:
        value = json.loads(os.pread(descriptor, 4096, 0) or b"null")
        return (
            f"process {value['pid']} on {value['host']} ({value['purpose']}, since {_moment(value['since'])})"
            if value
            else ""
        )
    except (ValueError, KeyError, TypeError):
        return "a process that wrote no name"


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _write(descriptor: int, value: dict[str, object]) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(value).encode(), 0)
