"""The five top-level names are generic on purpose; these tests show that they load from this repository."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NAMES = ("beforehand", "build_report", "report", "pipeline", "prereg", "ledger", "manifests")


@pytest.mark.parametrize("name", NAMES)
def test_each_top_level_name_loads_from_this_repository(name):
    module = importlib.import_module(name)
    assert Path(module.__file__).resolve().is_relative_to(ROOT)


def test_a_foreign_package_of_the_same_name_stops_the_command_with_a_clear_error(tmp_path):
    foreign = tmp_path / "prereg"
    foreign.mkdir()
    (foreign / "__init__.py").write_text("")
    command = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]; import beforehand; beforehand.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", command, "prereg", "--help"], capture_output=True, text=True, check=False
    )
    assert 2 == done.returncode
    assert "another distribution's package" in done.stderr
    assert "pipx" in done.stderr
