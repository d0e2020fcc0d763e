"""The gate: spent + reserved + high against every cap that applies."""

from __future__ import annotations

import multiprocessing
from decimal import Decimal

from hypothesis import given
from ledger_rows import AMOUNTS, STUDY, booking, cap, chained, ledger_file, release, reserve

from ledger.book import Book, read_ledger
from ledger.budget import balance
from ledger.gate import OverCapError, gate, within_caps
from ledger.reservations import open_reservations


def bill(job_id, amount, **cells):
    return booking(job_id, basis="stated", amount_usd=Decimal(amount), **cells)


def opened(*entries, high, **where):
    return gate(chained(*entries), high_usd=Decimal(high), **where).is_open


def test_the_high_estimate_counts_with_what_is_spent_and_reserved():
    rows = (cap("100"), bill("a", "40"), reserve("30"))
    assert (True, False) == (opened(*rows, high="30.00"), opened(*rows, high="30.01"))


def test_the_lines_show_the_sum_as_it_is_made():
    lines = gate(chained(cap("200"), bill("a", "2.47"), reserve("35")), high_usd=Decimal(60)).lines
    assert ["cap of study: spent 2.47 + reserved 35.00 + high 60.00 of 200.00 USD, left 102.53"] == [
        str(line) for line in lines
    ]


def test_without_a_cap_of_the_study_the_gate_is_closed():
    assert not opened(cap("5", scope="phase", phase="P4"), high="0", phase="P4")


def test_the_cap_of_another_phase_does_not_apply():
    rows = (cap("500"), cap("70", scope="phase", phase="P5"), bill("a", "69", phase="P5"))
    assert (True, False) == (opened(*rows, high="10", phase="P6"), opened(*rows, high="10", phase="P5"))


def test_a_jobs_own_ceiling_replaces_its_phases_which_replaces_the_general_one():
    rows = (
        cap("500"),
        cap("20", scope="job"),
        cap("25", scope="job", phase="P5"),
        cap("26", scope="job", job_id="dear"),
    )
    highs = [
        opened(*rows, high="25.44", phase="P5", job_id="dear"),
        opened(*rows, high="25", phase="P5"),
        opened(*rows, high="25"),
    ]
    assert [True, True, False] == highs


def test_earlier_attempts_of_a_job_count_against_its_ceiling():
    rows = (cap("500"), cap("25", scope="job"), bill("a", "20"))
    assert (False, True) == (opened(*rows, high="6", job_id="a"), opened(*rows, high="6", job_id="b"))


@given(AMOUNTS)
def test_a_settled_or_released_reservation_no_longer_closes_the_gate(amount):
    rows = chained(cap(amount), reserve(amount), release(amount, of=2))
    assert () == open_reservations(rows)
    assert gate(rows, high_usd=amount).is_open


def take(path, refused):
    entry = reserve("30")
    try:
        Book(path, study_name=STUDY).append_planned(lambda ledger: (within_caps(ledger.entries, entry),))
    except OverCapError:
        refused.put(1)


def test_launches_at_the_same_moment_cannot_both_take_the_last_money(tmp_path):
    path = ledger_file(tmp_path, cap("100"))
    fork = multiprocessing.get_context("fork")
    refused = fork.SimpleQueue()
    processes = [fork.Process(target=take, args=(path, refused)) for _ in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    ledger = read_ledger(path, study_name=STUDY)
    assert (Decimal(90), ()) == (balance(ledger.entries).reserved_usd, ledger.findings)
    assert 5 == sum(refused.get() for _ in range(5))
