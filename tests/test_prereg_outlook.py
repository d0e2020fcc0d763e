import json

import pytest
from click.testing import CliRunner
from study_factory import make_study

from prereg.cli import prereg
from prereg.outlook import outlooks
from prereg.plan import load_design


def test_every_primary_endpoint_says_what_it_can_see_and_what_a_null_would_mean(tmp_path):
    (one,) = outlooks(load_design(make_study(tmp_path / "s", n=244) / "PREREGISTRATION.md"))
    assert ("P1", 244, 3) == (one.endpoint, one.n_problems, len(one.tables))
    assert "no gain of about 7.2 pp or more was seen" in one.null_means
    assert ("0.10", "0.12", "0.43", "0.82", "0.99") in one.tables[1].rows


def test_too_few_problems_are_said_to_make_a_null_mean_little(tmp_path):
    (one,) = outlooks(load_design(make_study(tmp_path / "s", n=12) / "PREREGISTRATION.md"))
    assert one.null_means.startswith("a null would mean little")


def test_a_primary_by_interval_gets_its_smallest_gain_at_several_spreads(tmp_path):
    study = make_study(tmp_path / "s", n=120)
    path = study / "PREREGISTRATION.md"
    path.write_text(
        path.read_text()
        .replace('role = "primary"', 'role = "diagnostic"')
        .replace('role = "secondary"', 'role = "primary"')
    )
    (one,) = outlooks(load_design(path))
    assert ("S1", "7.74 pp") == (one.endpoint, one.tables[0].rows[2][1])


@pytest.mark.parametrize("command", ["check", "freeze"])
def test_check_and_freeze_print_it(tmp_path, command):
    study = make_study(tmp_path / "s", n=244)
    printed = CliRunner().invoke(prereg, [command, str(study)]).output
    assert "a null would mean" in printed
    assert "Unconditional power of exact McNemar, 244 problems" in printed


def test_json_carries_the_same_tables(tmp_path):
    study = make_study(tmp_path / "s", n=244)
    document = json.loads(CliRunner().invoke(prereg, ["check", str(study), "--json"]).output)
    assert ["P1"] == [one["endpoint"] for one in document["primary"]]
