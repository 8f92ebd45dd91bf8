"""The pairs solver: the paper's RKHS estimator exactly, in any number of columns, from pair distances (E15).

Distances are counted in `engines.pair_distances`, kernels tabulated in `core.radial`.
"""

from functools import cached_property

import numpy as np

from densdiff.core import kernel, radial
from densdiff.core.ridge import Forms
from densdiff.core.scaling import FloatArray
from densdiff.core.selection import Folds
from densdiff.engines.pair_distances import pair_histograms, radial_sums
from densdiff.solvers.base import FilterKernel, Side, filter_lams
from densdiff.solvers.prepared import WeightedSample

_DIRECT_PAIRS = 200_000  # pairs times models: below it forms are summed pair by pair, right to 1e-11


class PairsSolver(FilterKernel):
    """Histograms of pair distances by groups, made once; every model of every curve is a product with them.

    Values leave out the factor (2 pi sigma^2)^(-d/2), which ``log_scales`` holds as a logarithm.
    """

    def __init__(
        self, x: WeightedSample, y: WeightedSample, folds: Folds, sigmas: FloatArray, lams: FloatArray | None
    ) -> None:
        lams, every, self.distance_steps = filter_lams(lams)
        self.x, self.y, self.folds, self.sigmas = x, y, folds, sigmas
        self.notes: tuple[str, ...] = ()
        self.lams = np.tile(lams, (len(sigmas), 1))
        super().__init__(x.rows.shape[1])
        self.log_scales = np.array([self.log_scale(sigma) for sigma in sigmas])
        self.table = radial.radial_table(self.d, every)
        groups = np.concatenate([folds.groups_x.all(), folds.n_groups + folds.groups_y.all().astype(np.intp)])
        order = np.argsort(groups, kind="stable")
        self._rows = np.concatenate([x.rows[:], y.rows[:]])[order]
        self._omega = np.concatenate([x.omega, y.omega])[order]
        self._groups = groups[order]
        self._mass = np.bincount(groups, np.concatenate([x.omega, y.omega]))
        self._squares = np.bincount(self._groups, np.square(self._omega))  # (G,) weights of the pairs i = i
        radius = kernel.radius(self._rows)
        self.direct = kernel.needs_direct_differences(radius, float(sigmas.min()), self.d)
        self.runs = kernel.sigma_runs(sigmas)
        self.bins = [radial.make_bins(sigmas[levels], radius, self.table.reach) for levels in self.runs]
        self._sums: dict[int, tuple[FloatArray, FloatArray]] = {}

    @cached_property
    def _histograms(self) -> list[FloatArray]:
        """One for each run of sigmas, (G, G, bins)."""
        return [pair_histograms(self._rows, self._omega, self._groups, bins, direct=self.direct) for bins in self.bins]

    def _weights(self, side: Side, of_x: FloatArray, of_y: FloatArray) -> FloatArray:
        """Weights of all groups from weights of each sample's groups, (.., G)."""
        return np.concatenate([side.x * of_x, side.y * of_y], axis=-1)

    def scores(self, side: Side) -> FloatArray:
        """E14 for every model and fold, times the scale, (S, L, k)."""
        within, across, own = self.fold_products(side)
        table = np.empty((*self.lams.shape, len(own)))
        for levels, bins, histograms in zip(self.runs, self.bins, self._histograms, strict=True):
            flat = histograms.reshape(-1, bins.count)  # (G * G, bins)
            pairs_within, pairs_across = flat.T @ within.T, flat.T @ across.T  # (bins, k)
            for level in levels:
                plain, squared = radial.binned_kernels(self.table, bins, float(self.sigmas[level]))
                scores = squared @ pairs_within - 2.0 * plain @ pairs_across
                table[level] = (scores + np.outer(self.table.squared[:, 0], own))[: table.shape[1]]
        return table

    def fold_products(self, side: Side) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Weights of pairs of groups in E14, within training rows and across to held ones, (k, G * G), and of i = i."""
        members, half = self.folds.members, self.folds.n_groups
        mass_x, mass_y = self._mass[:half], self._mass[half:]
        held = self._weights(side, members / (members @ mass_x)[:, None], members / (members @ mass_y)[:, None])
        used = 1.0 - members
        train = self._weights(side, used / (used @ mass_x)[:, None], used / (used @ mass_y)[:, None])  # (k, G)
        own = np.square(train) @ self._squares  # (k,)
        within, across = (np.einsum("tg,th->tgh", train, other).reshape(len(train), -1) for other in (train, held))
        return within, across, np.asarray(own, dtype=np.float64)

    def forms(self, side: Side, models: list[tuple[int, int]]) -> list[Forms]:
        """The twins of E4 to E7 (E15), times the scale."""
        exact = len(models) * len(self._rows) ** 2 <= 2 * _DIRECT_PAIRS
        sums = self._exact_sums if exact else self._binned_sums
        ones_x = np.square(self.x.omega).sum()
        ones_y = np.square(self.y.omega).sum()
        forms = []
        for level, i in models:
            (xx, xy, yy), (xx2, xy2, yy2) = sums(level, i)
            peak, peak2 = self.table.plain[i, 0], self.table.squared[i, 0]
            own = side.x**2 * ones_x + side.y**2 * ones_y
            plain = side.x**2 * xx + 2 * side.x * side.y * xy + side.y**2 * yy + own * peak
            square = side.x**2 * xx2 + 2 * side.x * side.y * xy2 + side.y**2 * yy2 + own * peak2
            # the U-statistic leaves out i = j and divides each sample's own block by 1 - sum omega^2
            blocks = side.x**2 * ones_x / (1 - ones_x) * (2 * xx - xx2) + side.y**2 * ones_y / (1 - ones_y) * (
                2 * yy - yy2
            )
            correction = own * (2 * peak - peak2) - blocks
            forms.append(Forms(float(plain), float(plain - square), float(correction)))
        return forms

    def _binned_sums(self, level: int, i: int) -> tuple[FloatArray, FloatArray]:
        """Weighted sums of both kernels over pairs i != j within X, across and within Y: two of (3,)."""
        if level not in self._sums:
            run = next(r for r, levels in enumerate(self.runs) if level in levels)
            half, blocks = self.folds.n_groups, self._histograms[run]
            histograms = np.array(
                [
                    blocks[:half, :half].sum(axis=(0, 1)),
                    blocks[:half, half:].sum(axis=(0, 1)),
                    blocks[half:, half:].sum(axis=(0, 1)),
                ]
            )  # (3, bins)
            plain, squared = radial.binned_kernels(self.table, self.bins[run], float(self.sigmas[level]))
            self._sums[level] = (plain @ histograms.T, squared @ histograms.T)  # two of (L, 3)
        plain, squared = self._sums[level]
        return plain[i], squared[i]

    def _exact_sums(self, level: int, i: int) -> tuple[FloatArray, FloatArray]:
        """Weighted sums of both kernels as by `_binned_sums`, two of (3,), but from every pair, without bins."""
        in_x = self._groups < self.folds.n_groups
        weights = np.column_stack([self._omega * in_x, self._omega * ~in_x])  # (N, 2)
        kernels = radial.plain_and_squared(self.table, i)
        sums = radial_sums(self._rows, self._rows, weights, kernels, float(self.sigmas[level]), direct=self.direct)
        results = []
        for values, peak in zip(sums, (self.table.plain[i, 0], self.table.squared[i, 0]), strict=True):
            totals = weights.T @ values  # (2, 2)
            own = np.square(weights).sum(axis=0) * peak
            results.append(np.array([totals[0, 0] - own[0], totals[0, 1], totals[1, 1] - own[1]]))
        return results[0], results[1]

    def evaluate(self, side: Side, model: tuple[int, int], points: FloatArray) -> FloatArray:
        """The curve at points in inner units, times the scale, (k,)."""
        step, (plain, _) = radial.plain_and_squared(self.table, model[1])
        return self._curve(side, model[0], radial.Radial(step, (plain,)), points)

    def unbiased(self, side: Side, model: tuple[int, int], points: FloatArray) -> FloatArray:
        """The curve under 2F - F^2, times the scale, (k,)."""
        return self._curve(side, model[0], radial.statistic_kernel(self.table, model[1]), points)

    def _curve(self, side: Side, level: int, kernels: radial.Radial, points: FloatArray) -> FloatArray:
        sigma = float(self.sigmas[level])
        weights = np.where(self._groups < self.folds.n_groups, side.x, side.y) * self._omega
        used = weights != 0
        direct = self.direct or kernel.needs_direct_differences(kernel.radius(points), sigma, points.shape[1])
        rows, weights = (self._rows, weights) if used.all() else (self._rows[used], weights[used])
        return radial_sums(points, rows, weights[:, None], kernels, sigma, direct=direct)[0][:, 0]
