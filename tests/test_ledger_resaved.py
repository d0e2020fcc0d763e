"""A file that a spreadsheet re-saved is told from one that was forged, and its money is still read right."""

from __future__ import annotations

import csv
import io
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from ledger_rows import STUDY, booking, cap, correction, file_of

from ledger.book import parse_ledger

ORIGINAL = file_of(
    cap("200"),
    booking("6a8d7e7a", seconds="15994", rate="10.00", phase="P4"),
    booking("7869917", seconds="88.3", rate="0.80", billing="minute"),
    correction("-1.5", of=2, job_id="6a8d7e7a", note="Größe geprüft, see D7"),
)


def saved_by_a_spreadsheet(data, *, change, delimiter=",", line_end="\r\n", encoding="utf-8-sig"):
    """The file after a spreadsheet read each cell and wrote it in its own way."""
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter, lineterminator=line_end)
    writer.writeheader()
    writer.writerows({column: change(column, cell) for column, cell in row.items()} for row in rows)
    return stream.getvalue().encode(encoding)


def american(column, cell):
    if column in ("amount_usd", "rate_usd_per_h", "seconds") and cell:
        return f"{float(cell):,.10g}"
    if column == "rate_date" and cell:
        year, month, day = cell.split("-")
        return f"{int(month)}/{int(day)}/{year}"
    return cell


def german(column, cell):
    if column in ("amount_usd", "rate_usd_per_h", "seconds") and cell:
        return f"{float(cell):.10g}".replace(".", ",")
    if column in ("rate_date", "time_utc") and cell:
        year, month, day = cell[:10].split("-")
        return f"{day}.{month}.{year} {cell[11:16]}".strip()
    return cell


SAVINGS = {
    "american": {"change": american},
    "german": {"change": german, "delimiter": ";", "encoding": "cp1252"},
    "libreoffice": {
        "change": lambda column, cell: cell.rstrip("0").rstrip(".") if column == "amount_usd" else cell,
        "line_end": "\n",
    },
    "tabs": {"change": american, "delimiter": "\t"},
}


@pytest.mark.parametrize("name", SAVINGS)
def test_a_resaved_ledger_is_called_resaved_and_not_changed(name):
    ledger = parse_ledger(saved_by_a_spreadsheet(ORIGINAL, **SAVINGS[name]), study_name=STUDY)
    assert "was re-saved by a spreadsheet" in ledger.findings[0].what
    assert not any("was changed after it was written" in finding.what for finding in ledger.findings)
    assert parse_ledger(ORIGINAL, study_name=STUDY).entries == ledger.entries


@pytest.mark.parametrize("name", SAVINGS)
def test_a_forged_amount_in_a_resaved_ledger_is_still_found(name):
    forged = saved_by_a_spreadsheet(ORIGINAL.replace(b"44.427778", b"4.427778"), **SAVINGS[name])
    findings = parse_ledger(forged, study_name=STUDY).findings
    assert any(finding.where.startswith("line 3") for finding in findings if "re-saved" not in finding.what)


@given(st.decimals(0, 10**6, places=3), st.sampled_from(["{:.6f}", "{:,.2f}", "{:.10g}", "${:.2f}"]))
def test_no_other_amount_passes_as_a_resaving_of_this_one(amount, style):
    assume(amount != Decimal("44.427778").quantize(Decimal("0.001")))
    cell = f'"{style.format(amount)}"'.encode()
    findings = parse_ledger(ORIGINAL.replace(b"44.427778", cell), study_name=STUDY).findings
    assert any("line 3" in finding.where and "quoted" not in finding.what for finding in findings)
