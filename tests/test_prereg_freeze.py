import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from prereg_studies import CONFIG, DESIGN, NOON, PROBLEMS, frozen_study, make_study, registration, sha

import prereg.freeze
from manifests.errors import BeforehandError, FindingsError
from prereg.block import find_block
from prereg.check import check_registration
from prereg.freeze import freeze
from prereg.new import new_study
from prereg.registration import parse_registration, write_once
from prereg.verify import verify


def refused(study):
    with pytest.raises(FindingsError) as caught:
        freeze(study, now=lambda: NOON)
    assert not (study / "registration.json").exists()
    return [f"{one.where} {one.what}" for one in caught.value.findings]


def test_freeze_records_the_block_the_pinned_files_and_the_time_in_utc(tmp_path):
    study = make_study(tmp_path)
    before = (study / "PREREGISTRATION.md").read_bytes()
    freezing = freeze(study, now=lambda: datetime(2026, 8, 26, 14, 0, tzinfo=timezone(timedelta(hours=2))))
    record = json.loads((study / "registration.json").read_bytes())
    block = find_block(before, where="P.md")
    assert ("registration/1", "toy", block.sha256, "2026-08-26T12:00:00Z") == (
        record["format"], record["study"], record["block_sha256"], record["frozen_at"],
    )  # fmt: skip
    assert block.raw.decode() == record["frozen_text"]
    assert {"configs/sft.toml": sha(CONFIG), "problems/toy.jsonl": sha(PROBLEMS)}.items() <= {
        one["path"]: one["sha256"] for one in record["pinned"]
    }.items()
    assert freezing.registration == parse_registration((study / "registration.json").read_bytes(), where="r")
    after = (study / "PREREGISTRATION.md").read_bytes()
    assert before == after.replace(f"PREREG_SHA256: {block.sha256}\n".encode(), b"")


def test_a_verifier_configuration_is_hashed_though_the_design_gives_no_hash(tmp_path):
    study = make_study(
        tmp_path, design=DESIGN.replace('kind = "math"', 'kind = "math", config = "configs/math.toml"')
    )
    assert any("configs/math.toml cannot be read: No such file" in one for one in refused(study))
    (study / "configs/math.toml").write_bytes(b"x")
    freeze(study)
    assert "configs/math.toml" in [
        one.path for one in parse_registration((study / "registration.json").read_bytes(), where="r").pinned
    ]


def test_a_second_freeze_is_refused_and_changes_nothing(tmp_path):
    study = frozen_study(tmp_path)
    before = {path: path.read_bytes() for path in study.iterdir() if path.is_file()}
    with pytest.raises(BeforehandError, match="frozen already, on 2026-08-26T12:00:00Z"):
        freeze(study)
    assert before == {path: path.read_bytes() for path in study.iterdir() if path.is_file()}


def test_a_changed_block_cannot_be_frozen_again_by_taking_the_hash_line_out(tmp_path):
    study = frozen_study(tmp_path)
    (study / "PREREGISTRATION.md").write_bytes(registration(DESIGN.replace('"0.05"', '"0.10"')))
    with pytest.raises(BeforehandError, match="frozen already"):
        freeze(study)


def test_a_freeze_that_was_killed_between_its_two_writes_is_finished_by_running_it_again(
    tmp_path, monkeypatch
):
    study = make_study(tmp_path)
    before = (study / "PREREGISTRATION.md").read_bytes()

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(prereg.freeze, "write_atomically", killed)
        with pytest.raises(KeyboardInterrupt):
            freeze(study, now=lambda: NOON)
    assert before == (study / "PREREGISTRATION.md").read_bytes()
    assert ["no PREREG_SHA256 line stands below the block"] == [one.what for one in verify(study).findings]
    freezing = freeze(study, now=lambda: NOON + timedelta(days=3))
    assert (True, "2026-08-26T12:00:00Z") == (freezing.finished_interrupted, freezing.registration.frozen_at)
    assert 0 == verify(study).exit_code


def test_the_record_is_never_replaced_even_when_two_processes_write(tmp_path):
    write_once(tmp_path / "record.json", b"first")
    with pytest.raises(BeforehandError, match="exists already"):
        write_once(tmp_path / "record.json", b"second")
    assert ([tmp_path / "record.json"], b"first") == (
        list(tmp_path.iterdir()),
        (tmp_path / "record.json").read_bytes(),
    )


def test_an_unfilled_template_lists_every_gap_once(tmp_path):
    study = tmp_path / "fresh"
    new_study(study)
    text = (study / "PREREGISTRATION.md").read_text(encoding="utf-8")
    block = text[text.index("PREREG:BEGIN") : text.index("PREREG:END")]
    found = refused(study)
    assert block.count("FILL:") == len(found)
    assert all("is not filled in: FILL:" in one for one in found)
    assert (
        "PREREGISTRATION.md:13 is not filled in: FILL: one sentence that the primary endpoint answers with yes or no"
        == found[0]
    )


def test_drift_of_a_pinned_file_its_size_and_its_strata_are_found(tmp_path):
    study = make_study(tmp_path)
    (study / "problems/toy.jsonl").write_bytes(
        PROBLEMS[: PROBLEMS.rindex(b"{")] + b'{"problem_id": "p99"}\n{"problem_id": "q"}\n'
    )
    (study / "configs/sft.toml").unlink()
    found = "\n".join(refused(study))
    for expected in (
        "benchmarks.toy.sha256 problems/toy.jsonl has the sha256",
        "benchmarks.toy.n is 10, and problems/toy.jsonl holds 11 problems",
        "endpoints.S1.test the field 'family' is missing",
        "systems.sft.config configs/sft.toml cannot be read: No such file",
    ):
        assert expected in found


def test_an_id_list_must_hold_problems_of_its_benchmark(tmp_path):
    study = make_study(tmp_path, design='units = ["base.toy.some"]\n' + DESIGN)
    (study / "subset.txt").write_bytes(b"p1\np3\np3\nx9\n")
    found = "\n".join(refused(study))
    assert "n is 3, and subset.txt holds 3 different ids on 4 lines" in found
    assert "subset.txt names 'x9', which is no problem of toy" in found


def test_a_path_that_leaves_the_study_is_refused(tmp_path):
    study = make_study(tmp_path, design=DESIGN.replace("configs/sft.toml", "../sft.toml"))
    assert any("leaves its folder" in one for one in refused(study))


def test_a_plan_without_primary_endpoint_can_be_read_but_not_frozen(tmp_path):
    study = make_study(tmp_path, design=DESIGN.replace('role = "primary"', 'role = "diagnostic"'))
    line = (study / "PREREGISTRATION.md").read_text(encoding="utf-8").split("\n").index("[endpoints.P1]") + 1
    assert [f"PREREGISTRATION.md:{line} endpoints"] == [one.where for one in check_registration(study)]


def test_a_hash_line_without_record_is_no_freeze(tmp_path):
    study = make_study(tmp_path, text=registration() + b"PREREG_SHA256: " + b"a" * 64 + b"\n")
    assert [
        "PREREGISTRATION.md:61 holds a PREREG_SHA256 line, but no registration.json stands beside it"
    ] == refused(study)


def test_a_registration_that_is_edited_while_it_is_frozen_is_not_overwritten(tmp_path, monkeypatch):
    study = make_study(tmp_path)

    def edit_then_write(path, data):
        (study / "PREREGISTRATION.md").write_bytes(registration(prose="edited\n"))
        write_once(path, data)

    monkeypatch.setattr(prereg.freeze, "write_once", edit_then_write)
    with pytest.raises(BeforehandError, match="was edited while it was being frozen"):
        freeze(study)
    assert registration(prose="edited\n") == (study / "PREREGISTRATION.md").read_bytes()


def test_a_check_is_clean_for_what_freeze_accepts_and_stays_clean_after_it(tmp_path):
    study = make_study(tmp_path, name="Größe mit Leerzeichen")
    assert () == check_registration(study)
    freeze(study, now=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    assert () == check_registration(study)
    assert 0 == verify(study).exit_code
