"""What the design in force plans: its problems, its exploratory comparisons, and whether its registration holds."""

import hashlib

import pytest
from prereg_studies import DESIGN, NOON, frozen_study, make_study

from manifests.documents import parse_toml, validate_mapping
from manifests.errors import BeforehandError, NotInOrderError
from prereg.amend import amend
from prereg.amendment import Amendment
from prereg.plan import exploratory_design, load_design, plan_problems
from prereg.planned import design_in_force, held_registration, planned_units, study_design

PROSE = {"registered": "as it was", "now": "as it is", "reason": "because", "seen": "nothing of it"}
STRICTER = """
[endpoints.P1]
role = "primary"
baseline = "base"
candidate = "sft"
benchmark = "toy"
protocol = "main"
sampling = "main"
metric = { name = "solved_at_k", k = 8 }
test = { name = "mcnemar_exact", sides = 2, alpha = "0.01" }
decide = "p_below_alpha"
"""
EXPLORATORY = """
[X1]
baseline = "base"
candidate = "sft"
benchmark = "toy"
protocol = "main"
sampling = "main"
metric = { name = "mean_correct" }
test = { name = "paired_bootstrap", level = "0.95", resamples = 1000, seed = 0 }
decide = "ci_excludes_zero"
"""


def amended(study, **given):
    table = validate_mapping(Amendment, {"id": "A1", "kind": "change", **PROSE, **given}, where="a.toml")
    return amend(study, table, now=lambda: NOON)


def problems(study, protocol=None, **given):
    design = load_design(study / "PREREGISTRATION.md")
    resolved = None if protocol is None else design.resolve_protocol(protocol)
    return plan_problems(design, "toy", study, protocol=resolved, **given)


def test_a_protocol_with_an_id_list_plans_these_problems_with_their_strata(tmp_path):
    study = make_study(tmp_path)
    whole = problems(study, strata_field="family")
    chosen = problems(study, "some", strata_field="family")
    assert tuple(sorted((study / "subset.txt").read_text().split())) == chosen.ids
    labels = dict(zip(whole.ids, whole.strata, strict=True))
    assert tuple(labels[name] for name in chosen.ids) == chosen.strata
    assert whole.sha256 == chosen.sha256


def test_a_protocol_without_a_subset_plans_the_whole_benchmark(tmp_path):
    study = make_study(tmp_path)
    assert problems(study) == problems(study, "main")


def test_even_spaces_the_problems_over_the_sorted_ids(tmp_path):
    design = DESIGN.replace(
        next(line for line in DESIGN.splitlines() if line.startswith("problems = { ids")),
        "problems = { even = 3 }",
    )
    study = make_study(tmp_path, design=design)
    ids = problems(study).ids
    assert tuple(ids[i * len(ids) // 3] for i in range(3)) == problems(study, "some").ids


def test_an_id_list_that_is_not_the_registered_one_is_refused(tmp_path):
    study = make_study(tmp_path)
    (study / "subset.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(NotInOrderError, match="is not what the design pins"):
        problems(study, "some")


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"p1\np1\np2\n", "a problem twice"), (b"p1\np2\nx9\n", "x9"), (b"p1\n\xff\n", "UTF-8")],
)
def test_an_id_list_that_does_not_fit_the_benchmark_is_refused(tmp_path, data, message):
    study = make_study(tmp_path)
    path = study / "PREREGISTRATION.md"
    before = hashlib.sha256((study / "subset.txt").read_bytes()).hexdigest()
    path.write_text(path.read_text().replace(before, hashlib.sha256(data).hexdigest()))
    (study / "subset.txt").write_bytes(data)
    with pytest.raises(BeforehandError, match=message):
        problems(study, "some")


def test_exploratory_comparisons_stand_beside_the_endpoints_that_validity_rules_name(tmp_path):
    design = load_design(make_study(tmp_path) / "PREREGISTRATION.md")
    explored = exploratory_design(design, parse_toml(EXPLORATORY.encode(), where="study.toml"))
    assert [("P1",)] == [rule.endpoints for rule in explored.validity if rule.endpoints]
    assert {*design.endpoints, "X1"} == set(explored.endpoints)
    assert design.endpoints == {name: explored.endpoints[name] for name in design.endpoints}


def test_before_the_freeze_the_design_in_force_is_the_blocks(tmp_path):
    study = make_study(tmp_path)
    assert load_design(study / "PREREGISTRATION.md") == design_in_force(study)


def test_after_an_amendment_the_design_in_force_is_the_amended_one(tmp_path):
    study = frozen_study(tmp_path)
    amended(study, design=STRICTER)
    assert "0.01" == str(design_in_force(study).endpoints["P1"].test.alpha)
    assert "0.05" == str(study_design(study).registered.endpoints["P1"].test.alpha)


def test_a_frozen_block_that_was_edited_plans_nothing_new(tmp_path):
    study = frozen_study(tmp_path)
    units = planned_units(study)
    path = study / "PREREGISTRATION.md"
    path.write_text(path.read_text().replace('alpha = "0.05"', 'alpha = "0.5"'))
    assert "0.05" == str(design_in_force(study).endpoints["P1"].test.alpha)
    assert units == planned_units(study)


def test_a_registration_that_is_not_frozen_or_holds_is_given_back(tmp_path):
    assert "not_frozen" == held_registration(make_study(tmp_path, name="open")).status
    assert "unchanged" == held_registration(frozen_study(tmp_path)).status


def test_a_registration_that_drifted_changed_or_was_withdrawn_does_not_hold(tmp_path):
    drifted = frozen_study(tmp_path, name="drifted")
    (drifted / "subset.txt").write_bytes(b"p0\n")
    with pytest.raises(NotInOrderError, match="drifted") as caught:
        held_registration(drifted)
    assert 1 == caught.value.exit_code
    assert "verify" in caught.value.mend
    changed = frozen_study(tmp_path, name="changed")
    path = changed / "PREREGISTRATION.md"
    path.write_text(path.read_text().replace("Is it better?", "Is it good?"))
    with pytest.raises(NotInOrderError, match="does not hold: changed"):
        held_registration(changed)
    withdrawn = frozen_study(tmp_path, name="withdrawn")
    amended(withdrawn, kind="withdrawal", id="W1")
    with pytest.raises(NotInOrderError, match="is withdrawn, by W1"):
        held_registration(withdrawn)


def test_a_record_that_is_damaged_holds_nothing(tmp_path):
    study = frozen_study(tmp_path)
    (study / "registration.json").write_text("{}")
    with pytest.raises(NotInOrderError, match="record altered"):
        held_registration(study)
    assert load_design(study / "PREREGISTRATION.md") == design_in_force(study)
