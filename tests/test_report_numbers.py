import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.numbers import decimal, interval, p_phrase, p_value, percent, points, significant, usd


@pytest.mark.parametrize(
    ("expected", "value", "decimals"),
    [
        ("11.3", 11.25, 1),
        ("0.3", 0.25, 1),
        ("−0.3", -0.25, 1),
        ("0.0", -0.04, 1),
        ("1,234.5", 1234.5, 1),
        ("3", 2.5, 0),
    ],
)
def test_rounding_is_half_away_from_zero_and_zero_has_no_sign(expected, value, decimals):
    assert expected == decimal(value, decimals)


def test_differences_always_carry_a_sign_and_a_true_minus():
    assert ["+23.2", "−0.5", "0.0"] == [points(0.2323), points(-0.00521), points(0.0)]


def test_a_difference_that_would_print_as_zero_gets_one_more_digit():
    assert ["+0.02", "−0.04"] == [points(0.0002), points(-0.0004)]


def test_an_interval_that_does_not_exist_is_said_not_to():
    assert "not estimable" == interval(None, None, signed=True)


@pytest.mark.parametrize(
    ("expected", "value", "options"),
    [
        ("0.00027", 0.000274658203125, {}),
        ("0.0072", 0.00719738, {}),
        ("0.14", 0.1426, {}),
        ("1", 1.0, {}),
        ("≤\u00a00.0002", 0.00019998, {"at_floor": True}),
        ("<\u00a01e−15", 2.9e-45, {}),
        ("<\u00a01e−15", None, {"log10_p": -601.8}),
        ("1.5e−10", 1.46e-10, {}),
        ("–", None, {}),
    ],
)
def test_p_values_have_two_digits_and_are_never_zero(expected, value, options):
    assert expected == p_value(value, **options)


def test_a_bound_keeps_its_own_sign():
    assert ("p\u00a0=\u00a00.03", "p\u00a0≤\u00a00.0002") == (p_phrase("0.03"), p_phrase("≤\u00a00.0002"))


@given(st.floats(1e-300, 1))
def test_no_p_prints_as_zero(value):
    assert p_value(value).strip("0.") != ""


@given(st.floats(-1, 1))
def test_twelve_significant_digits_are_kept(value):
    assert math.isclose(value, significant(value), rel_tol=1e-11, abs_tol=1e-300)
    assert significant(value) == significant(significant(value))


def test_money_has_two_decimals_and_its_unit():
    assert "USD\u00a01,041.20" == usd(Decimal("1041.1951"))
    assert "50.0" == percent(0.5)
