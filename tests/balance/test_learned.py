"""The equations behind the intervals of class shares: scores of a row are not calibrated by its own label."""

from dataclasses import replace
from functools import partial

import numpy as np

from densdiff.balance import learned
from densdiff.balance.features import KernelFeatures
from densdiff.balance.labelled import LabelledSample
from densdiff.balance.scores import ScoreModel


def equations(labelled, new, groups, monkeypatch):
    """The slopes of labelled and of new rows that the equations are made of, at equal shares and with these folds.

    Scores are the columns, in each fold times another factor.
    """
    mixture = learned.LearnedMixture(KernelFeatures(labelled, 0), new, 0)
    mixture.groups, mixture.likely = groups, np.array([0.5, 0.5])
    factors = 1.0 + 0.1 * np.arange(groups.max() + 1)
    folds = [partial(np.multiply, factor) for factor in factors]
    mixture.models = [ScoreModel(labelled.rows * factors[groups][:, None], partial(np.multiply, 1.0), folds)]
    seen, usual = [], learned.moment_equations

    def spy(features, sample, slopes):
        seen.append((features, slopes))
        return usual(features, sample, slopes)

    monkeypatch.setattr(learned, "moment_equations", spy)
    mixture.moments()
    return seen[0]


def test_the_calibrated_score_of_a_row_does_not_depend_on_its_own_label(monkeypatch):
    random = np.random.default_rng(3)
    codes, groups = np.repeat([0, 1], 30), np.arange(60) % 5
    labelled = LabelledSample(random.normal(size=(60, 2)) + codes[:, None], codes, np.full(60, 1 / 30))
    new = random.normal(size=(40, 2)) + 0.5
    out = groups == 0
    other = replace(labelled, codes=np.where(out, 1 - codes, codes))
    (one, _), (two, _) = (equations(sample, new, groups, monkeypatch) for sample in (labelled, other))
    np.testing.assert_allclose(two[out], one[out], rtol=1e-12)
    assert np.abs(two[~out] - one[~out]).max() > 1e-3  # the labels of others count


def test_slopes_of_new_rows_are_means_over_folds(monkeypatch):
    random = np.random.default_rng(4)
    codes, groups = np.repeat([0, 1], 20), np.arange(40) % 4
    labelled = LabelledSample(random.normal(size=(40, 2)) + codes[:, None], codes, np.full(40, 1 / 20))
    features, slopes = equations(labelled, labelled.rows, groups, monkeypatch)
    assert features.shape == slopes.shape == (40, 2)
    # probabilities over their mean with equal shares sum to 2 in every row, whichever fold they are of
    np.testing.assert_allclose(features.sum(axis=1), 2.0, rtol=1e-12)
    np.testing.assert_allclose(slopes.sum(axis=1), 2.0, rtol=1e-12)
    assert np.abs(features - slopes).max() > 1e-3  # held rows are scored by one fold, new ones by all


def test_new_rows_tell_the_spread_of_a_class_each_as_far_as_it_may_be_of_it():
    random = np.random.default_rng(0)
    shares, probabilities = np.array([0.2, 0.3, 0.5]), random.dirichlet(np.ones(3), size=30)
    slopes = probabilities / (probabilities @ shares)[:, None]
    for c, found in enumerate(learned._spread_by_class(slopes)):
        belongs = shares[c] * slopes[:, c]  # sums to 1 over the classes, for each row
        np.testing.assert_allclose(found, np.cov(slopes.T, aweights=belongs, ddof=0), rtol=1e-10, atol=1e-12)


def test_a_class_is_as_noisy_as_its_own_rows_or_as_new_rows_show_whichever_is_more():
    """Two classes 4 apart: of 6 labelled rows none is among those of the other class, of 2000 new rows some are."""
    random = np.random.default_rng(1)
    codes = np.repeat([0, 1], 6)
    labelled = LabelledSample(random.normal(size=(12, 1)) * 0.3 + 4.0 * codes[:, None], codes, np.full(12, 1 / 6))
    new = random.normal(size=(2000, 1)) * 1.2 + 4.0 * (np.arange(2000) % 2)[:, None]
    mixture = learned.LearnedMixture(KernelFeatures(labelled, 0), new, 0)
    plain = learned.moment_equations(mixture.held, labelled, mixture.probabilities)
    found = mixture.moments()
    assert (np.trace(found.of_classes, axis1=1, axis2=2) > 3 * np.trace(plain.of_classes, axis1=1, axis2=2)).all()
