"""The only validation and coercion of user input: samples, points, weights, parameters and seeds.

Arrays, lists and data frames become float64 matrices with column names, or an InputError that says what came,
where it is and what to do. Frame libraries are reached through narwhals alone; nothing is estimated here.
"""

import datetime
import difflib
import math
import numbers
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from narwhals.exceptions import DuplicateError

from densdiff.errors import DensDiffWarning, InputError

FloatArray = npt.NDArray[np.float64]
_EXACT = 2**53  # float64 holds every integer up to here
_SHOWN = 5  # names or notes of one sort listed before "and .. more"
_TIE_ROWS = 10_000  # rows looked at for ties
_HASH_ENTRIES = 5_000_000  # larger samples are not searched for copied rows
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
_KINDS: dict[str, tuple[Any, ...]] = {
    "text": (str, bytes),
    "complex numbers": (numbers.Complex,),
    "dates or durations": _DATES,
    "nested values": (list, tuple, dict, set, np.ndarray),
}
_NUMERIC = "LSDD takes numeric columns"
_ADVICE = {
    "complex numbers": "pass the real and the imaginary part as two columns",
    "dates or durations": "turn them into numbers first, such as seconds since a fixed day",
    "nested values": "give each entry a column of its own",
}


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


def pair(X: Any, Y: Any, weights_x: Any = None, weights_y: Any = None) -> Pair:
    """Two samples as float64 matrices with the same named columns; notes and warnings go along as text.

    Examples
    --------
    >>> both = pair([[0.0, 1.0], [2.0, 3.0]], [[4, 5], [6, 8], [9, 7]])
    >>> both.x.shape, both.y.shape, both.names
    ((2, 2), (3, 2), ('x0', 'x1'))
    """
    notes: list[str] = []
    names, table_x, table_y = _matched(_table(X, "X"), _table(Y, "Y"), notes)
    for table in (table_x, table_y):
        if table.shape[0] < 2:
            rows = "1 row" if table.shape[0] else "0 rows"
            raise InputError(f"{table.where} has {rows}; each sample needs at least 2 rows")
    x, y = _floats(table_x, names, notes, table_y), _floats(table_y, names, notes, table_x)
    x, w_x = _weighted(x, weights_x, "X")
    y, w_y = _weighted(y, weights_y, "Y")
    (n, d), m = x.shape, len(y)
    if d > n + m:
        shapes = f"X {x.shape}, Y {y.shape}"
        warn(f"{d} columns but only {n} + {m} rows ({shapes}): are rows and columns swapped?", notes)
    copies = _copies(x, y, notes)
    varying = np.array([_varies(x[:, j], y[:, j]) for j in range(d)])
    notes += _tie_notes(x, y, names, copies)
    return Pair(x, y, w_x, w_y, names, tuple(notes), varying, copies)


def points(data: Any, names: tuple[str, ...]) -> FloatArray:
    """Points (k, d) at which a fitted model is asked: frames matched by name, arrays by position."""
    return _located(data, names, "points")


def centers(value: Any, names: tuple[str, ...]) -> FloatArray:
    """Centers (b, d) given by the user, in the user's units: the rules of `points`, at least one row."""
    found = _located(value, names, "centers")
    if not len(found):
        raise InputError("centers has 0 rows; give at least 1 center, or None to draw them from the samples")
    return found


def positive_grid(value: Any, name: str) -> FloatArray | None:
    """None for "cv", otherwise the positive numbers to use or to search, 1-D."""
    need = f"{name} must be 'cv', a positive number or a 1-D sequence of them"
    if isinstance(value, str):
        if value == "cv":
            return None
        raise InputError(f"{need}; got {_hinted(value, ('cv',))}")
    try:
        grid = np.asarray(value)
    except ValueError:
        raise InputError(f"{need}; got {_came(value)}: {_uneven(value)}") from None
    if grid.dtype.kind not in "iuf":
        raise InputError(f"{need}; got {_came(value)}")
    if grid.ndim > 1 or not grid.size:
        raise InputError(f"{need}; got shape {grid.shape}")
    found = np.array(grid, dtype=np.float64, ndmin=1)
    bad = np.flatnonzero(~((found > 0) & np.isfinite(found)))
    if bad.size:
        place = f" at position {bad[0]}" if grid.ndim else ""
        raise InputError(f"{name} must be positive and finite; got {found[bad[0]]}{place}")
    return found


def whole(value: Any, name: str, minimum: int) -> int:
    """A whole number of at least ``minimum``; floats and booleans are refused."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or int(value) < minimum:
        raise InputError(f"{name} must be a whole number, at least {minimum}; got {_came(value)}")
    return int(value)


def fraction(value: Any, name: str) -> float:
    """A number strictly between 0 and 1."""
    number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan
    if not 0 < number < 1:
        hint = f" (did you mean {number / 100:g}?)" if 1 < number < 100 else ""
        raise InputError(f"{name} must lie strictly between 0 and 1; got {_came(value)}{hint}")
    return number


def choice(value: Any, name: str, options: tuple[str, ...]) -> str:
    """One of ``options``; a typo is answered with the nearest one."""
    if not isinstance(value, str) or value not in options:
        raise InputError(f"{name} must be one of {', '.join(map(repr, options))}; got {_hinted(value, options)}")
    return str(value)


def seed(random_state: Any) -> int:
    """The integer all randomness starts from: fresh for None, one draw from a generator."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**32, dtype=np.uint64))
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        return whole(random_state, "random_state", 0)
    came = _came(random_state)
    raise InputError(f"random_state must be None, a whole number from 0 or a NumPy generator; got {came}")


def estimator(value: Any, method: str) -> Any:
    """An estimator object that has ``fit`` and the method the question needs."""
    if isinstance(value, type):
        raise InputError(f"model must be an estimator object; got the class {value.__name__}, pass {value.__name__}()")
    if not callable(getattr(value, "fit", None)) or not callable(getattr(value, method, None)):
        raise InputError(f"model must have the methods fit and {method}, as LSDD() has; got {_came(value)}")
    return value


def warn(text: str, notes: list[str] | None = None) -> None:
    """Warn at the line of the first caller outside the library, and add the text to ``notes``."""
    if notes is not None:
        notes.append(text)
    level, frame = 1, sys._getframe()
    while f"{frame.f_globals.get('__name__')}.".startswith("densdiff.") and frame.f_back:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, DensDiffWarning, stacklevel=level)


@dataclass(frozen=True)
class _Column:
    values: npt.NDArray[Any]
    kind: str = "numbers"  # or what stands in the way, in words
    row: int = 0  # of the first value of that kind
    largest: int = 0  # magnitude of the largest integer


@dataclass(frozen=True)
class _Table:
    where: str
    shape: tuple[int, ...]
    columns: list[_Column]
    names: tuple[str, ...] | None = None

    def select(self, names: Sequence[str]) -> "_Table":
        place = {name: j for j, name in enumerate(self.names or ())}
        return replace(self, columns=[self.columns[place[name]] for name in names], names=tuple(names))


def _table(data: Any, where: str) -> _Table:
    """The input as columns that still hold what came; no value is judged before columns are matched."""
    raw: Any = ()
    try:
        frame = nw.from_native(data, allow_series=True, pass_through=True)
        raw = frame.columns if isinstance(frame, nw.DataFrame) else ()
    except DuplicateError:
        # narwhals wants unique names before one can ask it for them; in pyarrow `columns` holds the data
        raw = getattr(data, "column_names", None) or data.columns
    names = tuple(map(str, raw))
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise InputError(f"{where} has more than one column named {_listed(twice)}; rename or drop the others")
    if isinstance(frame, nw.LazyFrame) or type(data).__module__.startswith("dask."):
        raise InputError(f"{where} is lazy ({type(data).__name__}); collect it first (in Dask: compute)")
    if isinstance(frame, nw.Series):
        # an unnamed Series is None in pandas and "" elsewhere
        label = None if frame.name in (None, "") else (str(frame.name),)
        return _Table(where, (len(frame),), [_series(frame)], label)
    if isinstance(frame, nw.DataFrame):
        table = _Table(where, frame.shape, [_series(column) for column in frame.iter_columns()], names)
    else:
        array = _array(data, where)
        columns = array.T if array.ndim == 2 else array[None]
        table = _Table(where, array.shape, [_column(column) for column in columns])
    if not table.columns:
        raise InputError(f"{where} has no columns (shape {table.shape}); at least 1 is needed")
    return table


def _array(data: Any, where: str) -> npt.NDArray[Any]:
    """Anything that is no frame as a 1-D or 2-D array; masked entries become NaN or None."""
    if hasattr(data, "toarray") and hasattr(data, "nnz"):
        raise InputError(f"{where} is a sparse matrix of shape {data.shape}; pass {where}.toarray()")
    if hasattr(data, "column_names"):  # a RecordBatch would be read without its names
        raise InputError(f"{where} is a {type(data).__name__}; pass pyarrow.Table.from_batches([{where}])")
    if not isinstance(data, (list, tuple, range)) and not hasattr(data, "__array__"):
        raise InputError(f"{where} must be an array, a list of rows or a data frame; got {_came(data)}")
    try:
        array: Any = np.asanyarray(data)
        if isinstance(data, (list, tuple)) and (
            # NumPy turns [1, "a"] into text and [2**60 + 1, 0.5] into floats: keep what was really given
            array.dtype.kind in "US" or (array.dtype.kind == "f" and (np.abs(array) > _EXACT).any())
        ):
            array = np.asarray(data, dtype=object)
    except (ValueError, TypeError, RuntimeError) as error:
        raise InputError(f"{where} cannot be read as an array: {_uneven(data) or error}") from error
    if isinstance(array, np.ma.MaskedArray):
        numeric = array.dtype.kind in "biuf"
        if np.ma.getmaskarray(array).any():
            array = np.ma.filled(array.astype(float if numeric else object), np.nan if numeric else None)
        array = np.ma.getdata(array)
    if array.dtype.names:
        raise InputError(f"{where} is a structured array; pass a data frame, or a plain 2-D array")
    if array.ndim not in (1, 2):
        raise InputError(f"{where} has shape {array.shape}; pass rows by columns (2-D), or 1-D for one column")
    return np.asarray(array)


def _uneven(rows: Any) -> str:
    """Where a list of lists is ragged, or nothing."""
    rows = rows if isinstance(rows, (list, tuple)) else []
    sizes = [len(row) if isinstance(row, (list, tuple, np.ndarray)) else 1 for row in rows]
    odd = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
    if odd is None:
        return "it mixes single values and sequences" if rows else ""
    return f"rows differ in length, {sizes[0]} in row 0 and {sizes[odd]} in row {odd}"


def _series(series: Any) -> _Column:
    """A frame's column; the declared type decides first, because a polars struct reads as plain integers."""
    dtype = series.dtype
    if dtype in (nw.Int128, nw.UInt128):
        return _unpacked(np.array(series.to_list(), dtype=object))  # NumPy has no such type
    kind = ""
    if dtype.is_nested():
        kind = "nested values"
    elif dtype.is_temporal():
        kind = "dates or durations"
    elif dtype in (nw.Categorical, nw.Enum):
        kind = "categories"
    elif dtype in (nw.String, nw.Binary):
        kind = "text"
    return _column(series.to_numpy(), kind)


def _column(values: npt.NDArray[Any], kind: str = "") -> _Column:
    code = values.dtype.kind
    if not kind and code == "O":
        return _unpacked(values)
    if not kind and code in "biuf":
        wide = code in "iu" and values.dtype.itemsize == 8 and values.size
        return _Column(values, largest=max(int(values.max()), -int(values.min())) if wide else 0)
    kind = kind or {"c": "complex numbers", "M": "dates or durations", "m": "dates or durations"}.get(code, "text")
    row = next((i for i, value in enumerate(values) if not _absent(value)), None)
    return _Column(np.full(len(values), np.nan)) if row is None else _Column(values, kind, row)


def _unpacked(values: npt.NDArray[Any]) -> _Column:
    """Python objects as floats, unless one of them is no number."""
    found = np.full(len(values), np.nan)
    largest = 0
    for i, value in enumerate(values):
        if _absent(value):
            continue
        if not isinstance(value, (numbers.Real, Decimal, np.bool_)):
            kinds = (kind for kind, types in _KINDS.items() if isinstance(value, types))
            return _Column(values, next(kinds, f"{type(value).__name__} objects"), i)
        number: Any = value
        try:
            found[i] = float(number)
        except OverflowError:
            found[i] = math.inf if number > 0 else -math.inf
        if isinstance(value, numbers.Integral) and math.isfinite(found[i]):
            largest = max(largest, abs(int(value)))
    return _Column(found, largest=largest)


def _absent(value: Any) -> bool:
    if isinstance(value, (float, np.floating, np.datetime64, np.timedelta64)):
        return bool(value != value)
    if isinstance(value, Decimal):
        return value.is_nan()
    return value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant")


def _matched(x: _Table, y: _Table, notes: list[str]) -> tuple[tuple[str, ...], _Table, _Table]:
    """Both tables with the same columns in X's order: by name if both have names, else by position."""
    # two Series are compared because the user picked them, whatever their names are
    if x.names and y.names and not len(x.shape) == len(y.shape) == 1:
        of_y = set(y.names)
        common = [name for name in x.names if name in of_y]
        both = set(common)
        only = [(t.where, [name for name in t.names or () if name not in both]) for t in (x, y)]
        if not common:
            sides = "; ".join(f"{where} has {_listed(names)}" for where, names in only)
            raise InputError(f"X and Y have no column in common: {sides}; rename the columns to match")
        if any(names for _, names in only):
            sides = ", ".join(f"{_listed(names)} only in {where}" for where, names in only if names)
            warn(f"columns left out: {sides}; compared: {_listed(common)}", notes)
        return tuple(common), x.select(common), y.select(common)
    if len(x.columns) != len(y.columns):
        shapes = f"X has shape {x.shape} and Y has shape {y.shape}"
        raise InputError(f"{shapes}; both need the same number of columns")
    if x.names and y.names and x.names != y.names:
        notes.append(f"{_shown(x.names[0])} of X is compared with {_shown(y.names[0])} of Y")
    return x.names or y.names or _numbered(len(x.columns)), x, y


def _located(data: Any, names: tuple[str, ...], where: str) -> FloatArray:
    """Rows in the columns of a fitted model."""
    table = _table(data, where)
    d = len(names)
    unnamed = names == _numbered(d) and not set(names) & set(table.names or ())  # fitted on arrays
    if table.names and len(table.shape) == 2 and not unnamed:
        if lacking := [name for name in names if name not in table.names]:
            raise InputError(f"{where} lacks columns of the samples: {_listed(lacking)}; add or rename them")
        if extra := [name for name in table.names if name not in names]:
            warn(f"columns of {where} left out because the fit did not use them: {_listed(extra)}", [])
        table = table.select(names)
    elif len(table.columns) != d:
        hint = f"; for one point pass shape (1, {d})" if table.shape == (d,) else ""
        raise InputError(f"{where} has shape {table.shape}, but {d} columns are needed{hint}")
    return _floats(table, names, [])


def _floats(table: _Table, names: Sequence[str], notes: list[str], other: _Table | None = None) -> FloatArray:
    """The table as a finite float64 matrix of our own, columns contiguous, or the first obstacle as an error."""
    found = np.empty((table.shape[0], len(table.columns)), order="F")
    labels = [f"column {_shown(name)} of {table.where}" if name else table.where for name in names]
    for j, (column, label) in enumerate(zip(table.columns, labels, strict=True)):
        if column.kind != "numbers":
            mixed = other is not None and other.columns[j].kind != column.kind
            aside = f" (in {other.where}: {other.columns[j].kind})" if other and mixed else ""
            raise InputError(_refusal(column, label, aside))
        with np.errstate(over="ignore"):  # longdouble beyond float64 becomes inf and is named below
            found[:, j] = column.values
        if column.largest > _EXACT:
            text = f"integers up to {column.largest} are beyond 2**53, where float64 skips whole numbers"
            warn(f"precision lost in {label}: {text}; subtract an offset, or leave an identifier out", notes)
    if np.isfinite(found).all():
        return found
    for bad, what in ((np.isnan, "missing"), (np.isinf, "infinite")):
        if (counts := bad(found).sum(axis=0)).any():
            j = int(np.flatnonzero(counts)[0])
            row = int(np.flatnonzero(bad(found[:, j]))[0])
            raise InputError(_obstacle(labels[j], counts.tolist(), what, row, float(found[row, j])))
    return found


def _obstacle(label: str, counts: list[int], what: str, row: int, value: float) -> str:
    affected = [count for count in counts if count]
    one = affected[0] == 1
    found = f"{affected[0]} {what} value{'' if one else 's'}"
    first = f"{'' if one else 'first '}{f'{value} ' if what == 'infinite' else ''}at row {row}"
    more = f", and more in {len(affected) - 1} other column{'s' * (len(affected) > 2)}" if affected[1:] else ""
    cure = "drop or fill" if what == "missing" else "drop or correct"
    return f"{label}: {found}, {first}{more}; {cure} those rows first"


def _refusal(column: _Column, label: str, aside: str) -> str:
    """Why a column that holds no numbers cannot be used, and the way out."""
    values, kind = column.values, column.kind
    first = f"{_shown(values[column.row])} at row {column.row}"
    if kind in _ADVICE:
        return f"{label} holds {kind}{aside}, first {first}; {_ADVICE[kind]}"
    cast = "cast it to numbers (pandas: .astype(float), polars: .cast(float))"
    if kind not in ("text", "categories"):
        return f"{label} holds {kind}{aside}, first {first}; {_NUMERIC}: {cast} or leave it out"
    given = [i for i, value in enumerate(values) if not _absent(value)]
    words = [i for i in given if not _parses(values[i])]
    if not words:
        return f"{label} holds numbers stored as {kind}{aside}, first {first}; {_NUMERIC}: {cast}"
    if len(words) == len(given):
        return f"{label} holds {kind}{aside}, first {first}; {_NUMERIC}: encode it as numbers or leave it out"
    many = f" ({len(words)} of {len(given)} values are not)" if len(words) > 1 else ""
    first = f"{_shown(values[words[0]])} at row {words[0]} is not a number{many}"
    return f"{label} holds {kind}{aside}: {first}; {_NUMERIC}: replace such values, then {cast}"


def _parses(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _weighted(sample: FloatArray, weights: Any, where: str) -> tuple[FloatArray, FloatArray]:
    """The rows of positive weight and their weights."""
    if weights is None:
        return sample, np.broadcast_to(1.0, len(sample))
    name = f"weights_{where.lower()}"
    table = _table(weights, name)
    if len(table.shape) != 1:
        raise InputError(f"{name} has shape {table.shape}; pass it 1-D, one weight for each row of {where}")
    if table.shape[0] != len(sample):
        raise InputError(f"{name} has {table.shape[0]} weights, but {where} has {len(sample)} rows")
    found = _floats(table, ("",), [])[:, 0]
    if (found < 0).any():
        row = np.flatnonzero(found < 0)[0]
        raise InputError(f"{name} must not be negative; got {found[row]} at row {row}")
    kept = found > 0
    if kept.sum() < 2:
        raise InputError(f"{name} needs at least 2 positive weights; got {kept.sum()}")
    if found[kept].min() < 1e-300 or found.max() > 1e300 / len(found):
        span = f"{found[kept].min()} to {found.max()}"
        raise InputError(f"{name} runs from {span}, too wide for float64; divide by the largest weight first")
    return (sample, found) if kept.all() else (np.asfortranarray(sample[kept]), found[kept])


def _varies(x: FloatArray, y: FloatArray) -> bool:
    """Whether a column holds more than one value; a look at the ends settles it for almost all."""
    ends_equal = x[0] == x[-1] == y[0] == y[-1]
    return not (ends_equal and bool((x == x[0]).all()) and bool((y == x[0]).all()))


def _copies(x: FloatArray, y: FloatArray, notes: list[str]) -> int:
    """How often each row occurs if all occur equally often, else 1; notes it if X and Y are the same rows."""
    same = np.array_equal(x, y)
    copies = 1
    # the first row settles most cases: it must occur again for either question to arise
    again = (x[1:, 0] == x[0, 0]).any() or (len(x) == len(y) and (y[:, 0] == x[0, 0]).any())
    if again and x.size + y.size <= _HASH_ENTRIES:
        hash_x, hash_y = _row_hashes(x), _row_hashes(y)
        same = np.array_equal(hash_x, hash_y)
        times = [np.unique(hashes, return_counts=True)[1] for hashes in (hash_x, hash_y)]
        # few distinct rows are tied data, such as integers 0 to 3, and may well occur equally often
        if min(map(len, times)) >= 10 and min(map(np.min, times)) == max(map(np.max, times)):
            copies = int(times[0][0])
    if same:
        notes.append("X and Y hold the same rows: is a sample compared with itself?")
    if copies > 1:
        text = "standard errors and p-values assume independent rows: keep one of each if these are copies"
        warn(f"every row occurs {copies} times; {text}", notes)
    return copies


def _row_hashes(sample: FloatArray) -> npt.NDArray[np.uint64]:
    """One 64-bit number per row, sorted; each step is invertible, so one column never collides."""
    words = (sample + 0.0).view(np.uint64)  # (n, d); adding 0.0 makes -0.0 equal to 0.0
    found = np.zeros(len(words), dtype=np.uint64)
    for j in range(words.shape[1]):
        found = (found ^ words[:, j]) * np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(32)
    return np.sort(found)


def _tie_notes(x: FloatArray, y: FloatArray, names: Sequence[str], copies: int) -> list[str]:
    """Notes on constant and heavily tied columns, which have no density."""
    constants, ties = [], []
    advice = "read the normalized distance first"
    step = -(-(len(x) + len(y)) // _TIE_ROWS)
    part = np.concatenate([x[::step], y[::step]])
    for j, name in enumerate(names):
        ordered = np.sort(part[:, j])
        distinct = 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
        tied = 2 * copies * distinct < len(part)  # copies of whole rows are warned of once, not per column
        label, a, b = f"column {_shown(name)}", x[0, j], y[0, j]
        if distinct <= 2 and (x[:, j] == a).all() and (y[:, j] == b).all():
            if a == b:
                constants.append(f"{label} is constant and equal in both samples; it contributes nothing")
            else:
                masses = "point masses have no density"
                ties.append(f"{label} is {a} in all of X and {b} in all of Y; {masses}: {advice}")
        elif tied:
            why = "tied values have no density, so the squared distance depends on sigma"
            ties.append(f"{label}: {distinct} distinct values in {len(part)} rows; {why}: {advice}")
    return _capped(constants, "columns are constant and equal") + _capped(ties, "columns are heavily tied")


def _capped(notes: list[str], what: str) -> list[str]:
    rest = len(notes) - _SHOWN
    return notes if rest <= 0 else [*notes[:_SHOWN], f"{rest} more {what}"]


def _numbered(d: int) -> tuple[str, ...]:
    return tuple(f"x{j}" for j in range(d))


def _shown(value: Any) -> str:
    """A value as one harmless line: control and direction characters escaped, long ones cut."""
    value = value.item() if isinstance(value, np.generic) and not isinstance(value, _DATES) else value
    text = str(value) if isinstance(value, _DATES) else repr(value)
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return text if len(text) <= 80 else f"{text[:60]}..{text[-10:]}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(_shown, names[:_SHOWN])) + more


def _came(value: Any) -> str:
    plain = value is None or isinstance(value, (str, bytes, numbers.Number, np.generic))
    return _shown(value) if plain else f"an object of type {type(value).__name__}"


def _hinted(value: Any, options: Sequence[str]) -> str:
    near = difflib.get_close_matches(value.lower().strip(), options, n=1, cutoff=0.5) if isinstance(value, str) else []
    return _came(value) + (f" (did you mean {near[0]!r}?)" if near else "")
