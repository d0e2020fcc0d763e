"""The chain finds every change inside the file; a cut tail is found against a head noted elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_rows import STUDY, any_entry, booking, cap, chained, correction, file_of

from ledger.book import parse_ledger
from ledger.chain import Head, check_head, genesis, link, row_hash
from ledger.entries import COLUMNS, format_line, format_row
from manifests.digests import sha256_bytes, sha256_document
from manifests.errors import BeforehandError

FIVE = (cap("200"), *(booking(f"job-{n}") for n in range(1, 5)))


def findings_of(data):
    return [str(finding) for finding in parse_ledger(data, study_name=STUDY).findings]


def lines_of(data):
    return data.decode().splitlines(keepends=True)


def test_a_ledger_as_written_has_no_findings():
    assert [] == findings_of(file_of(*FIVE))


def test_an_empty_ledger_has_no_findings_and_the_head_of_its_study():
    ledger = parse_ledger(file_of(), study_name=STUDY)
    assert ((), (), Head(0, sha256_bytes(b"ledger/1\ntoy"))) == (ledger.entries, ledger.findings, ledger.head)


@given(any_entry())
def test_the_hash_is_that_of_the_canonical_json_of_the_row_without_its_hash(entry):
    cells = format_row(chained(entry)[0])
    document = dict(zip(COLUMNS[:-1], cells[:-1], strict=True))
    assert sha256_document(document) == row_hash(cells) == cells[-1]


@settings(max_examples=400)
@given(data=st.data())
def test_any_one_byte_change_is_found(data):
    original = file_of(*FIVE, correction("0.50", of=2, note='wall, "clock"'))
    position = data.draw(st.integers(0, len(original) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != original[position]))
    changed = original[:position] + bytes([byte]) + original[position + 1 :]
    assert parse_ledger(changed, study_name=STUDY).findings


@given(data=st.data())
def test_any_byte_taken_out_or_put_in_is_found(data):
    original = file_of(*FIVE)
    position = data.draw(st.integers(0, len(original) - 1))
    shorter = original[:position] + original[position + 1 :]
    longer = original[:position] + bytes([data.draw(st.integers(0, 255))]) + original[position:]
    assert parse_ledger(shorter, study_name=STUDY).findings
    assert parse_ledger(longer, study_name=STUDY).findings


def test_an_edited_amount_is_named_with_its_row():
    edited = file_of(*FIVE).replace(b"2.500000", b"0.500000", 1)
    findings = findings_of(edited)
    assert "line 3, row 2: was changed after it was written" in findings[0]


def test_a_removed_row_is_named_as_missing():
    lines = lines_of(file_of(*FIVE))
    del lines[3]
    assert "line 4, row 4: does not follow row 2: row 3 is missing" in findings_of("".join(lines).encode())[0]


def test_a_row_that_skips_a_number_is_found_even_when_its_hash_fits():
    first = chained(booking("a"))[0]
    skipping = link(booking("b"), Head(5, first.hash))
    data = file_of(booking("a")) + format_line(format_row(skipping)).encode()
    assert ["- line 3, row 6: carries number 6 where 2 belongs"] == findings_of(data)


def test_several_removed_rows_are_named_as_missing():
    lines = lines_of(file_of(*FIVE))
    del lines[2:5]
    assert "rows 2 to 4 are missing" in findings_of("".join(lines).encode())[0]


def test_reordered_rows_are_named_as_reordered():
    lines = lines_of(file_of(*FIVE))
    lines[2], lines[3] = lines[3], lines[2]
    assert any("rows were re-ordered" in finding for finding in findings_of("".join(lines).encode()))


def test_two_branches_that_both_appended_are_named_as_a_merge():
    ours = lines_of(file_of(*FIVE, booking("job-ours")))
    theirs = lines_of(file_of(*FIVE, booking("job-theirs")))
    merged = "".join([*ours, theirs[-1]]).encode()
    assert any(
        "follows row 5, as an earlier line already does: two ledgers were merged" in f
        for f in findings_of(merged)
    )


def test_a_conflict_of_git_is_named_and_the_rows_around_it_are_still_read():
    ours = lines_of(file_of(*FIVE, booking("job-ours")))
    theirs = lines_of(file_of(*FIVE, booking("job-theirs")))
    text = "".join([*ours[:-1], "<<<<<<< HEAD\n", ours[-1], "=======\n", theirs[-1], ">>>>>>> branch\n"])
    ledger = parse_ledger(text.encode(), study_name=STUDY)
    assert 7 == len(ledger.entries)
    assert 3 == sum("conflict mark of git" in finding.what for finding in ledger.findings)


def test_the_ledger_of_another_study_does_not_pass():
    assert "another study's name" in str(parse_ledger(file_of(*FIVE), study_name="other").findings[0])


@given(kept=st.integers(0, 4))
def test_a_cut_tail_is_found_against_a_head_and_not_without(kept):
    rows = chained(*FIVE)
    head = Head(rows[-1].seq, rows[-1].hash)
    cut = "".join(lines_of(file_of(*FIVE))[: kept + 1]).encode()
    ledger = parse_ledger(cut, study_name=STUDY)
    assert () == ledger.findings
    assert "its tail was cut" in check_head(ledger.entries, head, study_name=STUDY)[0].what


def test_a_rewritten_past_is_found_against_a_head():
    head = Head(3, chained(*FIVE)[2].hash)
    rewritten = chained(FIVE[0], booking("job-other"), *FIVE[2:])
    assert "the past was rewritten" in check_head(rewritten, head, study_name=STUDY)[0].what


def test_an_earlier_head_lies_on_a_longer_chain():
    rows = chained(*FIVE)
    heads = (genesis(STUDY), *(Head(row.seq, row.hash) for row in rows))
    assert [()] * 6 == [check_head(rows, head, study_name=STUDY) for head in heads]


@pytest.mark.parametrize(
    "text", ["", "5", "5:", "x:" + "a" * 64, "-1:" + "a" * 64, "²:" + "a" * 64, "5:" + "A" * 64]
)
def test_what_is_no_head_is_refused(text):
    with pytest.raises(BeforehandError):
        Head.parse(text)


def test_a_head_read_back_is_the_head():
    head = Head(3, "a" * 64)
    assert head == Head.parse(str(head))
