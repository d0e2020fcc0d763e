"""The file's form: what a spreadsheet, an editor or a killed process did to it is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_rows import STUDY, booking, file_of

from ledger.book import parse_ledger
from ledger.layout import empty_ledger, read_layout

TWO = file_of(booking("job-1"), booking("job-2", note='a "word", and'))


def whats(data):
    return " | ".join(finding.what for finding in parse_ledger(data, study_name=STUDY).findings)


def test_the_header_of_an_empty_ledger_is_its_only_line():
    assert (b"seq,time_utc,kind,scope,", 1, b"hash\n") == (
        empty_ledger()[:24],
        empty_ledger().count(b"\n"),
        empty_ledger()[-5:],
    )


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\xef\xbb\xbf" + TWO, "byte order mark"),
        (TWO.replace(b"\n", b"\r\n"), "CRLF"),
        (TWO.replace(b",", b";"), "semicolons"),
        (TWO.replace(b",", b"\t"), "tabs"),
        (TWO.replace(b"job-1", b'"job-1"'), "quoted or separated otherwise"),
        (TWO + b"\n", "empty line"),
        (TWO + b"a,b\n", "has 2 cells where 20 belong"),
        (b"", "header is missing"),
        (TWO[TWO.index(b"\n") + 1 :], "is not the header"),
        (TWO.replace(b"word", b"w\xffrd"), "control character"),
    ],
)
def test_a_changed_form_is_named(data, expected):
    assert expected in whats(data)


@given(cut=st.integers(1, 200))
def test_a_torn_tail_is_told_from_a_changed_row(cut):
    ledger = parse_ledger(TWO[:-cut], study_name=STUDY)
    assert ["the last line"] == [finding.where for finding in ledger.findings]
    assert 1 == len(ledger.entries)


@given(st.binary(min_size=1, max_size=300))
def test_bytes_that_are_no_rows_are_findings_and_never_a_crash(data):
    for content in (data, empty_ledger() + data, TWO + data):
        read_layout(content)
        assert parse_ledger(content, study_name=STUDY).findings
