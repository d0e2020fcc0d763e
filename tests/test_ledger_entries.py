"""A row's cells: what they may hold, and that text and values stand for each other."""

from __future__ import annotations

import csv
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_rows import any_entry, booking

from ledger.chain import genesis, link
from ledger.entries import COLUMNS, Entry, RowError, format_line, format_row, parse_row, parse_time
from manifests.errors import BeforehandError

DESIGN_COLUMNS = (
    "seq time_utc kind scope phase job_id attempt unit flavor seconds rate_usd_per_h rate_date billing basis "
    "amount_usd outcome corrects_seq note prev hash"
)


def test_the_columns_are_those_of_the_format():
    assert tuple(DESIGN_COLUMNS.split()) == COLUMNS


@given(any_entry())
def test_a_row_read_back_is_the_row_written(entry):
    row = link(entry, genesis("toy"))
    assert row == parse_row(format_row(row))


@given(any_entry())
def test_a_row_is_one_line_that_any_csv_reader_takes_apart(entry):
    row = link(entry, genesis("toy"))
    line = format_line(format_row(row))
    assert [list(format_row(row))] == list(csv.reader([line], strict=True))
    assert (1, "\n") == (line.count("\n"), line[-1])


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("amount_usd", "44.43"),
        ("amount_usd", "$44.430000"),
        ("amount_usd", "NaN"),
        ("amount_usd", "-0.000000"),
        ("amount_usd", "4.4E+1"),
        ("amount_usd", "044.430000"),
        ("seconds", "nan"),
        ("seconds", "88.30"),
        ("seconds", "1e3"),
        ("seconds", "٣"),
        ("rate_usd_per_h", "10"),
        ("rate_usd_per_h", "2.500"),
        ("time_utc", "2026-08-26T09:30:00"),
        ("time_utc", "2026-08-26T09:30:00+02:00"),
        ("time_utc", "2026-02-30T09:30:00Z"),
        ("rate_date", "8/26/2026"),
        ("kind", "Book"),
        ("kind", ""),
        ("flavor", "A100-large"),
        ("job_id", "j" * 500),
        ("job_id", "two words"),
        ("job_id", "=cmd"),
        ("attempt", "0"),
        ("attempt", "01"),
        ("unit", "base.minif2f"),
        ("unit", "a.b.c a.b.c"),
        ("unit", "a.b.c  d.e.f"),
        ("outcome", "cancelled"),
        ("outcome", "canceled nothing unit"),
        ("note", "=SUM(A1)"),
        ("note", "two\nlines"),
        ("note", "red \x1b[31m"),
        ("note", "line\u2028separator"),
        ("note", "n" * 1001),
        ("hash", "ABC"),
    ],
)
def test_a_cell_that_is_not_written_as_the_ledger_writes_it_is_refused_by_name(column, cell):
    cells = list(format_row(link(booking(), genesis("toy"))))
    cells[COLUMNS.index(column)] = cell
    with pytest.raises(RowError) as caught:
        parse_row(cells)
    assert column == str(caught.value).split()[0]


def test_every_wrong_cell_of_a_row_is_named():
    cells = list(format_row(link(booking(), genesis("toy"))))
    cells[COLUMNS.index("seconds")] = "many"
    cells[COLUMNS.index("billing")] = "hour"
    with pytest.raises(RowError) as caught:
        parse_row(cells)
    assert ["seconds", "billing"] == [reason.split()[0] for reason in caught.value.reasons]


@pytest.mark.parametrize(
    "note", ["comma, and more", 'a "quoted" word', "Ünïcode · 日本", " leading space", "a;b", "it's"]
)
def test_notes_with_commas_quotes_and_foreign_letters_are_kept_as_they_are(note):
    row = link(booking(note=note), genesis("toy"))
    assert note == next(csv.DictReader([",".join(COLUMNS), format_line(format_row(row))]))["note"]


def test_a_job_can_serve_two_units():
    assert ("a.b.c", "d.e.f") == booking(unit="a.b.c d.e.f").units


def test_the_outcome_holds_how_it_ended_and_what_it_bought():
    entry = booking(outcome="canceled training-record refuted-hypothesis")
    assert ("canceled", ("training-record", "refuted-hypothesis")) == (entry.status, entry.bought)


def test_the_cells_of_a_row_are_pinned():
    entry = Entry(
        seq=7,
        time_utc=datetime(2026, 8, 26, 9, 30, tzinfo=UTC),
        kind="book",
        phase="P4",
        job_id="6a8d7e7a",
        attempt=1,
        flavor="a100x4",
        seconds=Decimal(15994),
        rate_usd_per_h=Decimal(10),
        rate_date=date(2026, 8, 22),
        billing="second",
        basis="running",
        amount_usd=Decimal("44.427778"),
        outcome="completed",
    )
    expected = "7,2026-08-26T09:30:00Z,book,,P4,6a8d7e7a,1,,a100x4,15994,10.00,2026-08-22,second,running,44.427778,completed,,,,\n"
    assert expected == format_line(format_row(entry))


@pytest.mark.parametrize(
    "text", ["2026-08-26T09:30:00Z", "2026-08-26T09:30:00+00:00", "2026-08-26 09:30:00.5+00:00"]
)
def test_utc_is_taken_however_it_is_written(text):
    assert datetime(2026, 8, 26, 9, 30, tzinfo=UTC) == parse_time(text, where="--time")


@pytest.mark.parametrize("text", ["2026-08-26T09:30:00", "2026-08-26T09:30:00+02:00", "26.8.2026", "now", ""])
def test_other_zones_and_times_without_a_zone_are_refused(text):
    with pytest.raises(BeforehandError):
        parse_time(text, where="--time")


@given(st.lists(st.text(max_size=5), min_size=0, max_size=30))
def test_cells_that_are_no_row_never_crash_the_reader(cells):
    with pytest.raises(RowError):
        parse_row(cells)
