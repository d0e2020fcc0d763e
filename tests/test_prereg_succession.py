import shutil

import pytest
from prereg_studies import NOON, frozen_study, make_study

from manifests.documents import validate_mapping
from manifests.errors import BeforehandError, NotInOrderError
from prereg.amend import amend
from prereg.amendment import Amendment
from prereg.freeze import freeze
from prereg.registration import read_registration
from prereg.succession import Succession
from prereg.verify import verify

PROSE = {
    "registered": "as it was",
    "now": "nothing",
    "reason": "the verifier is broken",
    "seen": "nothing of it",
}


def withdraw(study):
    amendment = validate_mapping(Amendment, {"id": "W1", "kind": "withdrawal", **PROSE}, where="a")
    return amend(study, amendment, now=lambda: NOON)


@pytest.fixture
def pair(tmp_path):
    old, new = frozen_study(tmp_path / "a b", name="old"), make_study(tmp_path, name="new")
    withdraw(old)
    freeze(new, succeeds=old, now=lambda: NOON)
    return old, new


def whats(study):
    return [one.what for one in verify(study).findings]


def test_a_successor_names_the_withdrawn_registration_by_its_digests(pair):
    old, new = pair
    record = read_registration(old / "registration.json")
    named = Succession.read(read_registration(new / "registration.json").succeeds, where="r")
    assert Succession(
        study="toy", path="../a b/old", block_sha256=record.block_sha256, record_sha256=record.record_sha256, withdrawn_by="W1"
    ) == named  # fmt: skip
    assert [0, 0] == [verify(one).exit_code for one in pair]
    assert "withdrawn by W1" in verify(old).text


def test_a_registration_that_nobody_withdrew_has_no_successor(tmp_path):
    with pytest.raises(BeforehandError, match="is not withdrawn"):
        freeze(make_study(tmp_path, name="new"), succeeds=frozen_study(tmp_path, name="old"))
    assert not (tmp_path / "new" / "registration.json").exists()


def test_a_predecessor_that_does_not_hold_is_refused(tmp_path):
    with pytest.raises(NotInOrderError, match="is not frozen"):
        freeze(make_study(tmp_path, name="new"), succeeds=make_study(tmp_path, name="old"))


def test_a_withdrawn_registration_is_amended_no_more(pair):
    with pytest.raises(BeforehandError, match="after the registration was withdrawn"):
        amend(pair[0], validate_mapping(Amendment, {"id": "A2", "kind": "disclosure", **PROSE}, where="a"))


def test_a_withdrawn_registration_must_be_kept(pair):
    old, new = pair
    shutil.rmtree(old)
    assert 1 == len(whats(new))
    assert "the predecessor does not exist" in whats(new)[0]


def test_another_registration_in_its_place_is_found(pair, tmp_path):
    old, new = pair
    shutil.rmtree(old)
    shutil.copytree(frozen_study(tmp_path / "x", name="other"), old)
    (old / "registration.json").unlink()
    text = (old / "PREREGISTRATION.md").read_bytes()
    (old / "PREREGISTRATION.md").write_bytes(
        b"".join(line for line in text.splitlines(keepends=True) if b"SHA256:" not in line)
    )
    freeze(old)
    assert ["../a b/old holds another registration than the one that is succeeded"] == whats(new)


def test_a_withdrawal_that_is_taken_back_is_found(pair):
    old, new = pair
    (old / "amendments.jsonl").unlink()
    assert ["the withdrawal W1 of toy is gone"] == whats(new)
