"""How many rows would have to move? Total variation from below, by cross-fitted witnesses (E18)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff import messages
from densdiff.core import selection
from densdiff.core.scaling import FloatArray
from densdiff.core.separation import Separated, separated
from densdiff.data import parameters
from densdiff.data.pair import Pair, check_pair
from densdiff.errors import InputError
from densdiff.estimators.difference import DensityDifference
from densdiff.progress import long_work
from densdiff.results import Receipt
from densdiff.solvers.prepared import OVERLAP_ROWS, Prepared, prepare, rows_to_prefetch
from densdiff.solvers.witness import Judged, Table, judge, judge_by, judge_columns
from densdiff.sources.array_sample import ArraySample
from densdiff.testing.two_sample import pair_test
from densdiff.threads import on_one_thread

IntArray = npt.NDArray[np.intp]

MOST_ROWS = 20_000  # of each sample: they tell a share to half a percent
_MOST_FOLDS = 5  # with more, folds share too many rows, and the lower end is too high too often
_TESTED_ROWS = 10_000  # of each sample: relabelling all columns, single ones and pairs of more takes long
_RELABELLINGS = 399
_TYPICAL = 10
_REGULAR = 0.9  # of the distinct rows
_CONTINUOUS = 0.5  # of the rows have values of their own in a column where equal rows are copies
_FEW_VALUES = 20  # so few in a column are ties


@dataclass(frozen=True, kw_only=True, eq=False)
class TotalVariationResult(Receipt):
    """How many of the rows would have to move: at least this share.

    Attributes
    ----------
    value : float
        Share of the rows that the witness separates, at least 0: that of held-out rows of X that it calls X, less that
        of Y. In expectation never above the total variation of the two populations.
    raw : float
        The same, which may be below 0 by chance.
    interval : tuple of two floats
        For the total variation itself: nothing but smoothness would bound it from above, so the upper end is 1. The
        lower end is 0 unless the exact test finds a difference.
    separated_interval : tuple of two floats
        For what this witness separates in the populations.
    level : float
        Nominal coverage of both intervals.
    share_x, share_y : float
        Shares of the held-out rows of X and of Y that the witness calls X.
    witness : str
        What told them apart in most folds: "column 'spend'", "sum over columns", "linear", "quadratic", "pair" or
        "all columns".
    typical_x, typical_y : tuple of int
        Numbers of the rows of each sample that lie deepest where the witness says their own name.
    pvalue : float
        Of the test that decides on the lower end.
    judged_x, judged_y : array or None
        What the witness says of the rows, from -1 (Y) to 1 (X): for pictures, and not in ``to_dict``.

    Examples
    --------
    >>> import densdiff as dd
    >>> pair = dd.datasets.gaussian_shift(0.8, n=100, random_state=0)
    >>> result = dd.total_variation(pair.x, pair.y, random_state=0)
    >>> 0 < result.interval[0] < result.value < result.interval[1] == 1
    True
    >>> result.witness
    "column 'x0'"
    """

    value: float
    raw: float
    interval: tuple[float, float]
    separated_interval: tuple[float, float]
    level: float
    share_x: float
    share_y: float
    witness: str
    typical_x: tuple[int, ...]
    typical_y: tuple[int, ...]
    pvalue: float
    judged_x: FloatArray | None = field(repr=False)  # what is said of the rows, from -1 (Y) to 1 (X): for pictures
    judged_y: FloatArray | None = field(repr=False)

    def _contents(self) -> dict[str, Any]:
        """All but what only pictures need."""
        return {name: value for name, value in super()._contents().items() if not name.startswith("judged_")}

    def __str__(self) -> str:
        low, high = self.separated_interval
        lines = [
            f"Total variation of two samples of {self.n_x} and {self.n_y} rows",
            f"  value       {self.value:.3g}; at least {self.interval[0]:.3g} at {100 * self.level:g} %",
            f"  separated   {low:.3g} to {high:.3g} by {self.witness}: it calls {100 * self.share_x:.1f} % of X and "
            f"{100 * self.share_y:.1f} % of Y X",
            f"  test        p = {self.pvalue:.3g}",
        ]
        return "\n".join(lines + self._receipt_lines())

    def _draw(self) -> Any:
        from densdiff.plots import plot_total_variation

        return None if self.judged_x is None else plot_total_variation(self)


@long_work("judging rows")
@on_one_thread
def total_variation(
    X: Any, Y: Any, *, model: Any = None, folds: int = 5, level: float = 0.95, random_state: Any = None
) -> TotalVariationResult:
    """The share of rows that would have to move for X and Y to come from one population, from below.

    A witness is a function of a row that is positive where it says X. It is learned from some of the rows and judged on
    others; whatever it is, it separates no more than the total variation.

    Parameters
    ----------
    X, Y : array or data frame of shape (n, d) and (m, d), path, Dask collection or iterable of blocks
    model : LSDD or KDEDifference, optional
        An unfitted estimator whose f is the only witness; by default the best of many is found in the training folds.
    folds : int
        Folds of the cross-fitting, 2 to 5.
    level : float
        Nominal coverage of the intervals.
    random_state : None, int, Generator or RandomState

    Returns
    -------
    TotalVariationResult

    Examples
    --------
    >>> import densdiff as dd
    >>> pair = dd.datasets.gaussian_shift(mu=0.5, n=200, random_state=0)
    >>> result = dd.total_variation(pair.x, pair.y, random_state=0)
    >>> 0.5 < result.value < 0.9
    True
    """
    level = parameters.fraction(level, "level")
    if parameters.whole(folds, "folds", 2) > _MOST_FOLDS:
        text = f"folds must be at most {_MOST_FOLDS}: with more of them the lower end would be too high too often"
        raise InputError(f"{text}; got {folds}", argument="folds")
    if model is not None:
        _refuse_other_models(model)
    seed = parameters.seed(random_state)
    pair = check_pair(
        X, Y, categories=model is None or _takes_pairs(model), prefetch=partial(rows_to_prefetch, seed, 1)
    )
    return pair_variation(pair, None, folds=folds, level=level, seed=seed, model=model).result


def _refuse_other_models(model: Any) -> None:
    from densdiff.estimators.kde import KDEDifference
    from densdiff.estimators.lsdd import LSDD

    parameters.estimator(model, (LSDD, KDEDifference))


def _takes_pairs(model: Any) -> bool:
    """Whether a model is fitted to checked samples, categories among them; else to arrays of numbers."""
    return isinstance(model, DensityDifference)


@dataclass(frozen=True)
class PairVariation:
    """The total variation of two samples, and the rows it was found in."""

    result: TotalVariationResult
    table: Table
    clusters: IntArray | None  # a number that copies share
    rows: tuple[IntArray, IntArray]  # the numbers of the table's rows in the samples as they came

    @cached_property
    def judged_columns(self) -> dict[str, FloatArray]:
        """What f of each column alone says of every row, (N,), by name."""
        return dict(zip(self.table.names, judge_columns(self.table), strict=True))

    def of_columns(self, level: float | None = None) -> dict[str, Separated]:
        """What each column alone separates, by name."""
        level = self.result.level if level is None else level
        return {name: self._separated(values, level) for name, values in self.judged_columns.items()}

    @property
    def shared_level(self) -> float:
        """The level at which the intervals of all columns hold together with that of the result."""
        return 1.0 - (1.0 - self.result.level) / len(self.table.names)

    def with_columns(self, significant: Sequence[str]) -> TotalVariationResult:
        """The result for all columns, which is no less than that of a column that differs.

        The lower end is the best of that of all columns and those of single ones, which share the other half of the
        error that an interval of this level may make.
        """
        result, columns = self.result, self.of_columns()
        names = [name for name in significant if name in columns]
        if not names:
            return result
        limits = self.of_columns(self.shared_level)
        lower = max(result.interval[0], *(limits[name].interval[0] for name in names))
        best = max(names, key=lambda name: columns[name].value)
        if columns[best].value > result.value:
            values = self.judged_columns[best]
            result = replace(result, **_shown(self.table, values, columns[best], self.rows), witness=f"column {best!r}")
        return replace(result, interval=(min(lower, result.value), 1.0))

    def _separated(self, values: FloatArray, level: float) -> Separated:
        return separated(values, self.table.omega, self.table.in_x, level, self.clusters)


def pair_variation(
    pair: Pair,
    pvalue: float | None,
    *,
    folds: int = _MOST_FOLDS,
    level: float,
    seed: int,
    model: Any = None,
    shares_rows: bool = True,
) -> PairVariation:
    """Total variation of samples that were checked before.

    ``pvalue`` is that of the test of both samples; None, and wherever rows are copies, for one that is made here.
    Without ``shares_rows`` a row is not the same one in all columns, and the witness is one of a single column.
    """
    data = prepare(pair, standardize=True, folds=folds, random_state=seed)
    notes = [note for note in data.notes if note not in data.checked.ties]  # ties matter to densities, not to shares
    rows = _drawn_rows(data, notes)
    table, clusters = _table(data, rows, notes) if shares_rows else (_table(data, rows, [])[0], None)
    judged = judge(table, shares_rows) if model is None else judge_by(_fits_of(model, data, rows), table)
    if pvalue is None or clusters is not None:
        is_whole = clusters is None and max(data.sizes) <= _TESTED_ROWS
        tested = pair if is_whole else _tested_pair(data, rows, clusters)
        with messages.collect_warnings():
            relabellings = max(_RELABELLINGS, int(np.ceil(4.0 / (1.0 - level))))  # p can be half of what is needed
            pvalue = pair_test(DensityDifference(random_state=seed), tested, relabellings).pvalue
    found = separated(judged.values, table.omega, table.in_x, level, clusters)
    numbers = _user_numbers(data, rows)
    result = _result(data, numbers, table, judged, found, pvalue, level, notes, model)
    return PairVariation(result, table.with_single_columns(), clusters, numbers)


def _tested_pair(data: Prepared, rows: tuple[IntArray, IntArray], clusters: IntArray | None) -> Pair:
    """Some of the drawn rows of each sample, in memory, without their copies: a copy is no new observation."""
    half, samples = len(rows[0]), []
    ids = np.arange(half + len(rows[1])) if clusters is None else clusters
    for sample, own, numbers in ((data.pair.x, rows[0], ids[:half]), (data.pair.y, rows[1], ids[half:])):
        firsts = selection.first_of_equal(numbers)
        some = own[firsts[:: -(-len(firsts) // _TESTED_ROWS)]]
        samples.append(ArraySample(np.asfortranarray(sample[some])))
    return Pair.of(samples[0], samples[1], data.pair.names, data.pair.levels)


def _drawn_rows(data: Prepared, notes: list[str]) -> tuple[IntArray, IntArray]:
    """Numbers of the rows that are used of each sample."""
    drawn = []
    for size in data.sizes:
        some = np.sort(selection.draw_rows(data.seed, size, OVERLAP_ROWS))  # of a file, at hand already
        random = np.random.default_rng([data.seed, 10])
        chosen = np.sort(random.choice(len(some), min(size, MOST_ROWS), replace=False))
        drawn.append(some[chosen])
    if max(data.sizes) > MOST_ROWS:
        n, m = data.sizes
        notes.append(f"it rests on {len(drawn[0])} of {n} and {len(drawn[1])} of {m} rows, drawn at random")
    return drawn[0].astype(np.intp), drawn[1].astype(np.intp)


def _table(data: Prepared, rows: tuple[IntArray, IntArray], notes: list[str]) -> tuple[Table, IntArray | None]:
    """The rows as witnesses see them, dealt into folds; and which are copies of one another, if any are."""
    # in the user's units: inner ones round small values beside large ones to ties, which ranks would see
    points = np.concatenate([data.pair.x[rows[0]], data.pair.y[rows[1]]])[:, data.scaling.keep]
    omega = np.concatenate([_shares(s.omega[own]) for s, own in zip((data.x, data.y), rows, strict=True)])
    numbers, levels = data.numbers(points), data.levels
    codes = points[:, numbers.shape[1] :].astype(np.intp)
    in_x = np.arange(len(points)) < len(rows[0])
    names = [data.pair.names[j] for j in data.scaling.keep]
    folds, clusters = _folds(points, numbers, in_x, data, notes)
    return Table.of(numbers, codes, levels, omega, in_x, folds, tuple(names)), clusters


def _shares(omega: FloatArray) -> FloatArray:
    return np.asarray(omega / omega.sum())


def _folds(
    points: FloatArray, numbers: FloatArray, in_x: npt.NDArray[np.bool_], data: Prepared, notes: list[str]
) -> tuple[IntArray, IntArray | None]:
    """A fold for every row; equal rows share theirs where a column is continuous, since they give one another away.

    With it a number that copies share, if rows are copied: of equal rows that hold a single column of numbers only if
    most values of a sample are equally often in it.
    """
    folds = np.empty(len(points), dtype=np.intp)
    for own in (in_x, ~in_x):  # from the seed and the sample's own size alone: swapping them changes nothing
        folds[own] = np.random.default_rng([data.seed, 9]).permutation(int(own.sum())) % data.n_folds
    _, first, inverse = np.unique(points, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(points):
        return folds, None
    values = sorted((len(np.unique(column)) for column in numbers.T), reverse=True)
    inverse = inverse.reshape(-1)
    is_regular = any(_is_regular(inverse[own]) for own in (in_x, ~in_x))
    if not (is_regular or _are_copies(values, len(first), len(points))):
        return folds, None
    is_atom = np.zeros(len(first), dtype=bool)  # as many equal rows as a fold has: they must be on both sides
    for own in (in_x, ~in_x):
        is_atom |= np.bincount(inverse[own], minlength=len(first)) > max(1.0, own.sum() / data.n_folds)
    together = np.where(is_atom[inverse], folds, folds[first[inverse]])
    if min(len(np.unique(together[own])) for own in (in_x, ~in_x)) < min(3, data.n_folds):
        return folds, None
    copies = len(points) - len(first) - int(np.sum((np.bincount(inverse) - 1)[is_atom]))
    if copies > 0:
        equal = "1 row is equal to another" if copies == 1 else f"{copies} rows are equal to others"
        messages.warn(f"{equal}; equal rows are judged together", notes)
    return together, inverse if is_regular or points.shape[1] > 1 else None


def _is_regular(ids: IntArray) -> bool:
    """Whether nearly all of many rows occur equally often, and more than once: ties do not."""
    counts = np.bincount(ids)
    counts = counts[counts > 0]
    usual = int(np.median(counts))
    return len(counts) > _FEW_VALUES and usual > 1 and float(np.mean(counts == usual)) > _REGULAR


def _are_copies(values: list[int], distinct: int, rows: int) -> bool:
    """Whether equal rows are copies, by the distinct values of the columns of numbers, most first.

    They are if a column hardly has ties, or if two columns have them in the same rows; ties of one column are its own.
    """
    if values and values[0] > _CONTINUOUS * rows:
        return True
    return len(values) > 1 and values[1] > max(_FEW_VALUES, _CONTINUOUS * distinct)


def _fits_of(model: Any, data: Prepared, rows: tuple[IntArray, IntArray]) -> Any:
    """What f of a model from training rows says of others."""
    from sklearn.base import clone

    def says(training: npt.NDArray[np.bool_], judged: IntArray) -> FloatArray:
        half = len(rows[0])
        x, y = data.pair.x[rows[0][training[:half]]], data.pair.y[rows[1][training[half:]]]
        points = np.concatenate(
            [data.pair.x[rows[0][judged[judged < half]]], data.pair.y[rows[1][judged[judged >= half] - half]]]
        )
        fitted = clone(model)
        if fitted.random_state is None:
            fitted.random_state = data.seed
        with messages.collect_warnings():
            if not _takes_pairs(fitted):
                return np.asarray(fitted.fit(x, y).predict(points))
            x_sample, y_sample = ArraySample(np.asfortranarray(x)), ArraySample(np.asfortranarray(y))
            part = Pair.of(x_sample, y_sample, data.pair.names, data.pair.levels)
            return np.asarray(fitted.fit_pair(part).difference_at(points))

    return says


def _result(
    data: Prepared,
    rows: tuple[IntArray, IntArray],
    table: Table,
    judged: Judged,
    found: Separated,
    pvalue: float,
    level: float,
    notes: list[str],
    model: Any,
) -> TotalVariationResult:
    return TotalVariationResult(
        **_shown(table, judged.values, found, rows),
        interval=found.bounds(pvalue, level),
        level=level,
        witness=judged.usual,
        pvalue=pvalue,
        sigma=None,
        lam=None,
        solver="witnesses" if model is None else type(model).__name__,
        n_centers=None,
        n_x=len(data.checked.x),
        n_y=len(data.checked.y),
        seed=data.seed,
        tuning=f"{table.n_folds} folds, each judged by a witness of the others",
        warnings=tuple(notes),
    )


def _shown(table: Table, values: FloatArray, found: Separated, rows: tuple[IntArray, IntArray]) -> dict[str, Any]:
    """The fields of a result that tell of a witness, from what it says of every row, (N,)."""
    parts = values[table.in_x], values[~table.in_x]
    typical = [
        tuple(map(int, own[np.argsort(-sign * part, kind="stable")[:_TYPICAL]]))
        for own, part, sign in zip(rows, parts, (1, -1), strict=True)
    ]
    return {
        "value": found.value,
        "raw": found.raw,
        "separated_interval": found.interval,
        "share_x": found.share_x,
        "share_y": found.share_y,
        "typical_x": typical[0],
        "typical_y": typical[1],
        "judged_x": parts[0],
        "judged_y": parts[1],
    }


def _user_numbers(data: Prepared, rows: tuple[IntArray, IntArray]) -> tuple[IntArray, IntArray]:
    """Numbers of rows in the samples as they came, where each distinct row stands for its copies."""
    if data.pair is data.checked:
        return rows
    x, y = (selection.first_of_equal(sample[:]) for sample in (data.checked.x, data.checked.y))
    return x[rows[0]], y[rows[1]]
