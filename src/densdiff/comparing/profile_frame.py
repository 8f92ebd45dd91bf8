"""What the profiles of a table and of all tables like it have in common: columns, features and waves.

A frame is made of the first table and holds none of its rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from densdiff.comparing.profile_columns import LEAST_ROWS, CountArray, LevelFrame, NumberFrame
from densdiff.core.scaling import FloatArray
from densdiff.core.selection import IntArray
from densdiff.core.tails import COARSE
from densdiff.data.missing import mark_name
from densdiff.data.pair import Pair
from densdiff.estimators.difference import DensityDifference
from densdiff.progress import tell
from densdiff.solvers.prepared import prepare
from densdiff.sources.array_sample import ArraySample
from densdiff.sources.sample import add_sums
from densdiff.testing.feature_layout import Layout, all_features, feature_sums, make_layout, sums_and_squares
from densdiff.testing.feature_sums import Waves
from densdiff.testing.lsdd_models import pooled_model
from densdiff.testing.row_features import (
    Features,
    LevelFeatures,
    NumberFeatures,
    QuadraticForms,
    RowFeatures,
    leading_features,
)
from densdiff.testing.widths import MEDIAN_ROWS, sigmas_of, suited_width
from densdiff.threads import map_in_order

_QUANTILES = 64  # of quadratic forms
WAVES, MORE_WAVES = 256, 512  # frequencies of each width, and of few columns, where narrow kernels see most
_FEW = 3
MOST_WIDTHS = 7  # of kernels of all columns together, from twice the median distance between rows on; one suits
_PAIRED = 100  # columns whose pairs are counted
_FILTER_ROWS, _MOST_LAM = 1000, 1e6  # rows that tell the filter that suits the density; beyond that lam it is Gaussian
_MARKS = np.array([1, 1])  # a mark and its absence count alike
_AT_ONCE = 1 << 21  # features held at a time
_SUMMED_ROWS = 4096  # whose sums are one piece of work at most; of many columns fewer
_WAVES_AT_ONCE = 1 << 19  # they stay in the cache


@dataclass(frozen=True)
class Frame:
    """Everything that tables must share for their profiles to be compared and merged.

    Rows are numbers, NaN where they are missing, then codes of categories, then marks of missing numbers.
    """

    numbers: tuple[NumberFrame, ...]
    categories: tuple[LevelFrame, ...]
    seed: int
    widths: tuple[float, ...]  # of the kernels of all columns together
    suited: int  # the place of the width that suits the density
    lam: float | None  # of a filter of the last width, which then is the one that suits; None if all are Gaussian
    pairs: npt.NDArray[np.intp]  # (p, 2) of columns
    form_quantiles: FloatArray  # (forms, knots) means of neighbours among the values of the quadratic forms

    @classmethod
    def of(
        cls, numbers: Sequence[NumberFrame], categories: Sequence[LevelFrame], rows: FloatArray, seed: int
    ) -> "Frame":
        """From the frames of the columns and some rows, whose marks are still lacking."""
        no_pairs = np.empty((0, 2), dtype=np.intp)
        frame = cls(tuple(numbers), tuple(categories), seed, (), 0, None, no_pairs, np.empty((0, 0)))
        rows = frame.with_marks(rows)
        columns = [each(column) for each, column in zip(frame._of_columns, rows.T, strict=True)]
        leading = leading_features(columns)
        forms = QuadraticForms.of_equal_columns(len(columns))
        parts = np.array_split(np.sort(forms(leading), axis=0), min(_QUANTILES, max(1, len(rows) // LEAST_ROWS)))
        quantiles = np.array([part.mean(axis=0) for part in parts]).T
        embedded = frame._embedded(rows[:MEDIAN_ROWS])
        widths = tuple(map(float, sigmas_of(embedded)[1:MOST_WIDTHS])) or (1.0,)
        widths, suited, lam = _with_suited(widths, frame, rows, embedded)
        pairs = np.array(make_layout(columns).pairs, dtype=np.intp).reshape(-1, 2)
        return cls(frame.numbers, frame.categories, seed, widths, suited, lam, pairs, quantiles)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns of numbers, then of categories."""
        return (*(column.name for column in self.numbers), *(column.name for column in self.categories))

    @property
    def kinds(self) -> dict[str, str]:
        """What each column is, as `compare` calls it."""
        return {column.name: "number" for column in self.numbers} | {c.name: "category" for c in self.categories}

    @cached_property
    def marked(self) -> list[int]:
        """Places of the numbers whose missing values have a column of marks."""
        return [j for j, column in enumerate(self.numbers) if column.has_missing]

    @property
    def all_names(self) -> list[str]:
        """Of all columns of the rows, marks last."""
        return [*self.names, *(mark_name(self.numbers[j].name) for j in self.marked)]

    def with_marks(self, rows: FloatArray) -> FloatArray:
        """Rows with their marks of missing numbers."""
        return np.hstack([rows, np.isnan(rows[:, self.marked])])

    def inner(self, rows: FloatArray) -> FloatArray:
        """The numbers of rows in deviations, (k, d)."""
        columns = [column.inner(values) for column, values in zip(self.numbers, rows.T, strict=False)]
        return np.column_stack(columns) if columns else np.empty((len(rows), 0))

    def _embedded(self, rows: FloatArray) -> FloatArray:
        """Rows whose distances count unequal levels as two rows differ in a column of numbers, (k, ..)."""
        indicators = []
        for codes in rows.T[len(self.numbers) :]:
            levels, counts = np.unique(codes, return_counts=True)
            unequal = 1.0 - np.square(counts / len(codes)).sum()
            indicators.append((codes[:, None] == levels) / np.sqrt(unequal if unequal > 0 else 1.0))
        return np.hstack([self.inner(rows), *indicators])

    @cached_property
    def _of_columns(self) -> list[NumberFeatures | LevelFeatures]:
        numbers = [NumberFeatures(column.knots, column.knot_rows) for column in self.numbers]
        return [
            *numbers,
            *(LevelFeatures(c.rows) for c in self.categories),
            *(LevelFeatures(_MARKS) for _ in self.marked),
        ]

    @cached_property
    def features(self) -> RowFeatures:
        """The features of low order."""
        of_forms = [NumberFeatures.of(values) for values in self.form_quantiles]
        return RowFeatures(self._of_columns, QuadraticForms.of_equal_columns(len(self._of_columns)), of_forms)

    @property
    def empty_rows(self) -> FloatArray:
        """No rows, with marks, (0, d)."""
        return self.with_marks(np.zeros((0, len(self.names))))

    @cached_property
    def layout(self) -> Layout:
        """Where the features of low order stand."""
        one = self.with_marks(np.zeros((1, len(self.names))))
        layout = make_layout(self.features.columns(one))
        return replace(layout, pairs=[(int(i), int(j)) for i, j in self.pairs])

    @cached_property
    def waves(self) -> Waves:
        """The waves of all columns together."""
        levels = [len(column.rows) for column in self.categories] + [2] * len(self.marked)
        return Waves.drawn(self.seed, len(self.numbers), levels, self.widths, self.n_waves, self.suited, self.lam)

    @property
    def n_waves(self) -> int:
        """Frequencies of each width."""
        return MORE_WAVES if len(self.names) <= _FEW else WAVES

    @property
    def n_features(self) -> int:
        """Waves and features of low order."""
        return self.waves.size + self.layout.size

    def feature_rows(self, rows: FloatArray) -> Iterator[Features]:
        """All features of rows with marks, some rows at a time, (.., n_features)."""
        step = max(64, _AT_ONCE // self.n_features)
        starts = range(0, len(rows), step)
        for first in tell("features of rows", starts, len(starts)):
            some = rows[first : first + step]
            waves = self.waves(self.inner(some), self._codes(some))
            yield np.hstack([waves, all_features(self.features, self.layout, some)])

    def _codes(self, rows: FloatArray) -> IntArray:
        """Categories and marks of rows with marks, (k, c)."""
        return rows[:, len(self.numbers) :].astype(np.intp)

    def totals(self, rows: FloatArray, threads: int = 1) -> tuple[CountArray, tuple[FloatArray, FloatArray]]:
        """`pair_counts` and `feature_sums` of rows with marks, by so many threads."""
        step = min(_SUMMED_ROWS, max(64, _AT_ONCE // self.layout.size))

        def of_some(first: int) -> tuple[CountArray, tuple[FloatArray, FloatArray]]:
            some = rows[first : first + step]
            return self.pair_counts(some), self.feature_sums(some)

        starts = range(0, max(1, len(rows)), step)
        return reduce(add_sums, tell("features of rows", map_in_order(of_some, starts, threads), len(starts)))

    def feature_sums(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sums of all features over rows with marks, and of their squares, (n_features,) each."""
        sums, squares = np.zeros((2, self.waves.size))
        numbers, codes = self.inner(rows), self._codes(rows)
        step = max(64, _WAVES_AT_ONCE // self.waves.size)
        for first in range(0, len(rows), step):
            waves = self.waves(numbers[first : first + step], codes[first : first + step])
            sums, squares = add_sums((sums, squares), sums_and_squares(waves))
        low_order = feature_sums(self.features, self.layout, rows)
        return np.concatenate([sums, low_order[0]]), np.concatenate([squares, low_order[1]])

    def pair_counts(self, rows: FloatArray) -> CountArray:
        """Rows in each coarse cell of each pair of columns, (4 d, 4 d) for at most 100 columns."""
        columns = [own.coarse(values) for own, values in zip(self.numbers, rows.T, strict=False)]
        of_levels = rows.T[len(self.numbers) :].astype(np.intp)
        columns += [own.coarse(codes) for own, codes in zip(self.categories, of_levels, strict=False)]
        codes = np.column_stack(columns[:_PAIRED])
        marks = codes[:, :, None] == np.arange(COARSE)
        flat = marks.reshape(len(codes), COARSE * codes.shape[1]).astype(np.float32)  # sums are exact
        return np.asarray(flat.T @ flat).astype(np.int64)

    @cached_property
    def identity(self) -> str:
        """A text that frames share only if they are the same."""
        digest = sha256(repr((self.kinds, self.seed, self.widths, self.suited, self.lam)).encode())
        for column in self.numbers:
            digest.update(repr((column.cells, column.scale, column.has_missing)).encode())
            digest.update(column.merged.tobytes() + column.knots.tobytes() + column.knot_rows.tobytes())
        for level in self.categories:
            digest.update(repr((level.levels, level.salt)).encode() + level.rows.tobytes())
        digest.update(self.pairs.tobytes() + self.form_quantiles.tobytes())
        return digest.hexdigest()[:16]


def _with_suited(
    widths: tuple[float, ...], frame: Frame, rows: FloatArray, embedded: FloatArray
) -> tuple[tuple[float, ...], int, float | None]:
    """Widths with that of the kernel which suits the density, its place, and the lam of its filter if it has one.

    As with rows, a filter that is cross-validated if all columns are numbers, else a Gaussian kernel.
    """
    numbers = frame.inner(rows[:_FILTER_ROWS])
    if len(frame.all_names) > numbers.shape[1] or numbers.shape[1] < 2:
        suited = suited_width(embedded, np.array(widths))
        widths = widths if suited in widths else (*widths, suited)
        return widths, widths.index(suited), None
    half = len(numbers) // 2
    x, y = (ArraySample(np.asfortranarray(own)) for own in (numbers[:half], numbers[half:]))
    estimator = DensityDifference(random_state=frame.seed, standardize=False)
    pair = Pair.of(x, y, frame.names)
    data = prepare(pair, standardize=False, folds=estimator.folds, random_state=frame.seed)
    (sigma, lam), _ = pooled_model(estimator, data)
    return (*widths, sigma * data.scaling.sigma_unit), len(widths), min(lam, _MOST_LAM)
