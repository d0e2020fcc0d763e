"""Every test that a design may name is one row of METHODS, and gives what the statistics give."""

import json
from typing import get_args

import pytest
from study_factory import add_units, freeze_study, make_study

from prereg.methods import StatisticalTest
from report.build import build
from report.inference import METHODS

TESTS = {
    "mcnemar_midp": ("solved_at_k", "p_below_alpha", 'alpha = "0.05"'),
    "sign_flip": ("mean_correct", "p_below_alpha", 'alpha = "0.05", seed = 3'),
    "paired_t": ("mean_correct", "ci_excludes_zero", 'level = "0.95"'),
    "clustered_t": ("mean_correct", "ci_excludes_zero", 'level = "0.95", clusters = "problem_id"'),
}


def test_every_test_of_the_design_has_a_method_and_no_method_is_left_over():
    named = {
        get_args(member.model_fields["name"].annotation)[0]
        for member in get_args(get_args(StatisticalTest)[0])
    }
    assert named == set(METHODS)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    endpoints = "\n".join(
        f'[endpoints.{name}]\nrole = "secondary"\nbaseline = "base"\ncandidate = "sft"\nbenchmark = "toy"\n'
        f'protocol = "main"\nsampling = "main"\nmetric = {{ name = "{metric}"{", k = 4" if metric == "solved_at_k" else ""} }}\n'
        f'test = {{ name = "{name}", {parameters} }}\ndecide = "{rule}"'
        for name, (metric, rule, parameters) in TESTS.items()
    )
    study = make_study(tmp_path_factory.mktemp("tests") / "s", extra=endpoints)
    freeze_study(study)
    add_units(study)
    return json.loads(build(study).files["aggregate.json"])["endpoints"]


@pytest.mark.parametrize("name", TESTS)
def test_it_concludes_by_its_rule_on_a_clear_gain(nodes, name):
    estimate = nodes[name]["estimate"]
    assert (name, "improved") == (estimate["method"], nodes[name]["conclusion"])
    assert estimate["ci"]["low"] > 0 or TESTS[name][1] == "p_below_alpha"


def test_mid_p_is_smaller_than_the_exact_p(nodes):
    assert nodes["mcnemar_midp"]["estimate"]["p"] < nodes["P1"]["estimate"]["p"]


def test_few_clusters_give_few_degrees_of_freedom_and_a_warning(nodes):
    node = nodes["clustered_t"]
    assert (12, 11) == (node["estimate"]["parameters"]["n_clusters"], node["estimate"]["parameters"]["df"])
    assert any("12 clusters" in warning for warning in node["warnings"])


def test_a_test_without_an_interval_of_its_own_shows_a_companion_and_says_so(nodes):
    assert "companion" in nodes["sign_flip"]["estimate"]["ci"]["method"]
