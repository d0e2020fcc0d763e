"""Logs of lighteval: details as Parquet, one row a document, with `results_….json` beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from manifests.errors import BeforehandError
from manifests.importers.batches import RawRow, batches_of_raw_rows
from manifests.importers.logfiles import LogFile, read_json_document
from manifests.importers.mapped import Entry
from manifests.importers.mapping import RowMap
from manifests.importers.parquet_table import parquet_entries
from manifests.importers.reading import Defaults, Headline, LogFacts, Part, Reading, Tally

NAME = "lighteval@1"
PARTS = ("doc", "metric", "model_response")
DUNDER = tuple(f"__{name}__" for name in PARTS)
"""How the columns were called for a time."""


class LightevalImporter:
    """One task's details."""

    NAME = NAME

    def part(self, file: LogFile) -> Part | None:
        """Details have the three columns; results have `config_general` and `config_tasks`."""
        if set(PARTS) <= file.columns or set(DUNDER) <= file.columns:
            return "log"
        return "companion" if {"config_general", "results", "config_tasks"} <= file.columns else None

    def read(
        self,
        log: LogFile,
        companions: Sequence[LogFile] = (),
        *,
        defaults: Defaults,
        row_map: RowMap | None = None,
    ) -> Reading:
        """Open the details. The first metric of the first row is the verdict; where it is no 0 or 1, the import is refused."""
        del row_map
        path = log.path
        keys = PARTS if set(PARTS) <= log.columns else DUNDER
        first = next(parquet_entries(path), None)
        if first is None:
            raise BeforehandError("holds no row", where=str(path))
        metrics = [name for name, value in (first.value[keys[1]] or {}).items() if value is not None]
        if not metrics:
            raise BeforehandError("its first row has no metric", where=str(path))
        results = read_json_document(companions[0].path) if companions else {}
        facts = _facts(first.value[keys[0]], results, metrics)
        tally = Tally()
        rows = _rows(path, keys, metrics[0], defaults, facts)
        return Reading(
            importer=NAME,
            files=(path, *(companion.path for companion in companions)),
            batches=batches_of_raw_rows(rows, path, tally, defaults),
            tally=tally,
            facts=facts,
        )


def _rows(
    path: Path, keys: tuple[str, ...], metric: str, defaults: Defaults, facts: LogFacts
) -> Iterator[RawRow]:
    for entry in parquet_entries(path):
        document, metrics, response = (entry.value[key] or {} for key in keys)
        texts = response.get("text") or []
        place = f"{path.name} row {entry.number}"
        if len(texts) > 1:
            raise BeforehandError(
                f"holds {len(texts)} samples of one document under a single score",
                where=place,
                mend="such a log cannot say which sample is correct: regrade its completions, or log one sample a run",
            )
        yield _row(entry, place, document, response, metrics.get(metric), defaults, facts)


def _row(
    entry: Entry,
    place: str,
    document: Mapping[str, Any],
    response: Mapping[str, Any],
    verdict: object,
    defaults: Defaults,
    facts: LogFacts,
) -> RawRow:
    texts = response.get("text") or []
    answers = response.get("text_post_processed") or []
    tokens = response.get("output_tokens") or []
    return RawRow(
        place=place,
        size=entry.size,
        problem_id=document.get("id"),
        sampling=defaults.sampling,
        cap_tokens=defaults.cap_tokens if defaults.cap_tokens is not None else facts.cap_tokens,
        max_tokens=facts.cap_tokens,
        n_prompt_tokens=len(response.get("input_tokens") or []) or None,
        n_completion_tokens=len(tokens[0]) if tokens and tokens[0] else None,
        completion=texts[0] if texts else None,
        answer=answers[0] if answers else None,
        correct=verdict,
        statement=document.get("query"),
    )


def _facts(document: Mapping[str, Any], results: dict[str, Any], metrics: Sequence[str]) -> LogFacts:
    task = document.get("task_name")
    general = results.get("config_general", {})
    settings = (general.get("model_config") or {}).get("generation_parameters") or {}
    stated = results.get("results", {}).get(task, {}).get(metrics[0])
    size = document.get("generation_size")
    return LogFacts(
        system=general.get("model_name"),
        revision=(general.get("model_config") or {}).get("revision"),
        benchmark=task,
        verifier=metrics[0],
        n_samples=document.get("num_samples"),
        temperature=settings.get("temperature"),
        top_p=settings.get("top_p"),
        cap_tokens=settings.get("max_new_tokens") or (size if isinstance(size, int) and size > 1 else None),
        headlines=(Headline(name=metrics[0], value=float(stated)),)
        if isinstance(stated, int | float)
        else (),
        deviations=(f"limit: max_samples = {general['max_samples']}",) if general.get("max_samples") else (),
        notes=(f"verdicts are {metrics[0]}; left out: {', '.join(metrics[1:])}",) if metrics[1:] else (),
    )
