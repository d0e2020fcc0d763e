"""The examples of docs/ledger.md are what the commands print."""

from __future__ import annotations

import re
import shlex
from datetime import UTC, datetime
from pathlib import Path

import pytest

import beforehand
from ledger.cells import BASES, BOUGHT, KINDS, STATUSES
from ledger.cli import ledger
from ledger.entries import COLUMNS
from ledger.estimates import estimate
from ledger.layout import empty_ledger
from ledger.plans import read_plan
from ledger.rates import find_rate, read_rates
from manifests.console import run

PAGE = (Path(__file__).parent.parent / "docs/ledger.md").read_text(encoding="utf-8")
STUDY = "studies/direct-opd"


def fences(info):
    return re.findall(rf"^```{re.escape(info)}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_worked_month_prints_what_the_page_shows(tmp_path, monkeypatch, capsys):
    if datetime.now(UTC) < datetime(2026, 10, 1, tzinfo=UTC):
        pytest.skip(
            "this machine's clock is before the month of the example, and the ledger takes no time in the future"
        )
    monkeypatch.chdir(tmp_path)
    study = tmp_path / STUDY
    study.mkdir(parents=True)
    (study / "study.toml").write_text('name = "direct-opd"\n', encoding="utf-8")
    (study / "ledger.csv").write_bytes(empty_ledger())
    (tmp_path / "jobs.csv").write_text(fences("csv jobs.csv")[0], encoding="utf-8")
    shown = "".join(fences("console"))
    printed = ""
    for line in shown.split("\n"):
        if line.startswith("$ "):
            with pytest.raises(SystemExit):
                run(beforehand.cli, shlex.split(line)[2:], name="beforehand")
            captured = capsys.readouterr()
            assert "" == captured.err
            printed += f"{line}\n{captured.out}"
    assert printed == shown


def test_the_plan_on_the_page_can_be_computed(tmp_path):
    (tmp_path / "plan.toml").write_text(fences("toml")[0], encoding="utf-8")
    found = estimate(
        read_plan(tmp_path / "plan.toml"),
        price_of=lambda flavor: (
            find_rate(read_rates(), flavor, day=datetime(2026, 9, 1, tzinfo=UTC).date()).usd_per_h
        ),
    )
    assert (("tokens",), ()) == (found.totals[0].bracketed, found.findings)


def test_the_page_names_every_column_word_and_command():
    assert f"`{', '.join(COLUMNS)}`" in PAGE
    assert [] == [word for word in (*KINDS, *BASES, *STATUSES, *BOUGHT) if f"`{word}`" not in PAGE]
    assert [] == [name for name in ledger.commands if f"ledger {name}" not in PAGE and f"`{name}" not in PAGE]
