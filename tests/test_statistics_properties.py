"""What must hold for every input: order, mirroring, containment, monotony, equality of the two methods."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from report.statistics.bootstrap import paired_bootstrap
from report.statistics.clustered import clustered_mean
from report.statistics.mcnemar import mcnemar_exact, mcnemar_log10_p, mcnemar_midp, mcnemar_p
from report.statistics.multiplicity import benjamini_hochberg, holm
from report.statistics.paired_t import paired_t
from report.statistics.pass_at_k import pass_at_k
from report.statistics.power import mcnemar_power
from report.statistics.proportion import clopper_pearson, wilson
from report.statistics.resampling import resample_sums, resampling_index
from report.statistics.sign_flip import sign_flip

calm = settings(deadline=None, max_examples=60)
counts_of_eight = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=2, max_size=40)
yes_no_pairs = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60)
probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@calm
@given(counts_of_eight, st.integers(0, 2**32))
def test_swapping_the_arms_mirrors_the_bootstrap(pairs, seed):
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    there = paired_bootstrap(first, second, n_samples=8, seed=seed, n_resamples=400)
    back = paired_bootstrap(second, first, n_samples=8, seed=seed, n_resamples=400)
    assert there.gain == -back.gain
    assert (there.n_below, there.n_zero) == (back.n_above, back.n_zero)
    assert there.p_value == back.p_value
    assert there.sign_flip_p == back.sign_flip_p
    if there.low is not None:
        assert np.isclose(there.low, -back.high, rtol=0, atol=1e-12)


@calm
@given(counts_of_eight, st.integers(0, 2**32))
def test_the_bootstrap_interval_contains_the_gain_and_keeps_its_order(pairs, seed):
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    result = paired_bootstrap(first, second, n_samples=8, seed=seed, n_resamples=2_000)
    if result.low is None:
        assert result.reason
    else:
        assert result.low <= result.gain <= result.high
        assert result.low < result.high
    assert result.p_value is None or 0 < result.p_value <= 1


@calm
@given(
    st.lists(st.lists(st.integers(-50, 50), min_size=3, max_size=3), min_size=1, max_size=60),
    st.integers(0, 2**32),
)
def test_the_matrix_product_equals_the_index_method(rows, seed):
    columns = np.array(rows)
    drawn = resample_sums(columns, n_resamples=50, seed=seed)
    index = resampling_index(n_problems=len(columns), n_resamples=50, seed=seed)
    assert np.array_equal(drawn.sums.T, columns[index].sum(axis=1))


@calm
@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_p_is_symmetric_a_probability_and_above_mid_p(lost, gained):
    p_value = mcnemar_p(lost, gained)
    assert p_value == mcnemar_p(gained, lost)
    assert 0 < mcnemar_midp(lost, gained) <= p_value <= 1
    assert np.isclose(10 ** mcnemar_log10_p(lost, gained), p_value)


@calm
@given(st.integers(0, 100), st.integers(1, 200))
def test_mcnemar_p_falls_as_the_split_gets_more_uneven(lost, extra):
    gained = lost + extra
    assert mcnemar_p(lost, gained + 1) <= mcnemar_p(lost, gained)


@calm
@given(yes_no_pairs, st.randoms())
def test_the_order_of_problems_never_matters_to_mcnemar(pairs, random):
    shuffled = random.sample(pairs, len(pairs))
    sides = [[p[0] for p in pairs], [p[1] for p in pairs]]
    mixed = [[p[0] for p in shuffled], [p[1] for p in shuffled]]
    result, swapped = mcnemar_exact(*sides), mcnemar_exact(*sides[::-1])
    assert result == mcnemar_exact(*mixed)
    assert (result.n_lost, result.n_gained) == (swapped.n_gained, swapped.n_lost)
    assert result.n_problems == result.n_both + result.n_neither + result.n_lost + result.n_gained


@calm
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=14), st.randoms())
def test_the_exact_sign_flip_p_ignores_order_sign_and_zeros(gains, random):
    p_value = sign_flip(gains, seed=0).p_value
    assert p_value == sign_flip(random.sample(gains, len(gains)), seed=1).p_value
    assert p_value == sign_flip([-d for d in gains], seed=0).p_value
    assert p_value == sign_flip([*gains, 0, 0], seed=0).p_value
    assert 2.0 ** -len(gains) <= p_value <= 1


@calm
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30), st.randoms())
def test_order_does_not_matter_to_t_and_its_interval_contains_the_gain(gains, random):
    result = paired_t(gains)
    mixed = paired_t(random.sample(gains, len(gains)))
    assert result.gain == mixed.gain
    if result.reason is None:
        assert result.low < result.gain < result.high
        assert np.isclose(result.p_value, mixed.p_value)
        mirrored = paired_t([-d for d in gains])
        assert np.isclose(result.low, -mirrored.high)


@calm
@given(probabilities)
def test_holm_is_monotone_and_never_below_benjamini_hochberg_or_p(p_values):
    by_holm, by_bh = holm(p_values), benjamini_hochberg(p_values)
    for p, strict, loose in zip(p_values, by_holm, by_bh, strict=True):
        assert p <= loose * (1 + 1e-12)
        assert loose <= strict * (1 + 1e-12) <= 1 + 1e-12
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(np.array(by_holm)[order]) >= 0).all()
    assert (np.diff(np.array(by_bh)[order]) >= 0).all()


@calm
@given(probabilities, st.randoms())
def test_the_order_of_a_family_never_matters(p_values, random):
    places = random.sample(range(len(p_values)), len(p_values))
    mixed = holm([p_values[i] for i in places])
    assert [holm(p_values)[i] for i in places] == list(mixed)


@calm
@given(st.integers(0, 400), st.integers(1, 400), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_proportion_intervals_contain_the_share_mirror_and_nest(successes, extra, level):
    n = successes + extra
    for method in (wilson, clopper_pearson):
        found, mirrored = method(successes, n, level), method(extra, n, level)
        assert 0 <= found.low <= successes / n <= found.high <= 1
        assert np.isclose(found.low, 1 - mirrored.high, atol=1e-12)
        wider = method(successes, n, 0.9999)
        assert wider.low <= found.low
        assert found.high <= wider.high


@calm
@given(st.integers(1, 60), st.data())
def test_pass_at_k_grows_with_k_and_with_c_and_is_null_beyond_n(n, data):
    c = data.draw(st.integers(0, n))
    values = [pass_at_k(n, c, k) for k in range(1, n + 1)]
    assert values == sorted(values)
    assert values[0] == c / n
    assert values[-1] == float(c > 0)
    assert pass_at_k(n, c, n + 1) is None
    if c < n:
        assert pass_at_k(n, c + 1, 1) > pass_at_k(n, c, 1)


@calm
@given(st.integers(5, 400), st.floats(0.05, 0.9), st.floats(0, 1))
def test_power_grows_with_the_gain_and_lies_between_its_two_countings(n, discordant, share):
    gain = share * discordant
    given_plan = {"n_problems": n, "discordant": discordant}
    higher = mcnemar_power(**given_plan, gain=gain)
    assert mcnemar_power(**given_plan, gain=gain / 2) <= higher + 1e-12
    assert higher <= mcnemar_power(**given_plan, gain=gain, counting="either_direction") <= 1


@calm
@given(st.integers(30, 400), st.floats(0.1, 0.5), st.floats(0.3, 1))
def test_power_grows_with_the_number_of_problems(n, discordant, share):
    # One more problem can lower an exact test's power a little (its size jumps); half as many again does not.
    small = mcnemar_power(n_problems=n, discordant=discordant, gain=share * discordant)
    large = mcnemar_power(n_problems=n + n // 2, discordant=discordant, gain=share * discordant)
    assert small <= large + 1e-9


@calm
@given(st.lists(st.tuples(st.floats(-1, 1), st.integers(0, 5)), min_size=2, max_size=40), st.randoms())
def test_the_order_of_values_and_the_names_of_clusters_never_matter(rows, random):
    one = clustered_mean([v for v, _ in rows], [c for _, c in rows])
    mixed = random.sample(rows, len(rows))
    two = clustered_mean([v for v, _ in mixed], [f"cluster {9 - c}" for _, c in mixed])
    assert (one.mean, one.n_clusters, one.reason) == (two.mean, two.n_clusters, two.reason)
    if one.standard_error is not None:
        assert np.isclose(one.standard_error, two.standard_error)
        assert one.standard_error_uncorrected < one.standard_error
        assert one.low < one.mean < one.high
