"""Class scores of rows by models that have seen all labelled rows, and by models that have seen all but a fold.

How the scores of several models are combined is decided in `learned`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from densdiff.balance.features import RowFeatures
from densdiff.balance.labelled import IntArray, LabelledSample
from densdiff.core.class_scores import LEAST_SCORE, FeatureRidge
from densdiff.core.scaling import FloatArray
from densdiff.errors import InputError

Scorer = Callable[[FloatArray], FloatArray]  # rows (m, d) to logarithms of class probabilities (m, K)
LAMS = np.logspace(-2.5, 0.5, 7)
_LEAST_PROBABILITY = 1e-5  # of a classifier that is certain: its certainty is not worth more


@dataclass(frozen=True)
class ScoreModel:
    """One kind of class scores: ``held`` (n, K) are of labelled rows by models which have not seen them."""

    held: FloatArray
    full: Scorer
    folds: list[Scorer]


def logistic_scores(labelled: LabelledSample, groups: IntArray) -> ScoreModel:
    """Scores by a regularized logistic regression, all classes counting the same."""

    def fit(train: LabelledSample) -> Scorer:
        weights = train.balanced * len(train.codes)
        model = LogisticRegression(max_iter=500).fit(train.rows, train.codes, weights)
        return lambda rows: _log_scores(model, rows)

    return _cross_fitted(labelled, groups, fit)


def classifier_scores(classifier: Any, labelled: LabelledSample, groups: IntArray) -> ScoreModel:
    """Scores by clones of a classifier; its class balance is not corrected here."""
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
        return lambda rows: _log_scores(model, rows)

    return _cross_fitted(labelled, groups, fit)


def _cross_fitted(
    labelled: LabelledSample, groups: IntArray, fit: Callable[[LabelledSample], Scorer]
) -> ScoreModel:
    held, folds = np.empty((len(labelled.codes), labelled.n_classes)), []
    for fold in range(int(groups.max()) + 1):
        out = groups == fold
        folds.append(fit(labelled.select(~out)))
        held[out] = folds[-1](labelled.rows[out])
    return ScoreModel(held, fit(labelled), folds)


def _log_scores(model: Any, rows: FloatArray) -> FloatArray:
    """Logarithms of a classifier's probabilities, or its decision values if it has none, (m, K)."""
    if hasattr(model, "predict_proba"):
        return np.log(np.maximum(np.asarray(model.predict_proba(rows), dtype=np.float64), _LEAST_PROBABILITY))
    values = np.asarray(model.decision_function(rows), dtype=np.float64)
    return values if values.ndim == 2 else np.column_stack([np.zeros(len(values)), values])


def kernel_scores(
    labelled: LabelledSample, groups: IntArray, learn: Callable[[LabelledSample], RowFeatures]
) -> tuple[ScoreModel, float]:
    """Scores by least squares in the space of a kernel that each fold learns without its rows, and the chosen lam."""
    targets, held = labelled.targets, np.empty((len(LAMS), len(labelled.codes), labelled.n_classes))
    ridges = []
    for fold in range(int(groups.max()) + 1):
        out = groups == fold
        train = labelled.select(~out)
        features = learn(train)
        ridge = FeatureRidge(features(train.rows), targets[~out], train.balanced, LAMS)
        held[:, out] = ridge.scores(features(labelled.rows[out]))
        ridges.append((features, ridge))
    features = learn(labelled)
    return _chosen(labelled, held, ridges, features, features(labelled.rows))


def shared_kernel_scores(
    labelled: LabelledSample, groups: IntArray, features: RowFeatures, of_rows: FloatArray
) -> tuple[ScoreModel, float]:
    """The same for a kernel without labels: its features (n, r) of the labelled rows serve all folds."""
    targets, held = labelled.targets, np.empty((len(LAMS), len(labelled.codes), labelled.n_classes))
    ridges = []
    for fold in range(int(groups.max()) + 1):
        out = groups == fold
        ridge = FeatureRidge(of_rows[~out], targets[~out], labelled.select(~out).balanced, LAMS)
        held[:, out] = ridge.scores(of_rows[out])
        ridges.append((features, ridge))
    return _chosen(labelled, held, ridges, features, of_rows)


def _chosen(
    labelled: LabelledSample,
    held: FloatArray,
    ridges: list[tuple[RowFeatures, FeatureRidge]],
    features: RowFeatures,
    of_rows: FloatArray,
) -> tuple[ScoreModel, float]:
    """The scores at the lam whose held-out scores are nearest to the labels."""
    errors = np.square(held - labelled.targets).sum(axis=2) @ labelled.balanced
    best = int(errors.argmin())
    full = FeatureRidge(of_rows, labelled.targets, labelled.balanced, LAMS[[best]])
    folds = [_kernel_scorer(of_fold, ridge, best) for of_fold, ridge in ridges]
    return ScoreModel(_logarithms(held[best]), _kernel_scorer(features, full, 0), folds), float(LAMS[best])


def _kernel_scorer(features: RowFeatures, ridge: FeatureRidge, lam: int) -> Scorer:
    return lambda rows: _logarithms(ridge.scores(features(rows), lam))


def _logarithms(scores: FloatArray) -> FloatArray:
    return np.log(np.maximum(scores, LEAST_SCORE))
