"""Origin: the digests of what a bundle comes from besides its inputs: the code, the environment, the files that were there."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

from manifests.digests import sha256_file, sha256_tree

PACKAGES = ("report", "prereg", "ledger", "manifests")
"""What can move a number or a word of a bundle."""

LIBRARIES = ("jinja2", "matplotlib", "numpy", "pillow", "pyarrow", "pydantic", "scipy")
LISTED = ("manifests", "units")
"""Folders in which a further file changes a report."""


def code_sha256() -> str:
    """One digest over the code that builds bundles, the same wherever it is installed."""
    root = Path(__file__).resolve().parent.parent
    files = {
        path.relative_to(root).as_posix(): sha256_file(path)
        for package in PACKAGES
        for path in sorted((root / package).rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    }
    return sha256_tree(files)


def environment() -> dict[str, str]:
    """Versions that a figure's pixels may depend on; a patch release of Python moves nothing."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **{library: version(library) for library in LIBRARIES}}


def listed(root: Path) -> tuple[str, ...]:
    """Every file that a build finds by listing a folder, by POSIX path."""
    return tuple(
        sorted(
            path.relative_to(root).as_posix()
            for folder in LISTED
            for path in (root / folder).rglob("*")
            if path.is_file()
        )
    )
