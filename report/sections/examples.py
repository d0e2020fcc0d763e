"""Examples: a gained, a lost and a truncated sample as the model wrote them. The one place that reads completions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manifests.rows import read_rows
from report.content import Block, Cell, Code, Column, Heading, Table
from report.evidence import UnitEvidence
from report.numbers import DASH
from report.sections.material import Material, plain

LONGEST = 400
COLUMNS = (
    "sampling",
    "problem_id",
    "sample_idx",
    "round",
    "finish_reason",
    "completion",
    "answer",
    "correct",
)


def examples(material: Material, name: str) -> list[Block]:
    """The first such samples in key order, so that nobody chose them."""
    comparison = material.comparisons[name]
    if comparison.sides is None:
        return []
    rows = [
        (
            plain(why),
            Cell((Code(str(row["problem_id"])), f", {row['sample_idx']}")),
            plain("correct" if row["correct"] else "not correct"),
            Cell((Code(str(row["answer"])),)) if row["answer"] is not None else plain(DASH),
            Cell((Code(_cut(row["completion"])),)) if row["completion"] is not None else plain("not kept"),
        )
        for why, row in _chosen(material, name)
    ]
    if not rows:
        return []
    return [
        Heading(text="Samples, as the candidate wrote them"),
        Table(
            caption="First of their kind in key order; foreign text, shown as data",
            note=f"At most {LONGEST} characters of a completion.",
            columns=(
                Column("Why"), Column("Problem, sample"), Column("Verdict"), Column("Answer"), Column("Completion"),
            ),
            rows=tuple(rows),
            sortable=False,
            stacked=True,
        ),
    ]  # fmt: skip


def _chosen(material: Material, name: str) -> Iterator[tuple[str, dict[str, object]]]:
    sides = material.comparisons[name].sides
    if sides is None:
        return
    (_, sampling, _) = material.comparisons[name].compared[1]
    unit = next(one for key, one in material.evidence.units.items() if str(key) == sides.units[1])
    table = _rows(unit, sampling)
    rise = sides.candidate.values - sides.baseline.values
    ids = np.array(sides.candidate.problem_ids, dtype=object)
    for why, problems in (
        ("first problem that rose", ids[rise > 0]),
        ("first problem that fell", ids[rise < 0]),
    ):
        if len(problems):
            row = _first(table, pc.equal(table["problem_id"], str(problems[0])))
            if row is not None:
                yield why, row
    cut = _first(table, pc.equal(table["finish_reason"], "length"))
    if cut is not None:
        yield "first truncated sample", cut


def _rows(unit: UnitEvidence, sampling: str) -> pa.Table:
    table = read_rows(unit.rows_path, COLUMNS)
    return table.filter(pc.and_(pc.equal(table["sampling"], sampling), pc.equal(table["round"], 0)))


def _first(table: pa.Table, mask: pa.ChunkedArray) -> dict[str, object] | None:
    found = table.filter(mask).slice(0, 1).to_pylist()
    return found[0] if found else None


def _cut(completion: object) -> str:
    text = str(completion)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,d} characters)"
