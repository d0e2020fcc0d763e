"""`report verify --bundle`: a bundle checked by itself, and against the study where that is at hand."""

import shutil

import pytest
from ledger_rows import booking
from study_factory import whole_study

from ledger.book import Book
from ledger.layout import empty_ledger
from manifests.errors import BeforehandError
from report.build import build_and_write
from report.bundle import checksums, read_bundle
from report.bundle_check import check_bundle


@pytest.fixture
def study(tmp_path):
    folder = whole_study(tmp_path / "toy")
    Book(folder / "ledger.csv", study_name="toy").append(booking(unit="sft.toy.main"))
    build_and_write(folder)
    return folder


def alone(study, tmp_path):
    return shutil.copytree(study / "report", tmp_path / "elsewhere/bundle")


def reseal(bundle):
    """The checksums are made to fit again, as a forger would."""
    files = {name: data for name, data in read_bundle(bundle).items() if name != "CHECKSUMS.sha256"}
    (bundle / "CHECKSUMS.sha256").write_bytes(checksums(files))


def test_a_bundle_alone_is_checked_and_says_what_it_could_not_check(study, tmp_path):
    check = check_bundle(alone(study, tmp_path))
    assert check.findings == ()
    assert "the frozen block against its digest" in check.checked
    assert any("no rows are at hand" in one for one in check.unchecked)


def test_beside_its_study_the_primary_endpoint_is_computed_again(study):
    check = check_bundle(study / "report")
    assert (check.findings, check.unchecked) == ((), ())
    assert "primary endpoints from the rows: P1" in check.checked


def test_a_study_elsewhere_can_be_named(study, tmp_path):
    assert check_bundle(alone(study, tmp_path), study=study).unchecked == ()


def test_a_changed_file_is_named(study, tmp_path):
    bundle = alone(study, tmp_path)
    (bundle / "README.md").write_bytes(b"better numbers")
    assert "README.md" in {finding.where for finding in check_bundle(bundle).findings}


def test_a_forged_file_with_mended_checksums_is_found_by_the_manifest(study, tmp_path):
    bundle = alone(study, tmp_path)
    (bundle / "README.md").write_bytes(b"better numbers")
    reseal(bundle)
    assert [finding.what for finding in check_bundle(bundle).findings] == [
        "is not the output that the manifest names"
    ]


def test_another_block_is_found_by_the_digest_of_the_frozen_one(study, tmp_path):
    bundle = alone(study, tmp_path)
    (bundle / "block.md").write_bytes(b"another plan")
    reseal(bundle)
    assert any(
        "is not the block that was frozen" in finding.what for finding in check_bundle(bundle).findings
    )


def test_a_cut_ledger_is_found_by_the_head_in_the_bundle(study):
    (study / "ledger.csv").write_bytes(empty_ledger())
    assert any(
        "rows were cut or changed" in finding.what for finding in check_bundle(study / "report").findings
    )


def test_numbers_that_the_rows_do_not_give_are_found(study):
    path = study / "report/aggregate.json"
    path.write_text(path.read_text().replace('"value": 0.833333333333', '"value": 0.933333333333'))
    reseal(study / "report")
    assert any("P1 is" in finding.what for finding in check_bundle(study / "report").findings)


def test_a_folder_without_a_bundle_is_refused(tmp_path):
    with pytest.raises(BeforehandError, match="holds no bundle"):
        check_bundle(tmp_path)
