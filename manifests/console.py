"""What a command prints and exits with: one outcome, one rendering, the same exit codes everywhere."""

from __future__ import annotations

import functools
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import click

from manifests.errors import EXIT_CLEAN, EXIT_FINDINGS, EXIT_OUR_BUG, BeforehandError, Finding, FindingsError
from manifests.text import printable


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a command has to say: `text` for people, `document` for `--json`, both of the same facts."""

    text: str
    document: Mapping[str, object] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    exit_code: int | None = None

    @property
    def code(self) -> int:
        """The given exit code, else 1 with findings and 0 without."""
        if self.exit_code is not None:
            return self.exit_code
        return EXIT_FINDINGS if self.findings else EXIT_CLEAN


def reporting(function: Callable[..., Outcome]) -> Callable[..., NoReturn]:
    """The command takes `--json`, prints its outcome and exits with its code."""

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
    @functools.wraps(function)
    def command(*args: Any, as_json: bool, **kwargs: Any) -> NoReturn:  # noqa: ANN401 - click's own arguments
        outcome = function(*args, **kwargs)
        if as_json:
            findings = {"findings": [_finding_document(finding) for finding in outcome.findings]}
            _print_json({**outcome.document, **findings})
        else:
            click.echo(printable_lines(outcome.text))
            for finding in outcome.findings:
                click.echo(printable_lines(str(finding)))
        raise SystemExit(outcome.code)

    return command


def run(command: click.Command, arguments: Sequence[str] | None = None, *, name: str) -> NoReturn:
    """Run a click command to its exit; every failure ends with a sentence and the contract's exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in given
    signal.signal(signal.SIGTERM, _terminated)
    try:
        result = command.main(args=given, prog_name=name, standalone_mode=False)
    except click.ClickException as err:
        _fail(err.format_message(), as_json=as_json, code=err.exit_code, usage=_usage(err))
    except (KeyboardInterrupt, click.Abort):
        raise SystemExit(130) from None
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone; nothing is left to tell
        raise SystemExit(141) from None
    except BeforehandError as err:
        _fail_with(err, as_json=as_json)
    except Exception:  # noqa: BLE001 - the last line of defence: a bug of ours, said as such
        import traceback  # noqa: PLC0415 - start-up time

        trace = traceback.format_exc()
        _fail(
            "this is a bug in beforehand, please report it with the traceback",
            as_json=as_json,
            code=EXIT_OUR_BUG,
            usage=trace,
        )
    raise SystemExit(result if isinstance(result, int) else EXIT_CLEAN)


def printable_lines(text: str) -> str:
    """Text of many lines with foreign control characters made visible; line feeds stay."""
    return "\n".join(printable(line) for line in text.split("\n"))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, numeric: Sequence[str] = ()) -> str:
    """A plain table as text. numeric: the columns set right-aligned."""
    import io  # noqa: PLC0415 - only commands that print a table pay for it

    from rich.console import Console  # noqa: PLC0415 - only commands that print a table pay for it
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        drawn.add_column(column, justify="right" if column in numeric else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(printable(cell)) for cell in row))
    stream = io.StringIO()
    terminal = sys.stdout.isatty()
    console = Console(file=stream, width=None if terminal else 200, force_terminal=False, highlight=False)
    console.print(drawn)
    return "\n".join(line.rstrip() for line in stream.getvalue().rstrip("\n").split("\n"))


def note(message: str) -> None:
    """Say something on stderr: progress, a warning, a guess that was made."""
    click.echo(printable_lines(message), err=True)


def _print_json(document: Mapping[str, object]) -> None:
    import json  # noqa: PLC0415 - start-up time

    click.echo(json.dumps(document, indent=1, sort_keys=True, ensure_ascii=True, allow_nan=False))


def _finding_document(finding: Finding) -> dict[str, str]:
    return {"where": finding.where, "what": finding.what, "mend": finding.mend}


def _fail_with(err: BeforehandError, *, as_json: bool) -> NoReturn:
    if as_json:
        findings = err.findings if isinstance(err, FindingsError) else ()
        error = {"where": err.where, "what": err.what, "mend": err.mend}
        _print_json({"error": error, "findings": [_finding_document(finding) for finding in findings]})
    else:
        click.echo(printable_lines(f"error: {err}"), err=True)
    raise SystemExit(err.exit_code)


def _fail(message: str, *, as_json: bool, code: int, usage: str) -> NoReturn:
    if as_json:
        _print_json({"error": {"where": "", "what": message, "mend": ""}, "findings": []})
    if usage:
        click.echo(usage, err=True)
    if not as_json:
        click.echo(printable_lines(f"error: {message}"), err=True)
    raise SystemExit(code)


def _usage(err: click.ClickException) -> str:
    context = getattr(err, "ctx", None)
    return (
        f"{context.get_usage()}\nTry '{context.command_path} --help'."
        if isinstance(context, click.Context)
        else ""
    )


def _terminated(_number: int, _frame: object) -> NoReturn:
    raise SystemExit(143)
