"""Tests, intervals and rules agree with independent implementations and with what the seeds printed."""

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from report.statistics.auroc import auroc, auroc_length_controlled
from report.statistics.clustered import clustered_mean
from report.statistics.fragility import mcnemar_conclusion, mcnemar_fragility
from report.statistics.mcnemar import mcnemar_exact, mcnemar_log10_p, mcnemar_p
from report.statistics.multiplicity import benjamini_hochberg, holm
from report.statistics.onset import first_past, length_runaway, longest_stretch
from report.statistics.over_cap import over_cap_sensitivity
from report.statistics.p_value import SMALLEST_P
from report.statistics.paired_t import paired_t, tost_paired
from report.statistics.pairing import Samples, restricted_pairing
from report.statistics.pass_at_k import pass_at_k, solved_at_k
from report.statistics.planning import detectable_table, power_table, split_table
from report.statistics.power import mcnemar_mde, mcnemar_power, minimum_split
from report.statistics.proportion import clopper_pearson, wilson, wilson_pooled_samples
from report.statistics.ratio import REGISTERED_GUARDS, excludes_zero, transfer_ratio
from report.statistics.sign_flip import sign_flip

ROOT = Path(__file__).parents[1]

PUBLIC_PAIRS = [  # public per-problem files, see docs/statistics.md
    (21, 1, 1.1e-05),
    (31, 11, 0.00289),
    (26, 10, 0.0113),
    (29, 28, 1),
    (360, 76, 2.9e-45),
    (209, 152, 0.00315),
    (99, 76, 0.096),
    (94, 89, 0.768),
    (476, 147, 2.1e-41),
    (18, 2, 0.000402),
    (10, 3, 0.0923),
    (17, 29, 0.104),
]


@pytest.mark.parametrize(("lost", "gained", "published"), PUBLIC_PAIRS)
def test_mcnemar_gives_the_p_of_public_paired_results(lost, gained, published):
    p_value = mcnemar_p(lost, gained)
    assert published == pytest.approx(p_value, rel=0.05)
    peer = statsmodels_mcnemar([[5, lost], [gained, 7]], exact=True).pvalue
    assert peer == pytest.approx(p_value, rel=1e-10)


def test_the_paired_table_of_mcnemar_adds_up():
    result = mcnemar_exact([1, 1, 1, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0, 0])
    assert (result.n_both, result.n_lost, result.n_gained, result.n_neither) == (1, 2, 1, 3)
    assert result.gain == -1 / 7
    assert (result.reason, result.p_is_bound) == (None, False)


def test_a_p_below_the_smallest_double_is_a_bound_with_its_logarithm():
    result = mcnemar_exact(np.zeros(2_000, dtype=bool), np.ones(2_000, dtype=bool))
    assert (result.p_value, result.p_is_bound) == (SMALLEST_P, True)
    assert result.log10_p == pytest.approx(-601.758961332298, rel=1e-12)
    assert mcnemar_log10_p(3, 5_000) < -1_000


def test_mcnemar_log10_is_smooth_across_the_bound():
    logs = np.array([mcnemar_log10_p(2, gained) for gained in range(980, 1_040)])
    assert logs.min() < -300 < logs.max()
    assert np.diff(logs) == pytest.approx(np.full(59, np.diff(logs).mean()), rel=1e-2)


def brute_fragility(lost, gained, n_problems):
    now = mcnemar_conclusion(lost, gained)
    best = None
    concordant = n_problems - lost - gained
    for more_lost, more_gained in itertools.product(
        range(-lost, concordant + 1), range(-gained, concordant + 1)
    ):
        if max(0, more_lost) + max(0, more_gained) > concordant:
            continue
        after = mcnemar_conclusion(lost + more_lost, gained + more_gained)
        n_flips = abs(more_lost) + abs(more_gained)
        if after != now and (best is None or n_flips < best):
            best = n_flips
    return best


@pytest.mark.parametrize("n_problems", [5, 12, 25])
def test_fragility_is_the_smallest_number_of_flips_over_all_tables(n_problems):
    for lost in range(n_problems + 1):
        for gained in range(n_problems + 1 - lost):
            found = mcnemar_fragility(lost, gained, n_problems=n_problems)
            assert found.n_flips == brute_fragility(lost, gained, n_problems), (lost, gained)
            if found.n_flips is None:
                assert found.reason
            else:
                after = mcnemar_conclusion(found.lost_after, found.gained_after)
                assert after == found.conclusion_after != found.conclusion


def test_the_pilot_gain_of_sixteen_to_one_hangs_on_five_problems():
    found = mcnemar_fragility(1, 16, n_problems=120)
    assert found.conclusion == "improved"
    assert (found.n_flips, found.lost_after, found.gained_after) == (5, 6, 16)
    assert mcnemar_p(5, 16) < 0.05 <= mcnemar_p(6, 16)


@pytest.mark.parametrize("successes", [0, 1, 7, 177, 178])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_proportion_intervals_equal_those_of_statsmodels(successes, level):
    for method, name in ((wilson, "wilson"), (clopper_pearson, "beta")):
        found = method(successes, 178, level)
        expected = proportion_confint(successes, 178, alpha=1 - level, method=name)
        assert [found.low, found.high] == pytest.approx(list(expected), abs=1e-12)
        assert (found.low == 0.0) == (successes == 0)
        assert (found.high == 1.0) == (successes == 178)


def test_pooled_samples_always_carry_their_caution():
    pooled, single = wilson_pooled_samples(300, 960), wilson(300, 960)
    assert (pooled.low, pooled.high) == (single.low, single.high)
    assert "anti-conservative" in pooled.caution
    assert single.caution is None


def test_pass_at_k_counts_subsets():
    for n, c, k in ((5, 2, 3), (7, 1, 4), (6, 6, 2)):
        subsets = list(itertools.combinations(range(n), k))
        share = sum(any(i < c for i in subset) for subset in subsets) / len(subsets)
        assert share == pytest.approx(pass_at_k(n, c, k), abs=1e-15)


def test_pass_at_k_of_very_many_samples_agrees_with_the_hypergeometric():
    expected = 1 - stats.hypergeom.pmf(0, 50_000, 120, 300)
    assert expected == pytest.approx(pass_at_k(50_000, 120, 300), rel=1e-9)


def test_solved_at_k_uses_the_first_k_samples_only():
    rows = [[False, False, True], [True, False], [False, False, False, True]]
    assert solved_at_k(rows, 2).tolist() == [False, True, False]
    matrix = np.array([[0, 0, 1], [1, 0, 0]], dtype=bool)
    assert solved_at_k(matrix, 2).tolist() == solved_at_k(matrix.astype(int), 2).tolist() == [False, True]


def test_the_paired_t_test_equals_that_of_scipy():
    gains = np.random.default_rng(0).normal(0.02, 0.3, 80)
    peer = stats.ttest_1samp(gains, 0.0)
    found = paired_t(gains)
    assert found.t == pytest.approx(peer.statistic, rel=1e-12)
    assert found.p_value == pytest.approx(peer.pvalue, rel=1e-12)
    assert [found.low, found.high] == pytest.approx(list(peer.confidence_interval()), rel=1e-12)
    assert paired_t([0.1, -0.1]).p_value == 1.0


def test_an_interval_that_touches_a_margin_is_not_equivalent():
    gains = np.random.default_rng(4).normal(0, 0.1, 40)
    inside = tost_paired(gains, margin_low=-1, margin_high=1)
    assert inside.equivalent is True
    assert tost_paired(gains, margin_low=inside.low, margin_high=1).equivalent is False
    assert tost_paired(gains, margin_low=-1, margin_high=inside.high).equivalent is False


def test_a_t_p_that_underflows_is_a_bound_with_its_logarithm():
    gains = np.r_[np.full(1_500, 0.5), np.full(1_500, 0.5001)]
    found = paired_t(gains)
    assert (found.p_value, found.p_is_bound) == (SMALLEST_P, True)
    # scipy's own logsf is -inf here; the tail is integrated in units of the density at t instead.
    t, df = found.t, found.df
    at_t = stats.t.logpdf(t, df)
    tail = integrate.quad(lambda u: np.exp(stats.t.logpdf(t + u, df) - at_t), 0, t / 10, epsabs=0)[0]
    assert found.log10_p == pytest.approx((np.log(2 * tail) + at_t) / np.log(10), rel=1e-9)
    near = paired_t(np.r_[np.full(60, 0.5), np.full(60, 0.505)])
    assert near.log10_p == pytest.approx(np.log10(near.p_value))
    assert tost_paired(gains, margin_low=0.0, margin_high=1.0).p_is_bound


def test_equal_clusters_give_the_standard_error_of_cluster_means():
    values = np.random.default_rng(0).normal(size=60)
    clusters = np.repeat(np.arange(12), 5)
    means = values.reshape(12, 5).mean(axis=1)
    found = clustered_mean(values, clusters)
    assert found.standard_error == pytest.approx(means.std(ddof=1) / np.sqrt(12), rel=1e-12)
    assert found.df == 11


def test_adjusted_p_values_equal_those_of_statsmodels_in_any_order():
    p_values = np.random.default_rng(3).uniform(size=25) ** 3
    assert list(holm(p_values)) == pytest.approx(multipletests(p_values, method="holm")[1].tolist())
    assert list(benjamini_hochberg(p_values)) == pytest.approx(
        multipletests(p_values, method="fdr_bh")[1].tolist()
    )
    assert holm([]) == benjamini_hochberg([]) == ()


def test_auroc_equals_the_mann_whitney_statistic():
    generator = np.random.default_rng(0)
    above, below = generator.integers(0, 9, 70), generator.integers(0, 7, 50)
    expected = stats.mannwhitneyu(above, below).statistic / (70 * 50)
    assert expected == pytest.approx(auroc(above, below).auroc, rel=1e-12)


def test_a_score_that_only_follows_length_is_worth_nothing_at_equal_length():
    generator = np.random.default_rng(0)
    length = generator.integers(100, 3_000, 4_000)
    positive = generator.uniform(size=4_000) < 1 / (1 + np.exp((length - 1_500) / 300))
    score = -length + generator.normal(0, 50, 4_000)
    plain = auroc(score[positive], score[~positive]).auroc
    controlled = auroc_length_controlled(score, positive, length, n_bins=200)
    assert plain > 0.9
    assert controlled.auroc == pytest.approx(0.5, abs=0.05)
    one_group = auroc_length_controlled(score, positive, length, n_bins=1)
    assert one_group.auroc == plain


def test_samples_of_equal_length_share_a_group():
    found = auroc_length_controlled([1.0, 2.0, 3.0, 4.0], [0, 1, 0, 1], [7, 7, 7, 7], n_bins=4)
    assert (found.auroc, found.n_pairs) == (0.75, 4)


def test_the_planning_tables_print_both_tables_of_seed_000():
    splits = dict(split_table().rows)
    assert splits == {"10": "1:9", "20": "5:15", "30": "9:21", "40": "13:27", "60": "21:39"}
    table = power_table(n_problems=244)
    assert table.header == ("discordant fraction d", "delta = +2 pp", "+4 pp", "+6 pp", "+8 pp")
    assert table.rows == (
        ("0.10", "0.12", "0.43", "0.82", "0.99"),
        ("0.15", "0.09", "0.30", "0.63", "0.89"),
        ("0.20", "0.08", "0.24", "0.51", "0.78"),
    )


def test_the_detectable_gain_at_fifteen_percent_discordant_is_below_the_printed_eight_points():
    assert detectable_table(n_problems=244).rows == (
        ("0.10", "5.85 pp"),
        ("0.15", "7.17 pp"),
        ("0.20", "8.23 pp"),
    )
    assert detectable_table(n_problems=30, discordant=[0.1]).rows == (("0.10", "none"),)
    assert split_table([5]).rows == (("5", "none"),)
    assert power_table(n_problems=30, discordant=[0.05], gains=[0.02, 0.08]).rows[0][2] == "-"


def test_power_equals_the_enumeration_of_the_trinomial():
    n, d, gain = 25, 0.4, 0.25
    expected = 0.0
    for gained in range(n + 1):
        for lost in range(n + 1 - gained):
            if gained > lost and mcnemar_p(lost, gained) < 0.05:
                cells = [gained, lost, n - gained - lost]
                expected += stats.multinomial.pmf(cells, n, [(d + gain) / 2, (d - gain) / 2, 1 - d])
    assert expected == pytest.approx(mcnemar_power(n_problems=n, discordant=d, gain=gain), rel=1e-10)


def test_power_at_the_minimum_detectable_effect_is_the_target():
    found = mcnemar_mde(n_problems=5_000, discordant=0.2, target_power=0.9)
    power = mcnemar_power(n_problems=5_000, discordant=0.2, gain=found.effect)
    assert power == pytest.approx(0.9, abs=1e-9)
    assert mcnemar_power(n_problems=5_000, discordant=0.2, gain=found.effect * 0.999) < 0.9


def test_power_without_problems_or_differences_is_zero():
    assert mcnemar_power(n_problems=0, discordant=0.5, gain=0.1) == 0.0
    assert mcnemar_power(n_problems=100, discordant=0.0, gain=0.0) == 0.0


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.3, 2.0**-5])
def test_the_minimum_split_is_the_last_that_rejects(alpha):
    for n_discordant in [*range(60), 500, 3_001]:
        smaller = minimum_split(n_discordant, alpha=alpha)
        if smaller is not None:
            assert mcnemar_p(smaller, n_discordant - smaller) < alpha
        following = 0 if smaller is None else smaller + 1
        if 2 * following < n_discordant:
            assert mcnemar_p(following, n_discordant - following) >= alpha


def test_a_bound_of_exactly_zero_does_not_exclude_zero():
    assert not excludes_zero(0.0, 3.0)
    assert not excludes_zero(-3.0, 0.0)
    assert not excludes_zero(None, None)
    assert excludes_zero(0.1, 3.0)
    assert excludes_zero(-3.0, -0.1)


def test_the_four_registered_guards_of_seed_002_let_a_null_student_gain_through():
    given = {
        "student_gain": 1.667,
        "student_interval": (-3.33, 5.73),
        "teacher_gain": 21.146,
        "teacher_interval": (10.208, 33.333),
        "min_teacher_gain": 1.0,
    }
    assert transfer_ratio(**given, required=REGISTERED_GUARDS).ratio == pytest.approx(0.079, abs=5e-4)
    fifth = transfer_ratio(**given)
    assert fifth.ratio is None
    assert "student_ci_excludes_0" in fifth.reason


def test_the_longest_stretch_ignores_missing_steps_and_reports_them():
    steps = [*range(58, 90), 95, 96]
    values = [0.4] * 5 + [0.95] * 27 + [0.99, None]
    found = longest_stretch(steps, values)
    assert (found.first_step, found.last_step, found.n_steps) == (63, 95, 28)
    assert found.missing_steps == (96,)
    assert longest_stretch([1, 2, 3, 4, 5], [1, 0, 1, 0, 0]).first_step == 1
    nothing = longest_stretch([1, 2], [0.9, 0.9])
    assert (nothing.first_step, nothing.n_steps) == (None, 0)
    assert nothing.reason


def test_a_runaway_needs_several_steps_in_a_row():
    steps = list(range(1, 13))
    lengths = [400, 410, 390, 405, 400, 900, 420, 820, 830, None, 840, 2_000]
    found = length_runaway(steps, lengths)
    assert (found.step, found.value, found.missing_steps) == (8, 820.0, (10,))
    assert length_runaway(steps, [400.0] * 12).step is None
    assert "fewer than" in length_runaway([1, 2], [400, 900]).reason
    assert first_past([], []).reason == "no recorded steps"


def test_restricted_pairing_does_not_depend_on_the_order_of_rows():
    generator = np.random.default_rng(0)
    ids = np.repeat([f"p{i}" for i in range(20)], 8)
    index = np.tile(np.arange(8), 20)
    correct = generator.uniform(size=160) < 0.4
    keep = generator.uniform(size=160) < 0.7
    shuffled = generator.permutation(160)
    candidate = Samples(problem_ids=ids[keep], sample_idx=index[keep], correct=correct[::-1][keep])
    one = restricted_pairing(Samples(problem_ids=ids, sample_idx=index, correct=correct), candidate)
    mixed = Samples(problem_ids=ids[shuffled], sample_idx=index[shuffled], correct=correct[shuffled])
    two = restricted_pairing(mixed, candidate)
    assert one.problem_ids == two.problem_ids == tuple(sorted(one.problem_ids))
    assert one.baseline_correct.tolist() == two.baseline_correct.tolist()
    assert one.n_samples_unused == 160 - int(keep.sum())
    assert (one.gain, one.naive_gain) == (two.gain, two.naive_gain)


def test_a_sample_of_exactly_the_cap_is_kept():
    found = over_cap_sensitivity(["p", "p"], [1, 1], [3_200, 3_201], cap_tokens=3_200)
    assert (found.over_cap_as_wrong_mean, found.kept_only_mean, found.n_samples_over_cap) == (0.5, 1.0, 1)
    gone = over_cap_sensitivity(["p"], [1], [9], cap_tokens=3)
    assert (gone.kept_only_mean, gone.dropped_problems) == (None, ("p",))


def test_on_yes_no_data_the_sign_flip_test_is_exact_mcnemar():
    for lost, gained in ((1, 9), (0, 6), (7, 12)):
        flipped = sign_flip([-1] * lost + [1] * gained + [0] * 30, seed=0)
        assert mcnemar_p(lost, gained) == pytest.approx(flipped.p_value, abs=1e-15)


def test_the_statistics_import_only_the_standard_library_numpy_and_scipy():
    names = [p.stem for p in (ROOT / "report" / "statistics").glob("*.py") if p.stem != "__init__"]
    code = "import sys; before = set(sys.modules)\n"
    code += "".join(f"import report.statistics.{name}\n" for name in names)
    code += "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before}))\nprint('scipy.stats' in sys.modules)"
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    loaded, has_stats = out.splitlines()
    foreign = {n for n in loaded.split() if n not in sys.stdlib_module_names and not n.startswith("_")}
    assert foreign <= {"numpy", "scipy", "report", "cython_runtime", "numpy_distutils"}
    assert has_stats == "False"
