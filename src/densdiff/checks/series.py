"""A series in the order of time: its columns as numbers, its clock apart from them, and windows in samples."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.checks.parameters import whole
from densdiff.checks.tables import Column, Table, floats, table_of
from densdiff.checks.wording import came, hinted, listed, shown, warn
from densdiff.errors import InputError

FloatArray = npt.NDArray[np.float64]
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_UNEVEN = 0.5  # a step may differ from the median step by this share of it before it counts as irregular


@dataclass(frozen=True)
class Series:
    """Samples in order; ``step`` is the median step of the clock, in seconds if it has units, None without one."""

    rows: FloatArray  # (T, d)
    names: tuple[str, ...]
    times: npt.NDArray[Any] | None  # (T,), as given
    step: float | None
    notes: tuple[str, ...]


def series(data: Any, time: Any = None) -> Series:
    """A series as a matrix; ``time`` is the name of a column, which is then no data, or an array of its own.

    Examples
    --------
    >>> found = series([[1.0, 2.0], [3.0, 4.0], [5.0, 5.0]], time=[0.0, 0.5, 1.0])
    >>> found.rows.shape, found.step
    ((3, 2), 0.5)
    """
    notes: list[str] = []
    table = table_of(data, "series")
    clock = None
    if isinstance(time, str):
        table, clock = _without(table, time)
    elif time is not None:
        of_time = table_of(time, "time")
        if len(of_time.columns) != 1:
            raise InputError(f"time has shape {of_time.shape}; pass the name of a column or one value for each sample")
        clock = of_time.columns[0]
    names = table.names or tuple(f"x{j}" for j in range(len(table.columns)))
    rows = floats(table, names, notes)
    if not len(rows):
        raise InputError("series has 0 samples; at least 1 is needed")
    if clock is None:
        return Series(rows, names, None, None, tuple(notes))
    if len(clock.values) != len(rows):
        raise InputError(f"time has {len(clock.values)} values, but series has {len(rows)} samples")
    return Series(rows, names, clock.values, _step(clock, notes), tuple(notes))


def _without(table: Table, name: str) -> tuple[Table, Column]:
    if not table.names:
        raise InputError(f"time={shown(name)} names a column, but series has none with names; pass an array of times")
    if name not in table.names:
        raise InputError(f"time must be a column of series ({listed(table.names)}); got {hinted(name, table.names)}")
    if len(table.names) == 1:
        raise InputError(f"series has no column but {shown(name)}, which is its time; at least one of data is needed")
    clock = table.columns[table.names.index(name)]
    return table.select([other for other in table.names if other != name]), clock


def _step(clock: Column, notes: list[str]) -> float:
    """The median step; what is wrong with the clock is told, or refused if samples are not in order."""
    values: npt.NDArray[Any] = clock.values
    if clock.kind == "dates or durations":
        kind = "m8[ns]" if np.asarray(values).dtype.kind == "m" else "M8[ns]"
        try:
            times = values.astype(kind)
        except (TypeError, ValueError) as error:
            raise InputError(f"time cannot be read as times: {error}") from error
        missing, seconds = np.isnat(times), times.astype(np.int64) / 1e9
    elif clock.kind == "numbers":
        seconds = np.asarray(values, dtype=np.float64)
        missing = ~np.isfinite(seconds)
    else:
        raise InputError(f"time holds {clock.kind}, first {shown(values[clock.row])}; pass numbers or dates")
    if missing.any():
        raise InputError(f"time has {missing.sum()} missing values, first at row {missing.argmax()}; fill them first")
    steps = np.diff(seconds)
    if (back := np.flatnonzero(steps < 0)).size:
        row = int(back[0]) + 1
        raise InputError(
            f"time goes back at row {row}, from {shown(values[row - 1])} to {shown(values[row])}; sort first"
        )
    if not steps.size:
        return 0.0
    if (same := np.flatnonzero(steps == 0)).size:
        row = int(same[0]) + 1
        many = f" and {same.size - 1} times more" if same.size > 1 else ""
        warn(f"time repeats at row {row} ({shown(values[row])}){many}; samples are taken in the order given", notes)
    middle = float(np.median(steps))
    odd = np.flatnonzero(np.abs(steps - middle) > _UNEVEN * middle + 1e-9 * abs(seconds[-1]))
    if odd.size:
        row = int(odd[0]) + 1
        text = f"time steps run from {steps.min():g} to {steps.max():g} about {middle:g}, first odd one at row {row}"
        notes.append(f"{text}; windows count samples")
    return middle


def window(value: Any, step: float | None) -> int | None:
    """Samples in a window: None for "auto", a whole number, or a duration such as "4s" when there is a clock."""
    need = "window must be 'auto', a whole number of samples (2 or more) or a duration such as '4s'"
    if isinstance(value, str):
        if value == "auto":
            return None
        found = re.fullmatch(r"\s*([0-9.]+(?:e[+-]?\d+)?)\s*([a-z]+)\s*", value)
        if not found or found[2] not in _UNITS:
            raise InputError(f"{need}, units {', '.join(_UNITS)}; got {hinted(value, ('auto',))}")
        if not step:
            raise InputError(
                f"window={shown(value)} is a duration, but there is no time that runs; pass time= or samples"
            )
        try:
            samples = round(float(found[1]) * _UNITS[found[2]] / step)
        except (ValueError, OverflowError):
            raise InputError(f"{need}; got {came(value)}") from None
        if samples < 2:
            raise InputError(
                f"window={shown(value)} holds {samples} samples at a step of {step:g}; at least 2 are needed"
            )
        return samples
    return whole(value, "window", 2)
