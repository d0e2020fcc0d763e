"""What the study has against itself is shown and forbids PRIMARY, and a build never erases it."""

import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from study_factory import add_units, better, freeze_study, import_log, make_study, whole_study, write_log

from manifests.digests import sha256_bytes
from manifests.errors import NotInOrderError
from manifests.records import UnitFile, read_record, record_bytes
from manifests.rows import SCHEMA, read_rows
from prereg.amend import amend
from prereg.amendment import Amendment
from prereg.verify import verify
from report.build import BundleWouldBeLostError, build, build_and_write
from report.bundle import read_bundle
from report.cli import build_outcome
from report.drift import find_drift

LATER = datetime(2026, 1, 3, 0, 0, 0, tzinfo=UTC)
OTHER_PROTOCOL = """[protocols.long]
cap_tokens = 128
verifier = { kind = "math", version = "1" }
sampling.main = { samples = 4, temperature = 1.0, prompt = "plain" }
"""


def endpoint(name, *, role="primary", protocol="main", more="", alpha="0.05"):
    return f"""[endpoints.{name}]
role = "{role}"
baseline = "base"
candidate = "sft"
benchmark = "toy"
protocol = "{protocol}"
sampling = "main"
metric = {{ name = "solved_at_k", k = 4 }}
test = {{ name = "mcnemar_exact", alpha = "{alpha}" }}
decide = "p_below_alpha"
{more}
"""


def seal(study, *, name="A1", kind="change", design=None):
    amendment = Amendment(
        id=name,
        kind=kind,
        registered="as it was",
        now="another",
        reason="a reason",
        seen="nothing",
        touches=("P1",),
        design=design,
    )
    amend(study, amendment, now=lambda: LATER)


def aggregate_of(built):
    return json.loads(built.files["aggregate.json"])


def reasons_of(built):
    node = aggregate_of(built)["endpoints"]["P1"]
    assert node["primary"] == (not node["not_primary_because"])
    return node["not_primary_because"]


def test_a_pinned_file_that_drifted_forbids_primary_and_stands_in_the_banner(tmp_path):
    study = whole_study(tmp_path / "s")
    (study / "configs/sft.toml").write_bytes(b"lr = 9e-4\n")
    assert "unchanged" == verify(study).status
    built = build(study)
    assert any("configs/sft.toml" in reason for reason in reasons_of(built))
    for name in ("README.md", "report.html"):
        banner = built.files[name].decode().partition("THE REGISTRATION DOES NOT VERIFY.")[2]
        assert "configs/sft.toml" in banner[:400]


def test_seals_that_were_deleted_forbid_primary(tmp_path):
    study = make_study(tmp_path / "s")
    freeze_study(study)
    seal(study, design=endpoint("P1", alpha="0.001"))
    add_units(study)
    assert () == tuple(reasons_of(build(study)))
    (study / "amendments.jsonl").unlink()
    built = build(study)
    assert any("PREREGISTRATION.md" in reason for reason in reasons_of(built))
    assert b"> **PRIMARY.**" not in built.files["README.md"]


def test_a_withdrawn_registration_is_never_primary_and_says_so_above_all_else(tmp_path):
    study = make_study(tmp_path / "s")
    freeze_study(study)
    add_units(study)
    seal(study, name="W1", kind="withdrawal")
    built = build(study)
    assert "the registration was withdrawn by W1" in reasons_of(built)
    assert built.files["README.md"].startswith(b"**REGISTRATION WITHDRAWN by W1.")


def test_where_only_some_primary_endpoints_earn_the_word_the_masthead_names_both_kinds(tmp_path):
    extra = endpoint("P2") + '[[validity]]\nrule = "same_prompts"\nendpoints = ["P2"]\n'
    study = make_study(tmp_path / "s", extra=extra)
    freeze_study(study)
    add_units(study)
    built = build(study)
    readme = built.files["README.md"].decode()
    assert {"P1": True, "P2": False, "S1": False} == {
        name: node["primary"] for name, node in aggregate_of(built)["endpoints"].items()
    }
    assert "> **PRIMARY in part.** Primary: P1; not primary: P2; section 7 says why." in readme
    assert "confirmatory in part" in built.files["report.html"].decode()


def test_a_row_of_a_correction_round_does_not_stand_in_for_a_missing_one(tmp_path):
    study = whole_study(tmp_path / "s")
    path, unit = study / "units/sft.toy.main/rows.parquet", study / "manifests/sft.toy.main.json"
    table = read_rows(path)
    rounds = pa.array([1, *[0] * (table.num_rows - 1)], SCHEMA.field("round").type)
    moved = table.set_column(SCHEMA.get_field_index("round"), SCHEMA.field("round"), rounds)
    assert 1 == pc.sum(moved["round"]).as_py()
    pq.write_table(moved.cast(SCHEMA), path)
    data = path.read_bytes()
    file = UnitFile(path="rows.parquet", bytes=len(data), sha256=sha256_bytes(data))
    unit.write_bytes(record_bytes(read_record(unit).model_copy(update={"files": (file,)})))
    node = aggregate_of(build(study))["endpoints"]["P1"]
    assert ("incomplete", "1 of 48 planned rows of sft.toy.main (main) are missing") == (
        node["conclusion"],
        node["reason"],
    )


@pytest.fixture
def cut(tmp_path):
    """A study whose only seal was removed without a trace but in the bundle."""
    study = whole_study(tmp_path / "s")
    before = (study / "PREREGISTRATION.md").read_bytes()
    seal(study, design=endpoint("P1", alpha="0.001"))
    build_and_write(study)
    (study / "amendments.jsonl").unlink()
    (study / "PREREGISTRATION.md").write_bytes(before)
    return study


def test_a_build_refuses_to_overwrite_the_bundle_that_shows_a_removed_seal(cut):
    before = read_bundle(cut / "report")
    for fresh in (False, True):
        with pytest.raises(BundleWouldBeLostError) as caught:
            build_outcome(cut, fresh=fresh)
        assert 1 == caught.value.exit_code
        assert isinstance(caught.value, NotInOrderError)
        assert "restore" in (caught.value.mend or "")
    assert before == read_bundle(cut / "report")
    assert "registration" in find_drift(cut).drifted


def test_a_build_gives_the_same_bytes_whatever_bundle_lies_there(cut):
    beside_another = build(cut).files
    (cut / "report").rename(cut / "old")
    assert build(cut).files == beside_another


def test_an_endpoint_that_an_amendment_replaced_keeps_the_number_of_its_registered_units(tmp_path):
    study = make_study(tmp_path / "s")
    freeze_study(study)
    add_units(study)
    before = aggregate_of(build(study))["endpoints"]["P1"]
    moved = OTHER_PROTOCOL + endpoint("P1", protocol="long")
    moved += endpoint("S1", role="secondary", protocol="long")
    seal(study, design=moved)
    aggregate = aggregate_of(build(study))
    replaced = aggregate["as_registered"]["P1"]
    assert before["estimate"] == replaced["estimate"]
    assert (True, False) == (before["primary"], replaced["primary"])
    assert "an amendment replaced the endpoint" in replaced["not_primary_because"]
    assert "pending" == aggregate["endpoints"]["P1"]["conclusion"]
    assert not any("plans no such unit" in warning for warning in aggregate["warnings"])


def test_both_caps_are_printed_where_the_sides_differ_in_them(tmp_path):
    longer = endpoint("P2", more='varies = ["system", "cap_tokens"]').replace(
        'candidate = "sft"', 'candidate = { system = "sft", protocol = "long" }'
    )
    extra = OTHER_PROTOCOL + longer
    study = make_study(tmp_path / "s", extra=extra)
    freeze_study(study)
    add_units(study)
    import_log(study, "sft.toy.long", write_log(tmp_path / "long.jsonl", better))
    built = build(study)
    estimate = aggregate_of(built)["endpoints"]["P2"]["estimate"]
    assert (None, 64, 128) == (
        estimate["cap_tokens"],
        estimate["baseline"]["cap_tokens"],
        estimate["candidate"]["cap_tokens"],
    )
    assert "cap 64 and 128 tokens" in built.files["README.md"].decode()


def test_the_timestamp_is_an_input_when_it_exists(tmp_path):
    study = whole_study(tmp_path / "s")
    manifest = json.loads(build(study).files["MANIFEST.json"])
    assert "registration.tsr" in manifest["absent"]
    (study / "registration.tsr").write_bytes(b"no token")
    built = build(study)
    inputs = {one["path"]: one for one in json.loads(built.files["MANIFEST.json"])["inputs"]}
    assert ("registration", 8) == (inputs["registration.tsr"]["kind"], inputs["registration.tsr"]["bytes"])
    assert any(reason.startswith("registration.tsr") for reason in reasons_of(built))
