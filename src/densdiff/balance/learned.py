"""The default estimate of class shares: likelihood of stacked class scores, averaged with the nearest mixture.

The labels decide: scores are weighed by how well they predict rows they have not seen, and the two answers by the
variances that the labelled rows show. Rows are in inner units throughout.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.balance.features import KernelFeatures, RowFeatures, wide_kernel
from densdiff.balance.labelled import IntArray, LabelledSample, moment_equations, variance_of_shares
from densdiff.balance.mixture import MixtureEstimate
from densdiff.balance.scores import (
    ScoreModel,
    Scorer,
    classifier_scores,
    kernel_scores,
    learned_kernel_scores,
    logistic_scores,
)
from densdiff.core.calibration import StackedScores
from densdiff.core.mixture_fit import FeatureMeans, mixture_pvalue
from densdiff.core.scaling import FloatArray
from densdiff.core.selection import stratified_folds
from densdiff.core.simplex import Moments, likeliest_shares, quadratic_minimum

FOLDS, _FEW_FOLDS, _MANY = 5, 3, 400  # the second number from so many labelled rows on
_LEAST_PROBABILITY = 1e-3  # a class no new row is denied: a classifier's certainty is worth no more
_PRIOR = 0.5  # rows of each class that pull shares to equal ones
_LEAST_SHARE = 0.05  # at which features of rare classes are no longer enlarged
_SHARPNESS = 2.0  # power of the variances that weigh the two answers: they are noisy themselves
_SCORE_LANDMARKS = 100
_TEST_FOLDS = 8  # of scores by which a changed class is seen: the more rows they learn from, the better they see it
_TEST_WEIGHTS = [0.2, 0.2, 0.6]  # of single columns, all together, and scores, which see classes move apart
_ROWS = 20_000  # new rows whose scores are computed at a time


@dataclass(frozen=True)
class Matching:
    """The nearest mixture of class means in a kernel, from features of labelled and new rows."""

    labelled: LabelledSample
    of_rows: RowFeatures
    new: FloatArray  # (m, d)

    @cached_property
    def means(self) -> FloatArray:
        return np.asarray(self.labelled.indicator.T @ self.of_rows(self.labelled.rows))  # (K, r)

    @cached_property
    def of_new(self) -> FloatArray:
        """Mean kernels between new rows and classes, (m, K)."""
        return np.asarray(self.of_rows.kernels(self.new) @ self.of_rows.weights(self.means.T))

    def priors(self) -> FloatArray:
        return quadratic_minimum(self.means @ self.means.T, self.of_new.mean(axis=0))  # E6

    def variance(self, shares: FloatArray) -> float:
        """Of the shares, from the kernel's mean to each class, for labelled rows without the pair with themselves."""
        features = self.of_rows(self.labelled.rows)
        own, omega = np.arange(len(features)), self.labelled.omega
        values = features @ self.means.T  # (n, K)
        values[own, self.labelled.codes] -= omega * np.einsum("ij,ij->i", features, features)
        values[own, self.labelled.codes] /= 1.0 - omega
        return variance_of_shares(values, self.labelled, self.of_new, shares)


class LearnedMixture:
    """Shares from calibrated class scores, and from the nearest mixture as far as the labels speak for it."""

    def __init__(self, features: KernelFeatures, new: FloatArray, seed: int, classifier: Any = None) -> None:
        self.features, self.new, self.classifier = features, new, classifier
        self.labelled = labelled = features.labelled
        folds = FOLDS if len(labelled.codes) < _MANY else _FEW_FOLDS
        self.groups = stratified_folds(labelled.codes, seed, min(folds, int(np.bincount(labelled.codes).min())))

    @cached_property
    def models(self) -> list[ScoreModel]:
        """All kinds of scores."""
        labelled, groups, features = self.labelled, self.groups, self.features
        if self.classifier is not None:
            return [classifier_scores(self.classifier, labelled, groups)]
        return [
            learned_kernel_scores(labelled, groups, features),
            kernel_scores(labelled, groups, features.local),
            kernel_scores(labelled, groups, features.additive),
            logistic_scores(labelled, groups),
        ]

    @cached_property
    def stack(self) -> StackedScores:
        return self._stack(np.ones(len(self.labelled.codes), dtype=bool))

    def _stack(self, is_used: npt.NDArray[np.bool_]) -> StackedScores:
        """Scores weighed and calibrated on some of the labelled rows."""
        labelled = self.labelled
        weights = labelled.balanced[is_used]
        scores = np.array([model.held[is_used] for model in self.models])
        return StackedScores(scores, labelled.targets[is_used], weights * (len(weights) / weights.sum()))

    @cached_property
    def held(self) -> FloatArray:
        """Class probabilities of the labelled rows by models that have not seen them, (n, K)."""
        return self._held_by(self.stack)

    def _held_by(self, stack: StackedScores) -> FloatArray:
        scores = np.array([model.held for model in self.models])
        return np.maximum(stack.probabilities(scores), _LEAST_PROBABILITY)

    @cached_property
    def probabilities(self) -> FloatArray:
        """Class probabilities of the new rows by models that have seen all labelled rows, (m, K)."""
        return self._probabilities([model.full for model in self.models], self.stack)

    def _probabilities(self, scorers: list[Scorer], stack: StackedScores) -> FloatArray:
        starts = range(0, len(self.new), _ROWS)
        blocks = [self.new] if len(starts) == 1 else [self.new[start : start + _ROWS] for start in starts]
        found = [stack.probabilities(np.array([score(rows) for score in scorers])) for rows in blocks]
        return np.maximum(np.concatenate(found), _LEAST_PROBABILITY)

    @cached_property
    def likely(self) -> FloatArray:
        """Shares of the greatest likelihood, with a prior of half a row a class."""
        m, n = len(self.new), len(self.labelled.codes)
        # of m new rows only n m / (n + m) count, since the scores come from n rows
        return likeliest_shares(self.probabilities, np.ones(m), _PRIOR * (1.0 + m / n))

    def estimate(self) -> MixtureEstimate:
        nearest, weight = self._nearest()
        folds = int(self.groups.max()) + 1
        tuning = f"scores weighed by {folds}-fold cross-validation, nearest mixture {100 * weight:.0f} %"
        return MixtureEstimate(
            priors=(1.0 - weight) * self.likely + weight * nearest,
            sigma=self.features.sigma,
            lam=None,
            solver="stacked scores",
            tuning=tuning if self.classifier is None else f"scores calibrated by {folds}-fold cross-validation",
            moments=self.moments,
        )

    def _nearest(self) -> tuple[FloatArray, float]:
        """The mean of the nearest mixtures in two kernels, and its share of the answer by the variances of both."""
        if self.classifier is not None:
            return self.likely, 0.0
        shares, (labelled, new) = _inner(self.likely), self._sample
        matchings = [Matching(labelled, of_rows, new) for of_rows in (self.features.additive, self.features.learned)]
        likelihood = variance_of_shares(
            self.held / (self.held @ shares)[:, None],
            self.labelled,
            self.probabilities / (self.probabilities @ shares)[:, None],
            shares,
        )
        ratio = np.mean([matching.variance(shares) for matching in matchings]) / likelihood
        return np.mean([matching.priors() for matching in matchings], axis=0), float(1.0 / (1.0 + ratio**_SHARPNESS))

    @cached_property
    def _sample(self) -> tuple[LabelledSample, FloatArray]:
        """Labelled and new rows whose means are compared: all unless there are many."""
        labelled, new = self._numbers
        all_labelled, all_new = len(labelled) == len(self.labelled.codes), len(new) == len(self.new)
        return (
            self.labelled if all_labelled else self.labelled.select(labelled),
            self.new if all_new else self.new[new],
        )

    @cached_property
    def _numbers(self) -> tuple[IntArray, IntArray]:
        return self.features.sample(self.new)

    def pvalue(self, shares: FloatArray) -> float:
        """p-value of the hypothesis that the new rows are a mixture of the classes, whose shares are about ``shares``.

        Distances are those of single columns, of all columns together, and of the scores of a classifier, which
        neither a labelled nor a new row has helped to learn.
        """
        labelled, new = self._sample
        kernels = [(of_rows(labelled.rows), of_rows(new)) for of_rows in (self.features.additive, self.features.local)]
        kernels.append(self._score_features(labelled, new))
        means = [FeatureMeans.of(rows, labelled.indicator, of_new) for rows, of_new in kernels]
        random = np.random.default_rng([self.features.seed, 10])
        return mixture_pvalue(means, _TEST_WEIGHTS, labelled.codes, shares, random)

    def _score_features(self, labelled: LabelledSample, new: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Features of the scores of labelled rows by models that have not seen them, and their means of new rows."""
        if self.classifier is not None:
            scores = self.models[0]
            held = scores.held[self._numbers[0]]
        else:
            folds = min(_TEST_FOLDS, int(np.bincount(labelled.codes).min()))
            scores = logistic_scores(labelled, stratified_folds(labelled.codes, self.features.seed, folds))
            held = scores.held
        held, numbers = _centred(held), labelled.draw(_SCORE_LANDMARKS, self.features.seed)
        features, of_held = RowFeatures.learn(wide_kernel(held[numbers]), held, numbers)
        return of_held, np.mean([features(_centred(score(new))) for score in scores.folds], axis=0)

    def moments(self) -> Moments:
        """Equations in slopes of the log-likelihood, from scores of rows by models which have not seen them.

        Nor have the weights and the calibration of the scores: those learned from a row make its class look easier to
        tell than that of new rows, and the shares seem nearer to equal ones than they are.
        """
        shares, folds = _inner(self.likely), int(self.groups.max()) + 1
        held, slopes = np.empty_like(self.held), np.zeros_like(self.probabilities)
        for fold in range(folds):
            is_out = self.groups == fold
            stack = self._stack(~is_out)
            held[is_out] = self._held_by(stack)[is_out]
            values = self._probabilities([model.folds[fold] for model in self.models], stack)
            slopes += values / (values @ shares)[:, None] / folds
        equations = moment_equations(held / (held @ shares)[:, None], self.labelled, slopes)
        return equations.with_class_noise(_spread_by_class(slopes))


def _spread_by_class(slopes: FloatArray) -> FloatArray:
    """Covariance of slopes q_c / sum of pi_k q_k in each class by new rows (m, K) that may be of it, (K, K, K).

    A row is of class c with probability pi_c times its slope. Of few labelled rows of a class none may be among
    others, where the slopes are far from those of the rest; many new rows show how many there are.
    """
    found = []
    for weights in (slopes / slopes.sum(axis=0)).T:
        around = slopes - weights @ slopes  # (m, K)
        found.append((around * weights[:, None]).T @ around)
    return np.array(found)


def _centred(scores: FloatArray) -> FloatArray:
    """Logarithms of probabilities less their mean over the classes, (m, K)."""
    return np.asarray(scores - scores.mean(axis=1, keepdims=True))


def _inner(shares: FloatArray) -> FloatArray:
    """Shares with none below a few percent."""
    raised = np.maximum(shares, _LEAST_SHARE)
    return np.asarray(raised / raised.sum())
