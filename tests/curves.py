"""The slow, obvious twins of f averaged over models: scores from matrices of all pairs, f as a sum over models."""

import numpy as np

from densdiff.data.pair import check_pair
from densdiff.solvers import drawn_rows
from densdiff.solvers.prepared import prepare
from tests import oracle

RATIO = 0.1  # of neighbouring lams
LAMS = RATIO ** np.arange(7.0)
SHARE = 5.0  # rows' say that the scores of p and q have in that of f


def prepared(x, y, weights=(None, None)):
    return prepare(check_pair(x, y, *weights), standardize=True, folds=2, random_state=0)


def rows_in_widths(data):
    """The rows in widths of their own smoothness, as `find_curve` takes them."""
    return drawn_rows.smooth_widths(drawn_rows.common_widths(drawn_rows.rows_of(data)))


def samples_of(rows):
    """Numbers with codes, and weights, of X and of Y."""
    in_x = rows.groups < rows.n_groups
    together = np.hstack([rows.numbers, rows.codes])
    return (together[in_x], rows.omega[in_x]), (together[~in_x], rows.omega[~in_x])


class Model:
    """K_F and K_FF of E16 for one sigma and lam; the coefficients e_t by multiplying the factors of the columns."""

    def __init__(self, levels, steps, sigma, lam):
        self.levels, self.steps, self.sigma, self.lam = list(levels), list(steps), sigma, lam

    def coefficients(self, a, b):
        agree = (a[:, None, :] == b[None, :, :]).astype(float)
        powers = {0: np.ones((len(a), len(b)))}
        for j, (levels, step) in enumerate(zip(self.levels, self.steps, strict=True)):
            product = {}
            for t, e in powers.items():
                for power, factor in ((t, 1 / levels), (t + step, agree[:, :, j] - 1 / levels)):
                    product[power] = product.get(power, 0.0) + e * factor
            powers = product
        return powers

    def kernels(self, a, b):
        d = a.shape[1] - len(self.levels)
        apart = oracle.distances(a[:, :d], b[:, :d])
        plain, squared = np.zeros((2, len(a), len(b)))
        for t, e in self.coefficients(a[:, d:], b[:, d:]).items():
            kernels = oracle.filter_kernels(apart, self.sigma, self.lam * RATIO ** -float(t), d)
            plain += e * kernels[0]
            squared += e * kernels[1]
        return plain, squared


def mean_over_pairs(kernel, omega_a, omega_b, within):
    pairs = np.outer(omega_a, omega_b)
    if within:
        np.fill_diagonal(pairs, 0.0)
    return (pairs * kernel).sum() / pairs.sum()


def score(blocks, sizes, model):
    """E17's score of f plus the share of those of p and q, the noise in f, and the size of the terms.

    ``blocks`` hold the samples of each block; pairs are those within blocks, ``sizes`` those of all rows.
    """
    means = []
    for (x, omega_x), (y, omega_y) in blocks:
        kernels = model.kernels(x, x), model.kernels(y, y), model.kernels(x, y)
        weights = (omega_x, omega_x, True), (omega_y, omega_y, True), (omega_x, omega_y, False)
        means.append([[mean_over_pairs(k, *w) for k in both] for both, w in zip(kernels, weights, strict=True)])
    (xx, xx2), (yy, yy2), (xy, xy2) = np.mean(means, axis=0)
    (n, m), x = sizes, blocks[0][0][0]
    peak = model.kernels(x[:1], x[:1])[1][0, 0]
    noise_x, noise_y = (peak - xx2) / n, (peak - yy2) / m
    of_f = (xx2 - 2 * xy2 + yy2) + noise_x + noise_y - 2 * (xx - 2 * xy + yy)
    of_p, of_q = xx2 + noise_x - 2 * xx, yy2 + noise_y - 2 * yy
    share = SHARE * (1 / n + 1 / m)
    size = peak * (1 / n + 1 / m) + (1 + share) * sum(map(abs, (xx2, yy2, 2 * xx, 2 * yy))) + 2 * abs(xy2) + 4 * abs(xy)
    return of_f + share * (of_p + of_q), noise_x + noise_y, size


def averaged(points, rows, weights, sigmas, steps):
    """f as the sum over models of weight times curve, (k,), and the same of the kernels at a row itself."""
    (x, omega_x), (y, omega_y) = samples_of(rows)
    total, peak = np.zeros(len(points)), 0.0
    for i, lam in enumerate(LAMS):
        for level, sigma in enumerate(sigmas):
            if weights[level, i] > 0:
                model = Model(rows.levels, steps, float(sigma), float(lam))
                total += weights[level, i] * (
                    model.kernels(points, x)[0] @ omega_x - model.kernels(points, y)[0] @ omega_y
                )
                peak += weights[level, i] * model.kernels(x[:1], x[:1])[0][0, 0]
    return total, peak
