"""KLIEP: the density ratio p/q by maximum likelihood, and the KL divergence (Sugiyama et al. 2008), a rival of LSDD.

The likelihood is maximized in `core.density_ratio`.
"""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from densdiff import messages
from densdiff.core import density_ratio, kernel, selection
from densdiff.core.scaling import FloatArray
from densdiff.data import parameters
from densdiff.data.pair import check_arrays
from densdiff.data.points import check_points
from densdiff.engines.kernel_sums import CenterFeatures, evaluate, group_sums
from densdiff.errors import not_fitted
from densdiff.progress import long_work
from densdiff.solvers.prepared import Prepared, prepare
from densdiff.threads import on_one_thread

_GAP_WORTH_A_WARNING = 1e-3  # of a log-likelihood


class KLIEP(BaseEstimator):
    """Kullback-Leibler importance estimation: the ratio p/q of two densities as a sum of Gaussian kernels.

    Maximizes the mean of log r over X among r >= 0 with mean 1 over Y. Where Y has no rows a ratio has no upper bound,
    so for samples that hardly overlap the divergence is large and says little about its size.

    Parameters
    ----------
    sigma : "cv", float or sequence of float
        Kernel width: searched over the data's own range, given, or searched over the sequence; in standardized units
        when ``standardize``.
    n_centers : int
        How many rows of X become kernel centers (all of them if there are fewer).
    folds, standardize, random_state
        As for `LSDD`; one partition into folds.

    Attributes
    ----------
    sigma_ : float
    kl_divergence_ : float
        Mean of log r over X, the estimate of KL(p || q); not clipped at 0.
    cv_results_ : dict of arrays
        "sigma", "mean_score", "standard_error", "rank" (k,) and "fold_scores" (k, folds). A score is the mean of log r
        over held rows of X minus that of r over held rows of Y, plus 1: larger is better, and 0 is no difference.
    centers_ : array of shape (b, d)
    alpha_ : array of shape (b,)
        ``r(x) = alpha_ @ psi(x)``, all at least 0.
    samples_, feature_names_, n_features_in_, seed_
        As for `LSDD`.

    References
    ----------
    Sugiyama et al., "Direct importance estimation for covariate shift adaptation", Annals of the Institute of
    Statistical Mathematics 60 (2008).

    Examples
    --------
    >>> import densdiff as dd
    >>> pair = dd.datasets.gaussian_shift(mu=0.5, n=200, random_state=0)
    >>> model = dd.KLIEP(random_state=0).fit(pair.x, pair.y)
    >>> model.predict([[0.5], [-0.5]]) > 1
    array([ True, False])
    """

    def __init__(
        self,
        sigma: Any = "cv",
        *,
        n_centers: int = 300,
        folds: int = 5,
        standardize: bool = True,
        random_state: Any = None,
    ) -> None:
        self.sigma = sigma
        self.n_centers = n_centers
        self.folds = folds
        self.standardize = standardize
        self.random_state = random_state

    @long_work("fitting")
    @on_one_thread
    def fit(self, X: Any, Y: Any, weights_x: Any = None, weights_y: Any = None) -> Self:
        """Estimate p/q from X, shape (n, d), and Y, shape (m, d), with optional row weights."""
        grid = parameters.positive_grid(self.sigma, "sigma")
        folds = parameters.whole(self.folds, "folds", 2)
        n_centers = parameters.whole(self.n_centers, "n_centers", 1)
        parameters.flag(self.standardize, "standardize")
        pair = check_arrays(X, Y, weights_x, weights_y)
        data = prepare(pair, standardize=self.standardize, folds=folds, random_state=self.random_state)
        chosen = np.sort(selection.draw_rows(data.seed, len(data.x.rows), n_centers))  # (b,)
        sigmas = data.sigmas(grid)
        scores = _fold_scores(data, chosen, sigmas)
        order = np.lexsort((-sigmas, -scores.mean(axis=1)))
        inner = float(sigmas[order[0]])
        alpha, divergence, gap = _last_fit(data, chosen, inner)
        notes = list(data.notes)
        if gap > _GAP_WORTH_A_WARNING:
            messages.warn(
                f"the iterations did not converge: the log-likelihood may be {gap:.2g} below its maximum", notes
            )
        # nothing is stored before everything has succeeded: a refused refit leaves the model as it was
        unit = data.scaling.sigma_unit
        self._data, self._inner, self._notes = data, (data.x.rows[chosen], inner), tuple(notes)
        self.sigma_ = inner * unit
        self.cv_results_ = {
            "sigma": sigmas * unit,
            "mean_score": scores.mean(axis=1),
            "standard_error": selection.standard_errors(scores, data.n_folds),
            "fold_scores": scores,
            "rank": np.argsort(order) + 1,
        }
        self.centers_ = data.pair.x[chosen]
        self.alpha_ = alpha
        self.kl_divergence_ = divergence
        self.samples_ = (pair.x[:], pair.y[:])
        self.feature_names_ = pair.names
        self.n_features_in_ = len(pair.names)
        self.seed_ = data.seed
        return self

    @long_work("predicting")
    @on_one_thread
    def predict(self, points: Any) -> FloatArray:
        """The ratio p/q at the points, shape (k, d); (k,), at least 0."""
        if not hasattr(self, "alpha_"):
            raise not_fitted("this KLIEP is not fitted yet; call fit(X, Y) first")
        inner = self._data.scaling.apply(check_points(points, self.feature_names_))
        centers, sigma = self._inner
        direct = kernel.needs_direct_differences(kernel.radius(centers, inner), sigma, inner.shape[1])
        return evaluate(inner, centers, self.alpha_, sigma, direct=direct)


def _direct(data: Prepared, sigma: float) -> bool:
    return kernel.needs_direct_differences(kernel.radius(data.x.rows[:], data.y.rows[:]), sigma, data.x.rows.shape[1])


def _fold_scores(data: Prepared, chosen: selection.IntArray, sigmas: FloatArray) -> FloatArray:
    """Hold-out scores of each sigma and fold of the first partition, (S, folds)."""
    rows, omega, centers = data.x.rows[:], data.x.omega, data.x.rows[chosen]
    groups_x, groups_y = data.folds.groups_x.all(), data.folds.groups_y.all()
    direct = _direct(data, float(sigmas[-1]))
    members = data.folds.members[: data.n_folds]  # (folds, groups)
    features = CenterFeatures(centers, sigmas, direct)
    sums = group_sums(data.y.rows[:], data.y.omega, groups_y, features)  # (S, groups, b)
    mass = np.bincount(groups_y, weights=data.y.omega).astype(np.float64)
    out = members[:, groups_x].T > 0  # (n, folds)
    train, held = (omega[:, None] * side for side in (~out, out))
    rows_x = train / train.sum(axis=0), held / held.sum(axis=0)
    scores = np.empty((len(sigmas), data.n_folds))
    for level, psi in enumerate(density_ratio.feature_ladder(kernel.squared_distances(rows, centers, direct), sigmas)):
        means_y = selection.split_means(sums[level], mass, members)  # two (b, folds)
        scores[level] = density_ratio.hold_out_scores(psi, rows_x, means_y, ~out[chosen])
    return scores


def _last_fit(data: Prepared, chosen: selection.IntArray, sigma: float) -> tuple[FloatArray, float, float]:
    """Coefficients (b,) from all rows at one sigma, the mean log ratio over X, and the gap left."""
    centers, direct, one = data.x.rows[chosen], _direct(data, sigma), np.array([sigma])
    one_group = np.zeros(len(data.y.rows), dtype=np.intp)
    features = CenterFeatures(centers, one, direct)
    means = group_sums(data.y.rows[:], data.y.omega, one_group, features)[0, 0]  # (b,)
    psi = next(density_ratio.feature_ladder(kernel.squared_distances(data.x.rows[:], centers, direct), one))  # (n, b)
    alpha, gap = density_ratio.maximize(psi, data.x.omega, means)
    return alpha, float(data.x.omega @ density_ratio.log_ratios(psi, alpha)), gap
