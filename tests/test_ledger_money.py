"""Money is decimal: typed plainly, kept to six decimals, shown to the cent."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.money import charge, parse_seconds, parse_usd, plain, shown, stored
from manifests.errors import BeforehandError


@pytest.mark.parametrize(
    "text",
    [
        "$5",
        "5 USD",
        "5,00",
        "1,000.00",
        "1e3",
        "NaN",
        "inf",
        "",
        " 5",
        ".5",
        "5.",
        "0.0000001",
        "٣",
        "+5",
        "--5",
        "9" * 13,
    ],
)
def test_what_is_not_a_plain_amount_is_refused(text):
    with pytest.raises(BeforehandError, match="plain decimal"):
        parse_usd(text, where="--amount")


def test_a_negative_amount_is_refused_unless_it_is_a_delta():
    with pytest.raises(BeforehandError, match="negative"):
        parse_usd("-1.00", where="--amount")
    assert Decimal(-1) == parse_usd("-1.00", where="--delta", signed=True)


@pytest.mark.parametrize("text", ["-1", "nan", "1.0001", "one"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(BeforehandError):
        parse_seconds(text, where="--seconds")


@pytest.mark.parametrize(
    ("seconds", "rate", "billing", "expected"),
    [
        ("15994", "10.00", "second", "44.427778"),
        ("15994", "10.00", "minute", "44.500000"),
        ("61", "1.80", "minute", "0.060000"),
        ("60", "1.80", "minute", "0.030000"),
        ("803", "1.80", "minute", "0.420000"),
        ("60", "0.01", "minute", "0.000167"),
        ("0", "1.80", "minute", "0.000000"),
        ("0.001", "1.80", "minute", "0.030000"),
        ("88.3", "0.00", "second", "0.000000"),
    ],
)
def test_a_charge_is_per_second_or_per_started_minute(seconds, rate, billing, expected):
    assert expected == stored(charge(seconds=Decimal(seconds), rate_usd_per_h=Decimal(rate), billing=billing))


def test_the_real_run_of_15994_seconds_shows_as_44_43_per_second_and_44_50_per_minute():
    run = {"seconds": Decimal(15994), "rate_usd_per_h": Decimal(10)}
    assert ("44.43", "44.50") == (
        shown(charge(**run, billing="second")),
        shown(charge(**run, billing="minute")),
    )


@given(st.decimals(0, 10**6, places=3), st.decimals(0, 100, places=2))
def test_started_minutes_never_cost_less_than_seconds_nor_a_minute_more(seconds, rate):
    by_second = charge(seconds=seconds, rate_usd_per_h=rate, billing="second")
    by_minute = charge(seconds=seconds, rate_usd_per_h=rate, billing="minute")
    assert by_second <= by_minute <= by_second + rate / 60 + Decimal("0.000002")


@pytest.mark.parametrize(
    ("amount", "expected"),
    [("0.005", "0.01"), ("-0.004", "0.00"), ("1234567.895", "1,234,567.90"), ("-1.005", "-1.01")],
)
def test_cents_are_rounded_half_up_and_zero_has_no_sign(amount, expected):
    assert expected == shown(Decimal(amount))


@pytest.mark.parametrize(
    ("number", "expected"), [("10", "10"), ("10.0", "10"), ("88.30", "88.3"), ("1E+2", "100")]
)
def test_a_plain_number_has_one_spelling(number, expected):
    assert expected == plain(Decimal(number))
