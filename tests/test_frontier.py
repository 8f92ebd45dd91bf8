"""The rivals of the benchmark of power are what their papers say, and its samples are the same for every test."""

import numpy as np
import pytest

from benchmarks import rival_tests
from benchmarks.frontier import CELLS, pvalues
from benchmarks.known_alternatives import FAMILIES, draw, perturbed_uniform
from benchmarks.rival_tests import mmdagg, mmdfuse, quadratic_forms, unbiased_mmd


@pytest.fixture
def few(monkeypatch):
    """Bootstraps and permutations that take no time."""
    monkeypatch.setattr(rival_tests, "AGG_QUANTILES", 99)
    monkeypatch.setattr(rival_tests, "AGG_LEVELS", 99)
    monkeypatch.setattr(rival_tests, "FUSE_PERMUTATIONS", 99)


def test_the_unbiased_mmd_is_the_sum_over_pairs_of_different_rows():
    random = np.random.default_rng(0)
    n, m = 4, 3
    kernel = random.random((n + m, n + m))
    kernel += kernel.T
    np.fill_diagonal(kernel, 0)
    labels = random.permutation(np.repeat([1.0, -1.0], [n, m]))
    x, y = np.flatnonzero(labels > 0), np.flatnonzero(labels < 0)
    same = [sum(kernel[i, j] for i in rows for j in rows if i != j) for rows in (x, y)]
    cross = sum(kernel[i, j] for i in x for j in y)
    expected = same[0] / (n * (n - 1)) + same[1] / (m * (m - 1)) - 2 * cross / (n * m)
    assert unbiased_mmd(kernel, labels[:, None], n, m)[0] == pytest.approx(expected, abs=1e-13)


def bisected(statistics, quantiles, level):
    """Whether MMDAgg rejects by its published bisection; statistics (kernels, 1 + B1 + B2), the observed first."""
    reference, others = np.sort(statistics[:, : 1 + quantiles]), statistics[:, 1 + quantiles :]
    low, high = 0.0, float(len(statistics))
    for _ in range(50):
        middle = (low + high) / 2
        place = int(np.ceil((1 + quantiles) * (1 - middle / len(statistics)))) - 1
        if np.mean((others > reference[:, [place]]).any(axis=0)) <= level:
            low = middle
        else:
            high = middle
    observed = np.mean(reference >= statistics[:, :1], axis=1)
    return bool((observed <= low / len(statistics)).any())


@pytest.mark.parametrize("run", range(20))
def test_mmdagg_rejects_where_its_bisection_does(few, run):
    random = np.random.default_rng(run)
    n = 30
    x, y = random.standard_normal((n, 1)), 0.5 + random.standard_normal((n, 1))
    signs = np.random.default_rng(run).choice(np.array([-1, 1], np.float32), (n, 199))
    signs[:, 0] = 1
    statistics = []
    for kernel in rival_tests.agg_kernels(x, y):
        differences = kernel[:n, :n] + kernel[n:, n:] - kernel[:n, n:] - kernel[n:, :n]
        np.fill_diagonal(differences, 0)
        statistics.append(quadratic_forms(differences, signs))
    # A level between two possible p-values: the end of a bisection is not decided by its rounding.
    assert (mmdagg(x, y, run) <= 0.055) == bisected(np.array(statistics), 99, 0.055)


@pytest.mark.parametrize("test", [mmdagg, mmdfuse])
def test_a_rival_finds_a_large_difference_and_not_a_relabelled_sample(few, test):
    x, y = np.random.default_rng(3).standard_normal((2, 40, 2))
    assert test(x, y + 2, 0) <= 0.05
    assert test(x, y, 0) > 0.05


@pytest.mark.parametrize("d", [1, 2])
def test_perturbed_rows_have_their_density(d):
    random = np.random.default_rng(0)
    # At scale 1 a cell has (1 +- b^d) / 2 of its rows where its wave is up and down; b is the mean height of a bump.
    height = np.mean(np.exp(1 - 1 / (1 - ((np.arange(1000) + 0.5) / 1000) ** 2)))
    balances = []
    for _ in range(20):
        x, _ = perturbed_uniform(random, 1.0, d)
        cells = np.floor(2 * x).astype(int) @ 2 ** np.arange(d)
        up = np.prod(np.where((2 * x) % 1 < 0.5, 1, -1), axis=1)
        balances += [abs(up[cells == cell].sum()) for cell in range(2**d)]
    assert np.mean(balances) / (500 / 2**d) == pytest.approx(height**d, rel=0.1)  # standard errors: 2 and 3 %


def test_samples_of_a_run_depend_on_nothing_else():
    cell = ("blobs", 0.85)
    noted = {"first": [], "second": []}

    def note(name):
        return lambda x, y, seed: noted[name].append((x, y)) or 1.0

    pvalues({"first": note("first"), "second": note("second")}, [("blobs", 0.7), cell], runs=2)
    for first, second in zip(noted["first"], noted["second"], strict=True):
        np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(noted["first"][3], draw(FAMILIES["blobs"], 0.85, run=1))
    assert not np.array_equal(noted["first"][2][0], noted["first"][3][0])


def test_published_figures_have_one_for_each_parameter():
    for family in FAMILIES.values():
        for figures in family.published.values():
            assert len(figures) == len(family.parameters)
    assert len(CELLS) == sum(len(family.parameters) for family in FAMILIES.values())
