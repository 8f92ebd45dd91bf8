"""The search for rules that hold more often in one sample than in the other; `regions` tests them on other rows.

A rule is judged by z, its difference of shares in deviations, and by its gain: z^2 / 2 less the logarithm of the number
of rules that could have been said as shortly.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from math import comb, inf, log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from densdiff.core.rules import BoolArray, Condition, IntArray, Rule, leaves_overlap, shortest_between, strata_of
from densdiff.core.scaling import FloatArray

_LONGEST = 3  # conditions of a rule
_BINS = 64
_COARSE = np.array([0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95])  # cuts tried in all pairs of columns
_COARSE_LEVELS = 10
_MANY, _COARSER, _COARSER_LEVELS = 40, np.array([0.2, 0.5, 0.8]), 4  # the same of more columns than these
_SINGLES, _PAIRS = 5, 10  # columns, and pairs of columns, that rules begin with
_GROWN = 4  # of these, how many are tried with a further condition
_SET = 8  # levels of a set, or levels left out of it, at most
_CHOICES = 30.0  # what a threshold costs: the logarithm of this, or of the number of cuts and sides if smaller
_EARNS, _EARNS_MORE = 1.1, 0.75  # a condition or a bound must raise z by this factor and by as much
_SHORT, _LONG = 2, 3.0  # parts of a rule, bounds or levels, beyond which each costs as much more
_LEAST_ROWS, _LEAST_SHARE = 10, 0.01
_LARGEST = 0.6  # share of rows
_LEAST_Z = 3.0
_SWEEPS = 2
_LEFT = 0.25  # share of rows outside all rules below which the search ends
_COLUMNS = 128  # searched: those that differ most by themselves
_ROUNDING = 1e-9

_Draft = dict[int, BoolArray]  # column -> which of its bins are meant; bins of numbers are a run
_Key = tuple[tuple[int, bytes], ...]  # of a draft


def search_rules(rows: FloatArray, in_b: BoolArray, n_levels: IntArray, most: int) -> list[Rule]:
    """Rules one after another, each the best one given those before; at most `most`."""
    if rows.shape[1] > _COLUMNS:
        subset = _most_different(rows, in_b, n_levels)
        subset_rules = search_rules(rows[:, subset], in_b, n_levels[subset], most)
        return [
            tuple(replace(condition, column=int(subset[condition.column])) for condition in rule)
            for rule in subset_rules
        ]
    rules: list[Rule] = []
    free = np.arange(rows.shape[1])  # a column that differs by itself is named once
    table = _Table.of(rows, in_b, n_levels)
    while len(rules) < most and len(free):
        told = [rule for rule in rules if leaves_overlap(rule, rows, in_b)]
        draft = _Search(table, *strata_of(told, rows)).best()
        if draft is None:
            break
        rule = _rule_from_draft(draft, table, rows[:, free])
        rules.append(tuple(replace(condition, column=int(free[condition.column])) for condition in rule))
        if len(rule) == 1:
            free, table = np.delete(free, rule[0].column), table.without(rule[0].column)
    return rules


def _most_different(rows: FloatArray, in_b: BoolArray, n_levels: IntArray) -> IntArray:
    gains = []
    for j in range(rows.shape[1]):
        table = _Table.of(rows[:, [j]], in_b, n_levels[[j]])
        gains.append(_Search(table, np.zeros(len(rows), dtype=np.intp)).scan({}, 0)[0])
    return np.sort(np.argsort(-np.array(gains), kind="stable")[:_COLUMNS])


@dataclass(frozen=True)
class _Table:
    """Rows as bins: numbers between quantiles, or a bin for each value if there are few; levels as they are."""

    codes: IntArray  # (d, n)
    cuts: list[FloatArray | None]  # upper ends of all bins but the last; None for categories
    sizes: IntArray  # (d,) bins
    in_b: BoolArray
    marks: npt.NDArray[np.float32]  # (q, n) simple conditions, 0 or 1
    marked: list[tuple[int, BoolArray]]  # their columns and bins

    @classmethod
    def of(cls, rows: FloatArray, in_b: BoolArray, n_levels: IntArray) -> "_Table":
        n, d = rows.shape
        coarse, most = (_COARSE, _COARSE_LEVELS) if d <= _MANY else (_COARSER, _COARSER_LEVELS)
        codes, cuts, sizes = np.empty((d, n), dtype=np.intp), [], np.empty(d, dtype=np.intp)
        marked: list[tuple[int, BoolArray]] = []
        for j in range(d):
            cut = None if n_levels[j] else _cuts(rows[:, j])
            codes[j] = rows[:, j] if cut is None else np.searchsorted(cut, rows[:, j])
            cuts.append(cut)
            sizes[j] = n_levels[j] if cut is None else len(cut) + 1
            bins, counts = np.arange(sizes[j]), np.bincount(codes[j], minlength=sizes[j])
            if cut is None:
                frequent = np.argsort(-counts, kind="stable")[:most]
                marked += [(j, bins == level) for level in frequent if 0 < counts[level] < n]
            else:
                starts = 1 + np.searchsorted(np.cumsum(counts)[:-1], n * coarse)
                marked += [(j, bins >= start) for start in np.unique(starts[starts < sizes[j]])]
        marks = np.empty((len(marked), n), dtype=np.float32)
        for mark, (j, member) in zip(marks, marked, strict=True):
            mark[:] = member[codes[j]]
        return cls(codes, cuts, sizes, in_b, marks, marked)

    def without(self, column: int) -> "_Table":
        """The table of the other columns."""
        kept = [k for k, (j, _) in enumerate(self.marked) if j != column]
        marked = [(j - (j > column), member) for j, member in (self.marked[k] for k in kept)]
        cuts = [cut for j, cut in enumerate(self.cuts) if j != column]
        codes, sizes = np.delete(self.codes, column, axis=0), np.delete(self.sizes, column)
        return _Table(codes, cuts, sizes, self.in_b, self.marks[kept], marked)

    def cost(self, column: int, member: BoolArray) -> float:
        size, count = int(self.sizes[column]), int(member.sum())
        if self.cuts[column] is None:
            return _set_cost(size, count)
        return (2 - int(member[0]) - int(member[-1])) * log(min(2.0 * (size - 1), _CHOICES))

    def length(self, column: int, member: BoolArray) -> int:
        """How many bounds or levels a condition names."""
        if self.cuts[column] is None:
            return min(int(member.sum()), int((~member).sum()))
        return 2 - int(member[0]) - int(member[-1])

    def rows_of(self, draft: _Draft) -> BoolArray:
        held = np.ones(len(self.in_b), dtype=bool)
        for column, member in draft.items():
            held &= member[self.codes[column]]
        return held


def _set_cost(size: int, count: int) -> float:
    return log(comb(size, count)) + log(2) * (2 * count > size)  # "not" is a word more


def _cuts(x: FloatArray) -> FloatArray:
    values = np.unique(x)
    if len(values) <= _BINS:
        return values[:-1]
    middle = np.sort(x)[len(x) * np.arange(1, _BINS) // _BINS - 1]
    return np.unique(middle[middle < values[-1]])


class _Search:
    """The search for the best rule within strata.

    It begins with the best condition of each column and with the best two of each pair of columns, chooses each
    condition anew given the others, adds a further one while the gain grows, and leaves out what does not pay. Rows
    that earlier rules treat alike are a stratum, and z compares within strata (Mantel and Haenszel): what an earlier
    rule implies has z = 0, while a difference in other columns keeps all of its rows.
    """

    def __init__(self, table: _Table, stratum: IntArray, outside: BoolArray | None = None) -> None:
        if outside is None:
            outside = np.arange(int(stratum.max()) + 1) == 0
        self.stratum, self.outside = _merge_one_sided(stratum, outside, table.in_b)  # (n,); of earlier rules, (S,)
        self.table = table
        strata = len(self.outside)
        self.group = 2 * self.stratum + table.in_b  # (n,)
        margins = np.bincount(self.group, minlength=2 * strata).reshape(strata, 2).astype(np.float64)
        self.total = margins.sum(axis=1)  # (S,)
        self.share_b = margins[:, 1] / np.maximum(self.total, 1.0)
        spread = self.share_b * (1 - self.share_b) / np.maximum(self.total - 1, 1.0)
        self.spread = spread  # times r (N - r): the hypergeometric variance
        self.n, self.n_outside = float(self.total.sum()), float(self.total[self.outside].sum())
        self.least = np.maximum(_LEAST_ROWS, _LEAST_SHARE * margins.sum(axis=0))  # (2,) rows of A and of B
        self.columns = len(table.sizes)
        self._known_z: dict[_Key, float] = {}  # drafts come up several times
        self._scanned: dict[tuple[_Key, int], tuple[float, BoolArray]] = {}

    def best(self) -> _Draft | None:
        if self.n_outside < _LEFT * self.n:
            return None
        singles = [(j, self.scan({}, j)) for j in range(self.columns)]
        starts: list[_Draft] = [
            {j: member} for j, (gain, member) in sorted(singles, key=lambda s: -s[1][0])[:_SINGLES] if gain > -inf
        ]
        starts += self._pairs()
        adjusted = {_draft_key(draft): (draft, gain) for draft, gain in map(self._adjust, starts)}
        first = sorted(adjusted.values(), key=lambda a: -a[1])[:_GROWN]
        grown = [self._simplify(self._grow(draft, gain)) for draft, gain in first]
        return max((draft for draft in grown if abs(self._z(draft)) >= _LEAST_Z), key=self._gain, default=None)

    def _z(self, draft: _Draft) -> float:
        key = _draft_key(draft)
        if key not in self._known_z:
            self._known_z[key] = self._count_z(draft)
        return self._known_z[key]

    def _count_z(self, draft: _Draft) -> float:
        held = self.group[self.table.rows_of(draft)]
        counts = np.bincount(held, minlength=2 * len(self.total)).reshape(-1, 2, 1).astype(np.float64)
        return float(self._deviations(self._tally(counts))[0])

    def _gain(self, draft: _Draft) -> float:
        z = self._z(draft)
        return z * z / 2 - self._cost(draft) if z else -inf

    def _cost(self, draft: _Draft) -> float:
        lengths = [self.table.length(j, member) for j, member in draft.items()]
        costs = [self.table.cost(j, member) for j, member in draft.items()]
        return log(comb(self.columns, len(draft))) + sum(costs) + _LONG * max(0, sum(lengths) - _SHORT)

    def _tally(self, counts: FloatArray) -> "_Tally":
        """What z of rules needs of their counts, (S, 2, k)."""
        held, samples = counts.sum(axis=1), counts.sum(axis=0)
        variance = self.spread @ (held * (self.total[:, None] - held))
        return _Tally(samples, held[self.outside].sum(axis=0), samples[1] - self.share_b @ held, variance)

    def _tally_of_runs(self, counts: FloatArray, first: IntArray, last: IntArray) -> "_Tally":
        """The tally of runs of bins, from the counts of bins (S, 2, size): differences of what lies below their ends.

        The variance is quadratic in these, so one product of matrices tells it of all pairs of ends.
        """
        held, samples = _below(counts.sum(axis=1)), _below(counts.sum(axis=0))
        outside, excess = held[self.outside].sum(axis=0), samples[1] - self.share_b @ held
        linear, products = (self.spread * self.total) @ held, held.T @ (self.spread[:, None] * held)
        squares = linear - np.diag(products)
        variance = squares[last] - linear[first] - products[first, first] + 2.0 * products[first, last]
        return _Tally(
            samples[:, last] - samples[:, first], outside[last] - outside[first], excess[last] - excess[first], variance
        )

    def _deviations(self, tally: "_Tally") -> FloatArray:
        """z of rules; 0 where a rule is too small or says what is said already."""
        enough = (tally.samples >= self.least[:, None]).any(axis=0)
        enough &= self._new(tally.outside, tally.samples.sum(axis=0))
        return _ratio(tally.excess, tally.variance, enough)

    def _new(self, outside: FloatArray, rows: FloatArray) -> BoolArray:
        """Which rules have at most about half of the rows, and at least half the usual share outside earlier rules."""
        is_new: BoolArray = (rows <= _LARGEST * self.n) & (2 * self.n * outside >= self.n_outside * rows)
        return is_new

    def scan(self, draft: _Draft, column: int) -> tuple[float, BoolArray]:
        """The bins of a column that, with the draft's other columns as they are, gain most; and that gain."""
        others = {j: member for j, member in draft.items() if j != column}
        key = _draft_key(others), column
        if key not in self._scanned:
            self._scanned[key] = self._scan_rows(others, np.flatnonzero(self.table.rows_of(others)), column)
        return self._scanned[key]

    def _scan_rows(self, others: _Draft, held: IntArray, column: int) -> tuple[float, BoolArray]:
        """`scan` for the rows that the other columns hold."""
        table, size = self.table, int(self.table.sizes[column])
        length = sum(table.length(j, member) for j, member in others.items())
        index = self.group[held] * size + table.codes[column][held]
        counts = np.bincount(index, minlength=2 * len(self.total) * size).reshape(-1, 2, size).astype(np.float64)
        if size < 2:
            return -inf, np.ones(size, dtype=bool)
        options = self._level_sets(counts) if table.cuts[column] is None else self._runs(counts)
        best_gain, best = -inf, np.ones(size, dtype=bool)
        for choices in options:
            z = self._deviations(choices.tally)
            costs = choices.costs + _LONG * np.maximum(0, length + choices.lengths - _SHORT)
            share = choices.tally.samples.sum(axis=0) / self.n  # of two sides that say the same, the smaller
            gains = np.where(z == 0, -inf, z**2 / 2 - costs - 1e-6 * share)
            k = int(gains.argmax()) if len(gains) else -1
            if k >= 0 and gains[k] > best_gain:
                best_gain, best = float(gains[k]), choices.member(k)
        return best_gain, best

    def _runs(self, counts: FloatArray) -> Iterator["_Choices"]:
        size = counts.shape[2]
        first, last = _run_ends(size)
        bounds = (first > 0).astype(np.intp) + (last < size)
        costs = bounds * log(min(2.0 * (size - 1), _CHOICES))
        bins = np.arange(size)
        tally = self._tally_of_runs(counts, first, last)
        yield _Choices(tally, costs, bounds, lambda k: (bins >= first[k]) & (bins < last[k]))

    def _level_sets(self, counts: FloatArray) -> Iterator["_Choices"]:
        size = counts.shape[2]
        levels = self._tally(counts)
        yield _Choices(levels, np.full(size, log(size)), np.ones(size, dtype=np.intp), lambda k: np.arange(size) == k)
        if size == 2:
            return
        order = np.argsort(-_ratio(levels.excess, levels.variance, np.ones(size, dtype=bool)), kind="stable")
        total, most = counts.sum(axis=2, keepdims=True), min(_SET, size - 1)
        for line in (order, order[::-1]):
            sums = np.cumsum(counts[:, :, line[:most]], axis=2)
            number = np.arange(1, most + 1)
            costs = np.array([_set_cost(size, int(s)) for s in number])
            yield _Choices(self._tally(sums), costs, number, partial(_first_levels, line, number))
            rest = number[size - number > _SET]  # levels left out of a set that is longer
            costs = np.array([_set_cost(size, int(size - s)) for s in rest])
            others, chosen = total - sums[:, :, rest - 1], partial(_first_levels, line[::-1], size - rest)
            yield _Choices(self._tally(others), costs, rest, chosen)

    def _pairs(self) -> list[_Draft]:
        """The best two simple conditions, or their opposites, of each pair of columns; for the pairs that gain most.

        Columns are not judged by themselves: two columns may change together while each stays.
        """
        marked = self.table.marked
        column = np.array([j for j, _ in marked], dtype=np.intp)
        edges = np.flatnonzero(np.diff(column, prepend=-1))
        if len(edges) < 2:
            return []
        cost = np.array([self.table.cost(j, member) for j, member in marked])
        gains, kinds = np.full((len(column), len(column)), -inf), np.zeros((len(column), len(column)), dtype=np.intp)
        for kind, (excess, variance, rows, outside) in enumerate(self._products()):
            enough = (column[:, None] < column) & (rows >= self.least.min()) & self._new(outside, rows)
            z = _ratio(excess, variance, enough)
            gain = np.where(z == 0, -inf, z**2 / 2 - cost[:, None] - cost)
            kinds[gain > gains] = kind
            gains = np.maximum(gains, gain)
        best = np.maximum.reduceat(np.maximum.reduceat(gains, edges, axis=0), edges, axis=1)
        drafts: list[_Draft] = []
        for a, b in np.argwhere(best > -inf)[np.argsort(-best[best > -inf], kind="stable")[:_PAIRS]]:
            first, second = np.argwhere((gains == best[a, b]) & (column[:, None] == column[edges[a]]))[0]
            signs = divmod(int(kinds[first, second]), 2)  # 1 for "not"
            drafts.append({marked[i][0]: marked[i][1] != sign for i, sign in zip((first, second), signs, strict=True)})
        return drafts

    def _products(self) -> Iterator[tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
        """Excess, its variance, rows, and rows outside earlier rules, (q, q) each: of both conditions, of the first
        without the second, of the second without the first, of neither.

        In a stratum of N rows, of which r fulfil both and R and C each, the variances r (N - r), (R - r) (N - R + r) ..
        are quadratic in r, R and C: sums over strata of their products tell all four.
        """
        marks = self.table.marks
        weights = (self.table.in_b - self.share_b[self.stratum]).astype(np.float32)
        excess = ((marks * weights) @ marks.T).astype(np.float64)
        rows, outside = _both(marks), _both(marks[:, self.outside[self.stratum]])
        r_n, r_r, r_first, first_second = self._strata_sums()
        r_second, own = r_first.T, np.diag(r_n) - np.diag(first_second)  # the variance of one condition, (q,)
        alone, count, out = np.diag(excess), np.diag(rows), np.diag(outside)
        yield excess, r_n - r_r, rows, outside
        first = own[:, None] + 2.0 * r_first - r_n - r_r
        yield alone[:, None] - excess, first, count[:, None] - rows, out[:, None] - outside
        yield alone - excess, own + 2.0 * r_second - r_n - r_r, count - rows, out - outside
        rows, outside = self.n - count[:, None] - count + rows, self.n_outside - out[:, None] - out + outside
        yield excess - alone[:, None] - alone, first + own + 2.0 * (r_second - first_second), rows, outside

    def _strata_sums(self) -> FloatArray:
        """Sums over strata, weighted by their spread, of r N, r^2, r R and R C, (4, q, q), as in `_products`."""
        marks = self.table.marks[:, np.argsort(self.stratum, kind="stable")]
        ends = np.cumsum(self.total).astype(np.intp)
        sums = np.zeros((4, len(marks), len(marks)))
        for s in np.flatnonzero(self.spread):
            both = _both(marks[:, ends[s] - int(self.total[s]) : ends[s]])
            alone = np.diag(both)
            sums[0] += (self.spread[s] * self.total[s]) * both
            sums[1] += self.spread[s] * np.square(both)
            sums[2] += (self.spread[s] * alone)[:, None] * both
            sums[3] += np.multiply.outer(self.spread[s] * alone, alone)
        return sums

    def _grow(self, draft: _Draft, gain: float) -> _Draft:
        """Further conditions added while the gain grows."""
        while len(draft) < min(_LONGEST, self.columns):
            held = np.flatnonzero(self.table.rows_of(draft))
            others = [(self._scan_rows(draft, held, j), j) for j in range(self.columns) if j not in draft]
            (scanned, member), j = max(others, key=lambda o: o[0][0])
            if scanned == -inf:
                break
            longer, longer_gain = self._adjust({**draft, j: member})
            if longer_gain <= gain:
                break
            draft, gain = longer, longer_gain
        return draft

    def _adjust(self, draft: _Draft) -> tuple[_Draft, float]:
        """Each condition chosen anew given the others, in turns; and the gain."""
        gain = self._gain(draft)
        for _ in range(_SWEEPS):
            before = gain
            for j in draft:
                other = {**draft, j: self.scan(draft, j)[1]}
                other_gain = self._gain(other)
                if other_gain > gain:
                    draft, gain = other, other_gain
            if gain == before:
                break
        return draft, gain

    def _simplify(self, draft: _Draft) -> _Draft:
        """Without the conditions and bounds that do not pay."""
        while draft:
            z = abs(self._z(draft))
            shorter = [
                other for other in self._shorter(draft) if abs(self._z(other)) > min(z / _EARNS, z - _EARNS_MORE)
            ]
            if not shorter:
                break
            draft = max(shorter, key=self._gain)
        return draft

    def _shorter(self, draft: _Draft) -> Iterator[_Draft]:
        for j, member in draft.items():
            if len(draft) > 1:
                yield {i: other for i, other in draft.items() if i != j}
            if self.table.cuts[j] is not None and not member[0] and not member[-1]:
                inside = np.flatnonzero(member)
                bins = np.arange(len(member))
                yield {**draft, j: bins >= inside[0]}
                yield {**draft, j: bins <= inside[-1]}


def _merge_one_sided(stratum: IntArray, outside: BoolArray, in_b: BoolArray) -> tuple[IntArray, BoolArray]:
    """Strata with those of one sample's rows put together, four at most by sample and ``outside``; others as they are.

    Nothing can differ within strata of one sample: they add neither to the excess of a rule nor to its variance.
    """
    margins = np.bincount(2 * stratum + in_b, minlength=2 * len(outside)).reshape(-1, 2) > 0
    kind = np.where(margins.all(axis=1), 4 + np.arange(len(outside)), 2 * outside + margins[:, 1])
    _, first, place = np.unique(kind, return_index=True, return_inverse=True)
    return place.reshape(-1)[stratum], outside[first]


def _both(marks: npt.NDArray[np.float32]) -> FloatArray:
    """Rows that have both of two marks, (q, q), of marks (q, n); whole numbers, exact up to 2^24."""
    return (marks @ marks.T).astype(np.float64)


def _below(counts: FloatArray) -> FloatArray:
    """Sums of the counts before each bin, and of all, (k, size + 1)."""
    below = np.zeros((len(counts), counts.shape[1] + 1))
    np.cumsum(counts, axis=1, out=below[:, 1:])
    return below


def _first_levels(line: IntArray, number: IntArray, k: int) -> BoolArray:
    member = np.zeros(len(line), dtype=bool)
    member[line[: number[k]]] = True
    return member


@cache
def _run_ends(size: int) -> tuple[IntArray, IntArray]:
    """First bin and the one after the last: all runs from either end, others between every second bin if many."""
    step = 1 if size <= _BINS // 2 else 2
    first, last = (1 + step * ends for ends in np.triu_indices((size - 2) // step + 1, 1))
    inner = np.arange(1, size)
    ends = np.zeros(size - 1, dtype=np.intp)
    return np.concatenate([ends, inner, first]), np.concatenate([inner, ends + size, last])


class _Tally(NamedTuple):
    """Of k rules: rows of A and of B, rows outside earlier rules, rows of B beyond the expected, and their variance."""

    samples: FloatArray  # (2, k)
    outside: FloatArray  # (k,)
    excess: FloatArray  # (k,)
    variance: FloatArray  # (k,)


@dataclass(frozen=True)
class _Choices:
    """Choices of bins of one column: their tally, their costs, and which bins the k-th one means."""

    tally: _Tally
    costs: FloatArray  # (k,)
    lengths: IntArray  # (k,) bounds or levels to name
    member: Callable[[int], BoolArray]


def _draft_key(draft: _Draft) -> _Key:
    return tuple((j, member.tobytes()) for j, member in sorted(draft.items()))


def _ratio(excess: FloatArray, variance: FloatArray, enough: BoolArray) -> FloatArray:
    enough = enough & (variance > _ROUNDING)
    return np.where(enough, excess / np.sqrt(np.where(enough, variance, 1.0)), 0.0)


def _rule_from_draft(draft: _Draft, table: _Table, rows: FloatArray) -> Rule:
    """The draft with thresholds of few digits, which may move a twentieth of its rows."""
    n = len(rows)
    slack = min(n // 200, int(table.rows_of(draft).sum()) // 20)
    conditions = []
    for j, member in sorted(draft.items()):
        cut, inside = table.cuts[j], np.flatnonzero(member)
        if cut is None:
            conditions.append(Condition(j, levels=tuple(inside.tolist())))
            continue
        values = np.sort(rows[:, j])
        ends = [inside[0] - 1, inside[-1]]  # the bins whose upper ends bound the run
        low, high = (_threshold(values, cut[end], slack) if 0 <= end < len(cut) else None for end in ends)
        conditions.append(Condition(j, -inf if low is None else low, inf if high is None else high))
    return tuple(conditions)


def _threshold(values: FloatArray, cut: float, slack: int) -> float:
    """A short decimal that parts the sorted values like ``x <= cut``, up to `slack` of them."""
    place = int(np.searchsorted(values, cut, side="right"))
    low, high = values[max(place - 1 - slack, 0)], values[min(place + slack, len(values) - 1)]
    return shortest_between(float(low), float(high), float(cut))
