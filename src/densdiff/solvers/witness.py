"""Cross-fitted witnesses: functions of a row, positive where they say X, that never saw the row they judge (E18).

For every fold the witness is chosen among many by what it separates in the other folds, and then learned from all of
them: single columns, their sum, two normal densities, the pair of columns whose dependence changed most, f of all
columns. Columns of numbers are normal scores of their pooled ranks; labels of held-out rows are never looked at.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from densdiff.core import gaussian_witness
from densdiff.core.column_witness import ColumnWitness, LevelWitness, NumberWitness, normal_scores
from densdiff.core.scaling import FloatArray
from densdiff.core.separation import share_called_x
from densdiff.solvers.curve import PairCurve
from densdiff.solvers.drawn_rows import Rows

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]

_FEW_VALUES, _ROWS_A_VALUE = 50, 20  # numbers with so few distinct values are levels
_FEWEST = 5  # training rows of a sample, for witnesses of several columns
_TRAINING_ROWS = 800  # of each sample, of which f of all columns is made
_ROWS_A_PARAMETER = 2.0  # of the smaller training sample, for a covariance of its own
ALL, SUM, LINEAR, QUADRATIC, PAIR = "all columns", "sum over columns", "linear", "quadratic", "pair"


@dataclass(frozen=True)
class Table:
    """Rows of both samples as witnesses see them, X's first, with folds."""

    scores: FloatArray  # (N, d) normal scores of the columns of numbers
    codes: IntArray  # (N, c)
    levels: IntArray  # (c,)
    omega: FloatArray  # (N,) summing to 1 in each sample
    in_x: BoolArray  # (N,)
    folds: IntArray  # (N,)
    n_folds: int
    names: tuple[str, ...]  # of the columns, numbers first

    @classmethod
    def of(
        cls,
        numbers: FloatArray,
        codes: IntArray,
        levels: IntArray,
        omega: FloatArray,
        in_x: BoolArray,
        folds: IntArray,
        names: tuple[str, ...],
    ) -> "Table":
        """The table of plain rows."""
        columns = [normal_scores(column) for column in numbers.T]
        scores = np.column_stack(columns) if columns else np.empty((len(codes), 0))
        return cls(scores, codes, levels, omega, in_x, folds, int(folds.max()) + 1, names)

    @cached_property
    def columns(self) -> list[ColumnWitness]:
        """A witness for every column."""
        groups = self.folds + np.where(self.in_x, 0, self.n_folds)
        found: list[ColumnWitness] = []
        for column in self.scores.T:
            distinct, places = np.unique(column, return_inverse=True)
            if len(distinct) <= min(_FEW_VALUES, len(column) // _ROWS_A_VALUE):
                found.append(LevelWitness(places, self.omega, groups, self.n_folds))
            else:
                found.append(NumberWitness(column, self.omega, groups, self.n_folds))
        return found + [LevelWitness(column, self.omega, groups, self.n_folds) for column in self.codes.T]


@dataclass(frozen=True)
class Judged:
    """What cross-fitted witnesses say of every row, and which they were."""

    values: FloatArray  # (N,) of the fold's witness, by rank within its fold from -1 to 1, with its sign
    witnesses: tuple[str, ...]  # of the folds

    @property
    def usual(self) -> str:
        """The witness of most folds."""
        return Counter(self.witnesses).most_common(1)[0][0]


def judge(table: Table) -> Judged:
    """Every row by a witness of the other folds."""
    inner: list[dict[str, list[float]]] = [{} for _ in range(table.n_folds)]
    # of two folds, none is left to learn from
    for k, j in combinations(range(table.n_folds), 2) if table.n_folds > 2 else ():
        are_neighbours = j - k in (1, table.n_folds - 1)
        rows = np.flatnonzero((table.folds == k) | (table.folds == j))
        for name, values in _witnesses(table, (k, j), rows, joint=are_neighbours).items():
            for outer, validated in ((k, j), (j, k)):
                chosen = table.folds[rows] == validated
                inner[outer].setdefault(name, []).append(separated(values[chosen], table, rows[chosen]))
    values, names = np.zeros(len(table.folds)), []
    unchosen = SUM if len(table.names) > 1 else f"column {table.names[0]!r}"
    for k in range(table.n_folds):
        means = {name: float(np.mean(found)) for name, found in inner[k].items()}
        best = max(means, key=lambda name: means[name], default=unchosen)
        rows = np.flatnonzero(table.folds == k)
        values[rows] = _within_fold(_witnesses(table, (k,), rows, joint=best == ALL, only=best)[best])
        names.append(best)
    return Judged(values, tuple(names))


def judge_columns(table: Table) -> list[FloatArray]:
    """f of every column, from the other folds, at every row: (N,) for each column."""
    found = [np.zeros(len(table.folds)) for _ in table.columns]
    for k in range(table.n_folds):
        rows, is_used = np.flatnonzero(table.folds == k), np.arange(table.n_folds) != k
        for values, column in zip(found, table.columns, strict=True):
            values[rows] = column.votes(is_used, rows).f
    return found


def judge_by(says: Callable[[BoolArray, IntArray], FloatArray], table: Table) -> Judged:
    """Every row by one kind of witness: ``says`` learns it from training rows (N,) and asks it of others by number."""
    values = np.zeros(len(table.folds))
    for k in range(table.n_folds):
        rows = np.flatnonzero(table.folds == k)
        values[rows] = _within_fold(says(table.folds != k, rows))
    return Judged(values, (ALL,) * table.n_folds)


def separated(values: FloatArray, table: Table, rows: IntArray) -> float:
    """Share of X's rows that a witness calls X less that of Y's; 0 counts half."""
    in_x, omega = table.in_x[rows], table.omega[rows]
    return share_called_x(values[in_x], omega[in_x]) - share_called_x(values[~in_x], omega[~in_x])


def _within_fold(values: FloatArray) -> FloatArray:
    """Values by their rank among all of a fold, with their sign: folds have witnesses of different units."""
    depth = np.argsort(np.argsort(np.abs(values))) + 1.0
    return np.asarray(np.sign(values) * depth / len(values))


def _witnesses(
    table: Table, held: tuple[int, ...], rows: IntArray, joint: bool, only: str | None = None
) -> dict[str, FloatArray]:
    """What witnesses learned without the held folds say of some rows, by name."""
    is_used = ~np.isin(np.arange(table.n_folds), held)
    found: dict[str, FloatArray] = {}
    total = np.zeros(len(rows))
    for name, column in zip(table.names, table.columns, strict=True):
        label = f"column {name!r}"
        if only in (None, SUM, label):
            votes = column.votes(is_used, rows)
            found[label] = votes.f
            total += votes.log_ratio
    if len(table.names) > 1:
        found[SUM] = total
        is_training = ~np.isin(table.folds, held)
        if min(np.bincount(table.in_x[is_training], minlength=2)) >= _FEWEST:
            if only in (None, LINEAR, QUADRATIC, PAIR):
                found |= _normal_witnesses(table, is_training, rows)
            found |= {ALL: _joint_witness(table, is_training, rows)} if joint else {}
    return found


def _normal_witnesses(table: Table, is_training: BoolArray, rows: IntArray) -> dict[str, FloatArray]:
    """Likelihood ratios of normal densities of the columns of numbers, where there are two or more."""
    d = table.scores.shape[1]
    if d < 2:
        return {}
    chosen = [is_training & in_sample for in_sample in (table.in_x, ~table.in_x)]
    x, y = (table.scores[each] for each in chosen)
    omega = table.omega[chosen[0]], table.omega[chosen[1]]
    points = table.scores[rows]
    found = {LINEAR: gaussian_witness.linear_witness(x, y, omega, points)}
    if min(len(x), len(y)) >= _ROWS_A_PARAMETER * d:
        found[QUADRATIC] = gaussian_witness.quadratic_witness(x, y, omega, points)
    if d > 2 and min(len(x), len(y)) >= 2 * _ROWS_A_PARAMETER:
        pair = list(gaussian_witness.most_changed_pair(x, y))
        found[PAIR] = gaussian_witness.quadratic_witness(x[:, pair], y[:, pair], omega, points[:, pair])
    return found


def _joint_witness(table: Table, is_training: BoolArray, rows: IntArray) -> FloatArray:
    """f of all columns from some of the training rows."""
    chosen = []
    for in_sample in (table.in_x, ~table.in_x):
        own = np.flatnonzero(is_training & in_sample)
        chosen.append(own[:: -(-len(own) // _TRAINING_ROWS)])
    training = np.concatenate(chosen)
    omega = table.omega[training]
    samples = np.repeat([0, 1], [len(chosen[0]), len(chosen[1])])
    omega = omega / np.bincount(samples, omega)[samples]
    curve = PairCurve(
        Rows(
            numbers=table.scores[training],
            codes=table.codes[training].astype(np.float64),
            omega=omega,
            groups=samples.astype(np.intp),
            n_groups=1,
            levels=table.levels,
            spacings=np.zeros(table.scores.shape[1]),
        )
    )
    values, _ = curve.values(np.hstack([table.scores[rows], table.codes[rows]]))
    return values
