"""The difference of two kernel density estimates: widths by likelihood, distance in closed form."""

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone

import densdiff as dd
from tests import oracle

LINE, STEP = np.linspace(-40, 40, 80_001, retstep=True)


def log_density(points, rows, sigma, weights):
    """Log of a Gaussian kernel density estimate at each point, (k,)."""
    squared = np.square(points[:, None, :] - rows[None, :, :]).sum(axis=2)
    peak = rows.shape[1] / 2 * np.log(2 * np.pi * sigma**2)
    return logsumexp(-squared / (2 * sigma**2), axis=1, b=weights / weights.sum()) - peak


def likelihood_width(rows, sigmas, labels, weights):
    """The sigma of highest hold-out log-likelihood, one density estimate per sigma, repeat and fold."""
    scores = np.zeros(len(sigmas))
    for i, sigma in enumerate(sigmas):
        for repeat in labels:
            for fold in np.unique(repeat):
                out = repeat == fold
                scores[i] += weights[out] @ log_density(rows[out], rows[~out], sigma, weights[~out])
    return sigmas[int(np.argmax(scores))]


def test_predict_is_the_difference_of_two_density_estimates(draw):
    x, y = draw(0)
    model = dd.KDEDifference(0.6, standardize=False).fit(x, y)
    p, q = (np.exp(log_density(y, rows, 0.6, np.ones(len(rows)))) for rows in (x, y))
    np.testing.assert_allclose(model.predict(y), p - q, rtol=1e-10, atol=1e-13)
    assert model.sigma_ == (0.6, 0.6)


def test_standardized_width_is_in_pooled_deviations(draw):
    x, y = draw(1, d=1)
    deviation = np.concatenate([x, y]).std()
    scaled = dd.KDEDifference(0.6).fit(x, y)
    plain = dd.KDEDifference(0.6 * deviation, standardize=False).fit(x, y)
    np.testing.assert_allclose(scaled.predict(y), plain.predict(y), rtol=1e-9, atol=1e-12)
    assert scaled.sigma_ == (0.6, 0.6)


@pytest.mark.parametrize("weighted", [False, True])
def test_closed_form_distance_is_the_integral(draw, weighted):
    x, y = draw(2, d=1)
    weights = np.random.default_rng(0).random(len(x)) if weighted else None
    model = dd.KDEDifference(random_state=0).fit(x, 3 * y, weights_x=weights)
    assert model.sigma_[0] != model.sigma_[1]
    found = model.l2_distance()
    f = model.predict(LINE)
    assert found.squared == pytest.approx(STEP * np.square(f).sum(), rel=1e-6)
    assert STEP * f.sum() == pytest.approx(0.0, abs=1e-9)


def test_normalized_distance_is_over_the_estimates_own_norms(draw):
    x, y = draw(3, d=1)
    model = dd.KDEDifference(0.5, standardize=False).fit(x, y)
    p, q = (np.exp(log_density(LINE[:, None], rows, 0.5, np.ones(len(rows)))) for rows in (x, y))
    expected = np.square(p - q).sum() / (np.square(p).sum() + np.square(q).sum())
    assert model.l2_distance().normalized == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("sigma", "d"), [("cv", 1), ("cv", 3), ([0.1, 0.2, 0.35, 0.5, 0.9, 2.0], 2)])
def test_widths_maximize_the_hold_out_likelihood_of_the_plain_loop(draw, sigma, d, weighted):
    x, y = draw(4, 45, 32, d)
    random = np.random.default_rng(0)
    weights = [random.random(len(rows)) + 0.2 if weighted else np.ones(len(rows)) for rows in (x, y)]
    model = dd.KDEDifference(sigma, standardize=False, random_state=0).fit(x, y, *weights)
    folds, data = model.prepared_.folds, model.prepared_
    sigmas = np.array(sigma) if d == 2 else data.ladder() * data.scaling.sigma_unit
    parts = zip((x, y), (folds.groups_x.all(), folds.groups_y.all()), weights, strict=True)
    for found, (rows, groups, omega) in zip(model.sigma_, parts, strict=True):
        expected = likelihood_width(rows, sigmas, oracle.fold_labels(folds.members, groups), omega)
        assert found == pytest.approx(expected, rel=1e-12)


def test_each_sample_has_a_width_of_its_own():
    random = np.random.default_rng(0)
    narrow, wide = random.normal(size=(200, 1)), 10 * random.normal(size=(200, 1))
    sigma = dd.KDEDifference(standardize=False, random_state=0).fit(narrow, wide).sigma_
    assert sigma[1] > 4 * sigma[0]


def test_an_outlier_does_not_forbid_every_width_but_the_widest():
    random = np.random.default_rng(0)
    x = np.concatenate([random.normal(size=(200, 1)), [[1e6]]])
    model = dd.KDEDifference(standardize=False, random_state=0).fit(x, random.normal(size=(200, 1)))
    assert max(model.sigma_) < 5


def test_integer_weights_equal_repeated_rows(draw):
    x, y = draw(5)
    counts = np.random.default_rng(0).integers(1, 5, len(x))
    weighted = dd.KDEDifference(0.5, standardize=False).fit(x, y, weights_x=counts)
    repeated = dd.KDEDifference(0.5, standardize=False).fit(np.repeat(x, counts, axis=0), y)
    np.testing.assert_allclose(weighted.predict(y), repeated.predict(y), rtol=1e-10, atol=1e-13)
    assert weighted.l2_distance().squared == pytest.approx(repeated.l2_distance().squared, rel=1e-10)


def test_zero_weights_equal_absent_rows(draw):
    x, y = draw(6)
    weights = np.arange(len(y)) % 2
    zeroed = dd.KDEDifference(random_state=0).fit(x, y, weights_y=weights)
    absent = dd.KDEDifference(random_state=0).fit(x, y[weights > 0])
    assert zeroed.l2_distance() == absent.l2_distance()


def test_clone_copies_the_parameters():
    copy = clone(dd.KDEDifference([0.5, 1.0], folds=3).set_params(standardize=False))
    assert copy.get_params() == {"sigma": [0.5, 1.0], "folds": 3, "standardize": False, "random_state": None}


@pytest.mark.parametrize(("name", "value"), [("sigma", 0), ("sigma", -1), ("sigma", np.nan), ("folds", 1)])
def test_impossible_parameters_are_named(draw, name, value):
    with pytest.raises(dd.InputError, match=name):
        dd.KDEDifference(**{name: value}).fit(*draw(9))


def test_high_dimension_stays_finite_through_logs(draw):
    x, y = draw(10, 15, 12, 500)
    with pytest.warns(dd.DensDiffWarning, match="rows and columns swapped"):
        model = dd.KDEDifference(30.0, standardize=False).fit(x, y)
    with pytest.warns(dd.DensDiffWarning, match="log_squared"):
        result = model.l2_distance()
    unit = 30.0 * np.sqrt(4 * np.pi)  # with this unit of length a product of two kernels has peak 1
    parts = [np.mean(np.exp(-np.square((a[:, None] - b) / 30.0).sum(axis=2) / 4)) for a, b in ((x, x), (y, y), (x, y))]
    expected = np.log(parts[0] + parts[1] - 2 * parts[2]) - 500 * np.log(unit)
    assert result.log_squared == pytest.approx(expected, rel=1e-10)
    assert 0 < result.normalized < 1
