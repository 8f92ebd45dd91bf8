"""Estimated KL divergences of many relabellings of the same pooled rows."""

from dataclasses import dataclass

import numpy as np

from densdiff.core import density_ratio, selection
from densdiff.core.kernel import needs_direct_differences, radius, squared_distances
from densdiff.core.resample import BoolArray
from densdiff.core.scaling import FloatArray
from densdiff.engines.ratio_climbs import climb_for
from densdiff.testing.refit import CrossValidation, folds_by_position
from densdiff.testing.statistics import BaseStatistics, Model, ReportedModel


@dataclass(frozen=True)
class KliepSettings:
    """Sigmas in inner units, the most centers, and the folds within every relabelling, 0 for none."""

    sigmas: FloatArray
    n_centers: int
    seed: int
    n_folds: int = 0


class KliepStatistics(BaseStatistics):
    """Estimated KL divergences of all relabellings, at each sigma or, refitted, at the one each chooses for itself."""

    def __init__(self, rows: FloatArray, sizes: tuple[int, int], settings: KliepSettings) -> None:
        self.sizes, self.settings = sizes, settings
        self.models: list[Model] = [] if settings.n_folds else [(float(sigma), np.nan) for sigma in settings.sigmas]
        self.log_scales = np.zeros(max(1, len(self.models)))
        smallest = float(settings.sigmas.min())
        direct = needs_direct_differences(radius(rows), smallest, rows.shape[1])
        self.squared = squared_distances(rows, rows, direct)

    def table(self, labels: BoolArray) -> FloatArray:
        """Divergences, (k, M), for labels (k, N)."""
        sigmas, n_folds = self.settings.sigmas, self.settings.n_folds
        centers = self._centers(labels)
        if not n_folds:
            one_by_one = (sigmas[k : k + 1] for k in range(len(sigmas)))
            return np.column_stack(
                [density_ratio.permuted_divergences(self.squared, one, labels, None, centers)[0] for one in one_by_one]
            )
        folds = CrossValidation(self.settings.seed, n_folds, sigmas).draw_folds(*self.sizes)
        groups = folds_by_position(labels, folds.groups_x.all(), folds.groups_y.all()) % n_folds
        n_centers = min(self.sizes[0], self.settings.n_centers)
        climb = climb_for(len(labels) * n_folds * len(sigmas), self.sizes[0], n_centers)
        divergences, level = density_ratio.permuted_divergences(self.squared, sigmas, labels, groups, centers, climb)
        self.models = self.models or [(float(sigmas[level[0]]), np.nan)]
        return divergences[:, None]

    def reported_model(self, index: int, sigma_unit: float) -> ReportedModel:
        """Sigma; there is no lam."""
        sigma, _ = self.models[index]
        return sigma * sigma_unit, None

    def log_factor(self, index: int, log_volume: float) -> float:
        """0: a divergence has no units."""
        return 0.0

    def _centers(self, labels: BoolArray) -> BoolArray | None:
        """Which rows of each relabelled X are centers, by position, (k, N); None if all are."""
        if self.sizes[0] <= self.settings.n_centers:
            return None
        drawn = selection.draw_rows(self.settings.seed, self.sizes[0], self.settings.n_centers)
        is_center = np.zeros_like(labels)
        is_center[labels] = np.tile(np.isin(np.arange(self.sizes[0]), drawn), len(labels))
        return is_center
