"""The normalized distance and its intervals: what must not change, known answers, and inputs at the edge."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import densdiff as dd
from densdiff.data.pair import check_pair
from densdiff.errors import DensDiffWarning
from densdiff.solvers import drawn_rows, overlap
from densdiff.solvers.prepared import prepare


def distance(x, y, weights_x=None, weights_y=None, level=0.95, seed=0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DensDiffWarning)
        data = prepare(check_pair(x, y, weights_x, weights_y), standardize=True, folds=5, random_state=seed)
    return overlap.normalized_distance(data, level), data.scaling.log_volume


def numbers(answer):
    """Everything that is scale free, and the logarithm of the unit of the squared distance in the user's units."""
    found, log_volume = answer
    scale_free = [found.value, *found.ends, found.error, found.squared_value, *found.squared_ends, found.resolution]
    return np.array(scale_free), found.log_unit - log_volume


def assert_same(one, other, log_volume=0.0):
    (free, unit), (other_free, other_unit) = numbers(one), numbers(other)
    np.testing.assert_allclose(other_free, free, rtol=1e-8, atol=1e-9)
    assert other_unit == pytest.approx(unit - log_volume, abs=1e-8)
    assert other[0].metric == one[0].metric


def two_samples(seed, n, m, d, kind="normal"):
    random = np.random.default_rng([seed, n, m, d])
    x, y = random.normal(size=(n, d)), 0.8 * random.normal(size=(m, d)) + 0.6
    if kind == "correlated":
        x[:, -1] += 3 * x[:, 0]
        y[:, -1] += 3 * y[:, 0]
    if kind == "rounded":
        x, y = np.round(2 * x), np.round(2 * y)
    if kind == "outliers":
        x[0], y[0] = 1e6, -1e6
    return x, y


CASES = st.tuples(
    st.integers(0, 1000),
    st.sampled_from([10, 11, 35, 120]),
    st.sampled_from([10, 27, 90]),
    st.sampled_from([1, 2, 4]),
    st.sampled_from(["normal", "correlated", "rounded", "outliers"]),
)


@given(CASES)
def test_swapping_the_samples_changes_nothing(case):
    x, y = two_samples(*case)
    assert_same(distance(x, y), distance(y, x))


@given(case=CASES, factors=st.lists(st.sampled_from([-3.0, 0.37, 1e6, 1e-9, 1e150]), min_size=4, max_size=4))
def test_units_of_columns_change_the_squared_distance_by_their_volume_alone(case, factors):
    x, y = two_samples(*case)
    factors = np.array(factors[: x.shape[1]])
    one, other = distance(x, y), distance(x * factors, y * factors)
    assert_same(one, other, np.log(np.abs(factors)).sum())


@given(case=CASES, seed=st.integers(0, 100))
def test_the_order_of_rows_changes_nothing_in_one_column(case, seed):
    x, y = (rows[:, :1] for rows in two_samples(*case))
    random = np.random.default_rng(seed)
    assert_same(distance(x, y), distance(random.permutation(x), random.permutation(y)))


@pytest.mark.parametrize("seed", range(12))
def test_an_estimate_below_0_has_an_interval_of_some_length(seed):
    x, y = np.random.default_rng(seed).lognormal(size=(2, 500, 1))
    found, _ = distance(x, y)
    assert found.ends[1] > 1e-4
    assert found.squared_ends[1] > 1e-4


def test_ranks_are_in_the_groups_of_both_samples_independently():
    x, y = two_samples(1, 2000, 2000, 1)
    data = prepare(check_pair(x, y), standardize=True, folds=5, random_state=0)
    rows = drawn_rows.rows_of(data)
    of_x, of_y = (rows.groups[part][np.argsort(rows.numbers[part, 0])] for part in (slice(2000), slice(2000, None)))
    shared = np.mean(of_x == of_y - rows.n_groups)
    assert shared == pytest.approx(1 / rows.n_groups, abs=4 * np.sqrt(0.05 * 0.95 / 2000))
    assert np.bincount(rows.groups).tolist() == [100] * 40


def test_the_error_is_right_on_average_over_tables_for_every_seed():
    # with one deal of the ranks for all tables of a size, seed 0 had a third more than seed 1
    tables = [np.random.default_rng(k).gamma(4.0, size=(2, 400, 1)) * [[[1.0]], [[1.3]]] for k in range(40)]
    errors = [np.mean([distance(x, y, seed=seed)[0].error for x, y in tables]) for seed in range(4)]
    assert max(errors) <= 1.15 * min(errors)  # errors of 20 groups differ by a sixth, means of 40 by 3 %


@given(case=CASES)
def test_the_order_of_columns_changes_nothing(case):
    x, y = two_samples(*case)
    assert_same(distance(x, y), distance(x[:, ::-1], y[:, ::-1]))


@given(seed=st.integers(0, 1000), levels=st.sampled_from([2, 3, 20]), d=st.integers(0, 2))
def test_names_of_levels_change_nothing(seed, levels, d):
    random = np.random.default_rng([seed, levels, d])
    codes = random.integers(0, levels, 150), np.minimum(random.integers(0, levels, 110), levels - 2 + (levels == 2))
    columns = [random.normal(size=(150, d)), random.normal(size=(110, d))]
    names = random.permutation(levels)

    def table(code, rows, labels):
        frame = pd.DataFrame(rows, columns=[f"number {j}" for j in range(d)])
        frame["level"] = [f"level {labels[k]}" for k in code]
        return frame

    tables = [
        [table(code, rows, labels) for code, rows in zip(codes, columns, strict=True)]
        for labels in (np.arange(levels), names)
    ]
    assert_same(distance(*tables[0]), distance(*tables[1]))


@settings(max_examples=5)
@given(seed=st.integers(0, 1000))
def test_an_equal_independent_column_hardly_changes_the_normalized_distance(seed):
    random = np.random.default_rng(seed)
    x, y = random.normal(size=(800, 1)), random.normal(size=(800, 1)) + 1.0
    more = [np.hstack([rows, random.normal(size=(800, 1))]) for rows in (x, y)]
    (one, _), (other, _) = distance(x, y), distance(*more)
    true = 1 - np.exp(-0.25)
    assert one.ends[0] < other.value < one.ends[1] or other.ends[0] < one.value < other.ends[1]
    assert one.value == pytest.approx(true, abs=0.09)  # an error of 0.02, and what the blur hides
    assert other.value == pytest.approx(true, abs=0.12)


@given(CASES)
def test_a_sample_and_itself_are_at_distance_0(case):
    x, _ = two_samples(*case)
    found, _ = distance(x, x)
    assert found.value == found.squared_value == 0.0
    assert found.ends[0] == found.squared_ends[0] == 0.0


@given(case=CASES)
def test_densities_without_overlap_are_at_distance_1(case):
    x, y = two_samples(*case[:4])
    found, _ = distance(x, y + 1e3)
    assert found.value == pytest.approx(1.0, abs=1e-9)
    assert found.ends[0] == pytest.approx(1.0 - 3.0 / min(case[1:3]), abs=1e-9)
    assert found.ends[1] == 1.0
    assert found.squared_ends[0] > 0.0


@given(case=CASES, level=st.sampled_from([0.5, 0.95, 0.999]))
def test_intervals_hold_their_value_and_widen_with_the_level(case, level):
    x, y = two_samples(*case)
    found, wider = distance(x, y, level=level)[0], distance(x, y, level=level + 0.5 * (1 - level))[0]
    assert 0.0 <= found.ends[0] <= found.value <= found.ends[1] <= 1.0
    assert 0.0 <= found.squared_ends[0] <= found.squared_value + 1e-12
    assert found.squared_value <= max(found.squared_ends[1], 0.0) + 1e-12
    if wider.resolution == found.resolution:
        assert wider.ends[0] <= found.ends[0] + 1e-12
        assert wider.ends[1] >= found.ends[1] - 1e-12


@pytest.mark.parametrize("d", [1, 3])
def test_blocks_and_dask_agree_with_the_array(d):
    da = pytest.importorskip("dask.array")
    x, y = two_samples(3, 300, 250, d)
    expected = dd.l2_distance(x, y, random_state=0)
    blocks = [[rows[i : i + 70] for i in range(0, len(rows), 70)] for rows in (x, y)]
    lazy = [da.from_array(rows, chunks=(90, d)) for rows in (x, y)]
    for samples in (blocks, lazy):
        found = dd.l2_distance(*samples, random_state=0)
        assert found.normalized == pytest.approx(expected.normalized, abs=1e-9)
        np.testing.assert_allclose(found.normalized_interval, expected.normalized_interval, atol=1e-9)
        np.testing.assert_allclose(found.interval, expected.interval, rtol=1e-8, atol=1e-9)


def test_weights_of_any_unit_are_the_same_weights():
    x, y = two_samples(5, 60, 45, 2)
    weights = np.random.default_rng(0).random(60) + 0.5
    assert_same(distance(x, y, weights), distance(x, y, 1e-200 * weights, np.full(45, 1e200)))
    assert_same(distance(x, y), distance(x, y, np.ones(60), np.ones(45)))


@pytest.mark.parametrize("n", [2, 3, 9])
@pytest.mark.parametrize("d", [1, 2, 6])
def test_fewer_than_ten_rows_tell_no_interval(n, d):
    x, y = two_samples(1, n, 50, d)
    found, _ = distance(x, y)
    assert found.ends == (0.0, 1.0)
    assert found.squared_ends == (0.0, np.inf)
    assert found.error == np.inf
    assert 0.0 <= found.value <= 1.0
    assert_same((found, 0.0), (distance(y, x)[0], 0.0))


def test_the_squared_distance_of_few_rows_is_in_units_of_a_density():
    """The normalized distance times |p|^2 + |q|^2, which a blur makes smaller: less than 1 a width each."""
    x, y = two_samples(2, 8, 8, 1)
    found, log_volume = distance(x, y + 100.0)
    width = 2.0 * np.sqrt(np.pi) * min(x.std(), y.std())
    assert found.value == pytest.approx(1.0, abs=1e-9)
    assert 0.0 < np.exp(found.log_unit - log_volume) < 2.0 / width


def test_ten_rows_of_equal_weight_tell_an_interval():
    found, _ = distance(*two_samples(1, 10, 10, 1))
    assert np.isfinite(found.error)
    assert found.squared_ends[1] < np.inf


def heavy(n, count, share):
    """Weights of which ``count`` rows have nearly all."""
    weights = np.full(n, share)
    weights[:count] = 1.0
    return weights


@pytest.mark.parametrize("share", [0.0, 1e-9, 1e-3])
@pytest.mark.parametrize("count", [2, 12])
@pytest.mark.parametrize("d", [1, 2])
def test_weights_nearly_all_on_few_rows_count_as_few_rows(share, count, d):
    x, y = two_samples(4, 80, 40, d)
    found, _ = distance(x, y, heavy(80, count, share))
    assert np.isfinite([found.value, *found.ends, found.squared_value, found.log_unit]).all()
    assert (found.error == np.inf) == (count == 2)


def hostile_pairs():
    random = np.random.default_rng(9)
    normal, two = random.normal, (lambda n, d: random.integers(0, 2, (n, d)).astype(float))
    names = np.array([f"level {k}" for k in range(3000)])
    yield "constant column", np.c_[normal(size=30), np.ones(30)], np.c_[normal(size=40), np.ones(40)]
    yield "nothing varies", np.ones((30, 2)), np.ones((40, 2))
    yield "constant within samples", np.c_[np.ones(30), normal(size=30)], np.c_[2 * np.ones(40), normal(size=40)]
    yield "one sample constant", np.ones((30, 2)), normal(size=(40, 2))
    yield "two values", two(30, 1), two(40, 1)
    yield "two values in columns", two(30, 3), two(40, 3)
    yield "one other value", np.eye(40)[:, :1], np.eye(30)[:, :1]
    yield "collinear", np.repeat(normal(size=(50, 1)), 3, axis=1), np.repeat(normal(size=(50, 1)), 3, axis=1) + 1
    for d in (1, 2, 3, 40):
        wide = 1e6 * normal(size=(30, d))
        wide[0] = 0.0
        yield f"one sample far wider, {d} columns", wide, normal(size=(40, d))
    for scale in (1e200, 1e-200, 1e-308):
        yield f"scale {scale}", scale * normal(size=(30, 2)), scale * normal(size=(40, 2))
        mixed = np.array([scale, 1.0])
        yield f"scales 1 and {scale}", mixed * normal(size=(30, 2)), mixed * normal(size=(40, 2))
        far = normal(size=(30, 2))
        far[0] = scale
        yield f"a value of {scale}", far, normal(size=(40, 2))
    levels = [
        pd.DataFrame({"a": names[random.integers(0, 3, n)], "b": names[random.integers(0, 2, n)]}) for n in (50, 60)
    ]
    yield "categories alone", *levels
    many = [pd.DataFrame({"a": names[random.integers(0, 3000, 4000)], "b": normal(size=4000)}) for _ in range(2)]
    yield "thousands of levels", *many
    yield "other levels", *(pd.DataFrame({"a": names[k + random.integers(0, 3, 50)]}) for k in (0, 3))


@pytest.mark.parametrize(("x", "y"), [pytest.param(x, y, id=name) for name, x, y in hostile_pairs()])
def test_inputs_at_the_edge_give_numbers_and_no_warning(x, y):
    found, log_volume = distance(x, y)
    assert np.isfinite([found.value, *found.ends, found.squared_value, found.squared_ends[0], found.log_unit]).all()
    assert not np.isnan([found.error, found.squared_ends[1], log_volume]).any()
    assert 0.0 <= found.ends[0] <= found.value <= found.ends[1] <= 1.0


def test_one_sample_far_wider_is_another_density():
    random = np.random.default_rng(0)
    for d in (1, 3):
        wide = 1e6 * random.normal(size=(60, d))
        wide[0] = 0.0
        assert distance(wide, random.normal(size=(60, d)))[0].value == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("mu", [0.3, 1.0])
def test_the_standard_error_is_the_deviation_over_samples(mu):
    """Of 100 samples a deviation is known to 7 %; a jackknife of 20 groups to 16 % each, its mean over samples to 2."""
    random = np.random.default_rng(7)
    values, errors = [], []
    for _ in range(100):
        found, log_volume = distance(random.normal(size=(300, 1)), random.normal(size=(300, 1)) + mu)
        unit = np.exp(found.log_unit - log_volume)
        values.append(found.squared_value * unit)
        errors.append(found.error * unit)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(values, ddof=1), rel=0.35)


@pytest.mark.parametrize("step", [1.0, 0.37])
def test_numbers_on_a_lattice_are_compared_by_their_shares(step):
    """A column of two values is no density: as narrow a kernel as sees equal ones only tells how far shares differ."""
    random = np.random.default_rng(8)
    x, y = (step * (random.random((3000, 1)) < share) for share in (0.3, 0.7))
    p, q = (np.array([1 - (rows > 0).mean(), (rows > 0).mean()]) for rows in (x, y))
    found, log_volume = distance(x, y)
    expected = np.square(p - q).sum()
    # pairs i = i are not counted: 1 / 3,000; equal values on a grid of kernels count 1.005 times
    assert found.value == pytest.approx(expected / (p @ p + q @ q), abs=0.01)
    assert found.squared_value * np.exp(found.log_unit - log_volume) == pytest.approx(expected / step, rel=0.05)


def test_two_values_that_never_meet_are_at_distance_1():
    found, log_volume = distance(np.zeros(40), np.ones(30))
    assert found.value == pytest.approx(1.0, abs=1e-8)  # of a Gaussian kernel between nodes that far away
    assert found.squared_value * np.exp(found.log_unit - log_volume) == pytest.approx(2.0, rel=0.05)


def test_columns_of_two_values_together_are_compared_by_their_shares():
    random = np.random.default_rng(9)
    x, y = ((random.random((1000, 3)) < share).astype(float) for share in (0.3, 0.7))
    p, q = (np.bincount(rows.astype(int) @ [1, 2, 4], minlength=8) / 1000 for rows in (x, y))
    found, log_volume = distance(x, y)
    expected = np.square(p - q).sum()
    # shares of 1,000 rows
    assert found.value == pytest.approx(expected / (p @ p + q @ q), abs=0.05)
    assert found.squared_value * np.exp(found.log_unit - log_volume) == pytest.approx(expected, rel=0.15)


def test_large_samples_are_drawn_from_by_number(monkeypatch):
    monkeypatch.setattr(drawn_rows, "OVERLAP_ROWS", 500)
    x, y = two_samples(6, 3000, 400, 1)
    data = prepare(check_pair(x, y), standardize=True, folds=5, random_state=0)
    rows = drawn_rows.rows_of(data)
    assert np.bincount(rows.groups // rows.n_groups).tolist() == [500, 400]
    found = overlap.normalized_distance(data, 0.95)
    true = 1 - 2 * np.exp(-0.18 / 1.64) / np.sqrt(1.64) / (1 / np.sqrt(2) + 1 / np.sqrt(1.28)) * 1.0
    assert found.ends[0] <= true <= found.ends[1]


@given(start=st.integers(0, 3), more=st.integers(1, 4), seed=st.integers(0, 100))
def test_rows_between_two_numbers_are_those_of_each_group(start, more, seed):
    x, y = two_samples(seed, 130, 57, 2)
    every = drawn_rows.rows_of(prepare(check_pair(x, y), standardize=True, folds=5, random_state=0))
    few = every.between(start, start + more)
    for group in range(2 * every.n_groups):
        members = every.numbers[every.groups == group]
        np.testing.assert_array_equal(few.numbers[few.groups == group], members[start : start + more])


@pytest.mark.parametrize(("n", "m", "blocks"), [(200, 210, 1), (700, 900, 3), (5000, 700, 3), (5000, 120, 1)])
def test_blocks_share_no_row_and_hold_equally_many_of_each_group(n, m, blocks, monkeypatch):
    monkeypatch.setattr(drawn_rows, "BLOCK_ROWS", 210)
    x, y = two_samples(3, n, m, 2)
    every = drawn_rows.rows_of(prepare(check_pair(x, y), standardize=True, folds=5, random_state=0))
    parts = every.blocks()
    assert len(parts) == blocks
    rows = np.concatenate([part.numbers for part in parts])
    assert len(np.unique(rows, axis=0)) == len(rows)
    if blocks > 1:
        assert {int(count) for part in parts for count in np.bincount(part.groups)} == {210 // every.n_groups}


def test_pairs_within_blocks_agree_with_all_pairs_within_their_noise(monkeypatch):
    x, y = two_samples(9, 2400, 2400, 4)
    data = prepare(check_pair(x, y), standardize=True, folds=5, random_state=0)
    whole = overlap.normalized_distance(data, 0.95)
    for module in (overlap, drawn_rows):
        monkeypatch.setattr(module, "BLOCK_ROWS", 400)
    parts = overlap.normalized_distance(data, 0.95)
    assert whole.ends[0] < parts.value < whole.ends[1]
    assert parts.ends[0] < whole.value < parts.ends[1]
