"""Cross-validation within every relabelling, the paper's procedure, from sums that all relabellings share.

Folds belong to positions: the k-th row of a relabelled sample is in the fold of the k-th row, whichever row it is.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from densdiff.core import radial, ridge, selection
from densdiff.core.resample import BoolArray
from densdiff.core.scaling import FloatArray
from densdiff.engines.pair_distances import pair_places
from densdiff.solvers.base import DIFFERENCE, FilterKernel
from densdiff.solvers.centers import LAM_GRID, CenterKernel
from densdiff.solvers.pairs import PairsSolver
from densdiff.solvers.prepared import Prepared, WeightedSample
from densdiff.testing.kernel_statistics import CenterStatistics, KernelStatistics
from densdiff.testing.statistics import BaseStatistics, Model
from densdiff.testing.units import Units

IntArray = selection.IntArray
_WEIGHTS = 1 << 24  # of rows in the folds of some relabellings: 128 MiB


@dataclass(frozen=True)
class CrossValidation:
    """What every relabelling cross-validates: the models, and the folds by position."""

    seed: int
    n_folds: int
    sigmas: FloatArray  # in inner units
    lams: FloatArray | None = None  # None for those that the solver searches

    def draw_folds(self, n: int, m: int) -> selection.Folds:
        """The folds of samples of n and m rows."""
        return selection.draw_folds(self.seed, n, m, self.n_folds, repeats=1)


@dataclass
class Refitted(BaseStatistics):
    """A statistic at the model that each relabelling chooses for itself, as its logarithm: scales differ by model."""

    choose: Callable[[BoolArray], list[Model]]  # a model for each relabelling
    statistics: Callable[[list[Model]], KernelStatistics | CenterStatistics]
    scale: Callable[[float], float]
    models: list[Model] = field(default_factory=list)  # that of the first relabelling seen, the data's
    in_logs = True

    @property
    def log_scales(self) -> FloatArray:
        """Values are in inner units already: each model has its own scale."""
        return np.zeros(1)

    def table(self, labels: BoolArray) -> FloatArray:
        """Logarithms of the statistic of each relabelling, (k, 1)."""
        chosen = self.choose(labels)
        self.models = self.models or chosen[:1]
        logs = np.empty((len(labels), 1))
        distinct = sorted(set(chosen))
        index = np.array([distinct.index(model) for model in chosen])
        for k, model in enumerate(distinct):
            same_model = index == k
            values = self.statistics([model]).table(labels[same_model])
            logs[same_model] = logarithm(values) - self.scale(model[0])
        return logs


def logarithm(values: FloatArray) -> FloatArray:
    """Natural logarithm, minus infinity for 0."""
    return np.where(values > 0, np.log(np.where(values > 0, values, 1.0)), -np.inf)


def folds_by_position(labels: BoolArray, fold_x: IntArray, fold_y: IntArray) -> IntArray:
    """The fold of every row in every relabelling, (k, N): X has folds 0, 1, .., Y the next ones."""
    n_folds = int(fold_x.max()) + 1
    fold_of_row = np.empty(labels.shape, dtype=np.intp)
    fold_of_row[labels] = np.tile(fold_x, len(labels))
    fold_of_row[~labels] = np.tile(fold_y.astype(np.intp) + n_folds, len(labels))
    return fold_of_row


def refitted_pairs(
    rows: FloatArray, samples: tuple[WeightedSample, WeightedSample], search: CrossValidation
) -> Refitted:
    """E12 at the model with the least E14, from the kernel between all rows."""
    filters = FilterKernel(rows.shape[1])
    chooser = _PairChooser(rows, samples, search)
    return Refitted(chooser.choose, lambda models: KernelStatistics(rows, models, filters), filters.log_scale)


class _PairChooser:
    """E14 of every model from histograms of pair distances whose groups change with the labels."""

    def __init__(
        self, rows: FloatArray, samples: tuple[WeightedSample, WeightedSample], search: CrossValidation
    ) -> None:
        n, m = (len(sample.rows) for sample in samples)
        self.sigmas, self.folds = search.sigmas, search.draw_folds(n, m)
        self.solver = solver = PairsSolver(*samples, self.folds, search.sigmas, search.lams)
        within, across, self.own = solver.fold_products(DIFFERENCE)
        row_weights = np.repeat([1.0 / n, 1.0 / m], search.n_folds)
        weights = np.outer(row_weights, row_weights)
        # Each pair is counted once, as (i, j), and stands for (j, i) too. Only mean scores over the folds are needed,
        # and in them pairs of groups weigh alike if they agree in samples and in whether they share a fold: six
        # classes.
        means = [part.mean(axis=0).reshape(weights.shape) * weights for part in (within, across)]
        products, classes = np.unique(
            np.round([(part + part.T).ravel() / np.abs(part).max() for part in means], 12), axis=1, return_inverse=True
        )
        products *= np.array([[np.abs(part).max()] for part in means])
        self.products = products  # (2, C)
        self.classes = classes.reshape(weights.shape)
        self.places = [pair_places(rows, bins, direct=solver.direct) for bins in solver.bins]
        self.kernels = [
            [radial.binned_kernels(solver.table, bins, float(search.sigmas[level]), 1.0 / 24.0) for level in levels]
            for levels, bins in zip(solver.runs, solver.bins, strict=True)
        ]

    def choose(self, labels: BoolArray) -> list[Model]:
        """The model with the least mean hold-out score of each relabelling."""
        solver = self.solver
        scores = np.empty((len(self.sigmas), len(solver.lams[0]), len(labels)))
        groups = folds_by_position(labels, self.folds.groups_x.all(), self.folds.groups_y.all())
        for levels, places, kernels in zip(solver.runs, self.places, self.kernels, strict=True):
            sums = np.empty((2, len(labels), places.count))
            for b, row in enumerate(groups):
                sums[:, b] = self.products @ places.histograms(row, self.classes)
            for level, (plain, squared) in zip(levels, kernels, strict=True):
                score = squared @ sums[0].T - 2.0 * plain @ sums[1].T + self.own.mean() * solver.table.squared[:, :1]
                scale = np.exp(solver.log_scales.min() - solver.log_scales[level])
                scores[level] = score[: scores.shape[1]] * scale
        return _best_models(scores, self.sigmas, list(solver.lams))


def _best_models(scores: FloatArray, sigmas: FloatArray, lams: list[FloatArray]) -> list[Model]:
    """The model with the lowest score, (S, L, k), for each relabelling; ``lams`` has a row for each sigma."""
    best = scores.reshape(-1, scores.shape[2]).argmin(axis=0)
    places = [divmod(int(index), scores.shape[1]) for index in best]
    return [(float(sigmas[level]), float(lams[level][i])) for level, i in places]


def refitted_centers(data: Prepared, kernel: CenterKernel, search: CrossValidation) -> Refitted:
    """E6 at the model with the lowest hold-out score: all folds of all relabellings share each G."""
    chooser, units = _CenterChooser(data, kernel, search), Units.of_rows(*data.sizes)
    return Refitted(chooser.choose, lambda models: CenterStatistics(data, models, kernel, units), kernel.log_scale)


class _CenterChooser:
    """Hold-out scores of every model in the eigenbasis of each G, where they are sums of squares and products."""

    def __init__(self, data: Prepared, kernel: CenterKernel, search: CrossValidation) -> None:
        self.rows, self.kernel, self.sigmas = data.pooled_rows, kernel, search.sigmas
        self.folds, self.n_folds = search.draw_folds(*data.sizes), search.n_folds
        self.lams = [
            np.asarray(search.lams) if search.lams is not None else LAM_GRID * kernel.mean_row_sum(float(sigma))
            for sigma in search.sigmas
        ]
        for sigma, lams in zip(search.sigmas, self.lams, strict=True):
            ridge.check_definite(next(kernel.grams(np.array([sigma]))), float(lams.min()))

    def choose(self, labels: BoolArray) -> list[Model]:
        """The model with the lowest mean hold-out score of each relabelling."""
        step = max(1, _WEIGHTS // (2 * self.n_folds * labels.shape[1]))
        scores = [self._scores(labels[first : first + step]) for first in range(0, len(labels), step)]
        return _best_models(np.concatenate(scores, axis=2), self.sigmas, self.lams)

    def _scores(self, labels: BoolArray) -> FloatArray:
        """Mean hold-out score of each model and relabelling, (S, L, k)."""
        groups = folds_by_position(labels, self.folds.groups_x.all(), self.folds.groups_y.all())
        weights = np.take(self._group_weights(), groups, axis=1)  # (2 folds, k, N)
        scores = np.empty((len(self.sigmas), len(self.lams[0]), len(labels)))
        smallest = self.kernel.log_scale(float(self.sigmas[-1]))
        for level, psi in enumerate(self.kernel.ladder(self.sigmas, self.rows)):
            sigma, lams = float(self.sigmas[level]), self.lams[level]
            values, vectors = self.kernel.gram_eigen(sigma)
            means = weights @ (psi @ vectors)  # (2 folds, k, b)
            train, holdout = means[: self.n_folds], means[self.n_folds :]
            squares, products = (np.einsum("fkb,fkb->bk", train, side) / self.n_folds for side in (train, holdout))
            scores[level] = ridge.mean_holdout_scores(values, lams, squares, products)
            scores[level] *= np.exp(smallest - self.kernel.log_scale(sigma))
        return scores

    def _group_weights(self) -> FloatArray:
        """What a row of each group weighs in h of the training rows of each fold, and of its hold-out rows.

        (2 folds, 2 groups): the groups of X have positive weights, those of Y negative ones.
        """
        members = self.folds.members > 0  # (folds, groups)
        tables = []
        for is_used in (~members, members):
            counts = (is_used @ groups.counts() for groups in (self.folds.groups_x, self.folds.groups_y))
            of_x, of_y = (is_used / count[:, None] for count in counts)
            tables.append(np.hstack([of_x, -of_y]))
        return np.vstack(tables)
