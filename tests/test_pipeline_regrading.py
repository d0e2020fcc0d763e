"""`units regrade`: verdicts that change, graders side by side, and units that stay as they are."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from unit_studies import make_study, samples

from manifests.errors import BeforehandError, NotInOrderError
from manifests.hub.cache import cached_path
from manifests.hub.layout import unit_path
from manifests.names import UnitId
from manifests.pins import Pin, write_pins
from manifests.stores import LocalStore, load_record
from pipeline import regrading
from pipeline.checking import check_units
from pipeline.cli import units
from pipeline.regrading import regrade_unit, units_of

UNIT = UnitId.parse("base.main.k")
TOY = """
import os, time
from types import SimpleNamespace
from pipeline.verify.contract import Judgement

def open_verifier(config):
    def judge(submission):
        if "sleep" in submission.text:
            time.sleep(60)
        if "die" in submission.text:
            os._exit(1)
        right = submission.text == submission.problem["gold"]
        return Judgement(status="accepted" if right else "rejected", answer=submission.text, extractor="whole")
    return SimpleNamespace(judge=judge, pins={"toy": str(config.get("version", "1"))})
"""
PROBLEMS = [{"problem_id": f"p{index}", "gold": f"text {index} 0"} for index in range(6)]
VERIFIER = '{ kind = "math", budget_s = 2.0, ladder = "last boxed" }'


@pytest.fixture
def working(tmp_path, monkeypatch):
    (tmp_path / "toy_verifier.py").write_text(TOY)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setattr(regrading, "MODULES", {"math": "toy_verifier"})
    return make_study(tmp_path, problems=PROBLEMS, verifier=VERIFIER)


def rows(**changes):
    """Stored verdicts that the toy agrees with, but for `changes`: place -> fields."""
    found = samples()
    for row in found:
        row["correct"] = row["sample_idx"] == 0
        row["answer"] = None
    for place, fields in changes.items():
        found[int(place[1:])].update(fields)
    return found


def test_each_row_whose_verdict_changes_is_listed(working):
    working.import_rows(*rows(_0={"correct": False}, _1={"correct": True, "answer": "old"}))
    done = regrade_unit(working.study, UNIT, workers=2)
    assert [("main p0 0 0 64", False, True), ("main p0 1 0 64", True, False)] == [
        (change.row, change.stored, change.now) for change in done.changes
    ]
    assert ("old", "text 0 1", "whole") == (
        done.changes[1].stored_answer, done.changes[1].answer, done.changes[1].extractor,
    )  # fmt: skip


def test_a_unit_is_never_rewritten(working):
    working.import_rows(*rows(_0={"correct": False}))
    before = {path: path.read_bytes() for path in working.root.rglob("*") if path.is_file()}
    done = regrade_unit(working.study, UNIT, workers=1)
    assert before == {path: path.read_bytes() for path in before}
    assert done.path.parent == working.root / "regrade/base.main.k"
    assert check_units(working.study) == ()


def test_two_grader_versions_stand_side_by_side(working, tmp_path):
    working.import_rows(*rows(_0={"correct": False}))
    regrade_unit(working.study, UNIT, workers=1)
    config = tmp_path / "other.toml"
    config.write_text('version = "2"\n')
    done = regrade_unit(working.study, UNIT, workers=1, config_path=config)
    assert ({"toy": "2"}, [{"toy": "1"}]) == (done.grading.pins, [other.pins for other in done.others])
    assert len(list(done.path.parent.glob("*.jsonl"))) == 2
    result = CliRunner().invoke(units, ["regrade", str(working.root), "--config", str(config)])
    assert result.exit_code == 1
    assert all(
        word in result.stdout
        for word in ("stored", "toy 1", "toy 2", "main p0 0 0 64", "1 of 12 verdicts change")
    )


def test_no_change_is_exit_code_0(working):
    working.import_rows(*rows())
    result = CliRunner().invoke(units, ["regrade", str(working.root), "--json"])
    assert (0, []) == (result.exit_code, json.loads(result.stdout)["units"][0]["changes"])


def test_time_is_the_models_failure_and_a_dead_verifier_is_nobodys(working):
    working.import_rows(*rows(_0={"completion": "sleep"}, _2={"completion": "die"}))
    done = regrade_unit(working.study, UNIT, workers=2)
    assert {"main p0 0 0 64": False, "main p1 0 0 64": None} == {
        change.row: change.now for change in done.changes
    }


def test_rows_without_completion_are_counted_and_not_judged(working):
    working.import_rows(*rows(_0={"completion": None}))
    done = regrade_unit(working.study, UNIT, workers=1)
    assert (1, 11) == (done.n_without_text, len(done.grading.verdicts))


def test_damaged_rows_are_not_regraded(working):
    working.import_rows(*rows())
    path = working.root / "units/base.main.k/rows.parquet"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(NotInOrderError):
        regrade_unit(working.study, UNIT, workers=1)


def test_a_problem_file_that_is_not_the_registered_one_grades_nothing(working):
    working.import_rows(*rows())
    path = working.root / "problems.jsonl"
    path.write_text(path.read_text().replace("text 0 0", "text 0 1"))
    with pytest.raises(BeforehandError, match=r"has sha256 .*, the design says"):
        regrade_unit(working.study, UNIT, workers=1)
    assert not (working.root / "regrade").exists()


def test_a_unit_whose_protocol_left_the_design_is_an_error_that_names_it(working):
    working.import_rows(*rows())
    path = working.root / "PREREGISTRATION.md"
    text = path.read_text().replace("protocols.k]", "protocols.m]").replace('"k"', '"m"')
    path.write_text(text.replace("other.main.k", "other.main.m"))
    error = CliRunner().invoke(units, ["regrade", str(working.root)]).exception
    assert (2, "the design has no protocol 'k'") == (error.exit_code, error.what)


def test_a_sample_that_was_cut_is_rejected_whatever_stands_in_it(working):
    cut = {"finish_reason": "length", "n_completion_tokens": 64}
    working.import_rows(*rows(_0=cut, _2={"finish_reason": None}))
    done = regrade_unit(working.study, UNIT, workers=1)
    assert [("main p0 0 0 64", True, False, ("truncated",))] == [
        (one.row, one.stored, one.now, one.reasons) for one in done.changes
    ]


def test_a_unit_that_lies_in_the_cache_is_regraded_from_there(working, tmp_path, monkeypatch):
    working.import_rows(*rows(_0={"correct": False}))
    record, digest = load_record(LocalStore(working.root), UNIT)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    study_toml = working.root / "study.toml"
    study_toml.write_text(study_toml.read_text() + 'store = { hub = "org/units" }\n')
    pin = Pin(repo="org/units", revision="c" * 40, record_sha256=digest)
    write_pins(working.root, {UNIT: pin})
    there = cached_path(pin.place, unit_path(UNIT, record.files[0].path)).parent
    there.parent.mkdir(parents=True)
    (working.root / f"units/{UNIT}").rename(there)
    assert [UNIT] == list(units_of(working.study, None))
    assert ["main p0 0 0 64"] == [one.row for one in regrade_unit(working.study, UNIT, workers=1).changes]


def test_a_verifier_that_cannot_regrade_is_named(tmp_path):
    working = make_study(tmp_path, verifier='{ kind = "lean" }')
    working.import_rows(*samples())
    with pytest.raises(BeforehandError, match="has the verifier lean, which cannot regrade completions"):
        regrade_unit(working.study, UNIT, workers=1)


def test_the_pilots_verdicts_come_out_again_but_for_one_empty_answer_line():
    pytest.importorskip("math_verify", reason="math-verify is not installed: the extra `math`")
    from pipeline.verify.contract import Submission
    from pipeline.verify.math_verifier import open_verifier

    raw = Path(__file__).resolve().parents[1] / "studies/smollm2-raft-pilot/raw"
    verifier = open_verifier({"ladder": ["answer_line", "boxed", "last_number"]})
    other = []
    for line in (raw / "raft-step38_eval_sample8.jsonl").read_text().splitlines():
        row = json.loads(line)
        problem = {"gold": row["gold"]}
        judged = verifier.judge(Submission(text=row["text"], truncated=not row["ended"], problem=problem))
        if (judged.status == "accepted") != row["ok"]:
            other.append((row["ok"], row["answer"].strip(), judged.extractor))
    # Its grader took a last `Answer:` line with nothing after it for the answer; the ladder here goes on to the next rung.
    assert other == [(False, "", "last_number")]
