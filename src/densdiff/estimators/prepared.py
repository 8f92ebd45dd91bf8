"""Two checked samples brought to inner units, with their seed and folds: what every estimator starts from."""

from dataclasses import dataclass, replace

import numpy as np

from densdiff import checks
from densdiff.core import kernel, selection
from densdiff.core.scaling import FloatArray, Scaling, pooled_scaling

_LADDER_ROWS = 256  # pairs of this many rows tell the quantiles of the pair distances


@dataclass(frozen=True)
class Sample:
    """One sample in inner units, with row weights that sum to 1."""

    rows: FloatArray  # (n, d)
    omega: FloatArray  # (n,); one broadcast number without weights


@dataclass(frozen=True)
class Prepared:
    """Both samples, their common scaling and the draw of folds."""

    pair: checks.Pair
    scaling: Scaling
    x: Sample
    y: Sample
    seed: int
    n_folds: int
    folds: selection.Folds
    notes: tuple[str, ...]

    def first_rows(self, count: int) -> FloatArray:
        """About ``count`` distinct rows in the user's units, drawn from each sample in proportion to its size.

        Drawn from the seed and each sample's own size alone and returned sorted, so that swapping the samples
        changes nothing.
        """
        samples = [_without_copies(rows, self.pair.copies) for rows in (self.pair.x, self.pair.y)]
        total = sum(map(len, samples))
        drawn = []
        for rows in samples:
            take = len(rows) if total <= count else max(1, count * len(rows) // total)
            drawn.append(rows[selection.draw_rows(self.seed, len(rows), take)])
        return np.unique(np.concatenate(drawn), axis=0)

    def ladder(self) -> FloatArray:
        """The sigmas to search, in inner units, widest first."""
        return kernel.sigma_ladder(self.scaling.apply(self.first_rows(_LADDER_ROWS)))

    def sigmas(self, grid: FloatArray | None) -> FloatArray:
        """The user's grid in inner units, widest first without repeats, or the data's own ladder."""
        if grid is None:
            return self.ladder()
        return np.unique(grid / self.scaling.sigma_unit)[::-1].copy()


def prepare(pair: checks.Pair, *, standardize: bool, folds: int, random_state: object) -> Prepared:
    """Scale, seed and deal the rows of a checked pair."""
    seed = checks.seed(random_state)
    omega_x, omega_y = (_normalized(weights) for weights in (pair.weights_x, pair.weights_y))
    scaling, inner_x, inner_y = pooled_scaling(pair.x, pair.y, omega_x, omega_y, standardize)
    copy_x, copy_y = (_copy_index(rows, pair.copies) for rows in (pair.x, pair.y))
    units_x, units_y = len(pair.x) // pair.copies, len(pair.y) // pair.copies
    smaller = min(units_x, units_y)
    notes = list(pair.notes)
    if smaller < folds:
        notes.append(f"folds reduced from {folds} to {smaller}: the smaller sample has {smaller} rows to deal out")
        checks.warn(notes[-1])
        folds = smaller
    drawn = selection.draw_folds(seed, units_x, units_y, folds)
    return Prepared(
        pair=pair,
        scaling=scaling,
        x=Sample(inner_x, omega_x),
        y=Sample(inner_y, omega_y),
        seed=seed,
        n_folds=folds,
        folds=replace(drawn, groups_x=drawn.groups_x[copy_x], groups_y=drawn.groups_y[copy_y]),
        notes=tuple(notes),
    )


def _normalized(weights: FloatArray) -> FloatArray:
    """Weights that sum to 1, still one broadcast number if they were."""
    if weights.strides == (0,):
        return np.broadcast_to(1.0 / len(weights), len(weights))
    return np.asarray(weights / weights.sum())


def _without_copies(rows: FloatArray, copies: int) -> FloatArray:
    """Each distinct row once, in order of appearance, where the whole sample was copied."""
    if copies == 1:
        return rows
    return rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]


def _copy_index(rows: FloatArray, copies: int) -> selection.IntArray | slice:
    """A number for each row, the same for its copies: copies of a row must share a fold, or hold-out rows leak."""
    if copies == 1:
        return slice(None)
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]
