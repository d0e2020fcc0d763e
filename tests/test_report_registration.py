"""The registration in the report: status, witness, amendments and their labels, timeline; and the money sections."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from ledger_rows import booking, cap, correction, reserve
from study_factory import add_units, freeze_study, make_study, whole_study

from ledger.book import Book
from prereg.amend import amend
from prereg.amendment import Amendment
from report.build import build, build_and_write
from report.bundle_check import check_bundle

LATER = datetime(2026, 1, 3, 0, 0, 0, tzinfo=UTC)
ONE_SIDED_ALPHA = """[endpoints.P1]
role = "primary"
baseline = "base"
candidate = "sft"
benchmark = "toy"
protocol = "main"
sampling = "main"
metric = { name = "solved_at_k", k = 4 }
test = { name = "mcnemar_exact", alpha = "0.001" }
decide = "p_below_alpha"
"""


def change(study, *, kind="change", design=ONE_SIDED_ALPHA):
    amend(
        study,
        Amendment(
            id="A1",
            kind=kind,
            registered="alpha 0.05",
            now="alpha 0.001",
            reason="several looks",
            seen="nothing",
            touches=("P1",),
            design=design,
        ),
        now=lambda: LATER,
    )


def aggregate_of(built):
    return json.loads(built.files["aggregate.json"])


def test_an_amendment_before_any_verdict_gives_its_label_and_the_new_rule(tmp_path):
    study = make_study(tmp_path / "s")
    freeze_study(study)
    change(study)
    add_units(study)
    aggregate = aggregate_of(build(study))
    node = aggregate["endpoints"]["P1"]
    assert (node["label"], node["amended_by"]) == ("amended-before-results", ["A1"])
    assert node["registered_as"]["test"]["alpha"] == "0.001"
    assert node["primary"] is True
    assert aggregate["endpoints"]["S1"]["label"] == "registered"


def test_an_amendment_after_verdicts_is_never_primary_and_the_replaced_endpoint_stays_visible(tmp_path):
    study = whole_study(tmp_path / "s")
    change(study)
    built = build(study)
    aggregate = aggregate_of(built)
    node = aggregate["endpoints"]["P1"]
    assert (node["label"], node["primary"]) == ("amended-after-results", False)
    assert any("amended after results by A1" in reason for reason in node["not_primary_because"])
    replaced = aggregate["as_registered"]["P1"]
    assert (replaced["registered_as"]["test"]["alpha"], replaced["label"]) == ("0.05", "registered")
    readme = built.files["README.md"].decode()
    assert "### Replaced endpoints, as registered" in readme
    assert "**What had been seen.**" in readme
    assert "amended-after-results" in readme


def test_a_proposal_changes_nothing(tmp_path):
    study = make_study(tmp_path / "s")
    freeze_study(study)
    change(study, kind="proposal")
    add_units(study)
    node = aggregate_of(build(study))["endpoints"]["P1"]
    assert (node["label"], node["registered_as"]["test"]["alpha"], node["primary"]) == (
        "registered",
        "0.05",
        True,
    )


def test_the_bundle_shows_the_head_of_the_amendments_so_that_a_cut_tail_is_found(tmp_path):
    study = whole_study(tmp_path / "toy")
    change(study)
    built = build(study)
    head = json.loads(built.files["MANIFEST.json"])["amendments_head"]
    assert head.startswith("1:")
    build_and_write(study)
    (study / "amendments.jsonl").write_bytes(b"")
    found = check_bundle(study / "report").findings
    assert any("is not sealed as it was" in finding.what for finding in found)


def test_the_timeline_holds_freeze_amendment_and_ledger_in_the_order_of_their_times(tmp_path):
    study = make_study(tmp_path / "s")
    freeze_study(study)
    change(study)
    Book(study / "ledger.csv", study_name="toy").append(booking(unit="sft.toy.main"))
    add_units(study)
    events = aggregate_of(build(study))["registration"]["events"]
    assert [event["kind"] for event in events] == ["booking", "ledger", "freeze", "amendment", "rows"]
    assert events[-1]["at"] is None


def test_the_witness_table_lists_places_and_finds(tmp_path):
    study = make_study(tmp_path / "s")
    add_units(study)
    freeze_study(study, acknowledge="an earlier run")
    readme = build(study).files["README.md"].decode()
    assert "**Places looked at.**" in readme
    assert "**Found at the freeze.**" in readme
    assert "Acknowledged at the freeze: an earlier run" in readme


@pytest.fixture
def paid(tmp_path):
    study = whole_study(tmp_path / "toy")
    Book(study / "ledger.csv", study_name="toy").append(
        cap("200"),
        reserve("40", job_id="job-9"),
        booking("job-1", unit="sft.toy.main", phase="P1"),
        booking("job-2", basis="occupancy", outcome="canceled nothing", phase="P2"),
        correction("-0.50", of=3, job_id="job-1", phase="P1"),
        cap("500", note="raised by user"),
    )
    return build(study)


def test_money_is_told_by_phase_flavor_outcome_and_on_both_bases(paid):
    money = aggregate_of(paid)["money"]
    assert (money["spent_usd"], money["cap_usd"], money["reserved_usd"]) == (
        "4.500000",
        "500.000000",
        "40.000000",
    )
    assert {group["name"]: group["spent_usd"] for group in money["by_phase"]} == {
        "P1": "2.000000",
        "P2": "2.500000",
    }
    assert {group["name"] for group in money["by_status"]} == {"completed", "canceled"}
    assert Decimal(money["bases"]["floor_usd"]) < Decimal(money["bases"]["quoted_usd"])
    assert [change["after_usd"] for change in money["caps"]] == ["200.000000", "500.000000"]


def test_the_cost_section_shows_caps_reservations_units_and_what_does_not_fit(paid):
    readme = paid.files["README.md"].decode()
    cost = readme[readme.index("## 12. Cost") : readme.index("## 13. Rebuild")]
    for part in (
        "raised by user",
        "`job-9`",
        "USD\u00a0500.00",
        "Quoted: ",
        "figures/cost.png",
        "base.toy.main is there, and no row of the ledger names it",
    ):
        assert part in cost
    assert paid.files["figures/cost.svg"].count(b"<line") > 4


def test_a_ledger_of_nothing_never_prints_zero_dollars(tmp_path):
    readme = build(whole_study(tmp_path / "s")).files["README.md"].decode()
    assert "**Cost:** not booked" in readme
    assert "USD 0.00" not in readme
