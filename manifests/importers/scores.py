"""A unit of an evaluation harness that writes `generations.parquet`, one row a sample, and `scores.json`.

Described by a campaign whose files are not public: the columns are found by the names below, the sample index is the seed,
and what `scores.json` calls deviations is kept word for word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from manifests.errors import BeforehandError
from manifests.importers.batches import RawRow, batches_of_raw_rows
from manifests.importers.logfiles import LogFile, read_json_document
from manifests.importers.mapping import RowMap
from manifests.importers.parquet_table import parquet_entries
from manifests.importers.reading import Defaults, Headline, LogFacts, Part, Reading, Tally

NAME = "scores@1"
NAMES: Mapping[str, tuple[str, ...]] = {
    "problem_id": ("unique_id", "source_id", "problem_id"),
    "sampling": ("pass_name", "pass", "sampling"),
    "sample_idx": ("sample_idx", "seed"),
    "seed": ("seed",),
    "max_tokens": ("max_tokens", "max_new_tokens"),
    "n_prompt_tokens": ("prompt_tokens", "n_prompt_tokens"),
    "n_completion_tokens": ("output_tokens", "completion_tokens", "n_tokens", "n_completion_tokens"),
    "finish_reason": ("finish_reason",),
    "completion": ("completion", "text", "output", "generation"),
    "answer": ("extracted", "extracted_answer", "answer", "pred"),
    "extractor": ("extractor", "extraction_method"),
    "correct": ("correct", "is_correct"),
    "statement": ("prompt", "problem"),
}
TRUNCATED = "truncated"
GREEDY = "greedy"


class ScoresImporter:
    """`generations.parquet` with its `scores.json`."""

    NAME = NAME

    def part(self, file: LogFile) -> Part | None:
        """A table of samples with a seed and an extractor; a document with deviations and the model's resolved commit."""
        if file.container == "parquet":
            needed = {"seed", "extractor"} <= file.columns and bool({"unique_id", "source_id"} & file.columns)
            return "log" if needed and {"correct", "is_correct"} & file.columns else None
        return "companion" if {"deviations", "resolved_sha"} <= file.columns else None

    def read(
        self,
        log: LogFile,
        companions: Sequence[LogFile] = (),
        *,
        defaults: Defaults,
        row_map: RowMap | None = None,
    ) -> Reading:
        """Open the table; the scores say which commit it was, what deviated and what was published."""
        del row_map
        path = log.path
        columns = {
            name: found
            for name, names in NAMES.items()
            if (found := next((one for one in names if one in log.columns), None)) is not None
        }
        scores = read_json_document(companions[0].path) if companions else {}
        tally = Tally()
        return Reading(
            importer=NAME,
            files=(path, *(companion.path for companion in companions)),
            batches=batches_of_raw_rows(_rows(path, columns, defaults), path, tally, defaults),
            tally=tally,
            facts=_facts(scores),
        )


def _rows(path: Path, columns: Mapping[str, str], defaults: Defaults) -> Iterator[RawRow]:
    seen: Counter[tuple[object, object]] = Counter()
    for entry in parquet_entries(path):
        cells = {name: entry.value[found] for name, found in columns.items()}
        sampling = cells.pop("sampling", None) or defaults.sampling
        if (
            cells.get("sample_idx") is None or sampling == GREEDY
        ):  # a greedy pass has one sample, whatever its seed
            cells["sample_idx"] = seen[sampling, cells["problem_id"]]
            seen[sampling, cells["problem_id"]] += 1
        if "finish_reason" not in cells and TRUNCATED in entry.value:
            cells["finish_reason"] = {True: "length", False: "stop"}.get(entry.value[TRUNCATED])
        yield RawRow(
            place=f"{path.name} row {entry.number}",
            size=entry.size,
            sampling=sampling,
            cap_tokens=defaults.cap_tokens,
            **cells,
        )


def _facts(scores: dict[str, Any]) -> LogFacts:
    deviations = scores.get("deviations") or []
    if not isinstance(deviations, list):
        raise BeforehandError("its deviations are no list", where="scores.json")
    model = scores.get("model") or scores.get("model_id")
    return LogFacts(
        system=model if isinstance(model, str) else None,
        revision=scores.get("resolved_sha"),
        benchmark=scores["benchmark"] if isinstance(scores.get("benchmark"), str) else None,
        headlines=tuple(_headlines(scores)),
        deviations=tuple(str(text) for text in deviations),
    )


def _headlines(scores: dict[str, Any]) -> Iterator[Headline]:
    """`passes` (or `scores`): pass name -> {accuracy, n_samples}; an accuracy above 1 is in per cent."""
    passes = scores.get("passes") or scores.get("scores") or {}
    for name, stated in passes.items() if isinstance(passes, dict) else ():
        value = stated.get("accuracy") if isinstance(stated, dict) else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield Headline(
                name=f"{name} accuracy",
                value=value / 100 if value > 1 else float(value),
                n=stated.get("n_samples"),
                sampling=name,
            )
