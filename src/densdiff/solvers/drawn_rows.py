"""Rows that overlaps and averaged curves are taken from: drawn, in groups and blocks, in widths of their columns.

What is computed from them is in `overlap` and `curve`.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from densdiff.core import overlap as formulas
from densdiff.core import selection
from densdiff.core.ranks import ascending, distinct_of_sorted
from densdiff.core.scaling import FloatArray
from densdiff.engines.overlap_sums import column_sums
from densdiff.solvers.prepared import OVERLAP_ROWS, Prepared, Subsample, subsample

_GROUPS = 20  # of rows, left out one by one for the error
FEWEST = 10  # rows of a sample that tell an interval
BLOCK_ROWS, _MOST_BLOCKS = 2000, 8  # rows of each sample whose pairs are all looked at, and how many times
_SPACINGS = 0.7  # of rounded numbers that were whitened: narrower kernels would see the rounding
_FINE = 0.25  # widths: numbers rounded to more than that are not whitened, which would take them off their lattice
_CORRELATED = 4.0  # correlation times root of the smaller sample from which whitening is tried
_PILOTS = (0.5, 0.25 * 2.0**0.5)  # widths of the blurs that tell a column's smoothness
_SMOOTH_RANGE = (0.25, 1.5)  # of the width as concentrated
_FARTHEST = 1e100  # widths: infinite numbers would be whitened to NaN
_DEALS = 16.0  # ways to deal out groups for each standard error that the means are apart
_CLIP = 4.0  # widths beyond which a value counts as an outlier in a correlation


@dataclass(frozen=True)
class Rows:
    """Rows of both samples with weights and groups: columns of numbers in common widths, then codes of categories."""

    numbers: FloatArray  # (N, d)
    codes: FloatArray  # (N, c)
    omega: FloatArray  # (N,)
    groups: npt.NDArray[np.intp]  # (N,) X's from 0, Y's from n_groups
    n_groups: int  # of one sample
    levels: npt.NDArray[np.intp]  # (c,)
    spacings: FloatArray  # (d,) of rounded numbers, 0 for others
    narrowest: float = 0.0  # kernels narrower than that would see the rounding
    log_volume: float = 0.0  # of one unit cube of the numbers, in the units they came in
    divisors: FloatArray | float = 1.0  # (d,) what the numbers were divided by, then multiplied with
    matrix: FloatArray | None = None  # (d, d)

    @property
    def sizes(self) -> tuple[float, float]:
        """Effective numbers of rows."""
        masses, squares = self._weight_sums
        x, y = slice(self.n_groups), slice(self.n_groups, None)
        return float(masses[x].sum() ** 2 / squares[x].sum()), float(masses[y].sum() ** 2 / squares[y].sum())

    @property
    def smaller(self) -> float:
        return min(self.sizes)

    def means(self, sums: FloatArray) -> FloatArray:
        """Mean kernel values from sums between groups."""
        return formulas.pair_means(sums, *self._weight_sums)

    @cached_property
    def _weight_sums(self) -> tuple[FloatArray, FloatArray]:
        """Sums of the weights and of their squares in each group, (2 n_groups,) each."""
        masses = np.bincount(self.groups, self.omega, minlength=2 * self.n_groups).astype(np.float64)
        squares = np.bincount(self.groups, np.square(self.omega), minlength=2 * self.n_groups).astype(np.float64)
        return masses, squares

    @property
    def narrowest_seen(self) -> float:
        """The width of a kernel that hardly sees the rounding of any column; of coarse lattices, a typical width."""
        finest = _SPACINGS * float(self.spacings.max(initial=0.0))
        return max(self.narrowest, min(finest, 1.0))

    def place(self, points: FloatArray) -> FloatArray:
        """Numbers in the units that the rows came in, in those of the rows."""
        with np.errstate(over="ignore"):  # points far away
            divided = np.asfortranarray(points / self.divisors)
        return divided if self.matrix is None else np.clip(divided, -_FARTHEST, _FARTHEST) @ self.matrix

    def scaled(self, scales: FloatArray) -> "Rows":
        """Each column of numbers divided by its scale."""
        numbers = np.asfortranarray(self.numbers / scales)
        spacings = np.array([spacing_of(values) for values in numbers.T])
        log_volume = self.log_volume + float(np.log(scales).sum())
        return replace(self, numbers=numbers, spacings=spacings, log_volume=log_volume, divisors=self.divisors * scales)

    def chosen(self, kept: npt.NDArray[np.intp]) -> "Rows":
        """Some of the rows, by their numbers, or all of them in another order."""
        chosen = {name: getattr(self, name)[kept] for name in ("numbers", "codes", "omega", "groups")}
        return replace(self, **chosen)

    def whitened(self, matrix: FloatArray) -> "Rows":
        """The numbers under a linear map of about their own widths."""
        volume = self.log_volume - float(np.linalg.slogdet(matrix)[1])
        numbers, narrowest = np.asfortranarray(self.numbers @ matrix), _SPACINGS * float(self.spacings.max())
        spacings = np.zeros_like(self.spacings)
        return replace(self, numbers=numbers, spacings=spacings, narrowest=narrowest, log_volume=volume, matrix=matrix)

    def between(self, start: int, stop: int) -> "Rows":
        """Rows by their number within their group."""
        order = np.argsort(self.groups, kind="stable")
        numbers = np.arange(len(order)) - np.searchsorted(self.groups[order], self.groups[order])
        return self.chosen(np.sort(order[(start <= numbers) & (numbers < stop)]))

    def of_groups(self, is_used: npt.NDArray[np.bool_]) -> "Rows":
        """The rows of some of the groups, (2 n_groups,), with weights that sum to 1 in each sample."""
        kept = is_used[self.groups]
        groups = self.groups[kept]
        omega, samples = self.omega[kept], (groups >= self.n_groups).astype(np.intp)
        omega = omega / np.bincount(samples, omega, minlength=2)[samples]
        return replace(self, numbers=self.numbers[kept], codes=self.codes[kept], omega=omega, groups=groups)

    def as_one_group(self) -> "Rows":
        """The rows of each sample as a single group."""
        return replace(self, groups=(self.groups >= self.n_groups).astype(np.intp), n_groups=1)

    def blocks(self) -> list["Rows"]:
        """Rows in blocks, at most `BLOCK_ROWS` of each sample: the pairs within blocks stand for all pairs (E17)."""
        each, rows = BLOCK_ROWS // self.n_groups, np.bincount(self.groups)
        if rows.max() <= each:
            return [self]
        count = int(np.clip(rows.min() // each, 1, _MOST_BLOCKS))
        return [self.between(k * each, (k + 1) * each) for k in range(count)]


def rows_of(data: Prepared) -> Rows:
    """At most `OVERLAP_ROWS` rows of each sample, drawn by number, and their groups."""
    return _grouped(
        data, [_shuffled(subsample(sample, data.seed, OVERLAP_ROWS), data.seed) for sample in (data.x, data.y)]
    )


def rows_in_order(data: Prepared) -> Rows:
    """Rows of one column of numbers, those of `rows_of`, sorted by it: all that sorts them again is done at once."""
    rows = _grouped(data, [_in_order(subsample(sample, data.seed, OVERLAP_ROWS)) for sample in (data.x, data.y)])
    return rows.chosen(np.argsort(rows.numbers[:, 0], kind="stable"))  # of two runs, which it merges


def _grouped(data: Prepared, drawn: list[Subsample]) -> Rows:
    """Drawn rows of both samples with their groups."""
    sizes = [len(sample.omega) for sample in drawn]
    n_groups = min(_GROUPS, *sizes) if min(sizes) >= FEWEST else 1
    groups = [selection.assign_groups(data.seed, size, n_groups).all().astype(np.intp) for size in sizes]
    together = np.concatenate([sample.points for sample in drawn])
    numbers = np.asfortranarray(data.numbers(together))
    if together.shape[1] == numbers.shape[1] == 1:
        groups = _by_rank(groups, drawn, data.seed)
    return Rows(
        numbers=numbers,
        codes=together[:, numbers.shape[1] :],
        omega=np.concatenate([sample.omega / sample.omega.sum() for sample in drawn]),
        groups=np.concatenate([groups[0], n_groups + groups[1]]),
        n_groups=n_groups,
        levels=data.levels,
        spacings=np.zeros(numbers.shape[1]),
    )


def _shuffled(sample: Subsample, seed: int) -> Subsample:
    """More rows than a block holds in an order of their own: files are sorted, and blocks must not be."""
    if len(sample.omega) <= BLOCK_ROWS:
        return sample
    order = np.random.default_rng([seed, 8]).permutation(len(sample.omega))
    return replace(sample, points=sample.points[order], omega=sample.omega[order])


def _in_order(sample: Subsample) -> Subsample:
    """Rows of one number in its order, those of equal values by their weights."""
    values, is_even = sample.points[:, 0], bool(np.all(sample.omega == sample.omega[0]))
    order = np.argsort(values) if is_even else np.lexsort([sample.omega, values])
    return replace(sample, points=sample.points[order], omega=sample.omega[order])


def _by_rank(groups: list[npt.NDArray[np.intp]], drawn: list[Subsample], seed: int) -> list[npt.NDArray[np.intp]]:
    """Groups of rows of one number, dealt out at random to the ranks of the values instead of to the rows.

    So the order of the rows does not matter, and values that are known up to small cells mostly have the groups of the
    exact ones. Each sample has a shuffle of its own, or groups of both, which are left out together, would hold the
    same ranks. Which of the two shuffles it has, and from which end ranks count, depends on the values alone. One deal
    for all tables of a size would be lucky or unlucky for all of them: it changes with the distance of the means.
    """
    values = [sample.points[:, 0] for sample in drawn]
    pooled = np.concatenate(values)
    upwards = 1.0 if pooled.mean() >= np.median(pooled) else -1.0
    first, second = ((len(own), upwards * float(own.mean()), upwards * float(np.median(own))) for own in values)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        apart = abs(first[1] - second[1]) / (pooled.std() * np.sqrt(1.0 / first[0] + 1.0 / second[0]))  # in errors
    deal = int(np.clip(np.nan_to_num(_DEALS * apart), 0.0, 1e9))
    dealt = []
    for own, sample, oriented, number in zip(groups, drawn, values, (0, 1) if first <= second else (1, 0), strict=True):
        by_rank = np.empty_like(own)
        order = np.lexsort([sample.omega, upwards * oriented])
        by_rank[order] = np.random.default_rng([seed, 9, deal, number]).permutation(own)
        dealt.append(by_rank)
    return dealt


def common_widths(rows: Rows) -> Rows:
    """Columns of numbers divided by the width of the normal density that is as concentrated."""
    in_x = rows.groups < rows.n_groups
    samples = rows.numbers[in_x], rows.numbers[~in_x]
    density = np.mean([1.0 / formulas.collision_scales(sample) for sample in samples], axis=0)
    deviation = rows.numbers.std(axis=0)
    scales = np.where(np.isfinite(density) & (density > 0), 1.0 / density, np.where(deviation > 0, deviation, 1.0))
    return rows.scaled(scales)


def smooth_widths(rows: Rows) -> Rows:
    """Columns of numbers divided by the width of the normal density that loses as much of its norm under a blur.

    Two modes far apart have the width of one of them. Columns that are rounded coarsely keep the widths they have.
    """
    scales = np.ones(rows.numbers.shape[1])
    for j, values in enumerate(rows.numbers.T):
        if rows.spacings[j] > _PILOTS[1]:
            continue
        sums = next(column_sums(values, rows.omega, rows.groups, 2 * rows.n_groups, np.array(_PILOTS)))
        means = rows.means(sums)[:, :2, 0].sum(axis=1) / np.array(_PILOTS)  # of both samples
        scales[j] = formulas.width_of_blurs(means, _PILOTS)
    return rows.scaled(np.clip(scales, *_SMOOTH_RANGE))


def whitened_rows(rows: Rows) -> Rows | None:
    """The numbers whitened within the samples; None where they are not correlated, too few or rounded coarsely."""
    n, d = rows.smaller, rows.numbers.shape[1]
    if d < 2 or n < 4 * d or rows.spacings.max() > _FINE:
        return None
    covariance = covariance_within(rows)
    deviations = np.sqrt(np.diag(covariance))
    if not deviations.all():  # a column that is constant within the samples
        return None
    correlation = covariance / deviations / deviations[:, None] - np.eye(d)
    values, vectors = np.linalg.eigh(covariance)
    if np.abs(correlation).max() * np.sqrt(n) < _CORRELATED or values[0] <= 1e-8 * values[-1]:
        return None
    return rows.whitened(vectors / np.sqrt(values) @ vectors.T * np.exp(np.log(values).mean() / 2))


def covariance_within(rows: Rows) -> FloatArray:
    """Covariance of the numbers within the samples, values far from the median cut."""
    total = np.zeros((rows.numbers.shape[1],) * 2)
    in_x = rows.groups < rows.n_groups
    for chosen in (in_x, ~in_x):
        values = rows.numbers[chosen]
        cut = np.clip(values - np.median(values, axis=0), -_CLIP, _CLIP)
        total += 0.5 * np.atleast_2d(np.cov(cut.T))
    return total


def spacing_of(values: FloatArray) -> float:
    """The smallest step between values that occur twice or more on average; 0 for others."""
    distinct, _ = distinct_of_sorted(ascending(values))
    return float(np.diff(distinct).min()) if 1 < len(distinct) <= len(values) / 2 else 0.0


def apart_levels(rows: Rows) -> FloatArray:
    """Squared distance of unequal levels: as far apart as two rows differ in a column of numbers, (c,)."""
    total = rows.omega.sum()
    equal = [np.square(np.bincount(codes.astype(np.intp), rows.omega) / total).sum() for codes in rows.codes.T]
    return np.asarray(2.0 / np.maximum(1.0 - np.array(equal), 1e-9))
