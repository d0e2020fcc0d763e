import os

import pytest
from ledger_rows import booking
from prereg_git import commit, git, start
from prereg_studies import NOON, frozen_study, make_study

from ledger.book import Book
from ledger.layout import empty_ledger
from manifests.documents import validate_mapping
from manifests.errors import BeforehandError
from prereg.amend import amend
from prereg.amendment import Amendment
from prereg.freeze import freeze
from prereg.hook import install

PROSE = {"registered": "as it was", "now": "as it is", "reason": "because", "seen": "nothing of it"}


@pytest.fixture
def study(tmp_path):
    """A frozen, amended and booked study, committed, in a repository whose guard stands."""
    start(tmp_path)
    install(tmp_path)
    study = frozen_study(tmp_path, name="studies/toy study")
    (study / "ledger.csv").write_bytes(empty_ledger())
    Book(study / "ledger.csv", study_name="toy").append(booking())
    amend(
        study,
        validate_mapping(Amendment, {"id": "A1", "kind": "disclosure", **PROSE}, where="a"),
        now=lambda: NOON,
    )
    commit(tmp_path, "freeze")
    return study


def try_commit(study, *arguments):
    git(study, "add", "-A")
    finished = git(study, "commit", "-q", "-m", "try", *arguments, check=False)
    return finished.returncode, finished.stderr.decode()


def edit(path, old, new):
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        (
            "PREREGISTRATION.md",
            b"Is it better?",
            b"Is it worse?",
            "the frozen text between the markers is changed",
        ),
        ("PREREGISTRATION.md", b"PREREG_SHA256: ", b"PREREG_SHA256: 0", "the PREREG_SHA256 line"),
        ("PREREGISTRATION.md", b"<!-- PREREG:END -->", b"", "has no line <!-- PREREG:END -->"),
        ("PREREGISTRATION.md", b"because", b"by chance", "the amendment A1 is changed or removed"),
        ("registration.json", b"2026-08-26", b"2026-08-01", "registration.json: is changed"),
        ("amendments.jsonl", b"because", b"by chance", "amendments.jsonl: loses or changes rows"),
        ("ledger.csv", b"2.50", b"1.50", "ledger.csv: loses or changes rows"),
    ],
)
def test_a_commit_that_changes_what_is_frozen_is_refused(study, name, old, new, says):
    edit(study / name, old, new)
    head = git(study, "rev-parse", "HEAD").stdout
    code, said = try_commit(study)
    assert (1, head) == (code, git(study, "rev-parse", "HEAD").stdout)
    assert says in said


@pytest.mark.parametrize(
    "name", ["PREREGISTRATION.md", "registration.json", "amendments.jsonl", "ledger.csv"]
)
def test_a_commit_that_removes_a_frozen_file_is_refused(study, name):
    (study / name).unlink()
    assert 1 == try_commit(study)[0]


def test_honest_work_goes_through(study):
    edit(study / "PREREGISTRATION.md", b"# Toy", b"# Toy, retitled")
    Book(study / "ledger.csv", study_name="toy").append(booking("job-2"))
    amend(
        study,
        validate_mapping(Amendment, {"id": "A2", "kind": "deviation", **PROSE}, where="a"),
        now=lambda: NOON,
    )
    (study / "anything.txt").write_bytes(b"x")
    assert (0, "") == try_commit(study)


def test_an_unfrozen_study_may_be_written_and_frozen(study, tmp_path):
    other = make_study(tmp_path, name="studies/other")
    assert 0 == try_commit(other)[0]
    edit(other / "PREREGISTRATION.md", b"better", b"larger")
    assert 0 == try_commit(other)[0]
    freeze(other, now=lambda: NOON)
    assert 0 == try_commit(other)[0]


def test_a_commit_of_one_file_is_judged_by_what_it_commits(study):
    edit(study / "ledger.csv", b"2.50", b"1.50")
    (study / "notes.txt").write_bytes(b"x")
    git(study, "add", "notes.txt")
    assert 0 == git(study, "commit", "-qm", "notes only", check=False).returncode
    finished = git(study, "commit", "-qm", "and now", "--", "ledger.csv", check=False)
    assert (1, True) == (finished.returncode, b"loses or changes rows" in finished.stderr)


def test_the_first_commit_of_a_repository_is_looked_at_too(tmp_path):
    start(tmp_path)
    install(tmp_path)
    study = frozen_study(tmp_path)
    edit(study / "PREREGISTRATION.md", b"better", b"worse")
    assert 1 == try_commit(study)[0]


def test_a_foreign_hook_is_left_alone_and_ours_is_renewed(tmp_path):
    start(tmp_path)
    install(tmp_path)
    paths = install(tmp_path)
    assert all(os.access(path, os.X_OK) for path in paths)
    paths[0].write_text("#!/bin/sh\nmake lint\n")
    with pytest.raises(BeforehandError, match="is another hook already"):
        install(tmp_path)
    assert "#!/bin/sh\nmake lint\n" == paths[0].read_text()


def test_hooks_go_where_the_repository_keeps_them(tmp_path):
    start(tmp_path)
    git(tmp_path, "config", "core.hooksPath", "my hooks")
    assert [tmp_path / "my hooks" / name for name in ("pre-commit", "pre-merge-commit")] == list(
        install(tmp_path)
    )


def test_a_folder_outside_any_repository_gets_no_hook(tmp_path):
    with pytest.raises(BeforehandError, match="not a git repository"):
        install(tmp_path)


def test_a_new_study_is_kept_from_line_ending_conversion(tmp_path):
    from prereg.new import new_study

    start(tmp_path)
    git(tmp_path, "config", "core.autocrlf", "true")
    study = tmp_path / "toy"
    new_study(study)
    before = (study / "PREREGISTRATION.md").read_bytes()
    commit(tmp_path)
    (study / "PREREGISTRATION.md").unlink()
    git(tmp_path, "checkout", "--", ".")
    assert before == (study / "PREREGISTRATION.md").read_bytes()


def test_a_folder_of_the_repository_with_our_name_does_not_replace_the_guard(study):
    (study.parent.parent / "prereg").mkdir()
    (study.parent.parent / "prereg" / "__init__.py").write_text("")
    (study.parent.parent / "prereg" / "guard.py").write_text("raise SystemExit(0)\n")
    edit(study / "ledger.csv", b"2.50", b"1.50")
    assert 1 == try_commit(study)[0]
