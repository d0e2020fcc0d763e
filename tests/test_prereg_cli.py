import json
import re

import pytest
from click.testing import CliRunner
from prereg_studies import CONFIG, PROBLEMS, frozen_study, make_study, sha

from ledger.layout import header_line
from manifests.console import run
from manifests.errors import BeforehandError
from manifests.study import Study
from prereg.cli import new, prereg
from prereg.new import new_study


def call(command, *arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def exit_code(command, *arguments):
    with pytest.raises(SystemExit) as caught:
        run(command, [str(argument) for argument in arguments], name="beforehand")
    return caught.value.code


def test_a_new_study_has_everything_that_it_starts_from(tmp_path):
    folder = tmp_path / "studies" / "first-try"
    assert 0 == call(new, folder).exit_code
    assert [".gitattributes", "DECISIONS.md", "PREREGISTRATION.md", "ledger.csv", "study.toml"] == sorted(
        path.name for path in folder.iterdir()
    )
    assert header_line().encode() == (folder / "ledger.csv").read_bytes()
    config = Study.open(folder).config
    assert ("first-try", "First try", "local", ()) == (
        config.name,
        config.title,
        config.store,
        config.data_roots,
    )


@pytest.mark.parametrize("name", ["First", "-x", "a b", "ä", "a.b", "x" * 49])
def test_a_name_that_is_no_slug_makes_no_study(tmp_path, name):
    with pytest.raises(BeforehandError, match="no name for a study"):
        new_study(tmp_path / name)
    assert [] == list(tmp_path.iterdir())


def test_a_folder_with_anything_in_it_is_left_alone(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "thesis.tex").write_bytes(b"years of work")
    with pytest.raises(BeforehandError, match="not empty"):
        new_study(tmp_path / "x")
    assert ["thesis.tex"] == [path.name for path in (tmp_path / "x").iterdir()]


def test_an_empty_folder_may_become_a_study(tmp_path):
    (tmp_path / "x").mkdir()
    assert 5 == len(new_study(tmp_path / "x"))


def test_check_freeze_and_verify_end_as_the_contract_says(tmp_path):
    study = make_study(tmp_path)
    assert [1, 0, 0, 0, 2] == [
        exit_code(prereg, "verify", study),
        exit_code(prereg, "check", study),
        exit_code(prereg, "freeze", study),
        exit_code(prereg, "verify", study),
        exit_code(prereg, "freeze", study),
    ]
    assert 2 == exit_code(prereg, "check", tmp_path / "none")
    assert 2 == exit_code(prereg, "nonsense")


def test_findings_of_a_check_exit_1_and_come_as_json(tmp_path):
    new_study(tmp_path / "x")
    result = call(prereg, "check", tmp_path / "x", "--json")
    assert 1 == result.exit_code
    assert {"where", "what", "mend"} == set(json.loads(result.stdout)["findings"][0])


def test_freeze_and_verify_print_the_same_digest(tmp_path):
    study = make_study(tmp_path)
    frozen = json.loads(call(prereg, "freeze", study, "--json").stdout)
    verified = json.loads(call(prereg, "verify", study, "--json").stdout)
    assert (
        frozen["block_sha256"] == verified["block_sha256"]["recorded"] == verified["block_sha256"]["actual"]
    )
    assert "unchanged" == verified["status"]


def test_a_refused_freeze_lists_its_findings_as_json(tmp_path, capsys):
    new_study(tmp_path / "x")
    assert 2 == exit_code(prereg, "freeze", tmp_path / "x", "--json")
    assert 17 == len(json.loads(capsys.readouterr().out)["findings"])


def test_verify_agrees_with_the_stand_alone_command(tmp_path, capsys):
    from prereg.verify import main

    study = frozen_study(tmp_path)
    main([str(study), "--history"])
    assert capsys.readouterr().out == call(prereg, "verify", study).stdout


def test_a_template_that_is_filled_in_can_be_frozen(tmp_path):
    study = tmp_path / "first"
    new_study(study)
    (study / "problems").mkdir()
    (study / "problems/toy.jsonl").write_bytes(PROBLEMS)
    (study / "sft.toml").write_bytes(CONFIG)
    answers = {
        "FILL: problems/NAME.jsonl, one problem a line, each with a problem_id": "problems/toy.jsonl",
        "FILL: configs/sft.toml": "sft.toml",
        "FILL: owner/name": "owner/name",
        "FILL: the full commit, 40 hex digits": "a" * 40,
        "FILL: math or lean": "math",
        "n = 0                            # FILL: number of problems": "n = 10",
        "cap_tokens = 0                   # FILL: most tokens a completion may have": "cap_tokens = 64",
        "FILL: name of the prompt": "four-turns",
    }
    text = (study / "PREREGISTRATION.md").read_text(encoding="utf-8")
    for asked, answer in answers.items():
        assert asked in text
        text = text.replace(asked, answer)
    text = text.replace("FILL: 64 hex digits", sha(PROBLEMS), 1).replace(
        "FILL: 64 hex digits", sha(CONFIG), 1
    )
    text = re.sub(r"^FILL: .*$", "We say.", text, flags=re.MULTILINE)
    (study / "PREREGISTRATION.md").write_text(text, encoding="utf-8")
    assert [0, 0, 0] == [exit_code(prereg, command, study) for command in ("check", "freeze", "verify")]
