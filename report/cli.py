"""`beforehand report build|verify`, and the same two behind `build_report.py`."""

from __future__ import annotations

from pathlib import Path

import click

from manifests.console import Outcome, reporting
from report.build import build_and_write
from report.drift import describe, find_drift

STUDY = click.argument("study", type=click.Path(path_type=Path))
OFFLINE = click.option(
    "--offline", is_flag=True, help="Open no socket. (A local store never does; a Hub store will obey this.)"
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def report() -> None:
    """Build and verify the report bundle."""


@report.command("build")
@STUDY
@OFFLINE
@reporting
def build_command(study: Path, *, offline: bool) -> Outcome:
    """Write STUDY/report: README, summary, aggregate.json, figures, manifest, checksums."""
    del offline
    return build_outcome(study)


@report.command("verify")
@STUDY
@OFFLINE
@reporting
def verify_command(study: Path, *, offline: bool) -> Outcome:
    """Rebuild beside the bundle and say what drifted: registration, data, text, code, environment, bundle."""
    del offline
    return verify_outcome(study)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@STUDY
@OFFLINE
@click.option(
    "--verify", "only_verify", is_flag=True, help="Write nothing; rebuild and compare with the bundle."
)
@reporting
def build_report(study: Path, *, offline: bool, only_verify: bool) -> Outcome:
    """Rebuild the report of STUDY from its raw rows."""
    del offline
    return verify_outcome(study) if only_verify else build_outcome(study)


def build_outcome(study: Path) -> Outcome:
    """Build, write, and say where to look."""
    built, changed = build_and_write(study)
    folder = study / "report"
    lines = [f"{folder / 'README.md'}: {len(built.files)} files, {len(changed)} changed"]
    lines += [f"  {name}" for name in changed]
    return Outcome(
        text="\n".join(lines),
        document={"report": "report", "files": sorted(built.files), "changed": list(changed)},
        findings=built.findings,
    )


def verify_outcome(study: Path) -> Outcome:
    """Compare and say what drifted."""
    drift = find_drift(study)
    return Outcome(
        text=describe(drift.drifted), document={"drifted": list(drift.drifted)}, findings=drift.findings
    )
