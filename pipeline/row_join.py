"""The stage `rows`: generations and verdicts, joined and audited, become the unit's rows, and last its record."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from manifests.digests import sha256_file
from manifests.documents import read_document
from manifests.errors import Finding, FindingsError, NotInOrderError
from manifests.files import inside
from manifests.records import Origin, SourceFile, UnitFile, UnitRecord, VerifierIdentity
from manifests.rows import NO_EXTRACTOR, ROWS_FILE, SCHEMA, check_rows
from manifests.sorting import RowsWriter
from manifests.stores import LocalStore
from pipeline.generate import planned_samples
from pipeline.generations import Generation, RowKey, StaleError
from pipeline.importing import count_rows
from pipeline.journal import read_journal
from pipeline.judge import read_generations
from pipeline.preflight import Preflight
from pipeline.unit_work import UnitWork
from pipeline.verify.verdicts import Verdict, parse_verdicts

MOST_FINDINGS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """What the stage did: the record, and whether it was written now or lay there already."""

    record: UnitRecord
    written: bool


def join_rows(work: UnitWork, *, job_ids: tuple[str, ...] = ()) -> Joined:
    """The unit lies in the store, rows first, record last.

    Raises StaleError where generations and verdicts do not belong together, and FindingsError with everything that the audit
    finds: a planned sample without generation or verdict, a problem or sample that is not planned, a truncated sample that
    was accepted. Nothing is written then.
    """
    generations = read_generations(work)
    verdicts = parse_verdicts(
        read_journal(work.folder.verdicts).lines, generations, where=work.folder.verdicts.name
    )
    preflight = read_document(Preflight, work.folder.preflight, mend="run generate first")
    if preflight.registration_sha256 != work.registration_sha256:
        raise StaleError(
            "was made under another registration",
            (),
            where=str(work.folder.preflight),
            mend="move the unit's folder away",
        )
    _audit(work, generations, verdicts)
    table = pa.Table.from_pylist(
        [_row(generations[key], verdicts[key]) for key in generations], schema=SCHEMA
    )
    scratch = work.folder.path / ".rows.partial"
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        return _written(work, table, scratch / ROWS_FILE, preflight, verdicts, job_ids)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _written(
    work: UnitWork,
    table: pa.Table,
    path: Path,
    preflight: Preflight,
    verdicts: Mapping[RowKey, Verdict],
    job_ids: tuple[str, ...],
) -> Joined:
    writer = RowsWriter(path.parent)
    for batch in table.to_batches():
        writer.add(batch)
    rows = writer.light_rows()
    if findings := check_rows(rows, where=str(work.plan.unit)):
        raise FindingsError("the rows contradict themselves", findings, where=str(work.plan.unit))
    writer.write(path)
    plan = work.plan
    record = UnitRecord(
        format="unit-record/1",
        unit=str(plan.unit),
        system=plan.system.model_copy(
            update={
                "tokenizer_sha256": preflight.tokenizer_sha256,
                "template_sha256": preflight.template_sha256,
                "tree_sha256": preflight.model_tree_sha256,
            }
        ),
        benchmark=plan.benchmark,
        protocol=plan.protocol_document,
        prompts_sha256=preflight.prompts_sha256,
        verifier=_verifier_identity(work, verdicts),
        registration_sha256=work.registration_sha256,
        job_ids=job_ids,
        origin=Origin(
            kind="pipeline",
            importer=f"{preflight.engine}, {', '.join(f'{name} {text}' for name, text in sorted(preflight.versions.items()))}",
            sources=tuple(
                SourceFile(name=file.name, bytes=file.stat().st_size, sha256=sha256_file(file))
                for file in (
                    work.folder.preflight,
                    work.folder.prompts,
                    work.folder.generations,
                    work.folder.verdicts,
                )
            ),
            rows_read=table.num_rows,
        ),
        files=(UnitFile(path=ROWS_FILE, bytes=path.stat().st_size, sha256=sha256_file(path)),),
        counts=count_rows(rows, plan),
        deviations=_deviations(preflight, verdicts),
    )
    written = LocalStore(work.study.root).put(record, {ROWS_FILE: path.read_bytes()})
    return Joined(record=record, written=written)


def _audit(
    work: UnitWork, generations: Mapping[RowKey, Generation], verdicts: Mapping[RowKey, Verdict]
) -> None:
    planned = {sample.key for sample in planned_samples(work)}
    kinds = (
        ("are planned and were not drawn", planned - generations.keys(), "run generate again: it continues"),
        ("were drawn and not judged", generations.keys() - verdicts.keys(), "run verify again: it continues"),
        (
            "were drawn and are not planned",
            generations.keys() - planned,
            "they belong to another design: move the unit's folder away",
        ),
        (
            "were cut at their limit and accepted all the same",
            {
                key
                for key, one in verdicts.items()
                if one.correct and generations[key].finish_reason != "stop"
            },
            "a cut sample is no answer: mend the verifier",
        ),
    )
    findings = tuple(
        Finding(where=str(work.plan.unit), what=f"{len(keys)} samples {what} (first: {min(keys)})", mend=mend)
        for what, keys, mend in kinds
        if keys
    )
    if findings:
        raise AuditError("the stages do not join to the planned rows", findings, where=str(work.plan.unit))


class AuditError(NotInOrderError, FindingsError):
    """Rows that would not be what was planned: exit code 1."""


def _row(generation: Generation, verdict: Verdict) -> dict[str, object]:
    """Column for column of the rows' schema."""
    unanswered = verdict.extractor is None and verdict.status == "no_answer"
    return {
        **generation.key._asdict(),
        "max_tokens": generation.max_tokens,
        "seed": None if generation.seed is None else int(generation.seed),
        "n_prompt_tokens": generation.n_prompt_tokens,
        "n_completion_tokens": len(generation.completion_ids),
        "finish_reason": generation.finish_reason,
        "completion": generation.completion_text if generation.finish_reason != "error" else None,
        "answer": verdict.answer,
        "extractor": NO_EXTRACTOR if unanswered else verdict.extractor,
        "correct": verdict.correct,
        "reasons": list(verdict.reasons),
        "code_sha256": generation.code_sha256,
        "verify_s": verdict.verify_s,
    }


def _verifier_identity(work: UnitWork, verdicts: Mapping[RowKey, Verdict]) -> VerifierIdentity:
    """Who judged, by the pins of the verdicts; verdicts of two verifiers are not rows of one unit."""
    pins = {tuple(sorted(verdict.pins.items())) for verdict in verdicts.values()}
    if len(pins) != 1:
        raise StaleError(
            "holds verdicts of more than one verifier",
            (),
            where=str(work.folder.verdicts),
            mend="move it away and verify again",
        )
    judged_with = dict(pins.pop())
    planned = work.plan.verifier.pins
    if any(judged_with.get(key) != value for key, value in planned.items()):
        raise StaleError(
            f"holds verdicts of {judged_with}, the design pins {planned}",
            (),
            where=str(work.folder.verdicts),
            mend="verify again",
        )
    verifier = work.plan.protocol.verifier
    config = verifier.config if verifier else None
    return VerifierIdentity(
        kind=work.plan.verifier.kind,
        pins=planned,  # what more the verifier says of itself stays in verdicts.jsonl
        config_sha256=None
        if config is None
        else sha256_file(inside(work.study.root, config, where="design")),
    )


def _deviations(preflight: Preflight, verdicts: Mapping[RowKey, Verdict]) -> tuple[str, ...]:
    infrastructure = sum(verdict.status == "infrastructure" for verdict in verdicts.values())
    notes = (
        (preflight.n_clipped, "rows had less room than the cap: the window clipped them"),
        (preflight.n_unfit, "of them had no room at all and hold no completion"),
        (infrastructure, "rows have no verdict: the verifier failed twice for reasons of infrastructure"),
    )
    return tuple(f"{count} {text}" for count, text in notes if count)
