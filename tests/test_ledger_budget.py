"""Spent, reserved, left: sums of rows, and the last cap of a scope."""

from __future__ import annotations

import random
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from ledger_rows import AMOUNTS, booking, cap, chained, correction, release, reserve

from ledger.budget import balance
from ledger.money import ZERO


def bill(job_id, amount, **cells):
    return booking(job_id, basis="stated", amount_usd=Decimal(amount), **cells)


@given(st.lists(AMOUNTS), st.lists(AMOUNTS), st.randoms(use_true_random=False))
def test_the_balance_is_the_sum_of_the_rows_in_any_order(spent, reserved, shuffler: random.Random):
    rows = [bill(f"job-{n}", amount) for n, amount in enumerate(spent)] + [
        reserve(amount) for amount in reserved
    ]
    shuffler.shuffle(rows)
    total = balance(chained(*rows))
    assert (sum(spent, ZERO), sum(reserved, ZERO)) == (total.spent_usd, total.reserved_usd)


def test_a_tenth_and_two_tenths_are_three_tenths():
    assert Decimal("0.3") == balance(chained(bill("a", "0.1"), bill("b", "0.2"))).spent_usd


def test_corrections_count_with_their_sign_and_releases_give_back():
    rows = chained(cap("10"), reserve("4"), bill("job-1", "3"), release("4", of=2), correction("-0.50", of=3))
    total = balance(rows)
    assert (Decimal("2.5"), ZERO, Decimal("7.5")) == (
        total.spent_usd,
        total.reserved_usd,
        total.remaining_usd,
    )


def test_the_last_cap_of_a_scope_holds_and_others_stay():
    total = balance(
        chained(cap("200"), cap("70", scope="phase", phase="P5"), cap("500"), bill("j", "92.87", phase="P5"))
    )
    assert [("study", Decimal(500)), ("phase P5", Decimal(70))] == [
        (cap_.name, cap_.cap_usd) for cap_ in total.caps
    ]
    assert [Decimal("407.13"), Decimal("-22.87")] == [cap_.remaining_usd for cap_ in total.caps]


def test_without_a_cap_nothing_is_said_about_what_is_left():
    assert (None, None) == (balance(()).cap_usd, balance(()).remaining_usd)


def test_a_ceiling_for_each_job_is_held_against_the_dearest_job_with_all_its_attempts():
    rows = chained(cap("25", scope="job"), bill("a", "10"), bill("a", "9", attempt=2), bill("b", "12"))
    assert ("each job", Decimal(6)) == (balance(rows).caps[0].name, balance(rows).caps[0].remaining_usd)


def test_a_job_with_a_ceiling_of_its_own_is_left_out_of_the_general_one():
    rows = chained(
        cap("25", scope="job"), cap("26", scope="job", job_id="dear"), bill("dear", "25.44"), bill("b", "12")
    )
    assert {"each job": Decimal(13), "job dear": Decimal("0.56")} == {
        cap_.name: cap_.remaining_usd for cap_ in balance(rows).caps
    }
