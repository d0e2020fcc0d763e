"""Installing the guard as git hooks."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from manifests.errors import BeforehandError
from manifests.files import write_atomically
from prereg.git import GitError, Repository

HOOKS = ("pre-commit", "pre-merge-commit")
SIGN = "# installed by: beforehand prereg hook install"


def command() -> str:
    """The line that runs the guard with the Python that is running now.

    -P: a folder of the repository that is called `prereg` or `manifests` must not be taken for ours.
    """
    return f"{shlex.quote(sys.executable)} -P -m prereg.guard"


def install(folder: Path) -> tuple[Path, ...]:
    """The hooks of the repository around `folder` run the guard. A hook of somebody else's is left alone, with an error."""
    try:
        repository = Repository.of(folder)
        hooks = repository.hooks_folder()
    except GitError as err:
        raise BeforehandError(str(err), where=str(folder), mend="run it inside a git repository") from err
    paths = tuple(hooks / name for name in HOOKS)
    for path in paths:
        if path.exists() and SIGN not in path.read_text(encoding="utf-8", errors="replace"):
            mend = f"add this line to it: {command()} || exit 1"
            raise BeforehandError("is another hook already", where=str(path), mend=mend)
    for path in paths:
        write_atomically(path, f"#!/bin/sh\n{SIGN}\nexec {command()}\n".encode())
        path.chmod(0o755)
    return paths
