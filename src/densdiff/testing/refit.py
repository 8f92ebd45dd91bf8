"""Cross-validation within every relabelling, the paper's procedure, from sums that all relabellings share.

Folds belong to positions: the k-th row of a relabelled sample is in the fold of the k-th row, whichever row it is.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from densdiff.core import density_ratio, radial, ridge, selection
from densdiff.core.kernel import features, needs_direct_differences, radius, squared_distances
from densdiff.core.resample import BoolArray
from densdiff.core.scaling import FloatArray
from densdiff.engines.pair_distances import pair_places
from densdiff.estimators.kde import LEAST_DENSITY, log_peak
from densdiff.solvers.base import DIFFERENCE, FilterKernel
from densdiff.solvers.centers import LAM_GRID, CenterKernel
from densdiff.solvers.pairs import PairsSolver
from densdiff.solvers.prepared import WeightedSample
from densdiff.testing.statistics import CenterStatistics, KernelStatistics, Model

IntArray = selection.IntArray


def _logarithm(values: FloatArray) -> FloatArray:
    """Minus infinity where there is nothing."""
    return np.where(values > 0, np.log(np.where(values > 0, values, 1.0)), -np.inf)


@dataclass
class Refitted:
    """A statistic at the model that each relabelling chooses for itself, as its logarithm: scales differ by model."""

    choose: Callable[[BoolArray], list[Model]]  # a model for each relabelling
    statistics: Callable[[list[Model]], KernelStatistics | CenterStatistics]
    scale: Callable[[float], float]
    models: list[Model] = field(default_factory=list)  # that of the first relabelling seen, the data's

    @property
    def log_scales(self) -> FloatArray:
        """Values are in inner units already: each model has its own scale."""
        return np.zeros(1)

    def of(self, labels: BoolArray) -> FloatArray:
        """Logarithms, (k, 1)."""
        chosen = self.choose(labels)
        self.models = self.models or chosen[:1]
        found = np.empty((len(labels), 1))
        distinct = sorted(set(chosen))
        index = np.array([distinct.index(model) for model in chosen])
        for k, model in enumerate(distinct):
            mine = index == k
            values = self.statistics([model]).of(labels[mine])
            found[mine] = _logarithm(values) - self.scale(model[0])
        return found


def folds_of(labels: BoolArray, fold_x: IntArray, fold_y: IntArray) -> IntArray:
    """The fold of every row in every relabelling, (k, N): X has folds 0, 1, .., Y the next ones."""
    n_folds = int(fold_x.max()) + 1
    found = np.empty(labels.shape, dtype=np.intp)
    found[labels] = np.tile(fold_x, len(labels))
    found[~labels] = np.tile(fold_y.astype(np.intp) + n_folds, len(labels))
    return found


def refitted_pairs(
    rows: FloatArray,
    samples: tuple[WeightedSample, WeightedSample],
    seed: int,
    folds: int,
    sigmas: FloatArray,
    lams: FloatArray | None,
) -> Refitted:
    """E14 of every model from histograms of pair distances whose groups change with the labels."""
    n, m = (len(each.rows) for each in samples)
    dealt = selection.draw_folds(seed, n, m, folds, repeats=1)
    solver = PairsSolver(*samples, dealt, sigmas, lams)
    within, across, own = solver.fold_products(DIFFERENCE)
    each_row = np.repeat([1.0 / n, 1.0 / m], folds)
    weights = np.outer(each_row, each_row)
    # Each pair is counted once, as (i, j), and stands for (j, i) too. Only mean scores over the folds are needed, and
    # in them pairs of groups weigh alike if they agree in samples and in whether they share a fold: six classes.
    means = [part.mean(axis=0).reshape(weights.shape) * weights for part in (within, across)]
    products, classes = np.unique(
        np.round([(part + part.T).ravel() / np.abs(part).max() for part in means], 12), axis=1, return_inverse=True
    )
    products *= np.array([[np.abs(part).max()] for part in means])  # (2, C)
    classes = classes.reshape(weights.shape)
    places = [pair_places(rows, bins, direct=solver.direct) for bins in solver.bins]
    tables = [
        [radial.binned_kernels(solver.table, bins, float(sigmas[level]), 1.0 / 24.0) for level in levels]
        for levels, bins in zip(solver.runs, solver.bins, strict=True)
    ]

    def choose(labels: BoolArray) -> list[Model]:
        scores = np.empty((len(sigmas), len(solver.lams[0]), len(labels)))
        groups = folds_of(labels, dealt.groups_x.all(), dealt.groups_y.all())
        for levels, place, kernels in zip(solver.runs, places, tables, strict=True):
            sums = np.empty((2, len(labels), place.count))
            for b, row in enumerate(groups):
                sums[:, b] = products @ place.histograms(row, classes)
            for level, (plain, squared) in zip(levels, kernels, strict=True):
                found = squared @ sums[0].T - 2.0 * plain @ sums[1].T + own.mean() * solver.table.squared[:, :1]
                scale = np.exp(solver.log_scales.min() - solver.log_scales[level])
                scores[level] = found[: scores.shape[1]] * scale
        best = scores.reshape(-1, len(labels)).argmin(axis=0)
        indices = [divmod(int(index), scores.shape[1]) for index in best]
        return [(float(sigmas[level]), float(solver.lams[level, i])) for level, i in indices]

    filters = FilterKernel(rows.shape[1])
    return Refitted(choose, lambda models: KernelStatistics(rows, models, filters), filters.log_scale)


def refitted_centers(
    rows: FloatArray,
    sizes: tuple[int, int],
    seed: int,
    folds: int,
    of: CenterKernel,
    sigmas: FloatArray,
    lams: FloatArray | None,
) -> Refitted:
    """Fold sums of all relabellings are one product of labels with features, and all folds share each G."""
    dealt = selection.draw_folds(seed, *sizes, folds, repeats=1)
    masses = [np.bincount(groups) / len(groups) for groups in (dealt.groups_x.all(), dealt.groups_y.all())]
    grids = [np.asarray(lams) if lams is not None else LAM_GRID * of.mean_row_sum(float(sigma)) for sigma in sigmas]

    def choose(labels: BoolArray) -> list[Model]:
        groups = folds_of(labels, dealt.groups_x.all(), dealt.groups_y.all())
        member = [(groups == g) / sizes[g >= folds] for g in range(2 * folds)]  # each (k, N)
        scores = np.empty((len(sigmas), len(grids[0]), len(labels)))
        for level, (psi, G) in enumerate(zip(of.ladder(sigmas, rows), of.grams(sigmas), strict=True)):
            sums = np.array([part @ psi for part in member])  # (groups, k, b)
            scores[level] = _fold_scores(sums, masses, dealt.members, G, grids[level], folds)
            scores[level] *= np.exp(of.log_scale(float(sigmas[-1])) - of.log_scale(float(sigmas[level])))
        best = scores.reshape(-1, len(labels)).argmin(axis=0)
        places = [divmod(int(index), len(grids[0])) for index in best]
        return [(float(sigmas[level]), float(grids[level][i])) for level, i in places]

    return Refitted(choose, lambda models: CenterStatistics(rows, models, of), of.log_scale)


def _fold_scores(
    sums: FloatArray, masses: list[FloatArray], members: FloatArray, G: FloatArray, lams: FloatArray, folds: int
) -> FloatArray:
    """Mean hold-out score of each relabelling, (L, k), from sums of features by fold, (2 folds, k, b)."""
    train, holdout = np.zeros((2, folds, *sums.shape[1:]))
    for sign, mass, part in zip((1.0, -1.0), masses, (sums[:folds], sums[folds:]), strict=True):
        for t, member in enumerate(members):
            holdout[t] += sign * np.tensordot(member, part, 1) / (member @ mass)
            train[t] += sign * np.tensordot(1.0 - member, part, 1) / ((1.0 - member) @ mass)
    columns = [np.ascontiguousarray(each.reshape(-1, each.shape[2]).T) for each in (train, holdout)]  # (b, folds * k)
    scores = ridge.holdout_scores(ridge.Ridge.of(G), lams, *columns)
    return np.asarray(scores.reshape(len(lams), folds, -1).mean(axis=1))


class RefittedKDE:
    """The distance of two kernel density estimates whose widths each relabelled sample chooses for itself."""

    def __init__(self, rows: FloatArray, sizes: tuple[int, int], seed: int, folds: int, sigmas: FloatArray) -> None:
        self.rows, self.sigmas = rows, sigmas
        self.dealt = selection.draw_folds(seed, *sizes, folds, repeats=1)
        self.widths: tuple[float, float] | None = None  # of the first relabelling seen, the data's
        self.log_scales = np.zeros(1)
        self.models: list[Model] = []

    def of(self, labels: BoolArray) -> FloatArray:
        """Logarithms, (k, 1)."""
        groups = folds_of(labels, self.dealt.groups_x.all(), self.dealt.groups_y.all())
        half = self.dealt.n_groups
        chosen = np.stack([self._widths(labels == side, groups - shift) for side, shift in ((True, 0), (False, half))])
        self.widths = self.widths or (float(self.sigmas[chosen[0, 0]]), float(self.sigmas[chosen[1, 0]]))
        found = np.empty((len(labels), 1))
        for a, b in np.unique(chosen.T, axis=0):
            mine = (chosen[0] == a) & (chosen[1] == b)
            of_x = (labels[mine] / labels[0].sum()).T
            of_y = (~labels[mine] / (~labels[0]).sum()).T
            of_both = of_x, of_y
            sigmas = float(self.sigmas[a]), float(self.sigmas[b])
            parts, logs = [], []
            for left, right, sign in ((0, 0, 1.0), (1, 1, 1.0), (0, 1, -2.0)):
                sigma = float(np.hypot(sigmas[left], sigmas[right]))
                parts.append(sign * np.einsum("nk,nk->k", of_both[left], self._gaussian(sigma) @ of_both[right]))
                logs.append(-log_peak(sigma, self.rows.shape[1]))
            terms = np.array([part * np.exp(log - max(logs)) for part, log in zip(parts, logs, strict=True)])
            total = terms.sum(axis=0)
            rounding = np.abs(total) <= 1e-12 * np.abs(terms).max(axis=0)
            found[mine, 0] = _logarithm(np.where(rounding, 0.0, total)) + max(logs)
        return found

    def _gaussian(self, sigma: float) -> FloatArray:
        """Gaussians between all rows without their scale, (N, N)."""
        direct = needs_direct_differences(radius(self.rows), sigma, self.rows.shape[1])
        return next(features(squared_distances(self.rows, self.rows, direct), np.array([sigma])))

    def _widths(self, mine: BoolArray, groups: IntArray) -> IntArray:
        """Index of the width with the highest hold-out likelihood for each relabelled sample, (k,)."""
        scores = np.zeros((len(self.sigmas), len(mine)))
        for level, sigma in enumerate(self.sigmas):
            density, log_scale = self._gaussian(float(sigma)), log_peak(float(sigma), self.rows.shape[1])
            for fold in range(self.dealt.n_groups):
                train = (mine & (groups != fold)).astype(np.float64)
                values = (train @ density) / train.sum(axis=1, keepdims=True)  # (k, N)
                held = mine & (groups == fold)
                logs = np.log(np.maximum(values, LEAST_DENSITY)) - log_scale
                scores[level] += np.where(held, logs, 0.0).sum(axis=1)
        return np.asarray(scores.argmax(axis=0))


@dataclass(frozen=True)
class KliepSettings:
    """Sigmas in inner units, the most centers, and the folds within every relabelling, 0 for none."""

    sigmas: FloatArray
    n_centers: int
    folds: int = 0


class KliepStatistics:
    """Estimated KL divergences of all relabellings, at each sigma or, refitted, at the one each chooses for itself."""

    def __init__(self, rows: FloatArray, sizes: tuple[int, int], seed: int, settings: KliepSettings) -> None:
        self.sizes, self.seed, self.settings = sizes, seed, settings
        self.models: list[Model] = [] if settings.folds else [(float(sigma), np.nan) for sigma in settings.sigmas]
        self.log_scales = np.zeros(max(1, len(self.models)))
        smallest = float(settings.sigmas.min())
        direct = needs_direct_differences(radius(rows), smallest, rows.shape[1])
        self.squared = squared_distances(rows, rows, direct)

    def of(self, labels: BoolArray) -> FloatArray:
        """(k, M)."""
        sigmas, folds = self.settings.sigmas, self.settings.folds
        centers = self._centers(labels)
        if not folds:
            one_by_one = (sigmas[k : k + 1] for k in range(len(sigmas)))
            return np.column_stack(
                [density_ratio.permuted_divergences(self.squared, one, labels, None, centers)[0] for one in one_by_one]
            )
        dealt = selection.draw_folds(self.seed, *self.sizes, folds, repeats=1)
        groups = folds_of(labels, dealt.groups_x.all(), dealt.groups_y.all()) % folds
        found, level = density_ratio.permuted_divergences(self.squared, sigmas, labels, groups, centers)
        self.models = self.models or [(float(sigmas[level[0]]), np.nan)]
        return found[:, None]

    def _centers(self, labels: BoolArray) -> BoolArray | None:
        """Which rows of each relabelled X are centers, by position; None if all are."""
        if self.sizes[0] <= self.settings.n_centers:
            return None
        drawn = selection.draw_rows(self.seed, self.sizes[0], self.settings.n_centers)
        chosen = np.isin(np.arange(self.sizes[0]), drawn)
        found = np.zeros_like(labels)
        found[labels] = np.tile(chosen, len(labels))
        return found
