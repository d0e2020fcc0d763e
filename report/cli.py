"""`beforehand report build|verify|lint|trace|impact`, and the first two behind `build_report.py`.

Heavy modules are imported by the command that needs them: a build of nothing new then needs none.
"""

from __future__ import annotations

from pathlib import Path

import click

from manifests.console import Outcome, reporting
from manifests.errors import BeforehandError, Finding
from report.unchanged import find_unchanged

STUDY = click.argument("study", type=click.Path(path_type=Path))
OFFLINE = click.option("--offline", is_flag=True, help="Open no socket. (A local store never does.)")
MISMATCH = click.option(
    "--allow-design-mismatch",
    "allow_unequal",
    is_flag=True,
    help="Compare sides that were not made alike. The bundle records it, and nothing is PRIMARY.",
)
FRESH = click.option(
    "--fresh", is_flag=True, help="Compute everything anew; take nothing from the last bundle."
)


class ReportGroup(click.Group):
    """The group, and `push`, whose module is loaded only when it is called or listed: it reads study.toml with pydantic."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names."""
        return [*super().list_commands(ctx), "push"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name == "push":
            from report.push_cli import push  # noqa: PLC0415 - start-up time

            return push
        return super().get_command(ctx, cmd_name)


@click.group(cls=ReportGroup, context_settings={"help_option_names": ["-h", "--help"]})
def report() -> None:
    """Build and verify the report bundle, and find where its numbers come from."""


@report.command("build")
@STUDY
@OFFLINE
@MISMATCH
@FRESH
@reporting
def build_command(study: Path, *, offline: bool, allow_unequal: bool, fresh: bool) -> Outcome:
    """Write STUDY/report: README, report.html, aggregate.json, provenance.json, figures, manifest, checksums."""
    return build_outcome(study, allow_unequal=allow_unequal, fresh=fresh, offline=offline)


@report.command("verify")
@click.argument("study", type=click.Path(path_type=Path), required=False)
@click.option(
    "--bundle",
    type=click.Path(path_type=Path),
    help="Check this bundle alone; STUDY then says where its rows lie.",
)
@OFFLINE
@reporting
def verify_command(study: Path | None, *, bundle: Path | None, offline: bool) -> Outcome:
    """Rebuild beside the bundle and say what drifted: registration, data, text, code, environment, bundle."""
    if bundle is not None:
        return bundle_outcome(bundle, study)
    if study is None:
        raise BeforehandError("takes a study, or --bundle PATH", where="report verify")
    return verify_outcome(study, offline=offline)


@report.command("lint")
@STUDY
@reporting
def lint_command(study: Path) -> Outcome:
    """Find references to unknown numbers, and numerals that look like results, in narrative.md."""
    from report.lint import lint  # noqa: PLC0415 - start-up time

    findings = lint(study)
    text = "narrative.md: nothing to mend" if not findings else f"narrative.md: {len(findings)} to mend"
    return Outcome(text=text, findings=findings)


@report.command("trace")
@STUDY
@click.argument("what")
@reporting
def trace_command(study: Path, what: str) -> Outcome:
    """Name method, rows, files, digests and label behind README.md:LINE or a pointer such as P1.gain."""
    from report.trace import trace  # noqa: PLC0415 - start-up time

    found = trace(study, what)
    return Outcome(
        text="\n".join(one.text for one in found), document={"traced": [one.document for one in found]}
    )


@report.command("impact")
@STUDY
@click.option("--unit", required=True, help="A unit id, system.benchmark.protocol.")
@click.option("--problem", help="One of its problems: also compute each number without it.")
@reporting
def impact_command(study: Path, *, unit: str, problem: str | None) -> Outcome:
    """Name the numbers and conclusions that depend on a unit, or on one problem of it."""
    from report.impact import impact  # noqa: PLC0415 - start-up time

    found = impact(study, unit, problem)
    lines = [f"{len(found.comparisons)} comparisons depend on {unit}:"]
    lines += [f"  {one.text}" for one in found.comparisons]
    lines += [f"its own numbers: {', '.join(found.pointers)}"]
    document: dict[str, object] = {
        "unit": unit,
        "problem": problem,
        "comparisons": [
            {
                "id": one.id,
                "role": one.role,
                "gain": one.gain,
                "conclusion": one.conclusion,
                "gain_without": one.gain_without,
                "conclusion_without": one.conclusion_without,
            }
            for one in found.comparisons
        ],
        "pointers": list(found.pointers),
    }
    return Outcome(text="\n".join(lines), document=document)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@STUDY
@OFFLINE
@click.option(
    "--verify", "only_verify", is_flag=True, help="Write nothing; rebuild and compare with the bundle."
)
@MISMATCH
@FRESH
@reporting
def build_report(
    study: Path, *, offline: bool, only_verify: bool, allow_unequal: bool, fresh: bool
) -> Outcome:
    """Rebuild the report of STUDY from its raw rows."""
    if only_verify:
        return verify_outcome(study, offline=offline)
    return build_outcome(study, allow_unequal=allow_unequal, fresh=fresh, offline=offline)


def build_outcome(
    study: Path, *, allow_unequal: bool = False, fresh: bool = False, offline: bool = True
) -> Outcome:
    """Build, write, and say where to look."""
    unchanged = None if fresh else find_unchanged(study, allow_unequal=allow_unequal)
    if unchanged is not None:
        return _built(study, unchanged.files, (), unchanged.findings)
    from report.build import build_and_write  # noqa: PLC0415 - start-up time
    from report.pulling import bring_units  # noqa: PLC0415 - start-up time

    bring_units(study, offline=offline)
    built, changed = build_and_write(study, allow_unequal=allow_unequal, fresh=fresh)
    return _built(study, tuple(sorted(built.files)), changed, built.findings)


def _built(
    study: Path, files: tuple[str, ...], changed: tuple[str, ...], findings: tuple[Finding, ...]
) -> Outcome:
    lines = [f"{study / 'report' / 'README.md'}: {len(files)} files, {len(changed)} changed"]
    lines += [f"  {name}" for name in changed]
    return Outcome(
        text="\n".join(lines),
        document={"report": "report", "files": list(files), "changed": list(changed)},
        findings=findings,
    )


def verify_outcome(study: Path, *, offline: bool = True) -> Outcome:
    """Compare and say what drifted."""
    from report.drift import describe, find_drift  # noqa: PLC0415 - start-up time
    from report.pulling import bring_units  # noqa: PLC0415 - start-up time

    bring_units(study, offline=offline)
    drift = find_drift(study)
    return Outcome(
        text=describe(drift.drifted), document={"drifted": list(drift.drifted)}, findings=drift.findings
    )


def bundle_outcome(bundle: Path, study: Path | None) -> Outcome:
    """Check a bundle by itself."""
    from report.bundle_check import check_bundle  # noqa: PLC0415 - start-up time

    check = check_bundle(bundle, study=study)
    lines = [f"checked: {one}" for one in check.checked] + [f"not checked: {one}" for one in check.unchecked]
    return Outcome(
        text="\n".join(lines),
        document={"checked": list(check.checked), "not_checked": list(check.unchecked)},
        findings=check.findings,
    )
