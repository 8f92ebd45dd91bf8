"""Class scores of rows by models that have seen all labelled rows, and by models that have seen all but a fold.

How the scores of several models are combined is decided in `learned`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from densdiff.balance.features import KernelFeatures, RowFeatures
from densdiff.balance.labelled import IntArray, LabelledSample
from densdiff.core.calibration import softmax
from densdiff.core.class_scores import LEAST_SCORE, FeatureRidge, downhill
from densdiff.core.logistic import logistic_fits
from densdiff.core.scaling import FloatArray
from densdiff.errors import InputError
from densdiff.progress import tell

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
    *folds, full = logistic_fits(labelled.rows, labelled.codes, labelled.fold_weights(groups))
    scorers = [_linear_scorer(at) for at in folds]
    held = np.empty((len(labelled.codes), labelled.n_classes))
    for fold, score in enumerate(scorers):
        held[groups == fold] = score(labelled.rows[groups == fold])
    return ScoreModel(held, _linear_scorer(full), scorers)


def _linear_scorer(at: FloatArray) -> Scorer:
    """From slopes and, last, intercepts (K, d + 1)."""
    return lambda rows: _cut_logarithms(softmax(rows @ at[:, :-1].T + at[:, -1]))


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
    n_folds = int(groups.max()) + 1
    for fold in tell("scoring labelled rows", range(n_folds), n_folds):
        out = groups == fold
        folds.append(fit(labelled.select(~out)))
        held[out] = folds[-1](labelled.rows[out])
    return ScoreModel(held, fit(labelled), folds)


def _log_probabilities(model: Any, rows: FloatArray) -> FloatArray:
    return _cut_logarithms(np.asarray(model.predict_proba(rows), dtype=np.float64))


def _cut_logarithms(probabilities: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.maximum(probabilities, _LEAST_PROBABILITY)))


def _decision_values(model: Any, rows: FloatArray) -> FloatArray:
    """Decision values, (m, K); of two classes the first has 0."""
    values = np.asarray(model.decision_function(rows), dtype=np.float64)
    return values if values.ndim == 2 else np.column_stack([np.zeros(len(values)), values])


def learned_kernel_scores(labelled: LabelledSample, groups: IntArray, kernels: KernelFeatures) -> ScoreModel:
    """Scores by least squares in the space of a kernel that each fold learns without its rows."""
    folds, n_folds = [], int(groups.max()) + 1
    for fold in tell("scoring labelled rows", range(n_folds), n_folds):
        out = groups == fold
        train = labelled.select(~out)
        features, of_train = kernels.learn(train)
        ridge = FeatureRidge(of_train, train.targets, train.balanced)
        folds.append(KernelFold(features, ridge, out, features(labelled.rows[out])))
    return _ridge_scores(labelled, folds, kernels.learned)


def kernel_scores(labelled: LabelledSample, groups: IntArray, features: RowFeatures) -> ScoreModel:
    """The same for a kernel without labels, whose features of the labelled rows serve all folds."""
    of_rows, targets, folds = features(labelled.rows), labelled.targets, []
    for fold, weights in enumerate(labelled.fold_weights(groups)[:-1]):
        out = groups == fold
        ridge = FeatureRidge(of_rows[~out], targets[~out], weights[~out])
        folds.append(KernelFold(features, ridge, out, of_rows[out]))
    return _ridge_scores(labelled, folds, features)


@dataclass(frozen=True)
class KernelFold:
    """Least squares without the rows of a fold, and the features of these rows."""

    features: RowFeatures
    ridge: FeatureRidge
    out: npt.NDArray[np.bool_]  # (n,)
    of_out: FloatArray  # (rows of the fold, l)


def _ridge_scores(labelled: LabelledSample, folds: list[KernelFold], features: RowFeatures) -> ScoreModel:
    """Scores at the lam whose squared error on the rows held out is least, found downhill from the middle."""
    targets, weights = labelled.targets, labelled.balanced

    @cache
    def held_out(place: int) -> tuple[float, FloatArray, list[tuple[FloatArray, FloatArray]]]:
        """The error at one lam, the scores of the rows held out, and the maps of the folds."""
        maps = [fold.ridge.slopes(LAMS[place]) for fold in folds]
        held = np.empty(targets.shape)
        for fold, (slopes, offset) in zip(folds, maps, strict=True):
            held[fold.out] = fold.of_out @ slopes + offset
        return float(weights @ np.square(held - targets).sum(axis=1)), held, maps

    best = downhill(lambda place: held_out(place)[0], len(LAMS))
    _, held, maps = held_out(best)
    full = FeatureRidge(features(labelled.rows), targets, weights).slopes(LAMS[best])
    scorers = [_kernel_scorer(fold.features, *linear) for fold, linear in zip(folds, maps, strict=True)]
    return ScoreModel(_logarithms(held), _kernel_scorer(features, *full), scorers)


def _kernel_scorer(features: RowFeatures, slopes: FloatArray, offset: FloatArray) -> Scorer:
    weights = features.weights(slopes)
    return lambda rows: _logarithms(features.kernels(rows) @ weights + offset)


def _logarithms(scores: FloatArray) -> FloatArray:
    return np.log(np.maximum(scores, LEAST_SCORE))
