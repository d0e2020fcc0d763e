"""The stages of a unit, each as one command runs it: under the heavy-job lock, its time reserved, booked and settled."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Literal

from ledger.book import read_ledger
from manifests.names import UnitId
from manifests.stores import LocalStore
from manifests.study import Study
from pipeline.bookkeeping import StageBooks, job_id
from pipeline.generate import Generated, generate, planned_samples
from pipeline.heavy_lock import heavy_lock
from pipeline.journal import read_journal
from pipeline.judge import VerifyStage, judge, pool_settings
from pipeline.row_join import Joined, join_rows
from pipeline.unit_work import UnitFolder, UnitWork, open_unit
from prereg.design import Design

Stage = Literal["generate", "verify", "rows"]
STAGES: tuple[Stage, ...] = ("generate", "verify", "rows")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far a unit is. planned, drawn, judged: samples; found: the record is there."""

    unit: UnitId
    planned: int
    drawn: int
    judged: int
    found: bool

    @property
    def left(self) -> tuple[Stage, ...]:
        """The stages that are still to run."""
        if self.found:
            return ()
        done = {"generate": self.drawn >= self.planned, "verify": self.judged >= self.planned, "rows": False}
        return tuple(stage for stage in STAGES if not done[stage])


def standing(root: Path, unit: UnitId) -> Standing:
    """How far the unit is, from whole lines of its files; they are held against each other only when a stage opens them."""
    work = open_unit(root, unit)
    return Standing(
        unit=unit,
        planned=len(planned_samples(work)),
        drawn=len(read_journal(work.folder.generations).lines),
        judged=len(read_journal(work.folder.verdicts).lines),
        found=LocalStore(root).record_path(unit).exists(),
    )


def run_generate(root: Path, unit: UnitId, *, wait_s: float) -> Generated:
    """Every planned sample of the unit is drawn."""
    work = open_unit(root, unit)
    with heavy_lock(f"generate {unit}", wait_s=wait_s):
        books = StageBooks(work.study, work.settings.booking, unit, "generate")
        with _booked(books, work.folder.generations):
            return generate(work, before=lambda speed: books.reserve(high_s=speed.high_s))


def run_verify(root: Path, unit: UnitId, *, wait_s: float) -> VerifyStage:
    """Every sample of the unit is judged."""
    work = open_unit(root, unit)
    with heavy_lock(f"verify {unit}", wait_s=wait_s):
        books = StageBooks(work.study, work.settings.booking, unit, "verify")
        with _booked(books, work.folder.verdicts):
            books.reserve(high_s=_longest_verification(work))
            return judge(work)


def run_rows(root: Path, unit: UnitId) -> Joined:
    """The unit lies in the store."""
    return join_rows(open_unit(root, unit), job_ids=booked_jobs(root, unit))


def booked_jobs(root: Path, unit: UnitId) -> tuple[str, ...]:
    """The ledger's jobs of the unit."""
    study = Study.open(root)
    entries = read_ledger(study.ledger_path, study_name=study.config.name).entries
    booked = {entry.job_id for entry in entries if entry.kind == "book"}
    return tuple(name for name in (job_id(unit, stage) for stage in STAGES) if name in booked)


def runnable_units(design: Design) -> tuple[UnitId, ...]:
    """The planned units whose model exists; those of systems that are still to be trained come later."""
    return tuple(
        planned.unit
        for planned in design.planned_units()
        if design.systems_expanded[planned.unit.system].model is not None
    )


def output_of(folder: UnitFolder, stage: Stage) -> Path:
    """The file that grows while the stage runs; for rows, which is short, the folder."""
    return {"generate": folder.generations, "verify": folder.verdicts, "rows": folder.path}[stage]


def _longest_verification(work: UnitWork) -> Decimal:
    settings = pool_settings(work)
    waiting = len(read_journal(work.folder.generations).lines) - len(read_journal(work.folder.verdicts).lines)
    return Decimal(max(0, waiting)) * Decimal(settings.budget_s) / settings.workers


@contextmanager
def _booked(books: StageBooks, output: Path) -> Iterator[None]:
    """The block's time is booked: completed, or failed, or canceled by a signal. An earlier start that was killed is settled first."""
    written = datetime.fromtimestamp(output.stat().st_mtime, UTC) if output.exists() else None
    books.settle_orphan(written)
    started = time.perf_counter()
    status, remark = "failed", "ended by an error"
    try:
        yield
        status, remark = "completed", ""
    except (SystemExit, KeyboardInterrupt):
        status, remark = "canceled", "stopped by a signal"
        raise
    finally:
        books.settle(seconds=Decimal(time.perf_counter() - started), status=status, note=remark)
