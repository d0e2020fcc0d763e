"""Rates: dated, looked up by day and flavor; an unknown flavor is an error, old rows keep their rate."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from ledger.rates import find_rate, read_rates
from manifests.errors import BeforehandError, FindingsError

DAY = date(2026, 8, 25)
HARDWARE = (
    Path(__file__).parent.parent
    / "../shared/data/jobs_cost/hf_jobs_hardware_table_huggingface_hub_ee0a4510.md"
)
TWO_TABLES = """
format = "rates/1"
[[tables]]
date = "2026-09-01"
source = "new page"
billing = "second"
usd_per_h = { l4x1 = "0.90" }
[[tables]]
date = "2026-01-01"
source = "old page"
billing = "minute"
exposed_ports_usd_per_h = "0.01"
usd_per_h = { l4x1 = "0.80", cpu-basic = "0" }
"""


def test_the_flavors_of_the_report_have_their_prices():
    tables = read_rates()
    assert [Decimal(10), Decimal("2.50"), Decimal("0.01"), Decimal("1.80")] == [
        find_rate(tables, flavor, day=DAY).usd_per_h
        for flavor in ("a100x4", "a100-large", "cpu-basic", "l40sx1")
    ]


def test_every_price_of_the_published_hardware_table_is_in_the_rates():
    if not HARDWARE.exists():
        pytest.skip("the folder ../shared/data is absent")
    published = re.findall(
        r"^\| `([a-z0-9-]+)` .*\$([0-9.]+) \|$", HARDWARE.read_text(encoding="utf-8"), re.MULTILINE
    )
    table = read_rates()[-1]
    assert {flavor: Decimal(price) for flavor, price in published} == table.usd_per_h


@pytest.mark.parametrize(
    ("flavor", "mend"),
    [
        ("A100-Large", "did you mean a100-large"),
        ("a100", "did you mean a100"),
        ("", "or give --rate"),
        ("abacus", "or give --rate"),
    ],
)
def test_an_unknown_flavor_is_an_error_that_names_its_neighbours(flavor, mend):
    with pytest.raises(BeforehandError, match="is not a flavor of the rates of 2026-08-22") as caught:
        find_rate(read_rates(), flavor, day=DAY)
    assert caught.value.mend.startswith(mend)


def test_a_job_before_the_first_table_gets_no_invented_rate():
    with pytest.raises(BeforehandError, match="no rates are known for 2026-08-21"):
        find_rate(read_rates(), "l4x1", day=date(2026, 8, 21))


def test_the_table_in_force_on_the_day_counts(tmp_path):
    path = tmp_path / "rates.toml"
    path.write_text(TWO_TABLES, encoding="utf-8")
    tables = read_rates(path)
    by_day = {day: find_rate(tables, "l4x1", day=day) for day in (date(2026, 8, 31), date(2026, 9, 1))}
    assert [("0.80", "minute"), ("0.90", "second")] == [
        (str(rate.usd_per_h), rate.billing) for rate in by_day.values()
    ]


def test_exposed_ports_have_their_price(tmp_path):
    assert Decimal("0.81") == find_rate(read_rates(), "l4x1", day=DAY, exposed_ports=True).usd_per_h


@pytest.mark.parametrize(
    "broken",
    [
        TWO_TABLES.replace('"0.80"', "0.80"),
        TWO_TABLES.replace('"0.80"', '"$0.80"'),
        TWO_TABLES.replace('"0.80"', '"-0.80"'),
        TWO_TABLES.replace('"0.80"', '"NaN"'),
        TWO_TABLES.replace("cpu-basic", "CPU-Basic"),
        TWO_TABLES.replace('"minute"', '"hour"'),
        TWO_TABLES.replace("rates/1", "rates/2"),
        TWO_TABLES.replace('"2026-09-01"', '"September"'),
    ],
)
def test_a_broken_table_is_refused(tmp_path, broken):
    path = tmp_path / "rates.toml"
    path.write_text(broken, encoding="utf-8")
    with pytest.raises(FindingsError):
        read_rates(path)
