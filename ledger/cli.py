"""`beforehand ledger`: the commands, one module for those that write rows, one for those that only read."""

from __future__ import annotations

import click

from ledger import reading_cli, writing_cli


@click.group()
def ledger() -> None:
    """Book money, set caps, see what is left."""


for command in (writing_cli.cap, writing_cli.book, reading_cli.balance, reading_cli.verify):
    ledger.add_command(command)
