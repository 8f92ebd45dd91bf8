"""Samples, points, centers and weights: two tables as matrices with the same columns, and what is odd about them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.data.categories import Levels, coded, codes_of, is_category, missing_refused
from densdiff.data.parameters import label_codes
from densdiff.data.table import Table, floats, table_of
from densdiff.errors import InputError
from densdiff.messages import capped, listed, shown, warn

FloatArray = npt.NDArray[np.float64]
_TIE_ROWS = 10_000  # rows looked at for ties
_COPIES = "copies are not independent rows, so p-values and standard errors must not count them"
_HASH_ENTRIES = 5_000_000  # larger samples are not searched for copied rows


@dataclass(frozen=True)
class Pair:
    """Two samples ready for computation; ``varying`` is False where a column is one and the same constant."""

    x: FloatArray  # (n, d)
    y: FloatArray  # (m, d)
    weights_x: FloatArray  # (n,); a broadcast 1.0 without weights
    weights_y: FloatArray  # (m,)
    names: tuple[str, ...]
    notes: tuple[str, ...]
    varying: npt.NDArray[np.bool_]  # (d,)
    copies: int = 1
    levels: tuple[Levels, ...] = ()  # (d,) of columns of codes, None for numbers; empty if all are numbers


def pair(X: Any, Y: Any, weights_x: Any = None, weights_y: Any = None, *, categories: bool = False) -> Pair:
    """Two samples as float64 matrices with the same named columns; notes and warnings go along as text.

    With ``categories``, columns of text, categories and booleans become codes of their levels; else they are refused.

    Examples
    --------
    >>> both = pair([[0.0, 1.0], [2.0, 3.0]], [[4, 5], [6, 8], [9, 7]])
    >>> both.x.shape, both.y.shape, both.names
    ((2, 2), (3, 2), ('x0', 'x1'))
    """
    notes: list[str] = []
    names, table_x, table_y = matched(table_of(X, "X"), table_of(Y, "Y"), notes)
    levels: tuple[Levels, ...] = ()
    if categories:
        names, (table_x, table_y), levels = coded([table_x, table_y], names, notes)
    return paired(names, table_x, table_y, levels if any(levels) else (), notes, weights_x, weights_y)


def paired(
    names: tuple[str, ...],
    table_x: Table,
    table_y: Table,
    levels: tuple[Levels, ...],
    notes: list[str],
    weights_x: Any = None,
    weights_y: Any = None,
    ties: bool = True,
) -> Pair:
    """Two tables of the same columns as a pair; ``ties`` asks for notes on tied values."""
    for table in (table_x, table_y):
        if table.shape[0] < 2:
            rows = "1 row" if table.shape[0] else "0 rows"
            raise InputError(f"{table.where} has {rows}; each sample needs at least 2 rows")
    x, y = floats(table_x, names, notes, table_y), floats(table_y, names, notes, table_x)
    (x, w_x), (y, w_y) = _weighted(x, weights_x, "X", "weights_x"), _weighted(y, weights_y, "Y", "weights_y")
    (n, d), m = x.shape, len(y)
    if d > n + m:
        shapes = f"{table_x.where} {x.shape}, {table_y.where} {y.shape}"
        warn(f"{d} columns but only {n} + {m} rows ({shapes}): are rows and columns swapped?", notes)
    copies = _copies(x, y, notes, (table_x.where, table_y.where), levels)
    varying = np.array([_varies(x[:, j], y[:, j]) for j in range(d)])
    notes += tie_notes(x, y, names, copies, levels) if ties else []
    return Pair(x, y, w_x, w_y, names, tuple(notes), varying, copies, levels)


def check_sample(data: Any, where: str) -> tuple[FloatArray, tuple[str, ...], list[str]]:
    """One sample as a float64 matrix (n, d), the names of its columns, and notes."""
    notes: list[str] = []
    table = table_of(data, where)
    names = table.names or _numbered(len(table.columns))
    return floats(table, names, notes), names, notes


def check_points(
    data: Any, names: tuple[str, ...], where: str = "points", levels: tuple[Levels, ...] = ()
) -> FloatArray:
    """Points (k, d) at which a fitted model is asked: frames matched by name, arrays by position."""
    return _located(data, names, where, [], levels)


def check_centers(value: Any, names: tuple[str, ...], levels: tuple[Levels, ...] = ()) -> FloatArray:
    """Centers (b, d) given by the user, in the user's units: the rules of `check_points`, at least one row."""
    found = _located(value, names, "centers", [], levels)
    if not len(found):
        raise InputError("centers has 0 rows; give at least 1 center, or None to draw them from the samples")
    return found


def matched(x: Table, y: Table, notes: list[str]) -> tuple[tuple[str, ...], Table, Table]:
    """Both tables with the same columns in X's order: by name if both have names, else by position."""
    # two Series are compared because the user picked them, whatever their names are
    if x.names and y.names and not len(x.shape) == len(y.shape) == 1:
        of_y = set(y.names)
        common = [name for name in x.names if name in of_y]
        both = set(common)
        only = [(t.where, [name for name in t.names or () if name not in both]) for t in (x, y)]
        if not common:
            sides = "; ".join(f"{where} has {listed(names)}" for where, names in only)
            both_of = f"{x.where} and {y.where}"
            raise InputError(f"{both_of} have no column in common: {sides}; rename the columns to match")
        if any(names for _, names in only):
            sides = ", ".join(f"{listed(names)} only in {where}" for where, names in only if names)
            warn(f"columns left out: {sides}; compared: {listed(common)}", notes)
        return tuple(common), x.select(common), y.select(common)
    if len(x.columns) != len(y.columns):
        shapes = f"{x.where} has shape {x.shape} and {y.where} has shape {y.shape}"
        raise InputError(f"{shapes}; both need the same number of columns")
    if x.names and y.names and x.names != y.names:
        notes.append(f"{shown(x.names[0])} of {x.where} is compared with {shown(y.names[0])} of {y.where}")
    return x.names or y.names or _numbered(len(x.columns)), x, y


def _located(
    data: Any,
    names: tuple[str, ...],
    where: str,
    notes: list[str],
    levels: tuple[Levels, ...] = (),
    known: bool = True,
) -> FloatArray:
    """Rows in the columns of a fitted model; unless all levels must be ``known``, another one has the code -1."""
    table = table_of(data, where)
    d = len(names)
    unnamed = names == _numbered(d) and not set(names) & set(table.names or ())  # fitted on arrays
    if table.names and len(table.shape) == 2 and not unnamed:
        if lacking := [name for name in names if name not in table.names]:
            raise InputError(f"{where} lacks columns of the fit: {listed(lacking)}; add or rename them")
        left_out([name for name in table.names if name not in names], where, notes)
        table = table.select(names)
    elif len(table.columns) != d:
        hint = f"; for one row pass shape (1, {d})" if table.shape == (d,) else ""
        needed = f"{d} columns are" if d > 1 else "1 column is"
        raise InputError(f"{where} has shape {table.shape}, but {needed} needed{hint}")
    if any(levels):
        table = _known(table, names, levels) if known else _perhaps_known(table, names, levels, notes)
    return floats(table, names, notes)


def left_out(extra: Sequence[str], where: str, notes: list[str]) -> None:
    """Warn of columns that a fitted model does not look at."""
    if extra:
        warn(f"columns of {where} left out because the fit did not use them: {listed(extra)}", notes)


def _known(table: Table, names: tuple[str, ...], levels: tuple[Levels, ...]) -> Table:
    """The table with codes for the levels of a fitted model; another level is refused."""
    columns = list(table.columns)
    for j, (name, of) in enumerate(zip(names, levels, strict=True)):
        if of is None:
            continue
        codes = codes_of(columns[j].values, of)
        if np.isnan(codes).any():
            row = int(np.isnan(codes).argmax())
            got = f"{shown(columns[j].values[row])} at row {row}"
            raise InputError(f"column {shown(name)} of {table.where} holds {got}; the fit knows {listed(of)}")
        columns[j] = replace(columns[j], values=codes, kind="numbers")
    return replace(table, columns=columns)


def _perhaps_known(table: Table, names: tuple[str, ...], levels: tuple[Levels, ...], notes: list[str]) -> Table:
    """The same where another level is no obstacle: it has the code -1 and is warned of."""
    columns = list(table.columns)
    for j, (name, of) in enumerate(zip(names, levels, strict=True)):
        if of is None:
            continue
        label, values = f"column {shown(name)} of {table.where}", columns[j].values
        missing_refused(columns[j], label)
        if not is_category([columns[j]]):
            got = f"{columns[j].kind} (in X: categories), first {shown(values[columns[j].row])} at row {columns[j].row}"
            raise InputError(f"{label} holds {got}; the fit knows {listed(of)}")
        codes = codes_of(values, of)
        if (unseen := np.isnan(codes)).any():
            others = listed(sorted({str(value) for value in values[unseen].tolist()}))
            rows = f"{unseen.sum()} of {len(codes)} rows"
            warn(f"{label} holds {others} in {rows}, which the fit never saw; those rows have no level there", notes)
        columns[j] = replace(columns[j], values=np.where(unseen, -1.0, codes), kind="numbers")
    return replace(table, columns=columns)


def _weighted(sample: FloatArray, weights: Any, where: str, name: str) -> tuple[FloatArray, FloatArray]:
    """The rows of positive weight and their weights."""
    if weights is None:
        return sample, np.broadcast_to(1.0, len(sample))
    found = row_weights(weights, len(sample), where, name)
    kept = found > 0
    return (sample, found) if kept.all() else (np.asfortranarray(sample[kept]), found[kept])


def row_weights(weights: Any, n: int, where: str, name: str) -> FloatArray:
    """One weight for each of n rows, none negative, at least two positive and none of them all there is, (n,)."""
    table = table_of(weights, name)
    if len(table.shape) != 1:
        raise InputError(f"{name} has shape {table.shape}; pass it 1-D, one weight for each row of {where}")
    if table.shape[0] != n:
        raise InputError(f"{name} has {table.shape[0]} weights, but {where} has {n} rows")
    found = floats(table, ("",), [])[:, 0]
    if (found < 0).any():
        row = np.flatnonzero(found < 0)[0]
        raise InputError(f"{name} must not be negative; got {found[row]} at row {row}")
    kept = found > 0
    if kept.sum() < 2:
        raise InputError(f"{name} needs at least 2 positive weights; got {kept.sum()}")
    if found[kept].min() < 1e-300 or found.max() > 1e300 / len(found):
        span = f"{found[kept].min()} to {found.max()}"
        raise InputError(f"{name} runs from {span}, too wide for float64; divide by the largest weight first")
    if found.max() >= (1 - 1e-12) * found.sum():
        raise InputError(f"row {found.argmax()} has all but 1e-12 of {name}: that leaves a single row; even them out")
    return found


def _varies(x: FloatArray, y: FloatArray) -> bool:
    """Whether a column holds more than one value; a look at the ends settles it for almost all."""
    ends_equal = x[0] == x[-1] == y[0] == y[-1]
    return not (ends_equal and bool((x == x[0]).all()) and bool((y == x[0]).all()))


def _copies(
    x: FloatArray, y: FloatArray, notes: list[str], where: tuple[str, str], levels: tuple[Levels, ...] = ()
) -> int:
    """How often each row occurs if all occur equally often, else 1; notes it if X and Y are the same rows."""
    same = np.array_equal(x, y)
    copies = 1
    # the first row settles most cases: it must occur again for either question to arise
    again = (x[1:, 0] == x[0, 0]).any() or (len(x) == len(y) and (y[:, 0] == x[0, 0]).any())
    if again and x.size + y.size <= _HASH_ENTRIES:
        hash_x, hash_y = _row_hashes(x), _row_hashes(y)
        same = np.array_equal(hash_x, hash_y)
        times = [np.unique(hashes, return_counts=True)[1] for hashes in (hash_x, hash_y)]
        # few distinct rows are tied data, such as integers 0 to 3, and may well occur equally often; so may categories
        few = min(map(len, times)) < 10 or _only_categories(levels)
        if not few and min(map(np.min, times)) == max(map(np.max, times)):
            copies = int(times[0][0])
    if same:
        notes.append(f"{where[0]} and {where[1]} hold the same rows: is a sample compared with itself?")
    if copies > 1:
        warn(f"every row occurs {copies} times and counts once: {_COPIES}", notes)
    return copies


def _only_categories(levels: tuple[Levels, ...]) -> bool:
    """Whether equal rows are ordinary: no column of numbers tells rows apart."""
    return bool(levels) and None not in levels


def _row_hashes(sample: FloatArray) -> npt.NDArray[np.uint64]:
    """One 64-bit number per row, sorted; each step is invertible, so one column never collides."""
    words = (sample + 0.0).view(np.uint64)  # (n, d); adding 0.0 makes -0.0 equal to 0.0
    found = np.zeros(len(words), dtype=np.uint64)
    for j in range(words.shape[1]):
        found = (found ^ words[:, j]) * np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(32)
    return np.sort(found)


def tie_notes(
    x: FloatArray,
    y: FloatArray,
    names: Sequence[str],
    copies: int,
    levels: tuple[Levels, ...],
    still: npt.NDArray[np.bool_] | None = None,
) -> list[str]:
    """Notes on constant and heavily tied columns of numbers, which have no density.

    ``still`` says which columns are constant in each sample, where x and y are only some of the rows.
    """
    constants, ties = [], []
    advice = "read the normalized distance first"
    step = -(-(len(x) + len(y)) // _TIE_ROWS)
    part = np.concatenate([x[::step], y[::step]])
    for j, name in enumerate(names):
        if levels and levels[j] is not None and len(levels[j] or ()) > 1:
            continue
        ordered = np.sort(part[:, j])
        distinct = 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
        tied = 2 * copies * distinct < len(part)  # copies of whole rows are warned of once, not per column
        label, a, b = f"column {shown(name)}", x[0, j], y[0, j]
        constant = distinct <= 2 and (x[:, j] == a).all() and (y[:, j] == b).all()
        if constant and (still is None or still[j]):
            if a == b:
                constants.append(f"{label} is constant and equal in both samples; it contributes nothing")
            else:
                masses = "point masses have no density"
                ties.append(f"{label} is {a} in all of X and {b} in all of Y; {masses}: {advice}")
        elif tied:
            why = "tied values have no density, so the squared distance depends on sigma"
            ties.append(f"{label}: {distinct} distinct values in {len(part)} rows; {why}: {advice}")
    return capped(constants, "columns are constant and equal") + capped(ties, "columns are heavily tied")


def _numbered(d: int) -> tuple[str, ...]:
    return tuple(f"x{j}" for j in range(d))


@dataclass(frozen=True)
class LabelledRows:
    """Rows of positive weight with the number of their class; ``classes`` are the sorted labels of all rows given."""

    rows: FloatArray  # (n, d)
    codes: npt.NDArray[np.intp]  # (n,)
    weights: FloatArray  # (n,)
    classes: npt.NDArray[Any]  # (K,)
    names: tuple[str, ...]
    notes: tuple[str, ...]
    levels: tuple[Levels, ...] = ()  # (d,) of columns of codes, None for numbers; empty if all are numbers


def check_labelled(X: Any, y: Any, sample_weight: Any = None, *, categories: bool = False) -> LabelledRows:
    """A table and its labels, at least two classes among them; categories are treated as in `pair`.

    Examples
    --------
    >>> both = check_labelled([[0.0], [1.0], [2.0]], ["b", "a", "b"])
    >>> both.classes.tolist(), both.codes.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    notes: list[str] = []
    table = table_of(X, "X")
    if not table.shape[0]:
        raise InputError(f"X has 0 rows (shape {table.shape}); labelled rows are needed")
    if y is None:
        raise InputError("y is None; one label for each row of X is needed")
    classes, codes = label_codes(y, "y")
    if len(codes) != table.shape[0]:
        raise InputError(f"y has {len(codes)} labels, but X has {table.shape[0]} rows")
    if 2 * len(classes) > len(codes) and classes.dtype.kind == "f" and (classes != np.round(classes)).any():
        example = shown(classes[classes != np.round(classes)][0])
        text = f"Unknown label type: y holds {len(classes)} distinct numbers in {len(codes)} rows, {example} among them"
        raise InputError(f"{text}; classes are wanted: whole numbers or strings")
    if len(classes) < 2:
        raise InputError(f"y holds 1 class, {shown(classes[0])}; at least 2 are needed")
    names = table.names or _numbered(len(table.columns))
    levels: tuple[Levels, ...] = ()
    if categories:
        names, (table,), levels = coded([table], names, notes)
    rows = floats(table, names, notes)
    weights = np.ones(len(rows))
    if sample_weight is not None:
        weights = row_weights(sample_weight, len(rows), "X", "sample_weight")
    kept = weights > 0
    if not _only_categories(levels):
        kept[kept] = _first_copies(rows[kept], codes[kept], "X", notes)
    known = levels if any(levels) else ()
    return LabelledRows(rows[kept], codes[kept], weights[kept], classes, names, tuple(notes), known)


def check_new_rows(data: Any, names: tuple[str, ...], notes: list[str], levels: tuple[Levels, ...] = ()) -> FloatArray:
    """Unlabelled rows (m, d) in the columns of a fitted model, at least two; what is odd about them goes to notes.

    Levels the fit never saw have the code -1.
    """
    found = _located(data, names, "X_new", notes, levels, known=False)
    if len(found) < 2:
        raise InputError(f"X_new has {len(found)} row{'s' * (not len(found))}; at least 2 are needed")
    if _only_categories(levels):
        return found
    return found[_first_copies(found, np.zeros(len(found), dtype=np.intp), "X_new", notes)]


def _first_copies(rows: FloatArray, codes: npt.NDArray[np.intp], where: str, notes: list[str]) -> npt.NDArray[np.bool_]:
    """All rows, or the first of each if all occur equally often: copies are no new observations, (n,)."""
    everything = np.ones(len(rows), dtype=bool)
    if len(rows) < 2 or rows.size > _HASH_ENTRIES or not (rows[1:, 0] == rows[0, 0]).any():
        return everything
    _, first, counts = np.unique(np.column_stack([rows, codes]), axis=0, return_index=True, return_counts=True)
    if counts.min() == 1 or counts.min() != counts.max() or len(counts) < 10:
        return everything
    warn(f"every row of {where} occurs {counts[0]} times and counts once: {_COPIES}", notes)
    everything[:] = False
    everything[first] = True
    return everything
