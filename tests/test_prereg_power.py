import json

import pytest
from click.testing import CliRunner

from prereg.power_cli import power

PUBLISHED = [
    ["0.10", "0.12", "0.43", "0.82", "0.99"],
    ["0.15", "0.09", "0.30", "0.63", "0.89"],
    ["0.20", "0.08", "0.24", "0.51", "0.78"],
]


def tables(*arguments):
    return json.loads(CliRunner().invoke(power, [*arguments, "--json"]).output)["tables"]


def test_the_two_tables_of_a_published_registration_come_out_exactly():
    split, powers, _ = tables("--n", "244")
    assert [["10", "1:9"], ["20", "5:15"], ["30", "9:21"], ["40", "13:27"], ["60", "21:39"]] == split["rows"]
    assert PUBLISHED == powers["rows"]
    assert ["discordant fraction d", "delta = +2 pp", "+4 pp", "+6 pp", "+8 pp"] == powers["header"]


def test_people_read_the_same_cells():
    text = CliRunner().invoke(power, ["--n", "244"]).output
    for row in PUBLISHED:
        assert row in [line.split() for line in text.splitlines()]


def test_a_gain_larger_than_the_discordant_share_is_impossible_and_has_no_power():
    assert ["0.05", "-"] == tables("--n", "100", "-d", "0.05", "-g", "0.1")[1]["rows"][0]


def test_too_few_problems_say_that_no_gain_is_detectable():
    assert "none" == tables("--n", "30", "-d", "0.1")[2]["rows"][0][1]


@pytest.mark.parametrize(
    "arguments", [["--n", "0"], ["--n", "10", "--alpha", "1"], ["--n", "10", "-d", "0"], []]
)
def test_impossible_plans_are_wrong_use(arguments):
    assert 2 == CliRunner().invoke(power, arguments).exit_code


def test_a_paired_mean_needs_its_spread():
    assert CliRunner().invoke(power, ["--n", "10", "--test", "paired_mean"]).exception is not None
    assert "pp" in CliRunner().invoke(power, ["--n", "120", "--test", "paired_mean", "--sd", "0.25"]).output
