"""`units check`: what people reported, each as a study in which it happens."""

import hashlib
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from unit_studies import make_study, samples

from manifests.documents import validate_mapping
from manifests.errors import BeforehandError, FindingsError
from manifests.names import UnitId
from manifests.pins import Pin, write_pins
from manifests.sorting import RowsWriter
from manifests.study import Study
from pipeline import importing
from pipeline.checking import audit_units, check_units
from pipeline.cli import units
from prereg.amend import amend
from prereg.amendment import Amendment
from prereg.freeze import freeze
from prereg.plan import plan_problems

DATA = Path(__file__).parent / "data"
PILOT = Path(__file__).resolve().parents[1] / "studies/smollm2-raft-pilot"


def told(working):
    return "\n".join(
        f"{one.group}: {one.finding.where}: {one.finding.what}" for one in audit_units(working.study)
    )


def test_whole_rows_have_no_findings(tmp_path):
    working = make_study(tmp_path)
    working.import_rows(*samples())
    assert check_units(working.study) == ()


def test_the_pilot_has_no_findings():
    assert audit_units(Study.open(PILOT)) == ()


def test_rows_that_are_silently_missing_are_found(tmp_path):
    working = make_study(tmp_path, n_problems=228, n_samples=1)
    working.import_rows(*samples(228, 1)[100:])
    assert "coverage: base.main.k main: holds 128 of 228 problems (first: 'p0')" in told(working)


def test_a_part_of_a_run_beside_a_whole_one_is_found(tmp_path):
    working = make_study(tmp_path, n_problems=397, n_samples=1)
    working.import_rows(*samples(397, 1))
    working.import_rows(*samples(397, 1)[:257], unit="other.main.k")
    assert "across units: base.main.k, other.main.k: main: 397 of 397 rows beside 257 of 397" in told(working)


def test_unequal_denominators_and_holes_are_found(tmp_path):
    working = make_study(tmp_path, n_samples=4)
    rows = samples(6, 4)
    working.import_rows(
        *(row for row in rows if (row["problem_id"], row["sample_idx"]) not in {("p1", 3), ("p2", 0)})
    )
    assert "2 problems have fewer than 4 samples (from 3; first: 'p1'); 1 of them have a hole" in told(
        working
    )


def test_only_the_last_rows_scored_after_a_resume_is_found(tmp_path):
    working = make_study(tmp_path)
    rows = samples()
    for row in rows[:9]:
        row["correct"] = None
    working.import_rows(*rows)
    assert (
        "coverage: base.main.k main: 9 of 12 rows have no verdict, 0 of them for infrastructure reasons"
        in told(working)
    )


def test_a_resume_by_line_count_is_refused_at_import(tmp_path):
    working = make_study(tmp_path)
    rows = samples()
    with pytest.raises(FindingsError, match="1 keys stand more than once"):
        working.import_rows(*rows[:5], rows[4], *rows[6:])
    assert not (working.root / "units").exists()


def test_a_torn_line_that_was_appended_to_is_refused(tmp_path):
    working = make_study(tmp_path)
    path = tmp_path / "log.jsonl"
    lines = [json.dumps(row) for row in samples()]
    path.write_text(lines[0][:30] + lines[1] + "\n" + "\n".join(lines[2:]) + "\n")
    with pytest.raises(FindingsError, match=r"log\.jsonl:1: is no JSON object"):
        working.import_files(path)


def test_nothing_left_after_the_filter_is_an_error(tmp_path):
    working = make_study(tmp_path)
    row_map = {
        "columns": {"problem_id": "problem_id", "sample_idx": "sample_idx", "correct": "correct"},
        "where": {"field": "problem_id", "matches": "q.*"},
    }
    with pytest.raises(FindingsError, match="no row is left of what was read"):
        working.import_rows(*samples(), row_map=row_map)


def test_a_log_that_is_still_written_to_is_refused(tmp_path, monkeypatch):
    working = make_study(tmp_path)
    add = RowsWriter.add

    def add_while_someone_appends(writer, batch):
        add(writer, batch)
        with (tmp_path / "log.jsonl").open("a") as stream:
            stream.write("\n")

    monkeypatch.setattr(RowsWriter, "add", add_while_someone_appends)
    with pytest.raises(BeforehandError, match="changed while it was read"):
        working.import_rows(*samples())
    assert not (working.root / "units").exists()


def test_a_run_counted_twice_is_found(tmp_path):
    working = make_study(tmp_path, n_samples=3)
    rows = samples(6, 3)
    for row in rows:
        if row["sample_idx"] == 2:
            row["completion"] = f"text {row['problem_id'][1:]} 0"
    working.import_rows(*rows)
    assert (
        "samples: base.main.k main: 1 pairs of sample indices hold the same texts (first: 0 and 2, in 6 of 6"
        in told(working)
    )


def test_a_long_text_under_two_sample_indices_is_found_and_a_short_one_is_not(tmp_path):
    working = make_study(tmp_path)
    rows = samples()
    rows[0]["completion"] = rows[1]["completion"] = "long " * 100
    rows[2]["completion"] = rows[3]["completion"] = "42"
    working.import_rows(*rows)
    assert "1 problems hold one text of 400 characters or more under several sample indices" in told(working)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"n_completion_tokens": 64},
            "12 rows end exactly at max_tokens with finish_reason stop, 0 one token below",
        ),
        (
            {"n_completion_tokens": 64, "finish_reason": None},
            "12 rows end exactly at max_tokens and have no finish_reason",
        ),
        ({"max_tokens": 40}, "12 rows had room for 40 tokens on average, the cap is 64"),
        ({"max_tokens": 80}, "12 rows were allowed more tokens than the cap"),
    ],
)
def test_tokens_that_contradict_the_cap_are_found(tmp_path, changes, message):
    working = make_study(tmp_path)
    working.import_rows(*samples(**changes))
    assert f"tokens: base.main.k: {message}" in told(working)


def test_length_with_tokens_to_spare_is_refused_at_import(tmp_path):
    with pytest.raises(FindingsError, match="finish_reason is length, yet fewer tokens than max_tokens"):
        make_study(tmp_path).import_rows(*samples(finish_reason="length"))


def test_seeds_that_are_not_the_planned_ones_are_found(tmp_path):
    working = make_study(tmp_path)
    rows = [{**row, "seed": 10} for row in samples()]
    working.import_rows(*rows, unit="base.main.seeded")
    assert "6 rows have another seed than the plan gives their sample index" in told(working)
    assert "6 times one seed stands under several sample indices of a problem" in told(working)


def test_statements_that_differ_under_one_id_are_found(tmp_path):
    working = make_study(tmp_path)
    row_map = {
        "columns": {name: name for name in ("problem_id", "sample_idx", "correct")},
        "statement": "question",
    }
    working.import_rows(*({**row, "question": "one"} for row in samples()), row_map=row_map)
    working.import_rows(
        *({**row, "question": "other"} for row in samples()), row_map=row_map, unit="other.main.k"
    )
    assert "across units: base.main.k, other.main.k: 6 ids stand for other texts (first: 'p0')" in told(
        working
    )
    with pytest.raises(FindingsError, match="another statement stands under the problem id"):
        working.import_rows(
            *({**row, "question": str(row["sample_idx"])} for row in samples()),
            row_map=row_map,
            unit="base.main.sub",
        )


def test_units_with_other_verifiers_are_found(tmp_path):
    working = make_study(tmp_path)
    working.import_rows(*samples())
    path = working.root / "PREREGISTRATION.md"
    path.write_text(path.read_text().replace('kind = "math"', 'kind = "math", math-verify = "0.9"'))
    working.import_rows(*samples(), unit="other.main.k")
    assert "have other verifiers: math and math (math-verify 0.9)" in told(working)


def test_an_inspect_log_that_calls_itself_incomplete_is_found(tmp_path):
    working = make_study(tmp_path, n_problems=4, n_samples=3)
    done = working.import_files(DATA / "inspect/adding.eval")
    assert done.record.deviations[0] == "status: 11 of 12 planned samples were completed"
    findings = told(working)
    assert "source: base.main.k: its log says “status: 11 of 12 planned samples were completed”" in findings
    assert "source: base.main.k: the source says accuracy = 0.625, which leaves out 1 of 12 rows" in findings
    assert "1 of 12 rows have no verdict, 1 of them for infrastructure reasons" in findings


def test_errored_samples_stay_in_the_denominator(tmp_path):
    working = make_study(tmp_path, n_problems=100, n_samples=1)
    rows = samples(100, 1)
    for row in rows:
        row["correct"] = None if int(row["problem_id"][1:]) >= 90 else int(row["problem_id"][1:]) < 80
    counts = working.import_rows(*rows).record.counts["main"]
    assert (100, 100, 90, 80) == (counts.planned, counts.got, counts.judged, counts.correct)
    assert "10 of 100 rows have no verdict" in told(working)


def test_all_findings_come_at_once_in_groups_with_their_mend(tmp_path):
    working = make_study(tmp_path, n_samples=4)
    working.import_rows(*samples(5, 4, max_tokens=40))
    (working.root / "units/base.main.k/stray.txt").write_text("x")
    result = CliRunner().invoke(units, ["check", str(working.root), "--json"])
    document = json.loads(result.stdout)
    assert (1, ["bytes"]) == (result.exit_code, document["groups"])
    (working.root / "units/base.main.k/stray.txt").unlink()
    document = json.loads(CliRunner().invoke(units, ["check", str(working.root), "--json"]).stdout)
    assert document["groups"] == sorted(document["groups"], key=["coverage", "tokens"].index)
    assert {"coverage", "tokens"} == set(document["groups"])
    assert all(finding["mend"] for finding in document["findings"])
    text = CliRunner().invoke(units, ["check", str(working.root)]).stdout
    assert re.search(
        r"1 units checked, 2 findings: coverage 1, tokens 1\n- \[coverage\] base\.main\.k main: ", text
    )


def test_a_failed_import_leaves_nothing_and_a_second_one_changes_nothing(tmp_path):
    working = make_study(tmp_path)
    with pytest.raises(BeforehandError):
        working.import_rows(*samples(8))
    assert not (working.root / "units").exists()
    first = working.import_rows(*samples())
    again = working.import_rows(*samples())
    assert (True, False) == (first.written, again.written)
    assert ["base.main.k"] == [path.name for path in (working.root / "units").iterdir()]
    with pytest.raises(BeforehandError, match="already has a record with other content"):
        working.import_rows(*samples(correct=True))
    assert check_units(working.study) == ()


@settings(max_examples=15, deadline=None)
@given(order=st.permutations(range(12)))
def test_the_order_of_a_log_never_matters(order, tmp_path_factory):
    folder = tmp_path_factory.mktemp("order")
    working = make_study(folder)
    rows = samples()
    working.import_rows(*(rows[place] for place in order))
    (folder / "two").mkdir()
    other = make_study(folder / "two")
    other.import_rows(*rows)
    path = "units/base.main.k/rows.parquet"
    assert (working.root / path).read_bytes() == (other.root / path).read_bytes()


def test_one_file_may_stand_for_two_samplings_and_a_companion_is_named_once(tmp_path):
    working = make_study(tmp_path, n_problems=5, n_samples=1)
    path = working.root / "PREREGISTRATION.md"
    text = path.read_text().replace(
        "temperature = 0.7 }", "temperature = 0.7 }\nsampling.greedy = { samples = 1 }", 1
    )
    problems = "".join(json.dumps({"problem_id": str(index)}) + "\n" for index in range(5)).encode()
    (working.root / "problems.jsonl").write_bytes(problems)
    path.write_text(
        re.sub(r'sha256 = "\w+"', f'sha256 = "{hashlib.sha256(problems).hexdigest()}"', text, count=1)
    )
    log = next((DATA / "lm_eval").glob("*add*.jsonl"))
    results = next((DATA / "lm_eval").glob("results*.json"))
    done = working.import_files(f"main={log}", f"greedy={log}", results)
    assert {"main": 5, "greedy": 5} == {name: counts.got for name, counts in done.record.counts.items()}
    assert [log.name, results.name] == [source.name for source in done.record.origin.sources]
    assert "lm-eval@1" == done.record.origin.importer
    listed = CliRunner().invoke(units, ["list", str(working.root)]).stdout
    assert "the log's, not regraded" in listed


EVEN_IDS = {"p0", "p3"}
"""What `even = 2` chooses of six problems."""


def freeze_now(working):
    freeze(working.root, now=lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))


def amend_now(working, **given):
    prose = {"registered": "as it was", "now": "as it is", "reason": "because", "seen": "nothing of it"}
    table = validate_mapping(Amendment, {"id": "A1", "kind": "change", **prose, **given}, where="a.toml")
    amend(working.root, table, now=lambda: datetime(2026, 1, 3, tzinfo=UTC))


def of_problems(names):
    return [row for row in samples() if row["problem_id"] in names]


def test_rows_of_problems_that_the_protocol_does_not_choose_are_refused_at_import(tmp_path):
    working = make_study(tmp_path)
    with pytest.raises(FindingsError, match=r"4 rows belong to no problem of main that the protocol sub"):
        working.import_rows(*of_problems({"p1", "p2"}), unit="base.main.sub")
    assert not (working.root / "units").exists()
    done = working.import_rows(*of_problems(EVEN_IDS), unit="base.main.sub")
    assert (4, 4) == (done.record.counts["main"].planned, done.record.counts["main"].got)
    assert check_units(working.study) == ()


def test_an_id_list_is_held_at_import_too(tmp_path):
    working = make_study(tmp_path)
    listed = b"p4\np1\n"
    (working.root / "listed.txt").write_bytes(listed)
    path = working.root / "PREREGISTRATION.md"
    subset = f'{{ ids = "listed.txt", sha256 = "{hashlib.sha256(listed).hexdigest()}", n = 2 }}'
    path.write_text(path.read_text().replace("{ even = 2 }", subset))
    with pytest.raises(FindingsError, match="that the protocol sub chooses"):
        working.import_rows(*of_problems(EVEN_IDS), unit="base.main.sub")
    working.import_rows(*of_problems({"p1", "p4"}), unit="base.main.sub")
    assert check_units(working.study) == ()


def test_rows_of_the_wrong_problems_are_found_in_a_unit_that_is_there(tmp_path, monkeypatch):
    working = make_study(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(
            importing, "plan_problems", lambda design, name, root, **_: plan_problems(design, name, root)
        )
        working.import_rows(*of_problems({"p1", "p2"}), unit="base.main.sub")
    assert "plan: base.main.sub: 4 rows belong to no problem of main that the protocol sub chooses" in told(
        working
    )


def test_import_list_and_check_follow_the_design_in_force(tmp_path):
    working = make_study(tmp_path)
    freeze_now(working)
    amend_now(working, design='units = ["other.main.k", "other.main.seeded"]\n')
    working.import_rows(*samples(), unit="base.main.k")
    seeded = [{**row, "seed": 10 + row["sample_idx"]} for row in samples()]
    done = working.import_rows(*seeded, unit="other.main.seeded")
    assert done.written
    with pytest.raises(BeforehandError, match=r"plans no unit base\.main\.sub"):
        working.import_rows(*of_problems(EVEN_IDS), unit="base.main.sub")
    assert check_units(working.study) == ()
    listed = json.loads(CliRunner().invoke(units, ["list", str(working.root), "--json"]).stdout)
    assert [("base.main.k", "found"), ("other.main.k", "pending"), ("other.main.seeded", "found")] == [
        (one["unit"], one["status"]) for one in listed["units"]
    ]


def error_of_an_import(working):
    log = working.root.parent / "log.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in samples()))
    return (
        CliRunner().invoke(units, ["import", str(working.root), str(log), "--unit", "base.main.k"]).exception
    )


def test_an_import_is_refused_where_a_run_would_be(tmp_path):
    working = make_study(tmp_path)
    (working.root / "code.py").write_text("1\n")
    path = working.root / "PREREGISTRATION.md"
    path.write_text(path.read_text().replace("units = [", 'pinned = ["code.py"]\nunits = [', 1))
    freeze_now(working)
    (working.root / "code.py").write_text("2\n")
    refused = error_of_an_import(working)
    assert 1 == refused.exit_code
    assert "code.py: pinned file: drifted" in str(refused)
    assert "mend: restore it from version control" in str(refused)
    assert not (working.root / "units").exists()
    (working.root / "code.py").write_text("1\n")
    amend_now(working, kind="withdrawal")
    refused = error_of_an_import(working)
    assert (1, True) == (refused.exit_code, "the registration is withdrawn, by A1" in str(refused))
    assert "mend: work in the study that succeeds it" in str(refused)


def test_a_damaged_record_is_one_line_of_the_list(tmp_path):
    working = make_study(tmp_path)
    working.import_rows(*samples())
    working.import_rows(*samples(), unit="other.main.k")
    (working.root / "manifests/base.main.k.json").write_text("{}")
    listed = CliRunner().invoke(units, ["list", str(working.root)])
    assert (0, True) == (listed.exit_code, "cannot be read: " in listed.stdout)
    document = json.loads(CliRunner().invoke(units, ["list", str(working.root), "--json"]).stdout)
    by_unit = {one["unit"]: one for one in document["units"]}
    assert "manifests/base.main.k.json" in by_unit["base.main.k"]["error"]["where"]
    assert 12 == by_unit["other.main.k"]["counts"]["main"]["got"]


def test_a_pinned_unit_that_is_not_pulled_yet_is_one_line_of_the_list(tmp_path):
    working = make_study(tmp_path)
    working.import_rows(*samples(), unit="other.main.k")
    (working.root / "study.toml").write_text(
        'name = "study"\ntitle = "Study"\nstore = { hub = "org/units" }\n'
    )
    pin = Pin(repo="org/units", revision="c" * 40, record_sha256="d" * 64)
    write_pins(working.root, {UnitId.parse("base.main.k"): pin})
    listed = CliRunner().invoke(units, ["list", str(working.root), "--json"])
    by_unit = {one["unit"]: one for one in json.loads(listed.stdout)["units"]}
    assert (0, True) == (listed.exit_code, "error" in by_unit["base.main.k"])
    assert 12 == by_unit["other.main.k"]["counts"]["main"]["got"]


def test_a_study_without_a_decision_log_is_checked_as_with_an_empty_one(tmp_path):
    working = make_study(tmp_path)
    working.import_rows(*samples())
    (working.root / "DECISIONS.md").unlink()
    assert check_units(working.study) == ()
