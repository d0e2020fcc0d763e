"""A build of nothing new is told by digests alone, and says the same as a whole build; what is reused is what would be computed."""

import json
import shutil

import numpy as np
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

from manifests.errors import BeforehandError
from report import bundle
from report.build import build, build_and_write
from report.bundle import read_bundle
from report.pass_at_k_curves import SampledProblems, pass_at_k_curves
from report.reuse import NOTHING, find_reusable
from report.statistics.pass_at_k import pass_at_k_mean
from report.unchanged import find_unchanged


@pytest.fixture
def study(tmp_path):
    folder = whole_study(tmp_path / "s")
    build_and_write(folder)
    return folder


def is_unchanged(study, **options):
    return find_unchanged(study, **{"allow_unequal": False, **options}) is not None


def test_a_fresh_bundle_is_unchanged_with_the_findings_of_its_build(study):
    found = find_unchanged(study, allow_unequal=False)
    assert found.findings == build(study).findings
    assert set(found.files) == set(read_bundle(study / "report")) - {"CHECKSUMS.sha256"}


def test_findings_of_an_unfrozen_study_are_kept(tmp_path):
    study = make_study(tmp_path / "s")
    add_units(study)
    built, _ = build_and_write(study)
    assert find_unchanged(study, allow_unequal=False).findings == built.findings != ()


CHANGES = {
    "a text": lambda s: (s / "DECISIONS.md").write_text("# D\n\n## 2026-01-01 · NOTE · N1\n\nx\n"),
    "rows": lambda s: flip(s / "units/sft.toy.main/rows.parquet"),
    "a record": lambda s: flip(s / "manifests/sft.toy.main.json"),
    "a pinned file": lambda s: (s / "configs/sft.toml").write_text("lr = 2\n"),
    "a pinned file gone": lambda s: (s / "configs/sft.toml").unlink(),
    "a new narrative": lambda s: (s / "narrative.md").write_text("Hm.\n"),
    "seals": lambda s: (s / "amendments.jsonl").write_text("{}\n"),
    "a further file of a unit": lambda s: (s / "units/sft.toy.main/note.txt").write_text("x"),
    "a further record": lambda s: shutil.copy(
        s / "manifests/sft.toy.main.json", s / "manifests/x.toy.main.json"
    ),
    "a unit gone": lambda s: shutil.rmtree(s / "units/sft.toy.main"),
    "an output": lambda s: flip(s / "report/README.md"),
    "an output gone": lambda s: (s / "report/figures/gains.png").unlink(),
    "a further output": lambda s: (s / "report/x").write_text("x"),
    "the manifest": lambda s: (s / "report/MANIFEST.json").write_text("{}"),
    "the manifest is no JSON": lambda s: (s / "report/MANIFEST.json").write_text("["),
    "no checksums": lambda s: (s / "report/CHECKSUMS.sha256").unlink(),
    "no bundle": lambda s: shutil.rmtree(s / "report"),
}


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("name", CHANGES)
def test_any_change_is_noticed(study, name):
    CHANGES[name](study)
    assert not is_unchanged(study)


def test_other_code_another_environment_and_another_option_are_noticed(study, monkeypatch):
    assert not is_unchanged(study, allow_unequal=True)
    monkeypatch.setattr("report.unchanged.code_sha256", lambda: "0" * 64)
    assert not is_unchanged(study)
    monkeypatch.undo()
    monkeypatch.setattr("report.unchanged.environment", dict)
    assert not is_unchanged(study)


def test_what_is_reused_gives_the_same_bytes_as_computing_everything(tmp_path):
    study = make_study(tmp_path / "s")
    freeze_study(study)
    import_log(study, "base.toy.main", write_log(tmp_path / "b.jsonl", worse))
    build_and_write(study)
    import_log(study, "sft.toy.main", write_log(tmp_path / "c.jsonl", better))
    reusable = find_reusable(study / "report")
    assert set(reusable.units) == {"base.toy.main"}
    assert build(study, reusable=reusable).files == build(study).files


def test_nothing_is_reused_of_a_bundle_that_is_not_as_it_was_written(study):
    path = study / "report/aggregate.json"
    path.write_text(path.read_text().replace('"got": 48', '"got": 49'))
    assert find_reusable(study / "report") is NOTHING


def test_nothing_is_reused_by_other_code(study, monkeypatch):
    monkeypatch.setattr("report.reuse.code_sha256", lambda: "0" * 64)
    assert find_reusable(study / "report") is NOTHING


def test_curves_of_many_units_equal_those_of_each_alone():
    draw = np.random.default_rng(5)
    curves = [SampledProblems(n_samples=np.full(30, 8), n_correct=draw.integers(0, 9, 30)) for _ in range(3)]
    curves.append(SampledProblems(n_samples=np.full(7, 4), n_correct=draw.integers(0, 5, 7)))
    for curve, nodes in zip(curves, pass_at_k_curves(curves), strict=True):
        for node in nodes[:-1]:
            alone = pass_at_k_mean(curve.n_samples, curve.n_correct, node.k, seed=42)
            assert (node.value, node.ci.low, node.ci.high) == pytest.approx(
                (alone.estimate, alone.low, alone.high), abs=1e-12
            )


def test_at_k_equal_to_all_samples_the_interval_is_wilsons():
    (nodes,) = pass_at_k_curves([SampledProblems(n_samples=np.full(20, 2), n_correct=np.full(20, 2))])
    assert (nodes[-1].k, nodes[-1].value, nodes[-1].ci.method, nodes[-1].ci.high) == (
        2,
        1.0,
        "Wilson over problems",
        1.0,
    )


def test_a_read_only_folder_is_said_and_the_old_bundle_stays(study, monkeypatch):
    before = read_bundle(study / "report")
    (study / "DECISIONS.md").write_text("# D\n\n## 2026-01-01 · NOTE · N1\n\nx\n")

    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises((BeforehandError, PermissionError)):
        bundle.write_bundle(study / "report", {"README.md": b"new"})
    monkeypatch.undo()
    assert before == read_bundle(study / "report")


def test_two_builds_at_once_leave_one_whole_bundle(study):
    import threading

    (study / "DECISIONS.md").write_text("# D\n\n## 2026-01-01 · NOTE · N1\n\nx\n")
    failed = []

    def work():
        try:
            build_and_write(study)
        except BeforehandError as err:
            failed.append(err)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert is_unchanged(study)
    assert json.loads((study / "report/aggregate.json").read_bytes())["log"] == {"NOTE": 1}
