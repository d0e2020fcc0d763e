"""Problem sets: one JSON object a line, each with a `problem_id`; the rest of the line is the benchmark's own."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from manifests.digests import sha256_bytes
from manifests.errors import BeforehandError, FindingsError
from manifests.files import read_bytes
from manifests.jsonlines import parse_json_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemSet:
    """The problems of a benchmark, sorted by id. strata: one label per problem, or None when none were asked for."""

    ids: tuple[str, ...]
    sha256: str
    strata: tuple[str, ...] | None = None


def read_problem_fields(path: Path) -> dict[str, dict[str, JsonValue]]:
    """Problem id -> every field of its line."""
    lines = parse_json_lines(read_bytes(path), where=str(path))
    if lines.findings:
        raise FindingsError("is no problem set", lines.findings, where=str(path))
    return {str(line.value.get("problem_id")): line.value for line in lines.records}


def read_problems(path: Path, *, strata_field: str | None = None) -> ProblemSet:
    """Read a problem set; missing, empty or duplicate ids are refused.

    strata_field: a field of every line whose value labels the problem's stratum.
    """
    data = read_bytes(path)
    lines = parse_json_lines(data, where=str(path))
    if lines.findings:
        raise FindingsError("is no problem set", lines.findings, where=str(path))
    labels: dict[str, str] = {}
    ids = []
    for line in lines.records:
        problem_id = line.value.get("problem_id")
        if not isinstance(problem_id, str) or not problem_id:
            raise BeforehandError("problem_id is missing or no string", where=f"{path}:{line.number}")
        ids.append(problem_id)
        if strata_field is not None:
            if strata_field not in line.value:
                raise BeforehandError(f"the field {strata_field!r} is missing", where=f"{path}:{line.number}")
            labels[problem_id] = str(line.value[strata_field])
    repeated = [problem_id for problem_id, count in Counter(ids).items() if count > 1]
    if repeated:
        raise BeforehandError(f"problem_id {repeated[0]!r} stands more than once", where=str(path))
    ordered = tuple(sorted(ids))
    strata = tuple(labels[problem_id] for problem_id in ordered) if strata_field is not None else None
    return ProblemSet(ids=ordered, sha256=sha256_bytes(data), strata=strata)
