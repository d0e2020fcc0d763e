import json

import pytest
from study_factory import whole_study

from manifests.errors import BeforehandError, FindingsError, NotInOrderError
from manifests.names import UnitId
from manifests.records import read_record, record_bytes
from manifests.stores import LocalStore, load_record


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return whole_study(tmp_path_factory.mktemp("records") / "s") / "manifests/sft.toy.main.json"


def changed(path, tmp_path, **values):
    raw = {**json.loads(path.read_bytes()), **values}
    copy = tmp_path / path.name
    copy.write_bytes((json.dumps(raw, sort_keys=True, indent=1, ensure_ascii=False) + "\n").encode())
    return copy


def test_reading_what_was_written_gives_the_same_bytes(path):
    assert path.read_bytes() == record_bytes(read_record(path))


def test_a_changed_value_is_called_a_changed_content(path, tmp_path):
    with pytest.raises(NotInOrderError, match="its content has the digest"):
        read_record(changed(path, tmp_path, deviations=["none"]))


def test_another_layout_of_the_same_content_is_called_that(path, tmp_path):
    copy = tmp_path / "x.json"
    copy.write_bytes(path.read_bytes().replace(b"\n ", b"\n  ", 1))
    with pytest.raises(NotInOrderError, match="laid out"):
        read_record(copy)


@pytest.mark.parametrize(
    "values",
    [
        {"format": "unit-record/2"}, {"unit": "../x"}, {"surplus": 1}, {"files": [{"path": "a", "bytes": -1, "sha256": "0" * 64}]},
        {"counts": {"main": {"planned": 1, "got": 1, "judged": 2, "correct": 0}}}, {"registration_sha256": "abc"},
    ],
)  # fmt: skip
def test_a_record_of_another_shape_is_refused_with_its_place(path, tmp_path, values):
    with pytest.raises(FindingsError) as caught:
        read_record(changed(path, tmp_path, **values))
    assert any(finding.where.split(".")[0] in values for finding in caught.value.findings)


def test_a_record_under_another_units_name_is_refused(path):
    other = path.with_name("base.toy.main.json")
    whole = other.read_bytes()
    other.write_bytes(path.read_bytes())
    try:
        with pytest.raises(BeforehandError, match=r"is the record of sft\.toy\.main"):
            load_record(LocalStore(path.parent.parent), UnitId.parse("base.toy.main"))
    finally:
        other.write_bytes(whole)
