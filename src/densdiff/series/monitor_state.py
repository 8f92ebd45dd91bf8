"""The file of a saved monitor: arrays and a header of JSON, nothing that could run, every part checked on loading.

What a monitor does with its state lives in `monitor`.
"""

import datetime
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

import numpy as np

from densdiff import messages
from densdiff.core.scaling import FloatArray
from densdiff.core.sliding_window import SlidingSum
from densdiff.data import parameters
from densdiff.errors import InputError
from densdiff.estimators.lsdd import LSDD
from densdiff.io.npz import check_kind, checked_texts, load_arrays, save_arrays
from densdiff.results import VERSION
from densdiff.series.stream import StreamModel

_KIND, _SCHEMA = "densdiff monitor", 1
_LONGEST = 1e12  # rows; beyond any stream
_EXPONENT = 1100  # of float64, with room
_FAR = 1e100


@dataclass(frozen=True)
class StreamProgress:
    """What a service knows beside its monitor: of the lines that it read, and of the moment of saving."""

    saved_at: str  # ISO 8601, UTC
    ended: bool  # whether the run ended after saving, or was to go on
    alarms: int = 0
    bad_rows: int = 0
    recent: str = ""  # the last lines, 1 for a bad one, 0 for a good one
    mostly_bad: bool = False  # whether an alarm of bad rows lasts


@dataclass(frozen=True)
class MonitorState:
    """All that a monitor knows."""

    window: int
    run_length: float
    seed: int
    names: tuple[str, ...]
    warnings: tuple[str, ...]
    n_reference: int
    settings: dict[str, Any]
    threshold: float
    mean: FloatArray  # of the reference's features, (p,)
    sums: SlidingSum
    model: StreamModel
    progress: StreamProgress | None = None

    def save(self, path: str | PathLike[str]) -> None:
        """Write to exactly that path, all or nothing: a crash must not take the last state along."""
        header = {
            "kind": _KIND,
            "schema": _SCHEMA,
            "version": VERSION,
            "window": self.window,
            "run_length": self.run_length,
            "seed": self.seed,
            "names": list(self.names),
            "warnings": list(self.warnings),
            "n_reference": self.n_reference,
            "n_seen": self.sums.seen,
            "settings": self.settings,
        }
        if self.progress is not None:
            header["progress"] = asdict(self.progress)
        arrays: dict[str, Any] = {"threshold": self.threshold, "reference_mean": self.mean}
        arrays |= {"block": self.sums.block, "rest": self.sums.tail_sums, "sum": self.sums.sum} | self.model.arrays()
        save_arrays(path, header, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "MonitorState":
        """Read what `save` wrote; anything else is an InputError."""
        return load_arrays(path, "a saved monitor", cls._from_arrays)

    @classmethod
    def _from_arrays(cls, header: dict[str, Any], arrays: dict[str, Any]) -> "MonitorState":
        check_kind(header, _KIND, _SCHEMA)
        window = parameters.whole(header["window"], "window", 2)
        names = checked_texts(header["names"], "names")
        checked: dict[str, Any] = {
            "run_length": checked_run_length(header["run_length"], window),
            "seed": parameters.whole(header["seed"], "seed", 0),
            "warnings": checked_texts(header["warnings"], "warnings"),
            "n_reference": parameters.whole(header["n_reference"], "n_reference", 1),
            "settings": settings_of(LSDD(solver="centers", **as_parameters(header["settings"]))),
            "progress": _checked_progress(header.get("progress")),
        }
        _check_arrays(arrays, window, len(names))
        mean = arrays["reference_mean"]
        sums = SlidingSum(window, len(mean))
        sums.block, sums.tail_sums, sums.sum = arrays["block"], arrays["rest"], arrays["sum"]
        sums.seen = parameters.whole(header["n_seen"], "n_seen", 0)
        model = StreamModel.from_arrays(arrays)
        threshold = float(arrays["threshold"])
        return cls(window=window, names=names, threshold=threshold, mean=mean, sums=sums, model=model, **checked)


def checked_run_length(value: Any, window: int) -> float:
    name = messages.argument("run_length")
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)) or not value > window:
        need = f"{name} must be a number of rows above the window of {window}"
        raise InputError(f"{need}; got {messages.shown(value)}", argument="run_length")
    if value > _LONGEST:
        need = f"{name} must be at most {_LONGEST:g} rows"
        raise InputError(f"{need}; got {messages.shown(value)}", argument="run_length")
    return float(value)


def settings_of(model: LSDD) -> dict[str, Any]:
    """What a monitor takes of a model, as plain JSON values."""
    settings = model.settings()
    sigmas, lams = settings.sigmas, settings.lams
    return {
        "sigma": None if sigmas is None else sigmas.tolist(),
        "lam": None if lams is None else lams.tolist(),
        "n_centers": parameters.whole(model.n_centers, "n_centers", 1),
        "standardize": parameters.flag(model.standardize, "standardize"),
    }


def as_parameters(settings: dict[str, Any]) -> dict[str, Any]:
    if set(settings) != {"sigma", "lam", "n_centers", "standardize"}:
        raise InputError(f"its settings must be sigma, lam, n_centers and standardize; got {', '.join(settings)}")
    return {name: "cv" if value is None else value for name, value in settings.items()}


def _checked_progress(value: Any) -> StreamProgress | None:
    if value is None:
        return None
    try:
        progress = StreamProgress(**value)
        datetime.datetime.fromisoformat(progress.saved_at)
        is_sound = isinstance(progress.ended, bool) and isinstance(progress.mostly_bad, bool)
        is_sound = is_sound and isinstance(progress.recent, str) and set(progress.recent) <= {"0", "1"}
    except (TypeError, ValueError):
        is_sound = False
    if not is_sound:
        raise InputError("its progress is not that of a stream")
    parameters.whole(progress.alarms, "alarms", 0)
    parameters.whole(progress.bad_rows, "bad_rows", 0)
    return progress


def _check_arrays(arrays: dict[str, Any], window: int, columns: int) -> None:
    """Every array of a saved monitor has its shape and kind, and values with which one can compute."""
    (b, d), p = arrays["centers"].shape, arrays["reference_mean"].size
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("threshold", "sigma", "lam", "sigma_unit"), ())
    shapes |= dict.fromkeys(("keep", "shift", "exponent", "mean", "deviation"), (d,))
    shapes |= {"centers": (b, d), "turn": (b, p), "reference_mean": (p,)}
    shapes |= {"block": (window, p), "rest": (window + 1, p), "sum": (p,)}
    if odd := set(shapes) ^ set(arrays):
        raise InputError(f"it has missing or unexpected arrays: {', '.join(sorted(odd))}")
    for name, shape in shapes.items():
        kind = "i" if name in ("keep", "exponent") else "f"
        if arrays[name].shape != shape or arrays[name].dtype.kind != kind or not np.isfinite(arrays[name]).all():
            what = "whole numbers" if kind == "i" else "finite numbers"
            raise InputError(f"its array {name} must hold {what} and have the shape {shape}")
        if kind == "f" and arrays[name].itemsize != 8:
            raise InputError(f"its array {name} must hold 64-bit numbers")  # to compare others may overflow
    keep, exponent = arrays["keep"], arrays["exponent"]
    if not 0 < d <= columns or np.unique(keep).size < d or keep.min() < 0 or keep.max() >= columns:
        raise InputError("its columns do not match its names")
    for name in ("threshold", "sigma", "lam", "sigma_unit", "deviation"):
        if not (arrays[name] > 0).all():
            raise InputError(f"its {name} must be positive")
    for name in ("threshold", "sigma", "turn", "reference_mean", "block", "rest", "sum"):
        if np.abs(arrays[name]).max(initial=0.0) > _FAR or (arrays[name].ndim == 0 and arrays[name] < 1.0 / _FAR):
            raise InputError(
                f"its {name} is far outside the possible range"
            )  # all in units of noise; a square would overflow
    if exponent.max() > _EXPONENT or exponent.min() < -_EXPONENT:  # -2^63 has no absolute value
        raise InputError("its exponents are outside the range of float64")
