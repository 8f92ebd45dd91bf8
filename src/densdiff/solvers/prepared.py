"""Two checked samples brought to inner units, with their seed and folds: what every estimator starts from.

Checks of what a user passed are in `data`, solvers in the modules beside this one.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from densdiff import messages
from densdiff.core import kernel, noise, selection
from densdiff.core.scaling import FloatArray, Scaling
from densdiff.core.weights import sum_of_squares
from densdiff.data import parameters
from densdiff.data.pair import Pair
from densdiff.errors import InputError
from densdiff.sources.array_sample import ArraySample
from densdiff.sources.sample import Sample, all_at_once
from densdiff.sources.scan import scale_pair

_SIGMA_RANGE = (1e-100, 1e100)  # in inner units, where the data spread is about 1: squares must stay doubles
SMOOTHINGS = (0.0, 0.1, 0.3, 0.6, 0.85)  # t of categories, searched along with sigma
# What is drawn of large samples: rows of each for variances, bands and the smoothing of categories, evenly spaced ones
# for traces and ties, pooled ones for medians, the limit of the null and the features of a test's columns and pairs.
# Others are drawn too, at the price of a pass.
OVERLAP_ROWS = 100_000  # of each sample, for the overlap of the densities
LEVEL_ROWS = 2000  # of each sample, for the finer models of a band
_DRAWN, _SPACED, _DRAWN_POOLED = (1000, LEVEL_ROWS, OVERLAP_ROWS), (4096, 5000), (256, 500, 1000, 3000)
_LADDER_ROWS = 256  # pairs of this many rows tell the quantiles of the pair distances
PAIRS_ROWS = 20_000  # of both samples, all N^2 distances of which are looked at: a few seconds


@dataclass(frozen=True)
class WeightedSample:
    """One sample in inner units, with row weights that sum to 1."""

    rows: Sample  # (n, d), codes of categories last
    omega: FloatArray  # (n,); one broadcast number without weights

    @classmethod
    def of(cls, rows: FloatArray, omega: FloatArray | None = None) -> "WeightedSample":
        """The sample of an array, all rows weighted alike without weights."""
        return cls(ArraySample(rows), np.full(len(rows), 1.0 / len(rows)) if omega is None else omega)


@dataclass(frozen=True)
class Subsample:
    """Rows that stand for a sample, and their weights in it."""

    points: FloatArray  # (k, d)
    omega: FloatArray  # (k,)
    stand_in: noise.RowWeights


def subsample(sample: WeightedSample, seed: int, most: int) -> Subsample:
    """Rows that stand for a sample, at most so many, drawn if it has more."""
    n = len(sample.rows)
    if n <= most:
        omega = np.ascontiguousarray(sample.omega)
        return Subsample(sample.rows[:], omega, noise.RowWeights(omega))
    chosen = selection.draw_sorted_rows(seed, n, most)
    omega = sample.omega[chosen]
    among = omega / omega.sum()
    share = sum_of_squares(sample.omega) / float(np.square(among).sum())
    return Subsample(sample.rows[chosen], omega, noise.RowWeights(among, share))


@dataclass(frozen=True)
class Prepared:
    """Both samples, their common scaling and the draw of folds."""

    checked: Pair  # as it came
    pair: Pair  # each distinct row once where whole samples are copies
    scaling: Scaling
    x: WeightedSample
    y: WeightedSample
    seed: int
    n_folds: int
    folds: selection.Folds
    notes: tuple[str, ...]

    @property
    def levels(self) -> npt.NDArray[np.intp]:
        """How many levels each column of categories has; these are the last columns of the rows, (c,)."""
        columns = [self.pair.levels[j] for j in self.scaling.keep] if self.pair.levels else []
        return np.array([len(names) for names in columns if names is not None and len(names) > 1], dtype=np.intp)

    def numbers(self, rows: FloatArray) -> FloatArray:
        """The columns that are no categories."""
        return rows[:, : rows.shape[1] - len(self.levels)]

    def smoothings(self) -> list[kernel.Categories | None]:
        """The kernels of the categories to search; None without categories."""
        return [kernel.Categories(self.levels, t) for t in SMOOTHINGS] if len(self.levels) else [None]

    def tied_categories(self) -> kernel.Categories | None:
        """Unequal levels as far apart as two rows differ in a column of numbers, for tests: no look at the labels."""
        if not len(self.levels):
            return None
        total = len(self.x.rows) + len(self.y.rows)
        equal = [np.square(counts / total).sum() for counts in self._level_counts()]
        return kernel.Categories(self.levels, apart=2.0 / (1.0 - np.array(equal)))

    def _level_counts(self) -> list[selection.IntArray]:
        """Pooled rows of each level, for each column of categories."""
        first = self.x.rows.shape[1] - len(self.levels)
        return [
            self.x.rows.level_counts(first + k, count) + self.y.rows.level_counts(first + k, count)
            for k, count in enumerate(self.levels)
        ]

    def draw_distinct_rows(self, count: int) -> FloatArray:
        """About ``count`` distinct rows in the user's units, drawn from each sample in proportion to its size.

        Drawn from the seed and each sample's own size alone and returned sorted, so that swapping the samples
        changes nothing.
        """
        samples = [self.pair.x, self.pair.y]
        total = sum(map(len, samples))
        drawn = []
        for rows in samples:
            take = len(rows) if total <= count else max(1, count * len(rows) // total)
            drawn.append(rows[selection.draw_rows(self.seed, len(rows), take)])
        return np.unique(np.concatenate(drawn), axis=0)

    def ladder(self) -> FloatArray:
        """The sigmas to search, in inner units, widest first."""
        return kernel.sigma_ladder(
            np.unique(self.numbers(self.scaling.apply(self.draw_distinct_rows(_LADDER_ROWS))), axis=0)
        )

    @property
    def all_at_once(self) -> bool:
        """Whether all rows can be had in one piece."""
        return all_at_once(self.x.rows, self.y.rows)

    @property
    def sizes(self) -> tuple[int, int]:
        """Rows of each sample, each distinct row once where all are copies."""
        return len(self.x.rows), len(self.y.rows)

    def thinned(self, most: int) -> "Prepared":
        """At most so many rows of both samples together, in memory: drawn by number, so that neither swapping the
        samples nor how they are read changes anything; folds are drawn anew.
        """
        if self.all_at_once and sum(self.sizes) <= most:
            return self
        samples = (self.pair.x, self.pair.weights_x), (self.pair.y, self.pair.weights_y)
        users, weights = [], []
        for (rows, all_weights), take in zip(samples, _thinned_sizes(*self.sizes, most), strict=True):
            drawn = np.sort(selection.draw_rows(self.seed, len(rows), take))
            users.append(np.asfortranarray(rows[drawn]))
            even = all_weights.strides == (0,)
            weights.append(np.broadcast_to(all_weights[0], take) if even else all_weights[drawn])
        x, y = (
            WeightedSample(ArraySample(self.scaling.apply(rows)), _normalized(weight))
            for rows, weight in zip(users, weights, strict=True)
        )
        user_x, user_y = map(ArraySample, users)
        n_folds = min(self.n_folds, len(user_x), len(user_y))
        return replace(
            self,
            pair=replace(self.pair, x=user_x, y=user_y, weights_x=weights[0], weights_y=weights[1]),
            x=x,
            y=y,
            n_folds=n_folds,
            folds=selection.draw_folds(self.seed, len(user_x), len(user_y), n_folds),
        )

    def column(self, j: int) -> "Prepared":
        """One column of numbers of samples in memory, in the same units, with the same folds."""
        one, scaling = slice(j, j + 1), self.scaling
        x, y = (WeightedSample(ArraySample(sample.rows[:][:, one]), sample.omega) for sample in (self.x, self.y))
        names = "keep", "shift", "exponent", "mean", "deviation"
        return replace(
            self, x=x, y=y, scaling=replace(scaling, **{name: getattr(scaling, name)[one] for name in names})
        )

    def drawn_out(self, factors: FloatArray) -> "Prepared":
        """Each column multiplied by a factor, (d,): kernels of one sigma are that much narrower in it."""
        scaling = replace(self.scaling, deviation=self.scaling.deviation / factors)
        x, y = (
            WeightedSample(rows.scaled(scaling), sample.omega)
            for rows, sample in ((self.pair.x, self.x), (self.pair.y, self.y))
        )
        return replace(self, scaling=scaling, x=x, y=y)

    @property
    def pooled_rows(self) -> FloatArray:
        """The rows of X, then those of Y, in inner units."""
        return np.concatenate([self.x.rows[:], self.y.rows[:]])

    def some_pooled(self, count: int) -> FloatArray:
        """Pooled rows in inner units, drawn by position whatever their labels, (count, d) or all."""
        return self._draw_pooled(self.x.rows, self.y.rows, count)

    def some_user_rows(self, count: int) -> FloatArray:
        """Pooled rows in the user's units, the rows that `some_pooled` draws, (count, d) or all."""
        return self._draw_pooled(self.pair.x, self.pair.y, count)

    def _draw_pooled(self, x: Sample, y: Sample, count: int) -> FloatArray:
        """Rows of two samples drawn by position whatever their labels, (count, d) or all."""
        drawn = selection.draw_rows(self.seed, len(x) + len(y), count)
        rows, in_x = np.empty((len(drawn), x.shape[1])), drawn < len(x)
        rows[in_x], rows[~in_x] = x[drawn[in_x]], y[drawn[~in_x] - len(x)]
        return rows

    def pooled_ladder(self) -> FloatArray:
        """The sigmas of a test, in inner units, widest first: from pooled rows drawn whatever their labels."""
        return kernel.sigma_ladder(np.unique(self.numbers(self.some_pooled(_LADDER_ROWS)), axis=0))

    def sigmas(self, grid: FloatArray | None) -> FloatArray:
        """The user's grid in inner units, widest first without repeats, or the data's own ladder."""
        if grid is None:
            return self.ladder()
        with np.errstate(over="ignore", under="ignore"):
            inner = np.unique(grid / self.scaling.sigma_unit)[::-1].copy()
        if not (_SIGMA_RANGE[0] <= inner[-1] and inner[0] <= _SIGMA_RANGE[1]):
            raise InputError(
                f"sigma runs from {grid.min():g} to {grid.max():g}, far from the scale of the data; "
                "use 'cv' to choose it from the data",
                argument="sigma",
            )
        return inner


def _thinned_sizes(n: int, m: int, most: int) -> tuple[int, int]:
    """How many of n and m rows to draw, so many together: half of each, and what a small sample leaves of the other."""
    half = most // 2
    return min(n, max(half, most - m)), min(m, max(half, most - n))


def rows_to_prefetch(seed: int, n_centers: int, n: int, m: int) -> tuple[selection.IntArray, selection.IntArray]:
    """Numbers of the rows that a fit and a test of two samples ask for, some of them several times: had in one pass,
    they cost no other.
    """
    indices: list[list[selection.IntArray]] = [[], []]
    sizes = n, m
    for index, size, take in zip(indices, sizes, _thinned_sizes(n, m, PAIRS_ROWS), strict=True):
        index.append(selection.draw_rows(seed, size, take))
        for count in (_LADDER_ROWS, n_centers):
            take = size if n + m <= count else max(1, count * size // (n + m))
            index.append(selection.draw_rows(seed, size, take))
        index += [selection.draw_rows(seed, size, count) for count in _DRAWN]
        index += [np.arange(0, size, -(-size // count)) for count in _SPACED]
    for count in (*_DRAWN_POOLED, n_centers):
        drawn = selection.draw_rows(seed, n + m, count)
        indices[0].append(drawn[drawn < n])
        indices[1].append(drawn[drawn >= n] - n)
    x, y = map(np.concatenate, indices)
    return x, y


def prepare(pair: Pair, *, standardize: bool, folds: int, random_state: object) -> Prepared:
    """Scale the rows of a checked pair, draw its seed and assign its folds."""
    seed = parameters.seed(random_state)
    checked, pair = pair, pair if pair.copies == 1 else _merge_copies(pair)
    omega_x, omega_y = (_normalized(weights) for weights in (pair.weights_x, pair.weights_y))
    codes = np.array([names is not None for names in pair.levels]) if pair.levels else None
    scaling, inner_x, inner_y = scale_pair(pair.x, pair.y, (omega_x, omega_y), standardize, codes)
    smaller = min(len(pair.x), len(pair.y))
    notes = list(pair.notes)
    if smaller < folds:
        notes.append(f"folds reduced from {folds} to {smaller}: the smaller sample has only {smaller} rows")
        messages.warn(notes[-1])
        folds = smaller
    return Prepared(
        checked=checked,
        pair=pair,
        scaling=scaling,
        x=WeightedSample(inner_x, omega_x),
        y=WeightedSample(inner_y, omega_y),
        seed=seed,
        n_folds=folds,
        folds=selection.draw_folds(seed, len(pair.x), len(pair.y), folds),
        notes=tuple(notes),
    )


def _normalized(weights: FloatArray) -> FloatArray:
    """Weights that sum to 1, still one broadcast number if they were."""
    if weights.strides == (0,):
        return np.broadcast_to(1.0 / len(weights), len(weights))
    return np.asarray(weights / weights.sum())


def _merge_copies(pair: Pair) -> Pair:
    """Each distinct row once, in order of appearance, with the sum of its copies' weights.

    A copy is no new observation: in another fold it would leak, and as a row of its own it would spoil debiasing.
    """
    merged = []
    for rows, weights in ((pair.x[:], pair.weights_x), (pair.y[:], pair.weights_y)):
        _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        total = np.bincount(inverse.ravel(), weights).astype(np.float64)[order]  # NumPy 2.0.0 gives it two axes
        even = weights.strides == (0,)
        merged.append((np.asfortranarray(rows[first[order]]), np.broadcast_to(1.0, len(order)) if even else total))
    (x, weights_x), (y, weights_y) = merged
    samples = ArraySample(x), ArraySample(y)
    return replace(pair, x=samples[0], y=samples[1], weights_x=weights_x, weights_y=weights_y, copies=1)
