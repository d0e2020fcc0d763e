"""Misuse is refused with a message that says what is wrong; what is not estimable is None with a reason."""

import numpy as np
import pytest

from report.statistics.auroc import auroc, auroc_length_controlled
from report.statistics.bootstrap import PairedScores, paired_bootstrap, paired_bootstrap_many
from report.statistics.clustered import clustered_mean
from report.statistics.fragility import mcnemar_fragility
from report.statistics.inputs import tail_probabilities
from report.statistics.mcnemar import mcnemar_exact, mcnemar_midp, mcnemar_p
from report.statistics.multiplicity import benjamini_hochberg, holm
from report.statistics.onset import first_past, length_runaway, longest_stretch
from report.statistics.over_cap import over_cap_sensitivity
from report.statistics.paired_t import paired_t, tost_paired
from report.statistics.pairing import Samples, restricted_pairing
from report.statistics.pass_at_k import pass_at_k, pass_at_k_mean, solved_at_k
from report.statistics.power import mcnemar_mde, mcnemar_power, minimum_split, paired_mean_mde
from report.statistics.proportion import clopper_pearson, wilson
from report.statistics.ratio import transfer_ratio
from report.statistics.resampling import resample_sums
from report.statistics.sign_flip import sign_flip

NAN = float("nan")


def boot(baseline=(0.0, 0.5), candidate=(0.5, 0.5), **changes):
    return paired_bootstrap(baseline, candidate, **{"seed": 1, "n_resamples": 100, **changes})


def ratio(**changes):
    given = {
        "student_gain": 1.0,
        "student_interval": (0.5, 1.5),
        "teacher_gain": 2.0,
        "teacher_interval": (1.0, 3.0),
        "min_teacher_gain": 0.5,
    }
    return transfer_ratio(**(given | changes))


def pair(ids=("a",), index=(0,), correct=(True,)):
    other = Samples(problem_ids=("a",), sample_idx=(0,), correct=(True,))
    return restricted_pairing(Samples(problem_ids=ids, sample_idx=index, correct=correct), other)


REFUSED = {
    "mcnemar with unequal lengths": (lambda: mcnemar_exact([1, 0], [1]), "lengths differ"),
    "mcnemar with a score": (lambda: mcnemar_exact([0.5], [1]), "an outcome is 0 or 1"),
    "mcnemar with a null": (lambda: mcnemar_exact([True, None], [True, True]), "missing"),
    "mcnemar with a matrix": (lambda: mcnemar_exact([[True]], [True]), "2 dimensions"),
    "mcnemar with a negative count": (lambda: mcnemar_p(-1, 3), "at least 0"),
    "mcnemar with a float count": (lambda: mcnemar_p(1.0, 3), "integers"),
    "mid-p with a boolean count": (lambda: mcnemar_midp(True, 3), "integers"),
    "bootstrap with unequal lengths": (lambda: boot((0.1,), (0.1, 0.2)), "lengths differ"),
    "bootstrap above 1": (lambda: boot((0.0, 50.0)), r"outside \[0, 1\]"),
    "bootstrap below 0": (lambda: boot((0.0, -0.1)), r"outside \[0, 1\]"),
    "bootstrap with NaN": (lambda: boot((0.0, NAN)), r"baseline\[1\] is nan"),
    "bootstrap with text": (lambda: boot(("a", "b")), "not a number"),
    "bootstrap with a level of 95": (lambda: boot(level=95), "strictly between 0 and 1"),
    "bootstrap with a level of 1": (lambda: boot(level=1.0), "strictly between 0 and 1"),
    "bootstrap with few resamples": (lambda: boot(n_resamples=99), "at least 100"),
    "bootstrap with a negative seed": (lambda: boot(seed=-1), "at least 0"),
    "bootstrap with an unknown p": (lambda: boot(p_variant="bca"), "choose one of plus_one"),
    "bootstrap with a missing stratum": (lambda: boot(strata=["a", None]), r"strata\[1\] is missing"),
    "bootstrap with too few strata": (lambda: boot(strata=["a"]), "lengths differ"),
    "bootstrap with strata of mixed types": (lambda: boot(strata=["a", 1j]), "strings"),
    "bootstrap counts as floats": (lambda: boot((1.0, 2.0), (1, 2), n_samples=4), "not integer"),
    "bootstrap counts above n_samples": (lambda: boot((1, 5), (1, 2), n_samples=4), "at most 4"),
    "bootstrap with no samples": (lambda: boot((0, 0), (0, 0), n_samples=0), "at least 1"),
    "comparisons of different n": (
        lambda: paired_bootstrap_many(
            [
                PairedScores(baseline=[0.0], candidate=[1.0]),
                PairedScores(baseline=[0.0, 1.0], candidate=[1.0, 1.0]),
            ],
            seed=0,
        ),
        "lengths differ",
    ),
    "resampling integers beyond 2^53": (
        lambda: resample_sums(np.full((4, 1), 1 << 52), n_resamples=2, seed=0),
        "beyond exact",
    ),
    "resampling strata that do not add up": (
        lambda: resample_sums(np.zeros((4, 1)), n_resamples=2, seed=0, strata_sizes=(2, 1)),
        "do not make up",
    ),
    "wilson with more successes than trials": (lambda: wilson(3, 2), "number of trials"),
    "clopper-pearson with a float": (lambda: clopper_pearson(1.5, 2), "integers"),
    "wilson with a level of 0": (lambda: wilson(1, 2, level=0.0), "strictly between"),
    "pass@0": (lambda: pass_at_k(8, 1, 0), "at least 1"),
    "pass@k with more correct than samples": (lambda: pass_at_k([8], [9], 1), "n first"),
    "pass@k with floats": (lambda: pass_at_k([8.0], [1.0], 1), "not integer"),
    "pass@k with a float scalar": (lambda: pass_at_k(8, 1.0, 1), "integers"),
    "pass@k with unequal lengths": (lambda: pass_at_k([8, 8], [1], 1), "lengths differ"),
    "mean pass@k with level 2": (lambda: pass_at_k_mean([8], [1], 1, seed=0, level=2), "between 0 and 1"),
    "solved@0": (lambda: solved_at_k([[True]], 0), "at least 1"),
    "solved@k with too few samples": (lambda: solved_at_k([[True, False], [True]], 2), "problem 1 has 1"),
    "solved@k of a narrow matrix": (lambda: solved_at_k(np.zeros((2, 3), dtype=bool), 4), "have 3 samples"),
    "solved@k with a null": (lambda: solved_at_k([[None, True]], 1), "missing"),
    "sign flip with an infinity": (lambda: sign_flip([1.0, float("inf")], seed=0), "missing values first"),
    "sign flip without resamples": (lambda: sign_flip([1], seed=0, n_resamples=0), "at least 1"),
    "t with level 0": (lambda: paired_t([0.1, 0.2], level=0), "strictly between"),
    "tost with margins swapped": (lambda: tost_paired([0.1], margin_low=0.1, margin_high=0.0), "lower one"),
    "tost with alpha .5": (lambda: tost_paired([0.1], margin_low=0, margin_high=1, alpha=0.5), "0.5"),
    "a missing cluster": (lambda: clustered_mean([1.0, 2.0], [1.0, NAN]), r"clusters\[1\] is missing"),
    "a null cluster": (lambda: clustered_mean([1.0, 2.0], ["a", None]), r"clusters\[1\] is missing"),
    "clusters of another length": (lambda: clustered_mean([1.0, 2.0], ["a"]), "lengths differ"),
    "holm with a p above 1": (lambda: holm([0.1, 1.1]), r"outside \[0, 1\]"),
    "BH with a null": (lambda: benjamini_hochberg([0.1, None]), "missing"),
    "auroc with NaN": (lambda: auroc([NAN], [1.0]), r"positive\[0\]"),
    "auroc by length with unequal lengths": (lambda: auroc_length_controlled([1.0], [1], [1, 2]), "differ"),
    "auroc by length with no bins": (
        lambda: auroc_length_controlled([1.0], [1], [1], n_bins=0),
        "at least 1",
    ),
    "power with a gain above d": (
        lambda: mcnemar_power(n_problems=10, discordant=0.1, gain=0.2),
        "larger than the discordant share",
    ),
    "power with d above 1": (lambda: mcnemar_power(n_problems=10, discordant=1.1, gain=0.2), r"\[0, 1\]"),
    "power with alpha 0": (
        lambda: mcnemar_power(n_problems=10, discordant=0.1, gain=0.0, alpha=0),
        "strictly between",
    ),
    "a minimum split at alpha 5": (lambda: minimum_split(10, alpha=5), "strictly between"),
    "mde with a power of 80": (lambda: mcnemar_mde(n_problems=9, discordant=0.1, target_power=80), "between"),
    "mean mde with a negative sd": (lambda: paired_mean_mde(n_problems=9, sd=-1.0), "standard deviation"),
    "fragility beyond n": (lambda: mcnemar_fragility(3, 4, n_problems=6), "exceed 6 problems"),
    "a sample twice": (lambda: pair(("a", "a"), (0, 0), (True, False)), "sample 0 of 'a' twice"),
    "a negative sample index": (lambda: pair(index=(-1,)), "at least 0"),
    "pairing unequal lengths": (lambda: pair(("a", "b")), "lengths differ"),
    "a cap of 0": (lambda: over_cap_sensitivity(["a"], [1], [5], cap_tokens=0), "at least 1"),
    "float tokens": (lambda: over_cap_sensitivity(["a"], [1], [5.5], cap_tokens=1), "not integer"),
    "a ratio without a minimum": (lambda: ratio(min_teacher_gain=0.0), "explode"),
    "a ratio with an unknown guard": (lambda: ratio(required=("luck",)), "unknown guards"),
    "a ratio with bounds swapped": (lambda: ratio(student_interval=(2.0, 1.0)), "comes first"),
    "a step twice": (lambda: first_past([1, 1], [0.1, 0.9]), "step 1 occurs twice"),
    "steps as floats": (lambda: first_past([1.5], [0.1]), "not integer"),
    "steps and values of other lengths": (lambda: longest_stretch([1, 2], [0.1]), "lengths differ"),
    "an infinite length": (lambda: length_runaway([1], [float("inf")]), "infinite"),
    "bootstrap counts of unequal lengths": (lambda: boot((1, 2), (1,), n_samples=4), "baseline has 2"),
    "clusters with a level of 1": (lambda: clustered_mean([1.0, 2.0], ["a", "b"], level=1), "strictly"),
    "clusters as a matrix": (lambda: clustered_mean([1.0], [["a", "b"]]), "one label per element"),
    "t on a matrix": (lambda: paired_t([[0.1, 0.2]]), "one value per problem"),
    "counts as a matrix": (lambda: pass_at_k([[8, 8]], [[1, 2]], 1), "one count per problem"),
    "pass@k with a float n": (lambda: pass_at_k(8.0, 1, 1), "integers"),
    "mean pass@k with few resamples": (
        lambda: pass_at_k_mean([8], [1], 1, seed=0, n_resamples=9),
        "at least 100",
    ),
    "fragility with a float n": (lambda: mcnemar_fragility(1, 2, n_problems=5.0), "integers"),
    "over cap with unequal lengths": (
        lambda: over_cap_sensitivity(["a"], [1], [1, 2], cap_tokens=5),
        "differ",
    ),
    "a minimum split of a float": (lambda: minimum_split(10.0), "integers"),
    "mean mde with a power of 80": (lambda: paired_mean_mde(n_problems=9, sd=1, target_power=80), "between"),
    "mean mde with alpha 5": (lambda: paired_mean_mde(n_problems=9, sd=1, alpha=5), "between"),
    "mean mde with a float n": (lambda: paired_mean_mde(n_problems=9.5, sd=1), "integers"),
    "power with a float n": (lambda: mcnemar_power(n_problems=9.5, discordant=0.1, gain=0.0), "integers"),
    "wilson with a float n": (lambda: wilson(1, 2.0), "integers"),
    "wilson of nothing with a level of 95": (lambda: wilson(0, 0, level=95), "strictly"),
    "sign flip over no denominator": (lambda: sign_flip([1], seed=0, denominator=0), "at least 1"),
    "a runaway without reference": (lambda: length_runaway([1], [1.0], n_reference=0), "at least 1"),
    "a runaway of no steps": (lambda: length_runaway([1], [1.0], n_in_a_row=0), "at least 1"),
    "a runaway of factor 1": (lambda: length_runaway([1], [1.0], factor=1.0), "above 1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_misuse_is_refused_with_a_message(name):
    call, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        call()


def test_no_problem_and_one_problem_have_no_bootstrap_interval():
    empty, one = boot((), ()), boot((0.0,), (1.0,))
    assert (empty.gain, empty.low, empty.high, empty.p_value) == (None, None, None, None)
    assert "no problems" in empty.reason
    assert (one.gain, one.low, one.high, one.p_value) == (1.0, None, None, None)
    assert boot((1.0,), (1.0,)).p_value is None
    assert "at least two" in one.reason


def test_identical_arms_have_no_interval_of_zero_width():
    same = boot((0.25, 0.5, 1.0), (0.25, 0.5, 1.0))
    assert (same.gain, same.low, same.high, same.standard_error) == (0.0, None, None, None)
    assert same.p_value == 1.0
    assert same.sign_flip_p == 1.0
    assert "zero_width" in same.warnings


def test_the_strict_p_of_identical_arms_is_not_estimable_instead_of_zero():
    assert boot((0.5, 1.0), (0.5, 1.0), p_variant="strict").p_value is None


def test_a_constant_gain_has_no_bootstrap_p_but_a_sign_flip_p():
    constant = boot((0.0,) * 5, (0.5,) * 5)
    assert (constant.gain, constant.low, constant.p_value) == (0.5, None, None)
    assert constant.sign_flip_p == 2 / 32
    assert "same difference" in constant.reason
    many = boot((0.0,) * 150, (0.5,) * 150)
    assert (many.warnings, many.sign_flip_p) == (("zero_width", "few_resamples"), 1 / 101)


def test_arms_that_differ_by_float_noise_only_are_identical():
    noisy = boot((0.3, 0.6, 0.7), (0.1 + 0.2, 0.1 + 0.5, 0.1 + 0.6))
    assert (noisy.gain, noisy.low, noisy.n_zero) == (0.0, None, 100)


def test_mcnemar_without_discordant_problems_has_p_one_and_says_why():
    for baseline in ([], [True, False]):
        result = mcnemar_exact(baseline, baseline)
        assert (result.p_value, result.log10_p, result.p_is_bound) == (1.0, 0.0, False)
        assert result.reason
    assert mcnemar_exact([], []).gain is None


def test_pass_at_k_is_null_where_k_exceeds_n_and_the_mean_counts_such_problems():
    values = pass_at_k([8, 4], [0, 4], 8)
    assert values.tolist() == [0.0, None]
    mean = pass_at_k_mean([8, 4], [0, 4], 8, seed=0)
    assert (mean.estimate, mean.low, mean.n_problems_short) == (None, None, 1)
    assert "1 of 2 problems" in mean.reason


def test_mean_pass_at_k_without_problems_or_spread_has_no_interval():
    assert pass_at_k_mean([], [], 1, seed=0).estimate is None
    flat = pass_at_k_mean([8, 8], [2, 2], 1, seed=0)
    assert (flat.estimate, flat.low, flat.high) == (0.25, None, None)
    assert flat.reason


def test_t_and_tost_need_two_problems_and_some_spread():
    for given in ([], [0.5], [0.1, 0.1, 0.1]):
        plain = paired_t(given)
        equivalence = tost_paired(given, margin_low=-1, margin_high=1)
        assert (plain.low, plain.p_value, equivalence.p_value, equivalence.equivalent) == (None,) * 4
        assert plain.reason
        assert equivalence.reason


def test_one_cluster_or_no_spread_between_clusters_has_no_standard_error():
    for values, clusters in (
        ([1.0, 0.0], ["a", "a"]),
        ([1.0, 1.0], ["a", "b"]),
        ([1.0, 0.0, 1.0, 0.0], ["a", "a", "b", "b"]),
        ([], []),
    ):
        found = clustered_mean(values, clusters)
        assert (found.standard_error, found.low, found.high) == (None, None, None)
        assert found.reason


def test_mean_mde_needs_two_problems_and_a_spread():
    assert paired_mean_mde(n_problems=1, sd=0.3).effect is None
    assert paired_mean_mde(n_problems=10, sd=0.0).effect is None


def test_a_length_controlled_auroc_without_a_mixed_group_is_null():
    found = auroc_length_controlled([1.0, 2.0], [False, True], [10, 1000], n_bins=2)
    assert found.auroc is None
    assert "no group" in found.reason
    assert auroc_length_controlled([], [], []).auroc is None


def test_sides_without_a_shared_sample_have_no_gain():
    found = pair(index=(1,))
    assert (found.gain, found.naive_gain, found.dropped_problems) == (None, None, ("a",))
    assert found.reason


def test_an_empty_unit_has_no_over_cap_view():
    found = over_cap_sensitivity([], [], [], cap_tokens=5)
    assert (found.native_mean, found.over_cap_as_wrong_mean, found.kept_only_mean) == (None, None, None)
    assert found.reason


def test_a_gain_that_is_not_estimable_fails_its_guards():
    found = ratio(student_gain=None, student_interval=None)
    assert found.ratio is None
    assert "student_gain_gt_0" in found.reason
    assert ratio(teacher_gain=None, required=()).ratio is None


def test_the_tails_of_a_level_are_the_decimal_ones():
    assert tail_probabilities(0.95) == (0.025, 0.975)
    assert tail_probabilities(0.9) == (0.05, 0.95)


@pytest.mark.parametrize("alpha_bits", [1, 2, 3, 4, 5, 8, 12])
def test_an_alpha_that_is_a_power_of_two_does_not_reject_at_equality(alpha_bits):
    alpha = 2.0**-alpha_bits
    n_discordant = alpha_bits + 1  # 0 : D has p = 2^(1 - D), exactly alpha
    assert mcnemar_p(0, n_discordant) == alpha
    assert minimum_split(n_discordant, alpha=alpha) is None
    assert minimum_split(n_discordant + 1, alpha=alpha) == 0
    assert mcnemar_power(n_problems=n_discordant, discordant=1.0, gain=1.0, alpha=alpha) == 0.0


def test_ten_million_rows_are_counted():
    n = 10_000_000
    first = np.arange(n) % 5 == 0
    second = np.arange(n) % 4 == 0
    result = mcnemar_exact(first, second)
    assert (result.n_lost, result.n_gained) == (1_500_000, 2_000_000)
    assert result.p_is_bound
    assert -25_000 < result.log10_p < -15_000
    values = pass_at_k(8, np.arange(n) % 9, 2)
    assert values.mean() == pytest.approx(pass_at_k(8, np.arange(9), 2).mean(), rel=1e-4)
    clusters = clustered_mean(first.astype(float), np.arange(n) // 1000)
    assert clusters.reason  # every block of 1000 has the same mean
    assert auroc(np.arange(n // 2) % 7, np.arange(n // 2) % 7).auroc == pytest.approx(0.5, abs=1e-6)
