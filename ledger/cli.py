"""`beforehand ledger`: the commands, in the order of a launch."""

from __future__ import annotations

import click

from ledger import booking_cli, jobs_cli, plan_cli, reading_cli, totals_cli, writing_cli


@click.group()
def ledger() -> None:
    """Book money, set caps, see what is left."""


for command in (
    plan_cli.estimate,
    writing_cli.cap,
    reading_cli.gate,
    writing_cli.reserve,
    booking_cli.settle,
    booking_cli.book,
    writing_cli.release,
    writing_cli.correct,
    writing_cli.import_unit,
    reading_cli.balance,
    reading_cli.verify,
    totals_cli.totals_command,
    jobs_cli.reconcile_command,
    reading_cli.show,
    reading_cli.export,
):
    ledger.add_command(command)
