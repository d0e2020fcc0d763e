import os
import re
import subprocess
import sys
from pathlib import Path

from prereg_git import commit, start
from prereg_studies import NOON, make_study

from ledger.layout import empty_ledger
from prereg.cli import prereg
from prereg.freeze import freeze
from prereg.verification import SENTENCES

PAGE = (Path(__file__).parent.parent / "docs" / "registration.md").read_text(encoding="utf-8")


def test_the_commands_of_the_ci_snippet_pass_on_an_orderly_study_and_fail_on_a_changed_one(tmp_path):
    start(tmp_path)
    study = make_study(tmp_path, name="studies/first")
    (study / "ledger.csv").write_bytes(empty_ledger())
    commit(tmp_path, "plan", days=-1)
    freeze(study, now=lambda: NOON)
    commit(tmp_path, "freeze")
    commands = re.findall(r"^- run: (.+)$", PAGE, re.MULTILINE)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def run():
        return [
            subprocess.run(["sh", "-c", one], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, check=False).returncode
            for one in commands
        ]  # fmt: skip

    assert [0, 0] == run()
    document = study / "PREREGISTRATION.md"
    document.write_bytes(document.read_bytes().replace(b"better", b"worse"))
    assert [1, 0] == run()


def test_every_state_and_every_command_stands_on_the_page():
    assert [] == [state for state in SENTENCES if f"| {state} |" not in PAGE]
    assert [] == [name for name in prereg.commands if name != "power" and f"prereg {name}" not in PAGE]
