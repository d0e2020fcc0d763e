"""A draft of a design from logs: benchmarks, systems, n and protocols as the logs tell them, FILL where they are silent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manifests.digests import sha256_bytes
from manifests.errors import BeforehandError
from manifests.importers.reading import NO_PLAN, LogFacts, Reading
from manifests.importers.recognition import recognise
from manifests.text import printable

COLUMNS = ("sampling", "problem_id", "sample_idx", "cap_tokens")
HUB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSummary:
    """What one log tells. statements: problem id -> sha256 of its text; samplings: name -> most samples of a problem."""

    file: str
    facts: LogFacts
    system: str
    benchmark: str
    problem_ids: tuple[str, ...]
    statements: dict[str, str]
    samplings: tuple[tuple[str, int], ...]
    cap_tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """fence: the design as TOML; files: path below the study, bytes; said: what a reader of the draft must know."""

    fence: str
    files: tuple[tuple[str, bytes], ...]
    said: tuple[str, ...]


def draft_design(paths: Sequence[Path]) -> Draft:
    """Read the logs to their end and write down what they tell. Logs that tell different things get names of their own."""
    logs = [_summary(log.read(defaults=NO_PLAN)) for log in recognise(paths)]
    if not logs:
        raise BeforehandError("no log was named", where="--from")
    logs = _named_apart(logs)
    files, benchmarks = [], []
    for name in dict.fromkeys(log.benchmark for log in logs):
        data, n = _problem_file([log for log in logs if log.benchmark == name])
        files.append((f"problems/{name}.jsonl", data))
        benchmarks += [
            f"[benchmarks.{name}]", f'problems = "problems/{name}.jsonl"', f'sha256 = "{sha256_bytes(data)}"', f"n = {n}", "",
        ]  # fmt: skip
    systems = [line for name in dict.fromkeys(log.system for log in logs) for line in _system(name, logs)]
    protocols = _protocols(logs)
    lines = ['format = "design/1"', "", *benchmarks, *systems, *protocols, *_endpoint(logs)]
    return Draft(fence="\n".join(lines).rstrip("\n") + "\n", files=tuple(files), said=tuple(_said(logs)))


def _summary(reading: Reading) -> LogSummary:
    batches = [batch.select(list(COLUMNS)) for batch in reading.batches]
    rows = pa.Table.from_batches(batches)
    caps = pc.unique(rows["cap_tokens"]).drop_null().to_pylist()
    if len(caps) > 1:
        raise BeforehandError(
            f"holds rows of {len(caps)} caps: {sorted(caps)}", where=reading.name, mend="split it by cap"
        )
    stem = Path(reading.name).stem
    return LogSummary(
        file=reading.name,
        facts=reading.facts,
        system=_slug(reading.facts.system or stem),
        benchmark=_slug(reading.facts.benchmark or "main"),
        problem_ids=tuple(sorted(pc.unique(rows["problem_id"]).to_pylist())),
        statements=reading.tally.statements,
        samplings=tuple(sorted(_samplings(rows))),
        cap_tokens=caps[0] if caps else reading.facts.cap_tokens,
    )


def _named_apart(logs: Sequence[LogSummary]) -> list[LogSummary]:
    """Models that the logs tell apart, by name or revision, have system names of their own: the second is NAME-2."""
    names: dict[tuple[str, str | None, str | None], str] = {}
    taken = {log.system for log in logs}
    for log in logs:
        told = (log.system, log.facts.system, log.facts.revision)
        if told in names:
            continue
        if log.system not in names.values():
            names[told] = log.system
            continue
        number = next(n for n in count(2) if _numbered(log.system, n) not in taken)
        names[told] = _numbered(log.system, number)
        taken.add(names[told])
    return [replace(log, system=names[log.system, log.facts.system, log.facts.revision]) for log in logs]


def _numbered(name: str, number: int) -> str:
    return f"{name[:44]}-{number}"


def _samplings(rows: pa.Table) -> Iterator[tuple[str, int]]:
    for name in pc.unique(rows["sampling"]).to_pylist():
        part = rows.filter(pc.equal(rows["sampling"], name))
        yield _slug(name), 1 + int(np.max(part["sample_idx"].to_numpy()))


def _problem_file(logs: Sequence[LogSummary]) -> tuple[bytes, int]:
    """Every problem that a log has; two logs that ask different things under one id are no one benchmark."""
    statements: dict[str, str] = {}
    ids: set[str] = set()
    for log in logs:
        ids |= set(log.problem_ids)
        for problem_id, digest in log.statements.items():
            if statements.setdefault(problem_id, digest) != digest:
                raise BeforehandError(
                    f"{problem_id!r} stands for another text than in the logs before it",
                    where=log.file,
                    mend="these are other problems or other prompts: draft from the logs of one benchmark at a time",
                )
    lines = [
        {"problem_id": one, **({"statement_sha256": statements[one]} if one in statements else {})}
        for one in sorted(ids)
    ]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode(), len(lines)


def _system(name: str, logs: Sequence[LogSummary]) -> list[str]:
    facts = next(log.facts for log in logs if log.system == name)
    told, revision = facts.system or "", facts.revision or ""
    if HUB_NAME.fullmatch(told) and COMMIT.fullmatch(revision):
        return [f"[systems.{name}]", f'model = {{ repo = "{told}", revision = "{revision}" }}', ""]
    words = f"the log calls it {told}" if told else "the log does not name its model"
    return [
        f"[systems.{name}]",
        "# FILL: repo and revision (40 hex digits), or leave this where none was recorded",
        f"model = {{ unrecorded = {_quoted(words + ' and gives no revision')} }}",
        "",
    ]  # fmt: skip


def _protocol(log: LogSummary) -> tuple[str, ...]:
    facts = log.facts
    settings = [
        f"{key} = {float(value)}" for key, value in (("temperature", facts.temperature), ("top_p", facts.top_p)) if value is not None
    ]  # fmt: skip
    samplings = [
        f"sampling.{name} = {{ {', '.join([f'samples = {n}', *settings])} }}" for name, n in log.samplings
    ]
    cap = (
        "cap_tokens = 0  # FILL: the log does not say it"
        if log.cap_tokens is None
        else f"cap_tokens = {log.cap_tokens}"
    )
    verifier = f'verifier = {{ kind = "imported", scorer = {_quoted(facts.verifier or "")} }}'
    unknown = "# FILL: who judged; the log does not say it"
    return (cap, verifier if facts.verifier else unknown, *samplings)


def _protocols(logs: Sequence[LogSummary]) -> list[str]:
    distinct = list(dict.fromkeys(_protocol(log) for log in logs))
    lines: list[str] = []
    for number, body in enumerate(distinct, start=1):
        lines += [f"[protocols.{_protocol_name(number)}]", *body, ""]
    return lines


def _protocol_name(number: int) -> str:
    return "main" if number == 1 else f"main{number}"


def _endpoint(logs: Sequence[LogSummary]) -> list[str]:
    """One question between the first two systems of the first benchmark."""
    first = logs[0]
    rivals = [log for log in logs if log.benchmark == first.benchmark and log.system != first.system]
    distinct = list(dict.fromkeys(_protocol(log) for log in logs))

    def side(log: LogSummary) -> str:
        return f'{{ system = "{log.system}", protocol = "{_protocol_name(1 + distinct.index(_protocol(log)))}" }}'

    return [
        "[endpoints.P1]",
        'role = "primary"                 # FILL: which question is asked, before you look',
        f"baseline = {side(first)}",
        f"candidate = {side(rivals[0])}" if rivals else 'candidate = "FILL: the system that is compared with it"',
        f'benchmark = "{first.benchmark}"',
        f'sampling = "{first.samplings[0][0]}"',
        'metric = { name = "mean_correct" }',
        'test = { name = "paired_bootstrap", level = "0.95", resamples = 10000, seed = 42 }',
        'decide = "ci_excludes_zero"',
    ]  # fmt: skip


def _said(logs: Sequence[LogSummary]) -> Iterator[str]:
    yield "these logs are older than the plan: what is computed from them is retrospective"
    for log in logs:
        yield f"{log.file}: {log.system} on {log.benchmark}, {len(log.problem_ids)} problems, samplings {', '.join(f'{name} {n}' for name, n in log.samplings)}"
        yield from (f"{log.file}: {sentence}" for sentence in log.facts.deviations)
    sizes = {
        log.benchmark: {len(other.problem_ids) for other in logs if other.benchmark == log.benchmark}
        for log in logs
    }
    for name, counts in sizes.items():
        if len(counts) > 1:
            yield f"{name}: its logs have from {min(counts)} to {max(counts)} problems; n counts all of them"


def _quoted(text: str) -> str:
    """Foreign text as a TOML string. TOML refuses DEL and JSON's pairs of surrogates, which json.dumps would write."""
    return json.dumps(printable(text), ensure_ascii=False)


def _slug(text: str) -> str:
    """A name for TOML and for paths, from a foreign name: its last part, lower case."""
    slug = re.sub(r"[^a-z0-9_-]+", "-", text.rsplit("/", 1)[-1].lower()).strip("-_")[:48]
    return slug or "unnamed"
