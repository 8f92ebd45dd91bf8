"""The paper's weighted regularized least-squares classifier with a Gaussian kernel (4.2.1).

The least squares themselves are in `core.class_scores`.
"""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin

from densdiff.core import kernel
from densdiff.core.class_scores import LEAST_SCORE, KernelRidge, row_slices
from densdiff.core.scaling import FloatArray, pooled_scaling
from densdiff.core.selection import stratified_folds
from densdiff.data import parameters
from densdiff.data.points import check_labelled, check_points
from densdiff.errors import not_fitted
from densdiff.progress import long_work
from densdiff.threads import on_one_thread

_WIDTHS = np.array([4.0, 2.0, 1.0, 0.5, 0.25])  # of the median distance
_LAMS = np.logspace(0.5, -3.5, 9)


class LeastSquaresClassifier(ClassifierMixin, BaseEstimator):
    """Kernel least squares on class indicators, with row weights.

    Minimizes the weighted squared error of one score for each class plus ``lam`` times the squared norm of the scores
    in the space of a Gaussian kernel. Under class-prior change, weight each row by new over old share of its class.

    Parameters
    ----------
    sigma : "cv", float or sequence of float
        Width of the kernel, in standardized units when ``standardize``; "cv" searches around the median distance.
    lam : "cv", float or sequence of float
        Penalty as a multiple of the kernel's mean eigenvalue on the training rows, hence free of units.
    folds, standardize, random_state
        As for `LSDD`; folds are dealt within each class.

    Attributes
    ----------
    classes_ : array of shape (K,)
    sigma_, lam_ : float
    n_features_in_, feature_names_, seed_

    Examples
    --------
    >>> import densdiff as dd
    >>> model = dd.LeastSquaresClassifier(random_state=0).fit([[0.0], [0.1], [1.0], [1.1]], ["a", "a", "b", "b"])
    >>> model.predict([[0.2], [0.9]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        sigma: Any = "cv",
        lam: Any = "cv",
        *,
        folds: int = 5,
        standardize: bool = True,
        random_state: Any = None,
    ) -> None:
        self.sigma = sigma
        self.lam = lam
        self.folds = folds
        self.standardize = standardize
        self.random_state = random_state

    @long_work("fitting the classifier")
    @on_one_thread
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn one score for each class from rows X, labels y and optional row weights."""
        sigmas, lams = parameters.positive_grid(self.sigma, "sigma"), parameters.positive_grid(self.lam, "lam")
        folds = parameters.whole(self.folds, "folds", 2)
        parameters.flag(self.standardize, "standardize")
        data = check_labelled(X, y, sample_weight)
        self.seed_ = parameters.seed(self.random_state)
        weights = data.weights / data.weights.sum()
        self._scaling, rows, _ = pooled_scaling(data.rows, data.rows, weights, weights, self.standardize)
        unit = self._scaling.sigma_unit
        inner = np.sort(_WIDTHS * kernel.median_distance(rows) if sigmas is None else sigmas / unit)[::-1]
        lams = _LAMS if lams is None else lams
        targets = np.eye(len(data.classes))[data.codes]
        level, i = _choose_model(
            rows, targets, weights, inner, lams, stratified_folds(data.codes, self.seed_, min(folds, len(data.codes)))
        )
        self._rows, self._sigma = rows, float(inner[level])
        self._ridge = KernelRidge(kernel.gaussian(rows, rows, self._sigma), targets, weights, lams[[i]])
        self.classes_ = data.classes
        self.sigma_, self.lam_ = self._sigma * unit, float(lams[i])
        self.feature_names_ = data.names
        self.n_features_in_ = len(data.names)
        return self

    @on_one_thread
    def _scores(self, X: Any) -> FloatArray:
        """Score of each class at each row of X, (m, K)."""
        if not hasattr(self, "classes_"):
            raise not_fitted("this LeastSquaresClassifier is not fitted yet; call fit(X, y) first")
        rows = self._scaling.apply(check_points(X, self.feature_names_))
        scores = np.empty((len(rows), len(self.classes_)))
        for block in row_slices(rows, len(self._rows)):
            scores[block] = self._ridge.scores(kernel.gaussian(rows[block], self._rows, self._sigma))[0]
        return scores

    def decision_function(self, X: Any) -> FloatArray:
        """Scores of the classes, (m, K); for two classes the second less the first, (m,)."""
        scores = self._scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    def predict_proba(self, X: Any) -> FloatArray:
        """Scores cut at 0.01 and made to sum to 1, (m, K)."""
        scores = np.maximum(self._scores(X), LEAST_SCORE)
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class with the highest score, (m,)."""
        scores = self._scores(X)
        return np.asarray(self.classes_[scores.argmax(axis=1)])


def _choose_model(
    rows: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
    sigmas: FloatArray,
    lams: FloatArray,
    groups: npt.NDArray[np.intp],
) -> tuple[int, int]:
    """Indices of the sigma and lam with the smallest weighted squared error on held-out rows."""
    if len(sigmas) == len(lams) == 1:
        return 0, 0
    errors = np.zeros((len(sigmas), len(lams)))
    for level, sigma in enumerate(map(float, sigmas)):
        gram = kernel.gaussian(rows, rows, sigma)
        for fold in range(int(groups.max()) + 1):
            held = groups == fold
            train = weights[~held] / weights[~held].sum()
            ridge = KernelRidge(gram[np.ix_(~held, ~held)], targets[~held], train, lams)
            missed = ridge.scores(gram[np.ix_(held, ~held)]) - targets[held]
            errors[level] += np.square(missed).sum(axis=2) @ weights[held]
    return divmod(int(errors.argmin()), len(lams))
