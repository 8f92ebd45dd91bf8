"""The default estimate of class shares: likelihood of stacked class scores, averaged with the nearest mixture.

The labels decide: scores are weighed by how well they predict rows they have not seen, and the two answers by the
variances that the labelled rows show. Rows are in inner units throughout.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from densdiff.balance.features import RowFeatures, additive_kernel, landmarks, learned_kernel, local_kernel
from densdiff.balance.labelled import LabelledSample, moment_equations
from densdiff.balance.mixture import MixtureEstimate
from densdiff.balance.scores import (
    ScoreModel,
    classifier_scores,
    kernel_scores,
    logistic_scores,
    shared_kernel_scores,
)
from densdiff.core.calibration import StackedScores
from densdiff.core.kernel import median_distance
from densdiff.core.scaling import FloatArray
from densdiff.core.selection import stratified_folds
from densdiff.core.simplex import Moments, likeliest_shares, quadratic_minimum

FOLDS = 5
_LEAST_PROBABILITY = 1e-3  # a class no new row is denied: a classifier's certainty is worth no more
_PRIOR = 0.5  # rows of each class that pull shares to equal ones
_LEAST_SHARE = 0.05  # at which features of rare classes are no longer enlarged
_SHARPNESS = 4.0  # power of the variances that weigh the two answers
_ROWS = 50_000  # new rows whose scores are computed at a time


@dataclass(frozen=True)
class Matching:
    """The nearest mixture in the energy distance of single columns, from kernel features of labelled and new rows."""

    labelled: LabelledSample
    features: FloatArray  # (n, r)
    new: FloatArray  # (m, r)

    @cached_property
    def means(self) -> FloatArray:
        return np.asarray(self.labelled.indicator.T @ self.features)  # (K, r)

    def priors(self) -> FloatArray:
        return quadratic_minimum(self.means @ self.means.T, self.means @ self.new.mean(axis=0))  # E6

    def moments(self) -> Moments:
        """Equations in the kernel's mean to each class, without the pairs of a row with itself."""
        own, omega = np.arange(len(self.features)), self.labelled.omega
        values = self.features @ self.means.T  # (n, K)
        values[own, self.labelled.codes] -= omega * np.square(self.features).sum(axis=1)
        values[own, self.labelled.codes] /= 1.0 - omega
        return moment_equations(values, self.labelled, self.new @ self.means.T)


class LearnedMixture:
    """Shares from calibrated class scores, and from the nearest mixture as far as the labels speak for it."""

    def __init__(self, labelled: LabelledSample, new: FloatArray, seed: int, classifier: Any = None) -> None:
        self.labelled, self.new, self.seed, self.classifier = labelled, new, seed, classifier
        counts = np.bincount(labelled.codes)
        self.groups = stratified_folds(labelled.codes, seed, min(FOLDS, int(counts.min())))
        chosen = landmarks(labelled, seed)
        self.additive = RowFeatures(additive_kernel, chosen)
        self.local = RowFeatures(local_kernel(chosen), chosen)

    @cached_property
    def _models(self) -> tuple[list[ScoreModel], float | None]:
        """All kinds of scores, and lam of the learned kernel."""
        labelled, groups = self.labelled, self.groups
        if self.classifier is not None:
            return [classifier_scores(self.classifier, labelled, groups)], None
        learned, lam = kernel_scores(
            labelled, groups, lambda train: RowFeatures(learned_kernel(train), landmarks(train, self.seed))
        )
        local, _ = shared_kernel_scores(labelled, groups, self.local, self.local(labelled.rows))
        additive, _ = shared_kernel_scores(labelled, groups, self.additive, self._additive_rows)
        return [learned, local, additive, logistic_scores(labelled, groups)], lam

    @cached_property
    def _additive_rows(self) -> FloatArray:
        return self.additive(self.labelled.rows)

    @cached_property
    def stack(self) -> StackedScores:
        labelled = self.labelled
        return StackedScores(self._held, labelled.targets, labelled.balanced * len(labelled.codes))

    @property
    def _held(self) -> FloatArray:
        return np.array([model.held for model in self._models[0]])

    @cached_property
    def probabilities(self) -> FloatArray:
        """Class probabilities of the new rows by models that have seen all labelled rows, (m, K)."""
        return self._probabilities([model.full for model in self._models[0]])

    def _probabilities(self, scorers: list[Any]) -> FloatArray:
        blocks = [self.new[start : start + _ROWS] for start in range(0, len(self.new), _ROWS)]
        found = [self.stack.probabilities(np.array([score(rows) for score in scorers])) for rows in blocks]
        return np.maximum(np.concatenate(found), _LEAST_PROBABILITY)

    @cached_property
    def likely(self) -> FloatArray:
        """Shares of the greatest likelihood, with a prior of half a row a class."""
        m, n = len(self.new), len(self.labelled.codes)
        # of m new rows only n m / (n + m) count, since the scores come from n rows
        return likeliest_shares(self.probabilities, np.ones(m), _PRIOR * (1.0 + m / n))

    @cached_property
    def matching(self) -> Matching:
        return Matching(self.labelled, self._additive_rows, self.additive(self.new))

    def estimate(self) -> MixtureEstimate:
        models, lam = self._models
        weight = self._matching_weight()
        share = 0.0 if weight == 0.0 else weight
        return MixtureEstimate(
            priors=(1.0 - share) * self.likely + share * self.matching.priors() if share else self.likely,
            sigma=median_distance(self.labelled.rows),
            lam=lam,
            solver="stacked scores" if self.classifier is None else type(self.classifier).__name__,
            tuning=self._tuning(weight),
            moments=self.moments,
        )

    def _tuning(self, weight: float) -> str:
        folds = int(self.groups.max()) + 1
        if self.classifier is not None:
            return f"scores calibrated by {folds}-fold cross-validation"
        return f"scores weighed by {folds}-fold cross-validation, nearest mixture {100 * weight:.0f} %"

    def _matching_weight(self) -> float:
        """Share of the nearest mixture in the answer, by the variances of both."""
        if self.classifier is not None:
            return 0.0
        shares = _inner(self.likely)
        held = self.stack.probabilities(self._held)
        likelihood = self._equations(np.maximum(held, _LEAST_PROBABILITY), self.probabilities, shares)
        ratio = _variance(self.matching.moments(), shares) / _variance(likelihood, shares)
        return float(1.0 / (1.0 + ratio**_SHARPNESS))

    def _equations(self, held: FloatArray, new: FloatArray, shares: FloatArray) -> Moments:
        """Moment equations in the slopes of the log-likelihood at some shares."""
        return moment_equations(held / (held @ shares)[:, None], self.labelled, new / (new @ shares)[:, None])

    def moments(self) -> Moments:
        """Equations in scores that every row gets from models which have not seen it."""
        shares = _inner(self.likely)
        held = np.maximum(self.stack.probabilities(self._held), _LEAST_PROBABILITY)
        folds = zip(*(model.folds for model in self._models[0]), strict=True)
        by_fold = [self._probabilities(list(scorers)) for scorers in folds]
        slopes = np.mean([values / (values @ shares)[:, None] for values in by_fold], axis=0)
        return moment_equations(held / (held @ shares)[:, None], self.labelled, slopes)


def _inner(shares: FloatArray) -> FloatArray:
    """Shares with none below a few percent."""
    raised = np.maximum(shares, _LEAST_SHARE)
    return np.asarray(raised / raised.sum())


def _variance(moments: Moments, shares: FloatArray) -> float:
    return float(np.square(moments.standard_errors(shares)).sum())
