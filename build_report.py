"""`python build_report.py STUDY [--offline] [--verify]`: the same code as `beforehand report build` and `verify`."""

from __future__ import annotations

from manifests.console import run
from report.cli import build_report

if __name__ == "__main__":
    run(build_report, name="build_report.py")
