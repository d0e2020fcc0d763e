"""The stage `verify`: every generation of a unit has one verdict in `verdicts.jsonl`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pydantic import JsonValue

from manifests.documents import parse_toml
from manifests.errors import BeforehandError, NotInOrderError
from manifests.files import inside, read_bytes
from pipeline.generations import Generation, RowKey, parse_generations
from pipeline.journal import Journal, read_journal
from pipeline.progress import Progress
from pipeline.unit_work import UnitWork
from pipeline.verify.contract import Submission, without_cut
from pipeline.verify.pool import Judged, Pool, PoolSettings
from pipeline.verify.verdicts import Verdict, parse_verdicts

MODULES = MappingProxyType({"math": "pipeline.verify.math_verifier"})
"""Verifier kinds of the design -> module. Another one is named by `verification.module` in run.toml."""
WRITTEN_AT_ONCE = 200
WRITTEN_EVERY_S = 2.0
"""A verdict may have cost minutes: no more than these seconds of work are lost to a kill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyStage:
    """What the stage did. by_status: of all verdicts that are there; restarts: workers that were replaced."""

    resumed: int
    judged: int
    dropped_bytes: int
    restarts: int
    by_status: Mapping[str, int]


def judge(work: UnitWork) -> VerifyStage:
    """Judge what has no verdict yet. Raises StaleError where verdicts are of other text than the generations on disk."""
    generations = read_generations(work)
    journal = Journal(work.folder.verdicts)
    try:
        verdicts = parse_verdicts(journal.lines, generations, where=journal.path.name)
        waiting = [generation for key, generation in generations.items() if key not in verdicts]
        restarts = _judge_all(work, journal, waiting, verdicts) if waiting else 0
    finally:
        journal.close()
    counted = Counter(verdict.status for verdict in verdicts.values())
    return VerifyStage(
        resumed=len(verdicts) - len(waiting),
        judged=len(waiting),
        dropped_bytes=journal.dropped_bytes,
        restarts=restarts,
        by_status=dict(sorted(counted.items())),
    )


def read_generations(work: UnitWork) -> dict[RowKey, Generation]:
    """The unit's generations; none at all is an error."""
    path = work.folder.generations
    found = parse_generations(read_journal(path).lines, where=path.name)
    if not found:
        raise BeforehandError(
            "holds no generation yet", where=str(path), mend=f"beforehand run generate, for {work.plan.unit}"
        )
    return found


def _judge_all(
    work: UnitWork, journal: Journal, waiting: list[Generation], verdicts: dict[RowKey, Verdict]
) -> int:
    progress = Progress(total=len(waiting) + len(verdicts), done=len(verdicts), unit="verdicts")
    first = len(verdicts)
    submissions = [
        Submission(
            text=generation.completion_text,
            truncated=generation.finish_reason != "stop",
            problem=work.problems[generation.problem_id],
        )
        for generation in waiting
    ]
    with Pool(pool_settings(work)) as pool:
        _hold_pins(work, pool.pins)
        pending: list[Verdict] = []
        written = time.monotonic()
        for judged in pool.judge(submissions):
            pending.append(
                _verdict(waiting[judged.job.number], judged, order=first + judged.job.number, pins=pool.pins)
            )
            if len(pending) >= WRITTEN_AT_ONCE or time.monotonic() - written > WRITTEN_EVERY_S:
                _write(journal, pending, verdicts, progress)
                pending, written = [], time.monotonic()
        _write(journal, pending, verdicts, progress)
        return pool.restarts


def pool_settings(work: UnitWork) -> PoolSettings:
    """The pool for the unit's verifier. budget_s: the design's, else that of run.toml."""
    verifier = work.plan.protocol.verifier
    if verifier is None:
        raise BeforehandError(
            "names no verifier", where=f"protocols.{work.plan.unit.protocol}", mend="register one"
        )
    config: dict[str, JsonValue] = {}
    if verifier.config is not None:
        path = inside(work.study.root, verifier.config, where="design")
        config = parse_toml(read_bytes(path), where=verifier.config)  # type: ignore[assignment] # TOML without dates is JSON
    settings = work.settings.verification
    return PoolSettings(
        module=settings.module or MODULES.get(verifier.kind, verifier.kind),
        config=config,
        workers=settings.workers,
        budget_s=verifier.budget_s or settings.budget_s,
        memory_mb=settings.memory_mb,
    )


def _hold_pins(work: UnitWork, pins: Mapping[str, str]) -> None:
    """What the design pins of the verifier is what is installed here."""
    differing = [
        f"{key}: the design says {value!r}, here is {pins.get(key)!r}"
        for key, value in sorted(work.plan.verifier.pins.items())
        if pins.get(key) != value
    ]
    if differing:
        raise NotInOrderError(
            f"another verifier than the registered one: {'; '.join(differing)}",
            where=f"protocols.{work.plan.unit.protocol}.verifier",
            mend="install the pinned versions",
        )


def _verdict(generation: Generation, judged: Judged, *, order: int, pins: Mapping[str, str]) -> Verdict:
    judgement = without_cut(judged.judgement, truncated=generation.finish_reason != "stop")
    return Verdict(
        **generation.key._asdict(),
        code_sha256=generation.code_sha256,
        status=judgement.status,
        reasons=judgement.reasons,
        answer=judgement.answer,
        extractor=judgement.extractor,
        verify_s=round(judged.seconds, 6),
        tries=judged.tries,
        order=order,
        pins=dict(pins),
    )


def _write(
    journal: Journal, pending: list[Verdict], verdicts: dict[RowKey, Verdict], progress: Progress
) -> None:
    journal.append([verdict.model_dump(mode="json") for verdict in pending])
    verdicts.update({verdict.key: verdict for verdict in pending})
    progress.advance(len(pending))
