"""`run all`: one stage after the other in a process of its own, watched, logged, stopped when it stands still."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue

from manifests.console import note
from manifests.errors import BeforehandError, NotInOrderError
from manifests.names import UnitId
from pipeline.heavy_lock import DESCRIPTOR_VARIABLE, heavy_lock
from pipeline.journal import Journal
from pipeline.run_settings import read_run_settings
from pipeline.stages import Stage, Standing, output_of, runnable_units, standing
from pipeline.unit_work import RUNS, UnitFolder, open_frozen

EXIT_STALLED = 3
POLL_S = 0.2
GRACE_S = 20.0
"""A stage that is asked to stop has so long to close its files before it is killed."""
ROOT = Path(__file__).resolve().parents[1]


class StalledError(BeforehandError):
    """A stage whose files did not grow: exit code 3."""

    exit_code = EXIT_STALLED


class StageFailedError(BeforehandError):
    """A stage that ended otherwise than clean; the supervisor ends with the stage's own code."""

    def __init__(self, what: str, *, where: str, mend: str, exit_code: int) -> None:
        super().__init__(what, where=where, mend=mend)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One stage of one unit, and the command that runs it."""

    unit: UnitId
    stage: Stage
    command: tuple[str, ...]


def plan_steps(root: Path, units: Sequence[UnitId], *, wait_s: float) -> tuple[Step, ...]:
    """What is left to run, in order. Refuses without a valid freeze."""
    _, design, _ = open_frozen(root)
    chosen = tuple(units) or runnable_units(design)
    standings = [standing(root, unit) for unit in chosen]
    return tuple(
        Step(unit=one.unit, stage=stage, command=_command(root, one, stage, wait_s=wait_s))
        for one in standings
        for stage in one.left
    )


def _command(root: Path, one: Standing, stage: Stage, *, wait_s: float) -> tuple[str, ...]:
    wait = () if stage == "rows" else ("--wait", f"{wait_s:g}")
    return (sys.executable, "-m", "pipeline.run_cli", stage, str(root), "--unit", str(one.unit), *wait)


class Supervisor:
    """Runs the steps of one study under the machine's heavy-job lock."""

    def __init__(self, root: Path, *, wait_s: float, say: Callable[[str], None] = note) -> None:
        self._root = root
        self._wait_s = wait_s
        self._say = say
        self._settings = read_run_settings(root)

    def run(self, units: Sequence[UnitId]) -> tuple[Step, ...]:
        """Every step has run; returned are those that were needed.

        Raises StalledError, StageFailedError, and whatever the freeze has against running. The log is `runs/supervisor.jsonl`.
        """
        if not plan_steps(self._root, units, wait_s=self._wait_s):
            return ()
        with heavy_lock(
            f"run all {self._root.resolve().name}", wait_s=self._wait_s, say=self._say
        ) as descriptor:
            log = Journal(self._root / RUNS / "supervisor.jsonl")
            try:
                steps = plan_steps(
                    self._root, units, wait_s=self._wait_s
                )  # what another supervisor did meanwhile is done
                self._log(
                    log, "started", pid=os.getpid(), steps=[f"{step.unit} {step.stage}" for step in steps]
                )
                for step in steps:
                    self._run_step(step, log, descriptor)
                self._log(log, "finished")
            except (SystemExit, KeyboardInterrupt):
                self._log(log, "stopped by a signal")
                raise
            finally:
                log.close()
        return steps

    def _run_step(self, step: Step, log: Journal, descriptor: int) -> None:
        self._say(f"{step.unit}: {step.stage}")
        started = time.monotonic()
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            step.command,
            pass_fds=(descriptor,),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            env=_environment(descriptor),
        )
        self._log(log, "stage started", unit=str(step.unit), stage=step.stage, pid=process.pid)
        stalled = True
        try:
            stalled = not self._watch(
                process, output_of(UnitFolder(path=self._root / RUNS / str(step.unit)), step.stage)
            )
        finally:
            _stop(process)
            took = round(time.monotonic() - started, 3)
            self._log(
                log,
                "stage ended",
                unit=str(step.unit),
                stage=step.stage,
                code=process.returncode,
                seconds=took,
                stalled=stalled,
            )
        if stalled:
            raise StalledError(
                f"the stage {step.stage} wrote nothing for {self._settings.stall_s:g} s and was stopped",
                where=str(step.unit),
                mend="what it finished is kept: look at the machine, then run the same command again",
            )
        self._check_code(step, process.returncode)

    def _check_code(self, step: Step, code: int) -> None:
        if code > 0:
            mend = "its own words stand above; run the same command again once that is mended"
            raise StageFailedError(
                f"the stage {step.stage} ended with {code}", where=str(step.unit), mend=mend, exit_code=code
            )
        if code < 0:
            raise NotInOrderError(
                f"the stage {step.stage} was killed by {signal.Signals(-code).name}",
                where=str(step.unit),
                mend="SIGKILL without anybody's doing is often the memory's end; what was finished is kept: run again",
            )

    def _watch(self, process: subprocess.Popen[bytes], output: Path) -> bool:
        """False when the stage stood still for too long."""
        size, grown = _size(output), time.monotonic()
        while process.poll() is None:
            time.sleep(POLL_S)
            if _size(output) != size:
                size, grown = _size(output), time.monotonic()
            elif time.monotonic() - grown > self._settings.stall_s:
                return False
        return True

    def _log(self, log: Journal, event: str, **facts: JsonValue) -> None:
        moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        record: Mapping[str, JsonValue] = {"time_utc": moment, "event": event, **facts}
        log.append([record])


def _environment(descriptor: int) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, DESCRIPTOR_VARIABLE: str(descriptor)}


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else -1


def _stop(process: subprocess.Popen[bytes]) -> None:
    """The stage and all its children are gone: asked first, so that it can settle its time, then killed."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
