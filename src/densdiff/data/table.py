"""Anything that holds columns, as columns of numbers or as the first thing that stands in the way.

Frame libraries are reached through narwhals alone.
"""

import datetime
import math
import numbers
import sys
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import repeat
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from narwhals.exceptions import DuplicateError

from densdiff.errors import InputError
from densdiff.io.arrow import array_of, decoded, marked_text, places_of, pyarrow
from densdiff.messages import describe_ragged, describe_value, listed, shown

FloatArray = npt.NDArray[np.float64]
EXACT = 2**53  # float64 holds every integer up to here
_KINDS: dict[str, tuple[Any, ...]] = {
    "text": (str, bytes, uuid.UUID),
    "complex numbers": (numbers.Complex,),
    "dates or durations": (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64),
    "nested values": (list, tuple, dict, set, np.ndarray),
}
_KINDS_BY_NAME = {"Period": "dates or durations"}  # of pandas, which is not imported for it
_NEARLY = 0.8  # of distinct texts


class Coded(NamedTuple):
    """Values by their places among distinct ones, which stand in the order in which they first occur."""

    places: npt.NDArray[np.signedinteger]  # (n,), -1 where a value is missing
    distinct: npt.NDArray[Any]  # (k + 1,) objects, the last one None

    @property
    def values(self) -> npt.NDArray[Any]:
        """The values themselves, (n,), None where one is missing."""
        return np.asarray(self.distinct[self.places])

    def filled(self, level: str) -> "Coded":
        """The same values with a level where one is missing."""
        places = np.where(self.places < 0, len(self.distinct) - 1, self.places)
        return Coded(places, _objects([*self.distinct[:-1], level, None]))


@dataclass(frozen=True)
class Column:
    """One column as it came, and what it holds; text by its distinct values, where Arrow has told them, takes less."""

    held: npt.NDArray[Any] | Coded
    kind: str = "numbers"  # "booleans" of a frame, or what stands in the way, in words
    row: int = 0  # of the first value of that kind
    largest: int = 0  # magnitude of the largest integer

    def __len__(self) -> int:
        return len(self.held.places if isinstance(self.held, Coded) else self.held)

    @property
    def values(self) -> npt.NDArray[Any]:
        """The values themselves, (n,)."""
        return self.held.values if isinstance(self.held, Coded) else self.held

    @property
    def coded(self) -> Coded | None:
        """The values by their distinct ones, if they are held so."""
        return self.held if isinstance(self.held, Coded) else None

    def at(self, row: int) -> Any:
        """One of the values."""
        return self.held.distinct[self.held.places[row]] if isinstance(self.held, Coded) else self.held[row]

    def floats(self) -> FloatArray:
        """The values as float64, not copied if they are."""
        values = self.values
        if values.dtype == np.float64:
            return values
        with np.errstate(over="ignore"):  # longdouble beyond float64 becomes inf
            return np.asarray(values, dtype=np.float64)


@dataclass(frozen=True)
class Table:
    """Columns of one length, with names if the input has them."""

    where: str
    shape: tuple[int, ...]
    columns: list[Column]
    names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return self.shape[0]

    def some(self, rows: Any) -> "Table":
        """Some of the rows, by an index."""
        columns = [replace(column, held=column.values[rows]) for column in self.columns]
        return replace(self, columns=columns, shape=(len(columns[0]), *self.shape[1:]))

    def select(self, names: Sequence[str]) -> "Table":
        """Some of the columns, by their names."""
        place = {name: j for j, name in enumerate(self.names or ())}
        return replace(self, columns=[self.columns[place[name]] for name in names], names=tuple(names))


def header_of(names: Sequence[str], where: str) -> Table:
    """A table without rows."""
    return Table(where, (0, len(names)), [Column(np.empty(0)) for _ in names], tuple(names))


def table_of(data: Any, where: str) -> Table:
    """The input as columns that still hold what came; no value is judged before columns are matched."""
    if isinstance(data, Table):
        return data if data.where == where else replace(data, where=where)
    if type(data) is np.ndarray and data.ndim == 2 and data.dtype == np.float64 and data.shape[1]:  # most of them
        return Table(where, data.shape, [Column(column) for column in data.T])
    if _is_record_batch(data):
        data = pyarrow().Table.from_batches([data])  # narwhals knows tables only
    raw: Any = ()
    try:
        frame = nw.from_native(data, allow_series=True, pass_through=True)
        raw = frame.columns if isinstance(frame, nw.DataFrame) else ()
    except DuplicateError:
        # narwhals wants unique names before one can ask it for them; in pyarrow `columns` holds the data
        raw = getattr(data, "column_names", None) or data.columns
    names = tuple(map(str, raw))
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise InputError(
            f"{where} has more than one column named {listed(twice)}; rename or drop the others", column=twice[0]
        )
    if isinstance(frame, nw.LazyFrame) or type(data).__module__.startswith("dask."):
        raise InputError(f"{where} is lazy ({type(data).__name__}); collect it first (in Dask: compute)")
    if isinstance(frame, nw.Series):
        # an unnamed Series is None in pandas and "" elsewhere
        label = None if frame.name in (None, "") else (str(frame.name),)
        return Table(where, (len(frame),), [_series_column(frame)], label)
    if isinstance(data, (list, tuple)) and data and _named_fields(data[0]) is not None:
        data = _columns_of_rows(data, where)
    if isinstance(data, Mapping):
        table = _table_of_mapping(data, where)
    elif isinstance(frame, nw.DataFrame):
        texts = marked_text(data) if hasattr(data, "column_names") and hasattr(data, "schema") else set()
        series = [_series_column(column, column.name in texts) for column in frame.iter_columns()]
        table = Table(where, frame.shape, series, names)
    else:
        array = _as_array(data, where)
        columns = array.T if array.ndim == 2 else array[None]
        table = Table(where, array.shape, [_array_column(column) for column in columns])
    if not table.columns:
        raise InputError(f"{where} has no columns (shape {table.shape}); at least 1 is needed")
    return table


def _is_record_batch(data: Any) -> bool:
    return type(data).__name__ == "RecordBatch" and type(data).__module__.startswith("pyarrow.")


def _named_fields(row: Any) -> Mapping[Any, Any] | None:
    """A row that knows the names of its values, as a mapping; None for other rows."""
    if isinstance(row, Mapping):
        return row
    return row._asdict() if isinstance(row, tuple) and hasattr(row, "_asdict") else None


def _columns_of_rows(rows: Sequence[Any], where: str) -> dict[str, Any]:
    """Rows by name as columns by name; what a row lacks is a missing value."""
    columns: dict[str, Any] = {}
    for i, row in enumerate(rows):
        if (named := _named_fields(row)) is None:
            raise InputError(f"row 0 of {where} has names, but row {i} has none; got {describe_value(row)}", row=i)
        for name, value in named.items():
            columns.setdefault(str(name), np.full(len(rows), None, dtype=object))[i] = value
        if len(texts := Counter(map(str, named))) < len(named):
            twice = [name for name, count in texts.items() if count > 1]
            text = f"row {i} of {where} has two keys that both read {listed(twice)}; rename one"
            raise InputError(text, column=twice[0], row=i)
    return columns


def _table_of_mapping(data: Mapping[Any, Any], where: str) -> Table:
    """Columns by name, each a sequence of the same length."""
    names, columns = tuple(map(str, data)), []
    for name, values in zip(names, data.values(), strict=True):
        if isinstance(values, (list, tuple)) and values and _named_fields(values[0]) is not None:
            values = np.fromiter(values, dtype=object, count=len(values))  # one column of mappings, not many columns
        entry = table_of(values, f"column {shown(name)} of {where}")
        if len(entry.shape) != 1:
            raise InputError(f"{entry.where} has shape {entry.shape}; one value for each row is needed", column=name)
        is_boolean = entry.columns[0].values.dtype == bool or _are_booleans(values)
        columns.append(replace(entry.columns[0], kind="booleans") if is_boolean else entry.columns[0])
    lengths = list(map(len, columns))
    if odd := [name for name, length in zip(names, lengths, strict=True) if length != lengths[0]]:
        first = f"{shown(names[0])} has {lengths[0]} values, {shown(odd[0])} has {lengths[names.index(odd[0])]}"
        raise InputError(f"columns of {where} differ in length: {first}", column=odd[0])
    if len(set(names)) < len(names):
        raise InputError(f"{where} has keys that read the same: {listed(names)}; rename one")
    return Table(where, (lengths[0] if lengths else 0, len(names)), columns, names)


def _are_booleans(values: Any) -> bool:
    """Whether Python objects are True, False and missing ones, which would pass for numbers."""
    if not isinstance(values, (list, tuple)) and getattr(getattr(values, "dtype", None), "kind", "") != "O":
        return False
    return all(isinstance(v, (bool, np.bool_)) or is_missing(v) for v in values) and not all(map(is_missing, values))


def _as_array(data: Any, where: str) -> npt.NDArray[Any]:
    """Anything that is no frame as a 1-D or 2-D array; masked entries become NaN or None."""
    if hasattr(data, "toarray") and hasattr(data, "nnz"):
        raise InputError(f"{where} is a sparse matrix of shape {data.shape}; pass {where}.toarray()")
    if not isinstance(data, (list, tuple, range)) and not hasattr(data, "__array__"):
        raise InputError(f"{where} must be an array, a list of rows or a data frame; got {describe_value(data)}")
    try:
        if isinstance(data, (list, tuple)) and any(isinstance(row, np.ma.MaskedArray) for row in data):
            data = np.ma.stack(data)  # NumPy would read what is under the mask
        array: Any = np.asanyarray(data)
        if isinstance(data, (list, tuple)) and (
            # NumPy turns [1, "a"] into text and [2**60 + 1, 0.5] into floats: keep what was really given
            array.dtype.kind in "US" or (array.dtype.kind == "f" and (np.abs(array) > EXACT).any())
        ):
            array = np.asarray(data, dtype=object)
    except (ValueError, TypeError, RuntimeError) as error:
        raise InputError(f"{where} cannot be read as an array: {describe_ragged(data) or error}") from error
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


def _series_column(series: Any, is_text: bool = False) -> Column:
    """A frame's column; the declared type decides first, because a polars struct reads as plain integers.

    ``is_text`` says that categories are text that came by its distinct values.
    """
    dtype = series.dtype
    if dtype in (nw.Int128, nw.UInt128):
        return _object_column(np.array(series.to_list(), dtype=object))  # NumPy has no such type
    kind = ""
    if dtype.is_nested():
        kind = "nested values"
    elif dtype.is_temporal():
        kind = "dates or durations"
    elif dtype in (nw.Categorical, nw.Enum):
        kind = "text" if is_text else "categories"
    elif dtype in (nw.String, nw.Binary):
        kind = "text"
    coded = _coded_text(series) if kind in ("text", "categories") else None
    if coded is not None:
        return coded_column(coded, kind)
    column = _array_column(_values(series), kind)
    return replace(column, kind="booleans") if dtype == nw.Boolean else column


def _coded_text(series: Any) -> Coded | None:
    """Text by its distinct values, which Arrow finds a hundred times as fast as Python; None where it is no help.

    Where nobody has loaded it yet, loading it takes longer than most columns would.
    """
    native = series.to_native()
    is_arrow = hasattr(native, "unify_dictionaries")
    if not is_arrow and ("pyarrow" not in sys.modules or series.dtype != nw.String or native.dtype == object):
        return None
    pa = pyarrow()
    column = native if is_arrow else pa.chunked_array([series.alias("").to_arrow()])  # polars dies of a NUL in a name
    texts = pa.string(), pa.large_string()
    if getattr(column.type, "value_type", column.type) not in texts or not len(column):
        return None
    whole = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    whole = whole.unify_dictionaries()
    return _in_order(places_of(whole), whole.chunk(0).dictionary.to_pylist())


def _in_order(places: npt.NDArray[Any], listed_values: list[Any]) -> Coded:
    """Values by their places in a list, -1 for missing ones; the list may have other values, and some twice."""
    first = np.full(len(listed_values) + 1, len(places))
    first[places[::-1]] = np.arange(len(places))[::-1]  # of equal places the last one stays
    occurring = [k for k in np.argsort(first[:-1]).tolist() if first[k] < len(places)]
    place_of: dict[Any, int] = {}
    new = np.full(len(first), -1, dtype=np.int32)
    for k in occurring:
        if listed_values[k] is not None:
            new[k] = place_of.setdefault(listed_values[k], len(place_of))
    return Coded(new[places], _objects([*place_of, None]))


def coded_column(coded: Coded, kind: str) -> Column:
    """A column of values by their distinct ones; one that holds none is one of missing numbers."""
    present = coded.places >= 0
    if not present.any():
        return Column(np.full(len(present), np.nan))
    return Column(coded, kind, int(present.argmax()))


def code_values(values: npt.NDArray[Any]) -> Coded:
    """Values that have a hash by their distinct ones."""
    if values.dtype == bool:
        order = [True, False] if len(values) and values[0] else [False, True]
        return _in_order(np.where(values == order[0], 0, 1), order)
    objects = values.tolist()
    distinct = [value for value in dict.fromkeys(objects) if not is_missing(value)]
    places = dict(zip(distinct, range(len(distinct)), strict=True))
    found = np.fromiter(map(places.get, objects, repeat(-1)), np.intp, len(objects))
    return Coded(found, _objects([*distinct, None]))


def _objects(values: list[Any]) -> npt.NDArray[Any]:
    """A list as objects, even where they are sequences."""
    return np.fromiter(values, dtype=object, count=len(values))


def _values(series: Any) -> npt.NDArray[Any]:
    """The values of a frame's column; pyarrow itself gives missing values of a dictionary its last level."""
    native = series.to_native()
    return array_of(decoded(native)) if hasattr(native, "unify_dictionaries") else np.asarray(series.to_numpy())


def _array_column(values: npt.NDArray[Any], kind: str = "") -> Column:
    code = values.dtype.kind
    if not kind and code == "O":
        return _object_column(values)
    if not kind and code in "biuf":
        wide = code in "iu" and values.dtype.itemsize == 8 and values.size
        return Column(values, largest=max(int(values.max()), -int(values.min())) if wide else 0)
    kind = kind or {"c": "complex numbers", "M": "dates or durations", "m": "dates or durations"}.get(code, "text")
    row = next((i for i, value in enumerate(values) if not is_missing(value)), None)
    return Column(np.full(len(values), np.nan)) if row is None else Column(values, kind, row)


def _object_column(values: npt.NDArray[Any]) -> Column:
    """Python objects as floats, unless one of them is no number."""
    floats = np.full(len(values), np.nan)
    largest, n_whole = 0, 0
    for i, value in enumerate(values):
        if is_missing(value):
            continue
        if not isinstance(value, (numbers.Real, Decimal, np.bool_)):
            kinds = (kind for kind, types in _KINDS.items() if isinstance(value, types))
            return Column(values, next(kinds, _KINDS_BY_NAME.get(name := type(value).__name__, f"{name} objects")), i)
        number: Any = value
        try:
            floats[i] = float(number)
        except OverflowError:
            floats[i] = math.inf if number > 0 else -math.inf
        if isinstance(value, numbers.Integral) and math.isfinite(floats[i]):
            largest, n_whole = max(largest, abs(int(value))), n_whole + (not isinstance(value, bool))
    if len(values) and n_whole == len(values) and largest < EXACT:
        return Column(values.astype(np.int64), largest=largest)
    return Column(floats, largest=largest)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT, NA or masked."""
    if isinstance(value, (float, np.floating, np.datetime64, np.timedelta64)):
        return bool(value != value)
    if isinstance(value, Decimal):
        return value.is_nan()
    return value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant")


def missing_values(column: Column) -> npt.NDArray[np.bool_]:
    """Which values are missing, (n,)."""
    if column.coded is not None:
        return np.asarray(column.coded.places < 0)
    values = column.values
    if values.dtype.kind in "biu":
        return np.zeros(len(values), dtype=bool)
    if values.dtype.kind in "fc":
        return np.asarray(np.isnan(values))
    if values.dtype.kind in "mM":
        return np.asarray(np.isnat(values))
    if column.kind == "nested values" or column.kind.endswith(" objects"):  # they may have no hash
        return np.array([is_missing(value) for value in values], dtype=bool)
    return np.asarray(coded_values(column).places < 0)


def coded_values(column: Column) -> Coded:
    """The values of a column of text, categories or booleans by their distinct ones."""
    return code_values(column.values) if column.coded is None else column.coded


def are_nearly_numbers(values: npt.NDArray[Any]) -> bool:
    """Whether so many texts read as numbers that they are hardly meant as categories."""
    distinct = [value for value in dict.fromkeys(values.tolist()) if not is_missing(value)]
    return bool(distinct) and sum(map(reads_as_number, distinct)) >= _NEARLY * len(distinct)


def reads_as_number(value: Any) -> bool:
    """Whether a value reads as a number."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def text_of(value: Any) -> str:
    """A level by name; a whole number is the same level as a float."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
