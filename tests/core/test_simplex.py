"""Shares on the simplex: against all faces in turn, against a general optimizer, against Fieller's quadratic."""

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize

from densdiff.core.simplex import Moments, likeliest_shares, quadratic_minima, quadratic_minimum

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(2, 6)


def best_on_faces(matrix, vector):
    """The least p'Ap - 2 b'p over the simplex: one linear system for every face, the best that is feasible.

    Some minimum lies inside a face on which the system is regular, so that skipping singular ones loses nothing.
    """
    k, least, best = len(vector), np.inf, None
    for face in map(list, chain.from_iterable(combinations(range(k), size) for size in range(1, k + 1))):
        system = np.ones((len(face) + 1, len(face) + 1))
        system[:-1, :-1], system[-1, -1] = matrix[np.ix_(face, face)], 0.0
        inside = np.linalg.lstsq(system, np.append(vector[face], 1.0), rcond=1e-12)[0][:-1]
        p = np.zeros(k)
        p[face] = inside
        if inside.min() >= 0 and abs(inside.sum() - 1) < 1e-9 and value(matrix, vector, p) < least:
            least, best = value(matrix, vector, p), p
    return least, best


def value(matrix, vector, p):
    return float(p @ matrix @ p - 2 * vector @ p)


def quadratic(seed, k, rank, far):
    """A = R'R and b = R'u, as means of features give them: singular if the rank is below K, b in A's range."""
    random = np.random.default_rng([seed, k, rank])
    root = random.normal(size=(rank, k))
    return root.T @ root, root.T @ (far * random.normal(size=rank))


@given(seeds, sizes, st.integers(1, 6), st.sampled_from([0.0, 0.3, 1.0, 10.0]))
def test_the_quadratic_minimum_is_the_best_of_all_faces(seed, k, rank, far):
    matrix, vector = quadratic(seed, k, rank, far)
    found = quadratic_minimum(matrix, vector)
    size = np.abs(matrix).max() + np.abs(vector).max()
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1, abs=1e-14)
    least, best = best_on_faces(matrix, vector)
    assert value(matrix, vector, found) <= least + 1e-10 * size
    if rank >= k and np.linalg.cond(matrix) < 1e6:
        # |p - best|^2 times the least eigenvalue is at most the excess
        np.testing.assert_allclose(found, best, atol=1e-4)


@given(seeds, sizes, st.integers(1, 6), st.sampled_from([0.3, 1.0, 10.0]))
def test_many_vectors_have_the_minima_of_each(seed, k, rank, far):
    matrix, _ = quadratic(seed, k, rank, far)
    vectors = far * np.random.default_rng(seed).normal(size=(5, k)) @ matrix
    found = quadratic_minima(matrix, vectors)
    for p, vector in zip(found, vectors, strict=True):
        least, _ = best_on_faces(matrix, vector)
        assert p.min() >= 0
        assert p.sum() == pytest.approx(1, abs=1e-14)
        assert value(matrix, vector, p) <= least + 1e-10 * (np.abs(matrix).max() + np.abs(vector).max())


@given(seeds, sizes, st.integers(1, 6), st.sampled_from([0.3, 1.0, 10.0]))
def test_no_class_in_use_has_a_steeper_slope_than_another(seed, k, rank, far):
    """The conditions of Karush, Kuhn and Tucker: slopes are equal where shares are positive, else larger."""
    matrix, vector = quadratic(seed, k, rank, far)
    found = quadratic_minimum(matrix, vector)
    slope = 2 * (matrix @ found - vector)
    size = np.abs(matrix).max() + np.abs(vector).max()
    assert slope[found > 0].max() <= slope.min() + 1e-8 * size


@given(seeds, sizes)
def test_every_corner_can_be_reached_exactly(seed, k):
    random = np.random.default_rng(seed)
    root = random.normal(size=(k + 3, k))
    matrix = root.T @ root
    for c in range(k):
        # the slope at corner c is -2 in direction c and 0 in the others
        assert quadratic_minimum(matrix, matrix[c] + np.eye(k)[c]).tolist() == np.eye(k)[c].tolist()


@given(seeds, sizes, st.sampled_from([1e-150, 1e-8, 1e8, 1e150]))
def test_units_of_the_quadratic_form_do_not_matter(seed, k, factor):
    matrix, vector = quadratic(seed, k, k + 1, 0.5)
    assume(np.linalg.cond(matrix) < 1e6)
    np.testing.assert_allclose(
        quadratic_minimum(factor * matrix, factor * vector), quadratic_minimum(matrix, vector), atol=1e-9
    )


@given(seeds, sizes)
def test_reordering_classes_reorders_the_minimum(seed, k):
    matrix, vector = quadratic(seed, k, k + 1, 0.5)
    assume(np.linalg.cond(matrix) < 1e6)
    order = np.random.default_rng(seed).permutation(k)
    np.testing.assert_allclose(
        quadratic_minimum(matrix[np.ix_(order, order)], vector[order]),
        quadratic_minimum(matrix, vector)[order],
        atol=1e-9,
    )


@pytest.mark.parametrize("vector", [0.0, 1.0, 5.0])
def test_one_class_has_all_of_it(vector):
    np.testing.assert_array_equal(quadratic_minimum(np.ones((1, 1)), np.array([vector])), [1.0])


@pytest.mark.parametrize("k", [2, 3, 6])
def test_a_form_that_says_nothing_still_gives_shares(k):
    for matrix in (np.zeros((k, k)), np.ones((k, k))):
        found = quadratic_minimum(matrix, matrix[0])
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1)


def likelihood(p, ratios, weights, prior):
    return float(weights @ np.log(ratios @ p) + prior * np.log(p + 0.05).sum())


def mixture_rows(seed, k, m=40):
    """Rows of class densities, (m, K), from nearly certain to nearly mute, and counts as weights."""
    random = np.random.default_rng([seed, k, m])
    ratios = random.dirichlet(np.full(k, 0.5), size=m) + 0.01
    return ratios / ratios.sum(axis=1, keepdims=True), random.integers(1, 4, size=m).astype(float)


@given(seeds, sizes, st.sampled_from([0.0, 1.0, 2.5]))
def test_no_shares_are_likelier(seed, k, prior):
    """Of a concave function the best is above any p by at most its steepest slope from p to a corner."""
    ratios, weights = mixture_rows(seed, k)
    p = likeliest_shares(ratios, weights, prior)
    slope = weights @ (ratios / (ratios @ p)[:, None]) + prior / (p + 0.05)
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1, abs=1e-14)
    assert (slope - slope @ p).max() <= 1e-6 * weights.sum()


@given(seeds, st.integers(2, 4), st.sampled_from([0.0, 1.0]))
def test_a_general_optimizer_finds_the_same_likelihood(seed, k, prior):
    ratios, weights = mixture_rows(seed, k)
    twin = minimize(
        lambda p: -likelihood(np.maximum(p, 0), ratios, weights, prior) / weights.sum(),
        np.full(k, 1 / k),
        bounds=[(0, 1)] * k,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    ).x
    twin = np.maximum(twin, 0) / np.maximum(twin, 0).sum()
    p = likeliest_shares(ratios, weights, prior)
    assert likelihood(p, ratios, weights, prior) >= likelihood(twin, ratios, weights, prior) - 1e-7 * weights.sum()


@given(seeds, sizes)
def test_counts_of_rows_are_repeated_rows(seed, k):
    ratios, weights = mixture_rows(seed, k)
    repeated = np.repeat(ratios, weights.astype(int), axis=0)
    # flat directions: 40 rows of up to 6 classes, a gap of 1e-9 in p at most
    np.testing.assert_allclose(
        likeliest_shares(ratios, weights, 1.0), likeliest_shares(repeated, np.ones(len(repeated)), 1.0), atol=1e-7
    )


@given(seeds, sizes, st.sampled_from([1e-200, 1e200]))
def test_a_factor_of_a_row_changes_nothing(seed, k, factor):
    ratios, weights = mixture_rows(seed, k)
    scaled = ratios * np.where(np.arange(len(ratios)) % 2, factor, 1.0)[:, None]
    np.testing.assert_allclose(
        likeliest_shares(scaled, weights, 1.0), likeliest_shares(ratios, weights, 1.0), atol=1e-7
    )


@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_the_likelihood_reaches_the_corners(k, prior):
    # 200 rows, each ten times likelier in class c: 200 (1 - 0.1) outweighs what the prior pulls, 1 / 0.05
    for c in range(k):
        ratios = np.tile(np.where(np.arange(k) == c, 1.0, 0.1), (200, 1))
        assert likeliest_shares(ratios, np.ones(200), prior).tolist() == np.eye(k)[c].tolist()


def test_classes_alike_share_evenly_under_the_prior():
    np.testing.assert_allclose(likeliest_shares(np.full((30, 3), 0.4), np.ones(30), 1.0), np.full(3, 1 / 3), atol=1e-7)


def moments(seed, k, noise, of_classes=True):
    """Equations with a known answer inside the simplex, and noise of about so much."""
    random = np.random.default_rng([seed, k])
    p = random.dirichlet(np.full(k, 3.0))
    matrix = np.eye(k) + 0.3 * random.normal(size=(k, k))

    def covariance():
        root = noise * random.normal(size=(k, k + 2))
        return root @ root.T

    classes = np.array([covariance() for _ in range(k)]) if of_classes else np.zeros((k, k, k))
    return Moments(matrix, matrix @ p, classes, covariance()), p


def fieller(found, quantile):
    """The shares v of class 0 with misfit(v) <= limit, from the roots of a quadratic; two classes."""
    direction = np.array([1.0, -1.0]) / np.sqrt(2)
    first, second = direction @ found.matrix
    target = direction @ found.target
    of_first, of_second = (direction @ c @ direction for c in found.of_classes)
    of_target = direction @ found.of_target @ direction
    grid = np.linspace(0, 1, 201)
    misfits = np.square(first * grid + second * (1 - grid) - target) / (
        of_first * grid**2 + of_second * (1 - grid) ** 2 + of_target
    )
    limit = quantile**2 + misfits.min()  # the library's convention: the least is taken on this grid
    gap, rest = first - second, target - second
    roots = np.roots(
        [
            gap**2 - limit * (of_first + of_second),
            -2 * gap * rest + 2 * limit * of_second,
            rest**2 - limit * (of_second + of_target),
        ]
    )
    ends = np.append(np.real(roots[np.abs(np.imag(roots)) < 1e-12]), grid[misfits <= limit])
    ends = ends[(ends >= 0) & (ends <= 1)]
    return ends.min(), ends.max()


@given(seeds, st.sampled_from([0.003, 0.03, 0.1, 0.3, 1.0]), st.sampled_from([1.0, 1.96, 4.3]))
def test_two_classes_have_fiellers_interval(seed, noise, quantile):
    found, p = moments(seed, 2, noise)
    low, high = found.interval(0, p, quantile)
    np.testing.assert_allclose((low, high), fieller(found, quantile), atol=1e-7)
    mirrored = found.interval(1, p, quantile)
    np.testing.assert_allclose(mirrored, (1 - high, 1 - low), atol=1e-7)


def test_an_interval_of_no_width_holds_what_fits_best():
    found, p = moments(0, 2, 0.03)
    low, high = found.interval(0, p, 0.0)
    assert low <= p[0] <= high <= low + 1 / 200  # the least misfit is looked for on a grid


@given(seeds, st.integers(3, 5), st.sampled_from([0.01, 0.05]))
def test_without_noise_of_the_classes_intervals_are_those_of_least_squares(seed, k, noise):
    """Then the misfit at p_c = v, the other shares free, is ((v - p_c) / error)^2."""
    found, p = moments(seed, k, noise, of_classes=False)
    basis = np.linalg.svd(np.ones((1, k)))[2][1:].T  # (K, K - 1), another basis than the library's
    slope = basis.T @ found.matrix @ basis
    spread = np.linalg.inv(slope) @ basis.T @ found.of_target @ basis @ np.linalg.inv(slope).T
    errors = np.sqrt(np.diag(basis @ spread @ basis.T))
    grid = np.linspace(0, 1, 201)
    for c in range(k):
        reach = errors[c] * np.sqrt(1.96**2 + np.square((grid - p[c]) / errors[c]).min())
        expected = np.clip([p[c] - reach, p[c] + reach], 0, 1)
        np.testing.assert_allclose(found.interval(c, p, 1.96), expected, atol=1e-6)


@given(seeds, st.integers(2, 5), st.sampled_from([0.01, 0.1, 1.0]))
def test_intervals_grow_with_the_level_and_hold_what_fits(seed, k, noise):
    found, p = moments(seed, k, noise)
    for c in range(k):
        narrow, wide = found.interval(c, p, 1.0), found.interval(c, p, 3.0)
        assert 0 <= wide[0] <= narrow[0] <= p[c] + 1e-9
        assert p[c] - 1e-9 <= narrow[1] <= wide[1] <= 1


@given(seeds, st.integers(2, 5), st.sampled_from([0.01, 0.1, 1.0]))
def test_reordering_classes_reorders_intervals_and_errors(seed, k, noise):
    found, p = moments(seed, k, noise)
    order = np.random.default_rng(seed).permutation(k)
    # the features are reordered too, as scores of classes are
    other = Moments(
        found.matrix[np.ix_(order, order)],
        found.target[order],
        found.of_classes[np.ix_(order, order, order)],
        found.of_target[np.ix_(order, order)],
    )
    np.testing.assert_allclose(other.standard_errors(p[order]), found.standard_errors(p)[order], rtol=1e-6)
    for place, c in enumerate(order):
        np.testing.assert_allclose(other.interval(place, p[order], 1.96), found.interval(c, p, 1.96), atol=1e-5)


@given(seeds, st.integers(2, 5))
def test_equations_that_say_nothing_refute_nothing(seed, k):
    """Equal columns: every p fits alike. The errors are those of a share drawn evenly from the simplex."""
    found, p = moments(seed, k, 0.1)
    same = np.tile(found.matrix.mean(axis=1)[:, None], (1, k))
    mute = Moments(same, same[:, 0], found.of_classes, found.of_target)
    assert all(mute.interval(c, p, 1.96) == (0.0, 1.0) for c in range(k))
    np.testing.assert_allclose(mute.standard_errors(p), np.sqrt((k - 1) / (k**2 * (k + 1))), rtol=1e-9)


@given(seeds, st.integers(2, 5), st.sampled_from([1e-4, 0.01, 0.1, 1.0, 100.0]))
def test_standard_errors_are_at_most_those_of_the_uniform_law(seed, k, noise):
    found, p = moments(seed, k, noise)
    uniform = np.random.default_rng(0).dirichlet(np.ones(k), 20_000).std(axis=0).mean()
    assert (found.standard_errors(p) <= 1.02 * uniform).all()
    if noise == 1e-4:  # the delta method, as far as the uniform law adds nothing
        slope = np.linalg.pinv(found.tangent.T @ found.matrix @ found.tangent)
        spread = found.tangent @ slope @ found.noise(p) @ slope.T @ found.tangent.T
        np.testing.assert_allclose(found.standard_errors(p), np.sqrt(np.diag(spread)), rtol=1e-3)


def test_noise_is_the_covariance_of_what_is_left():
    """A p - b of simulated equations spreads as ``noise`` says, along directions whose entries sum to 0."""
    found, p = moments(0, 3, 0.1)
    random = np.random.default_rng(1)
    columns = [random.multivariate_normal(np.zeros(3), c, 40_000) for c in found.of_classes]
    left = sum(share * column for share, column in zip(p, columns, strict=True))
    left = left - random.multivariate_normal(np.zeros(3), found.of_target, 40_000)
    np.testing.assert_allclose(np.cov((left @ found.tangent).T), found.noise(p), rtol=0.05, atol=0.02 * 0.03)
    np.testing.assert_allclose(found.tangent.T @ found.tangent, np.eye(2), atol=1e-14)
    np.testing.assert_allclose(found.tangent.sum(axis=0), 0, atol=1e-14)


def test_noise_in_fewer_directions_than_there_are_shares_has_a_floor_in_the_others():
    direction = Moments(np.eye(3), np.zeros(3), np.zeros((3, 3, 3)), np.eye(3)).tangent[:, 0]
    flat = Moments(np.eye(3), np.zeros(3), np.zeros((3, 3, 3)), 7.0 * np.outer(direction, direction))
    spread = np.linalg.eigvalsh(flat.noise(np.full(3, 1 / 3)))
    np.testing.assert_allclose(spread, [7e-12, 7.0], rtol=1e-3)  # 1e-12 of the trace, which is 7


@given(seeds, sizes)
def test_new_rows_have_at_least_the_noise_they_show_and_that_of_a_mixture(seed, k):
    """Of two classes the larger of both; the mixture's is that of its rows, with a row of each class in turn."""
    random = np.random.default_rng([seed, k])
    matrix, roots = random.normal(size=(k, k)), random.normal(size=(k + 1, k, k))
    n_new, p = 50, random.dirichlet(np.ones(k))
    of_classes, shown = 0.01 * roots[:-1] @ roots[:-1].swapaxes(1, 2), roots[-1] @ roots[-1].T / n_new
    moments = Moments(matrix, matrix @ p, of_classes, shown, 20 * of_classes, n_new)
    away = matrix - (matrix @ p)[:, None]
    mixture = sum(p[c] * (20 * of_classes[c] + np.outer(away[:, c], away[:, c])) for c in range(k)) / n_new
    of_means = np.tensordot(p**2, of_classes, axes=1)
    tangent, found = moments.tangent, moments.noise(p)
    single = [tangent.T @ (part + of_means) @ tangent for part in (shown, mixture)]
    size = max(np.trace(part) for part in single)
    for part in single:
        assert np.linalg.eigvalsh(found - part).min() >= -1e-9 * size
    if k == 2:
        assert found[0, 0] == pytest.approx(max(part[0, 0] for part in single), rel=1e-9)
    np.testing.assert_allclose(moments.noise(np.array([p, p]))[1], found, rtol=1e-9)


@given(seeds, sizes)
def test_classes_have_at_least_the_noise_of_either_covariance(seed, k):
    random = np.random.default_rng([seed, k])
    roots, counts = random.normal(size=(2, k, k, k)), random.integers(2, 30, k).astype(float)
    own, other = roots @ roots.swapaxes(2, 3)
    moments = Moments(np.eye(k), np.ones(k), own / counts[:, None, None], np.eye(k), own, 10, counts)
    found = moments.with_class_noise(other).of_classes * counts[:, None, None]
    for part in (own, other):
        assert np.linalg.eigvalsh(found - part).min() >= -1e-9 * np.abs(part).max()
    np.testing.assert_allclose(moments.with_class_noise(0.5 * own).of_classes, moments.of_classes, rtol=1e-9)


def two_classes(shown, spreads=(0.3, 0.2), n_labelled=(20.0, 10.0), n_new=50):
    """Equations of two classes one apart along the tangent, whose new rows show a variance, and that tangent."""
    tangent = Moments(np.eye(2), np.zeros(2), np.zeros((2, 2, 2)), np.eye(2)).tangent[:, 0]
    matrix, square = np.outer(tangent, [1.0, 0.0]), np.outer(tangent, tangent)
    of_rows = np.array(spreads)[:, None, None] * square
    counts = np.array(n_labelled)
    of_target = shown / n_new * square
    return Moments(matrix, matrix[:, 1], of_rows / counts[:, None, None], of_target, of_rows, n_new, counts)


def test_where_all_new_rows_are_of_one_class_both_samples_tell_its_variance():
    """Rare rows that only the new sample holds: the labelled rows' mean has the noise of the pooled variance."""
    found = two_classes(shown=0.25).noise(np.array([0.0, 1.0]))[0, 0]
    pooled = (10 * 0.2 + 50 * 0.25) / 60
    assert found == pytest.approx(0.25 / 50 + pooled / 10, rel=1e-6)


def test_unseen_rows_add_no_more_than_one_further_row_at_the_mean_of_the_other_class():
    found = two_classes(shown=100.0).noise(np.array([0.0, 1.0]))[0, 0]
    with_one = np.append(np.zeros(10), 1.0)  # the classes are one apart
    assert found == pytest.approx(100.0 / 50 + 0.2 / 10 + with_one.var() / 11, rel=1e-6)


def test_rows_that_are_all_alike_have_the_noise_of_new_rows_that_are_not():
    found = two_classes(shown=0.06, spreads=(0.0, 0.0)).noise(np.array([0.0, 1.0]))[0, 0]
    assert found == pytest.approx(0.06 / 50 + 50 / 60 * 0.06 / 10, rel=1e-6)


@given(seeds, sizes)
def test_new_rows_speak_for_unseen_ones_only_where_they_vary_more_than_the_mixture(seed, k):
    random = np.random.default_rng([seed, k])
    matrix, roots = random.normal(size=(k, k)), random.normal(size=(k, k, k))
    p, n_new, counts = random.dirichlet(np.ones(k)), 50, random.integers(2, 40, k).astype(float)
    of_rows = roots @ roots.swapaxes(1, 2)
    away = matrix - (matrix @ p)[:, None]
    mixture = sum(p[c] * (of_rows[c] + np.outer(away[:, c], away[:, c])) for c in range(k)) / n_new
    for factor in (0.5, 3.0):
        equations = (matrix, matrix @ p, of_rows / counts[:, None, None], factor * mixture, of_rows, n_new)
        with_unseen, without = Moments(*equations, counts).noise(p), Moments(*equations).noise(p)
        added = np.linalg.eigvalsh(with_unseen - without) / np.trace(without)
        assert (np.abs(added) < 1e-9).all() if factor < 1 else added.min() > 0
        order = random.permutation(k)
        turned = Moments(
            matrix[:, order][order],
            (matrix @ p)[order],
            equations[2][order][:, order][:, :, order],
            factor * mixture[order][:, order],
            of_rows[order][:, order][:, :, order],
            n_new,
            counts[order],
        )
        errors = turned.standard_errors(p[order])
        np.testing.assert_allclose(errors, Moments(*equations, counts).standard_errors(p)[order], rtol=1e-6)
