"""The spectral solver: the paper's RKHS estimator exactly, as a filter on a grid, for one to three columns.

Grids are filled in `engines.grids`, transforms and filters computed in `core.fourier`.
"""

import numpy as np
import numpy.typing as npt

from densdiff.core import fourier, kernel
from densdiff.core import grid as grids
from densdiff.core.ridge import Forms
from densdiff.core.scaling import FloatArray
from densdiff.core.selection import Folds, GroupPattern
from densdiff.core.weights import group_masses, sum_of_squares
from densdiff.engines.grids import plan, spread
from densdiff.errors import NumericalError
from densdiff.solvers.base import FilterKernel, Side, filter_lams
from densdiff.solvers.prepared import WeightedSample

MOST_COLUMNS = 3
_MOST_OUTSIDE = 0.2  # of the rows: the thin tails of heavy-tailed data, not the data themselves
_PHASES = 1 << 20  # complex numbers at a time while predicting
_POWER_ROWS = 4096  # the terms i = j are O(1/n): this many rows of a sample tell them well enough


class SpectralSolver(FilterKernel):
    """Transforms of all groups (E11), one for each octave of sigmas, from a single pass over the rows."""

    def __init__(
        self, x: WeightedSample, y: WeightedSample, folds: Folds, sigmas: FloatArray, lams: FloatArray | None
    ) -> None:
        lams, self._every_lam, self.distance_steps = filter_lams(lams)
        self.x, self.y, self.folds, self.sigmas = x, y, folds, sigmas
        self.smoothings = np.zeros(len(sigmas), dtype=np.intp)  # it takes no categories
        self.lams = np.tile(lams, (len(sigmas), 1))
        super().__init__(x.rows.shape[1])
        self.log_scales = np.zeros(len(sigmas))
        self._mass = [group_masses(g, s.omega) for s, g in self._grouped()]
        self._octaves = np.zeros(len(sigmas), dtype=np.intp)  # the first level of each level's octave
        self._transforms: dict[int, fourier.Transform] = {}  # by the first level of an octave
        self._noise: dict[int, list[FloatArray]] = {}
        self.n_outside = max(self._transform(levels) for levels in kernel.sigma_runs(sigmas))
        self.notes: tuple[str, ...] = ()
        if self.n_outside:
            rows = len(x.rows) + len(y.rows)
            self.notes = (f"{self.n_outside} of {rows} rows lie too far out for the grid and are treated as isolated",)

    def _grouped(self) -> tuple[tuple[WeightedSample, GroupPattern], tuple[WeightedSample, GroupPattern]]:
        return (self.x, self.folds.groups_x), (self.y, self.folds.groups_y)

    def _transform(self, levels: npt.NDArray[np.intp]) -> int:
        """Spread the rows for a run of sigmas and transform each octave; the number of rows that lay too far out."""
        sigmas, lam, n_groups = self.sigmas[levels], float(self._every_lam.min()), self.folds.n_groups
        axes, spacing = plan([self.x.rows, self.y.rows], sigmas, lam, 2 * n_groups)
        counted = spread([(s.rows, s.omega, g) for s, g in self._grouped()], n_groups, axes, spacing)
        outside, rows = sum(count for _, count in counted), len(self.x.rows) + len(self.y.rows)
        if outside > _MOST_OUTSIDE * rows:
            raise NumericalError(
                f"the data range too widely for a grid as fine as the smallest sigma needs: {outside} of {rows} rows "
                "lie outside; use solver='pairs' or larger sigmas"
            )
        grid = grids.finest_grid(np.concatenate([counts for counts, _ in counted]), spacing)
        octaves = np.floor(np.log2(sigmas / sigmas.min()) + 1e-9).astype(int)
        for octave in range(octaves.max() + 1):
            if octave > 0:
                grid = grids.coarsen(grid)
            chosen = octaves == octave
            if chosen.any():
                first = int(levels[chosen][0])
                self._octaves[levels[chosen]] = first
                self._transforms[first] = fourier.transform(grid, axes, sigmas[chosen], lam)
        return outside

    def _octave_transform(self, level: int) -> fourier.Transform:
        return self._transforms[int(self._octaves[level])]

    def scores(self, side: Side) -> FloatArray:
        """E14 for every model and fold, (S, L, k)."""
        members, half = self.folds.members, self.folds.n_groups
        table = np.empty((*self.lams.shape, len(members)))
        for first, transform in self._transforms.items():
            train, holdout = np.zeros((2, len(members), transform.values.shape[1]), dtype=transform.values.dtype)
            samples = transform.values[:half], transform.values[half:]
            for weight, mass, values in zip(side, self._mass, samples, strict=True):
                if weight != 0:
                    for means, chosen in ((train, 1.0 - members), (holdout, members)):
                        means += (chosen * (weight / (chosen @ mass))[:, None]).astype(values.real.dtype) @ values
            for level in np.flatnonzero(self._octaves == first):
                table[level] = fourier.holdout_scores(transform, self.sigmas[level], self.lams[level], train, holdout)
        return table

    def forms(self, side: Side, models: list[tuple[int, int]]) -> list[Forms]:
        """The twins of E4 to E7 (E12, E13)."""
        forms = []
        for level, i in models:
            transform = self._octave_transform(level)
            noise = sum(w**2 * power for w, power in zip(side, self._noise_powers(level), strict=True))
            curve = self._curve(side, transform)
            forms.append(
                fourier.quadratic_forms(
                    transform, float(self.sigmas[level]), float(self._every_lam[i]), curve, np.asarray(noise)
                )
            )
        return forms

    def _curve(self, side: Side, transform: fourier.Transform) -> fourier.ComplexArray:
        half = self.folds.n_groups
        return np.asarray(side.x * transform.values[:half].sum(axis=0) + side.y * transform.values[half:].sum(axis=0))

    def _noise_powers(self, level: int) -> list[FloatArray]:
        """Expected power of each sample's noise at the frequencies of a level (E13); cached."""
        first, transform = int(self._octaves[level]), self._octave_transform(level)
        if first not in self._noise:
            powers = []
            for sample, side in ((self.x, Side(1.0, 0.0)), (self.y, Side(0.0, 1.0))):
                step = -(-len(sample.rows) // _POWER_ROWS)
                squares = np.square(sample.omega[::step])
                total = sum_of_squares(sample.omega)
                places = grids.places_of(sample.rows[::step].T, transform.axes)
                squares *= (total / squares.sum()) * grids.is_within(places, transform.axes, 0.0)
                own = fourier.own_power(places, squares, transform)
                power = np.square(np.abs(self._curve(side, transform)))
                powers.append((own - total * power) / (1.0 - total))
            self._noise[first] = powers  # all at once: other threads may ask for them
        return self._noise[first]

    def whole_scores(self, side: Side) -> tuple[FloatArray, FloatArray]:
        """E17a's score of every model, and the noise in its curve, (S, L) each."""
        scores, noise = np.empty((2, *self.lams.shape))
        for level, lams in enumerate(self.lams):
            transform = self._octave_transform(level)
            own = np.asarray(sum(w**2 * power for w, power in zip(side, self._noise_powers(level), strict=True)))
            found = fourier.whole_scores(transform, float(self.sigmas[level]), lams, self._curve(side, transform), own)
            scores[level], noise[level] = found
        return scores, noise

    def averaged(self, side: Side, weights: FloatArray, points: FloatArray) -> FloatArray:
        """The curve averaged over models with weights (S, L), at points in inner units, (k,)."""
        values = np.zeros(len(points))
        for first, transform in self._transforms.items():
            levels = [level for level in np.flatnonzero(self._octaves == first) if weights[level].any()]
            if levels:
                filters = sum(
                    weights[level] @ transform.filters(float(self.sigmas[level]), self.lams[level]) for level in levels
                )
                values += self._filtered(side, first, np.asarray(filters), points)
        return values

    def evaluate(self, side: Side, model: tuple[int, int], points: FloatArray) -> FloatArray:
        """The curve at points in inner units, (k,); 0 beyond the kernels' reach from any row."""
        return self._filtered(side, model[0], self._filter(model), points)

    def unbiased(self, side: Side, model: tuple[int, int], points: FloatArray) -> FloatArray:
        """The curve under 2F - F^2, (k,)."""
        filters = self._filter(model)
        return self._filtered(side, model[0], 2.0 * filters - filters**2, points)

    def _filter(self, model: tuple[int, int]) -> FloatArray:
        """F of one model at all frequencies, (m,)."""
        level, i = model
        transform = self._octave_transform(level)
        return np.asarray(transform.filters(float(self.sigmas[level]), self.lams[level, i : i + 1])[0])

    def _filtered(self, side: Side, level: int, filters: FloatArray, points: FloatArray) -> FloatArray:
        transform = self._octave_transform(level)
        places = grids.places_of(points.T, transform.axes)
        near = grids.is_within(places, transform.axes, transform.pad / 2)
        values = np.zeros(len(points))
        curve = self._curve(side, transform)
        at_once = max(1, _PHASES // max(len(w) for w in transform.frequencies))
        for block in np.array_split(np.flatnonzero(near), -(-int(near.sum()) // at_once) or 1):
            values[block] = fourier.evaluate(transform, filters, curve, places[block])
        return values
