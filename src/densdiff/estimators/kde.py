"""Difference of two kernel density estimates: the paper's two-step rival (2.1), its L2 distance in closed form."""

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from densdiff import messages
from densdiff.core import kernel
from densdiff.core.scaling import FloatArray, from_log, saturates
from densdiff.data import parameters
from densdiff.data.pair import check_arrays
from densdiff.data.points import check_points
from densdiff.engines.kernel_sums import evaluate
from densdiff.errors import not_fitted
from densdiff.estimators.results import DistanceResult
from densdiff.progress import long_work
from densdiff.solvers.base import Model
from densdiff.solvers.likelihood_width import likelihood_width, log_peak, needs_direct
from densdiff.solvers.prepared import Prepared, WeightedSample, prepare
from densdiff.threads import on_one_thread


class KDEDifference(BaseEstimator):
    """Difference of two Gaussian kernel density estimates, one width per sample.

    Parameters
    ----------
    sigma : "cv", float or sequence of float
        Kernel width: each sample's own by likelihood cross-validation, the same given one for both, or
        searched over the sequence; in standardized units when ``standardize``.
    folds, standardize, random_state
        As for `LSDD`.

    Attributes
    ----------
    sigma_ : tuple of two floats
        Widths of X and of Y.
    solver_, samples_, feature_names_, n_features_in_, seed_
        As for `LSDD`.

    Examples
    --------
    >>> import densdiff as dd
    >>> pair = dd.datasets.gaussian_shift(mu=0.5, n=200, random_state=0)
    >>> model = dd.KDEDifference(random_state=0).fit(pair.x, pair.y)
    >>> bool(model.l2_distance().squared < 2 * pair.l2)
    True
    """

    def __init__(
        self, sigma: Any = "cv", *, folds: int = 5, standardize: bool = True, random_state: Any = None
    ) -> None:
        self.sigma = sigma
        self.folds = folds
        self.standardize = standardize
        self.random_state = random_state

    @long_work("fitting")
    @on_one_thread
    def fit(self, X: Any, Y: Any, weights_x: Any = None, weights_y: Any = None) -> Self:
        """Estimate p and q from X, shape (n, d), and Y, shape (m, d), with optional row weights."""
        grid = parameters.positive_grid(self.sigma, "sigma")
        folds = parameters.whole(self.folds, "folds", 2)
        parameters.flag(self.standardize, "standardize")
        pair = check_arrays(X, Y, weights_x, weights_y)
        data = prepare(pair, standardize=self.standardize, folds=folds, random_state=self.random_state)
        sigmas = data.sigmas(grid)
        self._inner = tuple(
            likelihood_width(sample, groups, data.folds.members, sigmas)
            for sample, groups in ((data.x, data.folds.groups_x.all()), (data.y, data.folds.groups_y.all()))
        )
        self.prepared_ = data
        self._is_sigma_given = len(sigmas) == 1
        self.sigma_ = tuple(sigma * data.scaling.sigma_unit for sigma in self._inner)
        self.solver_ = "kde"
        self.samples_ = (pair.x[:], pair.y[:])
        self.feature_names_ = pair.names
        self.n_features_in_ = len(pair.names)
        self.seed_ = data.seed
        return self

    def _fitted(self) -> Prepared:
        if not hasattr(self, "sigma_"):
            raise not_fitted("this KDEDifference is not fitted yet; call fit(X, Y) first")
        return self.prepared_

    @long_work("predicting")
    @on_one_thread
    def predict(self, points: Any) -> FloatArray:
        """Difference of the two density estimates at the points, in the user's units; (k,)."""
        data = self._fitted()
        inner = data.scaling.apply(check_points(points, self.feature_names_))
        p, q = (
            from_log(
                evaluate(inner, sample.rows[:], sample.omega, sigma, direct=needs_direct(sample.rows[:], inner, sigma)),
                -log_peak(sigma, inner.shape[1]) - data.scaling.log_volume,
            )
            for sample, sigma in zip((data.x, data.y), self._inner, strict=True)
        )
        return np.asarray(p - q)

    @long_work("measuring the distance")
    @on_one_thread
    def l2_distance(self, level: float = 0.95) -> DistanceResult:
        """The squared L2 distance of the two density estimates, in closed form."""
        data = self._fitted()
        level = parameters.fraction(level, "level")
        (x, wide_x), (y, wide_y) = zip((data.x, data.y), self._inner, strict=True)
        products = [
            overlap(x, x, np.sqrt(2.0) * wide_x),
            overlap(y, y, np.sqrt(2.0) * wide_y),
            overlap(x, y, float(np.hypot(wide_x, wide_y))),
        ]  # pairs (value, log factor)
        top = max(log for _, log in products)
        with np.errstate(under="ignore"):
            pp, qq, pq = (value * np.exp(log - top) for value, log in products)
        value, log_factor = max(0.0, pp + qq - 2 * pq), top - data.scaling.log_volume
        notes = list(data.notes)
        if saturates(value, log_factor):
            notes.append("the squared distance is outside the range of float64; read log_squared or normalized instead")
            messages.warn(notes[-1])
        squared = float(from_log(value, log_factor))
        return DistanceResult(
            squared=squared,
            normalized=float(min(1.0, value / (pp + qq))),
            standard_error=None,
            interval=None,
            normalized_interval=None,
            level=level,
            estimates={"plug_in": squared},
            log_squared=float(np.log(value) + log_factor) if value > 0 else None,
            sigma=(self.sigma_[0], self.sigma_[1]),
            lam=None,
            solver="kde",
            n_centers=None,
            n_x=len(data.checked.x),
            n_y=len(data.checked.y),
            seed=self.seed_,
            tuning="sigma given" if self._is_sigma_given else f"{data.n_folds}-fold likelihood cross-validation",
            warnings=tuple(notes),
        )


def overlap(a: WeightedSample, b: WeightedSample, sigma: float) -> tuple[float, float]:
    """The integral of the product of two estimates whose squared widths add to sigma^2: value and log factor."""
    rows_a, rows_b = a.rows[:], b.rows[:]
    values = evaluate(rows_a, rows_b, b.omega, sigma, direct=needs_direct(rows_a, rows_b, sigma))
    return float(a.omega @ values), -log_peak(sigma, rows_a.shape[1])


class GaussianOverlap:
    """The integral of the product of two Gaussians around two rows: the kernel of a density estimate's L2 distance."""

    def kernel(self, model: Model, a: FloatArray, b: FloatArray) -> FloatArray:
        """The integral for each two of two sets of rows, (k, l), times the scale; only sigma of the model is used."""
        return kernel.gaussian(a, b, float(np.sqrt(2.0)) * model.sigma)

    def kernels(self, models: Sequence[Model], a: FloatArray, b: FloatArray) -> Iterator[FloatArray]:
        """The integrals of several models, (k, l) each."""
        return (self.kernel(model, a, b) for model in models)

    def __init__(self, d: int) -> None:
        self.d = d

    def log_scale(self, sigma: float) -> float:
        """log of (4 pi sigma^2)^(d/2)."""
        return log_peak(float(np.sqrt(2.0)) * sigma, self.d)
