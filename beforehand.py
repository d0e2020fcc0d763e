"""The `beforehand` command: groups, each loaded only when called."""

from __future__ import annotations

import importlib
from typing import NoReturn

import click

from manifests.console import run
from manifests.errors import BeforehandError

__version__ = "0.1.0"

COMMANDS = {
    "new": ("prereg.cli", "new", "Start a study: a folder with a commented registration."),
    "compare": ("report.compare_cli", "compare_command", "Pair two log files; needs no study."),
    "prereg": ("prereg.cli", "prereg", "Check, freeze and verify the registration."),
    "run": ("pipeline.run_cli", "run", "Make rows: problems, generations, verdicts."),
    "units": ("pipeline.cli", "units", "Import, list, check, push and pull evaluation units."),
    "ledger": ("ledger.cli", "ledger", "Book money, set caps, see what is left."),
    "report": ("report.cli", "report", "Build and verify the report bundle."),
}


class LazyGroup(click.Group):
    """A group that knows its commands' names and one-line helps, and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of a study's life."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command, unless only its name is to be listed."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module_name, attribute, _ = COMMANDS[cmd_name]
        refuse_foreign(module_name.partition(".")[0])
        command = getattr(importlib.import_module(module_name), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{module_name}.{attribute} is not a command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, short_help) for name, (_, _, short_help) in COMMANDS.items()])


def refuse_foreign(name: str) -> None:
    """Stop when a top-level package of ours is another distribution's: the five names are generic."""
    import importlib.util  # noqa: PLC0415 - start-up time
    import os.path  # noqa: PLC0415

    spec = importlib.util.find_spec(name)
    ours = os.path.dirname(os.path.realpath(__file__))  # noqa: PTH120 - pathlib would slow the start
    found = spec.origin if spec is not None and spec.origin is not None else "nowhere"
    if os.path.dirname(os.path.dirname(os.path.realpath(found))) != ours:  # noqa: PTH120
        raise BeforehandError(
            f"`{name}` is another distribution's package",
            where=found,
            mend="install beforehand by itself: pipx install, uv tool install, or make",
        )


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 clean, 1 a check found something or verify failed, 2 wrong use or input, "
    "3 stalled, 4 a capability is missing, 70 a bug of ours. Every command takes --json.",
)
@click.version_option(__version__, "--version", prog_name="beforehand")
def cli() -> None:
    """Experiments with language models that can be believed: the plan frozen, the units pinned, the money booked, the report rebuilt."""


def main() -> NoReturn:
    """Run the command line."""
    run(cli, name="beforehand")


if __name__ == "__main__":
    main()
