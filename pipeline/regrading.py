"""Regrade: the pinned extractor and verifier judge the stored completions again. The unit stays as it is.

A grading lies beside the units, in `regrade/UNIT/GRADER.jsonl`: a head that says which rows and which versions, then one
verdict a row. GRADER is the beginning of a digest over settings and versions, so that another version never overwrites it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pydantic import JsonValue

from manifests.digests import sha256_document
from manifests.documents import parse_toml
from manifests.errors import BeforehandError, NotInOrderError
from manifests.files import inside, read_bytes, write_atomically
from manifests.jsonlines import parse_json_lines
from manifests.names import UnitId
from manifests.problems import read_problem_fields
from manifests.records import UnitRecord
from manifests.rows import KEY, ROWS_FILE, read_rows
from manifests.stores import check_files, load_record, open_store
from manifests.study import Study
from pipeline.judge import MODULES
from pipeline.verify.contract import Judgement, Submission, without_cut
from pipeline.verify.ladder import STANDARD, rungs_from_words
from pipeline.verify.pool import Pool, PoolSettings
from prereg.design import Design
from prereg.plan import plan_problems
from prereg.planned import design_in_force
from prereg.protocols import Verifier

FOLDER = "regrade"
FORMAT = "regrade/1"
BUDGET_S, MEMORY_MB = 10.0, 4096
COLUMNS = (*KEY, "finish_reason", "completion", "answer", "extractor", "correct")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A row whose verdict is not the stored one."""

    row: str
    stored: bool | None
    now: bool | None
    stored_answer: str | None
    answer: str | None
    extractor: str | None
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grading:
    """One unit judged by one grader. verdicts: row -> verdict, null where nobody could judge."""

    unit: UnitId
    grader: str
    pins: Mapping[str, str]
    rows_sha256: str
    verdicts: Mapping[str, bool | None]

    @property
    def n_correct(self) -> int:
        """Rows that this grader takes."""
        return sum(verdict is True for verdict in self.verdicts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Regrade:
    """A unit's new grading beside what is stored and what other graders said."""

    grading: Grading
    path: Path
    stored: Mapping[str, bool | None]
    n_without_text: int
    changes: tuple[Change, ...]
    others: tuple[Grading, ...]

    def n_other(self, grading: Grading) -> int:
        """Verdicts of `grading` that are not the stored ones."""
        return sum(
            self.stored[row] != verdict for row, verdict in grading.verdicts.items() if row in self.stored
        )


def regrade_unit(study: Study, unit: UnitId, *, workers: int, config_path: Path | None = None) -> Regrade:
    """Judge every stored completion again. Raises where the unit is damaged: no verdict comes from such rows."""
    store = open_store(study, offline=True, needed=(unit,))
    record, _ = load_record(store, unit)
    damage = check_files(store, record)
    if damage:
        raise NotInOrderError(damage[0].what, where=damage[0].where, mend=damage[0].mend)
    design = design_in_force(study.root)
    _refuse_unknown(design, unit)
    verifier = design.resolve_protocol(unit.protocol).verifier
    settings = _pool_settings(study, unit, verifier, config_path, workers)
    rows = read_rows(store.file_path(unit, ROWS_FILE), COLUMNS)
    plan_problems(design, unit.benchmark, study.root)  # a file that is not the registered one is refused
    problems = read_problem_fields(
        inside(study.root, design.benchmarks[unit.benchmark].problems, where="design")
    )
    with Pool(settings) as pool:
        pins = dict(pool.pins)
        judgements = _judge(pool, rows, problems)
    grading = Grading(
        unit=unit,
        grader=sha256_document({"module": settings.module, "config": dict(settings.config), "pins": pins})[
            :12
        ],
        pins=pins,
        rows_sha256=_rows_sha256(record),
        verdicts={row: _verdict(judgement) for row, judgement in judgements.items()},
    )
    folder = study.root / FOLDER / str(unit)
    path = folder / f"{grading.grader}.jsonl"
    write_atomically(path, _grading_bytes(grading, judgements))
    others = tuple(one for one in read_gradings(folder, unit) if one.grader != grading.grader)
    stored = {_row_name(row): row for row in rows.drop_columns(["completion"]).to_pylist()}
    return Regrade(
        grading=grading,
        path=path,
        stored={name: row["correct"] for name, row in stored.items()},
        n_without_text=rows.num_rows - len(judgements),
        changes=tuple(_changes(stored, judgements)),
        others=others,
    )


def _refuse_unknown(design: Design, unit: UnitId) -> None:
    """A unit stays there when its names leave a design that is not frozen; nothing then says how it is judged."""
    for kind, name, known in (
        ("protocol", unit.protocol, design.protocols),
        ("benchmark", unit.benchmark, design.benchmarks),
    ):
        if name not in known:
            raise BeforehandError(
                f"the design has no {kind} {name!r}",
                where=str(unit),
                mend=f"known are {', '.join(sorted(known))}; name the units to regrade with --unit",
            )


def read_gradings(folder: Path, unit: UnitId) -> Iterator[Grading]:
    """Every grading that lies beside the unit, by grader."""
    for path in sorted(folder.glob("*.jsonl")):
        lines = parse_json_lines(read_bytes(path), where=str(path))
        if lines.findings or not lines.records or lines.records[0].value.get("format") != FORMAT:
            raise BeforehandError("is no grading", where=str(path), mend="remove it and regrade")
        head, *rest = (line.value for line in lines.records)
        yield Grading(
            unit=unit,
            grader=path.stem,
            pins=head["pins"],
            rows_sha256=head["rows_sha256"],
            verdicts={str(line["row"]): line["correct"] for line in rest},
        )


def _pool_settings(
    study: Study, unit: UnitId, verifier: Verifier | None, config_path: Path | None, workers: int
) -> PoolSettings:
    """The verifier that the design pins; `config_path` stands in for its configuration."""
    where = f"protocols.{unit.protocol}.verifier"
    if verifier is None or verifier.kind not in MODULES:
        kind = "no verifier" if verifier is None else f"the verifier {verifier.kind}"
        raise BeforehandError(
            f"{unit} has {kind}, which cannot regrade completions",
            where=where,
            mend=f"there is {', '.join(MODULES)}",
        )
    config: dict[str, JsonValue] = {}
    pinned = None if verifier.config is None else inside(study.root, verifier.config, where="design")
    path = config_path or pinned
    if path is not None:
        config = parse_toml(read_bytes(path), where=str(path))  # type: ignore[assignment]  # TOML without dates is JSON
    elif "ladder" in dict(verifier.pins):
        try:
            config = {"ladder": list(rungs_from_words(dict(verifier.pins)["ladder"]))}
        except ValueError as err:
            raise BeforehandError(
                str(err), where=f"{where}.ladder", mend="name a configuration: --config"
            ) from err
    else:
        config = {"ladder": list(STANDARD)}
    budget = verifier.budget_s or BUDGET_S
    return PoolSettings(
        module=MODULES[verifier.kind], config=config, workers=workers, budget_s=budget, memory_mb=MEMORY_MB
    )


def _judge(
    pool: Pool, rows: pa.Table, problems: Mapping[str, Mapping[str, JsonValue]]
) -> dict[str, Judgement]:
    names: list[str] = []
    submissions: list[Submission] = []
    for row in rows.to_pylist():
        if row["completion"] is None:
            continue
        if row["problem_id"] not in problems:
            raise BeforehandError(f"the problem set has no {row['problem_id']!r}", where=_row_name(row))
        names.append(_row_name(row))
        submissions.append(
            Submission(
                text=row["completion"],
                truncated=row["finish_reason"]
                not in {None, "stop"},  # where a log is silent, nothing was cut
                problem=problems[row["problem_id"]],
            )
        )
    found = {
        judged.job.number: without_cut(judged.judgement, truncated=submissions[judged.job.number].truncated)
        for judged in pool.judge(submissions)
    }
    return {name: found[number] for number, name in enumerate(names)}


def _verdict(judgement: Judgement) -> bool | None:
    return None if judgement.status == "infrastructure" else judgement.status == "accepted"


def _changes(
    stored: Mapping[str, Mapping[str, JsonValue]], judgements: Mapping[str, Judgement]
) -> Iterator[Change]:
    for name, judgement in judgements.items():
        row, now = stored[name], _verdict(judgement)
        if row["correct"] != now:
            yield Change(
                row=name,
                stored=row["correct"],  # type: ignore[arg-type]  # the schema's bool
                now=now,
                stored_answer=row["answer"],  # type: ignore[arg-type]
                answer=judgement.answer,
                extractor=judgement.extractor,
                reasons=judgement.reasons,
            )


def _grading_bytes(grading: Grading, judgements: Mapping[str, Judgement]) -> bytes:
    head = {
        "format": FORMAT,
        "unit": str(grading.unit),
        "rows_sha256": grading.rows_sha256,
        "pins": dict(grading.pins),
    }
    lines: list[Mapping[str, object]] = [head]
    lines += [
        {
            "row": name, "correct": _verdict(one), "status": one.status, "answer": one.answer,
            "extractor": one.extractor, "reasons": list(one.reasons),
        }
        for name, one in judgements.items()
    ]  # fmt: skip
    return "".join(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n" for line in lines).encode()


def _row_name(row: Mapping[str, object]) -> str:
    """A row's key as one word of text."""
    return " ".join(str(row[name]) for name in KEY)


def _rows_sha256(record: UnitRecord) -> str:
    return next(file.sha256 for file in record.files if file.path == ROWS_FILE)


def units_of(study: Study, text: str | None) -> Sequence[UnitId]:
    """The unit that was named, or every unit that is there."""
    if text is not None:
        return [UnitId.parse(text, where="--unit")]
    return open_store(study, offline=True).unit_ids()
