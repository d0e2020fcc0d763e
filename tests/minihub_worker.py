"""A process with the real client in it. It carries out one command line a line of stdin, each in a fork of its own.

The client reads its environment when it is imported, so tests cannot point it at a loopback Hub from inside pytest;
and importing it for every command would take longer than the command.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import ClassVar

import click

from manifests.console import Outcome, reporting
from manifests.console import run as run_command
from manifests.study import Study
from pipeline.hub_cli import TOKENIZERS, check_against_hub

OFFLINE_EVENTS = ("socket.connect", "socket.getaddrinfo", "socket.bind", "socket.sendto", "socket.__new__")


def run(order: dict) -> None:
    """In the fork: stdout and stderr into files, then the command to its exit."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        descriptor = os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, number)
    os.chdir(order["cwd"])
    os.environ.pop("HF_TOKEN", None)
    os.environ.update(order["environment"])
    from huggingface_hub import constants

    constants.HF_HUB_CACHE = order["cache"]
    if order["obeys_permissions"]:
        obey_permissions()
    if order["no_sockets"]:
        sys.addaudithook(refuse_sockets)
    run_command(Commands(), order["arguments"], name="beforehand")


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@TOKENIZERS
@reporting
def check_pins(study: Path, tokenizers: tuple[tuple[str, str], ...]) -> Outcome:
    """`units check --pins`, by itself."""
    return check_against_hub(Study.open(study), tokenizers)


class Commands(click.Group):
    """The commands that meet the Hub, under one roof, each imported when it is called."""

    FOUND: ClassVar = {
        "push": "pipeline.hub_cli:push",
        "pull": "pipeline.hub_cli:pull",
        "build": "report.cli:build_report",
        "check-pins": "minihub_worker:check_pins",
        "report-push": "report.push_cli:push",
    }

    def get_command(self, _context: click.Context, name: str) -> click.Command:
        module, _, attribute = self.FOUND[name].partition(":")
        return getattr(importlib.import_module(module), attribute)


def obey_permissions() -> None:
    """Root gives up the right to write where the permission bits say no (the capabilities 1 to 3 of Linux)."""
    if os.getuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; twice 32 bits each
    if libc.capget(header, sets) == 0:
        sets[0] &= ~0b1110
        if libc.capset(header, sets) == 0:
            return
    raise OSError(ctypes.get_errno(), "cannot give up capabilities")


def refuse_sockets(event: str, _arguments: object) -> None:
    if event in OFFLINE_EVENTS:
        raise AssertionError(f"{event} in an offline command")


def main() -> None:
    """Serve until stdin ends: a line of orders is carried out at once; it is answered by the pids, then by exit codes and seconds."""
    for module in ("manifests.hub.refresh", "manifests.hub.push", "pipeline.hub_pins", "report.build"):
        importlib.import_module(module)  # before the forks, which then share it

    for line in sys.stdin:
        start = time.perf_counter()
        children = [fork(order) for order in json.loads(line)]
        print(json.dumps(children), flush=True)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        print(json.dumps([codes, time.perf_counter() - start]), flush=True)


def fork(order: dict) -> int:
    """The process id of a child that carries out the order."""
    child = os.fork()
    if child:
        return child
    try:
        run(order)
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 1)
    except BaseException:  # noqa: BLE001 - shown, and told by the exit code
        traceback.print_exc()
    os._exit(99)


if __name__ == "__main__":
    main()
