"""One column of two tables, prepared once: its p-value, its distance and its picture start from the same object."""

from dataclasses import dataclass, replace

import numpy as np

from densdiff import messages
from densdiff.core import selection
from densdiff.core.resample import CountArray
from densdiff.data.pair import Pair
from densdiff.solvers.distance import overlap_distance, saturation_note
from densdiff.solvers.fit import Fit, Settings, find_fit
from densdiff.solvers.prepared import Prepared, prepare
from densdiff.solvers.uncertainty import normal_quantile
from densdiff.sources.array_sample import ArraySample
from densdiff.sources.sample import all_at_once
from densdiff.threads import on_one_thread

PICTURE_ROWS = 5000  # of a table that a picture is made of
_FOLDS, _SETTINGS = 5, Settings(None, None, "auto", 300, None, standardize=True)  # those of LSDD() without arguments


@dataclass(frozen=True)
class ColumnDistance:
    """The normalized distance (E9) of one column, and its interval."""

    normalized: float
    interval: tuple[float, float]


class NumberColumn:
    """A column of numbers; its preparation and its fit are made when first asked for, and kept.

    They are no cached properties: in Python 3.11 all columns would share one lock, and a column that waits for a pass
    over the rows, which all columns make together, would wait forever.
    """

    def __init__(self, pair: Pair, seed: int) -> None:
        self.pair, self.seed = pair, seed  # a pair of one column
        self._data: Prepared | None = None
        self._fit: Fit | None = None

    @property
    def is_constant(self) -> bool:
        """Whether both tables hold one and the same value."""
        return not self.pair.varying[0]

    @property
    def data(self) -> Prepared:
        """Both samples in inner units, with the folds of the fit."""
        if self._data is None:
            self._data = prepare(self.pair, standardize=True, folds=_FOLDS, random_state=self.seed)
        return self._data

    @property
    def fit(self) -> Fit:
        """The density difference of all rows."""
        if self._fit is None:
            self._fit = find_fit(self.data, _SETTINGS)
        return self._fit

    @on_one_thread
    def distance(self, level: float) -> ColumnDistance:
        """The distance of all rows, with an interval of this level."""
        if self.is_constant:
            return ColumnDistance(0.0, (0.0, 0.0))
        distance = overlap_distance(self.data, level)
        if note := saturation_note(distance):
            messages.warn(note)
        return ColumnDistance(distance.normalized, distance.normalized_ends)

    @property
    def is_drawn_whole(self) -> bool:
        """Whether the picture is of all rows, so that its fit is that of the distance."""
        return all_at_once(self.pair.x, self.pair.y) and max(len(self.pair.x), len(self.pair.y)) <= PICTURE_ROWS

    def picture_fit(self) -> Fit:
        """The density difference of the rows that a picture is made of."""
        if self.is_drawn_whole:
            return self.fit
        return NumberColumn(picture_rows(self.pair, self.seed), self.seed).fit


class LevelColumn:
    """A column of categories: its levels, and how many rows of each table have each of them, (2, K)."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair  # of one column
        self.levels = pair.levels[0] or ()
        self.counts = level_counts(pair, 0)

    @property
    def is_constant(self) -> bool:
        """Whether both tables hold one and the same level."""
        return not self.pair.varying[0]

    def distance(self, level: float) -> ColumnDistance:
        """The distance without smoothing: unbiased squared shares, and the noise of their ratio."""
        (a, b), (n, m) = self.counts, (len(self.pair.x), len(self.pair.y))
        p, q = a / n, b / m
        own = (n * np.square(p).sum() - 1.0) / (n - 1), (m * np.square(q).sum() - 1.0) / (m - 1)
        total, cross = float(sum(own)), float(p @ q)
        if total <= 0.0:  # hardly any level occurs twice in a table
            return ColumnDistance(0.0, (0.0, 1.0))
        ratio = float(np.clip(1.0 - 2.0 * cross / total, 0.0, 1.0))
        # the slope of the distance less ratio times the norms, at each level; the part that is quadratic in the noise
        slope_a, slope_b = (1.0 - ratio) * p - q, (1.0 - ratio) * q - p
        linear = 4.0 * ((p @ slope_a**2 - (p @ slope_a) ** 2) / n + (q @ slope_b**2 - (q @ slope_b) ** 2) / m)
        noise = np.square(p).sum() / n**2 + np.square(q).sum() / m**2 + 2.0 * cross / (n * m)
        error = float(np.sqrt(max(linear, 0.0) + 2.0 * noise)) / total
        reach = normal_quantile(level) * error
        return ColumnDistance(ratio, (max(0.0, ratio - reach), min(1.0, ratio + reach)))


def level_counts(pair: Pair, j: int) -> CountArray:
    """Rows of each level of a column in both tables, (2, K)."""
    n_levels = len(pair.levels[j] or ())
    return np.array([rows.level_counts(j, n_levels) for rows in (pair.x, pair.y)])


def picture_rows(pair: Pair, seed: int, most: int | None = None) -> Pair:
    """At most so many rows of each table, `PICTURE_ROWS` unless it is said, in their order."""
    most = PICTURE_ROWS if most is None else most
    x, y = (
        ArraySample(rows[selection.draw_sorted_rows(seed, len(rows), min(len(rows), most))])
        for rows in (pair.x, pair.y)
    )
    return replace(Pair.of(x, y, pair.names, pair.levels, pair.notes), varying=pair.varying)
