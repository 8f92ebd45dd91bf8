"""How near f itself is to p - q, beside the difference of two kernel density estimates."""

import numpy as np
from joblib import parallel_config

from benchmarks import curves
from benchmarks.known_densities import pairs, quadrature


def test_f_is_nearer_to_the_truth_than_two_density_estimates():
    """A part of `make bench ARGS=curves`: all its pairs but that of equal densities, 5 runs, where .90 is asked for.

    The geometric mean of the ratios has a standard error of about 0.04 here; the seeds are fixed.
    """
    ratios = []
    with parallel_config("sequential"):
        for label, (p, q) in pairs(1).items():
            if label not in curves.SPECIAL:
                errors = curves.pair_errors(p, q, (220, 220), 5, methods=(curves.OURS, curves.KDE))
                ratios.append(curves.ratio(errors[curves.OURS], errors[curves.KDE]))
    assert curves.geometric_mean(ratios).value <= 0.95


def test_more_rows_than_a_block_holds_give_a_better_f():
    """The error at 2000 rows, one block, is about three times that at 9000, which are looked at in blocks."""
    p, q = pairs(5)["shift 1.4"]
    points, weights = quadrature(p, q)
    points, weights = points[::10], weights[::10]
    errors = []
    for n in (2000, 9000):
        random = np.random.default_rng(n)
        model = curves.by_lsdd(p.sample(n, random), q.sample(n, random), 0)
        errors.append(weights @ np.square(model.predict(points) - (p(points) - q(points))))
    assert errors[1] < 0.5 * errors[0]
