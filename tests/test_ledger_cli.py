"""The commands: what they print, what they exit with, what they leave alone."""

from __future__ import annotations

import json

import pytest
from ledger_rows import STUDY, booking, cap, file_of, ledger_file

import beforehand
from ledger.book import read_ledger
from manifests.console import run


@pytest.fixture
def study(tmp_path):
    ledger_file(tmp_path / "study")
    return tmp_path / "study"


@pytest.fixture
def call(capsys, study):
    """Run `beforehand ledger COMMAND STUDY …`; returns exit code, stdout, stderr."""

    def calling(command, *arguments):
        with pytest.raises(SystemExit) as ended:
            run(beforehand.cli, ["ledger", command, str(study), *arguments], name="beforehand")
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return calling


def entries(study):
    return read_ledger(study / "ledger.csv", study_name=STUDY).entries


def test_a_cap_a_booking_and_a_balance(call, study):
    assert 0 == call("cap", "--amount", "200", "--by", "user")[0]
    code, out, _ = call(
        "book",
        "--job",
        "6a8d7e7a",
        "--seconds",
        "15994",
        "--rate",
        "10",
        "--flavor",
        "a100x4",
        "--phase",
        "P4",
    )
    assert (0, "row 2: book 44.43 USD 6a8d7e7a (P4)") == (code, out.splitlines()[0])
    code, out, _ = call("balance")
    assert (0, "spent 44.43 USD, reserved 0.00 USD") == (code, out.splitlines()[0])
    assert "cap of study: 200.00 USD (row 1); spent 44.43, reserved 0.00, left 155.57" in out


def test_free_local_work_is_booked_with_its_seconds(call, study):
    arguments = [
        "--job",
        "local-sft",
        "--seconds",
        "88.3",
        "--rate",
        "0.00",
        "--flavor",
        "cpu-local",
        "--unit",
        "base.gsm.c512-n8",
    ]
    assert 0 == call("book", *arguments, "--time", "2026-08-26T09:30:00Z")[0]
    row = entries(study)[0]
    assert ("88.3", "0.000000", "base.gsm.c512-n8") == (str(row.seconds), str(row.amount_usd), row.unit)


def test_json_gives_amounts_as_strings_and_the_head(call, study):
    call("cap", "--amount", "5", "--by", "user")
    code, out, _ = call("balance", "--json")
    document = json.loads(out)
    assert (0, "0.000000", "5.000000") == (code, document["spent_usd"], document["remaining_usd"])
    assert document["head"] == f"1:{entries(study)[0].hash}"


def test_a_passed_cap_is_a_finding(call):
    call("cap", "--amount", "1", "--by", "user")
    call("book", "--job", "a", "--basis", "stated", "--amount", "3.50")
    code, out, _ = call("balance")
    assert (1, True) == (code, "cap of study: is passed by 2.50 USD" in out)


def test_verify_exits_with_1_on_an_edited_row_and_names_it(call, study):
    call("book", "--job", "a", "--basis", "stated", "--amount", "3.50")
    path = study / "ledger.csv"
    path.write_bytes(path.read_bytes().replace(b"3.500000", b"0.500000"))
    code, out, _ = call("verify")
    assert (1, True) == (code, "line 2, row 1: was changed after it was written" in out)


def test_verify_with_a_head_finds_a_cut_tail(call, study):
    path = study / "ledger.csv"
    path.write_bytes(file_of(booking("a"), booking("b")))
    head = entries(study)[-1]
    path.write_bytes(file_of(booking("a")))
    assert 0 == call("verify")[0]
    code, out, _ = call("verify", "--head", f"{head.seq}:{head.hash}")
    assert (1, True) == (code, "its tail was cut" in out)


def test_a_booking_on_a_broken_ledger_exits_with_1_and_writes_nothing(call, study):
    broken = file_of(booking("a")).replace(b"3600", b"7200")
    (study / "ledger.csv").write_bytes(broken)
    assert 1 == call("book", "--job", "b", "--basis", "stated", "--amount", "1")[0]
    assert broken == (study / "ledger.csv").read_bytes()


def test_a_dropped_torn_tail_is_said(call, study):
    (study / "ledger.csv").write_bytes(file_of(booking("a"), booking("b"))[:-10])
    assert "dropped a torn tail" in call("book", "--job", "c", "--basis", "stated", "--amount", "1")[2]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--seconds", "-5", "--rate", "1", "--flavor", "l4x1"], "is not a duration"),
        (["--seconds", "nan", "--rate", "1", "--flavor", "l4x1"], "plain decimal"),
        (["--seconds", "5", "--rate", "$1", "--flavor", "l4x1"], "plain decimal"),
        (["--seconds", "5", "--rate", "-1", "--flavor", "l4x1"], "negative rate"),
        (["--seconds", "5", "--rate", "1", "--flavor", "A100-Large"], "flavor 'A100-Large' is not a flavor"),
        (["--seconds", "5", "--rate", "1"], "must fill flavor"),
        (
            ["--seconds", "5", "--rate", "1", "--flavor", "l4x1", "--amount", "1"],
            "follows from seconds and rate",
        ),
        (["--rate", "1", "--flavor", "l4x1"], "--seconds: is missing"),
        (["--basis", "stated"], "--amount: is missing"),
        (["--basis", "stated", "--amount", "1", "--time", "2999-01-01T00:00:00Z"], "lies in the future"),
        (["--basis", "stated", "--amount", "1", "--time", "2026-08-26T09:30:00"], "not in UTC"),
        (["--basis", "stated", "--amount", "1", "--unit", "no-unit"], "is not a unit id"),
        (["--basis", "stated", "--amount", "1", "--note", "two\nlines"], "line break"),
        (["--basis", "stated", "--amount", "1", "--note", "\udcff"], "control character"),
    ],
)
def test_wrong_input_ends_with_2_a_sentence_and_an_untouched_ledger(call, study, arguments, expected):
    code, _, err = call("book", "--job", "a", *arguments)
    assert (2, True) == (code, expected in err), err
    assert file_of() == (study / "ledger.csv").read_bytes()


def test_a_folder_that_is_no_study_is_named(call, study):
    (study / "study.toml").write_text("name = 5\n", encoding="utf-8")
    assert (2, True) == (call("balance")[0], "names no study" in call("balance")[2])
    (study / "study.toml").unlink()
    assert "does not exist" in call("balance")[2]


def test_every_command_has_a_help_of_its_own():
    from ledger.cli import ledger

    assert all(command.help for command in ledger.commands.values())


def test_a_cap_says_whose_decision_it_is(call, study):
    call("cap", "--amount", "500", "--by", "user", "--note", "tiers A1 to D approved")
    assert cap("500", note="by user: tiers A1 to D approved").note == entries(study)[0].note
    assert 2 == call("cap", "--amount", "500")[0]
