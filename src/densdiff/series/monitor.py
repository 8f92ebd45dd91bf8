"""Is a stream changing now? Odds that it differs from a reference, and a threshold for a mean run length.

What is learned from a reference is found in `monitor_calibration`, rows are taken in `watched_stream`, the file of a
saved monitor is written in `monitor_state`.
"""

import math
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff import messages
from densdiff.core.scaling import FloatArray
from densdiff.data import parameters
from densdiff.errors import InputError
from densdiff.estimators.lsdd import LSDD
from densdiff.progress import long_work
from densdiff.series.features import CENTERS
from densdiff.series.monitor_calibration import calibrate
from densdiff.series.monitor_state import (
    AFTER_ALARM,
    MonitorState,
    as_parameters,
    checked_run_length,
    settings_of,
)
from densdiff.series.monitor_step import MonitorStep
from densdiff.series.stream import StreamModel
from densdiff.series.stream_columns import NewLevels, by_name, learn_columns
from densdiff.series.stream_progress import StreamProgress
from densdiff.series.watched_stream import Finding, StreamPosition
from densdiff.threads import on_one_thread

_EXACT = 2**53  # whole numbers that float64 holds
_DOUBLE = np.dtype(float)
_MOST_NEW = 1000  # new levels that are remembered, so that memory stays the same
_LONGEST = 200  # characters of a new level


class ChangeMonitor:
    """Watches a stream for a departure from a fixed reference sample.

    Of single features of the rows (values, their squares, products of pairs) it keeps the odds that they have changed,
    by a little or by much, at any time so far; of all values and of kernels it keeps sums that forget, some quickly and
    some slowly. What stands out most, in units of what it seldom exceeds, is the score. A stream like the reference
    exceeds the threshold after ``run_length`` rows on average.

    Parameters
    ----------
    reference : array or data frame of shape (n, d)
        Rows from a time when all was well, in the order in which they came: at least two windows, and 40 or more for
        the run length to be as asked. Columns are numbers or categories; missing values are a level of their column.
    window : int
        The memory: the slowest sum has half of its weight in about the last 1.25 windows, the smallest shift that is
        looked for is 1.8 deviations over its root, and there is no score before so many rows have come.
    run_length : float
        Average number of rows until a false alarm, counted from the first update.
    after_alarm : "continue" or "reset"
        Whether an alarm lasts until the score has fallen to `release_`, or all begins anew with the row after it.
        Either way false alarms begin ``run_length`` rows apart on average.
    model : LSDD, optional
        Its sigma and lam are used where they are numbers, its ``n_centers`` and ``standardize`` always; by default
        150 centers, the median distance, and a tenth of the mean row sum of the kernel matrix.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    threshold_ : float
        An alarm begins when the score exceeds it.
    release_ : float
        An alarm that lasts ends when the score has fallen to it.
    n_seen_ : int
        Rows since the start or the last `reset`.
    alarm_ : bool
        Whether the last row was one of an alarm.
    names_ : tuple of str
    levels_ : tuple
        Levels of each column of categories, None for numbers.
    sigma_, lam_ : float
    seed_ : int
    warnings_ : tuple of str

    Examples
    --------
    >>> import numpy as np
    >>> import densdiff as dd
    >>> random = np.random.default_rng(0)
    >>> monitor = dd.ChangeMonitor(random.normal(size=2000), window=20, run_length=500, random_state=0)
    >>> calm = monitor.update_many(random.normal(size=100))
    >>> steps = monitor.update_many(random.normal(2.0, 1.0, size=40))
    >>> alarm = next(step for step in steps if step.alarm)
    >>> alarm.index < 110, abs(alarm.since - 100) < 5
    (True, True)
    """

    def __init__(
        self,
        reference: Any,
        *,
        window: int = 50,
        run_length: float = 1000,
        after_alarm: str = "continue",
        model: Any = None,
        random_state: Any = None,
    ) -> None:
        self.window = parameters.whole(window, "window", 2)
        self.run_length = checked_run_length(run_length, self.window)
        self.after_alarm = parameters.choice(after_alarm, "after_alarm", AFTER_ALARM)
        usual = LSDD(solver="centers", n_centers=CENTERS)
        chosen: LSDD = parameters.estimator(usual if model is None else model, (LSDD,))
        if chosen.centers is not None:
            text = "model must not have centers of its own: a monitor draws them from its reference"
            raise InputError(text, argument="model")
        self._settings = settings_of(chosen)
        self.seed_ = parameters.seed(random_state if chosen.random_state is None else chosen.random_state)
        self._learn(reference)

    @long_work("learning the reference")
    @on_one_thread
    def _learn(self, reference: Any) -> None:
        name = messages.name_of("reference")
        columns, coded, notes = learn_columns(reference, name)
        if len(coded) < 2 * self.window:
            need = f"at least {2 * self.window} are needed, two windows of {self.window}"
            raise InputError(f"{name} has {len(coded)} rows; {need}", argument="reference")
        rows = columns.numbers(coded)
        varies = rows.max(axis=0) > rows.min(axis=0) if rows.size else np.zeros(rows.shape[1], dtype=bool)
        if not varies.any():
            text = f"all rows of {name} are the same, so no change can be measured; pass rows that vary"
            raise InputError(text, argument="reference")
        moving = set(columns.owners[varies].tolist())
        if constant := [column for j, column in enumerate(columns.names) if j not in moving]:
            what = "columns that are constant in the reference are ignored in the stream"
            messages.warn(f"{what}: {messages.listed(constant)}", notes)
        model = StreamModel.of(rows, LSDD(solver="centers", **as_parameters(self._settings)), self.seed_)
        names = [columns.names[j] for j in columns.owners[model.scaling.keep]]
        detector = calibrate(rows, names, model, self.window, self.run_length, self.seed_, name, notes)
        self._columns, self._detector, self.n_reference_ = columns, detector, len(rows)
        self.warnings_ = tuple(notes)
        self.reset()

    @property
    def names_(self) -> tuple[str, ...]:
        return self._columns.names

    @property
    def levels_(self) -> tuple[tuple[str, ...] | None, ...]:
        """Levels of each column of categories, None for numbers."""
        return self._columns.levels

    @property
    def incomplete_(self) -> tuple[str, ...]:
        """Columns of numbers that may be missing in the stream, because they are in the reference."""
        return tuple(name for name, fill in zip(self.names_, self._columns.fills, strict=True) if not np.isnan(fill))

    @property
    def threshold_(self) -> float:
        return self._detector.threshold

    @property
    def release_(self) -> float:
        return self._detector.release

    @property
    def n_seen_(self) -> int:
        return self._position.seen

    @property
    def alarm_(self) -> bool:
        """Whether the last row was one of an alarm."""
        return self._position.since is not None

    @property
    def sigma_(self) -> float:
        return self._detector.model.sigma * self._detector.model.scaling.sigma_unit

    @property
    def lam_(self) -> float:
        return self._detector.model.lam

    def update(self, x: Any) -> MonitorStep:
        """Take one row: a number, a sequence of d values, a mapping or named tuple, or a frame of one row.

        A row that cannot be used is an InputError with its index and leaves the monitor as it was.
        """
        rows, new_levels = self._check_row(x)
        position, detector = self._position, self._detector
        finding = position.push_one(detector, self._columns.numbers(rows), self.after_alarm == "reset")
        if finding.shares is None and not new_levels:  # without detours: so are most
            return MonitorStep(position.seen - 1, finding.score, detector.threshold, False)
        return self._step(position.seen - 1, finding, self._remember(new_levels).get(0))

    def update_many(self, X: Any) -> list[MonitorStep]:
        """Take rows one after the other, like as many calls of `update`: all of them, or none if one is bad.

        Rows are a frame, an array, a mapping of columns, or a list of mappings.
        """
        if isinstance(X, (list, tuple)) and not X:
            return []
        try:
            rows, new_levels = self._columns.rows(X, "X")
        except InputError as error:
            place = f"no row was taken; row 0 would be row {self.n_seen_} of the stream"
            raise error.reworded(f"{error.marked}; {place}") from None
        return self._push(rows, new_levels)

    def reset(self, reference: Any = None) -> "ChangeMonitor":
        """Forget the stream; with a new reference, learn and calibrate anew."""
        if reference is None:
            self._position = StreamPosition.start(self._detector, len(self._columns.owners))
        else:
            self._learn(reference)
        return self

    def _push(self, rows: FloatArray, new_levels: NewLevels) -> list[MonitorStep]:
        first = self.n_seen_
        findings = self._position.push(self._detector, self._columns.numbers(rows), self.after_alarm == "reset")
        new, threshold = self._remember(new_levels) if new_levels else {}, self._detector.threshold
        return [
            MonitorStep(index, finding.score, threshold, False)  # as are most
            if finding.shares is None and not new
            else self._step(index, finding, new.get(index - first))
            for index, finding in enumerate(findings, first)
        ]

    def _step(self, index: int, finding: Finding, new: dict[str, str] | None) -> MonitorStep:
        score, since, kept_shares = finding
        if kept_shares is None:
            return MonitorStep(index, score, self._detector.threshold, False, None, None, new)
        owners = self._columns.owners[self._detector.model.scaling.keep]
        shares = np.bincount(owners, kept_shares, minlength=len(self.names_)).tolist()
        columns = dict(sorted(zip(self.names_, shares, strict=True), key=lambda item: -item[1]))
        return MonitorStep(index, score, self._detector.threshold, True, since, columns, new)

    def _remember(self, new_levels: NewLevels) -> NewLevels:
        """New levels that the stream did not have before either."""
        known, found = self._position.new_levels, NewLevels()
        for row, levels in sorted(new_levels.items()):
            for name, level in levels.items():
                text = level[:_LONGEST]
                if text not in known.get(name, ()) and sum(map(len, known.values())) < _MOST_NEW:
                    known.setdefault(name, []).append(text)
                    found.setdefault(row, {})[name] = text
        return found

    def _check_row(self, x: Any) -> tuple[FloatArray, NewLevels]:
        """One row (1, d), checked, and its new levels; plain numbers take no detour."""
        if (
            type(x) is np.ndarray
            and x.dtype is _DOUBLE
            and x.shape == self._columns.plain_shape
            and math.isfinite(x.dot(x))
        ):
            return x[None], {}
        try:
            if isinstance(x, tuple) and hasattr(x, "_asdict") and set(self.names_) & set(named := x._asdict()):
                x = named
            if isinstance(x, Mapping):
                x = by_name(x, self.names_)
            elif hasattr(x, "to_frame") and hasattr(x, "index"):  # a row of a pandas frame
                x = x.to_frame().T
            if not self._columns.is_plain:
                return self._check_mixed(x)
            if isinstance(x, (int, float, list, tuple, np.ndarray, np.generic)):
                row = _as_row(x)
                if (checked := self._plain_row(x, row)) is not None:
                    return checked, {}
                x = row.reshape(1, 1) if row.ndim == 0 else x
            if (
                isinstance(x, (Sequence, np.ndarray))
                and not isinstance(x, str)
                and np.ndim(x) == 1
                and len(self.names_) > 1
            ):
                x = [list(x)]
            return self._one_row(x)
        except (ValueError, TypeError) as error:  # InputError is a ValueError; NumPy refuses lists of lists with others
            text = f"row {self.n_seen_} of the stream was refused and changed nothing: {error}"
            column = error.column if isinstance(error, InputError) else None
            raise InputError(text, argument="x", column=column, row=self.n_seen_) from None

    def _plain_row(self, x: Any, row: npt.NDArray[Any]) -> FloatArray | None:
        """A row of finite numbers that float64 holds, (1, d); None if it needs a closer look."""
        d = len(self.names_)
        is_plain = row.dtype.kind == "f" or (row.dtype.kind in "iub" and np.abs(row).max(initial=0) < _EXACT)
        is_plain = is_plain and not (isinstance(x, (list, tuple)) and any(map(_is_inexact, x)))
        if not is_plain or (row.shape not in ((d,), (1, d)) and (d > 1 or row.ndim > 0)):
            return None
        checked: FloatArray = row.reshape(1, d).astype(float)
        if not (math.isfinite(checked.sum()) or np.isfinite(checked).all()):  # a sum is quick, but may overflow
            j = int(np.flatnonzero(~np.isfinite(checked[0]))[0])
            name = self.names_[j]
            raise InputError(f"column {messages.shown(name)} is {checked[0, j]}", column=name)
        return checked

    def _check_mixed(self, x: Any) -> tuple[FloatArray, NewLevels]:
        """One row of numbers and levels."""
        d = len(self.names_)
        if not isinstance(x, (list, tuple, np.ndarray)) and not hasattr(x, "columns"):
            x = [x]
        if isinstance(x, (list, tuple, np.ndarray)) and len(x) == d and not hasattr(x, "columns"):
            values = x.tolist() if isinstance(x, np.ndarray) else list(x)
            if (found := self._columns.row(values)) is not None:
                return found
            x = {name: np.array([value], dtype=object) for name, value in zip(self.names_, values, strict=True)}
        return self._one_row(x)

    def _one_row(self, x: Any) -> tuple[FloatArray, NewLevels]:
        checked, new_levels = self._columns.rows(x, "x")
        if len(checked) != 1:
            raise InputError(f"x has {len(checked)} rows; update takes one, update_many takes many", argument="x")
        return checked, new_levels

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to exactly that path: arrays and a header of JSON, nothing that could run."""
        self._state().save(path)

    def _state(self, progress: StreamProgress | None = None) -> MonitorState:
        return MonitorState(
            run_length=self.run_length,
            after_alarm=self.after_alarm,
            seed=self.seed_,
            warnings=self.warnings_,
            n_reference=self.n_reference_,
            settings=self._settings,
            columns=self._columns,
            detector=self._detector,
            position=self._position,
            progress=progress,
        )

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "ChangeMonitor":
        """Read what `save` wrote; it continues exactly as the saved one would have. Any other file is an InputError."""
        return cls._restored(MonitorState.load(path))

    @classmethod
    def _restored(cls, state: MonitorState) -> "ChangeMonitor":
        monitor = cls.__new__(cls)
        monitor.window, monitor.run_length, monitor.seed_ = state.detector.window, state.run_length, state.seed
        monitor.after_alarm, monitor.warnings_, monitor.n_reference_ = (
            state.after_alarm,
            state.warnings,
            state.n_reference,
        )
        monitor._settings, monitor._columns = state.settings, state.columns
        monitor._detector, monitor._position = state.detector, state.position
        return monitor

    def __repr__(self) -> str:
        more = "" if self.after_alarm == "continue" else f", after_alarm={self.after_alarm!r}"
        return f"ChangeMonitor(window={self.window}, run_length={self.run_length:g}{more})"

    def __str__(self) -> str:
        lines = [
            f"Monitor of {len(self.names_)} column{'s' * (len(self.names_) != 1)}, {self.n_seen_} rows seen",
            f"  window      {self.window} rows against a reference of {self.n_reference_}",
            f"  threshold   {self.threshold_:.4g}, exceeded by chance once in {self.run_length:g} rows",
            f"  model       centers, sigma {self.sigma_:.3g}, lam {self.lam_:.3g}; seed {self.seed_}",
        ]
        return "\n".join(lines + [f"  note: {text}" for text in self.warnings_])


def save_with_progress(monitor: ChangeMonitor, path: str | PathLike[str], progress: StreamProgress) -> None:
    """Save a monitor as `ChangeMonitor.save` does, and how far its stream has come beside it, as one file."""
    monitor._state(progress).save(path)


def load_with_progress(path: str | PathLike[str]) -> tuple[ChangeMonitor, StreamProgress | None]:
    """A saved monitor, and how far its stream had come if that was saved with it."""
    state = MonitorState.load(path)
    return ChangeMonitor._restored(state), state.progress


def _is_inexact(value: Any) -> bool:
    return type(value) is int and abs(value) >= _EXACT


def _as_row(x: Any) -> npt.NDArray[Any]:
    if np.ma.is_masked(x):
        raise InputError("x has a masked value, which counts as missing", argument="x")
    try:
        return np.asarray(x)
    except ValueError:
        raise InputError("x holds a list where a number is needed", argument="x") from None
