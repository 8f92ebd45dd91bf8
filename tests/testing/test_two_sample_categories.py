"""The test of tables with categories: its size, what it finds, the exact p of tiny samples."""

import itertools
import warnings

import numpy as np
import pytest

import densdiff as dd
from densdiff.core.kernel import Categories, radius
from densdiff.solvers.centers import CenterKernel
from tests.categories import (
    SIGMA,
    Twin,
    asked,
    fixed,
    mixed,
    taken,
)

each_tuning = pytest.mark.parametrize("tuning", ["aggregate", "pooled", "refit"])


@pytest.fixture(scope="module")
def pair():
    return mixed(12, 36), mixed(13, 30, (0.2, 0.3, 0.5), 0.4)


@each_tuning
def test_swapping_keeps_the_statistic(pair, tuning):
    there, back = asked(*pair, tuning=tuning), asked(*pair[::-1], tuning=tuning)
    assert there.statistic == pytest.approx(back.statistic, rel=1e-8)
    assert (there.sigma, there.lam) == pytest.approx((back.sigma, back.lam))
    share = (there.pvalue + back.pvalue) / 2
    error = np.sqrt(2 * share * (1 - share) / there.n_permutations)  # other relabellings
    assert abs(there.pvalue - back.pvalue) < 3 * error


def rejections(runs, draw, **parameters):
    found = [asked(draw(2 * seed), draw(2 * seed + 1), random_state=seed, **parameters) for seed in range(runs)]
    assert all(np.isfinite(result.statistic) and result.statistic >= 0 for result in found)
    return sum(result.pvalue <= 0.05 for result in found)


def test_under_the_null_five_in_a_hundred_are_rejected():
    count = rejections(200, mixed)
    assert abs(count - 10) <= 3 * np.sqrt(200 * 0.05 * 0.95)


@pytest.mark.parametrize("tuning", ["pooled", "refit"])
def test_under_the_null_categories_are_not_rejected_too_often(tuning):
    """Ties between relabellings of few levels only make the test more careful."""
    count = rejections(200, lambda seed: {"letter": mixed(seed)["letter"]}, tuning=tuning)
    assert count <= 10 + 3 * np.sqrt(200 * 0.05 * 0.95)


@each_tuning
@pytest.mark.parametrize(
    "change", [{"shares": (0.1, 0.2, 0.7)}, {"shift": 1.5}, {"flag": 0.95}], ids=["category", "number", "boolean"]
)
def test_changes_are_found(tuning, change):
    # cross-validation anew within relabellings takes wide and narrow kernels, whose statistics do not compare
    model = dd.LSDD(sigma=1.0, solver="centers") if tuning == "refit" else None
    found = [asked(mixed(seed, 60), mixed(seed + 50, 50, **change), tuning=tuning, model=model) for seed in range(4)]
    assert sum(result.pvalue <= 0.05 for result in found) >= 3
    assert all(result.solver == "centers" and np.isfinite(result.null_distribution).all() for result in found)
    assert all(result.null_distribution.min() >= 0 for result in found)


def tied(k, shares):
    """r of unequal levels that are as far apart as two rows differ in a standardized column."""
    return np.exp(-1 / ((1 - np.square(shares).sum()) * SIGMA**2))


def brute_force_share(X, Y, labellings):
    """Share of relabellings whose E6, by loops, is at least that of the first."""
    pooled = {name: np.concatenate([X[name], Y[name]]) for name in X}
    ratio = {
        len(of): tied(len(of), [np.mean(pooled[name].astype(str) == level) for level in of])
        for name in ("letter", "flag")
        for of in [sorted(set(pooled[name].astype(str)))]
    }
    assert len(ratio) == 2
    values = []
    for chosen in labellings:
        twin = Twin(taken(pooled, chosen), taken(pooled, ~chosen), pooled, ratio.get)
        values.append(twin.estimates["regularization_corrected"])
    return values[0], np.mean(np.array(values) >= values[0] * (1 - 1e-9))


TINY = {"size": np.array([0.1, 0.5, 1.2]), "letter": np.array(["a", "b", "c"]), "flag": np.array([True, False, True])}
OTHER = {"size": np.array([0.7, 2.0, 1.9]), "letter": np.array(["c", "c", "a"]), "flag": np.array([False, False, True])}


@pytest.mark.parametrize("blocks", [None, [0, 1, 2, 0, 1, 2]], ids=["all", "in pairs"])
def test_all_partitions_of_tiny_samples_give_the_exact_p(blocks):
    labellings = [np.isin(np.arange(6), chosen) for chosen in itertools.combinations(range(6), 3)]
    if blocks is not None:
        labellings = [chosen for chosen in labellings if all(np.bincount(blocks, chosen) == 1)]
    statistic, share = brute_force_share(TINY, OTHER, labellings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dd.DensDiffWarning)  # few rows
        found = asked(TINY, OTHER, model=fixed(), blocks=blocks)
    assert found.null == "all partitions"
    assert found.n_permutations == len(labellings) - 1
    assert found.statistic == pytest.approx(statistic, rel=1e-8)
    assert found.pvalue == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize("tuning", ["aggregate", "pooled"])
def test_the_limit_of_the_null_is_near_the_permutations(tuning):
    X, Y = mixed(20, 150), mixed(21, 120, (0.4, 0.35, 0.25), 0.1)
    limit, exact = (asked(X, Y, tuning=tuning, null=null, n_permutations=499) for null in ("asymptotic", "permutation"))
    assert limit.statistic == pytest.approx(exact.statistic, rel=1e-12)
    assert limit.pvalue == pytest.approx(exact.pvalue, abs=0.06)


def test_blocks_keep_a_difference_between_groups_out():
    """Letters differ by site alone, and X and Y hold the sites in other shares: nothing differs within a site."""
    X, Y = ({"letter": np.array(["a"] * k + ["b"] * (60 - k)), "size": mixed(22 + k, 60)["size"]} for k in (15, 45))
    sites = np.concatenate([table["letter"] for table in (X, Y)])
    assert asked(X, Y).pvalue == 0.01
    assert asked(X, Y, blocks=sites).pvalue > 0.05
    with pytest.raises(dd.InputError, match="null='asymptotic' is not available for blocks"):
        asked(X, Y, blocks=sites, null="asymptotic")


def test_features_of_levels_that_are_apart_come_from_one_set_of_distances():
    random = np.random.default_rng(0)
    rows = np.column_stack([random.normal(size=(12, 2)), random.integers(0, 3, size=(12, 2))])
    categories = Categories(np.array([3, 3]), apart=np.array([0.7, 2.5]))
    kernel = CenterKernel(rows[:5], radius(rows), 0.5, categories)
    for sigma, psi in zip((2.0, 1.0, 0.7), kernel.ladder(np.array([2.0, 1.0, 0.7]), rows), strict=True):
        np.testing.assert_allclose(psi, kernel.plain_features(sigma, rows), rtol=1e-12)
