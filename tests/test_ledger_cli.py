"""The commands: what they print, what they exit with, what they leave alone."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from ledger_rows import STUDY, booking, cap, file_of, ledger_file

import beforehand
from ledger.book import read_ledger
from ledger.entries import format_time
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
    assert 0 == call("book", *arguments, "--time", "2024-08-26T09:30:00Z")[0]
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


def test_a_launch_is_gated_reserved_and_settled(call, study):
    call("cap", "--amount", "100", "--by", "user")
    assert 0 == call("gate", "--high", "60", "--phase", "P4")[0]
    assert 0 == call("reserve", "--high", "60", "--phase", "P4", "--unit", "base.gsm.c512-n8")[0]
    code, out, _ = call("gate", "--high", "60")
    assert (1, True) == (code, "spent 0.00 + reserved 60.00 + high 60.00 of 100.00 USD, over by 20.00" in out)
    code, out, _ = call(
        "settle",
        "--reservation",
        "2",
        "--job",
        "j1",
        "--seconds",
        "15994",
        "--flavor",
        "a100x4",
        "--basis",
        "running",
    )
    assert (0, "spent 44.50 USD, reserved 0.00 USD, 55.50 left of 100.00") == (code, out.splitlines()[-1])
    booked, released = entries(study)[2:]
    assert ("book", "P4", "base.gsm.c512-n8", "minute") == (
        booked.kind,
        booked.phase,
        booked.unit,
        booked.billing,
    )
    assert ("release", 2, "P4", "settled by job j1") == (
        released.kind,
        released.corrects_seq,
        released.phase,
        released.note,
    )


def test_a_reservation_that_would_pass_a_cap_is_refused(call, study):
    call("cap", "--amount", "100", "--by", "user")
    code, _, err = call("reserve", "--high", "100.01")
    assert (1, True, 1) == (code, "would be passed by 0.01 USD" in err, len(entries(study)))


def test_settling_a_job_twice_names_its_booking_and_keeps_the_reservation(call, study):
    call("cap", "--amount", "100", "--by", "user")
    call("reserve", "--high", "5", "--job", "j1")
    call("book", "--job", "j1", "--basis", "stated", "--amount", "1")
    code, _, err = call("settle", "--job", "j1", "--basis", "stated", "--amount", "1")
    assert (2, True, 3) == (code, "row 3 is its booking" in err, len(entries(study)))
    code, out, _ = call("balance")
    assert (1, True) == (code, "row 2: still reserves 5.00 USD for job j1, which row 3 books" in out)
    assert (0, 0) == (call("release", "--job", "j1")[0], call("balance")[0])


def test_a_reservation_that_is_not_open_is_named_with_those_that_are(call):
    call("cap", "--amount", "100", "--by", "user")
    call("reserve", "--high", "5", "--job", "j1")
    code, _, err = call("release", "--reservation", "1")
    assert (2, True) == (code, "name one of the open rows: 2 (5.000000 USD j1)" in err)


def test_the_probe_that_did_not_exit_is_mended_by_a_row_of_its_own(call, study):
    call(
        "book",
        "--job",
        "probe",
        "--seconds",
        "338.4",
        "--rate",
        "2.50",
        "--flavor",
        "a100-large",
        "--basis",
        "running",
        "--outcome",
        "canceled",
    )
    call(
        "correct",
        "--row",
        "1",
        "--delta",
        "0.585",
        "--seconds",
        "842.4",
        "--basis",
        "occupancy",
        "--note",
        "wall clock 19.7 min",
    )
    assert "spent 0.82 USD" in call("balance")[1]


def test_a_canceled_run_is_tagged_later_with_what_it_bought(call, study):
    call("book", "--job", "b", "--basis", "stated", "--amount", "14.10", "--outcome", "canceled")
    tags = ["--bought", "training-record", "--bought", "refuted-hypothesis"]
    assert 0 == call("correct", "--row", "1", *tags, "--note", "steps 1 to 24 refute H3")[0]
    assert "canceled training-record refuted-hypothesis" == entries(study)[1].outcome


def test_only_a_booking_is_corrected(call):
    call("cap", "--amount", "1", "--by", "user")
    assert (2, True) == (
        call("correct", "--row", "1", "--note", "x")[0],
        "row 1 is not a booking" in call("correct", "--row", "1", "--note", "x")[2],
    )


def test_a_unit_from_elsewhere_is_imported_at_no_cost(call, study):
    assert (
        0
        == call(
            "import",
            "--unit",
            "post.aime24.full",
            "--unit",
            "post.aime25.full",
            "--from",
            "pilot-repo@5819e26c",
        )[0]
    )
    assert ("from pilot-repo@5819e26c", "post.aime24.full post.aime25.full") == (
        entries(study)[0].note,
        entries(study)[0].unit,
    )


def test_an_unknown_flavor_is_an_error_and_its_neighbour_is_named(call):
    code, _, err = call(
        "book", "--job", "a", "--seconds", "5", "--flavor", "A100-Large", "--rate-date", "2026-08-22"
    )
    assert (2, True) == (code, "did you mean a100-large" in err)


def test_rates_of_your_own_are_used(call, study, tmp_path):
    table = """format = "rates/1"
[[tables]]
date = "2020-01-01"
source = "the cluster's price list"
billing = "second"
usd_per_h = { node-8gpu = "12.00" }
"""
    (tmp_path / "rates.toml").write_text(table, encoding="utf-8")
    arguments = [
        "--job",
        "a",
        "--seconds",
        "1800",
        "--flavor",
        "node-8gpu",
        "--rates",
        str(tmp_path / "rates.toml"),
    ]
    assert 0 == call("book", *arguments)[0]
    assert ("6.000000", "2020-01-01") == (f"{entries(study)[0].amount_usd}", f"{entries(study)[0].rate_date}")


def test_totals_say_what_the_money_bought_on_both_bases(call):
    call(
        "book",
        "--job",
        "a",
        "--basis",
        "running",
        "--seconds",
        "3600",
        "--rate",
        "2.50",
        "--flavor",
        "a100-large",
        "--unit",
        "a.b.c",
        "--bought",
        "unit",
    )
    call(
        "book",
        "--job",
        "b",
        "--seconds",
        "3600",
        "--rate",
        "10",
        "--flavor",
        "a100x4",
        "--outcome",
        "canceled",
        "--bought",
        "training-record",
    )
    code, out, _ = call("totals", "--solved", "5", "--conclusions", "0")
    assert (0, "Quoted: 12.50 USD, occupancy x rate including aborted work.") == (code, out[:59])
    assert ["training-record", "1", "1.00", "10.00", "0.00"] in [line.split() for line in out.split("\n")]
    assert ["a.b.c", "2.50", "a"] in [line.split() for line in out.split("\n")]
    assert ("one solved problem: 2.50 USD" in out, "one conclusion: not estimable: there is none" in out) == (
        True,
        True,
    )
    document = json.loads(call("totals", "--json", "--conclusions", "0")[1])
    assert ("12.500000", "2.500000", None) == (
        document["quoted_usd"],
        document["floor_usd"],
        document["cost_per"]["conclusion"],
    )


def test_the_balance_lists_open_reservations(call):
    call("cap", "--amount", "100", "--by", "user")
    call("reserve", "--high", "5", "--job", "j9")
    assert "open reservation, row 2: 5.00 USD j9" in call("balance")[1]


def test_a_time_a_minute_ahead_is_refused_although_two_clocks_may_differ(call, study):
    soon = format_time(datetime.now(UTC) + timedelta(minutes=1))
    code, _, err = call("book", "--job", "a", "--basis", "stated", "--amount", "1", "--time", soon)
    assert (2, True) == (code, "--time: " in err and "lies in the future" in err)
