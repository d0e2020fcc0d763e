"""`beforehand report push`."""

from __future__ import annotations

from pathlib import Path

import click

from manifests.console import Outcome, reporting
from manifests.study import Study


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@reporting
def push(study: Path) -> Outcome:
    """Commit the bundle to the study's Hub repository, beside the units, with a dataset card."""
    from report.push import push_report  # noqa: PLC0415 - loading the client takes longer than most commands

    opened = Study.open(study)
    landed = push_report(opened)
    state = "pushed" if landed.new else "was there already"
    return Outcome(
        text=f"{opened.require_hub_repo()}@{landed.sha}: the report of {opened.config.name} {state}",
        document={"repo": opened.require_hub_repo(), "commit": landed.sha, "new": landed.new},
    )
