"""Apply each mutant of mutants.toml to a copy of the repository and see that a test kills it.

    python tests/mutants.py [--only ID] [--jobs 2]

A mutant removes one guard. It is killed when the tests named beside it fail; a mutant that survives, or whose text is
not found exactly once, fails the run. The tests are first run on an unchanged copy: they must pass there.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = Path(__file__).with_name("mutants.toml")
TESTS_FAILED = 1
TIMEOUT_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One guard removed: in `file`, `find` (found exactly once) becomes `replace`; `tests` are pytest arguments."""

    id: str
    guard: str
    file: str
    find: str
    replace: str
    tests: tuple[str, ...]


def load() -> tuple[Mutant, ...]:
    """The list, in the order of the file; ids are unique."""
    entries = tomllib.loads(LIST.read_text(encoding="utf-8"))["mutant"]
    mutants = tuple(Mutant(**{**entry, "tests": tuple(entry["tests"])}) for entry in entries)
    if len({mutant.id for mutant in mutants}) != len(mutants):
        raise SystemExit("two mutants share an id")
    return mutants


def copy_of_the_repository(folder: Path) -> Path:
    """The files that git knows or would add, as they are now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def passes(folder: Path, tests: tuple[str, ...]) -> bool:
    """True when the tests pass in `folder`; anything but passed or failed is an error of the list."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests],
        cwd=folder, check=False, capture_output=True, text=True, timeout=TIMEOUT_S,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / ".hypothesis")},
    )  # fmt: skip
    if done.returncode not in {0, TESTS_FAILED}:
        raise SystemExit(
            f"pytest could not run {' '.join(tests)}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return done.returncode == 0


def verdict(mutant: Mutant) -> str:
    """`killed`, or what is wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = copy_of_the_repository(Path(name))
        path = folder / mutant.file
        text = path.read_text(encoding="utf-8")
        if text.count(mutant.find) != 1:
            return f"STALE: its text stands {text.count(mutant.find)} times in {mutant.file}"
        path.write_text(text.replace(mutant.find, mutant.replace), encoding="utf-8")
        return "SURVIVED" if passes(folder, mutant.tests) else "killed"


def main() -> int:
    """Run all; 1 when one survives or is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="the mutant with this id, or all whose id begins so")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    mutants = [mutant for mutant in load() if not arguments.only or mutant.id.startswith(arguments.only)]
    every_test = tuple(sorted({test for mutant in mutants for test in mutant.tests}))
    with tempfile.TemporaryDirectory() as name:
        if not passes(copy_of_the_repository(Path(name)), every_test):
            print("the tests fail on an unchanged copy", file=sys.stderr)
            return 1
    with ThreadPoolExecutor(arguments.jobs) as pool:
        verdicts = list(pool.map(verdict, mutants))
    for mutant, said in zip(mutants, verdicts, strict=True):
        print(f"{mutant.id:24} {said:10} {mutant.guard}")
    alive = sum(said != "killed" for said in verdicts)
    print(f"{len(mutants) - alive} of {len(mutants)} killed")
    return 1 if alive else 0


if __name__ == "__main__":
    raise SystemExit(main())
