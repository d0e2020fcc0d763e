"""`report trace` and `report impact`: from a number to its rows, and from rows to the numbers that hang on them."""

import json
import re
from decimal import Decimal

import numpy as np
import pytest
from study_factory import whole_study

from manifests.errors import BeforehandError
from prereg.methods import McnemarExact, SolvedAtK
from report.build import build_and_write
from report.estimates import estimate
from report.impact import impact, without_problem
from report.inference import Sides
from report.metrics import Scores
from report.trace import trace


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = whole_study(tmp_path_factory.mktemp("trace") / "s", n=20)
    build_and_write(folder)
    return folder


def test_a_pointer_names_method_rows_files_digests_and_label(study):
    (found,) = trace(study, "P1.gain")
    record = json.loads((study / "manifests/sft.toy.main.json").read_bytes())
    assert found.fields == ("gain",)
    assert found.node.label == "registered"
    assert found.node.method.startswith("solved_at_k, k 4, rule prefix, round 0; mcnemar_exact")
    assert "sampling main, round 0" in found.node.n
    assert record["record_sha256"] in {one.record_sha256 for one in found.node.inputs}
    assert record["files"][0]["sha256"] in found.text


def test_a_line_of_the_readme_names_the_numbers_on_it(study):
    readme = (study / "report/README.md").read_text().split("\n")
    line = next(number for number, text in enumerate(readme, 1) if text.startswith("| P1 |"))
    (found,) = trace(study, f"README.md:{line}")
    assert set(found.fields) >= {"gain", "ci_low", "ci_high", "p", "baseline", "candidate"}


def test_every_line_that_prints_a_computed_percentage_can_be_traced(study):
    readme = (study / "report/README.md").read_text().split("\n")
    for number, text in enumerate(readme, 1):
        if re.search(r"[+−]\d+\.\d\u00a0pp", text):
            assert trace(study, f"README.md:{number}")


@pytest.mark.parametrize(
    ("what", "mend"), [("P9.gain", "pointers are"), ("README.md:2", "nearest lines"), ("other.md:1", "")]
)
def test_what_is_not_there_is_said_with_a_way_on(study, what, mend):
    with pytest.raises(BeforehandError) as raised:
        trace(study, what)
    assert mend in raised.value.mend


def test_impact_names_the_comparisons_that_use_a_unit(study):
    found = impact(study, "sft.toy.main")
    assert [(one.id, one.conclusion) for one in found.comparisons] == [("P1", "improved"), ("S1", "improved")]
    assert found.pointers == ("sft.toy.main/main",)


def test_impact_of_a_problem_computes_each_number_without_it(study):
    before = {one.id: one for one in impact(study, "sft.toy.main").comparisons}
    found = {one.id: one for one in impact(study, "sft.toy.main", "p003").comparisons}
    for name, one in found.items():
        assert one.gain == before[name].gain
        assert one.gain_without is not None
        assert abs(one.gain_without - one.gain) <= 1 / 19 + 1e-12


def test_impact_refuses_unknown_units_and_problems(study):
    with pytest.raises(BeforehandError, match="no unit"):
        impact(study, "sft.toy.other")
    with pytest.raises(BeforehandError, match="no problem"):
        impact(study, "sft.toy.main", "p999")


def test_leaving_a_problem_out_cuts_both_sides_and_their_groups():
    cut = without_problem(
        Sides(
            baseline=scores([0, 1, 0]),
            candidate=scores([1, 1, 0]),
            systems=("x", "y"),
            names=("x", "y"),
            units=("u", "v"),
            n_samples=1,
            cap_tokens=(8, 8),
            groups=("g", "g", "h"),
        ),
        "b",
    )
    assert (cut.baseline.problem_ids, cut.groups, cut.candidate.numerator) == (("a", "c"), ("g", "h"), 1)
    test = McnemarExact(name="mcnemar_exact", alpha=Decimal("0.05"))
    assert estimate(cut, SolvedAtK(name="solved_at_k", k=1), test).estimate.value == 0.5


def scores(values):
    counts = np.array(values)
    return Scores(
        problem_ids=("a", "b", "c"),
        values=counts.astype(float),
        counts=counts,
        per_problem=1,
        numerator=int(counts.sum()),
        denominator=3,
    )
