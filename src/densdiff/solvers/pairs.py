"""The pairs solver: the paper's RKHS estimator exactly, in any number of columns, from pair distances (E15).

With columns of categories, the last ones of the rows, it is that of numbers x levels (E16). Distances are counted in
`engines.pair_distances` and `engines.mixed_pairs`, kernels tabulated in `core.radial`.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np

from densdiff.core import kernel, mixed_kernel, radial
from densdiff.core.agreement import AgreementPolynomial, IntArray, stepped_lams
from densdiff.core.ridge import Forms
from densdiff.core.scaling import FloatArray
from densdiff.core.selection import Folds
from densdiff.engines.mixed_pairs import MixedHistograms, mixed_histograms
from densdiff.engines.pair_distances import pair_histograms, radial_sums
from densdiff.solvers.base import NO_LEVELS, FilterKernel, Side, filter_lams, level_polynomials, searched_smoothings
from densdiff.solvers.prepared import WeightedSample

_DIRECT_PAIRS = 200_000  # pairs times models: below it forms are summed pair by pair, right to 1e-11
_KernelKinds = tuple[
    Callable[[radial.RadialTable, int], radial.PairKernel],
    Callable[[radial.RadialTable, IntArray, AgreementPolynomial], radial.PairKernel],
]
# how a kernel is made of the table: for numbers alone, and for numbers x levels
_PLAIN: _KernelKinds = radial.plain_kernel, mixed_kernel.mixed_plain_kernel
_PLAIN_AND_SQUARED: _KernelKinds = radial.plain_and_squared, mixed_kernel.mixed_plain_and_squared
_STATISTIC: _KernelKinds = radial.statistic_kernel, mixed_kernel.mixed_statistic_kernel


class PairsSolver(FilterKernel):
    """Histograms of pair distances by groups, made once; every model of every curve is a product with them.

    Values leave out the factor (2 pi sigma^2)^(-d/2), which ``log_scales`` holds as a logarithm. Level k S + s of a
    model has smoothing k and sigma s of S.
    """

    def __init__(
        self,
        x: WeightedSample,
        y: WeightedSample,
        folds: Folds,
        sigmas: FloatArray,
        lams: FloatArray | None,
        levels: IntArray = NO_LEVELS,
        smoothings: Sequence[int] | None = None,
    ) -> None:
        super().__init__(x.rows.shape[1] - len(levels), levels)
        lams, every, self.distance_steps = filter_lams(lams)
        smoothings = searched_smoothings(levels) if smoothings is None else smoothings
        self.x, self.y, self.folds, self._n_sigmas = x, y, folds, len(sigmas)
        self.sigmas, self.smoothings = np.tile(sigmas, len(smoothings)), np.repeat(smoothings, len(sigmas))
        self.notes: tuple[str, ...] = ()
        self.lams = np.tile(lams, (len(self.sigmas), 1))
        self.log_scales = np.array([self.log_scale(sigma) for sigma in self.sigmas])
        self._polynomials: list[AgreementPolynomial] = []
        self._places: list[IntArray] = [np.arange(len(every))[:, None]]  # of each smoothing's lams in the table, (L, T)
        stepped = every
        if len(levels):
            self._polynomials = level_polynomials(levels, smoothings, float(every.min()))
            stepped, self._places = stepped_lams(every, self._polynomials)
        self.table = radial.radial_table(self.d, stepped)
        groups = np.concatenate([folds.groups_x.all(), folds.n_groups + folds.groups_y.all().astype(np.intp)])
        order = np.argsort(groups, kind="stable")
        self._rows = np.concatenate([x.rows[:], y.rows[:]])[order]
        self._omega = np.concatenate([x.omega, y.omega])[order]
        self._groups = groups[order]
        self._mass = np.bincount(groups, np.concatenate([x.omega, y.omega]))
        self._squares = np.bincount(self._groups, np.square(self._omega))  # (G,) weights of the pairs i = i
        radius = kernel.radius(self._rows[:, : self.d])
        self.direct = kernel.needs_direct_differences(radius, float(sigmas.min()), self.d)
        self.runs = kernel.sigma_runs(sigmas)
        self.bins = [radial.make_bins(sigmas[levels], radius, self.table.reach) for levels in self.runs]
        self._sums: dict[int, tuple[FloatArray, FloatArray]] = {}

    @cached_property
    def _histograms(self) -> list[FloatArray] | list[MixedHistograms]:
        """One for each run of sigmas; of numbers alone (G, G, bins)."""
        rows = self._rows, self._omega, self._groups
        if self._polynomials:
            return [mixed_histograms(*rows, bins, self._polynomials, direct=self.direct) for bins in self.bins]
        return [pair_histograms(*rows, bins, direct=self.direct) for bins in self.bins]

    def _group_sums(self, run: int, weights: FloatArray) -> Iterable[FloatArray]:
        """Pairs i != j at every distance, with the weights (k, G * G) of their groups, (T, bins, k), by smoothing."""
        histograms = self._histograms[run]
        if isinstance(histograms, MixedHistograms):
            return histograms.every_sum(weights)
        return [(histograms.reshape(-1, self.bins[run].count).T @ weights.T)[None]]

    def _kernel_sums(self, kernels: FloatArray, smoothing: int, pairs: FloatArray) -> FloatArray:
        """Sums over pairs, (T, bins, k), of a kernel for every lam, (L, k)."""
        if self._polynomials:
            return mixed_kernel.sum_over_steps(kernels, self._places[smoothing], pairs)
        return np.asarray(kernels @ pairs[0])

    def _peaks(self, smoothing: int) -> tuple[FloatArray, FloatArray]:
        """Both kernels of a row with itself for every lam, two (L,) arrays."""
        e = self._polynomials[smoothing].of_equal_rows if self._polynomials else np.ones(1)
        places = self._places[smoothing]
        return self.table.plain[places, 0] @ e, self.table.squared[places, 0] @ e

    def _weights(self, side: Side, of_x: FloatArray, of_y: FloatArray) -> FloatArray:
        """Weights of all groups from weights of each sample's groups, (.., G)."""
        return np.concatenate([side.x * of_x, side.y * of_y], axis=-1)

    def scores(self, side: Side) -> FloatArray:
        """E14 for every model and fold, times the scale, (S, L, k)."""
        within, across, own = self.fold_products(side)
        table = np.empty((*self.lams.shape, len(own)))
        for run, levels in enumerate(self.runs):
            kernels = [radial.binned_kernels(self.table, self.bins[run], float(self.sigmas[s])) for s in levels]
            pairs = zip(*(self._group_sums(run, weights) for weights in (within, across)), strict=True)
            for smoothing, (pairs_within, pairs_across) in enumerate(pairs):
                of_own = np.outer(self._peaks(smoothing)[1], own)
                for s, (plain, squared) in zip(levels, kernels, strict=True):
                    scores = self._kernel_sums(squared, smoothing, pairs_within)
                    scores -= 2.0 * self._kernel_sums(plain, smoothing, pairs_across)
                    table[smoothing * self._n_sigmas + s] = (scores + of_own)[: table.shape[1]]
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
            peak, peak2 = (peaks[i] for peaks in self._peaks(level // self._n_sigmas))
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
            smoothing, s = divmod(level, self._n_sigmas)
            run = next(r for r, levels in enumerate(self.runs) if s in levels)
            pairs = self._sample_pairs(run, smoothing)
            kernels = radial.binned_kernels(self.table, self.bins[run], float(self.sigmas[level]))
            plain, squared = (self._kernel_sums(values, smoothing, pairs) for values in kernels)
            self._sums[level] = plain, squared  # two of (L, 3)
        plain, squared = self._sums[level]
        return plain[i], squared[i]

    def _sample_pairs(self, run: int, smoothing: int) -> FloatArray:
        """Pairs i != j at every distance within X, across and within Y, (T, bins, 3)."""
        half, histograms = self.folds.n_groups, self._histograms[run]
        blocks = (slice(half), slice(half)), (slice(half), slice(half, None)), (slice(half, None), slice(half, None))
        if not isinstance(histograms, MixedHistograms):
            return np.array([histograms[block].sum(axis=(0, 1)) for block in blocks]).T[None]
        chosen = np.zeros((3, 2 * half, 2 * half))
        for weights, block in zip(chosen, blocks, strict=True):
            weights[block] = 1.0
        return histograms.sums(smoothing, chosen.reshape(3, -1))

    def _exact_sums(self, level: int, i: int) -> tuple[FloatArray, FloatArray]:
        """Weighted sums of both kernels as by `_binned_sums`, two of (3,), but from every pair, without bins."""
        in_x = self._groups < self.folds.n_groups
        weights = np.column_stack([self._omega * in_x, self._omega * ~in_x])  # (N, 2)
        kernels = self._kernels(_PLAIN_AND_SQUARED, level, i)
        sums = radial_sums(self._rows, self._rows, weights, kernels, float(self.sigmas[level]), direct=self.direct)
        results = []
        for values, peaks in zip(sums, self._peaks(level // self._n_sigmas), strict=True):
            totals = weights.T @ values  # (2, 2)
            own = np.square(weights).sum(axis=0) * peaks[i]
            results.append(np.array([totals[0, 0] - own[0], totals[0, 1], totals[1, 1] - own[1]]))
        return results[0], results[1]

    def _kernels(self, kinds: _KernelKinds, level: int, i: int) -> radial.PairKernel:
        """Kernels of one model, of numbers alone or of numbers x levels."""
        of_numbers, of_levels = kinds
        if not self._polynomials:
            return of_numbers(self.table, i)
        smoothing = level // self._n_sigmas
        return of_levels(self.table, self._places[smoothing][i], self._polynomials[smoothing])

    def evaluate(self, side: Side, model: tuple[int, int], points: FloatArray) -> FloatArray:
        """The curve at points in inner units, times the scale, (k,)."""
        return self._curve(side, model[0], self._kernels(_PLAIN, *model), points)

    def unbiased(self, side: Side, model: tuple[int, int], points: FloatArray) -> FloatArray:
        """The curve under 2F - F^2, times the scale, (k,)."""
        return self._curve(side, model[0], self._kernels(_STATISTIC, *model), points)

    def _curve(self, side: Side, level: int, kernels: radial.PairKernel, points: FloatArray) -> FloatArray:
        sigma, d = float(self.sigmas[level]), self.d
        weights = np.where(self._groups < self.folds.n_groups, side.x, side.y) * self._omega
        used = weights != 0
        direct = self.direct or kernel.needs_direct_differences(kernel.radius(points[:, :d]), sigma, d)
        rows, weights = (self._rows, weights) if used.all() else (self._rows[used], weights[used])
        return radial_sums(points, rows, weights[:, None], kernels, sigma, direct=direct)[0][:, 0]
