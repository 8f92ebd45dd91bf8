"""How much of each class a new sample holds: the mixture of class densities that is nearest to its own.

Three ways to the same answer: a kernel learned from the labels (ours), the density difference of an `LSDD` at the
estimated balance, and the difference of kernel density estimates. Rows are in inner units throughout.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from densdiff import messages
from densdiff.core import kernel, metric
from densdiff.core.class_scores import LEAST_SCORE, KernelRidge, row_slices
from densdiff.core.scaling import FloatArray, pooled_scaling
from densdiff.core.selection import stratified_folds
from densdiff.core.simplex import Moments, likeliest_shares, quadratic_minimum
from densdiff.data import parameters
from densdiff.estimators.kde import KDEDifference, overlap
from densdiff.estimators.lsdd import LSDD
from densdiff.solvers.base import Model
from densdiff.solvers.likelihood_width import cross_validated_width
from densdiff.solvers.prepared import WeightedSample

IntArray = npt.NDArray[np.intp]
WIDTHS = np.array([2.0, 1.0, 0.5])  # of the median distance, and the weight of each in the kernel
LAMS = np.logspace(-2.5, 0.5, 7)
LIKELIHOOD = 2.0 / 3.0  # of the answer; the rest is the nearest mixture
FOLDS = 5
MOST_ROWS = 2000  # labelled rows that are used: the kernel between them is held in memory
_CONSTANT = 1e-12  # a variance of shares that is rounding
_LEAST_SHARE = 1e-3  # a class of share 0 still takes part in choosing sigma and lam


@dataclass(frozen=True)
class LabelledSample:
    """Labelled rows in inner units; ``omega`` sums to 1 within each class."""

    rows: FloatArray  # (n, d)
    codes: IntArray  # (n,) from 0 to K - 1
    omega: FloatArray  # (n,)

    @property
    def indicator(self) -> FloatArray:
        """Weights of the rows in each class's mean, (n, K)."""
        return np.equal.outer(self.codes, np.arange(self.codes.max() + 1)) * self.omega[:, None]

    @property
    def balanced(self) -> FloatArray:
        """Weights that sum to 1, as much for each class, (n,)."""
        return np.asarray(self.omega / (self.codes.max() + 1))

    def select(self, chosen: npt.NDArray[np.bool_]) -> "LabelledSample":
        """The chosen rows, their weights scaled to sum to 1 within each class again."""
        codes, omega = self.codes[chosen], self.omega[chosen]
        return LabelledSample(self.rows[chosen], codes, omega / np.bincount(codes, omega)[codes])


@dataclass(frozen=True)
class MixtureEstimate:
    """Shares of the classes and how they were estimated; ``moments`` is None where no interval can be given."""

    priors: FloatArray  # (K,)
    sigma: float | tuple[float, float]
    lam: float | None
    solver: str
    tuning: str
    moments: Callable[[], Moments] | None
    n_centers: int | None = None
    notes: tuple[str, ...] = ()


def encode_columns(
    rows: FloatArray, new: FloatArray, omega: FloatArray, levels: list[int], standardize: bool
) -> FloatArray:
    """Rows, then new ones, with a column for each level of a category, (n + m, d').

    ``levels`` says how many each column has, 0 for numbers. The columns of one category have a variance of 1 together,
    as a standardized column of numbers has. ``omega`` sums to 1; a code of -1 is no level, zeros in all columns.
    """
    codes = np.array(levels) > 0
    numbers = np.concatenate([rows, new])[:, ~codes]
    if standardize and not codes.all():
        even = np.broadcast_to(1.0 / len(new), len(new))
        numbers = np.concatenate(pooled_scaling(rows[:, ~codes], new[:, ~codes], omega, even, True)[1:])
    weights = np.concatenate([len(rows) * omega, np.ones(len(new))]) / len(numbers)
    blocks = [numbers]
    for column, count in zip(np.concatenate([rows, new]).T, levels, strict=True):
        indicators = np.equal.outer(column, np.arange(count)).astype(np.float64)
        shares = weights @ indicators
        variance = float(shares @ (1.0 - shares))
        if variance > _CONSTANT:
            blocks.append(indicators / np.sqrt(variance))
    inner = np.hstack(blocks)
    return inner if inner.shape[1] else np.zeros((len(inner), 1))


class LearnedKernel:
    """Gaussians of three widths in two metrics learned from the labels, to the rows they were learned from."""

    def __init__(self, labelled: LabelledSample) -> None:
        self.metrics = []
        for learn in (metric.column_metric, metric.direction_metric):
            turn = learn(labelled.rows, labelled.codes, labelled.balanced)
            anchors = labelled.rows @ turn
            self.metrics.append((turn, anchors, kernel.median_distance(anchors)))

    def to(self, rows: FloatArray) -> FloatArray:
        """The kernel of rows to the rows it was learned from, (m, n)."""
        total = np.zeros((len(rows), len(self.metrics[0][1])))
        for turn, anchors, width in self.metrics:
            turned = rows @ turn
            direct = kernel.needs_direct_differences(kernel.radius(turned, anchors), WIDTHS[-1] * width, rows.shape[1])
            squared = kernel.squared_distances(turned, anchors, direct)
            for factor, psi in zip(WIDTHS, kernel.features(squared, WIDTHS * width), strict=True):
                total += factor * psi
        return total


class LearnedMixture:
    """The default: matching in a learned kernel, averaged with the likelihood of least-squares class scores."""

    def __init__(self, labelled: LabelledSample, new: FloatArray, seed: int) -> None:
        self.labelled, self.new = labelled, new
        counts = np.bincount(labelled.codes)
        self.targets = np.eye(len(counts))[labelled.codes]  # (n, K)
        self.groups = stratified_folds(labelled.codes, seed, min(FOLDS, int(counts.min())))

    @cached_property
    def _folds(self) -> list[tuple[LearnedKernel, KernelRidge, npt.NDArray[np.bool_]]]:
        """For each fold what was learned without it, and which rows it holds."""
        folds = []
        for fold in range(int(self.groups.max()) + 1):
            held = self.groups == fold
            train = self.labelled.select(~held)
            learned = LearnedKernel(train)
            ridge = KernelRidge(learned.to(train.rows), self.targets[~held], train.balanced, LAMS)
            folds.append((learned, ridge, held))
        return folds

    @cached_property
    def held_scores(self) -> FloatArray:
        """Scores of labelled rows by models that have not seen them, (L, n, K)."""
        scores = np.empty((len(LAMS), *self.targets.shape))
        for learned, ridge, held in self._folds:
            scores[:, held] = ridge.scores(learned.to(self.labelled.rows[held]))
        return scores

    @cached_property
    def lam(self) -> int:
        """Index of the ridge whose held-out scores are nearest to the labels."""
        errors = np.square(self.held_scores - self.targets).sum(axis=2) @ self.labelled.balanced
        return int(errors.argmin())

    def estimate(self) -> MixtureEstimate:
        labelled, n = self.labelled, len(self.labelled.rows)
        learned = LearnedKernel(labelled)
        gram = learned.to(labelled.rows)
        ridge = KernelRidge(gram, self.targets, labelled.balanced, LAMS[[self.lam]])
        cross, scores = np.zeros(n), np.empty((len(self.new), self.targets.shape[1]))
        for block in row_slices(self.new, n):
            values = learned.to(self.new[block])
            cross += values.sum(axis=0)
            scores[block] = ridge.scores(values)[0]
        indicator = labelled.indicator
        nearest = quadratic_minimum(indicator.T @ gram @ indicator, indicator.T @ cross / len(self.new))  # E6
        ratios = np.maximum(scores, LEAST_SCORE)
        # of m new rows only n m / (n + m) count, since the scores come from n rows; the prior is one row a class
        likely = likeliest_shares(
            ratios / ratios.sum(axis=1, keepdims=True), np.ones(len(ratios)), 1.0 + len(ratios) / n
        )
        return MixtureEstimate(
            priors=LIKELIHOOD * likely + (1.0 - LIKELIHOOD) * nearest,
            sigma=learned.metrics[0][2],
            lam=float(LAMS[self.lam]),
            solver="learned kernel",
            tuning=f"metric learned from the labels, ridge by {int(self.groups.max()) + 1}-fold cross-validation",
            moments=self.moments,
        )

    def moments(self) -> Moments:
        """Equations in scores that every row gets from models which have not seen it.

        Scores that predict labels best may hardly see a class between two others. So another ridge is taken if its
        equations tell the shares with less than half the variance; a closer choice would flatter itself.
        """
        classes = self.targets.shape[1]
        scores = np.zeros((len(LAMS), len(self.new), classes))
        for learned, ridge, _ in self._folds:
            for block in row_slices(self.new, len(self.labelled.rows)):
                scores[:, block] += ridge.scores(learned.to(self.new[block])) / len(self._folds)
        equal = np.full(classes, 1.0 / classes)
        pairs = zip(self.held_scores, scores, strict=True)
        candidates = [moment_equations(held, self.labelled, new) for held, new in pairs]
        variances = [float(np.square(equations.standard_errors(equal)).sum()) for equations in candidates]
        best = int(np.argmin(variances))
        return candidates[best if variances[best] < 0.5 * variances[self.lam] else self.lam]


def moment_equations(features: FloatArray, labelled: LabelledSample, new: FloatArray) -> Moments:
    """Means and noise of features (n, K) of labelled rows by class and (m, K) of new rows."""
    indicator = labelled.indicator
    means = indicator.T @ features  # (K classes, K features)
    residuals = features - means[labelled.codes]
    squared_weights = np.square(indicator).sum(axis=0)  # (K,) sum of squared weights in each class, below 1
    scaled = residuals * (labelled.omega / np.sqrt(1.0 - squared_weights[labelled.codes]))[:, None]
    of_classes = np.array(
        [scaled[labelled.codes == c].T @ scaled[labelled.codes == c] for c in range(len(squared_weights))]
    )
    around = new - new.mean(axis=0)
    return Moments(means.T, new.mean(axis=0), of_classes, around.T @ around / (len(new) * max(1, len(new) - 1)))


class RowKernel(Protocol):
    """A kernel whose mean over pairs of rows is a squared distance of densities, times its scale."""

    def kernel(self, model: Model, a: FloatArray, b: FloatArray) -> FloatArray: ...


class KernelMixture:
    """The nearest mixture (E6) at one model."""

    def __init__(self, labelled: LabelledSample, new: FloatArray, row_kernel: RowKernel, model: Model) -> None:
        self.labelled = labelled
        self.indicator = labelled.indicator
        self._own = np.empty(len(labelled.rows))  # the kernel of each labelled row with itself
        self.labelled_features, self.new_features = np.empty((len(labelled.rows), self.indicator.shape[1])), []
        for block in row_slices(labelled.rows, len(labelled.rows)):
            values = row_kernel.kernel(model, labelled.rows[block], labelled.rows)
            self._own[block] = np.diagonal(values, block.start)
            self.labelled_features[block] = values @ self.indicator
        for block in row_slices(new, len(labelled.rows)):
            self.new_features.append(row_kernel.kernel(model, new[block], labelled.rows) @ self.indicator)

    def priors(self) -> FloatArray:
        target = np.concatenate(self.new_features).mean(axis=0)
        return quadratic_minimum(self.indicator.T @ self.labelled_features, target)

    def moments(self) -> Moments:
        """Equations in the features of all rows, without the pairs of a row with itself."""
        own, omega = np.arange(len(self.labelled.codes)), self.labelled.omega
        features = self.labelled_features.copy()
        features[own, self.labelled.codes] -= omega * self._own
        features[own, self.labelled.codes] /= 1.0 - omega
        return moment_equations(features, self.labelled, np.concatenate(self.new_features))


def estimate_by_lsdd(model: LSDD, labelled: LabelledSample, new: FloatArray) -> MixtureEstimate:
    """The paper's way: the mixture nearest in the L2 distance of a cross-validated `LSDD` (E6).

    Sigma and lam are those of the difference between the new rows and the mixture at the estimated shares, found by
    turns: a fit, the shares at its model, and both once more. Rows are in the user's units here.
    """
    shares = np.full(int(labelled.codes.max()) + 1, 1.0)
    for repeat in range(2):
        weights = np.maximum(shares, _LEAST_SHARE)[labelled.codes] * labelled.omega
        with messages.collect_warnings() if repeat == 0 else nullcontext():  # the second fit says it all again
            model.fit(labelled.rows, new, weights_x=weights)
        scaling = model.fit_.data.scaling
        inner = LabelledSample(scaling.apply(labelled.rows), labelled.codes, labelled.omega)
        mixture = KernelMixture(inner, scaling.apply(new), model.fit_.solver, model.fit_.choice.best)
        shares = mixture.priors()
    return MixtureEstimate(
        priors=shares,
        sigma=model.sigma_,
        lam=model.lam_,
        solver=model.solver_,
        tuning="sigma and lam of the LSDD at the estimated balance",
        moments=mixture.moments,
        n_centers=len(model.centers_) if model.solver_ == "centers" else None,
        notes=model.fit_.data.notes,
    )


def estimate_by_kde(model: KDEDifference, labelled: LabelledSample, new: FloatArray) -> MixtureEstimate:
    """The mixture of kernel density estimates of the classes nearest to that of the new rows, each of its own width.

    Rows are in the user's units here.
    """
    model = model.fit(labelled.rows, new)
    data = model.prepared_
    rows, sigmas = data.scaling.apply(labelled.rows), data.sigmas(parameters.positive_grid(model.sigma, "sigma"))
    samples = [
        WeightedSample.of(rows[own], labelled.omega[own])
        for own in np.equal.outer(range(labelled.codes.max() + 1), labelled.codes)
    ]
    samples.append(WeightedSample.of(data.scaling.apply(new)))
    widths = [cross_validated_width(sample, data.seed, model.folds, sigmas) for sample in samples]
    products = [
        [overlap(a, b, float(np.hypot(s, t))) for b, t in zip(samples, widths, strict=True)]
        for a, s in zip(samples[:-1], widths, strict=False)
    ]
    values, logs = np.moveaxis(np.array(products), 2, 0)  # two of (K, K + 1)
    matrix = values * np.exp(logs - logs.max())
    return MixtureEstimate(
        priors=quadratic_minimum(matrix[:, :-1], matrix[:, -1]),
        sigma=(float(np.median(widths[:-1])) * data.scaling.sigma_unit, widths[-1] * data.scaling.sigma_unit),
        lam=None,
        solver="kde",
        tuning="width of each class and of the new rows by likelihood cross-validation",
        moments=None,
    )
