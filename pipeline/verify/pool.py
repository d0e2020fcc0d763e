"""A pool of workers without barriers: each takes the next submission as soon as it is free.

A worker that passes the time limit is killed with its children, one that dies is replaced. What failed for a reason that is
not the model's is judged once more in a fresh process, and is infrastructure if it fails again.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import JsonValue

from manifests.errors import BeforehandError, CapabilityMissingError
from pipeline.verify.contract import Judgement, Submission

ROOT = Path(__file__).resolve().parents[2]
OPENING_S = 180.0
"""A worker that has not opened its verifier by then has failed."""
ANSWER_BYTES = 16 * 2**20
"""A worker that says more about one submission is broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """module: of the verifier; config: handed to it; budget_s: for one submission."""

    module: str
    config: Mapping[str, JsonValue]
    workers: int
    budget_s: float
    memory_mb: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One submission. number: its place in the order of work, counted from 0."""

    number: int
    submission: Submission
    tries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One verdict, with the seconds that the last try took and how often it was tried."""

    job: Job
    judgement: Judgement
    seconds: float
    tries: int


@dataclass(slots=True)
class _Worker:
    process: subprocess.Popen[bytes]
    pins: Mapping[str, str] | None = None  # None until its verifier is open
    job: Job | None = None
    n_judged: int = 0
    since: float = 0.0
    unread: bytearray = field(default_factory=bytearray)


class Pool:
    """Workers of one verifier, started by `with` and gone after it."""

    def __init__(self, settings: PoolSettings) -> None:
        self._settings = settings
        self._selector = selectors.DefaultSelector()
        self._workers: list[_Worker] = []
        self.restarts = 0
        """Workers that died or were killed, and were replaced."""
        self.pins: Mapping[str, str] = {}
        """The verifier's own versions, known once the pool is entered."""

    def __enter__(self) -> Self:
        """The first worker has opened its verifier; the others are on their way. Raises CapabilityMissingError where it cannot."""
        try:
            for _ in range(self._settings.workers):
                self._start()
            while not self.pins:
                self._take(self._wait())
        except BaseException:
            self._stop_all()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """No worker is left, however the block ended."""
        self._stop_all()

    def judge(self, submissions: Sequence[Submission]) -> Iterator[Judged]:
        """Every submission once, in the order in which verdicts arrive."""
        waiting = deque(Job(number=number, submission=one) for number, one in enumerate(submissions))
        again: deque[Job] = deque()
        open_jobs = len(waiting)
        while open_jobs:
            for worker in list(self._workers):
                if worker.pins is not None and worker.job is None:
                    self._give_work(worker, waiting, again)
            for judged in self._take(self._wait()):
                if judged.judgement.status == "infrastructure" and judged.tries < 2:
                    again.append(replace(judged.job, tries=judged.tries))
                    continue
                open_jobs -= 1
                yield judged

    def _give_work(self, worker: _Worker, waiting: deque[Job], again: deque[Job]) -> None:
        """A second try goes to a process that has judged nothing: nothing of the first try may be left in it."""
        if again and not worker.n_judged:
            self._hand(worker, again.popleft())
        elif waiting:
            self._hand(worker, waiting.popleft())
        elif again:
            self._replace(worker)

    def _hand(self, worker: _Worker, job: Job) -> None:
        one = job.submission
        line = json.dumps({"text": one.text, "truncated": one.truncated, "problem": dict(one.problem)}) + "\n"
        worker.job, worker.since = job, time.monotonic()
        if worker.process.stdin is None:
            raise RuntimeError("a worker without stdin")
        with suppress(OSError):  # a worker that has just died is found when its answer is waited for
            worker.process.stdin.write(line.encode())
            worker.process.stdin.flush()

    def _wait(self) -> list[_Worker]:
        """The workers that have said something or died, as soon as there is one, or when a time limit passes."""
        limits = [
            worker.since + self._limit(worker)
            for worker in self._workers
            if worker.job or worker.pins is None
        ]
        timeout = max(0.0, min(limits) - time.monotonic()) if limits else None
        return [key.data for key, _ in self._selector.select(timeout)]

    def _limit(self, worker: _Worker) -> float:
        return OPENING_S if worker.pins is None else self._settings.budget_s

    def _take(self, talking: list[_Worker]) -> list[Judged]:
        judged = [one for worker in talking for one in self._read(worker)]
        for worker in list(self._workers):
            late = worker.job is not None or worker.pins is None
            if late and time.monotonic() - worker.since >= self._limit(worker):
                if worker.pins is None:
                    raise BeforehandError(f"has not opened in {OPENING_S:.0f} s", where=self._settings.module)
                judged.append(self._judged(worker, Judgement(status="timed_out", reasons=("timeout",))))
                self._replace(worker)
        return judged

    def _read(self, worker: _Worker) -> list[Judged]:
        if worker not in self._workers or worker.process.stdout is None:
            return []
        data = os.read(worker.process.stdout.fileno(), 1 << 16)
        worker.unread += data
        if not data or len(worker.unread) > ANSWER_BYTES:
            return self._lost(worker, "infra:worker-died" if not data else "infra:worker-babbled")
        if not worker.unread.endswith(b"\n"):
            return []
        try:
            answer = json.loads(bytes(worker.unread))
        except ValueError:
            return self._lost(worker, "infra:worker-babbled")
        worker.unread.clear()
        if worker.pins is None:
            self._opened(worker, answer)
            return []
        judgement = Judgement(
            status=answer["status"],
            reasons=tuple(answer["reasons"]),
            answer=answer["answer"],
            extractor=answer["extractor"],
        )
        judged = self._judged(worker, judgement)
        if judgement.status == "infrastructure":
            self._replace(worker)
        return [judged]

    def _opened(self, worker: _Worker, answer: Mapping[str, JsonValue]) -> None:
        if "failed" in answer:
            missing = answer["missing"]
            if missing is None:
                raise BeforehandError(
                    f"the verifier cannot be opened: {answer['failed']}", where=self._settings.module
                )
            raise CapabilityMissingError(
                f"the verifier needs {missing}, which is not installed",
                where=self._settings.module,
                mend="python -m pip install 'beforehand[math]'",
            )
        pins = answer["pins"]
        worker.pins = {str(key): str(value) for key, value in pins.items()} if isinstance(pins, dict) else {}
        self.pins = worker.pins

    def _lost(self, worker: _Worker, reason: str) -> list[Judged]:
        """The worker has died, or is broken: what it was judging is infrastructure's."""
        if worker.pins is None:
            raise BeforehandError("a worker ended before its verifier was open", where=self._settings.module)
        lost = (
            []
            if worker.job is None
            else [self._judged(worker, Judgement(status="infrastructure", reasons=(reason,)))]
        )
        self._replace(worker)
        return lost

    def _judged(self, worker: _Worker, judgement: Judgement) -> Judged:
        if worker.job is None:
            raise RuntimeError("a worker answered without a job")
        job, worker.job = worker.job, None
        worker.n_judged += 1
        return Judged(
            job=job, judgement=judgement, seconds=time.monotonic() - worker.since, tries=job.tries + 1
        )

    def _replace(self, worker: _Worker) -> None:
        self._stop(worker)
        self.restarts += 1
        self._start()

    def _start(self) -> None:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-m", "pipeline.verify.worker", self._settings.module],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0, start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])},
        )  # fmt: skip
        worker = _Worker(process=process, since=time.monotonic())
        self._workers.append(worker)
        if process.stdout is None or process.stdin is None:
            raise RuntimeError("a worker without pipes")
        self._selector.register(process.stdout, selectors.EVENT_READ, worker)
        settings = {"config": dict(self._settings.config), "memory_mb": self._settings.memory_mb}
        with suppress(OSError):
            process.stdin.write(json.dumps(settings).encode() + b"\n")

    def _stop(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        if worker.process.stdout is not None:
            self._selector.unregister(worker.process.stdout)
        with suppress(ProcessLookupError):
            os.killpg(worker.process.pid, signal.SIGKILL)
        worker.process.wait()
        for pipe in (worker.process.stdin, worker.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _stop_all(self) -> None:
        for worker in list(self._workers):
            self._stop(worker)
        self._selector.close()
