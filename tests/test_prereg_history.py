import json
from datetime import timedelta

import pytest
from prereg_git import commit, git, start
from prereg_studies import NOON, frozen_study, make_study, registration

from manifests.documents import validate_mapping
from prereg.amend import amend
from prereg.amendment import Amendment
from prereg.freeze import freeze
from prereg.verify import main, verify

PROSE = {"registered": "as it was", "now": "as it is", "reason": "because", "seen": "nothing of it"}


def amended(study, name, days):
    amendment = validate_mapping(Amendment, {"id": name, "kind": "disclosure", **PROSE}, where="a")
    return amend(study, amendment, now=lambda: NOON + timedelta(days=days))


def deep(study):
    return verify(study, history=True)


def whats(study):
    return "\n".join(f"{one.where} {one.what}" for one in deep(study).findings)


@pytest.fixture
def study(tmp_path):
    """Planned and committed the day before, frozen at noon, committed an hour later; the study is one folder of a larger repository."""
    start(tmp_path)
    study = make_study(tmp_path, name="big/studies/toy")
    commit(tmp_path, "plan", days=-1)
    freeze(study, now=lambda: NOON)
    commit(tmp_path, "freeze", days=1 / 24)
    return study


def test_an_orderly_history_has_no_finding_and_gives_the_first_commit(study):
    result = deep(study)
    assert ((), 0) == (result.findings, result.exit_code)
    head = git(study, "rev-parse", "HEAD").stdout.decode().strip()
    assert (head, "2026-08-26T13:00:00Z", ()) == (
        result.first_commit,
        result.first_commit_at,
        result.unchecked,
    )


def test_without_history_the_output_says_that_it_was_not_checked(study, capsys):
    main([str(study)])
    assert "not checked: git history" in capsys.readouterr().out
    main([str(study), "--history", "--json"])
    shown = json.loads(capsys.readouterr().out)
    assert ([], "2026-08-26T13:00:00Z", "owed") == (
        shown["not_checked"],
        shown["first_commit"]["at"],
        shown["timestamp"],
    )


def test_a_study_outside_any_repository_is_verified_and_says_what_it_could_not_check(tmp_path):
    result = deep(frozen_study(tmp_path))
    assert ("unchanged", 0) == (result.status, result.exit_code)
    assert result.unchecked[0].startswith("git history: ")


def test_a_record_that_is_not_committed_has_only_a_clock(tmp_path):
    start(tmp_path)
    study = frozen_study(tmp_path)
    assert "is in no commit" in whats(study)


def test_block_and_record_rewritten_together_are_found(study, tmp_path):
    (study / "registration.json").unlink()
    (study / "PREREGISTRATION.md").write_bytes(registration().replace(b'"0.05"', b'"0.10"'))
    freeze(study, now=lambda: NOON)
    assert 0 == verify(study).exit_code
    assert "block and record were rewritten" in whats(study)
    commit(tmp_path, "nothing to see", days=1)
    assert "block and record were rewritten" in whats(study)


def test_a_record_rewritten_by_amending_its_commit_is_found_in_the_reflog(study, tmp_path):
    (study / "registration.json").unlink()
    (study / "PREREGISTRATION.md").write_bytes(registration(prose="Another question\n"))
    freeze(study, now=lambda: NOON)
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "--amend", "-m", "freeze", at=NOON)
    assert "block and record were rewritten" in whats(study)


def test_a_record_that_was_removed_for_a_while_is_found(study, tmp_path):
    kept = (study / "registration.json").read_bytes()
    (study / "registration.json").unlink()
    commit(tmp_path, days=1)
    (study / "registration.json").write_bytes(kept)
    commit(tmp_path, days=2)
    assert "registration.json was removed in commit" in whats(study)


def test_a_back_dated_freeze_is_found_by_the_commit_it_was_made_on(tmp_path):
    start(tmp_path)
    study = make_study(tmp_path)
    commit(tmp_path, "plan")
    freeze(study, now=lambda: NOON - timedelta(days=30))
    commit(tmp_path, "freeze", days=1)
    found = whats(study)
    assert "states 2026-07-27T12:00:00Z, but was frozen on commit" in found
    assert "is 31 days younger" in found


def test_a_freeze_that_states_a_later_time_than_its_commit_is_found(tmp_path):
    start(tmp_path)
    study = make_study(tmp_path)
    commit(tmp_path, "plan")
    freeze(study, now=lambda: NOON + timedelta(days=2))
    commit(tmp_path, "freeze", days=1)
    assert "of 2026-08-27T12:00:00Z holds it already" in whats(study)


def test_a_squash_that_orphans_the_freeze_commit_is_found(study, tmp_path):
    tree = git(tmp_path, "write-tree").stdout.decode().strip()
    new = (
        git(tmp_path, "commit-tree", tree, "-m", "all of it", at=NOON + timedelta(days=5))
        .stdout.decode()
        .strip()
    )
    git(tmp_path, "reset", "-q", "--soft", new)
    found = whats(study)
    assert "the first to hold it, is no ancestor of HEAD" in found
    assert "on which it was frozen, is not in the history of HEAD" in found
    assert "another root commit" in found


def test_a_repository_started_anew_is_found(study, tmp_path):
    import shutil

    shutil.rmtree(tmp_path / ".git")
    start(tmp_path)
    commit(tmp_path, "fresh", days=1 / 12)
    found = whats(study)
    assert "another root commit" in found


def test_data_in_the_commit_of_the_freeze_or_before_it_are_found(tmp_path):
    start(tmp_path)
    study = make_study(tmp_path)
    commit(tmp_path, "plan", days=-1)
    freeze(study, now=lambda: NOON)
    (study / "units" / "sft.toy.main").mkdir(parents=True)
    (study / "units" / "sft.toy.main" / "rows.parquet").write_bytes(b"x")
    commit(tmp_path, "all at once", days=0.1)
    assert (
        "was first committed together with 1 files of data (first: toy/units/sft.toy.main/rows.parquet)"
        in whats(study)
    )


def test_data_that_were_committed_and_removed_before_the_freeze_are_found(tmp_path):
    start(tmp_path)
    study = make_study(tmp_path)
    (study / "training").mkdir()
    (study / "training" / "weights").write_bytes(b"opaque")
    commit(tmp_path, "secret", days=-3)
    (study / "training" / "weights").unlink()
    commit(tmp_path, "tidy", days=-2)
    freeze(study, now=lambda: NOON)
    commit(tmp_path, "freeze", days=0.1)
    assert "toy/training/weights was committed at 2026-08-23T12:00:00Z, before the record" in whats(study)


def test_seals_taken_away_with_their_entries_are_found_the_last_one_too(study, tmp_path):
    amended(study, "A1", 1)
    before = {path: path.read_bytes() for path in (study / "amendments.jsonl", study / "PREREGISTRATION.md")}
    amended(study, "A2", 2)
    commit(tmp_path, "amend", days=2)
    for path, data in before.items():
        path.write_bytes(data)
    assert 0 == verify(study).exit_code
    assert "holds seals that are not there any more" in whats(study)
    commit(tmp_path, "forget", days=3)
    assert "holds seals that are not there any more" in whats(study)


def test_seals_that_were_only_added_are_in_order(study, tmp_path):
    for number in (1, 2):
        amended(study, f"A{number}", number)
        commit(tmp_path, days=number)
    assert "" == whats(study)


def test_a_gate_committed_together_with_its_result_is_found(study, tmp_path):
    log = study / "DECISIONS.md"
    log.write_text("## 2026-08-27 · GATE · G1\nmust be above 0\n", encoding="utf-8")
    commit(tmp_path, days=1)
    assert "" == whats(study)
    log.write_text(log.read_text(encoding="utf-8") + "## 2026-08-28 · RESULT · R1\n+3\n", encoding="utf-8")
    commit(tmp_path, days=2)
    assert "" == whats(study)
    more = "## 2026-08-29 · GATE · G2\nx\n## 2026-08-29 · RESULT · R2\ny\n"
    log.write_text(log.read_text(encoding="utf-8") + more, encoding="utf-8")
    commit(tmp_path, days=3)
    assert "2026-08-29 · GATE · G2 and 2026-08-29 · RESULT · R2 came in one commit" in whats(study)


def test_drift_of_a_pinned_file_says_since_when(study, tmp_path):
    (study / "configs/sft.toml").write_bytes(b"epochs = 3\n")
    assert "; not committed yet" in whats(study)
    sha = commit(tmp_path, "more epochs", days=4)
    assert f"; first seen in commit {sha[:12]} of 2026-08-30T12:00:00Z" in whats(study)


def test_a_shallow_clone_says_that_older_commits_are_not_there(study, tmp_path):
    commit(tmp_path, "more", days=1)
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tmp_path}", str(tmp_path / "copy"))
    result = deep(tmp_path / "copy" / "big" / "studies" / "toy")
    assert ("older commits: this clone is shallow",) == result.unchecked
    assert () == result.findings


def test_a_study_inside_a_submodule_is_held_against_the_submodule(study, tmp_path):
    outer = tmp_path.parent / f"{tmp_path.name}-outer"
    outer.mkdir()
    start(outer)
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", f"file://{tmp_path}", "inner")
    result = deep(outer / "inner" / "big" / "studies" / "toy")
    assert ((), "2026-08-26T13:00:00Z") == (result.findings, result.first_commit_at)


def test_no_git_at_all_is_said(study, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert ("git history: git is not installed",) == deep(study).unchecked
