"""One changed byte anywhere in a study is found by the check that docs/formats.md names for the file."""

import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ledger_rows import booking
from study_factory import whole_study

from ledger.book import Book, read_ledger
from manifests.errors import BeforehandError
from manifests.study import Study
from pipeline.checking import check_units
from prereg.block import find_block
from prereg.verify import verify
from report.build import build_and_write
from report.drift import find_drift


def verified(study):
    return verify(study).exit_code == 0


def units_hold(study):
    return not check_units(Study.open(study))


def ledger_holds(study):
    return not read_ledger(study / "ledger.csv", study_name="toy").findings


def bundle_holds(study):
    return not find_drift(study).drifted


CHECKS = {
    "PREREGISTRATION.md": verified,
    "registration.json": verified,
    "manifests/sft.toy.main.json": units_hold,
    "units/sft.toy.main/rows.parquet": units_hold,
    "ledger.csv": ledger_holds,
    "report/README.md": bundle_holds,
    "report/aggregate.json": bundle_holds,
    "report/provenance.json": bundle_holds,
    "report/report.html": bundle_holds,
    "report/block.md": bundle_holds,
    "report/figures/gains.svg": bundle_holds,
    "report/MANIFEST.json": bundle_holds,
    "report/CHECKSUMS.sha256": bundle_holds,
}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = whole_study(tmp_path_factory.mktemp("tampering") / "toy")
    Book(folder / "ledger.csv", study_name="toy").append(booking())
    build_and_write(folder)
    return folder


def test_an_untouched_study_passes_every_check(study):
    assert all(check(study) for check in CHECKS.values())


@pytest.mark.parametrize("name", CHECKS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_one_changed_byte_is_found(study, tmp_path_factory, name, data):
    whole = (study / name).read_bytes()
    start, end = frozen_span(whole) if name == "PREREGISTRATION.md" else (0, len(whole))
    position = data.draw(st.integers(start, end - 1))
    changed = bytearray(whole)
    changed[position] ^= data.draw(st.integers(1, 255))
    copy = tmp_path_factory.mktemp("copy") / "toy"
    shutil.copytree(study, copy)
    (copy / name).write_bytes(changed)
    try:
        found = not CHECKS[name](copy)
    except BeforehandError:
        found = True
    shutil.rmtree(copy)
    assert found, f"byte {position} of {name}"


def frozen_span(document):
    block = find_block(document, where="x")
    start = document.index(block.raw)
    return start, start + len(block.raw)
