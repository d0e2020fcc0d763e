"""The shared index gives, bit for bit, what the plain index method gives, and flags what it cannot show."""

import hashlib

import numpy as np
import pytest
from scipy import stats

from report.statistics import resampling
from report.statistics import sign_flip as sign_flip_module
from report.statistics.bootstrap import WARNINGS, PairedScores, paired_bootstrap, paired_bootstrap_many
from report.statistics.pass_at_k import pass_at_k, pass_at_k_mean
from report.statistics.resampling import resample_sums, resampling_index
from report.statistics.sign_flip import sign_flip, sign_flip_many


def two_sides(n_problems, n_samples, seed=3):
    generator = np.random.default_rng(seed)
    return generator.integers(0, n_samples + 1, n_problems), generator.integers(0, n_samples + 1, n_problems)


def plain_means(gains, seed, n_resamples):
    index = np.random.default_rng(seed).integers(0, len(gains), (n_resamples, len(gains)))
    return gains[index].mean(axis=1)


@pytest.mark.parametrize(("n_problems", "n_samples"), [(30, 32), (120, 8), (500, 4), (1500, 1)])
def test_resample_means_and_bounds_are_bit_identical_to_the_plain_index_method(n_problems, n_samples):
    baseline, candidate = two_sides(n_problems, n_samples)
    gains = (candidate - baseline) / n_samples
    expected = plain_means(gains, 42, 2_000)
    drawn = resample_sums((candidate - baseline)[:, None], n_resamples=2_000, seed=42)
    assert np.array_equal(expected, drawn.sums[0] / (n_problems * n_samples))
    result = paired_bootstrap(baseline, candidate, n_samples=n_samples, seed=42, n_resamples=2_000)
    assert np.percentile(expected, [2.5, 97.5]).tolist() == [result.low, result.high]


def test_fractions_give_the_same_result_as_counts_where_they_are_exact():
    baseline, candidate = two_sides(200, 8)
    from_counts = paired_bootstrap(baseline, candidate, n_samples=8, seed=5)
    assert from_counts == paired_bootstrap(baseline / 8, candidate / 8, seed=5)


def test_fractions_that_are_not_exact_agree_with_counts_in_ties_and_bounds():
    baseline, candidate = two_sides(60, 10)
    from_counts = paired_bootstrap(baseline, candidate, n_samples=10, seed=5)
    from_floats = paired_bootstrap(baseline / 10, candidate / 10, seed=5)
    assert (from_counts.n_below, from_counts.n_zero) == (from_floats.n_below, from_floats.n_zero)
    assert from_counts.n_zero > 0
    assert from_counts.low == pytest.approx(from_floats.low, abs=1e-15)


def test_float_sums_do_not_depend_on_the_order_of_addition():
    columns = np.random.default_rng(0).normal(size=(300, 3)) ** 3
    together = resample_sums(columns, n_resamples=500, seed=1).sums
    for j in range(3):
        alone = resample_sums(columns[:, j : j + 1], n_resamples=500, seed=1).sums[0]
        assert np.array_equal(together[j], alone)
    index = resampling_index(n_problems=300, n_resamples=500, seed=1)
    assert together[0] == pytest.approx(columns[:, 0][index].sum(axis=1), rel=1e-12)


@pytest.mark.parametrize("chunk", [1, 7, 1 << 10, 1 << 22])
def test_the_size_of_a_chunk_changes_nothing(monkeypatch, chunk):
    columns = np.arange(40)[:, None]
    expected = resample_sums(columns, n_resamples=101, seed=9)
    monkeypatch.setattr(resampling, "_CHUNK_ELEMENTS", chunk)
    found = resample_sums(columns, n_resamples=101, seed=9)
    assert np.array_equal(expected.sums, found.sums)
    assert expected.index_sha256 == found.index_sha256


def test_the_digest_is_that_of_the_whole_index_and_moves_with_every_input():
    index = resampling_index(n_problems=17, n_resamples=300, seed=4)
    expected = hashlib.sha256(index.astype("<i8").tobytes()).hexdigest()
    digests = {
        (n, b, seed): resample_sums(np.ones((n, 1)), n_resamples=b, seed=seed).index_sha256
        for n, b, seed in ((17, 300, 4), (18, 300, 4), (17, 301, 4), (17, 300, 5))
    }
    assert expected == digests[17, 300, 4]
    assert len(set(digests.values())) == 4


def test_integer_sums_are_exact_where_float32_is_not():
    column = np.full((4, 1), (1 << 24) + 1)
    assert set(resample_sums(column, n_resamples=20, seed=0).sums[0].tolist()) == {4.0 * ((1 << 24) + 1)}


def test_many_comparisons_give_what_each_gives_alone():
    pairs = [
        PairedScores(baseline=b, candidate=c, n_samples=8) for b, c in (two_sides(40, 8, s) for s in range(4))
    ]
    pairs.append(PairedScores(baseline=pairs[0].baseline, candidate=pairs[0].baseline, n_samples=8))
    pairs.append(PairedScores(baseline=np.linspace(0, 1, 40) ** 2, candidate=np.linspace(1, 0, 40) ** 3))
    together = paired_bootstrap_many(pairs, seed=11, n_resamples=1_000)
    alone = [
        paired_bootstrap(p.baseline, p.candidate, n_samples=p.n_samples, seed=11, n_resamples=1_000)
        for p in pairs
    ]
    assert list(together) == alone
    assert paired_bootstrap_many([], seed=0) == ()


def test_two_sides_with_unequal_sample_counts_are_put_over_one_denominator():
    baseline, candidate = np.array([3, 32, 10]), np.array([1, 8, 0])
    result = paired_bootstrap(baseline, candidate, n_samples=(32, 8), seed=0)
    assert result == paired_bootstrap(baseline, candidate * 4, n_samples=32, seed=0)
    assert result.gain == pytest.approx((candidate / 8 - baseline / 32).mean())


def test_strata_are_resampled_within_themselves_in_sorted_order():
    baseline, candidate = two_sides(9, 4)
    strata = ["b", "a", "b", "c", "a", "a", "c", "b", "b"]
    result = paired_bootstrap(baseline, candidate, n_samples=4, seed=8, strata=strata, n_resamples=500)
    generator, total = np.random.default_rng(8), np.zeros(500)
    gains = (candidate - baseline) / 4
    for label in ("a", "b", "c"):
        own = gains[[s == label for s in strata]]
        total += own[generator.integers(0, len(own), (500, len(own)))].sum(axis=1)
    assert np.percentile(total / 9, [2.5, 97.5]).tolist() == [result.low, result.high]
    one = paired_bootstrap(baseline, candidate, n_samples=4, seed=8, strata=["x"] * 9, n_resamples=500)
    assert one == paired_bootstrap(baseline, candidate, n_samples=4, seed=8, n_resamples=500)


def test_the_interval_equals_that_of_scipy_on_the_same_stream():
    baseline, candidate = two_sides(120, 8)
    result = paired_bootstrap(baseline, candidate, n_samples=8, seed=42, level=0.9)
    peer = stats.bootstrap(
        (candidate / 8, baseline / 8),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        paired=True,
        vectorized=True,
        method="percentile",
        confidence_level=0.9,
        n_resamples=10_000,
        rng=np.random.default_rng(42),
    )
    assert [result.low, result.high] == pytest.approx(list(peer.confidence_interval), abs=1e-12)
    assert result.standard_error == pytest.approx(peer.standard_error, rel=1e-9)


def test_a_p_that_the_resamples_cannot_show_is_a_bound_in_every_variant():
    gains = np.zeros(200, dtype=int), np.r_[np.ones(150, dtype=int), np.full(50, 2)]
    for variant, floor in (("plus_one", 2 / 10_001), ("nonstrict", 2e-4), ("mid", 2e-4), ("strict", 2e-4)):
        result = paired_bootstrap(*gains, n_samples=2, seed=0, p_variant=variant)
        assert (result.p_value, result.p_at_floor) == (floor, True)


def test_warnings_say_small_n_strict_p_and_few_resamples():
    small = paired_bootstrap(*two_sides(99, 4), n_samples=4, seed=0, p_variant="strict", n_resamples=1_000)
    assert small.warnings == ("small_n", "strict_p", "few_resamples")
    assert small.sign_flip_p is not None
    large = paired_bootstrap(*two_sides(100, 4), n_samples=4, seed=0)
    assert large.warnings == ()
    assert large.sign_flip_p is None
    assert set(WARNINGS) == {"small_n", "zero_width", "strict_p", "few_resamples"}


def test_the_companion_of_a_small_bootstrap_is_the_sign_flip_test_itself():
    baseline, candidate = two_sides(40, 8)
    expected = sign_flip(candidate - baseline, seed=6, denominator=8)
    assert expected.p_value == paired_bootstrap(baseline, candidate, n_samples=8, seed=6).sign_flip_p


def test_drawn_signs_agree_with_the_exact_p_within_their_error(monkeypatch):
    gains = np.random.default_rng(2).integers(-3, 5, 18)
    exact = sign_flip(gains, seed=0)
    monkeypatch.setattr(sign_flip_module, "EXACT_UP_TO", 0)
    drawn = sign_flip(gains, seed=0, n_resamples=40_000)
    assert (exact.method, drawn.method) == ("exact", "monte_carlo_plus_one")
    assert exact.p_value == pytest.approx(drawn.p_value, abs=0.01)  # four standard errors


def test_twenty_differences_are_exact_and_twenty_one_are_drawn():
    assert sign_flip([1] * 20 + [0] * 50, seed=0).p_value == 2.0**-19
    drawn = sign_flip([1] * 21, seed=0, n_resamples=999)
    assert (drawn.p_value, drawn.p_at_floor, drawn.n_resamples) == (1 / 1000, True, 999)


def test_a_drawn_p_counts_ties_with_the_observed_sum():
    tenths = np.array([1, 2, -3, 1, -1, 3, -3, 2, -2, 1] * 3)
    whole = sign_flip(tenths, seed=1)
    as_floats = sign_flip(tenths / 10, seed=1)
    assert whole.p_value == as_floats.p_value


def test_sign_flips_of_many_columns_equal_their_own_calls():
    columns = np.random.default_rng(5).integers(-2, 3, (35, 6))
    columns[:30, 0] = 0
    together = sign_flip_many(columns, seed=3, n_resamples=500)
    assert [sign_flip(columns[:, j], seed=3, n_resamples=500) for j in range(6)] == list(together)


def test_the_problem_level_interval_of_pass_at_k_is_that_of_the_plain_bootstrap():
    correct = np.random.default_rng(1).integers(0, 9, 90)
    result = pass_at_k_mean(8, correct, 2, seed=42)
    values = pass_at_k(8, correct, 2).data
    index = np.random.default_rng(42).integers(0, 90, (10_000, 90))
    expected = np.percentile(values[index].mean(axis=1), [2.5, 97.5])
    assert [result.low, result.high] == pytest.approx(expected.tolist(), abs=1e-14)
    assert result.estimate == pytest.approx(values.mean(), abs=1e-14)
