"""Logs of lm-evaluation-harness: `samples_TASK_….jsonl`, with `results_….json` beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from manifests.errors import BeforehandError
from manifests.importers.batches import RawRow, batches_of_raw_rows
from manifests.importers.jsonl import first_object, objects_of
from manifests.importers.logfiles import LogFile, read_json_document
from manifests.importers.mapping import RowMap
from manifests.importers.reading import Defaults, Headline, LogFacts, Part, Reading, Tally
from manifests.jsonlines import JsonLine

NAME = "lm-eval@1"
FILE_NAME = re.compile(r"samples_(?P<task>.+?)_\d{4}-\d\d-\d\dT.*\.jsonl")


class LmEvalImporter:
    """One task's samples. Where a task has several filters, each grades the same completions: the first is taken."""

    NAME = NAME

    def part(self, file: LogFile) -> Part | None:
        """Samples have `resps` and `filtered_resps`; results have `configs` and `n-samples`."""
        if {"doc_id", "doc", "resps", "filtered_resps"} <= file.columns:
            return "log"
        return "companion" if {"results", "configs", "n-samples"} <= file.columns else None

    def read(
        self,
        log: LogFile,
        companions: Sequence[LogFile] = (),
        *,
        defaults: Defaults,
        row_map: RowMap | None = None,
    ) -> Reading:
        """Open the samples; the results say which model it was and what it scored."""
        del row_map
        path = log.path
        first = first_object(path).value
        metrics = first.get("metrics") or [name for name in ("exact_match", "acc") if name in first]
        if not metrics:
            raise BeforehandError("names no metric", where=str(path), mend="read it through a map: --map")
        chosen = _Choice(str(metrics[0]), str(first.get("filter", "none")))
        results = read_json_document(companions[0].path) if companions else {}
        task = _task(path, results)
        tally = Tally()
        facts = _facts(first, results, task, chosen, [str(name) for name in metrics[1:]])
        rows = _rows(path, chosen, defaults, facts, tally)
        return Reading(
            importer=NAME,
            files=(path, *(companion.path for companion in companions)),
            batches=batches_of_raw_rows(rows, path, tally, defaults),
            tally=tally,
            facts=facts,
        )


class _Choice:
    """The metric and the filter whose verdicts are taken."""

    def __init__(self, metric: str, filter_name: str) -> None:
        self.metric = metric
        self.filter = filter_name


def _rows(path: Path, chosen: _Choice, defaults: Defaults, facts: LogFacts, tally: Tally) -> Iterator[RawRow]:
    for line in objects_of(path):
        if str(line.value.get("filter", "none")) != chosen.filter:
            tally.n_read += 1
            tally.n_left_out += 1
            continue
        yield _row(line, path, chosen, defaults, facts)


def _row(line: JsonLine, path: Path, chosen: _Choice, defaults: Defaults, facts: LogFacts) -> RawRow:
    value = line.value
    place = f"{path.name}:{line.number}"
    responses = value.get("resps") or [[]]
    generated = (
        bool(responses) and isinstance(responses[0], list) and all(isinstance(r, str) for r in responses[0])
    )
    if generated and len(responses[0]) > 1:
        raise BeforehandError(
            f"holds {len(responses[0])} answers to one document under a single score",
            where=place,
            mend="such a log cannot say which sample is correct: run each repeat by itself, or regrade its completions",
        )
    filtered = value.get("filtered_resps") or [None]
    return RawRow(
        place=place,
        size=line.size,
        problem_id=value.get("doc_id"),
        sampling=defaults.sampling,
        cap_tokens=defaults.cap_tokens if defaults.cap_tokens is not None else facts.cap_tokens,
        max_tokens=facts.cap_tokens,
        completion=responses[0][0] if generated and responses[0] else None,
        answer=filtered[0] if isinstance(filtered[0], str) else None,
        # lm-eval's filter `none` leaves the answer as it is; our extractor `none` says that there is no answer.
        extractor=None if chosen.filter == "none" else chosen.filter,
        correct=value.get(chosen.metric),
        statement=_prompt(value.get("arguments")),
    )


def _arguments(arguments: object) -> list[Any]:
    """The first request's arguments; older logs hold lists, newer ones objects with numbered keys."""
    first = next(iter(arguments.values()), None) if isinstance(arguments, dict) else None
    if isinstance(arguments, list) and arguments:
        first = arguments[0]
    if isinstance(first, dict):
        return list(first.values())
    return first if isinstance(first, list) else []


def _prompt(arguments: object) -> str | None:
    found = next(iter(_arguments(arguments)), None)
    return found if isinstance(found, str) else None


def _task(path: Path, results: dict[str, Any]) -> str | None:
    match = FILE_NAME.fullmatch(path.name)
    tasks = list(results.get("results", {}))
    if match is not None:
        return match["task"]
    return tasks[0] if len(tasks) == 1 else None


def _facts(
    first: dict[str, Any], results: dict[str, Any], task: str | None, chosen: _Choice, others: Sequence[str]
) -> LogFacts:
    settings = next((part for part in _arguments(first.get("arguments")) if isinstance(part, dict)), {})
    config = results.get("config", {})
    counts = results.get("n-samples", {}).get(task, {})
    stated = results.get("results", {}).get(task, {}).get(f"{chosen.metric},{chosen.filter}")
    effective, original = counts.get("effective"), counts.get("original")
    limited = effective is not None and original is not None and effective < original
    return LogFacts(
        system=results.get("model_name") or _model(config),
        revision=config.get("model_sha") or None,
        benchmark=task,
        verifier=f"{chosen.metric},{chosen.filter}",
        n_problems=effective,
        n_samples=1,
        temperature=settings.get("temperature"),
        top_p=settings.get("top_p"),
        cap_tokens=settings.get("max_gen_toks") or settings.get("max_tokens"),
        headlines=(Headline(name=f"{chosen.metric},{chosen.filter}", value=float(stated), n=effective),)
        if isinstance(stated, int | float)
        else (),
        deviations=(f"limit: {effective} of {original} documents",) if limited else (),
        notes=(
            f"verdicts are {chosen.metric} after the filter {chosen.filter}"
            + (f"; left out: {', '.join(others)}" if others else ""),
        ),
    )


def _model(config: dict[str, Any]) -> str | None:
    arguments = config.get("model_args")
    if isinstance(arguments, dict) and arguments.get("pretrained"):
        return str(arguments["pretrained"])
    if isinstance(arguments, str) and (match := re.search(r"pretrained=([^,]+)", arguments)):
        return match[1]
    return config.get("model")
