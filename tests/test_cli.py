import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from study_factory import freeze_study, make_study, whole_study, worse, write_log

import beforehand
from manifests.console import Outcome, reporting

ROOT = Path(__file__).resolve().parent.parent


def run(*arguments, script="beforehand.py", **options):
    command = [sys.executable, str(ROOT / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def every_command(group=beforehand.cli, path=()):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from every_command(command, (*path, name))
        else:
            yield (*path, name), command


def test_help_lists_the_groups_without_importing_any():
    code = "import sys, beforehand\ntry:\n beforehand.cli.main(['--help'])\nexcept SystemExit: pass\nprint([m for m in ('pydantic','numpy','pyarrow','rich','prereg','report') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("[]")
    assert "prereg" in done.stdout


@pytest.mark.parametrize("path", [path for path, _ in every_command()], ids=" ".join)
def test_every_command_has_a_help_text_and_takes_json(path):
    command = dict(every_command())[path]
    assert command.help
    assert any("--json" in parameter.opts for parameter in command.params)


def test_every_command_is_documented():
    pages = "\n".join(
        page.read_text() for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    )
    missing = [" ".join(path) for path, _ in every_command() if not documented(path, pages)]
    assert missing == []


def documented(path, pages):
    """`beforehand prereg freeze` or, in a list, `beforehand prereg check · freeze · verify`."""
    if len(path) == 1:
        return f"beforehand {path[0]}" in pages
    return re.search(
        rf"beforehand {path[0]} (?:[\w -]+ [·|] )*{re.escape(path[1])}\b", pages
    ) is not None or re.search(rf"`(?:beforehand )?{path[0]} {re.escape(path[1])}\b", pages)


def test_a_whole_study_runs_from_the_command_line(tmp_path):
    study = make_study(tmp_path / "mein Ordner é")
    freeze_study(study)
    base, sft = write_log(tmp_path / "b.jsonl", worse), write_log(tmp_path / "s.jsonl", lambda *_: True)
    for log, unit in ((base, "base.toy.main"), (sft, "sft.toy.main")):
        done = run("units", "import", study, log, "--unit", unit)
        assert (done.returncode, re.search(r"guessed from its field names", done.stderr)[0]) == (
            0,
            "guessed from its field names",
        )
    assert run("units", "check", study).returncode == 0
    assert run(study, "--offline", script="build_report.py").returncode == 0
    assert run(study, "--offline", "--verify", script="build_report.py").returncode == 0
    assert run("report", "verify", study).returncode == 0
    assert run("prereg", "verify", study).returncode == 0


def test_the_same_import_twice_changes_nothing_and_other_rows_are_refused(tmp_path):
    study = whole_study(tmp_path / "s")
    before = (study / "manifests/base.toy.main.json").read_bytes()
    again = run("units", "import", study, tmp_path / "logs/base.jsonl", "--unit", "base.toy.main")
    assert (again.returncode, "was there already" in again.stdout) == (0, True)
    other = write_log(tmp_path / "other.jsonl", lambda *_: False)
    refused = run("units", "import", study, other, "--unit", "base.toy.main")
    assert (refused.returncode, "other content" in refused.stderr) == (2, True)
    assert before == (study / "manifests/base.toy.main.json").read_bytes()


@pytest.mark.parametrize(
    ("expected", "arguments"),
    [
        (2, ["nonsense"]),
        (2, ["units", "import"]),
        (2, ["units", "list", "nowhere"]),
        (2, ["report", "build", "nowhere"]),
        (2, ["prereg", "verify", "nowhere"]),
        (2, ["units", "import", "{study}", "{study}/none.jsonl", "--unit", "base.toy.main"]),
        (2, ["units", "import", "{study}", "{study}/none.jsonl", "--unit", "nonsense"]),
        (2, ["units", "import", "{study}", "{study}/none.jsonl", "--unit", "base.toy.other"]),
        (1, ["report", "build", "{study}"]),
        (1, ["report", "verify", "{study}"]),
        (1, ["prereg", "verify", "{study}"]),
        (0, ["units", "list", "{study}"]),
    ],
)
def test_exit_codes_are_the_contract_and_json_is_one_document_even_in_failure(tmp_path, expected, arguments):
    study = make_study(tmp_path / "s")
    given = [part.format(study=study) for part in arguments]
    plain, as_json = run(*given), run(*given, "--json")
    assert (expected, expected) == (plain.returncode, as_json.returncode)
    document = json.loads(as_json.stdout)
    assert isinstance(document, dict)
    if expected == 2:
        assert document["error"]["what"]
        assert "error:" in plain.stderr
        assert plain.stdout == ""


def test_a_bug_of_ours_exits_70_with_a_traceback():
    code = (
        "import click; from manifests.console import run, reporting\n"
        "@click.command()\n@reporting\ndef broken(): raise RuntimeError('boom')\nrun(broken, [], name='x')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert "RuntimeError: boom" in done.stderr
    assert "please report it" in done.stderr


@pytest.mark.parametrize(("expected", "number"), [(143, signal.SIGTERM), (130, signal.SIGINT)])
def test_a_signal_ends_the_command_with_its_own_code(expected, number):
    code = (
        "import click, time; from manifests.console import run, reporting\n"
        "@click.command()\n@reporting\ndef slow():\n print('ready', flush=True); time.sleep(60)\nrun(slow, [], name='x')"
    )
    child = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.05)
    os.kill(child.pid, number)
    assert expected == child.wait(timeout=20)
    child.stdout.close()


def test_foreign_control_characters_never_reach_the_terminal_raw():
    @click.command()
    @reporting
    def shown():
        return Outcome(text="a\x1b[31mb\nc")

    from click.testing import CliRunner

    assert CliRunner().invoke(shown).output == "a⟨ESC⟩[31mb\nc\n"


def test_findings_make_exit_code_one():
    from manifests.errors import Finding

    assert (Outcome(text="", findings=(Finding(where="", what="x"),)).code, Outcome(text="").code) == (1, 0)
