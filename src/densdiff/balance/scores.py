"""Class scores of rows by models that have seen all labelled rows, and by models that have seen all but a fold.

How the scores of several models are combined is decided in `learned`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from densdiff.balance.features import RowFeatures
from densdiff.balance.labelled import IntArray, LabelledSample
from densdiff.core.class_scores import LEAST_SCORE, FeatureRidge
from densdiff.core.scaling import FloatArray
from densdiff.errors import InputError

Scorer = Callable[[FloatArray], FloatArray]  # rows (m, d) to logarithms of class probabilities (m, K)
LAMS = np.logspace(-2.5, 0.5, 7)
_DECISION_SPREAD = 2.0  # deviation of decision values about their mean over the classes
_LEAST_PROBABILITY = 1e-5  # of a classifier that is certain: its certainty is not worth more


@dataclass(frozen=True)
class ScoreModel:
    """One kind of class scores: ``held`` (n, K) are of labelled rows by models which have not seen them."""

    held: FloatArray
    full: Scorer
    folds: list[Scorer]


def logistic_scores(labelled: LabelledSample, groups: IntArray) -> ScoreModel:
    """Scores by a regularized logistic regression, all classes counting the same."""
    from sklearn.linear_model import LogisticRegression  # loads what answers of other kinds do not need

    def fit(train: LabelledSample) -> Scorer:
        weights = train.balanced * len(train.codes)
        model = LogisticRegression(max_iter=500, tol=1e-3).fit(train.rows, train.codes, weights)
        return lambda rows: _log_probabilities(model, rows)

    return _cross_fitted(labelled, groups, fit)


def classifier_scores(classifier: Any, labelled: LabelledSample, groups: IntArray) -> ScoreModel:
    """Scores by clones of a classifier: logarithms of its probabilities, or else its decision values.

    Probabilities are divided by the shares of the classes, which the classifier was fitted at; decision values have no
    unit, and get that of the logarithms of probabilities of classes which overlap a little.
    """
    is_weighted = any(np.ptp(labelled.omega[labelled.codes == c]) > 0 for c in range(labelled.n_classes))

    def fit(train: LabelledSample) -> Scorer:
        weights = {"sample_weight": train.balanced * len(train.codes)} if is_weighted else {}
        try:
            model = clone(classifier).fit(train.rows, train.codes, **weights)
        except TypeError as error:
            if not is_weighted:
                raise
            name = type(classifier).__name__
            text = f"classifier {name} takes no sample_weight in fit; pass another classifier, or rows without weights"
            raise InputError(text, argument="classifier") from error
        if not hasattr(model, "predict_proba"):
            return lambda rows: _decision_values(model, rows)
        shares = np.full(train.n_classes, 1.0) if is_weighted else np.bincount(train.codes)
        return lambda rows: _log_probabilities(model, rows) - np.log(shares)

    scores = _cross_fitted(labelled, groups, fit)
    if hasattr(classifier, "predict_proba"):
        return scores
    spread = float((scores.held - scores.held.mean(axis=1, keepdims=True)).std())
    unit = _DECISION_SPREAD / spread if spread > 0 else 1.0
    return ScoreModel(scores.held * unit, _scaled(scores.full, unit), [_scaled(fold, unit) for fold in scores.folds])


def _scaled(scorer: Scorer, unit: float) -> Scorer:
    return lambda rows: unit * scorer(rows)


def _cross_fitted(labelled: LabelledSample, groups: IntArray, fit: Callable[[LabelledSample], Scorer]) -> ScoreModel:
    held, folds = np.empty((len(labelled.codes), labelled.n_classes)), []
    for fold in range(int(groups.max()) + 1):
        out = groups == fold
        folds.append(fit(labelled.select(~out)))
        held[out] = folds[-1](labelled.rows[out])
    return ScoreModel(held, fit(labelled), folds)


def _log_probabilities(model: Any, rows: FloatArray) -> FloatArray:
    return np.log(np.maximum(np.asarray(model.predict_proba(rows), dtype=np.float64), _LEAST_PROBABILITY))


def _decision_values(model: Any, rows: FloatArray) -> FloatArray:
    """Decision values, (m, K); of two classes the first has 0."""
    values = np.asarray(model.decision_function(rows), dtype=np.float64)
    return values if values.ndim == 2 else np.column_stack([np.zeros(len(values)), values])


def learned_kernel_scores(
    labelled: LabelledSample, groups: IntArray, learn: Callable[[LabelledSample], RowFeatures]
) -> ScoreModel:
    """Scores by least squares in the space of a kernel that each fold learns without its rows."""
    held, models = np.empty((len(LAMS), len(labelled.codes), labelled.n_classes)), []
    for fold in range(int(groups.max()) + 1):
        out = groups == fold
        train = labelled.select(~out)
        features = learn(train)
        ridge = FeatureRidge(features(train.rows), train.targets, train.balanced)
        maps = [ridge.slopes(lam) for lam in LAMS]
        of_held = features(labelled.rows[out])
        held[:, out] = [of_held @ slopes + offset for slopes, offset in maps]
        models.append((features, maps))
    errors = np.square(held - labelled.targets).sum(axis=2) @ labelled.balanced
    best, features = int(errors.argmin()), learn(labelled)
    full = FeatureRidge(features(labelled.rows), labelled.targets, labelled.balanced).slopes(LAMS[best])
    folds = [_kernel_scorer(of_fold, maps[best]) for of_fold, maps in models]
    return ScoreModel(_logarithms(held[best]), _kernel_scorer(features, full), folds)


def kernel_scores(labelled: LabelledSample, groups: IntArray, features: RowFeatures) -> ScoreModel:
    """The same for a kernel without labels, whose features of the labelled rows serve all folds."""
    of_rows, targets, weights = features(labelled.rows), labelled.targets, labelled.balanced
    ridge = FeatureRidge(of_rows, targets, weights)
    lam = float(LAMS[ridge.left_out_errors(of_rows, targets, weights, LAMS).argmin()])
    held, folds = np.empty((len(labelled.codes), labelled.n_classes)), []
    for fold in range(int(groups.max()) + 1):
        out = groups == fold
        slopes, offset = FeatureRidge(of_rows[~out], targets[~out], labelled.select(~out).balanced).slopes(lam)
        held[out] = of_rows[out] @ slopes + offset
        folds.append(_kernel_scorer(features, (slopes, offset)))
    return ScoreModel(_logarithms(held), _kernel_scorer(features, ridge.slopes(lam)), folds)


def _kernel_scorer(features: RowFeatures, linear: tuple[FloatArray, FloatArray]) -> Scorer:
    slopes, offset = linear
    return lambda rows: _logarithms(features(rows) @ slopes + offset)


def _logarithms(scores: FloatArray) -> FloatArray:
    return np.log(np.maximum(scores, LEAST_SCORE))
