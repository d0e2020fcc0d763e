"""`beforehand units regrade`: which verdicts change when the stored completions are judged again."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

import click

from manifests.console import Outcome, note, reporting, table
from manifests.errors import Finding
from manifests.study import Study
from pipeline.regrading import Change, Grading, Regrade, regrade_unit, units_of


@click.command("regrade")
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--unit", "unit_text", metavar="ID", help="One unit; without it, all that are there.")
@click.option(
    "--config", "config_path", type=click.Path(path_type=Path), help="Another configuration of the verifier."
)
@click.option("--workers", type=click.IntRange(min=1), default=os.cpu_count() or 1, show_default=True)
@reporting
def regrade_command(study: Path, unit_text: str | None, config_path: Path | None, workers: int) -> Outcome:
    """Judge stored completions again and list each row whose verdict changes.

    Units are never rewritten: the new verdicts lie in STUDY/regrade/UNIT, one file a version of the grader.
    """
    opened = Study.open(study)
    done: list[Regrade] = []
    for unit in units_of(opened, unit_text):
        note(f"{unit}: judging")
        done.append(regrade_unit(opened, unit, workers=workers, config_path=config_path))
    findings = tuple(
        Finding(
            where=str(one.grading.unit),
            what=f"{len(one.changes)} of {len(one.stored)} verdicts change",
            mend=f"read them in {one.path.relative_to(opened.root)}; to use them, import the log as a unit of another name",
        )
        for one in done
        if one.changes
    )
    return Outcome(
        text="\n\n".join(_text(one) for one in done) or "no unit is there",
        document={"units": [_document(one) for one in done]},
        findings=findings,
    )


def _text(one: Regrade) -> str:
    """Graders side by side, then each row that changes."""
    numbers = ["Rows", "Correct", "Other than stored"]
    stored = [["stored", "", str(len(one.stored)), str(_n_correct(one)), ""]]
    graders = [_grader_row(grading, one) for grading in (one.grading, *one.others)]
    parts = [
        f"{one.grading.unit}",
        table(["Grader", "Versions", *numbers], [*stored, *graders], numeric=numbers),
    ]
    if one.n_without_text:
        parts.append(f"{one.n_without_text} rows hold no completion and were not judged")
    if one.changes:
        columns = ["Row", "Stored", "Now", "Stored answer", "Answer", "Extractor", "Why"]
        parts.append(table(columns, [_change_row(change) for change in one.changes]))
    return "\n".join(parts)


def _grader_row(grading: Grading, one: Regrade) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in sorted(grading.pins.items()))
    if grading.rows_sha256 != one.grading.rows_sha256:
        return [grading.grader, versions, "other rows", "", ""]
    return [
        grading.grader, versions, str(len(grading.verdicts)), str(grading.n_correct), str(one.n_other(grading)),
    ]  # fmt: skip


def _n_correct(one: Regrade) -> int:
    return sum(verdict is True for verdict in one.stored.values())


def _change_row(change: Change) -> list[str]:
    words = {True: "correct", False: "wrong", None: "no verdict"}
    return [
        change.row, words[change.stored], words[change.now], change.stored_answer or "", change.answer or "",
        change.extractor or "", ", ".join(change.reasons),
    ]  # fmt: skip


def _document(one: Regrade) -> dict[str, object]:
    graders = [
        {
            "grader": grading.grader,
            "pins": dict(grading.pins),
            "rows": len(grading.verdicts),
            "correct": grading.n_correct,
        }
        for grading in (one.grading, *one.others)
    ]
    return {
        "unit": str(one.grading.unit),
        "rows": len(one.stored),
        "without_completion": one.n_without_text,
        "stored_correct": _n_correct(one),
        "graders": graders,
        "changes": [asdict(change) for change in one.changes],
    }
