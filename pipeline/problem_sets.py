"""The stage `problems`: a problem set of whatever origin becomes the canonical one, with a manifest of what is in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, JsonValue

from manifests.digests import sha256_bytes
from manifests.documents import Document, dump_document
from manifests.errors import BeforehandError, Finding, FindingsError
from manifests.files import read_bytes, write_atomically
from manifests.jsonlines import parse_json_lines

REFERENCES = ("gold", "answer", "formal_statement")
"""What a verifier holds an answer against: one of these fields."""
MOST_FINDINGS = 20


class ProblemManifest(Document):
    """`NAME.manifest.json` beside the set: what the design registers, and what a reader wants to know first."""

    format: Literal["problem-set/1"]
    name: str
    n: int = Field(ge=1)
    sha256: str
    source: str
    source_sha256: str
    text_field: str
    reference_field: str
    families: dict[str, int]
    """Problems by the field `family`, where they have one."""
    longest_text: int = Field(ge=0)
    """Characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemFields:
    """Under which names the source keeps things. reference: None takes the first of REFERENCES that it has."""

    id: str = "problem_id"
    text: str = "question"
    reference: str | None = None


def write_problem_set(source: Path, target: Path, *, fields: ProblemFields) -> ProblemManifest:
    """`target` holds the set: one object a line, sorted by id, keys sorted, LF; its manifest lies beside it.

    Raises FindingsError with every problem that lacks an id, a text or a reference, repeats an id, or repeats a text.
    """
    problems = _read(source)
    reference = fields.reference or next((name for name in REFERENCES if name in problems[0]), REFERENCES[0])
    findings = _findings(problems, fields, reference, where=source.name)
    if findings:
        raise FindingsError(
            "is no problem set", tuple(findings[:MOST_FINDINGS]), where=str(source), mend="mend the source"
        )
    named = {str(problem[fields.id]): _renamed(problem, fields) for problem in problems}
    data = "".join(
        json.dumps(named[key], sort_keys=True, ensure_ascii=False) + "\n" for key in sorted(named)
    ).encode()
    texts = [str(problem[fields.text]) for problem in problems]
    manifest = ProblemManifest(
        format="problem-set/1",
        name=target.stem,
        n=len(named),
        sha256=sha256_bytes(data),
        source=source.name,
        source_sha256=sha256_bytes(read_bytes(source)),
        text_field=fields.text,
        reference_field=reference,
        families=dict(sorted(Counter(str(p["family"]) for p in problems if "family" in p).items())),
        longest_text=max(map(len, texts)),
    )
    write_atomically(target, data)
    write_atomically(target.with_suffix(".manifest.json"), dump_document(manifest))
    return manifest


def _read(source: Path) -> list[Mapping[str, JsonValue]]:
    if source.suffix == ".parquet":
        try:
            found: list[Mapping[str, JsonValue]] = pq.read_table(source).to_pylist()
        except (pa.ArrowException, OSError) as err:
            raise BeforehandError(
                f"is no readable Parquet file: {str(err).splitlines()[0]}", where=str(source)
            ) from err
    else:
        lines = parse_json_lines(read_bytes(source), where=source.name)
        if lines.findings:
            raise FindingsError("is no problem set", lines.findings, where=str(source))
        found = [line.value for line in lines.records]
    if not found:
        raise BeforehandError("holds no problem", where=str(source), mend="give a file with at least one")
    return found


def _findings(
    problems: Sequence[Mapping[str, JsonValue]], fields: ProblemFields, reference: str, *, where: str
) -> list[Finding]:
    findings = []
    ids: Counter[str] = Counter()
    texts: Counter[str] = Counter()
    for number, problem in enumerate(problems, start=1):
        place = f"{where}:{number}"
        name, text = problem.get(fields.id), problem.get(fields.text)
        if not isinstance(name, str) or not name:
            findings.append(
                Finding(
                    where=place,
                    what=f"has no {fields.id}, or one that is no string",
                    mend="--id names the field",
                )
            )
        else:
            ids[name] += 1
        if not isinstance(text, str) or not text.strip():
            findings.append(
                Finding(where=place, what=f"has no text {fields.text!r}", mend="--text names the field")
            )
        else:
            texts[" ".join(text.split())] += 1
        if problem.get(reference) is None:
            findings.append(
                Finding(
                    where=place, what=f"has no {reference!r} to judge by", mend="--reference names the field"
                )
            )
        if fields.id != "problem_id" and "problem_id" in problem:
            findings.append(
                Finding(
                    where=place,
                    what=f"has {fields.id!r}, named as its id, and 'problem_id', which it would become",
                    mend="remove or rename one of them",
                )
            )
        if (reason := _unwritable(problem)) is not None:
            findings.append(Finding(where=place, what=f"cannot be written as JSON: {reason}"))
    findings += [
        Finding(where=where, what=f"the id {key!r} stands {n} times") for key, n in ids.items() if n > 1
    ]
    findings += [
        Finding(
            where=where,
            what=f"{n} problems have the same text: {key[:60]!r}",
            mend="one problem counted twice is two votes",
        )
        for key, n in texts.items()
        if n > 1
    ]
    return findings


def _unwritable(problem: Mapping[str, JsonValue]) -> str | None:
    """Why a problem has no place in a JSON file, or None: a lone surrogate, NaN, a date of a Parquet file."""
    try:
        json.dumps(problem, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except UnicodeEncodeError:
        return "it holds a lone surrogate"
    except (TypeError, ValueError) as err:
        return str(err)
    return None


def _renamed(problem: Mapping[str, JsonValue], fields: ProblemFields) -> dict[str, JsonValue]:
    return {("problem_id" if key == fields.id else key): value for key, value in problem.items()}
