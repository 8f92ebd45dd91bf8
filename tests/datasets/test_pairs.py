"""The truth attached to the toy samples agrees with quadrature, the known formulas and the draws."""

import numpy as np
import pytest

from densdiff.datasets import Mixture, gaussian_shift, mixture_pair, outlier_mixture
from densdiff.errors import InputError

SKEWED = Mixture([0.6, 0.3, 0.1], [0.0, 0.8, 2.0], [0.1, 0.3, 1.0])
BIMODAL = Mixture([0.5, 0.5], [-1.0, 1.0], [0.2, 0.2])
NORMAL = Mixture([1.0], [0.0], [1.0])

# A plain sum over a fine grid integrates smooth functions that vanish at both ends to rounding error.
LINE, STEP = np.linspace(-14, 14, 20_001, retstep=True)


@pytest.mark.parametrize("d", [1, 2, 5, 30])
@pytest.mark.parametrize("mu", [0.0, 0.2, 0.8])
def test_paper_gaussians_have_the_paper_distance_in_every_dimension(mu, d):
    pair = gaussian_shift(mu, d=d, n=5, random_state=0)
    assert pair.l2 == pytest.approx(2 * (1 - np.exp(-np.pi * mu**2)), abs=1e-13)
    assert pair.normalized == pytest.approx(1 - np.exp(-np.pi * mu**2), abs=1e-13)
    assert pair.kl == pytest.approx(2 * np.pi * mu**2, abs=1e-13)


@pytest.mark.parametrize(("p", "q"), [(SKEWED, NORMAL), (BIMODAL, SKEWED), (BIMODAL, BIMODAL)])
def test_mixture_distance_equals_quadrature_of_the_difference(p, q):
    pair = mixture_pair(p, q, n=2, random_state=0)
    squared = STEP * np.sum(pair.difference(LINE) ** 2)
    norms = STEP * np.sum(p(LINE) ** 2 + q(LINE) ** 2)
    assert pair.l2 == pytest.approx(squared, abs=1e-10)
    assert pair.normalized == pytest.approx(squared / norms, abs=1e-10)


def test_two_column_distance_equals_quadrature():
    p = Mixture([0.3, 0.7], [[0.0, 0.5], [1.0, -0.5]], [0.2, 0.5])
    q = Mixture([1.0], [[0.3, 0.0]], [0.4])
    pair = mixture_pair(p, q, n=2, random_state=0)
    axis, step = np.linspace(-8, 8, 301, retstep=True)
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    assert pair.l2 == pytest.approx(step**2 * np.sum(pair.difference(points) ** 2), abs=1e-10)


@pytest.mark.parametrize(("mu", "eta"), [(0.0, 0.1), (2.0, 0.1), (4.0, 0.35)])
def test_mixture_kl_equals_direct_quadrature(mu, eta):
    pair = outlier_mixture(mu, eta, n=2, random_state=0)
    expected = STEP * np.sum(pair.p(LINE) * (pair.p.log_density(LINE) - pair.q.log_density(LINE)))
    assert pair.kl == pytest.approx(expected, abs=1e-9)


def test_kl_of_far_outliers_is_the_separated_limit():
    # Components 1e4 apart do not overlap: KL = (1-eta) log(1-eta) + eta (log eta + KL of the outliers alone).
    mu, eta = 1e4, 0.1
    alone = 0.5 * (mu**2 + 1 / 16 - 1 - np.log(1 / 16))
    expected = (1 - eta) * np.log(1 - eta) + eta * (np.log(eta) + alone)
    assert outlier_mixture(mu, eta, n=2).kl == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("eta", [0.0, 1.0])
def test_outlier_share_may_be_none_or_all(eta):
    pair = outlier_mixture(3.0, eta, n=50, random_state=1)
    assert pair.kl == pytest.approx(0.0 if eta == 0 else 0.5 * (9 + 1 / 16 - 1 + np.log(16)), abs=1e-12)
    assert abs(pair.x.mean() - 3 * eta) < 5 / np.sqrt(50)


def test_draws_follow_the_attached_density():
    pair = mixture_pair(SKEWED, BIMODAL, n=40_000, m=20_000, random_state=3)
    for rows, density in ((pair.x, SKEWED), (pair.y, BIMODAL)):
        for low, high in ((-3, -0.5), (-0.5, 0.5), (0.5, 4)):
            middle = np.linspace(low, high, 2001)[:-1] + (high - low) / 4000
            mass = (high - low) * np.mean(density(middle))
            share = np.mean((rows > low) & (rows < high))
            assert abs(share - mass) < 5 * np.sqrt(0.25 / len(rows))


def test_seed_reproduces_and_generator_moves_on():
    first, again = (
        gaussian_shift(n=7, m=4, d=2, random_state=5),
        gaussian_shift(n=7, m=4, d=2, random_state=5),
    )
    assert first.x.shape == (7, 2)
    assert first.y.shape == (4, 2)
    np.testing.assert_array_equal(first.x, again.x)
    np.testing.assert_array_equal(first.y, again.y)
    rng = np.random.default_rng(5)
    one, two = gaussian_shift(n=7, m=4, d=2, random_state=rng), gaussian_shift(n=7, random_state=rng)
    np.testing.assert_array_equal(one.x, first.x)
    assert not np.array_equal(two.x[:, 0], one.x[:, 0])


def test_sizes_default_to_equal_samples():
    assert len(outlier_mixture(n=13).y) == 13


@pytest.mark.parametrize(
    "call",
    [
        lambda: gaussian_shift(d=0),
        lambda: gaussian_shift(n=0),
        lambda: gaussian_shift(m=2.5),
        lambda: gaussian_shift(mu=float("nan")),
        lambda: gaussian_shift(random_state="seed"),
        lambda: gaussian_shift(random_state=-1),
        lambda: outlier_mixture(eta=1.5),
        lambda: Mixture([0.5, 0.4], [0.0, 1.0], [1.0, 1.0]),
        lambda: Mixture([1.0], [0.0], [0.0]),
        lambda: Mixture([1.0], [[0.0]], [1.0, 2.0]),
        lambda: mixture_pair(NORMAL, Mixture([1.0], [[0.0, 0.0]], [1.0])),
        lambda: gaussian_shift(d=2, n=2).difference([1.0, 2.0, 3.0]),
    ],
)
def test_impossible_arguments_are_input_errors(call):
    with pytest.raises(InputError, match=r"must|need"):
        call()


def test_kl_of_a_mixture_in_two_columns_is_refused():
    two = Mixture([0.5, 0.5], [[0.0, 0.0], [1.0, 1.0]], [1.0, 1.0])
    with pytest.raises(InputError, match="d = 2"):
        _ = mixture_pair(two, two, n=2).kl
