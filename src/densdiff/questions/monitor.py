"""Is a stream changing now? The distance of its last rows from a reference, and a threshold for a mean run length."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff import checks
from densdiff.core.scaling import FloatArray
from densdiff.core.stream import SlidingSum, run_length_threshold
from densdiff.errors import InputError
from densdiff.estimators.lsdd import LSDD
from densdiff.estimators.results import VERSION
from densdiff.estimators.series import CENTERS
from densdiff.estimators.stream import StreamModel

_KIND, _SCHEMA = "densdiff monitor", 1
_ENOUGH = 40  # windows in a reference
_LONGEST = 1e12  # rows; beyond any stream
_EXACT = 2**53  # whole numbers that float64 holds
_EXPONENT = 1100  # of float64, with room
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
        Rows of the time when all was well, at least two windows; 40 windows or more for a run length as asked.
    window : int
        Rows that are compared with the reference: few for a quick answer to a large change, many for a small one.
    run_length : float
        Rows until a false alarm, on average, counted from the first update.
    model : LSDD, optional
        Its sigma and lam are taken where they are numbers, its ``n_centers`` and ``standardize`` as they are; by
        default 150 centers, the median distance, and a tenth of the kernel matrix' mean row sum.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    threshold_ : float
    n_seen_ : int
        Rows since the start or the last reset.
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
        self.window = checks.whole(window, "window", 2)
        self.run_length = _run_length(run_length, self.window)
        chosen = LSDD(solver="centers", n_centers=CENTERS) if model is None else model
        if not isinstance(chosen, LSDD):
            got = (
                f"the class {model.__name__}, pass {model.__name__}()"
                if isinstance(model, type)
                else checks.came(model)
            )
            raise InputError(f"model must be an LSDD object; got {got}")
        if chosen.centers is not None:
            raise InputError("model must not have centers of its own: a monitor takes rows of its reference")
        self._settings = _settings(chosen)
        own = chosen.random_state
        self.seed_ = checks.seed(random_state if own is None else own)
        self._learn(reference)

    def _learn(self, reference: Any) -> None:
        rows, names, notes = checks.sample(reference, "reference")
        if len(rows) < 2 * self.window:
            raise InputError(f"reference has {len(rows)} rows; at least two windows of {self.window} are needed")
        if not np.ptp(rows, axis=0).any():
            raise InputError("reference holds one and the same row again and again: no change could be measured")
        if len(rows) < _ENOUGH * self.window:
            few = f"reference has {len(rows)} rows, less than {_ENOUGH} windows of {self.window}"
            checks.warn(f"{few}: the run length may differ much from {self.run_length:g}", notes)
        if still := [name for name, column in zip(names, rows.T, strict=True) if not np.ptp(column)]:
            what = "constant in the reference, so what it does in the stream is not seen"
            checks.warn(f"{what}: {checks.listed(still)}", notes)
        model = StreamModel.of(rows, LSDD(solver="centers", **_as_parameters(self._settings)), self.seed_)
        features = model.features(rows)
        random = np.random.default_rng([self.seed_, 12])
        height, beyond = run_length_threshold(features, self.window, self.run_length, random)
        if beyond:
            notes.append(f"the threshold for a run length of {self.run_length:g} continues those of shorter ones")
        self._model, self._mean = model, features.mean(axis=0)
        self.threshold_, self.n_reference_ = self.window * height, len(rows)
        self.names_, self.warnings_ = names, tuple(notes)
        self.reset()

    @property
    def n_seen_(self) -> int:
        return self._sums.seen

    @property
    def sigma_(self) -> float:
        return self._model.sigma * self._model.scaling.sigma_unit

    @property
    def lam_(self) -> float:
        return self._model.lam

    def update(self, x: Any) -> MonitorStep:
        """Take one row: a number, a sequence of d numbers, a mapping by column name, or a frame of one row.

        A row that cannot be used is an InputError with its index and leaves the monitor as it was.
        """
        return self._pushed(self._row(x))[0]

    def update_many(self, X: Any) -> list[MonitorStep]:
        """Take rows one after the other, as so many calls of `update`; all of them or, if one is bad, none."""
        try:
            rows = checks.points(X, self.names_, "X")
        except InputError as error:
            raise InputError(f"{error}; row 0 would be row {self.n_seen_} of the stream, which is as it was") from None
        return [step for first in range(0, len(rows), _ROWS) for step in self._pushed(rows[first : first + _ROWS])]

    def reset(self, reference: Any = None) -> "ChangeMonitor":
        """Forget the stream; with a new reference, learn and calibrate anew."""
        if reference is None:
            self._sums = SlidingSum(self.window, len(self._mean))
        else:
            self._learn(reference)
        return self

    def _pushed(self, rows: FloatArray) -> list[MonitorStep]:
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

    def _row(self, x: Any) -> FloatArray:
        """One row (1, d); plain numbers take no detour."""
        d = len(self.names_)
        try:
            if isinstance(x, Mapping):
                x = self._by_name(x)
            elif hasattr(x, "to_frame") and hasattr(x, "index"):  # a row of a pandas frame
                x = x.to_frame().T
            if isinstance(x, (int, float, list, tuple, np.ndarray, np.generic)):
                row = _as_row(x)
                plain = row.dtype.kind == "f" or (row.dtype.kind in "iub" and np.abs(row).max(initial=0) < _EXACT)
                plain = plain and not (isinstance(x, (list, tuple)) and any(map(_inexact, x)))
                if plain and (row.shape in ((d,), (1, d)) or (d == 1 and row.ndim == 0)):
                    found = row.reshape(1, d).astype(float)
                    if np.isfinite(found).all():
                        return found
                    j = int(np.flatnonzero(~np.isfinite(found[0]))[0])
                    raise InputError(f"column {checks.shown(self.names_[j])} is {found[0, j]}")
                x = row.reshape(1, 1) if row.ndim == 0 else x
            if isinstance(x, (Sequence, np.ndarray)) and not isinstance(x, str) and np.ndim(x) == 1 and d > 1:
                x = [list(x)]
            found = checks.points(x, self.names_, "x")
            if len(found) != 1:
                raise InputError(f"x has {len(found)} rows; update takes one, update_many takes many")
            return found
        except (ValueError, TypeError) as error:  # InputError is a ValueError; NumPy refuses lists of lists with others
            raise InputError(f"row {self.n_seen_} of the stream was refused and changed nothing: {error}") from None

    def _by_name(self, x: Mapping[Any, Any]) -> list[Any]:
        named = {str(name): value for name, value in x.items()}
        if lacking := [name for name in self.names_ if name not in named]:
            has = f"it has {', '.join(map(checks.shown, list(named)[:10]))}" if named else "it is empty"
            raise InputError(f"x lacks {', '.join(map(checks.shown, lacking[:10]))}; {has}")
        if len(named) < len(x):
            twice = sorted({text for text in map(str, x) if list(map(str, x)).count(text) > 1})
            raise InputError(f"x has two keys that read {checks.listed(twice)}")
        return [named[name] for name in self.names_]

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to exactly that path: arrays and a header of JSON, nothing that could run."""
        header = {
            "kind": _KIND,
            "schema": _SCHEMA,
            "version": VERSION,
            "window": self.window,
            "run_length": self.run_length,
            "seed": self.seed_,
            "names": list(self.names_),
            "warnings": list(self.warnings_),
            "n_reference": self.n_reference_,
            "n_seen": self.n_seen_,
            "settings": self._settings,
        }
        text = np.frombuffer(json.dumps(header).encode(), np.uint8)
        arrays: dict[str, Any] = {"header": text, "threshold": self.threshold_, "reference_mean": self._mean}
        arrays |= {"block": self._sums.block, "rest": self._sums.rest, "sum": self._sums.sum} | self._model.arrays()
        target = Path(path)
        aside = target.with_name(f".{target.name}.{os.getpid()}.part")  # a crash must not take the last state along
        try:
            with aside.open("wb") as file:
                np.savez(file, **arrays)
            aside.replace(target)
        finally:
            aside.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "ChangeMonitor":
        """Read what `save` wrote; it goes on bit by bit as the saved one would have. Anything else is an InputError."""
        shown = checks.shown(str(path))
        try:
            with Path(path).open("rb") as file:
                if file.read(2) != b"PK":
                    raise InputError("it is no npz file")
                file.seek(0)
                with np.load(file, allow_pickle=False) as store:
                    arrays = {name: store[name] for name in store.files}
            return cls._restored(arrays)
        except FileNotFoundError:
            raise InputError(f"there is no file {shown}") from None
        except Exception as error:  # a damaged file fails in more ways than can be listed
            why = f"it has no {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
            why = "it holds Python objects, which are never loaded" if "allow_pickle" in why else why
            raise InputError(f"{shown} is no saved monitor: {why}") from None

    @classmethod
    def _restored(cls, arrays: dict[str, Any]) -> "ChangeMonitor":
        header = json.loads(arrays.pop("header").tobytes().decode())
        if not isinstance(header, dict) or header.get("kind") != _KIND:
            raise InputError("its header is another's")
        if header["schema"] != _SCHEMA:
            other = f"it has schema {header['schema']!r}, this version reads {_SCHEMA}"
            raise InputError(f"{other}; it was written by densdiff {header.get('version')}")
        found = cls.__new__(cls)
        found.window = checks.whole(header["window"], "window", 2)
        found.run_length = _run_length(header["run_length"], found.window)
        found.seed_ = checks.whole(header["seed"], "seed", 0)
        found.n_reference_ = checks.whole(header["n_reference"], "n_reference", 1)
        found.names_, found.warnings_ = (_texts(header[name], name) for name in ("names", "warnings"))
        found._settings = _settings(LSDD(solver="centers", **_as_parameters(header["settings"])))
        _check_arrays(arrays, found.window, len(found.names_))
        found.threshold_, found._mean = float(arrays["threshold"]), arrays["reference_mean"]
        found._model = StreamModel.from_arrays(arrays)
        found._sums = SlidingSum(found.window, len(found._mean))
        found._sums.block, found._sums.rest, found._sums.sum = arrays["block"], arrays["rest"], arrays["sum"]
        found._sums.seen = checks.whole(header["n_seen"], "n_seen", 0)
        return found

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


def _inexact(value: Any) -> bool:
    return type(value) is int and abs(value) >= _EXACT


def _as_row(x: Any) -> npt.NDArray[Any]:
    if np.ma.is_masked(x):
        raise InputError("a masked value is missing")
    try:
        return np.asarray(x)
    except ValueError:
        raise InputError("x holds a list where a number is needed") from None


def _run_length(value: Any, window: int) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)) or not value > window:
        raise InputError(f"run_length must be a number of rows above the window of {window}; got {checks.shown(value)}")
    if value > _LONGEST:
        raise InputError(f"run_length must be at most {_LONGEST:g} rows; got {checks.shown(value)}")
    return float(value)


def _settings(model: LSDD) -> dict[str, Any]:
    """What a monitor takes of a model, as plain JSON values."""
    sigmas, lams = model.checked_grids()
    return {
        "sigma": None if sigmas is None else sigmas.tolist(),
        "lam": None if lams is None else lams.tolist(),
        "n_centers": checks.whole(model.n_centers, "n_centers", 1),
        "standardize": checks.flag(model.standardize, "standardize"),
    }


def _as_parameters(settings: dict[str, Any]) -> dict[str, Any]:
    if set(settings) != {"sigma", "lam", "n_centers", "standardize"}:
        raise InputError(f"its settings are {', '.join(settings)}")
    return {name: "cv" if value is None else value for name, value in settings.items()}


def _texts(value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InputError(f"its {name} are no list of texts")
    return tuple(value)


def _check_arrays(arrays: dict[str, Any], window: int, columns: int) -> None:
    """Every array of a saved monitor has its shape and kind, and values with which one can compute."""
    (b, d), p = arrays["centers"].shape, arrays["reference_mean"].size
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("threshold", "sigma", "lam", "sigma_unit"), ())
    shapes |= dict.fromkeys(("keep", "shift", "exponent", "mean", "deviation"), (d,))
    shapes |= {"centers": (b, d), "turn": (b, p), "reference_mean": (p,)}
    shapes |= {"block": (window, p), "rest": (window + 1, p), "sum": (p,)}
    if odd := set(shapes) ^ set(arrays):
        raise InputError(f"it lacks, or should not have, {', '.join(sorted(odd))}")
    for name, shape in shapes.items():
        kind = "i" if name in ("keep", "exponent") else "f"
        if arrays[name].shape != shape or arrays[name].dtype.kind != kind or not np.isfinite(arrays[name]).all():
            what = "whole numbers" if kind == "i" else "finite numbers"
            raise InputError(f"its array {name} must hold {what} and have the shape {shape}")
    keep, exponent = arrays["keep"], arrays["exponent"]
    if not 0 < d <= columns or np.unique(keep).size < d or keep.min() < 0 or keep.max() >= columns:
        raise InputError("its columns do not fit its names")
    for name in ("threshold", "sigma", "lam", "sigma_unit", "deviation"):
        if not (arrays[name] > 0).all():
            raise InputError(f"its {name} must be positive")
    if np.abs(exponent).max() > _EXPONENT:
        raise InputError("its exponents are none of float64")
