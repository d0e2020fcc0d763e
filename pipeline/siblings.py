"""The audit across units: what two units must have in common before their numbers stand in one table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from manifests.errors import BeforehandError, Finding
from manifests.files import read_bytes
from manifests.importers.headlines import DIFFERS
from manifests.jsonlines import parse_json_lines
from manifests.records import UnitRecord
from manifests.rows import STATEMENTS_FILE
from manifests.stores import Store

Pair = tuple[UnitRecord, UnitRecord]


def audit_source(record: UnitRecord) -> Iterator[Finding]:
    """What the logs of a unit said of themselves and what their rows do not bear out."""
    for sentence in record.deviations:
        if sentence.startswith(DIFFERS):
            mend = "the rows are what counts: find out over which rows the source computed its number"
            yield Finding(where=record.unit, what=sentence.removeprefix(DIFFERS), mend=mend)
        elif sentence.startswith("counter: "):
            mend = "the last value is not the total: book the sum of the segments"
            yield Finding(where=record.unit, what=sentence.removeprefix("counter: "), mend=mend)
        elif sentence.startswith(("status: ", "limit: ")):
            mend = "the log calls itself incomplete: finish the run, or name the deviation in DECISIONS.md"
            yield Finding(where=record.unit, what=f"its log says “{sentence}”", mend=mend)


def audit_siblings(store: Store, records: Sequence[UnitRecord]) -> Iterator[Finding]:
    """Units of one benchmark whose problem set, statements, verifier, prompts or coverage differ."""
    groups: dict[str, list[UnitRecord]] = defaultdict(list)
    for record in records:
        groups[record.unit_id.benchmark].append(record)
    for group in groups.values():
        for pair in combinations(group, 2):
            yield from _differences(pair)
        yield from _statements(store, group)


def _differences(pair: Pair) -> Iterator[Finding]:
    first, second = pair
    where = f"{first.unit}, {second.unit}"
    if first.benchmark.sha256 != second.benchmark.sha256:
        what = "have problem sets with other digests"
        yield Finding(
            where=where,
            what=what,
            mend="import both against one problem file, or give the other set a name of its own",
        )
    if first.unit_id.protocol != second.unit_id.protocol:
        return
    if first.verifier != second.verifier:
        mend = "regrade one of them: a difference of verifiers reads as a difference of systems"
        yield Finding(
            where=where, what=f"have other verifiers: {_named(first)} and {_named(second)}", mend=mend
        )
    if (
        None not in {first.prompts_sha256, second.prompts_sha256}
        and first.prompts_sha256 != second.prompts_sha256
    ):
        yield Finding(
            where=where,
            what="have prompts with other digests",
            mend="give the other prompts a protocol of their own",
        )
    for name in sorted(first.counts.keys() & second.counts.keys()):
        shares = [record.counts[name].got / max(1, record.counts[name].planned) for record in pair]
        if min(shares) < 1 <= max(shares):
            got = [f"{record.counts[name].got} of {record.counts[name].planned}" for record in pair]
            what = f"{name}: {got[0]} rows beside {got[1]}"
            yield Finding(
                where=where,
                what=what,
                mend="one is a part of a run: compare on shared samples only, and say so",
            )


def _named(record: UnitRecord) -> str:
    pins = ", ".join(f"{key} {value}" for key, value in sorted(record.verifier.pins.items()))
    return f"{record.verifier.kind} ({pins})" if pins else record.verifier.kind


def _statements(store: Store, group: Sequence[UnitRecord]) -> Iterator[Finding]:
    """Every id that stands for another text than in the first unit that has it."""
    texts: dict[str, tuple[str, str]] = {}
    for record in group:
        if STATEMENTS_FILE not in {file.path for file in record.files}:
            continue
        path = store.folder(record.unit_id) / STATEMENTS_FILE
        try:
            lines = parse_json_lines(read_bytes(path), where=str(path)).records
        except BeforehandError as err:
            yield Finding(where=err.where, what=err.what, mend=err.mend)
            continue
        other: dict[str, list[str]] = defaultdict(list)
        for line in lines:
            problem_id, digest = str(line.value["problem_id"]), str(line.value["sha256"])
            unit, known = texts.setdefault(problem_id, (record.unit, digest))
            if known != digest:
                other[unit].append(problem_id)
        for unit, ids in other.items():
            yield Finding(
                where=f"{unit}, {record.unit}",
                what=f"{len(ids)} ids stand for other texts (first: {ids[0]!r})",
                mend="these are other problems or other prompts: mend the ids, or give them a benchmark of their own",
            )
