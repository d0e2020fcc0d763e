"""Validity rules: each holds, is violated, or cannot be told; and unequal sides are compared only by an override that is recorded."""

import hashlib
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from study_factory import (
    add_units,
    better,
    freeze_study,
    import_log,
    make_study,
    whole_study,
    worse,
    write_log,
)

from manifests.records import UnitFile, read_record, record_bytes
from manifests.rows import SCHEMA, read_rows
from report.build import build, build_and_write
from report.drift import find_drift


def registered_study(folder, rules, **options):
    """Frozen with these rules, then both units."""
    study = make_study(folder, extra="".join(f"[[validity]]\n{rule}\n" for rule in rules), **options)
    freeze_study(study)
    add_units(study)
    return study


def node_of(study, **options):
    return json.loads(build(study, **options).files["aggregate.json"])["endpoints"]["P1"]


def validity_of(study):
    node = node_of(study)
    return node["validity"][0]["state"], node["conclusion"]


def change_record(study, unit, **changes):
    path = study / f"manifests/{unit}.json"
    path.write_bytes(record_bytes(read_record(path).model_copy(update=changes)))


def test_rules_that_hold_leave_the_comparison_as_it_is(tmp_path):
    study = registered_study(tmp_path / "s", ['rule = "same_verifier"', 'rule = "n_per_problem"'])
    node = node_of(study)
    assert [one["state"] for one in node["validity"]] == ["holds", "holds"]
    assert (node["conclusion"], node["primary"]) == ("improved", True)


def test_another_verifier_violates_same_verifier_and_names_the_field(tmp_path):
    study = registered_study(tmp_path / "s", ['rule = "same_verifier"'])
    record = read_record(study / "manifests/sft.toy.main.json")
    change_record(
        study, "sft.toy.main", verifier=record.verifier.model_copy(update={"pins": {"version": "2"}})
    )
    node = node_of(study)
    assert (node["validity"][0]["state"], node["conclusion"], node["estimate"]) == (
        "violated",
        "invalid",
        None,
    )
    assert "pins" in node["validity"][0]["detail"]


def test_a_missing_sample_violates_n_per_problem_and_names_the_problem(tmp_path):
    study = make_study(tmp_path / "s", extra='[[validity]]\nrule = "n_per_problem"\n')
    freeze_study(study)
    import_log(study, "base.toy.main", write_log(tmp_path / "b.jsonl", worse))
    log = write_log(tmp_path / "c.jsonl", better)
    log.write_text("".join(log.read_text().splitlines(keepends=True)[1:]))
    import_log(study, "sft.toy.main", log)
    node = node_of(study)
    assert node["conclusion"] == "invalid"
    assert node["validity"][0]["rows"] == ["sft.toy.main main p000: 3 of 4"]


def test_prompts_are_the_same_other_or_not_recorded(tmp_path):
    study = registered_study(tmp_path / "s", ['rule = "same_prompts"'])
    node = node_of(study)
    assert (node["validity"][0]["state"], node["conclusion"], node["primary"]) == (
        "unknown",
        "improved",
        False,
    )
    assert any("same_prompts cannot be checked" in reason for reason in node["not_primary_because"])
    for unit in ("base.toy.main", "sft.toy.main"):
        change_record(study, unit, prompts_sha256="1" * 64)
    assert validity_of(study) == ("holds", "improved")
    change_record(study, "sft.toy.main", prompts_sha256="2" * 64)
    assert validity_of(study) == ("violated", "invalid")


@pytest.mark.parametrize(
    ("rule", "state"),
    [('share = "0.05"', "holds"), ('share = "0.05"\nbatch = 8', "violated"), ('share = "0.02"', "violated")],
)
def test_the_share_of_infrastructure_deaths_is_taken_batch_by_batch(tmp_path, rule, state):
    study = registered_study(tmp_path / "s", [f'rule = "infra_share_max"\n{rule}'])
    let_verifier_die(study, "sft.toy.main", row=5)
    node = node_of(study)
    assert node["validity"][0]["state"] == state
    assert node["conclusion"] == "invalid"  # a verdict that is missing for such a reason always makes it so
    if state == "violated":
        assert "sft.toy.main main p001 sample 1" in node["validity"][0]["rows"][0]


def let_verifier_die(study, unit, *, row):
    """One row has no verdict, for a reason of infrastructure; the record fits the rows."""
    path = study / f"units/{unit}/rows.parquet"
    table = read_rows(path)
    correct, reasons = table["correct"].to_pylist(), table["reasons"].to_pylist()
    correct[row], reasons[row] = None, ["infra:timeout"]
    for name, values in (("correct", correct), ("reasons", reasons)):
        place = SCHEMA.get_field_index(name)
        table = table.set_column(place, SCHEMA.field(name), pa.array(values, SCHEMA.field(name).type))
    pq.write_table(table.cast(SCHEMA), path)
    data = path.read_bytes()
    counts = read_record(study / f"manifests/{unit}.json").counts["main"]
    counts = counts.model_copy(update={"judged": counts.judged - 1, "correct": sum(map(bool, correct))})
    file = UnitFile(path="rows.parquet", bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    change_record(study, unit, files=(file,), counts={"main": counts})


def test_training_problems_that_are_in_the_benchmark_are_named(tmp_path):
    study = registered_study(tmp_path / "s", ['rule = "no_train_overlap"'])
    assert validity_of(study) == ("unknown", "improved")
    (study / "training/sft").mkdir(parents=True)
    path = study / "training/sft/problems.jsonl"
    path.write_text('{"problem_id": "t1"}\n{"problem_id": "t2"}\n')
    assert validity_of(study) == ("holds", "improved")
    path.write_text('{"problem_id": "t1"}\n{"problem_id": "p004"}\n')
    node = node_of(study)
    assert (node["conclusion"], node["validity"][0]["rows"]) == ("invalid", ["p004"])


def test_training_data_that_were_not_read_back_as_written_are_found(tmp_path):
    study = registered_study(tmp_path / "s", ['rule = "read_back"'])
    assert validity_of(study) == ("unknown", "improved")
    (study / "training/sft").mkdir(parents=True)
    path = study / "training/sft/read_back.json"
    record = {"format": "read-back/1", "rows": 9, "written_sha256": "a" * 64, "read_sha256": "a" * 64}
    path.write_text(json.dumps(record))
    assert validity_of(study) == ("holds", "improved")
    path.write_text(json.dumps(record | {"read_sha256": "b" * 64}))
    assert validity_of(study) == ("violated", "invalid")


def test_a_rule_guards_only_the_endpoints_that_it_names(tmp_path):
    study = registered_study(tmp_path / "s", ['rule = "same_prompts"\nendpoints = ["S1"]'])
    endpoints = json.loads(build(study).files["aggregate.json"])["endpoints"]
    assert (len(endpoints["P1"]["validity"]), len(endpoints["S1"]["validity"])) == (0, 1)


def test_unequal_sides_are_compared_only_when_asked_and_never_as_primary(tmp_path):
    study = whole_study(tmp_path / "s")
    record = read_record(study / "manifests/sft.toy.main.json")
    change_record(
        study, "sft.toy.main", verifier=record.verifier.model_copy(update={"pins": {"version": "2"}})
    )
    assert node_of(study)["conclusion"] == "invalid"
    built = build(study, allow_unequal=True)
    node = json.loads(built.files["aggregate.json"])["endpoints"]["P1"]
    assert (node["conclusion"], node["primary"]) == ("improved", False)
    assert "verifier differs" in node["unequal_allowed"][0]
    assert json.loads(built.files["MANIFEST.json"])["allow_design_mismatch"] is True
    for name in ("README.md", "report.html"):
        assert "Unequal designs are compared" in built.files[name].decode()
        assert "PRIMARY.</b>" not in built.files[name].decode()
        assert "**PRIMARY" not in built.files[name].decode()


def test_verify_rebuilds_with_the_override_that_the_bundle_records(tmp_path):
    study = whole_study(tmp_path / "s")
    record = read_record(study / "manifests/sft.toy.main.json")
    change_record(
        study, "sft.toy.main", verifier=record.verifier.model_copy(update={"pins": {"version": "2"}})
    )
    build_and_write(study, allow_unequal=True)
    assert find_drift(study).drifted == ()
