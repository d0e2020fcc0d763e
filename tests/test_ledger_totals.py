"""What the money bought, on both bases: sums that agree with the balance however they are cut."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from ledger_rows import UNITS, booking, cap, chained, correction, release, reserve

from ledger import totals
from ledger.budget import balance
from ledger.money import ZERO

OUTCOMES = st.sampled_from(
    ["completed unit", "completed", "failed nothing", "canceled training-record refuted-hypothesis"]
)
BOOKINGS = st.lists(
    st.builds(
        lambda seconds, phase, basis, outcome, unit: {
            "seconds": seconds,
            "phase": phase,
            "basis": basis,
            "outcome": outcome,
            "unit": unit,
        },
        st.integers(0, 10**5),
        st.sampled_from(["", "P1", "P2"]),
        st.sampled_from(["running", "occupancy"]),
        OUTCOMES,
        UNITS,
    )
)


def ledger_of(cells):
    return chained(*(booking(f"job-{number}", **row) for number, row in enumerate(cells)))


@given(BOOKINGS)
def test_every_cut_adds_up_to_the_balance(cells):
    rows = ledger_of(cells)
    spent = balance(rows).spent_usd
    cuts = (totals.by_phase, totals.by_flavor, totals.by_status, totals.by_purchase)
    assert [spent] * 4 == [sum((group.spent_usd for group in cut(rows)), ZERO) for cut in cuts]
    assert spent == totals.bases(rows).quoted_usd >= totals.bases(rows).floor_usd


@given(BOOKINGS)
def test_units_add_up_to_what_served_a_unit(cells):
    rows = ledger_of(cells)
    assert sum((cost.spent_usd for cost in totals.unit_costs(rows)), ZERO) == sum(
        (row.amount_usd for row in rows if row.units), ZERO
    )


def test_a_job_for_two_units_is_split_and_an_imported_unit_costs_nothing():
    from ledger.entries import Entry

    imported = Entry(seq=1, time_utc=booking().time_utc, kind="import", unit="x.y.z", note="from pilot")
    rows = chained(booking("a", basis="stated", amount_usd=Decimal("0.000001"), unit="a.b.c d.e.f"), imported)
    assert [("a.b.c", "0.000001", False), ("d.e.f", "0.000000", False), ("x.y.z", "0.000000", True)] == [
        (cost.unit, f"{cost.spent_usd:f}", cost.imported) for cost in totals.unit_costs(rows)
    ]


def test_the_probe_counts_its_running_seconds_in_the_floor_and_its_wall_clock_only_in_the_total():
    probe = booking("probe", seconds="338.4", rate="2.50")
    rows = chained(probe, correction("0.585", of=1, job_id="probe", seconds=Decimal("842.4")))
    both = totals.bases(rows)
    assert ("0.820000", "0.235000", "0.585000", 1) == (
        f"{both.quoted_usd:f}",
        f"{both.floor_usd:f}",
        f"{both.wall_clock_usd:f}",
        both.wall_clock_bookings,
    )
    assert "Quoted: 0.82 USD, occupancy x rate including aborted work" in str(both)


def test_canceled_is_not_wasted_when_it_is_tagged_even_later():
    rows = chained(
        booking("b", outcome="canceled", basis="stated", amount_usd=Decimal("42.44")),
        booking("under-timed", outcome="canceled nothing", basis="stated", amount_usd=Decimal("4.02")),
        correction("0", of=1, job_id="b", outcome="canceled training-record refuted-hypothesis"),
    )
    assert {"canceled": Decimal("46.46")} == {group.name: group.spent_usd for group in totals.by_status(rows)}
    assert {"nothing": Decimal("4.02"), "training-record + refuted-hypothesis": Decimal("42.44")} == {
        group.name: group.spent_usd for group in totals.by_purchase(rows)
    }


def test_a_booking_in_the_wrong_phase_is_moved_by_two_corrections():
    rows = chained(
        booking("job-1", phase="P4"),
        correction("-2.50", of=1, phase="P4"),
        correction("2.50", of=1, phase="P5"),
    )
    assert {"P4": ZERO, "P5": Decimal("2.50")} == {
        group.name: group.spent_usd for group in totals.by_phase(rows)
    }


def test_the_history_of_a_cap_shows_who_raised_it_from_what():
    rows = chained(
        cap("200"), cap("70", scope="phase", phase="P5"), cap("500", note="by user: tiers A1 to D")
    )
    assert [
        ("study", None, Decimal(200)),
        ("phase P5", None, Decimal(70)),
        ("study", Decimal(200), Decimal(500)),
    ] == [(change.cap_name, change.before_usd, change.after_usd) for change in totals.cap_history(rows)]


def test_the_burn_down_follows_every_row():
    rows = chained(cap("10"), reserve("4"), booking("a"), release("4", of=2))
    assert [("0", "0"), ("0", "4"), ("2.5", "4"), ("2.5", "0")] == [
        (f"{point.spent_usd.normalize():f}", f"{point.reserved_usd.normalize():f}")
        for point in totals.burn_down(rows)
    ]
    assert Decimal(10) == totals.burn_down(rows)[-1].cap_usd


def test_the_cost_of_none_is_not_estimable():
    assert (None, Decimal("0.033333")) == (
        totals.cost_per(Decimal("0.10"), 0),
        totals.cost_per(Decimal("0.10"), 3),
    )
