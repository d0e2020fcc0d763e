from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prereg_studies import DESIGN, REVISION

from manifests.errors import BeforehandError, FindingsError
from manifests.names import UnitId
from prereg.design import Design
from prereg.protocols import parse_seeds

SEED_002 = f"""
[systems.student]
model = {{ repo = "a/b", revision = "{REVISION}" }}
[protocols.full]
cap_tokens = 31744
sampling.sample32 = {{ samples = 32, seeds = "0-31", temperature = 0.7, top_p = 0.95 }}
[protocols.curve8]
reduces = "full"
sampling.sample32 = {{ seeds = "0-7" }}
[protocols.sub100]
reduces = "curve8"
problems = {{ even = 4 }}
"""


def parse(text=DESIGN, **kwargs):
    return Design.from_toml(text.encode(), where="P.md", **kwargs)


def swap(old, new, text=DESIGN):
    assert old in text, f"{old!r} is not in the design any more"
    return text.replace(old, new)


def findings(text):
    with pytest.raises(FindingsError) as caught:
        parse(text)
    return {one.where.partition(" ")[2]: f"{one.what} / {one.mend}" for one in caught.value.findings}


def test_a_whole_design_is_read_as_typed_values():
    design = parse()
    assert Decimal("0.05") == design.endpoints["P1"].test.alpha
    assert "base" == design.endpoints["P1"].baseline.system
    assert ("system",) == design.endpoints["P1"].varies
    assert (("library", "0.9"),) == design.protocols["main"].verifier.pins


def test_checkpoints_expand_to_systems_of_their_own():
    assert ["base", "sft", "sft-ckpt20", "sft-ckpt40"] == list(parse().systems_expanded)
    assert (20, "sft", "base") == (
        parse().systems_expanded["sft-ckpt20"].checkpoint,
        parse().systems_expanded["sft-ckpt20"].declared_as,
        parse().systems_expanded["sft-ckpt20"].trained_from,
    )


def test_a_reduced_protocol_inherits_what_it_does_not_list():
    design = parse(DESIGN + SEED_002)
    resolved = design.resolve_protocol("sub100")
    sampling = resolved.sampling("sample32")
    assert (31744, 8, tuple(range(8)), 0.7, 4) == (
        resolved.cap_tokens, sampling.samples, sampling.seeds, sampling.temperature, resolved.problems.n_problems,
    )  # fmt: skip


def test_fewer_samples_keep_the_first_seeds():
    text = swap('sampling.main = { seeds = "0-3" }', "sampling.main = { samples = 4 }")
    assert (0, 1, 2, 3) == parse(text).resolve_protocol("curve").sampling("main").seeds


def test_sides_are_resolved_down_to_the_sampling():
    baseline, candidate = parse().sides("S1")
    assert (UnitId("base", "toy", "main"), UnitId("sft-ckpt20", "toy", "curve")) == (
        baseline.unit,
        candidate.unit,
    )
    assert (8, 4) == (baseline.sampling.samples, candidate.sampling.samples)


def test_planned_units_are_those_of_the_endpoints_and_the_listed_ones():
    design = parse('units = ["base.toy.some"]\n' + DESIGN)
    planned = {str(one.unit): (one.n_problems, one.samples) for one in design.planned_units()}
    both = (("greedy", 1), ("main", 8))
    assert {
        "base.toy.main": (10, both),
        "base.toy.some": (3, both),
        "sft-ckpt20.toy.curve": (10, (("greedy", 1), ("main", 4))),
        "sft.toy.main": (10, both),
    } == planned
    assert [str(one) for one in sorted(UnitId.parse(name) for name in planned)] == list(planned)


def test_a_system_without_revision_or_hash_is_disclosed_and_so_are_its_descendants():
    text = swap(f'repo = "Goedel-LM/Goedel-Prover-V2-8B", revision = "{REVISION}"', 'unrecorded = "lost"')
    assert (False, False) == (parse(text).is_recorded("base"), parse(text).is_recorded("sft"))
    assert parse().is_recorded("sft")


@pytest.mark.parametrize(
    ("old", "new", "place", "says"),
    [
        ('alpha = "0.05"', 'alpha = "1.0"', "endpoints.P1.test.alpha", "strictly between 0 and 1"),
        ('alpha = "0.05"', 'alpha = "0"', "endpoints.P1.test.alpha", "strictly between 0 and 1"),
        ('alpha = "0.05"', "alpha = 0.05", "endpoints.P1.test.alpha", "in quotes"),
        (', alpha = "0.05"', "", "endpoints.P1.test.alpha", "is missing"),
        ("sides = 2", "sides = 3", "endpoints.P1.test.sides", "input should be 2"),
        ("mcnemar_exact", "t_test", "endpoints.P1.test", "'mcnemar_exact', "),
        ("solved_at_k", "maj_at_k", "endpoints.P1.metric", "expected tags"),
        ('"p_below_alpha"', '"looks_good"', "endpoints.P1.decide", "p_below_alpha"),
        ('"p_below_alpha"', '"ci_excludes_zero"', "endpoints.P1.decide", "needs what mcnemar_exact does not give"),
        ('"ci_excludes_zero"', '"p_below_alpha"', "endpoints.S1.decide", "needs what paired_bootstrap does not give"),
        ('candidate = "sft"\n', "", "endpoints.P1.candidate", "trained_from, config and checkpoint"),
        ('candidate = "sft"\n', 'candidate = "later"\n', "endpoints.P1.candidate", "does not declare"),
        ('checkpoint = "final"\n', "", "endpoints.P1.candidate", "leaves open which checkpoint"),
        ('checkpoint = "final"', 'checkpoint = "best"', "systems.sft.checkpoint", "cannot be registered"),
        ("checkpoints = [20, 40]", "checkpoints = [20, 20]", "systems.sft", "twice"),
        ('trained_from = "base"', 'trained_from = "sft-ckpt40"', "systems.sft.trained_from", "leads back"),
        ('trained_from = "base"', 'trained_from = "bass"', "systems.sft.trained_from", "does not declare"),
        (REVISION, "main", "systems.base.model.revision", "[0-9a-f]{40}"),
        (REVISION, REVISION[:12], "systems.base.model.revision", "[0-9a-f]{40}"),
        ('reduces = "main"\nsampling', 'reduces = "curve"\nsampling', "protocols.curve", "reduces itself"),
        ('reduces = "main"\nsampling', 'reduces = "mian"\nsampling', "protocols.curve.reduces", "does not declare"),
        ('seeds = "0-7"', 'seeds = "0-6"', "protocols.main.sampling.main", "lists 7 seeds for 8 samples"),
        ("k = 8", "k = 9", "endpoints.P1.metric.k", "with 8 samples"),
        ("k = 8", "k = 0", "endpoints.P1.metric.k", "greater than or equal to 1"),
        ("n = 10", 'n = "10"', "benchmarks.toy.n", "valid integer"),
        ("cap_tokens = 64\n", "", "protocols.main", "has no cap_tokens"),
        ("role =", "roll =", "endpoints.P1.roll", "is not a known key"),
        ('"same_verifier"', '"same_mood"', "validity.0", "expected tags"),
        ('endpoints = ["P1"]', 'endpoints = ["P9"]', "validity.1.endpoints", "does not declare"),
        ("[systems.base]", "[systems.Base]", "systems.Base", "lower case"),
        ('benchmark = "toy"\nprotocol', 'benchmark = "tox"\nprotocol', "endpoints.P1.benchmark", "does not declare"),
        ('protocol = "main"\nsampling = "main"\nmetric', 'protocol = "mani"\nsampling = "main"\nmetric', "endpoints.P1.baseline.protocol", "does not declare"),
        ('protocol = "main"\nsampling = "main"\nmetric', 'sampling = "main"\nmetric', "endpoints.P1.candidate", "has no protocol"),
        ('protocol = "main"\nsampling = "main"\nmetric', 'protocol = "main"\nsampling = "hot"\nmetric', "endpoints.P1.candidate.sampling", "does not have"),
        ('format = "design/1"', 'format = "design/2"', "format", "design/1"),
        ('format = "design/1"', 'format = "design/1"\nunits = ["base.toy"]', "units.0", "not a unit id"),
        ('format = "design/1"', 'format = "design/1"\nunits = ["base.toy.mani"]', "units.0", "does not declare"),
        ('candidate = "sft"\n', 'candidate = "base"\n', "endpoints.P1", "with itself"),
        ('alpha = "0.05"', 'alpha = "0.0"', "endpoints.P1.test.alpha", "strictly between 0 and 1"),
        ('"mean_correct"', '"pass_at_k", k = 8', "endpoints.S1.metric.k", "is 8, with 4 samples"),
        ("[systems.sft]", "[systems.sft-ckpt20]\nmodel = { unrecorded = 'x' }\n[systems.sft]", "systems.sft.checkpoints", "declared by itself too"),
        ("[protocols.main]", "[systems." + "x" * 44 + "]\ntrained_from = 'base'\nconfig = { path = 'c', sha256 = '" + "a" * 64 + "' }\ncheckpoints = [20]\n[protocols.main]", "systems." + "x" * 44 + ".checkpoints", "too long"),
    ],
)  # fmt: skip
def test_what_cannot_be_carried_out_is_refused_with_its_place(old, new, place, says):
    found = findings(swap(old, new))
    assert place in found
    assert says in found[place]


def test_mcnemar_needs_one_bit_a_problem_and_says_which_metric_gives_it():
    metric = 'metric = { name = "solved_at_k", k = 8, rule = "prefix", round = 0 }'
    many = findings(swap(metric, 'metric = { name = "mean_correct" }'))
    assert "solved_at_k, or paired_bootstrap" in many["endpoints.P1.test"]
    share = findings(swap(metric, 'metric = { name = "pass_at_k", k = 8 }'))
    assert "solved_at_k with k = 8" in share["endpoints.P1.test"]
    one = swap(
        'sampling = "main"\nmetric = { name = "solved_at_k", k = 8',
        'sampling = "greedy"\nmetric = { name = "solved_at_k", k = 1',
    )
    assert (
        "solved_at_k with k = 1"
        in findings(
            swap(
                '{ name = "solved_at_k", k = 1, rule = "prefix", round = 0 }',
                '{ name = "mean_correct" }',
                one,
            )
        )["endpoints.P1.test"]
    )
    parse(one)


def test_sides_of_different_size_need_a_pairing_and_other_differences_need_varies():
    unpaired = swap('pairing = { problems = "candidate", samples = "candidate", naive_beside = true }\n', "")
    assert "plan different samples" in findings(unpaired)["endpoints.S1.pairing"]
    hotter = swap('sampling.main = { seeds = "0-3" }', 'sampling.main = { seeds = "0-3", temperature = 1.0 }')
    assert "differ in sampling" in findings(hotter)["endpoints.S1.varies"]


def test_all_findings_come_at_once():
    text = swap(
        'alpha = "0.05"',
        'alpha = "7"',
        swap("n = 10", "n = 0", swap('"best"', '"best"', DESIGN + '# "best"\n')),
    )
    assert {"endpoints.P1.test.alpha", "benchmarks.toy.n"} <= set(findings(text))
    names = swap('candidate = "sft"\n', 'candidate = "x"\n', swap('endpoints = ["P1"]', 'endpoints = ["P9"]'))
    assert {"endpoints.P1.candidate", "validity.1.endpoints"} <= set(findings(names))


def test_the_line_of_a_finding_is_that_of_its_key_in_the_file():
    with pytest.raises(FindingsError) as caught:
        parse(swap('alpha = "0.05"', 'alpha = "2"'), first_line=7)
    line = 7 + DESIGN.split("\n").index('test = { name = "mcnemar_exact", sides = 2, alpha = "0.05" }')
    assert [f"P.md:{line} endpoints.P1.test.alpha"] == [one.where for one in caught.value.findings]


def test_bare_dates_and_broken_toml_are_refused():
    with pytest.raises(BeforehandError, match="bare date"):
        parse(swap(f'"{REVISION}"', "2026-01-01"))
    with pytest.raises(BeforehandError, match="is not TOML"):
        parse("format = ")


@pytest.mark.parametrize("text", ["", "3-1", "0-99999999", "a", "1,1", "1 2", "-1"])
def test_a_list_of_seeds_that_makes_no_sense_is_refused(text):
    with pytest.raises(ValueError, match="seed"):
        parse_seeds(text)


@given(st.lists(st.integers(0, 2**60), min_size=1, max_size=30, unique=True))
def test_seeds_are_read_as_written(seeds):
    assert tuple(seeds) == parse_seeds(",".join(str(seed) for seed in seeds))


def test_sides_with_different_problems_need_a_pairing():
    text = swap(
        'candidate = { system = "sft-ckpt20", protocol = "curve" }',
        'candidate = { system = "sft-ckpt20", protocol = "some" }',
    )
    parse(text)
    assert (
        "plan different problems"
        in findings(swap('problems = "candidate", samples', "samples", text))["endpoints.S1.pairing"]
    )


def test_a_subset_is_no_larger_than_its_benchmark():
    text = swap(
        'candidate = { system = "sft-ckpt20", protocol = "curve" }',
        'candidate = { system = "sft-ckpt20", protocol = "some" }',
    )
    assert (
        "takes 30 problems of a benchmark of 10"
        in findings(swap(", n = 3 }", ", n = 30 }", text))["protocols.some.problems"]
    )


CAMPAIGN = f"""format = "design/1"
[benchmarks.aime24]
problems = "problems/aime24.jsonl"
sha256 = "{"a" * 64}"
n = 30
[systems.student-init]
model = {{ repo = "Qwen/Qwen2.5-7B-Instruct", revision = "{REVISION}" }}
[systems.student-r1]
trained_from = "student-init"
config = {{ path = "configs/r1.toml", sha256 = "{"b" * 64}" }}
checkpoints = [20, 40, 100]
[protocols.full]
cap_tokens = 31744
sampling.sample32 = {{ samples = 32, seeds = "0-31", temperature = 0.7, top_p = 0.95 }}
[protocols.curve8]
reduces = "full"
sampling.sample32 = {{ seeds = "0-7" }}
[endpoints.student_gain_aime24]
role = "primary"
baseline = {{ system = "student-init", protocol = "full" }}
candidate = {{ system = "student-r1-ckpt100", protocol = "curve8" }}
benchmark = "aime24"
sampling = "sample32"
metric = {{ name = "mean_correct" }}
test = {{ name = "paired_bootstrap", interval = "percentile", level = "0.95", resamples = 10000, seed = 42, p = "plus_one" }}
pairing = {{ problems = "candidate", samples = "candidate", naive_beside = true }}
decide = "ci_excludes_zero"
"""


def test_a_campaign_of_checkpoints_at_a_reduced_protocol_is_carried():
    design = parse(CAMPAIGN)
    assert {"student-init.aime24.full": 32, "student-r1-ckpt100.aime24.curve8": 8} == {
        str(planned.unit): dict(planned.samples)["sample32"] for planned in design.planned_units()
    }
    assert ["student-init", "student-r1-ckpt100", "student-r1-ckpt20", "student-r1-ckpt40"] == sorted(
        design.systems_expanded
    )
