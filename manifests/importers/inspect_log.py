"""Logs of Inspect (inspect_ai): `.eval` archives and JSON documents, written to the end or not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from manifests.errors import BeforehandError
from manifests.importers.archive import Archive
from manifests.importers.batches import RawRow, batches_of_raw_rows
from manifests.importers.logfiles import LogFile, read_json_document
from manifests.importers.mapping import RowMap
from manifests.importers.reading import Defaults, Headline, LogFacts, Part, Reading, Tally
from manifests.rows import INFRASTRUCTURE

NAME = "inspect@2"
FINISH = {
    "stop": "stop", "tool_calls": "stop", "content_filter": "stop", "max_tokens": "length", "model_length": "length",
}  # fmt: skip
VERDICTS = {"C": True, "I": False, "N": False}
"""correct, incorrect, no answer. Partial credit (P) is no verdict and is refused."""


class InspectImporter:
    """One `.eval` or JSON log."""

    NAME = NAME

    def part(self, file: LogFile) -> Part | None:
        """An archive with a start or a header, or a document with `eval` and `plan`."""
        if file.container == "zip":
            names = Archive.open(file.path).names()
            return "log" if {"header.json", "_journal/start.json"} & set(names) else None
        return "log" if {"version", "eval", "plan"} <= file.columns else None

    def read(
        self,
        log: LogFile,
        companions: Sequence[LogFile] = (),
        *,
        defaults: Defaults,
        row_map: RowMap | None = None,
    ) -> Reading:
        """Open the log. A sample that died has a row without verdict, so that no denominator shrinks."""
        del companions, row_map
        path = log.path
        if log.container == "zip":
            archive = Archive.open(path)
            header = _header(archive)
            samples = _members(archive)
        else:
            header = read_json_document(path)
            samples = _listed(header, path)
        scorer, others = _scorers(header)
        tally = Tally()
        facts = _facts(header, scorer, others)
        rows = (
            _row(sample, size, (scorer, others), place, defaults, facts) for sample, size, place in samples
        )
        return Reading(
            importer=NAME,
            files=(path,),
            batches=batches_of_raw_rows(rows, path, tally, defaults),
            tally=tally,
            facts=facts,
        )


def _header(archive: Archive) -> dict[str, Any]:
    """The log's head; of a run that was stopped there is only its start."""
    name = "header.json" if "header.json" in archive.names() else "_journal/start.json"
    found = _parsed(archive.read(name), f"{archive.path} {name}")
    return found if "status" in found else {**found, "status": "started"}


def _members(archive: Archive) -> Iterator[tuple[dict[str, Any], int, str]]:
    for name in archive.names():
        if name.startswith("samples/") and name.endswith(".json"):
            data = archive.read(name)
            yield _parsed(data, f"{archive.path} {name}"), len(data), f"{archive.path.name} {name}"


def _listed(header: dict[str, Any], path: Path) -> Iterator[tuple[dict[str, Any], int, str]]:
    samples = header.get("samples") or []
    size = path.stat().st_size // max(1, len(samples))
    for number, sample in enumerate(samples):
        yield sample, size, f"{path.name} samples[{number}]"


def _parsed(data: bytes, where: str) -> dict[str, Any]:
    try:
        found = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as err:
        raise BeforehandError(f"is no JSON: {err}", where=where) from err
    if not isinstance(found, dict):
        raise BeforehandError("is no JSON object", where=where)
    return found


def _scorers(header: dict[str, Any]) -> tuple[str | None, list[str]]:
    """The scorer whose verdicts are taken, the first, and the others."""
    named = [score["name"] for score in (header.get("results") or {}).get("scores", [])]
    named += [scorer["name"] for scorer in header.get("eval", {}).get("scorers") or []]
    distinct = list(dict.fromkeys(named))
    return (distinct[0] if distinct else None), distinct[1:]


def _row(
    sample: dict[str, Any],
    size: int,
    scorers: tuple[str | None, Sequence[str]],
    place: str,
    defaults: Defaults,
    facts: LogFacts,
) -> RawRow:
    output = sample.get("output") or {}
    choice: dict[str, Any] = next(iter(output.get("choices") or []), {})
    usage = output.get("usage") or {}
    score = _score(sample.get("scores") or {}, *scorers)
    error = sample.get("error")
    value = None if error else score.get("value")
    epoch = sample.get("epoch", 1)
    return RawRow(
        place=place,
        size=size,
        problem_id=sample.get("id"),
        sampling=defaults.sampling,
        sample_idx=epoch - 1 if isinstance(epoch, int) else epoch,
        cap_tokens=defaults.cap_tokens if defaults.cap_tokens is not None else facts.cap_tokens,
        max_tokens=facts.cap_tokens,
        n_prompt_tokens=usage.get("input_tokens"),
        n_completion_tokens=usage.get("output_tokens"),
        finish_reason="error" if error else FINISH.get(choice.get("stop_reason") or ""),
        completion=_text((choice.get("message") or {}).get("content")),
        answer=score.get("answer"),
        correct=VERDICTS.get(value, value) if isinstance(value, str) else value,
        reasons=_reasons(sample, choice),
        statement=_text(sample.get("input")),
    )


def _score(scores: dict[str, Any], scorer: str | None, others: Sequence[str]) -> dict[str, Any]:
    """The chosen scorer's score; where it is silent, another's is taken only if there was one scorer and one score."""
    if scorer in scores:
        return scores[scorer] or {}
    sole = scorer is not None and not others and len(scores) == 1
    return next(iter(scores.values())) if sole else {}


def _reasons(sample: dict[str, Any], choice: dict[str, Any]) -> tuple[str, ...]:
    reasons = []
    if sample.get("error"):
        reasons.append(f"{INFRASTRUCTURE}{str(sample['error'].get('message', 'sample error'))[:200]}")
    if choice.get("stop_reason") == "content_filter":
        reasons.append("content_filter")
    if sample.get("error_retries"):  # the tokens of the row are those of the last try alone
        reasons.append(f"retried:{len(sample['error_retries'])}")
    if sample.get("limit"):
        reasons.append(f"limit:{sample['limit'].get('type')}")
    return tuple(reasons)


def _text(content: object) -> str | None:
    """A message's text; of a list of parts or messages, the texts joined."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") or part.get("content") for part in content if isinstance(part, dict)]
        return "\n".join(text for part in parts if (text := _text(part)) is not None)
    return json.dumps(content, ensure_ascii=False)


def _facts(header: dict[str, Any], scorer: str | None, others: Sequence[str]) -> LogFacts:
    run = header.get("eval", {})
    results = header.get("results") or {}
    settings = {
        **(run.get("model_generate_config") or {}),
        **((header.get("plan") or {}).get("config") or {}),
    }
    ids = run.get("dataset", {}).get("sample_ids")
    epochs = run.get("config", {}).get("epochs") or 1
    planned = None if ids is None else len(ids) * epochs
    deviations = []
    if header.get("status") != "success":
        deviations.append(f"status: {header.get('status')}")
    if planned is not None and results.get("completed_samples") not in {None, planned}:
        deviations.append(
            f"status: {results['completed_samples']} of {planned} planned samples were completed"
        )
    whole = run.get("dataset", {}).get("samples")
    if whole is not None and ids is not None and len(ids) < whole:
        deviations.append(f"limit: {len(ids)} of the {whole} problems of {run['dataset'].get('name')}")
    return LogFacts(
        system=run.get("model"),
        benchmark=run.get("task"),
        verifier=scorer,
        n_problems=None if ids is None else len(ids),
        n_samples=epochs,
        temperature=settings.get("temperature"),
        top_p=settings.get("top_p"),
        cap_tokens=settings.get("max_tokens"),
        headlines=tuple(_headlines(results, scorer)),
        deviations=tuple(deviations),
        notes=(f"verdicts of the scorer {scorer}; others left out: {', '.join(others)}",) if others else (),
    )


def _headlines(results: dict[str, Any], scorer: str | None) -> Iterator[Headline]:
    for score in results.get("scores", []):
        accuracy = score.get("metrics", {}).get("accuracy", {}).get("value")
        if score.get("name") == scorer and score.get("reducer") in {None, "mean"} and accuracy is not None:
            yield Headline(name="accuracy", value=float(accuracy))
