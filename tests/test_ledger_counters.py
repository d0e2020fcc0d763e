"""A cumulative counter that restarts after a resume is found, and its segments are summed."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.counters import counter_findings, read_counter, read_counter_values
from manifests.errors import BeforehandError

GAME24 = (
    Path(__file__).parent.parent
    / "../shared/data/tot_game24/gpt-4_0.7_naive_cot_sample_100_start900_end1000.json"
)
COSTS = st.lists(st.decimals("0.01", 10, places=2), min_size=1)


def running(costs):
    total, values = Decimal(0), []
    for cost in costs:
        total += cost
        values.append(total)
    return values


def test_the_real_log_states_32_17_and_used_47_05():
    if not GAME24.exists():
        pytest.skip("the folder ../shared/data is absent")
    counter = read_counter(read_counter_values(GAME24, "usage_so_far.cost"))
    assert ("32.17", "47.05", (32,)) == (f"{counter.stated:.2f}", f"{counter.real:.2f}", counter.restarts)
    assert "the counter falls at record 32" in counter_findings(counter, where="log")[0].what


@given(COSTS)
def test_a_counter_that_only_grows_states_what_was_used(costs):
    counter = read_counter(running(costs))
    assert (sum(costs), sum(costs), ()) == (counter.stated, counter.real, counter.restarts)
    assert () == counter_findings(counter, where="log")


@given(COSTS, COSTS)
def test_a_resume_that_starts_below_is_found_and_summed(before, after):
    values = running(before) + running([Decimal("0.001"), *after])
    counter = read_counter(values)
    assert ((len(before),), sum(before) + sum(after) + Decimal("0.001")) == (counter.restarts, counter.real)


def test_a_counter_that_stands_still_has_not_restarted():
    assert () == read_counter((Decimal(1), Decimal(1), Decimal(2))).restarts


def test_an_empty_log_used_nothing():
    assert Decimal(0) == read_counter(()).real


@pytest.mark.parametrize("record", [{}, {"cost": "1"}, {"cost": None}, [], 5, {"cost": {"x": 1}}])
def test_a_record_without_the_counter_is_refused_with_its_place(tmp_path, record):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"cost": 1}) + "\n" + json.dumps(record) + "\n", encoding="utf-8")
    with pytest.raises(BeforehandError) as caught:
        read_counter_values(path, "cost")
    assert "record 1" in caught.value.where


@pytest.mark.parametrize("line", ['{"cost": 1e99999999999999999999}', "[" * 100_000])
def test_a_log_that_no_reader_can_hold_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(BeforehandError, match="is neither a JSON list nor JSON lines"):
        read_counter_values(path, "cost")
