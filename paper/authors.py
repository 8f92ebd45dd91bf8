"""The estimator with the settings of the paper's authors, through the public interface."""

import math

import numpy as np
import numpy.typing as npt

import densdiff as dd

# Absolute widths and regularizations, for data as they are.
SIGMAS = (0.25, 0.5, 0.75, 1.0, 1.2, 1.5, 2.0, 2.5, 2.2, 3.0, 5.0)
LAMBDAS = np.logspace(-3, 1, 9)


def authors_lsdd(x: npt.ArrayLike, y: npt.ArrayLike, seed: int) -> dd.LSDD:
    """Fit LSDD as the authors do: their grid, 5 folds, min(300, n + m) centers, no standardization.

    Our `lam` is the paper's lambda over (pi sigma^2)^(d/2), so each sigma has a grid of its own; the folds are the
    same for all, as they follow from the seed.
    """
    x, y = (np.asarray(rows, dtype=np.float64) for rows in (x, y))
    d = 1 if x.ndim == 1 else x.shape[1]
    best = (math.inf, 0.0, 0.0)
    for sigma in SIGMAS:
        lams = LAMBDAS / (math.pi * sigma**2) ** (d / 2)
        found = _model(sigma, lams, seed).fit(x, y)
        best = min(best, (float(found.cv_results_["mean_score"].min()), sigma, found.lam_))
    return _model(*best[1:], seed).fit(x, y)


def authors_distance(model: dd.LSDD) -> float:
    """The paper's squared distance: 2 h'theta - theta'H theta = h'theta + lambda |theta|^2 (E6).

    It is ``estimates["regularization_corrected"]`` of `l2_distance` without the work for an interval.
    """
    x, y = model.samples_
    scale = (math.pi * model.sigma_**2) ** (x.shape[1] / 2)
    return float(model.predict(x).mean() - model.predict(y).mean() + model.lam_ * scale * (model.theta_ @ model.theta_))


def _model(sigma: float, lam: float | npt.NDArray[np.float64], seed: int) -> dd.LSDD:
    return dd.LSDD(sigma=sigma, lam=lam, solver="centers", standardize=False, random_state=seed)
