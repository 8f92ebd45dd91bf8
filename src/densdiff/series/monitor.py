"""Is a stream changing now? The distance of its last rows from a reference, and a threshold for a mean run length.

The features of rows are made in `stream`, the file of a saved monitor in `monitor_state`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff import messages
from densdiff.core.scaling import FloatArray
from densdiff.core.sliding_window import SlidingSum, run_length_threshold
from densdiff.data import parameters
from densdiff.data.points import check_points, check_sample
from densdiff.errors import InputError
from densdiff.estimators.lsdd import LSDD
from densdiff.series.features import CENTERS
from densdiff.series.monitor_state import (
    MonitorState,
    StreamProgress,
    as_parameters,
    checked_run_length,
    settings_of,
)
from densdiff.series.stream import StreamModel
from densdiff.threads import on_one_thread

_ENOUGH = 40  # windows in a reference
_EXACT = 2**53  # whole numbers that float64 holds
_ROWS = 4096  # looked at in one go, so that memory stays the same


@dataclass(frozen=True, slots=True)
class MonitorStep:
    """What a monitor says after one row.

    Attributes
    ----------
    index : int
        Of the row, from 0 at the first update.
    score : float or None
        Squared distance of the last ``window`` rows from the reference, in units of its noise: about the number of axes
        while all is calm. None until there are so many rows.
    threshold : float
    alarm : bool
        Whether the score exceeds the threshold.

    Examples
    --------
    >>> import densdiff as dd
    >>> import numpy as np
    >>> reference = np.random.default_rng(0).normal(size=(1000, 1))
    >>> monitor = dd.ChangeMonitor(reference, window=20, run_length=500, random_state=0)
    >>> print(monitor.update([0.5]))
    row 0: the window is not full yet
    """

    index: int
    score: float | None
    threshold: float
    alarm: bool

    @property
    def strength(self) -> float | None:
        """The score in thresholds: above 1 is an alarm."""
        return None if self.score is None else self.score / self.threshold

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        if self.score is None:
            return f"row {self.index}: the window is not full yet"
        what = "ALARM, " if self.alarm else ""
        return f"row {self.index}: {what}score {self.score:.4g}, {self.score / self.threshold:.2f} of the threshold"


class ChangeMonitor:
    """Watches a stream for a departure from a fixed reference sample.

    Each row moves a window of the last rows; its distance from the reference is compared with a threshold that a
    stream like the reference exceeds after ``run_length`` rows on average. An alarm stays while the score is above the
    threshold.

    Parameters
    ----------
    reference : array or data frame of shape (n, d)
        Rows from a time when all was well: at least two windows, and 40 or more for the run length to be as asked.
    window : int
        Rows that are compared with the reference: few for a quick answer to a large change, many for a small one.
    run_length : float
        Average number of rows until a false alarm, counted from the first update.
    model : LSDD, optional
        Its sigma and lam are used where they are numbers, its ``n_centers`` and ``standardize`` always; by default
        150 centers, the median distance, and a tenth of the mean row sum of the kernel matrix.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    threshold_ : float
    n_seen_ : int
        Rows since the start or the last reset.
    alarm_ : bool
        Whether the last row's score was above the threshold.
    names_ : tuple of str
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
    >>> next(step.index for step in steps if step.alarm) < 120
    True
    """

    def __init__(
        self,
        reference: Any,
        *,
        window: int = 50,
        run_length: float = 1000,
        model: Any = None,
        random_state: Any = None,
    ) -> None:
        self.window = parameters.whole(window, "window", 2)
        self.run_length = checked_run_length(run_length, self.window)
        usual = LSDD(solver="centers", n_centers=CENTERS)
        chosen: LSDD = parameters.estimator(usual if model is None else model, (LSDD,))
        if chosen.centers is not None:
            text = "model must not have centers of its own: a monitor draws them from its reference"
            raise InputError(text, argument="model")
        self._settings = settings_of(chosen)
        self.seed_ = parameters.seed(random_state if chosen.random_state is None else chosen.random_state)
        self._learn(reference)

    @on_one_thread
    def _learn(self, reference: Any) -> None:
        name = messages.name_of("reference")
        rows, names, notes = check_sample(reference, name)
        if len(rows) < 2 * self.window:
            need = f"at least {2 * self.window} are needed, two windows of {self.window}"
            raise InputError(f"{name} has {len(rows)} rows; {need}", argument="reference")
        varies = rows.max(axis=0) > rows.min(axis=0)  # a difference of the two may overflow
        if not varies.any():
            text = f"all rows of {name} are the same, so no change can be measured; pass rows that vary"
            raise InputError(text, argument="reference")
        if len(rows) < _ENOUGH * self.window:
            few = f"{name} has {len(rows)} rows, fewer than {_ENOUGH} windows of {self.window}"
            messages.warn(f"{few}: the run length may be far from {self.run_length:g}", notes)
        if constant := [column for column, moves in zip(names, varies, strict=True) if not moves]:
            what = "columns that are constant in the reference are ignored in the stream"
            messages.warn(f"{what}: {messages.listed(constant)}", notes)
        model = StreamModel.of(rows, LSDD(solver="centers", **as_parameters(self._settings)), self.seed_)
        features = model.features(rows)
        random = np.random.default_rng([self.seed_, 12])
        height, beyond = run_length_threshold(features, self.window, self.run_length, random)
        if beyond:
            notes.append(
                f"the threshold for a run length of {self.run_length:g} is extrapolated from those for shorter ones"
            )
        self._model, self._mean = model, features.mean(axis=0)
        self.threshold_, self.n_reference_ = self.window * height, len(rows)
        self.names_, self.warnings_ = names, tuple(notes)
        self.reset()

    @property
    def n_seen_(self) -> int:
        return self._sums.seen

    @property
    def alarm_(self) -> bool:
        """Whether the last row's score was above the threshold."""
        if self.n_seen_ < self.window:
            return False
        gap = (self._sums.sum + self._sums.tail_sums[self.n_seen_ % self.window]) / self.window - self._mean
        return bool(self.window * np.einsum("j,j->", gap, gap) > self.threshold_)

    @property
    def sigma_(self) -> float:
        return self._model.sigma * self._model.scaling.sigma_unit

    @property
    def lam_(self) -> float:
        return self._model.lam

    def update(self, x: Any) -> MonitorStep:
        """Take one row: a number, a sequence of d numbers, a mapping or named tuple, or a frame of one row.

        A row that cannot be used is an InputError with its index and leaves the monitor as it was.
        """
        return self._push(self._check_row(x))[0]

    def update_many(self, X: Any) -> list[MonitorStep]:
        """Take rows one after the other, like as many calls of `update`: all of them, or none if one is bad.

        Rows are a frame, an array, a mapping of columns, or a list of mappings.
        """
        if isinstance(X, (list, tuple)) and not X:
            return []
        try:
            rows = check_points(X, self.names_, "X")
        except InputError as error:
            place = f"no row was taken; row 0 would be row {self.n_seen_} of the stream"
            raise error.reworded(f"{error.marked}; {place}") from None
        return [step for first in range(0, len(rows), _ROWS) for step in self._push(rows[first : first + _ROWS])]

    def reset(self, reference: Any = None) -> "ChangeMonitor":
        """Forget the stream; with a new reference, learn and calibrate anew."""
        if reference is None:
            self._sums = SlidingSum(self.window, len(self._mean))
        else:
            self._learn(reference)
        return self

    def _push(self, rows: FloatArray) -> list[MonitorStep]:
        first = self.n_seen_
        gaps = self._sums.push(self._model.features(rows)) / self.window - self._mean
        scores = (self.window * np.einsum("ij,ij->i", gaps, gaps)).tolist()
        threshold = self.threshold_
        return [
            MonitorStep(i, score, threshold, score > threshold)
            if i >= self.window - 1
            else MonitorStep(i, None, threshold, False)
            for i, score in enumerate(scores, start=first)
        ]

    def _check_row(self, x: Any) -> FloatArray:
        """One row (1, d), checked; plain numbers take no detour."""
        d = len(self.names_)
        try:
            if isinstance(x, tuple) and hasattr(x, "_asdict") and set(self.names_) & set(named := x._asdict()):
                x = named
            if isinstance(x, Mapping):
                x = self._by_name(x)
            elif hasattr(x, "to_frame") and hasattr(x, "index"):  # a row of a pandas frame
                x = x.to_frame().T
            if isinstance(x, (int, float, list, tuple, np.ndarray, np.generic)):
                row = _as_row(x)
                is_plain = row.dtype.kind == "f" or (row.dtype.kind in "iub" and np.abs(row).max(initial=0) < _EXACT)
                is_plain = is_plain and not (isinstance(x, (list, tuple)) and any(map(_is_inexact, x)))
                if is_plain and (row.shape in ((d,), (1, d)) or (d == 1 and row.ndim == 0)):
                    checked = row.reshape(1, d).astype(float)
                    if math.isfinite(checked.sum()) or np.isfinite(checked).all():  # a sum is quick, but may overflow
                        return checked
                    j = int(np.flatnonzero(~np.isfinite(checked[0]))[0])
                    name = self.names_[j]
                    raise InputError(f"column {messages.shown(name)} is {checked[0, j]}", column=name)
                x = row.reshape(1, 1) if row.ndim == 0 else x
            if isinstance(x, (Sequence, np.ndarray)) and not isinstance(x, str) and np.ndim(x) == 1 and d > 1:
                x = [list(x)]
            checked = check_points(x, self.names_, "x")
            if len(checked) != 1:
                raise InputError(f"x has {len(checked)} rows; update takes one, update_many takes many", argument="x")
            return checked
        except (ValueError, TypeError) as error:  # InputError is a ValueError; NumPy refuses lists of lists with others
            text = f"row {self.n_seen_} of the stream was refused and changed nothing: {error}"
            column = error.column if isinstance(error, InputError) else None
            raise InputError(text, argument="x", column=column, row=self.n_seen_) from None

    def _by_name(self, x: Mapping[Any, Any]) -> list[Any]:
        named = {str(name): value for name, value in x.items()}
        if lacking := [name for name in self.names_ if name not in named]:
            has = f"it has {', '.join(map(messages.shown, list(named)[:10]))}" if named else "it is empty"
            text = f"x lacks {', '.join(map(messages.shown, lacking[:10]))}; {has}"
            raise InputError(text, argument="x", column=lacking[0])
        if len(named) < len(x):
            twice = sorted({text for text in map(str, x) if list(map(str, x)).count(text) > 1})
            raise InputError(
                f"x has two keys that both read {messages.listed(twice)}; rename one", argument="x", column=twice[0]
            )
        return [named[name] for name in self.names_]

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to exactly that path: arrays and a header of JSON, nothing that could run."""
        self._state().save(path)

    def _state(self, progress: StreamProgress | None = None) -> MonitorState:
        return MonitorState(
            window=self.window,
            run_length=self.run_length,
            seed=self.seed_,
            names=self.names_,
            warnings=self.warnings_,
            n_reference=self.n_reference_,
            settings=self._settings,
            threshold=self.threshold_,
            mean=self._mean,
            sums=self._sums,
            model=self._model,
            progress=progress,
        )

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "ChangeMonitor":
        """Read what `save` wrote; it continues exactly as the saved one would have. Any other file is an InputError."""
        return cls._restored(MonitorState.load(path))

    @classmethod
    def _restored(cls, state: MonitorState) -> "ChangeMonitor":
        monitor = cls.__new__(cls)
        monitor.window, monitor.run_length, monitor.seed_ = state.window, state.run_length, state.seed
        monitor.names_, monitor.warnings_, monitor.n_reference_ = state.names, state.warnings, state.n_reference
        monitor.threshold_, monitor._settings = state.threshold, state.settings
        monitor._mean, monitor._sums, monitor._model = state.mean, state.sums, state.model
        return monitor

    def __repr__(self) -> str:
        return f"ChangeMonitor(window={self.window}, run_length={self.run_length:g})"

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
