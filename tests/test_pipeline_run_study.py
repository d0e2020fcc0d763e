"""The bundled study `smollm2-prompting`: registered before its rows, whole, and what its files say."""

import json
import subprocess
from pathlib import Path

import pytest

from ledger.book import read_ledger
from manifests.rows import read_rows
from manifests.study import Study
from pipeline.checking import check_units
from pipeline.generations import parse_generations
from pipeline.journal import read_journal
from pipeline.stages import runnable_units, standing
from pipeline.verify.verdicts import parse_verdicts
from prereg.plan import load_design
from prereg.verify import verify

ROOT = Path(__file__).resolve().parent.parent
STUDY = ROOT / "studies/smollm2-prompting"
UNITS = runnable_units(load_design(STUDY / "PREREGISTRATION.md"))


def first_commit(*paths):
    """Number of commits before the one that brought the first of these paths; None without a history."""
    log = subprocess.run(
        ["git", "log", "--reverse", "--diff-filter=A", "--format=%H", "--", *paths],
        cwd=STUDY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if log.returncode or not log.stdout.strip():
        return None
    first = log.stdout.split()[0]
    count = ["git", "rev-list", "--count", first]
    return int(subprocess.run(count, cwd=STUDY, capture_output=True, text=True, check=True).stdout)


def test_the_registration_was_committed_before_the_first_row():
    registered = first_commit("registration.json")
    if registered is None:
        pytest.skip("this copy has no git history")
    assert registered < first_commit("units", "runs", "manifests")


def test_the_registration_is_what_was_frozen():
    assert ("unchanged", ()) == ((found := verify(STUDY)).status, found.findings)


def test_every_unit_is_there_and_nothing_is_left_to_run():
    assert 4 == len(UNITS)
    assert [()] * 4 == [standing(STUDY, unit).left for unit in UNITS]
    assert () == check_units(Study.open(STUDY))


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_the_rows_are_those_of_the_journals(unit):
    folder = STUDY / f"runs/{unit}"
    generations = parse_generations(
        read_journal(folder / "generations.jsonl").lines, where="generations.jsonl"
    )
    verdicts = parse_verdicts(
        read_journal(folder / "verdicts.jsonl").lines, generations, where="verdicts.jsonl"
    )
    rows = read_rows(STUDY / f"units/{unit}/rows.parquet").to_pylist()
    assert len(rows) == len(generations) == len(verdicts)
    for row in rows:
        key = tuple(row[name] for name in ("sampling", "problem_id", "sample_idx", "round", "cap_tokens"))
        assert (generations[key].completion_text, verdicts[key].correct) == (
            row["completion"],
            row["correct"],
        )


def test_no_problem_has_the_numbers_of_another_in_any_order():
    import runpy

    made = runpy.run_path(str(STUDY / "make_problems.py"))
    sets = made["all_sets"]()
    used, _ = made["pilot"]()
    keys = [made["key"](p["family"], p["question"]) for problems in sets.values() for p in problems]
    assert len(keys) == len(set(keys))
    assert not used & set(keys)
    for name in ("words", "unshown"):
        there = [json.loads(line) for line in (STUDY / f"problems/{name}.jsonl").read_text().splitlines()]
        assert sorted(sets[name], key=lambda one: one["problem_id"]) == there


def test_the_seconds_of_every_stage_are_booked_at_no_price():
    ledger = read_ledger(STUDY / "ledger.csv", study_name="smollm2-prompting")
    booked = [entry for entry in ledger.entries if entry.kind == "book"]
    assert () == ledger.findings
    assert {f"run:{unit}:{stage}" for unit in UNITS for stage in ("generate", "verify")} == {
        e.job_id for e in booked
    }
    assert {0} == {entry.amount_usd for entry in booked}
