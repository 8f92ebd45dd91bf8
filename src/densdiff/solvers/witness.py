"""Cross-fitted witnesses: functions of a row, positive where they say X, that never saw the row they judge (E18).

For every fold the witness is chosen among many by what it separates in the other folds, and then learned from all of
them: single columns, their sum, two normal densities, the pair of columns whose dependence changed most, f of all
columns. Columns of numbers are normal scores of their pooled ranks; labels of held-out rows are never looked at.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from densdiff.core import gaussian_witness
from densdiff.core.column_witness import LevelWitness, NumberWitness, Votes, grid_size, normal_scores
from densdiff.core.gaussian_witness import FoldMoments
from densdiff.core.scaling import FloatArray
from densdiff.core.separation import share_called_x
from densdiff.progress import tell
from densdiff.solvers.curve import FoldCurves, pooled_sigmas
from densdiff.solvers.drawn_rows import Rows

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]

_FEW_VALUES, _ROWS_A_VALUE = 50, 20  # numbers with so few distinct values are levels
_SCORES = 1 << 19  # of columns that are judged at once
_FEWEST = 5  # training rows of a sample, for witnesses of several columns
_JOINT_ROWS = 1000  # of each sample, of whose folds f of all columns is made
_VALIDATED_ROWS = 1500  # of each sample in two folds, on which f of all columns is compared with the other witnesses
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
    def columns(self) -> list[tuple[IntArray, NumberWitness | LevelWitness]]:
        """Witnesses of single columns with the numbers of theirs: of numbers with grids of one size together."""
        folds = self.omega, self.groups, self.n_folds
        found: list[tuple[IntArray, NumberWitness | LevelWitness]] = []
        by_size = defaultdict[int, list[int]](list)
        d, at_once = self.scores.shape[1], max(1, _SCORES // len(self.folds))
        few = min(_FEW_VALUES, len(self.folds) // _ROWS_A_VALUE)
        for j, column in enumerate(self.scores.T):
            if len(np.unique(column[: 2 * few + 1])) > few or len(np.unique(column)) > few:
                by_size[grid_size(column)].append(j)
            else:
                places = np.unique(column, return_inverse=True)[1]
                found.append((np.array([j]), LevelWitness(places, *folds)))
        some_alike = [each[i : i + at_once] for each in by_size.values() for i in range(0, len(each), at_once)]
        found += [(np.array(some), NumberWitness(self.scores[:, some], *folds)) for some in some_alike]
        return found + [(np.array([d + j]), LevelWitness(codes, *folds)) for j, codes in enumerate(self.codes.T)]

    @cached_property
    def moments(self) -> list[FoldMoments]:
        """Moments of the scores of X and of Y, by fold."""
        samples = (self.in_x, ~self.in_x)
        return [FoldMoments(self.scores[own], self.omega[own], self.folds[own], self.n_folds) for own in samples]

    @cached_property
    def joint(self) -> FoldCurves:
        """f of all columns by fold, from some of the rows, evenly spaced in each fold of each sample."""
        groups = [np.flatnonzero(self.groups == g) for g in range(2 * self.n_folds)]
        counts = [min(len(own), _JOINT_ROWS // self.n_folds) for own in groups]
        spaced = [np.arange(count) * len(own) // max(count, 1) for count, own in zip(counts, groups, strict=True)]
        drawn = np.concatenate([own[places] for own, places in zip(groups, spaced, strict=True)])
        rows = Rows(
            numbers=self.scores[drawn],
            codes=self.codes[drawn].astype(np.float64),
            omega=self.omega[drawn],
            groups=self.groups[drawn],
            n_groups=self.n_folds,
            levels=self.levels,
            spacings=np.zeros(self.scores.shape[1]),
        )
        return FoldCurves(rows, pooled_sigmas(self.scores, 2 * _JOINT_ROWS))

    def with_single_columns(self) -> "Table":
        """The same table with what single columns have learned, without the much larger rest."""
        found = replace(self)
        if "columns" in self.__dict__:
            found.__dict__["columns"] = self.columns
        return found

    @property
    def groups(self) -> IntArray:
        """The folds of X's rows from 0, those of Y's from ``n_folds``, (N,)."""
        return np.where(self.in_x, self.folds, self.folds + self.n_folds)

    def votes(self, is_used: BoolArray, rows: IntArray, wanted: IntArray) -> Votes:
        """What some columns, in their order, learned from the folds that are used (K,), say of rows, (c, k)."""
        votes = Votes(*np.empty((2, len(wanted), len(rows))))
        for numbers, witness in self.columns:
            places, own = np.isin(wanted, numbers), np.flatnonzero(np.isin(numbers, wanted))
            if len(own):
                votes.f[places], votes.log_ratio[places] = witness.votes(is_used, rows, own)
        return votes


@dataclass(frozen=True)
class Judged:
    """What cross-fitted witnesses say of every row, and which they were."""

    values: FloatArray  # (N,) of the fold's witness, by rank within its fold from -1 to 1, with its sign
    witnesses: tuple[str, ...]  # of the folds

    @property
    def usual(self) -> str:
        """The witness of most folds."""
        return Counter(self.witnesses).most_common(1)[0][0]


def judge(table: Table, shares_rows: bool = True) -> Judged:
    """Every row by a witness of the other folds; by one of a single column if columns do not share their rows."""
    inner: list[dict[str, list[float]]] = [{} for _ in range(table.n_folds)]
    # of two folds, none is left to learn from
    pairs = list(combinations(range(table.n_folds), 2)) if table.n_folds > 2 else []
    for k, j in tell("judging rows", pairs, len(pairs)):
        are_neighbours = j - k in (1, table.n_folds - 1)
        rows = np.flatnonzero((table.folds == k) | (table.folds == j))
        found = _witnesses(table, (k, j), rows, joint=False)
        if not shares_rows:
            found = {name: values for name, values in found.items() if name.startswith("column ")}
            are_neighbours = False
        _validate(inner, table, (k, j), rows, found)
        if are_neighbours:
            samples = rows[table.in_x[rows]], rows[~table.in_x[rows]]
            # f of all columns costs much more than the others
            some = np.concatenate([part[:: -(-len(part) // _VALIDATED_ROWS) or 1] for part in samples])
            _validate(inner, table, (k, j), some, _joint_witness(table, (k, j), some))
    values, names = np.zeros(len(table.folds)), []
    unchosen = SUM if len(table.names) > 1 and shares_rows else f"column {table.names[0]!r}"
    for k in range(table.n_folds):
        means = {name: float(np.mean(found)) for name, found in inner[k].items()}
        best = max(means, key=lambda name: means[name], default=unchosen)
        rows = np.flatnonzero(table.folds == k)
        values[rows] = _within_fold(_witnesses(table, (k,), rows, joint=best == ALL, only=best)[best])
        names.append(best)
    return Judged(values, tuple(names))


def _validate(
    inner: list[dict[str, list[float]]],
    table: Table,
    folds: tuple[int, int],
    rows: IntArray,
    found: dict[str, FloatArray],
) -> None:
    """Add what witnesses that saw neither fold separate in one of them to what is known for the other."""
    if not found:
        return
    values = np.array(list(found.values()))
    for outer, validated in (folds, folds[::-1]):
        chosen = table.folds[rows] == validated
        for name, value in zip(found, separated(values[:, chosen], table, rows[chosen]), strict=True):
            inner[outer].setdefault(name, []).append(float(value))


def judge_columns(table: Table) -> list[FloatArray]:
    """f of every column, from the other folds, at every row: (N,) for each column."""
    every = np.arange(len(table.names))
    found = np.zeros((len(every), len(table.folds)))
    for k in range(table.n_folds):
        rows, is_used = np.flatnonzero(table.folds == k), np.arange(table.n_folds) != k
        found[:, rows] = table.votes(is_used, rows, every).f
    return list(found)


def judge_by(says: Callable[[BoolArray, IntArray], FloatArray], table: Table) -> Judged:
    """Every row by one kind of witness: ``says`` learns it from training rows (N,) and asks it of others by number."""
    values = np.zeros(len(table.folds))
    for k in range(table.n_folds):
        rows = np.flatnonzero(table.folds == k)
        values[rows] = _within_fold(says(table.folds != k, rows))
    return Judged(values, (ALL,) * table.n_folds)


def separated(values: FloatArray, table: Table, rows: IntArray) -> FloatArray:
    """Share of X's rows that witnesses call X by their values (.., k), less that of Y's; 0 counts half."""
    in_x, omega = table.in_x[rows], table.omega[rows]
    return share_called_x(values[..., in_x], omega[in_x]) - share_called_x(values[..., ~in_x], omega[~in_x])


def _within_fold(values: FloatArray) -> FloatArray:
    """Values by their rank among all of a fold, with their sign: folds have witnesses of different units."""
    depth = np.argsort(np.argsort(np.abs(values))) + 1.0
    return np.asarray(np.sign(values) * depth / len(values))


def _witnesses(
    table: Table, held: tuple[int, ...], rows: IntArray, joint: bool, only: str | None = None
) -> dict[str, FloatArray]:
    """What witnesses learned without the held folds say of some rows, by name."""
    is_used = ~np.isin(np.arange(table.n_folds), held)
    labels = [f"column {name!r}" for name in table.names]
    wanted = [j for j, label in enumerate(labels) if only in (None, SUM, label)]
    votes = table.votes(is_used, rows, np.array(wanted, dtype=np.intp))
    found = {labels[j]: f for j, f in zip(wanted, votes.f, strict=True)}
    if len(table.names) > 1:
        found[SUM] = votes.log_ratio.sum(axis=0)
        is_training = ~np.isin(table.folds, held)
        if min(np.bincount(table.in_x[is_training], minlength=2)) >= _FEWEST:
            if only in (None, LINEAR, QUADRATIC, PAIR):
                found |= _normal_witnesses(table, is_used, rows)
            if joint:
                found |= _joint_witness(table, held, rows)
    return found


def _joint_witness(table: Table, held: tuple[int, ...], rows: IntArray) -> dict[str, FloatArray]:
    """What f of all columns, learned without the held folds, says of some rows; nothing where it cannot be learned."""
    is_training = ~np.isin(table.folds, held)
    if len(table.names) < 2 or min(np.bincount(table.in_x[is_training], minlength=2)) < _FEWEST:
        return {}
    points = np.hstack([table.scores[rows], table.codes[rows]])
    values, _ = table.joint.of(~np.isin(np.arange(table.n_folds), held)).values(points)
    return {ALL: values}


def _normal_witnesses(table: Table, is_used: BoolArray, rows: IntArray) -> dict[str, FloatArray]:
    """Likelihood ratios of normal densities of the columns of numbers, where there are two or more."""
    d = table.scores.shape[1]
    if d < 2:
        return {}
    x, y = (moments.of(is_used) for moments in table.moments)
    points, fewest = table.scores[rows], min(len(x.omega), len(y.omega))
    found = {LINEAR: gaussian_witness.linear_witness(x, y, points)}
    if fewest >= _ROWS_A_PARAMETER * d:
        found[QUADRATIC] = gaussian_witness.quadratic_witness(x, y, points)
    if d > 2 and fewest >= 2 * _ROWS_A_PARAMETER:
        pair = list(gaussian_witness.most_changed_pair(x, y))
        x, y = (moments.of_columns(is_used, pair) for moments in table.moments)
        found[PAIR] = gaussian_witness.quadratic_witness(x, y, points[:, pair])
    return found
