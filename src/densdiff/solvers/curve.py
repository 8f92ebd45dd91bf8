"""f averaged over models: no single width and penalty is chosen, each counts as much as its score allows.

An average of filters is a filter. Models are scored by the whole samples, without folds (E17a): on a grid in one or two
columns of numbers, else from pairs of rows within blocks. Columns are measured in widths of their own smoothness, as
they are or whitened, whichever scores better.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from densdiff.core import kernel, mixed_kernel, radial, selection
from densdiff.core.scaling import FloatArray, from_log
from densdiff.core.selection import CURVE_LAMS
from densdiff.engines.pair_distances import radial_sums
from densdiff.errors import NumericalError
from densdiff.solvers.base import DENSITY_X, DENSITY_Y, DIFFERENCE
from densdiff.solvers.drawn_rows import Rows, common_widths, rows_of, smooth_widths, whitened_rows
from densdiff.solvers.pair_counts import Models, PairCounts
from densdiff.solvers.prepared import Prepared, WeightedSample
from densdiff.solvers.spectral import SpectralSolver

BoolArray = npt.NDArray[np.bool_]

_WIDEST = 4.0  # sigma, in widths
_NOISE = 0.02  # of the norms of two normal densities: a rung whose smoothest filter has more is left out
_MOST_RUNGS = {1: 17, 2: 13}
_MOST_RUNGS_OF_MORE = 12
_GRID_COLUMNS = 2
_DISTANCE_ROWS = 200  # of each sample
_TABLE_STEP = 0.013  # of the narrowest sigma: a cubic is then right to 1e-7; with many classes of agreement, to 3e-5
_TABLE_RATIO = 16.0  # of the sigmas of a table: a second one is cheaper than the length that the widest would need
_MANY_CLASSES, _COARSER, _NOTHING = 16, 4.0, 1e-12


class Curve(Protocol):
    """f = p - q averaged over models."""

    @property
    def models(self) -> Models:
        """The scored models."""

    @property
    def log_volume(self) -> float:
        """Logarithm of the volume of a unit cube of the curve's metric, in inner units."""

    def values(self, points: FloatArray) -> tuple[FloatArray, float]:
        """f at points in inner units, (k,), and the logarithm of its factor in the curve's metric."""


@dataclass(frozen=True)
class AveragedCurve:
    """A curve in the user's units."""

    curve: Curve
    log_volume: float  # of inner units

    def at(self, inner: FloatArray) -> FloatArray:
        """f at points in inner units, in the user's, (k,)."""
        values, log_factor = self.curve.values(inner)
        return from_log(values, log_factor - self.curve.log_volume - self.log_volume)

    @property
    def note(self) -> str | None:
        """What to say of widths at the end of those that were searched."""
        return self.curve.models.note()


def find_curve(data: Prepared) -> AveragedCurve:
    """Score the models of f in each metric and keep the better one."""
    rows = smooth_widths(common_widths(rows_of(data)))
    whitened = whitened_rows(rows)
    curves = [_curve_of(metric) for metric in ([rows] if whitened is None else [rows, whitened])]
    logs = [curve.models.log_unit - curve.log_volume for curve in curves]
    with np.errstate(under="ignore"):
        scores = [curve.models.least * np.exp(log - max(logs)) for curve, log in zip(curves, logs, strict=True)]
    return AveragedCurve(curves[int(np.argmin(scores))], data.scaling.log_volume)


def _curve_of(rows: Rows) -> Curve:
    d = rows.numbers.shape[1]
    if 0 < d <= _GRID_COLUMNS and not len(rows.levels):
        try:
            curve = _GridCurve(rows, _grid_solver(rows))
        except NumericalError:  # the data range too widely
            return PairCurve(rows)
        if not curve.solver.n_outside:
            return curve
    return PairCurve(rows)


def _sigmas(rows: Rows) -> FloatArray:
    """The sigmas to average over, widest first, in the metric of the rows.

    From four widths down to where the smoothest filter of a sigma has noise of a fiftieth of the norms of two normal
    densities; and wider ones that are near the distances of rows, in many columns or between modes far apart.
    """
    d, per_row = rows.numbers.shape[1], sum(1.0 / size for size in rows.sizes)
    return _ladder(_some_of_each(rows), d, per_row, rows.narrowest_seen)


def pooled_sigmas(numbers: FloatArray, most: int) -> FloatArray:
    """The sigmas that suit curves from at most so many of these rows, (N, d), found without a look at whose they are.

    Rows are looked at in an order of their own, so that swapping the samples changes nothing.
    """
    n, d = numbers.shape
    some_rows = numbers[np.argsort(numbers.sum(axis=1), kind="stable")[:: -(-n // (2 * _DISTANCE_ROWS))]]
    return _ladder(some_rows, d, 4.0 / min(n, most), 0.0)  # equally large samples have the least noise


def _ladder(some_rows: FloatArray, d: int, per_row: float, narrowest: float) -> FloatArray:
    """The sigmas that suit rows of which some tell the distances; ``per_row`` is 1/n + 1/m."""
    if d == 0:
        return np.ones(1)
    peak = float(radial.radial_table(d, CURVE_LAMS[:1]).squared[0, 0])
    log_narrowest = (np.log(peak * per_row / (2.0 * _NOISE)) + 0.5 * d * np.log(2.0)) / d
    most = _MOST_RUNGS.get(d, _MOST_RUNGS_OF_MORE)
    count = int(np.clip(2.0 * (np.log(_WIDEST) - log_narrowest) / np.log(2.0) + 1.0, 2, most))
    ladder = _WIDEST * 2.0 ** (-0.5 * np.arange(count))
    distances = kernel.sigma_ladder(some_rows)
    return np.concatenate([distances[distances > _WIDEST * np.sqrt(2.0)], ladder[ladder >= narrowest]])


def _some_of_each(rows: Rows) -> FloatArray:
    """Rows of both samples, evenly spaced, that tell the distances between rows."""
    in_x = rows.groups < rows.n_groups
    parts = (rows.numbers[in_x], rows.numbers[~in_x])
    return np.concatenate([part[:: -(-len(part) // _DISTANCE_ROWS)] for part in parts])


def _grid_solver(rows: Rows) -> SpectralSolver:
    in_x = rows.groups < rows.n_groups
    x, y = (WeightedSample.of(rows.numbers[chosen], rows.omega[chosen]) for chosen in (in_x, ~in_x))
    return SpectralSolver(x, y, selection.one_group(len(x.rows), len(y.rows)), _sigmas(rows), CURVE_LAMS)


@dataclass(frozen=True)
class _GridCurve:
    """f from transforms on a grid."""

    rows: Rows
    solver: SpectralSolver

    @property
    def log_volume(self) -> float:
        return self.rows.log_volume

    @cached_property
    def models(self) -> Models:
        (scores, noise), *densities = (self.solver.whole_scores(side) for side in (DIFFERENCE, DENSITY_X, DENSITY_Y))
        share = selection.share_of_densities(*self.rows.sizes)
        return Models(self.solver.sigmas, scores + share * sum(score for score, _ in densities), noise, 0.0)

    def values(self, points: FloatArray) -> tuple[FloatArray, float]:
        """f at points in inner units, (k,); its factor is 1."""
        return self.solver.averaged(DIFFERENCE, self.models.weights, self.rows.place(points)), 0.0


class PairCurve:
    """f from pairs of rows, of which the last columns may be codes of categories (E15, E16)."""

    def __init__(self, rows: Rows, counts: PairCounts | None = None, is_used: BoolArray | None = None) -> None:
        """``counts`` of pairs that other curves share, if they do, and which of its groups the rows are, (G,)."""
        self.rows, self.d = rows, rows.numbers.shape[1]
        if counts is None:
            counts = PairCounts(_sigmas(rows), [block.as_one_group() for block in rows.blocks()])
        self.table = counts.table
        scored = counts.models(rows.sizes, is_used)
        best = int(np.argmin([models.least for models in scored]))
        self.models, self.polynomial, self.places = scored[best], counts.polynomials[best], counts.places[best]

    @property
    def log_volume(self) -> float:
        return self.rows.log_volume

    def values(self, points: FloatArray) -> tuple[FloatArray, float]:
        """f at points in inner units, (k,), and the logarithm of its factor."""
        rows = np.hstack([self.rows.numbers, self.rows.codes])
        signs = np.where(self.rows.groups < self.rows.n_groups, 1.0, -1.0) * self.rows.omega
        points = np.hstack([self.rows.place(points[:, : self.d]), points[:, self.d :]])
        farthest = max(kernel.radius(points[:, : self.d]), kernel.radius(self.rows.numbers))
        direct = kernel.needs_direct_differences(farthest, float(self.models.sigmas[-1]), self.d)
        values = np.zeros(len(points))
        for kernels in self._averaged_kernels:
            values += radial_sums(points, rows, signs[:, None], kernels, 1.0, direct=direct)[0][:, 0]
        return values, -self._log_scale

    @property
    def _log_scale(self) -> float:
        """Logarithm of the scale of the narrowest sigma that counts."""
        used = np.flatnonzero(self.models.weights.any(axis=1))
        return radial.log_scale(float(self.models.sigmas[used[-1]]), self.d)

    @cached_property
    def _averaged_kernels(self) -> list[mixed_kernel.MixedRadial]:
        """The kernels of all models together, one for each run of sigmas that a table can serve."""
        runs = kernel.sigma_runs(self.models.sigmas, _TABLE_RATIO)
        counts = np.asarray(self.models.weights.any(axis=1))
        return [self._averaged_kernel(levels[counts[levels]]) for levels in runs if counts[levels].any()]

    def _averaged_kernel(self, used: npt.NDArray[np.intp]) -> mixed_kernel.MixedRadial:
        """The kernel of the models of some sigmas, widest first, times the scale of the narrowest of all."""
        weights, sigmas, log_scale = self.models.weights, self.models.sigmas, self._log_scale
        farthest, step = self.table.reach * float(sigmas[used[0]]), _TABLE_STEP * float(sigmas[used[-1]])
        has_many_tables = mixed_kernel.fits_by_class(self.polynomial, int(farthest / (_COARSER * step)) + 3)
        if has_many_tables and self.polynomial.classes.count > _MANY_CLASSES:
            step *= _COARSER
        if not self.d:
            step = 1.0
        nodes: FloatArray = step * np.arange(int(farthest / step) + 3.0)
        total = np.zeros((len(self.polynomial.exponents), len(nodes)))
        for level in used:
            sigma = float(sigmas[level])
            with np.errstate(under="ignore"):
                factor = np.exp(log_scale - radial.log_scale(sigma, self.d))
            near = nodes[: int(self.table.reach * sigma / step) + 3]  # beyond, a table of this sigma holds zeros
            by_lam = np.array(_at(self.table.step, self.table.plain, near / sigma))
            total[:, : len(near)] += factor * mixed_kernel.weighted_by_lam(by_lam, self.places, weights[level])
        seen = np.flatnonzero(np.abs(total).max(axis=0) > _NOTHING * np.abs(total).max())
        total = total[:, : int(seen[-1]) + 3] if len(seen) else total[:, :4]
        total[:, -2:] = 0.0
        return mixed_kernel.mixed(step, (total,), self.polynomial)


class FoldCurves:
    """f from any folds of the rows, whose groups are the folds: one count of their pairs serves all."""

    def __init__(self, rows: Rows, sigmas: FloatArray) -> None:
        self.rows, self.counts = rows, PairCounts(sigmas, [rows])

    def of(self, is_used: BoolArray) -> PairCurve:
        """f from the folds that are used, (K,)."""
        used_groups = np.tile(is_used, 2)
        return PairCurve(self.rows.of_groups(used_groups), self.counts, used_groups)


def _at(step: float, tables: FloatArray, r: FloatArray) -> list[FloatArray]:
    """Tables of r = 0, step, .., (T, R), at distances r."""
    return radial.interpolate(radial.Radial(step, tuple(tables)), r)
