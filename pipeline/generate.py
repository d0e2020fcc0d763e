"""The stage `generate`: every planned sample of a unit stands in `generations.jsonl`, drawn once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from manifests.digests import sha256_bytes
from manifests.errors import BeforehandError, Finding
from pipeline.engines.contract import Completion, Draw, Request
from pipeline.generations import (
    Generation,
    PlannedSample,
    RowKey,
    StaleError,
    parse_generations,
    storable,
    text_sha256,
)
from pipeline.journal import Journal
from pipeline.preflight import Ready, preflight
from pipeline.progress import Progress
from pipeline.speed import Speed, measure, write_estimate
from pipeline.unit_work import UnitWork
from prereg.protocols import ResolvedSampling

FIRST_ROUND = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """What the stage did. resumed: samples that were there; drawn: samples that it added; dropped_bytes: of a torn tail."""

    planned: int
    resumed: int
    drawn: int
    dropped_bytes: int


def planned_samples(work: UnitWork) -> tuple[PlannedSample, ...]:
    """Every sample that the design plans for the unit, in row order. A sampling without seeds draws under the seed 0."""
    protocol = work.plan.protocol
    return tuple(
        PlannedSample(
            key=RowKey(sampling.name, problem_id, index, FIRST_ROUND, protocol.cap_tokens),
            prompt=sampling.prompt or "",
            seed=None
            if not draw_of(sampling).temperature
            else (sampling.seeds or (0,) * sampling.samples)[index],
        )
        for sampling in protocol.samplings
        for problem_id in work.problems
        for index in range(sampling.samples)
    )


def draw_of(sampling: ResolvedSampling) -> Draw:
    """How the sampling draws. What the design leaves out is said outright: the whole vocabulary, never a library's default."""
    if sampling.temperature is None:
        raise BeforehandError(
            "names no temperature, and an engine's default would decide",
            where=f"sampling.{sampling.name}",
            mend="register one",
        )
    return Draw(
        temperature=sampling.temperature,
        top_p=1.0 if sampling.top_p is None else sampling.top_p,
        top_k=sampling.top_k or 0,
    )


def generate(work: UnitWork, *, before: Callable[[Speed], None]) -> Generated:
    """Draw what is missing. before: called with the measured speed before the first token is kept; it may refuse by raising.

    A sample that is in the file is never drawn again. Raises as `preflight`, and StaleError for a file with foreign samples.
    """
    planned = planned_samples(work)
    ready = preflight(work)
    try:
        journal = Journal(work.folder.generations)
        try:
            there = _there(journal, planned, ready, work)
            missing = [sample for sample in planned if sample.key not in there]
            before(_speed(work, ready, missing))
            _draw_all(
                work, ready, journal, missing, Progress(total=len(planned), done=len(there), unit="samples")
            )
            return Generated(
                planned=len(planned),
                resumed=len(there),
                drawn=len(missing),
                dropped_bytes=journal.dropped_bytes,
            )
        finally:
            journal.close()
    finally:
        ready.engine.close()


def _there(
    journal: Journal, planned: Sequence[PlannedSample], ready: Ready, work: UnitWork
) -> Mapping[RowKey, Generation]:
    """The samples in the file; one that the design does not plan, or that answers another prompt, is an error."""
    found = parse_generations(journal.lines, where=journal.path.name)
    by_key = {sample.key: sample for sample in planned}
    findings = []
    for key, generation in found.items():
        if key not in by_key:
            findings.append(
                Finding(where=journal.path.name, what=f"holds {key}, which the design does not plan")
            )
        elif generation.prompt_sha256 != _prompt_sha256(ready, by_key[key]):
            findings.append(
                Finding(where=journal.path.name, what=f"{key} answers another prompt than the one of today")
            )
    if findings:
        raise StaleError(
            "does not belong to this plan",
            tuple(findings[:20]),
            where=str(work.folder.generations),
            mend="move it away",
        )
    return found


def _speed(work: UnitWork, ready: Ready, missing: Sequence[PlannedSample]) -> Speed:
    """Measured on the sampling with the most rows that are missing."""
    samplings = {sampling.name: sampling for sampling in work.plan.protocol.samplings}
    counts = {name: sum(sample.key.sampling == name for sample in missing) for name in samplings}
    largest = max(counts, key=lambda name: counts[name])
    speed = measure(
        ready.engine,
        [
            one
            for sample in missing
            if sample.key.sampling == largest and (one := _request(ready, sample)).max_tokens
        ],
        draw_of(samplings[largest]),
        batch_rows=work.settings.batch_rows,
    )
    if speed.tokens_per_s:
        most = sum(_request(ready, sample).max_tokens for sample in missing)
        high = Decimal(most / speed.tokens_per_s).quantize(Decimal("0.001"))
        speed = Speed(tokens_per_s=speed.tokens_per_s, n_rows=len(missing), high_s=high)
        write_estimate(work, speed)
    return speed


def _draw_all(
    work: UnitWork, ready: Ready, journal: Journal, missing: Sequence[PlannedSample], progress: Progress
) -> None:
    for sampling in work.plan.protocol.samplings:
        samples = [sample for sample in missing if sample.key.sampling == sampling.name]
        unfit = [sample for sample in samples if not _request(ready, sample).max_tokens]
        journal.append([_unfit_row(ready, sample).model_dump(mode="json") for sample in unfit])
        fitting = {(s.key.problem_id, s.key.sample_idx): s for s in samples if _request(ready, s).max_tokens}
        requests = [_request(ready, sample) for sample in fitting.values()]
        for batch in _batches(ready, requests, draw_of(sampling)):
            rows = [_row(ready, fitting[one.problem_id, one.sample_idx], one) for one in batch]
            journal.append([row.model_dump(mode="json") for row in rows])
            progress.advance(len(rows), tokens=sum(len(row.completion_ids) for row in rows))


def _batches(ready: Ready, requests: list[Request], draw: Draw) -> Iterator[tuple[Completion, ...]]:
    if requests:
        yield from ready.engine.complete(requests, draw)


def _request(ready: Ready, sample: PlannedSample) -> Request:
    prompt = ready.prompts[sample.prompt, sample.key.problem_id]
    return Request(
        problem_id=sample.key.problem_id,
        sample_idx=sample.key.sample_idx,
        prompt_ids=prompt.token_ids,
        max_tokens=ready.room(prompt, sample.key.cap_tokens),
        seed=sample.seed,
    )


def _row(ready: Ready, sample: PlannedSample, completion: Completion) -> Generation:
    text = storable(completion.text)
    request = _request(ready, sample)
    return Generation(
        **sample.key._asdict(),
        max_tokens=request.max_tokens,
        seed=None if completion.seed is None else str(completion.seed),
        prompt_sha256=_prompt_sha256(ready, sample),
        n_prompt_tokens=len(request.prompt_ids),
        finish_reason=completion.finish_reason,
        completion_ids=completion.token_ids,
        completion_text=text,
        code_sha256=text_sha256(text),
    )


def _unfit_row(ready: Ready, sample: PlannedSample) -> Generation:
    """The prompt fills the window: nothing was drawn, and the row says so."""
    return Generation(
        **sample.key._asdict(),
        max_tokens=0,
        seed=None,
        prompt_sha256=_prompt_sha256(ready, sample),
        n_prompt_tokens=len(_request(ready, sample).prompt_ids),
        finish_reason="error",
        completion_ids=(),
        completion_text="",
        code_sha256=text_sha256(""),
    )


def _prompt_sha256(ready: Ready, sample: PlannedSample) -> str:
    return sha256_bytes(ready.prompts[sample.prompt, sample.key.problem_id].text.encode())
