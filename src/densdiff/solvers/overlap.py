"""The normalized distance (E9) and both intervals, for any number of columns: blurred overlap, corrected by columns.

A blur that leaves enough pairs of rows within reach takes much from the norms of densities of many columns. How much
can be seen in single columns, where a hundred times less blur is affordable: their integrals at fine width over those
at the joint width correct the joint ones, exactly so if columns are independent within the samples. What remains, the
part of columns together, is measured at the joint width. Where integrals still change with the width, three ways to
continue them to width 0 (no change, as smooth densities do, as densities with jumps do) span the interval.
"""

from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from scipy.special import stdtrit

from densdiff.core import overlap as formulas
from densdiff.core.kernel import Categories
from densdiff.core.overlap import Overlap
from densdiff.core.scaling import FloatArray
from densdiff.engines.overlap_sums import column_sums, level_sums, pair_sums
from densdiff.engines.pair_distances import LevelDistances
from densdiff.progress import tell
from densdiff.solvers.drawn_rows import (
    BLOCK_ROWS,
    FEWEST,
    Rows,
    apart_levels,
    common_widths,
    rows_in_order,
    rows_of,
    whitened_rows,
)
from densdiff.solvers.prepared import Prepared
from densdiff.threads import cores, map_in_order

_WIDEST, _COLUMN_RUNGS = 4.0, 26
_FEW_COLUMNS, _JOINT_RUNGS, _FEWER_RUNGS = 3, 13, 9  # with more columns, narrow widths find no pairs
_COLUMN_NOISE, _JOINT_NOISE = 0.3, 0.5  # over the root of the smaller sample
_FEW_NOISE, _LEVEL_NOISE = 5.0, 0.1  # the first over the smaller sample
_SMOOTH_FROM = 6  # the rung of half a typical width: further changes tell how the integrals go on
_EMBEDDED_LEVELS = 16  # up to which a column of categories is coordinates; with more, codes are compared
_PARALLEL_ROWS, _MOST_THREADS = 2000, 4  # grids of a column with long tails may take some hundred megabytes
_EQUAL = 0.125  # of the spacing of rounded numbers: a kernel this wide sees equal ones only
_CONTINUATIONS = (0.0, 1.0 / 3.0, 1.0)  # of the change over the last octave: none, smooth, with jumps
_FURTHER, _TINY = 0.25, 1e-300  # how much further an end reaches on the far side, over its reach
_FALLS_MUCH, _FALLS, _SURELY = 0.1, 0.01, 2.5  # loss of affinity in an octave, the last in errors: its limit is open


@dataclass(frozen=True)
class NormalizedDistance:
    """E9 with its interval, |p - q|^2 likewise over exp(log_unit) in inner units, and how they were taken."""

    value: float
    ends: tuple[float, float]
    error: float  # of the squared distance
    squared_value: float
    squared_ends: tuple[float, float]
    log_unit: float
    resolution: float  # width of the joint blur, in widths of a typical column
    metric: str  # "columns" or "whitened"


@dataclass(frozen=True)
class _Path:
    """Overlaps of a ladder of widths, widest first, and the finest rung that is resolved."""

    overlaps: Overlap
    finest: int
    noise: FloatArray  # (S - 1, 3) degenerate noise of the mean kernel values

    def at(self, rung: int) -> Overlap:
        """The overlap at a rung, or at the finest if that is wider."""
        return self.overlaps[min(rung, self.finest)]

    def limit(self) -> tuple[Overlap, Overlap]:
        """The overlap towards width 0, and what the last octave changed: norms at the finest rung, what tells p from q
        where its noise and its change together are least, as long as finer rungs agree.
        """
        normalized, last = self.overlaps.normalized, min(_SMOOTH_FROM, self.finest)
        rungs = np.arange(self.finest, last - 1, -1)
        changes = normalized[rungs] - normalized[np.maximum(0, rungs - 2)]  # (rungs, 1 + G), finest first
        continued = normalized[rungs] + _CONTINUATIONS[1] * changes
        alike = next((k for k in range(1, len(rungs)) if not formulas.agree(continued[k], continued[:k])), len(rungs))
        doubts = 2.0 * formulas.jackknife_errors(normalized[rungs[:alike]]) + np.abs(changes[:alike, 0])
        best = self.finest - formulas.first_least(doubts)
        (fine, fine_octave), (chosen, octave) = (
            (self.overlaps[k], self.overlaps[k].over(self.overlaps[max(0, k - 2)])) for k in (self.finest, best)
        )
        return replace(chosen, log_norm=fine.log_norm), replace(octave, log_norm=fine_octave.log_norm)


def normalized_distance(data: Prepared, level: float) -> NormalizedDistance:
    """The normalized distance of two prepared samples with intervals of this level."""
    rows = common_widths(rows_in_order(data) if data.x.rows.shape[1] == 1 and not len(data.levels) else rows_of(data))
    if rows.smaller < (1.0 - 1e-9) * FEWEST:  # of equal weights it is a whole number but for rounding
        return _plain_distance(rows)
    rows, joint, metric = _best_metric(rows)
    quantile = float(stdtrit(rows.n_groups - 1, 0.5 + 0.5 * level))
    reading = _read(rows, joint, quantile)
    middle, is_open = reading.middle, reading.is_open
    log_unit = float(middle.log_total[0])
    low, high = reading.ends(quantile)
    squared_low, squared_high = _ends([v.squared(log_unit) for v in reading.variants], quantile, reading.pair_variance)
    value = float(np.clip(middle.normalized[0], 0.0, 1.0))
    surest = 1.0 - 3.0 / rows.smaller  # n rows without an exception leave a share of 3/n open
    return NormalizedDistance(
        value=value,
        ends=(max(0.0, min(low, value, surest)), 1.0 if is_open else min(1.0, max(value, high))),
        error=formulas.jackknife_error(middle.squared(log_unit)),
        squared_value=max(0.0, float(middle.squared(log_unit)[0])),
        squared_ends=(max(0.0, squared_low), np.inf if is_open else max(0.0, squared_high)),
        log_unit=log_unit - rows.log_volume,
        resolution=float(_widths(_COLUMN_RUNGS)[reading.rung]),
        metric=metric,
    )


def _best_metric(rows: Rows) -> tuple[Rows, _Path, str]:
    """The rows as they are or whitened within the samples, whichever blur takes less from the densities' norms."""
    joint, whitened = _joint_path(rows), whitened_rows(rows)
    if whitened is None:
        return rows, joint, "columns"
    other = _joint_path(whitened)
    norms = [
        float(path.at(path.finest).log_total[0]) - part.log_volume for path, part in ((joint, rows), (other, whitened))
    ]
    return (whitened, other, "whitened") if norms[1] > norms[0] else (rows, joint, "columns")


def _widths(rungs: int) -> FloatArray:
    return np.asarray(_WIDEST * 2.0 ** (-0.5 * np.arange(rungs)))


def _column_path(rows: Rows, j: int) -> _Path:
    """The overlap in one column of numbers; of rounded ones down to a kernel that sees equal values only."""
    values, widths = rows.numbers[:, j], _widths(_COLUMN_RUNGS)
    spacing = float(rows.spacings[j])
    narrowest, most = max(rows.narrowest, _EQUAL * spacing), _column_noise(rows.smaller)
    means, noise = np.empty((0, 3, 1 + rows.n_groups)), np.empty((0, 3))
    is_resolved = np.zeros(0, dtype=bool)
    for sums in column_sums(values, rows.omega, rows.groups, 2 * rows.n_groups, widths):
        means = np.concatenate([means, rows.means(sums)])
        noise = formulas.degenerate_noise(means, rows.sizes)
        is_resolved = (noise[:, :2].max(axis=1) <= most) & (widths[: len(noise)] >= narrowest)
        if not is_resolved.all():
            break
    overlaps = formulas.overlap_of(means, formulas.log_volume(widths[: len(means)], spacing))
    return _Path(overlaps, formulas.finest_rung(is_resolved, 2), noise)


def _column_noise(rows: float) -> float:
    """How much of an integral may be noise of pairs within reach; of few rows more, so that jumps can be seen."""
    return max(_COLUMN_NOISE / float(np.sqrt(rows)), min(_LEVEL_NOISE, _FEW_NOISE / rows))


def _level_path(rows: Rows, j: int, apart: float) -> _Path:
    """The overlap in one column of categories, whose unequal levels have this squared distance."""
    widths = _widths(_COLUMN_RUNGS)
    ratios = np.exp(-0.5 * apart / widths**2)
    codes = rows.codes[:, j].astype(np.intp)
    means = rows.means(level_sums(codes, rows.omega, rows.groups, 2 * rows.n_groups, ratios))
    noise = formulas.degenerate_noise(means, rows.sizes)
    overlaps = formulas.overlap_of(means, np.log1p((rows.levels[j] - 1) * ratios))
    return _Path(overlaps, formulas.finest_rung(noise[:, :2].max(axis=1) <= _LEVEL_NOISE, 2), noise)


def _joint_path(rows: Rows) -> _Path:
    """The overlap of all columns together."""
    if _is_one_number(rows):
        return _column_path(rows, 0)
    has_few_columns = rows.numbers.shape[1] + rows.codes.shape[1] <= _FEW_COLUMNS
    widths = _widths(_JOINT_RUNGS if has_few_columns else _FEWER_RUNGS)
    blocks, apart = rows.blocks(), apart_levels(rows)
    ratios = np.exp(-0.5 * np.divide.outer(apart, widths**2))  # (c, S)
    log_volumes = np.log1p((rows.levels[:, None] - 1) * ratios).sum(axis=0)
    for spacing in rows.spacings:
        log_volumes = log_volumes + formulas.log_volume(widths, float(spacing))
    means = np.mean([_block_means(block, apart, widths) for block in blocks], axis=0)
    n, m = (size * len(blocks) ** 0.5 for size in blocks[0].sizes)
    noise = formulas.degenerate_noise(means, (n, m))
    overlaps = formulas.overlap_of(means, log_volumes)
    is_resolved = (noise.max(axis=1) <= _JOINT_NOISE / np.sqrt(min(n, m))) & (widths[:-1] >= rows.narrowest)
    return _Path(overlaps, formulas.finest_rung(is_resolved), noise)


def _is_one_number(rows: Rows) -> bool:
    """Whether there is a single column, of numbers: then it is all columns together."""
    return rows.numbers.shape[1] == 1 and not rows.codes.shape[1]


def _block_means(block: Rows, apart: FloatArray, widths: FloatArray) -> FloatArray:
    """Mean kernel values between rows of a block, categories as coordinates, (S, 3, 1 + G)."""
    is_small = block.levels <= _EMBEDDED_LEVELS
    embedded, levels = block.numbers, None
    if is_small.any():
        few = Categories(block.levels[is_small], apart=apart[is_small])
        embedded = few.embedded(np.hstack([block.numbers, block.codes[:, is_small]]))
    if not is_small.all():
        many = block.codes[:, ~is_small]
        levels = LevelDistances(many.astype(np.min_scalar_type(int(many.max()))), apart[~is_small])
    centered = embedded - embedded.mean(axis=0)
    return block.means(pair_sums(centered, block.omega, block.groups, 2 * block.n_groups, widths, levels))


def _paths(rows: Rows) -> list[_Path]:
    """The overlap in every single column."""
    levels = [_level_path(rows, j, apart) for j, apart in enumerate(apart_levels(rows))]
    threads = min(cores(), _MOST_THREADS) if len(rows.omega) >= _PARALLEL_ROWS else 1
    columns = range(rows.numbers.shape[1])
    paths = map_in_order(partial(_column_path, rows), columns, threads)
    return [*tell("overlap of single columns", paths, len(columns)), *levels]


@dataclass(frozen=True)
class _Reading:
    """Overlaps at width 0 under every continuation, the estimate in the middle, with columns together from one rung."""

    variants: list[Overlap]
    rung: int
    pair_variance: float = 0.0  # of the normalized distance, from pairs of rows alone: a jackknife counts it twice
    is_open: bool = False  # the upper end cannot be told

    @property
    def middle(self) -> Overlap:
        return self.variants[len(self.variants) // 2]

    def ends(self, quantile: float) -> tuple[float, float]:
        """Ends of the normalized distance."""
        return _ends([variant.normalized for variant in self.variants], quantile, self.pair_variance, 1.0)


def _read(rows: Rows, joint: _Path, quantile: float) -> _Reading:
    """The overlap at width 0: columns together from the rung of the shortest interval, as long as finer ones agree."""
    paths = [joint] if _is_one_number(rows) else _paths(rows)
    limits, changes = (_product(list(overlaps)) for overlaps in zip(*(path.limit() for path in paths), strict=True))
    if len(paths) == 1:
        return _Reading([limits.times(changes.power(a)) for a in _CONTINUATIONS], joint.finest)
    blocks = rows.blocks()
    used = rows.between(0, len(blocks) * (BLOCK_ROWS // rows.n_groups))
    if len(used.omega) < len(rows.omega):
        paths = _paths(used)  # the columns of the rows that the joint overlap comes from
    together = [joint.at(rung).over(_product([path.at(rung) for path in paths])) for rung in range(joint.finest + 1)]
    readings: list[_Reading] = []
    for rung in range(joint.finest, min(_SMOOTH_FROM, joint.finest) - 1, -1):
        octave = together[rung].over(together[max(0, rung - 2)])
        variants = [
            limits.times(changes.power(a)).times(together[rung]).times(octave.power(b))
            for a, b in product(_CONTINUATIONS, repeat=2)
        ]
        reading = _Reading(variants, rung, _degenerate_variance(joint, rung), _is_falling(octave.affinity, rung))
        finer = [finer.middle.normalized for finer in readings]
        if finer and not formulas.agree(reading.middle.normalized, np.array(finer)):
            break
        readings.append(reading)
    lengths = [high - low for low, high in (reading.ends(quantile) for reading in readings)]
    return replace(readings[formulas.first_least(lengths)], is_open=readings[0].is_open)


def _is_falling(affinity: FloatArray, rung: int) -> bool:
    """Whether the affinity of columns together still falls in the last octave, by more than its noise.

    At half a typical width most of the fall is behind; at wider ones it has hardly begun, and little of it is a sign.
    """
    if rung < 2:  # no octave to judge by
        return True
    fall, least = 1.0 - float(affinity[0]), _FALLS_MUCH if rung >= _SMOOTH_FROM else _FALLS
    return fall > least and fall > _SURELY * formulas.jackknife_error(affinity)


def _degenerate_variance(joint: _Path, rung: int) -> float:
    """Variance of the normalized distance at a rung from pairs of rows alone, not from single rows."""
    x, y, across = np.nan_to_num(joint.noise[min(rung, len(joint.noise) - 1)], posinf=0.0)
    alike = 1.0 - float(np.clip(joint.at(rung).normalized[0], 0.0, 1.0))
    return float(alike**2 * (x**2 + y**2) / 4.0 + across**2)


def _product(overlaps: list[Overlap]) -> Overlap:
    result = overlaps[0]
    for other in overlaps[1:]:
        result = result.times(other)
    return result


def _ends(
    variants: list[FloatArray], quantile: float, pair_variance: float, highest: float = np.inf
) -> tuple[float, float]:
    """Ends that cover the intervals of all variants; ``pair_variance`` is what the jackknife counts twice.

    The variance vanishes towards 0 and towards ``highest``: where an estimate is near to one of them by chance, its
    error is too small. As in Wilson's interval of a share, the end on the other side reaches further. And what is
    estimated below 0 is as uncertain as 0: no interval is the point 0.
    """
    ends = []
    for variant in variants:
        value, error = float(variant[0]), formulas.jackknife_error(variant)
        if not np.isfinite(error):
            return -np.inf, highest
        reach = quantile * error * float(np.sqrt(max(1.0 - pair_variance / max(error**2, _TINY), 0.5)))
        up, down = (_FURTHER * reach * (reach / max(room, reach, _TINY)) for room in (value, highest - value))
        ends.append((value - reach - down, max(value, 0.0) + reach + up))
    return min(low for low, _ in ends), max(high for _, high in ends)


def _plain_distance(rows: Rows) -> NormalizedDistance:
    """E9 of very few rows, which tell no interval, at the finest blur that is resolved."""
    path = _joint_path(rows)
    overlap = path.at(path.finest)
    value, log_unit = float(np.clip(overlap.normalized[0], 0.0, 1.0)), float(overlap.log_total[0]) - rows.log_volume
    resolution = float(_widths(_COLUMN_RUNGS)[path.finest])
    return NormalizedDistance(value, (0.0, 1.0), np.inf, value, (0.0, np.inf), log_unit, resolution, "columns")
