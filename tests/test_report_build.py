import errno
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

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

from manifests.errors import BeforehandError, FindingsError
from manifests.records import read_record, record_bytes
from prereg.registration import read_registration
from report import bundle
from report.build import build, build_and_write
from report.bundle import read_bundle, write_bundle
from report.drift import find_drift

ROOT = Path(__file__).resolve().parent.parent


def aggregate_of(study):
    return json.loads(build(study).files["aggregate.json"])


def test_a_registered_study_gets_its_conclusions_by_the_registered_rules(tmp_path):
    nodes = aggregate_of(whole_study(tmp_path / "s"))["endpoints"]
    p1 = nodes["P1"]
    assert (p1["label"], p1["conclusion"]) == ("registered", "improved")
    paired = p1["estimate"]["paired"]
    assert paired["gained"] - paired["lost"] == round(12 * p1["estimate"]["value"])
    assert 0 < p1["estimate"]["p"] < 0.05
    assert nodes["S1"]["estimate"]["ci"]["low"] > 0


def test_a_registered_design_that_was_met_is_primary(tmp_path):
    built = build(whole_study(tmp_path / "s"))
    nodes = json.loads(built.files["aggregate.json"])["endpoints"]
    assert {name: node["primary"] for name, node in nodes.items()} == {"P1": True, "S1": False}
    assert b"> **PRIMARY.** Frozen 2026-01-02T03:04:05Z." in built.files["README.md"]


def test_without_a_witness_nothing_is_primary_and_the_reason_is_given(tmp_path):
    study = whole_study(tmp_path / "s")
    record = read_registration(study / "registration.json")
    (study / "registration.json").write_bytes(replace(record, witness=None).dump())
    node = aggregate_of(study)["endpoints"]["P1"]
    assert not node["primary"]
    assert any("witness" in reason for reason in node["not_primary_because"])


def test_verdicts_that_the_witness_saw_make_the_comparison_retrospective(tmp_path):
    study = make_study(tmp_path / "s", study_toml="data_roots = ['old']\n")
    (study / "old").mkdir()
    write_log(study / "old/sft_scores.jsonl", better)
    freeze_study(study, acknowledge="an earlier run of the candidate")
    add_units(study)
    built = build(study)
    node = json.loads(built.files["aggregate.json"])["endpoints"]["P1"]
    assert (node["label"], node["primary"]) == ("retrospective", False)
    assert b"an earlier run of the candidate" in built.files["README.md"]
    assert b"PRIMARY.**" not in built.files["README.md"]


def test_rows_older_than_the_freeze_are_retrospective_and_never_primary(tmp_path):
    study = make_study(tmp_path / "s")
    add_units(study)
    freeze_study(study, acknowledge="all rows")
    built = build(study)
    node = json.loads(built.files["aggregate.json"])["endpoints"]["P1"]
    assert (node["label"], node["primary"]) == ("retrospective", False)
    assert "would read" in built.files["README.md"].decode()


def test_a_unit_whose_record_does_not_name_the_registration_is_retrospective_whatever_the_witness_saw(
    tmp_path,
):
    study = whole_study(tmp_path / "s")
    path = study / "manifests/sft.toy.main.json"
    older = read_record(path).model_copy(update={"registration_sha256": None})
    path.write_bytes(record_bytes(older))
    node = aggregate_of(study)["endpoints"]["P1"]
    assert ("retrospective", False) == (node["label"], node["primary"])


def test_an_edited_file_of_the_bundle_is_named_as_edited(tmp_path):
    study = whole_study(tmp_path / "s")
    build_and_write(study)
    flip(study / "report/README.md")
    said = {finding.where: finding.what for finding in find_drift(study).findings}
    assert "was changed after the build" == said["README.md"]


def test_an_unfrozen_study_is_built_under_a_banner_and_called_exploratory(tmp_path):
    study = make_study(tmp_path / "s")
    add_units(study)
    built = build(study)
    assert built.files["README.md"].startswith(b"**NOT FROZEN.")
    assert json.loads(built.files["aggregate.json"])["endpoints"]["P1"]["label"] == "exploratory"
    assert built.findings


def test_a_changed_registration_is_built_from_the_frozen_text_under_a_banner(tmp_path):
    study = whole_study(tmp_path / "s")
    path = study / "PREREGISTRATION.md"
    path.write_text(path.read_text().replace('alpha = "0.05"', 'alpha = "0.50"'))
    built = build(study)
    assert b"REGISTRATION CHANGED" in built.files["README.md"]
    node = json.loads(built.files["aggregate.json"])["endpoints"]["P1"]
    assert node["registered_as"]["test"]["alpha"] == "0.05"
    assert any("changed" in finding.what for finding in built.findings)


def test_a_missing_unit_is_a_labelled_placeholder_and_landing_it_is_enough(tmp_path):
    study = make_study(tmp_path / "s")
    freeze_study(study)
    import_log(study, "base.toy.main", write_log(tmp_path / "base.jsonl", worse))
    node = aggregate_of(study)["endpoints"]["P1"]
    assert (node["conclusion"], node["estimate"]) == ("pending", None)
    assert [(unit["unit"], unit["status"]) for unit in node["missing"]] == [("sft.toy.main", "pending")]
    import_log(study, "sft.toy.main", write_log(tmp_path / "sft.jsonl", better))
    assert aggregate_of(study)["endpoints"]["P1"]["conclusion"] == "improved"


def test_a_study_without_any_unit_builds(tmp_path):
    study = make_study(tmp_path / "s")
    freeze_study(study)
    built = build(study)
    assert b"pending" in built.files["README.md"]
    assert b"not there yet" in built.files["README.md"]


def test_missing_rows_make_a_comparison_incomplete_not_negative(tmp_path):
    study = make_study(tmp_path / "s")
    freeze_study(study)
    import_log(study, "base.toy.main", write_log(tmp_path / "base.jsonl", worse))
    import_log(study, "sft.toy.main", write_log(tmp_path / "sft.jsonl", better, n=11))
    node = aggregate_of(study)["endpoints"]["P1"]
    assert (node["conclusion"], node["estimate"]) == ("incomplete", None)
    assert "4 of 48 planned rows" in node["reason"]


def test_unjudged_rows_make_a_comparison_incomplete(tmp_path):
    study = make_study(tmp_path / "s")
    freeze_study(study)
    add_units(study, candidate=lambda problem, sample: None if (problem, sample) == ("p003", 1) else True)
    node = aggregate_of(study)["endpoints"]["P1"]
    assert (node["conclusion"], node["reason"]) == (
        "incomplete",
        "1 of 48 rows of sft.toy.main (main) have no verdict",
    )


def test_sides_that_were_judged_by_other_verifiers_are_invalid_and_show_no_number(tmp_path):
    study = whole_study(tmp_path / "s")
    path = study / "manifests/sft.toy.main.json"
    record = read_record(path)
    other = record.verifier.model_copy(update={"pins": {"version": "2"}})
    path.write_bytes(record_bytes(record.model_copy(update={"verifier": other})))
    built = build(study)
    node = json.loads(built.files["aggregate.json"])["endpoints"]["P1"]
    assert (node["conclusion"], node["estimate"]) == ("invalid", None)
    assert "verifier differs" in node["reason"]
    assert "withheld" in built.files["README.md"].decode()


def test_identical_arms_show_no_difference_without_a_zero_width_interval(tmp_path):
    study = make_study(tmp_path / "s")
    freeze_study(study)
    add_units(study, candidate=better, baseline=better)
    nodes = aggregate_of(study)["endpoints"]
    assert {"no_detectable_difference"} == {node["conclusion"] for node in nodes.values()}
    assert nodes["S1"]["estimate"]["ci"] is None
    assert nodes["P1"]["estimate"]["p"] == 1.0


def test_a_worse_candidate_is_degraded(tmp_path):
    study = make_study(tmp_path / "s")
    freeze_study(study)
    add_units(study, candidate=worse, baseline=better)
    assert aggregate_of(study)["endpoints"]["P1"]["conclusion"] == "degraded"


def test_exploratory_comparisons_come_from_study_toml_and_keep_their_label(tmp_path):
    study_toml = (
        "[exploratory.X1]\nbaseline = 'base'\ncandidate = 'sft'\nbenchmark = 'toy'\nprotocol = 'main'\nsampling = 'main'\n"
        "metric = { name = 'pass_at_k', k = 2 }\n"
        "test = { name = 'paired_bootstrap', level = '0.95', resamples = 1000, seed = 1 }\ndecide = 'ci_excludes_zero'\n"
    )
    study = make_study(tmp_path / "s", study_toml=study_toml)
    freeze_study(study)
    add_units(study)
    node = aggregate_of(study)["exploratory"]["X1"]
    assert (node["label"], node["role"], node["estimate"]["name"]) == ("exploratory", "exploratory", "pass@2")


def test_a_stratified_test_reads_its_strata_from_the_problem_file(tmp_path):
    study = make_study(tmp_path / "s")
    path = study / "PREREGISTRATION.md"
    path.write_text(path.read_text().replace("seed = 7 }", 'seed = 7, strata = "half" }'))
    freeze_study(study)
    add_units(study)
    assert aggregate_of(study)["endpoints"]["S1"]["estimate"]["parameters"]["strata"] == "half"


@pytest.mark.parametrize(
    "damage",
    [
        lambda s: flip(s / "units/sft.toy.main/rows.parquet"),
        lambda s: cut(s / "units/sft.toy.main/rows.parquet", 8),
        lambda s: (s / "units/sft.toy.main/rows.parquet").unlink(),
        lambda s: (s / "units/sft.toy.main/extra.txt").write_text("x"),
        lambda s: replace_path(s / "manifests/sft.toy.main.json", "../base.toy.main/rows.parquet"),
        lambda s: replace_path(s / "manifests/sft.toy.main.json", "/etc/passwd"),
    ],
    ids=["flipped", "cut by 8 bytes", "removed", "extra file", "path upwards", "absolute path"],
)
def test_a_damaged_unit_stops_the_build_and_leaves_the_old_bundle_whole(tmp_path, damage):
    study = whole_study(tmp_path / "s")
    build_and_write(study)
    before = read_bundle(study / "report")
    damage(study)
    with pytest.raises(FindingsError, match="nothing is computed from it"):
        build_and_write(study)
    assert before == read_bundle(study / "report")


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut(path, count):
    path.write_bytes(path.read_bytes()[:-count])


def replace_path(path, target):
    record = read_record(path)
    files = tuple(file.model_copy(update={"path": target}) for file in record.files)
    path.write_bytes(record_bytes(record.model_copy(update={"files": files})))


def test_a_full_disk_leaves_the_old_bundle_whole(tmp_path, monkeypatch):
    folder = tmp_path / "report"
    write_bundle(folder, {"a": b"old", "b/c": b"old"})
    before = read_bundle(folder)
    calls = []

    def full(_descriptor):
        calls.append(1)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BeforehandError, match="No space left"):
        write_bundle(folder, {"a": b"new", "b/c": b"new"})
    monkeypatch.undo()
    assert before == read_bundle(folder)
    assert not list(folder.rglob("*.partial"))


def test_only_files_whose_bytes_change_are_written_and_stale_ones_go(tmp_path):
    folder = tmp_path / "report"
    write_bundle(folder, {"a": b"1", "old/b": b"2"})
    stamp = (folder / "a").stat().st_mtime_ns
    changed = write_bundle(folder, {"a": b"1", "c": b"3"})
    assert changed == ("c", bundle.CHECKSUMS, "old/b")
    assert stamp == (folder / "a").stat().st_mtime_ns
    assert not (folder / "old").exists()
    assert write_bundle(folder, {"a": b"1", "c": b"3"}) == ()


def test_sha256sum_accepts_the_checksums(tmp_path):
    study = whole_study(tmp_path / "s")
    build_and_write(study)
    subprocess.run(
        ["sha256sum", "--strict", "-c", "CHECKSUMS.sha256"],
        cwd=study / "report",
        check=True,
        capture_output=True,
    )


def test_two_builds_in_other_folders_and_other_surroundings_give_the_same_bytes(tmp_path):
    first = whole_study(tmp_path / "one")
    second = tmp_path / "zwei mit Leerzeichen é"
    shutil.copytree(first, second)
    run_build(first, {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LANG": "C"})
    faketime = {"PYTHONHASHSEED": "77", "TZ": "America/New_York", "LANG": "de_DE.UTF-8", "LC_ALL": "C.UTF-8"}
    run_build(second, faketime, clock="import time, datetime; time.time = lambda: 4e9;")
    assert read_bundle(first / "report") == read_bundle(second / "report")
    assert len(read_bundle(first / "report")) == 18


def run_build(study, environment, clock=""):
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {clock} from manifests.console import run; from report.cli import build_report; run(build_report, [sys.argv[1], '--offline'], name='b')"
    subprocess.run(
        [sys.executable, "-c", code, str(study)], check=True, env={**os.environ, **environment}, cwd=study
    )


def test_no_machine_path_or_clock_reaches_the_bundle(tmp_path):
    study = whole_study(tmp_path / "s")
    for name, data in build(study).files.items():
        assert str(tmp_path).encode() not in data, name


def test_a_build_opens_no_socket(tmp_path, monkeypatch):
    study = whole_study(tmp_path / "s")

    def refuse(*_args, **_kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    assert build(study).files


def test_a_fresh_bundle_has_no_drift(tmp_path):
    study = whole_study(tmp_path / "s")
    build_and_write(study)
    assert find_drift(study).drifted == ()


@pytest.mark.parametrize(
    ("expected", "change"),
    [
        (("registration",), lambda s: edit(s / "PREREGISTRATION.md", "Does it work?", "Does it work??")),
        (("text",), lambda s: edit(s / "PREREGISTRATION.md", "Below.", "Further below.")),
        (
            ("text",),
            lambda s: (s / "DECISIONS.md").write_text("# Decisions\n\n## 2026-01-01 · NOTE · N1\n\nx\n"),
        ),
        (
            ("data",),
            lambda s: shutil.rmtree(s / "units/sft.toy.main") or (s / "manifests/sft.toy.main.json").unlink(),
        ),
        (("bundle",), lambda s: flip(s / "report/README.md")),
        (("bundle",), lambda s: flip(s / "report/figures/gains.png")),
        (("bundle",), lambda s: (s / "report/note.txt").write_text("x")),
        (("bundle",), lambda s: (s / "report/CHECKSUMS.sha256").unlink()),
    ],
    ids=["block", "prose", "decisions", "unit removed", "readme", "figure", "extra file", "no checksums"],
)
def test_verify_names_what_drifted(tmp_path, expected, change):
    study = whole_study(tmp_path / "s")
    build_and_write(study)
    change(study)
    drifted = find_drift(study).drifted
    assert set(expected) <= set(drifted)
    assert set(drifted) <= {*expected, "bundle", "text"}


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_verify_names_code_and_environment(tmp_path, monkeypatch):
    study = whole_study(tmp_path / "s")
    build_and_write(study)
    monkeypatch.setattr("report.manifest.code_sha256", lambda: "0" * 64)
    assert "code" in find_drift(study).drifted
    monkeypatch.undo()
    monkeypatch.setattr("report.origin.LIBRARIES", ("jinja2",))
    assert "environment" in find_drift(study).drifted


def test_verify_without_a_bundle_says_so(tmp_path):
    study = whole_study(tmp_path / "s")
    assert find_drift(study).drifted == ("bundle",)


def test_a_build_killed_between_two_renames_is_found_and_mended_by_the_next(tmp_path, monkeypatch):
    study = whole_study(tmp_path / "s")
    build_and_write(study)
    (study / "report/README.md").write_bytes(b"half of another build")
    (study / "report/.summary.md.partial").write_bytes(b"left over")
    assert "bundle" in find_drift(study).drifted
    build_and_write(study)
    assert find_drift(study).drifted == ()
    assert not list((study / "report").rglob("*.partial"))


HOSTILE = "|a|<script>alert(1)</script>`x` \x1b[31m\u202e [l](javascript:x) **b** ![i](http://h) =1+1\r\n# h"


def test_hostile_text_is_inert_in_the_report(tmp_path):
    study = make_study(
        tmp_path / "s",
        study_toml="[roster.'sft.toy.main']\nstatus='skipped'\ndecision='D1'\nreason="
        + json.dumps(HOSTILE.replace("\r\n", " "))
        + "\n",
    )
    (study / "DECISIONS.md").write_text(
        "# D\n\n## 2026-01-01 · DEVIATION · D1\n\n```\n</pre><script>x</script>\n```\n| pipe \x1b[2J\n",
        newline="",
    )
    freeze_study(study)
    import_log(study, "base.toy.main", write_log(tmp_path / "b.jsonl", worse, text=HOSTILE))
    for name in ("README.md", "summary.md"):
        text = build(study).files[name].decode()
        assert "\x1b" not in text
        assert "\u202e" not in text
        outside = "".join(text.split("````")[::2]) if "````" in text else text
        assert "<script>" not in outside.replace("\\<script\\>", "")
        assert not re.search(r"(?<!\\)\]\(javascript", outside)


def test_a_file_that_somebody_put_into_the_bundle_is_left_alone_and_named_by_verify(tmp_path):
    study = whole_study(tmp_path / "s")
    build_and_write(study)
    (study / "report/mine.txt").write_text("mine")
    build_and_write(study)
    assert "mine" == (study / "report/mine.txt").read_text()
    assert "mine.txt" in {finding.where for finding in find_drift(study).findings}
