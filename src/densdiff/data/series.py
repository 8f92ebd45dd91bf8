"""A series in time order: its columns as numbers, its clock apart from them, and windows in samples.

Series that do not fit into memory are cut in `stretches` before they come here.
"""

import datetime
import numbers
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from densdiff.data.dates import DURATION_UNITS, duration_seconds, reads_as_date
from densdiff.data.floats import float_matrix
from densdiff.data.parameters import whole
from densdiff.data.table import Column, Table, is_missing, table_of
from densdiff.errors import InputError
from densdiff.messages import argument, describe_choice, describe_value, listed, name_of, shown, warn

FloatArray = npt.NDArray[np.float64]
_UNEVEN = 0.5  # a step may differ from the median step by this share of it before it counts as irregular
_WIDE, _FEW = 10, 50  # so many times more columns than rows, of which there are few: swapped?
_EXACT = 2**53


@dataclass(frozen=True)
class Series:
    """Samples in order; ``step`` is the median step of the clock, in seconds if it has units, None without one."""

    rows: FloatArray  # (T, d)
    names: tuple[str, ...]
    times: npt.NDArray[Any] | None  # (T,), as given
    step: float | None
    notes: tuple[str, ...]


def check_series(data: Any, time: Any = None) -> Series:
    """A series as a matrix; ``time`` is the name of a column, which is then no data, or a separate array.

    Examples
    --------
    >>> series = check_series([[1.0, 2.0], [3.0, 4.0], [5.0, 5.0]], time=[0.0, 0.5, 1.0])
    >>> series.rows.shape, series.step
    ((3, 2), 0.5)
    """
    notes: list[str] = []
    name = name_of("series")
    table = table_of(data, name)
    clock = None
    if isinstance(time, str):
        place = _column_place(table, time)
        clock = table.columns[place]
        times = clock_of(data, place, clock.values)
        table = table.select([name for name in table.names or () if name != time])
    elif time is not None:
        clock = _separate_clock(time, table)
        times = clock_of(time, 0, clock.values)
    names = table.names or tuple(f"x{j}" for j in range(len(table.columns)))
    rows = float_matrix(table, names, notes)
    if not len(rows):
        raise InputError(f"{name} has 0 samples; at least 1 is needed", argument="series")
    if clock is not None and len(clock.values) != len(rows):
        swapped = "; are its rows and columns swapped?" if len(clock.values) == len(names) > len(rows) else ""
        count = f"{_count_text(len(clock.values), 'value')}, but {name} has {_count_text(len(rows), 'sample')}"
        raise InputError(f"time has {count}{swapped}", argument="time")
    if len(names) > _WIDE * len(rows) and len(rows) < _FEW:
        shape = f"{_count_text(len(rows), 'row')} and {len(names)} columns"
        warn(f"{name} has {shape}, each row a sample; if rows and columns are swapped, transpose it", notes)
    if clock is None:
        return Series(rows, names, None, None, tuple(notes))
    return Series(rows, names, times, _median_step(clock, times, notes), tuple(notes))


def _count_text(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _column_place(table: Table, name: str) -> int:
    if not table.names:
        none = f"the columns of {table.where} have no names; pass an array of times"
        raise InputError(f"time={shown(name)} names a column, but {none}", argument="time")
    if name not in table.names:
        need = f"{argument('time')} must be a column of {table.where} ({listed(table.names)})"
        raise InputError(f"{need}; got {describe_choice(name, table.names)}", argument="time")
    if len(table.names) == 1:
        text = f"{table.where} has only the column {shown(name)}, which is its time; at least one data column is needed"
        raise InputError(text, column=name)
    return table.names.index(name)


def _separate_clock(time: Any, table: Table) -> Column:
    """A clock given apart from the series; the position of a column is not one."""
    is_array = isinstance(time, (list, tuple, range)) or hasattr(time, "__array__")
    if not is_array or getattr(time, "ndim", 1) == 0:
        names = table.names or ()
        meant = f" (did you mean {str(time)!r}?)" if str(time) in names else ""
        columns = f"the name of a column ({listed(names)}) or an" if names else "an"
        need = f"{columns} array with one value for each of the {_count_text(table.shape[0], 'sample')}"
        raise InputError(f"{argument('time')} must be {need}; got {describe_value(time)}{meant}", argument="time")
    clock = table_of(time, "time")
    if len(clock.columns) != 1:
        cure = "pass the name of a column or one value for each sample"
        raise InputError(f"time has shape {clock.shape}; {cure}", argument="time")
    return clock.columns[0]


def clock_of(source: Any, place: int, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The clock as its owner reads it: frames hand times with a zone to NumPy in UTC, and without the zone."""
    column = nw.from_native(source, allow_series=True, pass_through=True)
    column = column[:, place] if isinstance(column, nw.DataFrame) else column
    if isinstance(column, nw.Series):
        zone = column.dtype.time_zone if isinstance(column.dtype, nw.Datetime) else None
    else:
        zone = getattr(getattr(source, "type", None), "tz", None)  # of a pyarrow Array, which narwhals does not know
    if not zone:
        return values
    times = np.empty(len(values), dtype=object)
    try:
        times[:] = column.to_list() if isinstance(column, nw.Series) else source.to_pylist()
    except ValueError:  # pyarrow has no nanoseconds outside NumPy unless pandas is installed
        return values
    return times


def _median_step(clock: Column, times: npt.NDArray[Any], notes: list[str]) -> float:
    """The median step; what is wrong with the clock is told, or refused if samples are not in order."""
    ticks, tick, rounding = _ticks(clock, notes)  # (T,)
    if (back := np.flatnonzero(ticks[1:] < ticks[:-1])).size:
        row = int(back[0]) + 1
        ends = f"from {shown(times[row - 1])} to {shown(times[row])}"
        raise InputError(f"time goes back at row {row}, {ends}; sort the rows by time", argument="time", row=row)
    steps = (ticks[1:] - ticks[:-1]).astype(np.float64) * tick
    if not steps.size:
        return 0.0
    if (same := np.flatnonzero(steps == 0)).size:
        row = int(same[0]) + 1
        many = {1: "", 2: " and 1 more time"}.get(same.size, f" and {same.size - 1} more times")
        warn(f"time repeats at row {row} ({shown(times[row])}){many}; samples are used in the order given", notes)
    middle = float(np.median(steps))
    odd = np.flatnonzero(np.abs(steps - middle) > _UNEVEN * middle + rounding)
    if odd.size:
        row = int(odd[0]) + 1
        unit = "" if clock.kind == "numbers" else " s"
        text = f"time steps range from {steps.min():g} to {steps.max():g}{unit} with a median of {middle:g}{unit}"
        notes.append(
            f"{text}, the first irregular one at row {row} ({shown(times[row])}); windows count samples, not time"
        )
    return middle


def _ticks(clock: Column, notes: list[str]) -> tuple[npt.NDArray[Any], float, float]:
    """The clock as numbers (T,), the seconds in one of them, and how far rounding may move a step.

    Whole numbers, dates and durations are counted from the first in integers: as floats, nanoseconds would repeat.
    """
    values: npt.NDArray[Any] = clock.values
    tick = 1.0
    if clock.kind == "dates or durations":
        values, tick = _whole_units(values)
    elif clock.kind != "numbers":
        first = values[clock.row]
        is_date = isinstance(first, str) and reads_as_date(first)  # of which day and month cannot be told apart
        cure = "write dates as 2026-01-31 or 2026-01-31T12:00:00" if is_date else "pass numbers or dates"
        raise InputError(f"time holds {clock.kind}, first {shown(first)}; {cure}", argument="time", row=clock.row)
    elif values.dtype.kind == "f":
        _refuse_any(np.isnan(values), "missing")
        _refuse_any(np.isinf(values), "infinite")
        if clock.largest > _EXACT:
            text = f"whole numbers up to {clock.largest} are beyond 2**53, where float64 skips some"
            warn(f"precision lost in time: {text}; subtract the first time", notes)
        return values.astype(np.float64), tick, 4.0 * float(np.spacing(np.abs(values).max()))
    # modulo 2**64 the difference is right for every integer type
    return values.astype(np.uint64) - values.min().astype(np.uint64), tick, 0.0


def _whole_units(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], float]:
    """Dates or durations as whole numbers of one unit, and that unit in seconds."""
    if values.dtype.kind == "O":
        values = _numpy_dates(values)
    _refuse_any(np.isnat(values), "missing")
    unit, many = np.datetime_data(values.dtype)
    if unit == "generic":
        cure = "give them one, as in time.astype('m8[s]')"
        raise InputError(f"time holds durations without a unit; {cure}", argument="time")
    if unit in ("Y", "M", "W"):  # of no fixed length, or not known to NumPy as seconds
        values, unit, many = values.astype(f"{values.dtype.kind}8[s]"), "s", 1
    seconds = {"D": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}
    seconds |= {"fs": 1e-15, "as": 1e-18}
    return values.astype(np.int64), many * seconds[unit]


def _numpy_dates(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Dates or durations of Python or pandas as NumPy has them, in UTC if they have a zone."""
    kinds = [_kind_of_time(value) for value in values]
    first = next(kind for kind in kinds if kind)
    if (row := next((i for i, kind in enumerate(kinds) if kind not in ("", first)), None)) is not None:
        mixed = f"{first} and {kinds[row]}, first {shown(values[row])} at row {row}"
        raise InputError(f"time mixes {mixed}; pass one kind", argument="time", row=row)
    if first not in ("dates", "dates with a time zone", "durations"):
        held = f"{first}, first {shown(values[kinds.index(first)])}"
        raise InputError(f"time holds {held}; pass dates or durations", argument="time", row=kinds.index(first))
    nothing = np.timedelta64("NaT") if first == "durations" else np.datetime64("NaT")
    return np.array([_as_numpy_date(value) if kind else nothing for value, kind in zip(values, kinds, strict=True)])


def _kind_of_time(value: Any) -> str:
    if is_missing(value):
        return ""
    if isinstance(value, (datetime.timedelta, np.timedelta64)):
        return "durations"
    if isinstance(value, datetime.time):
        return "times of day without a date"
    if isinstance(value, (datetime.date, np.datetime64)):
        return "dates" if getattr(value, "tzinfo", None) is None else "dates with a time zone"
    return f"{type(value).__name__} objects"


def _as_numpy_date(value: Any) -> Any:
    for exact in ("to_datetime64", "to_timedelta64"):  # of pandas, which knows nanoseconds
        if hasattr(value, exact):
            return getattr(value, exact)()
    if isinstance(value, datetime.timedelta):
        return np.timedelta64(value)
    if isinstance(value, datetime.datetime) and value.tzinfo:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    return np.datetime64(value) if isinstance(value, datetime.date) else value


def _refuse_any(bad: npt.NDArray[np.bool_], what: str) -> None:
    if count := int(bad.sum()):
        first, row = "at" if count == 1 else "first at", int(bad.argmax())
        text = f"{_count_text(count, f'{what} value')}, {first} row {row}"
        raise InputError(f"time has {text}; correct it first", argument="time", row=row)


def check_window(value: Any, step: float | None) -> int | None:
    """Samples in a window: None for "auto", a whole number, or a duration such as "4s" when there is a clock."""
    need = f"{argument('window')} must be 'auto', a whole number of samples (2 or more) or a duration such as '4s'"
    if isinstance(value, str):
        if value == "auto":
            return None
        seconds = duration_seconds(value)
        if seconds is None:
            raise InputError(f"{need}, {DURATION_UNITS}; got {describe_choice(value, ('auto',))}", argument="window")
        if not step:
            cure = f"pass {argument('time', ...)}, or a number of samples"
            lacks = "is a duration, which needs times that increase"
            raise InputError(f"{argument('window', value)} {lacks}; {cure}", argument="window")
        try:
            samples = round(seconds / step)
        except OverflowError:
            raise InputError(f"{need}; got {describe_value(value)}", argument="window") from None
        if samples < 2:
            held = f"{_count_text(samples, 'sample')} at a step of {step:g} s"
            need = "at least 2 are needed (numeric times count as seconds)"
            raise InputError(f"{argument('window', value)} holds {held}; {need}", argument="window")
        return samples
    if not isinstance(value, numbers.Real):
        raise InputError(f"{need}; got {describe_value(value)}", argument="window")
    return whole(value, "window", 2)
