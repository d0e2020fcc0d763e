"""What accountants and readers get: complete, balanced, and harmless in a spreadsheet."""

from __future__ import annotations

import csv
import io
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_rows import STUDY, any_entry, booking, cap, chained, correction, file_of, ledger_file, reserve

import beforehand
from ledger.export import to_beancount, to_csv
from ledger.show import COLUMNS, Filter, cells, select
from manifests.console import run

ROWS = chained(
    cap("200"),
    booking("j1", phase="P5_b", unit="a.b.c", note='say "no" \\ more'),
    correction("-0.5", of=2, job_id="j1", phase="P5_b"),
    reserve("5", phase="P6"),
)

BEANCOUNT = """\
; the ledger of "toy", exported; the ledger itself stays the record
2024-08-26 open Expenses:Compute:P5-b:A100-large USD
2024-08-26 open Expenses:Compute:P5-b:Other USD
2024-08-26 open Liabilities:Compute USD
; row 1: cap 200.000000 USD by user

2024-08-26 * "j1" "book a100-large completed say \\"no\\" \\\\ more"
  row: 2
  units: "a.b.c"
  Expenses:Compute:P5-b:A100-large  2.500000 USD
  Liabilities:Compute  -2.500000 USD

2024-08-26 * "j1" "correct wall clock"
  row: 3
  Expenses:Compute:P5-b:Other  -0.500000 USD
  Liabilities:Compute  0.500000 USD
; row 4: reserve 5.000000 USD
"""


def test_beancount_gets_transactions_for_money_and_comments_for_the_rest():
    assert BEANCOUNT == to_beancount(ROWS, study_name=STUDY)


def test_the_csv_has_a_line_a_row_and_a_running_total():
    lines = list(csv.DictReader(io.StringIO(to_csv(ROWS))))
    assert ["0.000000", "2.500000", "2.000000", "2.000000"] == [line["running_spent_usd"] for line in lines]
    assert (["200.000000", "", "", ""], "1.0000") == ([line["cap_usd"] for line in lines], lines[1]["hours"])


@given(st.lists(any_entry(), max_size=5))
def test_no_cell_of_the_csv_is_a_formula(entries):
    for line in csv.reader(io.StringIO(to_csv(chained(*entries)))):
        assert not [
            cell
            for cell in line
            if cell.startswith(("=", "+", "@")) or (cell.startswith("-") and not Decimal(cell) < 0)
        ]


@given(st.lists(any_entry(), max_size=5))
def test_every_transaction_for_beancount_balances(entries):
    amounts = [
        line.split()[1]
        for line in to_beancount(chained(*entries), study_name=STUDY).split("\n")
        if line.endswith(" USD") and line.startswith("  ")
    ]
    assert 0 == sum(Decimal(amount) for amount in amounts)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Filter(), [1, 2, 3, 4]),
        (Filter(kinds=("cap", "reserve")), [1, 4]),
        (Filter(phases=("P6",)), [4]),
        (Filter(jobs=("j",)), [2, 3]),
        (Filter(units=("a.b.c",)), [2]),
        (Filter(flavors=("a100-large",), statuses=("completed",)), [2]),
        (Filter(phases=("P6",), jobs=("j1",)), []),
    ],
)
def test_the_table_shows_the_rows_that_fit_every_condition(condition, expected):
    assert expected == [row.entry.seq for row in select(ROWS, condition)]


def test_the_running_total_of_the_table_is_of_the_rows_shown():
    rows = select(
        chained(booking("a", phase="P1"), booking("b", phase="P2"), booking("c", phase="P1")),
        Filter(phases=("P1",)),
    )
    assert ["2.50", "5.00"] == [cells(row)[COLUMNS.index("spent")] for row in rows]


@pytest.fixture
def call(capsys, tmp_path):
    path = ledger_file(tmp_path / "study", cap("200"), booking("j1", note="a, b"))

    def calling(command, *arguments):
        with pytest.raises(SystemExit) as ended:
            run(beforehand.cli, ["ledger", command, str(path.parent), *arguments], name="beforehand")
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return calling


def test_show_prints_a_table_and_a_total(call):
    code, out, _ = call("show")
    assert (0, "2 of 2 rows, 2.50 USD spent in them") == (code, out.splitlines()[-1])
    assert (0, "0 of 2 rows, 0.00 USD spent in them") == (
        call("show", "--phase", "P9")[0],
        call("show", "--phase", "P9")[1].strip(),
    )


def test_export_prints_or_writes_and_wants_a_form(call, tmp_path):
    assert call("export", "--csv")[1].startswith("row,date,time_utc,kind")
    assert 0 == call("export", "--beancount", "--out", str(tmp_path / "out.beancount"))[0]
    assert (tmp_path / "out.beancount").read_text(encoding="utf-8").startswith('; the ledger of "toy"')
    assert (2, True) == (call("export")[0], "add --csv or --beancount" in call("export")[2])


def test_a_ledger_that_is_not_whole_is_not_exported(call, tmp_path):
    (tmp_path / "study/ledger.csv").write_bytes(file_of(booking("a"))[:-3])
    assert 1 == call("export", "--csv", "--out", str(tmp_path / "out.csv"))[0]
    assert not (tmp_path / "out.csv").exists()
