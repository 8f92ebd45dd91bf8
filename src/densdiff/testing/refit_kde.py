"""Two kernel density estimates, their widths cross-validated within every relabelling."""

import numpy as np

from densdiff.core.kernel import features, needs_direct_differences, radius, squared_distances
from densdiff.core.resample import BoolArray
from densdiff.core.scaling import FloatArray
from densdiff.solvers.likelihood_width import LEAST_DENSITY, log_peak
from densdiff.testing.refit import CrossValidation, IntArray, folds_by_position, logarithm
from densdiff.testing.statistics import BaseStatistics, Model, ReportedModel


class RefittedKDE(BaseStatistics):
    """The distance of two kernel density estimates whose widths each relabelled sample chooses for itself."""

    in_logs = True

    def __init__(self, rows: FloatArray, sizes: tuple[int, int], search: CrossValidation) -> None:
        self.rows, self.sigmas = rows, search.sigmas
        self.folds = search.draw_folds(*sizes)
        self.widths: tuple[float, float] | None = None  # of the first relabelling seen, the data's
        self.log_scales = np.zeros(1)
        self.models: list[Model] = []

    def table(self, labels: BoolArray) -> FloatArray:
        """Logarithms of the statistic of each relabelling, (k, 1)."""
        groups = folds_by_position(labels, self.folds.groups_x.all(), self.folds.groups_y.all())
        half = self.folds.n_groups
        levels = np.stack([self._widths(labels == side, groups - shift) for side, shift in ((True, 0), (False, half))])
        self.widths = self.widths or (float(self.sigmas[levels[0, 0]]), float(self.sigmas[levels[1, 0]]))
        logs = np.empty((len(labels), 1))
        for a, b in np.unique(levels.T, axis=0):
            same_widths = (levels[0] == a) & (levels[1] == b)
            logs[same_widths, 0] = self._log_distances(
                labels[same_widths], (float(self.sigmas[a]), float(self.sigmas[b]))
            )
        return logs

    def reported_model(self, index: int, sigma_unit: float) -> ReportedModel:
        """The widths that the data's own samples chose; nan before the data's labels were seen."""
        width_x, width_y = self.widths or (np.nan, np.nan)
        return (width_x * sigma_unit, width_y * sigma_unit), None

    def _log_distances(self, labels: BoolArray, sigmas: tuple[float, float]) -> FloatArray:
        """Logarithms of the squared distances of relabellings that chose the same widths, (k,)."""
        weights = (labels / labels[0].sum()).T, (~labels / (~labels[0]).sum()).T  # (N, k) each
        products, log_factors = [], []
        for left, right, sign in ((0, 0, 1.0), (1, 1, 1.0), (0, 1, -2.0)):
            sigma = float(np.hypot(sigmas[left], sigmas[right]))
            products.append(sign * np.einsum("nk,nk->k", weights[left], self._gaussian(sigma) @ weights[right]))
            log_factors.append(-log_peak(sigma, self.rows.shape[1]))
        largest = max(log_factors)
        terms = np.array([part * np.exp(log - largest) for part, log in zip(products, log_factors, strict=True)])
        total = terms.sum(axis=0)
        rounding = np.abs(total) <= 1e-12 * np.abs(terms).max(axis=0)
        return logarithm(np.where(rounding, 0.0, total)) + largest

    def _gaussian(self, sigma: float) -> FloatArray:
        """Gaussians between all rows without their scale, (N, N)."""
        direct = needs_direct_differences(radius(self.rows), sigma, self.rows.shape[1])
        return next(features(squared_distances(self.rows, self.rows, direct), np.array([sigma])))

    def _widths(self, members: BoolArray, groups: IntArray) -> IntArray:
        """Index of the width with the highest hold-out likelihood for each relabelled sample, (k,)."""
        scores = np.zeros((len(self.sigmas), len(members)))
        for level, sigma in enumerate(self.sigmas):
            density, log_scale = self._gaussian(float(sigma)), log_peak(float(sigma), self.rows.shape[1])
            for fold in range(self.folds.n_groups):
                train = (members & (groups != fold)).astype(np.float64)
                values = (train @ density) / train.sum(axis=1, keepdims=True)  # (k, N)
                held_out = members & (groups == fold)
                logs = np.log(np.maximum(values, LEAST_DENSITY)) - log_scale
                scores[level] += np.where(held_out, logs, 0.0).sum(axis=1)
        return np.asarray(scores.argmax(axis=0))
