"""Many rows: what is computed in blocks, or from rows drawn at random, against the plain way on the same rows."""

import numpy as np
import pytest

import densdiff as dd
from densdiff.balance import features, learned, mixture
from densdiff.balance.labelled import LabelledSample
from densdiff.balance.mixture import KernelMixture
from densdiff.core.selection import stratified_folds
from tests.classes import classes, fitted

GIVEN = dd.LSDD(sigma=1.0, lam=0.1, solver="pairs")


class Gaussian:
    def kernel(self, model, a, b):
        return np.exp(-np.square(a[:, None] - b).sum(axis=2) / 2)


def labelled_rows(counts=(9, 14, 8), seed=0):
    """Labelled rows of uneven classes and weights, in any order, and new rows."""
    random = np.random.default_rng(seed)
    codes = random.permutation(np.repeat(np.arange(len(counts)), counts))
    rows = random.normal(size=(len(codes), 2)) + 2 * codes[:, None]
    omega = random.uniform(0.5, 2.0, size=len(codes))
    return LabelledSample(rows, codes, omega / np.bincount(codes, omega)[codes]), random.normal(size=(10, 2)) + 1


def plain_means(row, block, omega, labelled, skipped=None):
    """Mean kernels of a row to the classes among the rows of a block, without one of them."""
    means = []
    for c in range(labelled.n_classes):
        rows = [i for i in block if labelled.codes[i] == c and i != skipped]
        kernels = [np.exp(-np.square(row - labelled.rows[i]).sum() / 2) for i in rows]
        means.append(sum(omega[i] * k for i, k in zip(rows, kernels, strict=True)) / sum(omega[i] for i in rows))
    return means


@pytest.mark.parametrize("most", [5_000, 11, 8])
def test_mean_kernels_are_those_within_the_blocks_of_a_row(monkeypatch, most):
    """Rows are dealt evenly by class, new rows by turns; the twin sums row by row."""
    labelled, new = labelled_rows()
    monkeypatch.setattr(mixture, "_BLOCK_ROWS", most)
    found = KernelMixture(labelled, new, Gaussian(), None)
    blocks = -(-len(labelled.rows) // most)
    groups = stratified_folds(labelled.codes, 0, blocks)
    assert len(np.unique(groups)) == blocks
    for i, row in enumerate(labelled.rows):
        block = np.flatnonzero(groups == groups[i])
        expected = plain_means(row, block, labelled.omega, labelled, skipped=i)
        np.testing.assert_allclose(found.labelled_features[i], expected, rtol=1e-12)
    for i, row in enumerate(new):
        block = np.flatnonzero(groups == i % blocks)
        np.testing.assert_allclose(found.new_features[i], plain_means(row, block, labelled.omega, labelled), rtol=1e-12)


def test_no_block_has_fewer_than_two_rows_of_a_class(monkeypatch):
    monkeypatch.setattr(mixture, "_BLOCK_ROWS", 2)
    labelled, new = labelled_rows(counts=(5, 40))
    found = KernelMixture(labelled, new, Gaussian(), None)
    assert np.isfinite(found.labelled_features).all()
    assert np.isfinite(found.new_features).all()


def test_blocks_of_labelled_rows_give_the_shares_of_all_pairs(monkeypatch):
    """The kernel means of a block differ from those of all rows by their noise, a fraction of the standard error."""
    X, y, new = classes(4, (0.3, 0.7), n=600, m=200, d=1)
    plain = fitted(X, y, model=GIVEN).estimate(new)
    monkeypatch.setattr(mixture, "_BLOCK_ROWS", 400)
    blocks = fitted(X, y, model=GIVEN).estimate(new)
    assert not np.array_equal(blocks.priors, plain.priors)
    np.testing.assert_allclose(blocks.priors, plain.priors, atol=plain.standard_errors.min() / 3)
    np.testing.assert_allclose(blocks.standard_errors, plain.standard_errors, rtol=0.1)
    np.testing.assert_allclose(blocks.intervals, plain.intervals, atol=plain.standard_errors.min() / 2)


def test_the_size_of_blocks_of_rows_changes_no_learned_answer(monkeypatch):
    X, y, new = classes(5, (0.2, 0.3, 0.5), n=30, m=60)
    plain = fitted(X, y).estimate(new)
    monkeypatch.setattr(learned, "_ROWS", 7)
    monkeypatch.setattr(features, "_CACHED", 300)
    found = fitted(X, y).estimate(new)
    np.testing.assert_allclose(found.priors, plain.priors, atol=1e-8)
    np.testing.assert_allclose(found.intervals, plain.intervals, atol=1e-6)
    assert found.mixture_pvalue == plain.mixture_pvalue


def test_rows_drawn_for_the_nearest_mixture_stand_for_all(monkeypatch):
    """Beyond 5,000 labelled and 10,000 new rows: here beyond 300 and 200, the scores being the same."""
    X, y, new = classes(6, (0.3, 0.7), n=300, m=400, apart=1.0)
    plain = fitted(X, y).estimate(new)
    monkeypatch.setattr(features, "_MOST_LABELLED", 300)
    monkeypatch.setattr(features, "_MOST_NEW", 200)
    found = fitted(X, y).estimate(new)
    np.testing.assert_allclose(found.standard_errors, plain.standard_errors, rtol=0.05)
    np.testing.assert_allclose(found.priors, plain.priors, atol=plain.standard_errors.min())
    assert found.mixture_pvalue > 0.01
