"""Estimates: arithmetic that is parsed and never evaluated, three columns, and the real table of a campaign."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import beforehand
from ledger.estimates import estimate, rounded
from ledger.formulas import FormulaError, compute, names, parse
from ledger.plans import read_measurements, read_plan, with_measurements
from manifests.console import run
from manifests.errors import BeforehandError, FindingsError

P2 = Path(__file__).parent / "vectors/ledger_p2_plan.toml"
SMALL = """
format = "estimate/1"
[inputs.n]
low = "100"
central = "200"
high = "400"
basis = "bracketed"
source = "a guess"
[inputs.speed]
low = "20"
central = "10"
high = "5"
basis = "measured"
source = "pilot"
[stages]
a = { hours = "n / speed", usd_per_h = "2.50" }
b = { hours = "5", flavor = "l4x1" }
[totals]
both = { parallel = ["a", "b"] }
all = { series = ["both", "b"] }
"""

# The table as the campaign printed it, hours: low, central, high.
PRINTED = {
    "base16_generate": ("1.69", "1.99", "2.63"),
    "base16_verify": ("0.92", "1.53", "2.14"),
    "base40_generate": ("1.69", "2.38", "3.62"),
    "base40_verify": ("0.99", "1.65", "2.31"),
    "pool_generate": ("5.04", "9.78", "21.29"),
    "pool_verify": ("0.71", "4.00", "12.29"),
    "round1_generate": ("0.94", "2.22", "4.35"),
    "round1_verify": ("0.27", "1.67", "2.51"),
    "sft": ("0.92", "2.71", "5.91"),
    "merge_export": ("0.05", "0.10", "0.20"),
    "post_generate": ("1.69", "1.99", "2.63"),
    "post_verify": ("0.92", "1.53", "2.14"),
}
PRINTED_TOTALS = {"loop": ("13.1", "27.5", "56.1"), "with_40k": ("15.8", "31.5", "62.0")}

# What its stated inputs give instead, cell by cell. Each needs an input that the text does not state:
NOT_REPRODUCED = {
    # 2.63 needs T = 5,059 or 118 s more; the other five generate rows come out with T = 4,996
    ("base16_generate", 2): "2.60",
    ("post_generate", 2): "2.60",
    # the printed ends are 0.6 and 1.4 times the central cell; no bracket of t_v is stated
    ("base16_verify", 0): "1.53",
    ("base16_verify", 2): "1.53",
    ("post_verify", 0): "1.53",
    ("post_verify", 2): "1.53",
    # central needs f_code = 0.991 at cap 40,960, which is not stated; the ends are 0.6 and 1.4 times it
    ("base40_verify", 0): "1.53",
    ("base40_verify", 1): "1.53",
    ("base40_verify", 2): "1.53",
    # need f_code = 0.89, 0.90, 0.90 for the pool instead of the stated 0.918
    ("pool_verify", 0): "0.73",
    ("pool_verify", 1): "4.08",
    ("pool_verify", 2): "12.53",
    # the same f_code, and t_v = 1.0 at the low end
    ("round1_verify", 0): "0.85",
    ("round1_verify", 1): "1.71",
    ("round1_verify", 2): "2.56",
    # within the rounding of the 3.3 minutes a save takes: 3.29 would give 5.91
    ("sft", 2): "5.92",
}


def no_flavors(flavor):
    raise AssertionError(flavor)


def values(line):
    return (line.hours.low, line.hours.central, line.hours.high)


def write(tmp_path, text, name="plan.toml"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def test_the_printed_table_is_reproduced_but_for_the_named_cells():
    found = estimate(read_plan(P2), price_of=no_flavors)
    differing = {
        (line.name, column): rounded(value, 2)
        for line in found.stages
        for column, value in enumerate(values(line))
        if rounded(value, 2) != PRINTED[line.name][column]
    }
    assert NOT_REPRODUCED == differing
    assert 20 == 3 * len(PRINTED) - len(differing)


def test_the_printed_totals_are_the_sums_of_the_printed_cells(tmp_path):
    stages = "\n".join(f'{name} = {{ hours = "{name}_h" }}' for name in PRINTED)
    inputs = "\n".join(
        f'[inputs.{name}_h]\nlow = "{low}"\ncentral = "{central}"\nhigh = "{high}"\nbasis = "bracketed"\nsource = "printed"'
        for name, (low, central, high) in PRINTED.items()
    )
    totals = P2.read_text(encoding="utf-8").partition("[totals.loop]")[2]
    text = f'format = "estimate/1"\n{inputs}\n[stages]\n{stages}\n[totals.loop]\n{totals}'
    for line in estimate(read_plan(write(tmp_path, text)), price_of=no_flavors).totals:
        for value, printed in zip(values(line), PRINTED_TOTALS[line.name], strict=True):
            # the printed cells are rounded: twelve halves of a hundredth, and half a tenth of the total itself
            assert abs(value - Fraction(printed)) <= Fraction("0.06") + Fraction("0.05"), (line.name, printed)


def test_the_pool_is_the_least_certain_cost_as_the_text_says_and_its_verification_time_the_widest_input():
    found = estimate(read_plan(P2), price_of=no_flavors)
    assert "pool_generate" == max(found.stages, key=lambda line: line.hours.high - line.hours.low).name
    widest = dict(found.influences)["loop"][:2]
    assert [("t_v_pool", "11.79"), ("T_pool", "10.37")] == [
        (each.name, rounded(each.spread_h, 2)) for each in widest
    ]


def test_series_add_and_parallel_take_the_longest_but_money_always_adds(tmp_path):
    both, everything = estimate(read_plan(write(tmp_path, SMALL)), price_of=lambda _: Decimal("0.80")).totals
    assert ((5, 20, 80), (10, 25, 85)) == (values(both), values(everything))
    assert (Fraction("54.00"), Fraction("58.00")) == (both.usd.central, everything.usd.central)


def test_a_total_with_a_part_that_has_no_price_has_none_and_not_zero(tmp_path):
    found = estimate(
        read_plan(write(tmp_path, SMALL.replace(', usd_per_h = "2.50"', ""))), price_of=lambda _: Decimal(1)
    )
    assert [None, 5, None, None] == [line.usd and line.usd.central for line in (*found.stages, *found.totals)]


def test_a_line_names_the_inputs_that_were_not_measured_for_it(tmp_path):
    found = estimate(read_plan(write(tmp_path, SMALL)), price_of=lambda _: Decimal(1))
    assert (("n",), (), ("n",)) == (
        found.stages[0].bracketed,
        found.stages[1].bracketed,
        found.totals[1].bracketed,
    )


def test_measurements_replace_brackets_and_narrow_the_estimate(tmp_path):
    plan = read_plan(write(tmp_path, SMALL))
    pilot = write(
        tmp_path,
        'format = "measurements/1"\n[inputs.n]\nvalue = "230"\nsource = "pilot of 100"\n',
        "pilot.toml",
    )
    after = estimate(with_measurements(plan, read_measurements(pilot)), price_of=lambda _: Decimal(1))
    assert ((Fraction("11.5"), 23, 46), ()) == (values(after.stages[0]), after.stages[0].bracketed)


def test_a_measurement_of_nothing_in_the_plan_is_refused(tmp_path):
    pilot = write(
        tmp_path, 'format = "measurements/1"\n[inputs.m]\nvalue = "1"\nsource = "x"\n', "pilot.toml"
    )
    with pytest.raises(BeforehandError, match="does not use: m"):
        with_measurements(read_plan(write(tmp_path, SMALL)), read_measurements(pilot))


def test_a_stage_whose_low_end_is_not_the_optimistic_one_is_a_finding(tmp_path):
    turned = SMALL.replace('low = "20"', 'low = "2"').replace('high = "5"', 'high = "100"')
    assert ["stages.a"] == [
        f.where for f in estimate(read_plan(write(tmp_path, turned)), price_of=lambda _: Decimal(1)).findings
    ]


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('"n / speed"', '"n / spead"', "stages.a.hours"),
        ('"n / speed"', '"__import__(1)"', "stages.a.hours"),
        ('"n / speed"', '"n ** 9"', "stages.a.hours"),
        ('"n / speed"', '"n / speed; 1"', "stages.a.hours"),
        ('"a", "b"', '"a", "c"', "totals.both"),
        ('parallel = ["a", "b"]', 'parallel = ["all"]', "totals.both"),
        ('parallel = ["a", "b"]', "", "totals.both"),
        ('low = "100"', 'low = "300"', "inputs.n"),
        ('"2.50"', '"-1"', "stages.a.usd_per_h"),
        ('central = "200"', "central = 200", "inputs.n.central"),
        ('central = "200"', 'central = "NaN"', "inputs.n.central"),
        ('central = "200"', 'central = "1e999999999"', "inputs.n.central"),
        ('"bracketed"', '"guessed"', "inputs.n.basis"),
        ('source = "a guess"', "", "inputs.n.source"),
        ("[stages]", "[stages]\nboth = { hours = '1' }", "totals.both"),
    ],
)
def test_a_plan_that_cannot_be_computed_is_refused_with_its_place(tmp_path, old, new, where):
    assert old in SMALL
    with pytest.raises(FindingsError) as caught:
        read_plan(write(tmp_path, SMALL.replace(old, new, 1)))
    assert where in [finding.where for finding in caught.value.findings]


@pytest.mark.parametrize(
    ("formula", "message"), [("n / (speed - 10)", "divides by zero"), ("0 - n", "comes out negative")]
)
def test_a_stage_that_has_no_hours_is_refused(tmp_path, formula, message):
    with pytest.raises(FindingsError, match=message):
        estimate(
            read_plan(write(tmp_path, SMALL.replace("n / speed", formula))), price_of=lambda _: Decimal(1)
        )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1+2*3", 7),
        ("(1+2)*3", 9),
        ("8/4/2", 1),
        ("8-4-2", 2),
        ("-2*-3", 6),
        ("0.1 + 0.2", Fraction(3, 10)),
        (" x * 2 ", 10),
        ("-(x)", -5),
    ],
)
def test_arithmetic_is_exact_and_binds_as_usual(text, expected):
    assert expected == compute(parse(text), {"x": Fraction(5)})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 +",
        "(1",
        "1)",
        "1 2",
        "2x",
        "x.y",
        "f(1)",
        "1e9",
        "'a'",
        "[1]",
        "1 if x else 2",
        "1//2",
        "1%2",
        "2**9",
        "=1",
        "٣",
        "(" * 60 + "1" + ")" * 60,
        "-" * 60 + "1",
        "1+" * 400 + "1",
    ],
)
def test_what_is_not_arithmetic_is_refused(text):
    with pytest.raises(FormulaError):
        parse(text)


@given(st.text("0123456789.xy+-*/() ", max_size=60))
def test_any_text_is_a_formula_or_a_formula_error(text):
    try:
        term = parse(text)
        assert names(term) <= {part for part in names(term) if part.isidentifier()}
        compute(term, dict.fromkeys(names(term), Fraction(3)))
    except FormulaError:
        pass


@given(
    st.recursive(
        st.integers(0, 99).map(str),
        lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]}{t[1]}{t[2]})"),
        max_leaves=8,
    )
)
def test_the_parser_agrees_with_python_on_whole_numbers(text):
    assert eval(text) == compute(parse(text), {})


@pytest.fixture
def call(capsys, tmp_path):
    def calling(*arguments):
        with pytest.raises(SystemExit) as ended:
            run(
                beforehand.cli,
                ["ledger", "estimate", str(write(tmp_path, SMALL)), "--rate-date", "2026-08-22", *arguments],
                name="beforehand",
            )
        return ended.value.code, capsys.readouterr().out

    return calling


def test_the_command_prints_hours_money_brackets_and_the_dominant_input(call):
    code, out = call()
    assert (0, True) == (
        code,
        "all is moved most by n (30.00 h, bracketed), speed (30.00 h, measured)" in out,
    )
    row = next(line.split() for line in out.split("\n") if line.startswith("a "))
    assert ["a", "5.00", "20.00", "80.00", "12.50", "50.00", "200.00", "n"] == row


def test_the_command_shows_what_a_pilot_changes(call, tmp_path):
    pilot = write(
        tmp_path,
        'format = "measurements/1"\n[inputs.n]\nvalue = "230"\nsource = "pilot of 100"\n',
        "pilot.toml",
    )
    assert "a: 5.00 / 20.00 / 80.00 h -> 11.50 / 23.00 / 46.00 h" in call("--measured", str(pilot))[1]


def test_json_holds_the_estimate_before_and_after(call, tmp_path):
    pilot = write(
        tmp_path,
        'format = "measurements/1"\n[inputs.n]\nvalue = "230"\nsource = "pilot of 100"\n',
        "pilot.toml",
    )
    document = json.loads(call("--measured", str(pilot), "--json")[1])
    assert (["11.500000", "23.000000", "46.000000"], ["n"]) == (
        document["stages"][0]["hours"],
        document["before"]["stages"][0]["bracketed"],
    )
