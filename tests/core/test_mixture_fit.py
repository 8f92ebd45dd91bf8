"""Does a mixture fit: distances against their definition, p-values that are uniform, and what must be seen."""

import numpy as np
import pytest

from densdiff.core.mixture_fit import DRAWS, FeatureMeans, mixture_pvalue


def features(random, codes, shift=0.0):
    """Two classes apart in one of three columns; class 0 shifted."""
    rows = random.normal(size=(len(codes), 3))
    rows[:, 0] += 3.0 * codes
    rows[codes == 0, 1] += shift
    return np.column_stack([rows, np.square(rows)])


def pvalue(seed, share=0.4, shift=0.0, n=60, m=120):
    random = np.random.default_rng([seed, 1])
    codes = np.repeat([0, 1], n)
    new = (random.random(m) > share).astype(int)
    indicator = np.eye(2)[codes] / n
    means = FeatureMeans.of(features(random, codes), indicator, features(random, new, shift))
    return mixture_pvalue([means], [1.0], codes, np.array([share, 1 - share]), random)


def test_the_least_distance_is_that_of_the_best_of_many_mixtures():
    random = np.random.default_rng(0)
    codes = np.arange(30) % 3
    means = FeatureMeans.of(random.normal(size=(30, 5)), np.eye(3)[codes] / 10, random.normal(size=(20, 5)))
    shares = random.dirichlet(np.ones(3), 20_000)
    distances = np.square(shares @ means.classes - means.new).sum(axis=1)
    assert means.least_distances(means.new[None])[0] <= distances.min() + 1e-12
    assert means.least_distances(means.new[None])[0] == pytest.approx(distances.min(), rel=0.02)


def test_residuals_are_the_noise_of_the_means():
    """Squared sums of what rows add are the variances of the means, unbiased."""
    random = np.random.default_rng(1)
    rows, new, codes = random.normal(size=(40, 2)), random.normal(size=(25, 2)), np.arange(40) % 2
    means = FeatureMeans.of(rows, np.eye(2)[codes] / 20, new)
    for c in (0, 1):
        expected = rows[codes == c].var(axis=0, ddof=1) / 20
        np.testing.assert_allclose(np.square(means.class_noise[codes == c]).sum(axis=0), expected)
    np.testing.assert_allclose(np.square(means.new_noise).sum(axis=0), new.var(axis=0, ddof=1) / 25)


def test_mixtures_are_rarely_refused_and_changed_classes_mostly_are():
    """Of 30 uniform p-values at most 5 lie below 0.05 but in 3 of 1000 runs of such a test."""
    assert sum(pvalue(seed) < 0.05 for seed in range(30)) <= 5
    assert sum(pvalue(seed, shift=2.0) < 0.05 for seed in range(8)) >= 7


def test_few_rows_give_no_small_pvalues_by_chance():
    assert sum(pvalue(seed, n=2, m=2) < 0.05 for seed in range(20)) <= 4


def test_equal_rows_are_a_mixture():
    codes = np.array([0, 0, 1, 1])
    means = FeatureMeans.of(np.ones((4, 2)), np.eye(2)[codes] / 2, np.ones((3, 2)))
    assert mixture_pvalue([means], [1.0], codes, np.array([0.5, 0.5]), np.random.default_rng(0)) == 1.0


def test_a_pvalue_is_never_zero():
    assert pvalue(0, shift=20.0) == pytest.approx(1 / (DRAWS + 1))


def two_kernels(seed, changed, units=(1.0, 1.0)):
    """Kernels of a shape that changes, and of one direction whose null is as wide as a null can be."""
    random = np.random.default_rng(seed)
    codes, new = np.repeat([0, 1], 60), (random.random(120) > 0.4).astype(int)
    indicator, shares = np.eye(2)[codes] / 60, np.array([0.4, 0.6])
    wide = [np.column_stack([3.0 * of, random.normal(size=len(of))]) for of in (codes, new)]
    shape = features(random, codes), features(random, new, changed)
    kernels = [FeatureMeans.of(u * a, indicator, u * b) for u, (a, b) in zip(units, (shape, wide), strict=True)]
    return mixture_pvalue(kernels, [0.5, 0.5], codes, shares, random)


def test_a_kernel_that_sees_nothing_does_not_drown_one_that_does():
    assert two_kernels(0, 0.0) > 0.05
    assert np.mean([two_kernels(seed, 2.0) < 0.05 for seed in range(5)]) == 1.0


def test_units_of_features_do_not_matter():
    assert two_kernels(1, 0.3, (1e3, 1e-3)) == two_kernels(1, 0.3)
