"""The file of a saved monitor: arrays and a header of JSON, nothing that could run, every part checked on loading.

What a monitor does with its state lives in `monitor`.
"""

import datetime
from dataclasses import asdict, dataclass, fields
from os import PathLike
from typing import Any

import numpy as np

from densdiff import messages
from densdiff.core.change_odds import Hypotheses
from densdiff.core.change_score import Score
from densdiff.core.forgetting_sums import Bank, decays
from densdiff.data import parameters
from densdiff.errors import InputError
from densdiff.estimators.lsdd import LSDD
from densdiff.io.npz import check_kind, checked_texts, load_arrays, save_arrays
from densdiff.results import VERSION
from densdiff.series.stream import StreamModel
from densdiff.series.stream_columns import StreamColumns
from densdiff.series.stream_progress import StreamProgress
from densdiff.series.watched_stream import KEPT, Detector, StreamPosition

AFTER_ALARM = ("continue", "reset")
_KIND, _SCHEMA = "densdiff monitor", 4
_FORMER = {1: "which watched a single window", 2: "which watched sums only", 3: "whose alarms ended at the threshold"}
_LONGEST = 1e12  # rows; beyond any stream
_EXPONENT = 1100  # of float64, with room
_FAR = 1e100
_SINGLE = ("threshold", "release", "evidence", "sigma", "lam", "sigma_unit")  # numbers


@dataclass(frozen=True)
class MonitorState:
    """All that a monitor knows."""

    run_length: float
    after_alarm: str
    seed: int
    warnings: tuple[str, ...]
    n_reference: int
    settings: dict[str, Any]
    columns: StreamColumns
    detector: Detector
    position: StreamPosition
    progress: StreamProgress | None = None

    def save(self, path: str | PathLike[str]) -> None:
        """Write to exactly that path, all or nothing: a crash must not take the last state along."""
        columns, detector, position = self.columns, self.detector, self.position
        header = {
            "kind": _KIND,
            "schema": _SCHEMA,
            "version": VERSION,
            "window": detector.window,
            "run_length": self.run_length,
            "after_alarm": self.after_alarm,
            "seed": self.seed,
            "names": list(columns.names),
            "levels": [None if levels is None else list(levels) for levels in columns.levels],
            "marked": [list(codes) for codes in columns.marked],
            "fills": [None if np.isnan(fill) else fill for fill in columns.fills.tolist()],
            "warnings": list(self.warnings),
            "n_reference": self.n_reference,
            "n_seen": position.seen,
            "n_fresh": position.fresh,
            "since": position.since,
            "new_levels": position.new_levels,
            "settings": self.settings,
        }
        if self.progress is not None:
            header["progress"] = asdict(self.progress)
        score = detector.score
        arrays: dict[str, Any] = {"threshold": detector.threshold, "release": detector.release}
        arrays |= {"heights": score.heights, "evidence": score.evidence}
        arrays |= {"reference_mean": detector.mean, "precision": score.bank.precision}
        arrays |= {field.name: getattr(score.hypotheses, field.name) for field in fields(Hypotheses)}
        arrays |= {"sums": position.sums, "odds": position.odds, "recent": position.recent} | detector.model.arrays()
        save_arrays(path, header, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "MonitorState":
        """Read what `save` wrote; anything else is an InputError."""
        return load_arrays(path, "a saved monitor", cls._from_arrays)

    @classmethod
    def _from_arrays(cls, header: dict[str, Any], arrays: dict[str, Any]) -> "MonitorState":
        schema = header.get("schema")
        if header.get("kind") == _KIND and type(schema) is int and schema in _FORMER:
            what = f"it is of version {schema} (densdiff {header.get('version')}), {_FORMER[schema]}"
            raise InputError(f"{what}; start the monitor anew from its reference")
        check_kind(header, _KIND, _SCHEMA)
        window = parameters.whole(header["window"], "window", 2)
        columns = _checked_columns(header)
        checked: dict[str, Any] = {
            "run_length": checked_run_length(header["run_length"], window),
            "after_alarm": parameters.choice(header["after_alarm"], "after_alarm", AFTER_ALARM),
            "seed": parameters.whole(header["seed"], "seed", 0),
            "warnings": checked_texts(header["warnings"], "warnings"),
            "n_reference": parameters.whole(header["n_reference"], "n_reference", 1),
            "settings": settings_of(LSDD(solver="centers", **as_parameters(header["settings"]))),
            "progress": _checked_progress(header.get("progress")),
        }
        _check_arrays(arrays, window, len(columns.owners))
        model = StreamModel.from_arrays(arrays)
        hypotheses = Hypotheses(**{field.name: arrays[field.name] for field in fields(Hypotheses)})
        bank = Bank(model.groups, decays(window), arrays["precision"])
        score = Score(bank, hypotheses, float(arrays["evidence"]), arrays["heights"])
        threshold, release = float(arrays["threshold"]), float(arrays["release"])
        detector = Detector(model, arrays["reference_mean"], score, threshold, release, window)
        return cls(columns=columns, detector=detector, position=_checked_position(header, arrays, columns), **checked)


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


def _checked_columns(header: dict[str, Any]) -> StreamColumns:
    names = checked_texts(header["names"], "names")
    levels = [None if texts is None else checked_texts(texts, "levels") for texts in header["levels"]]
    marked = [tuple(parameters.whole(code, "marked", 0) for code in codes) for codes in header["marked"]]
    fills = np.array([np.nan if fill is None else 1.0 * fill for fill in header["fills"]], dtype=float)
    is_sound = len(levels) == len(marked) == len(names) == len(fills) and not np.isinf(fills).any()
    if not is_sound or any(max(codes, default=-1) >= len(levels[j] or ()) for j, codes in enumerate(marked)):
        raise InputError("its levels do not match its names")
    return StreamColumns(names, tuple(levels), fills, tuple(marked))


def _checked_position(header: dict[str, Any], arrays: dict[str, Any], columns: StreamColumns) -> StreamPosition:
    """How far the stream had come."""
    seen = parameters.whole(header["n_seen"], "n_seen", 0)
    fresh = parameters.whole(header["n_fresh"], "n_fresh", 0)
    since = header["since"]
    new_levels = {str(name): list(checked_texts(texts, "new_levels")) for name, texts in header["new_levels"].items()}
    if fresh > seen or not set(new_levels) <= set(columns.names):
        raise InputError("its rows are not those of one stream")
    if since is not None:
        since = parameters.whole(since, "since", 0)
    return StreamPosition(arrays["sums"], arrays["odds"], arrays["recent"], seen, fresh, since, new_levels)


def _check_arrays(arrays: dict[str, Any], window: int, columns: int) -> None:
    """Every array of a saved monitor has its shape and kind, and values with which one can compute."""
    (b, d), q, paces = arrays["centers"].shape, arrays["turn"].shape[-1], len(decays(window))
    factors = arrays["factors"]
    s = int((factors[0] == factors[1]).sum())
    r = factors.shape[-1] - s
    p = d + s + (s > 1) + r + q
    summed, hypotheses = q + d * (d > 1), arrays["feature"].shape[:1]
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(_SINGLE, ())
    shapes |= dict.fromkeys(("keep", "shift", "exponent", "mean", "deviation", "low", "high", "middle"), (d,))
    shapes |= {"centers": (b, d), "turn": (b, q), "reference_mean": (p,), "precision": (p,), "sums": (paces, summed)}
    shapes |= {"total": (s if s > 1 else 0,), "factors": (2, s + r), "heights": (paces, 1 + (d > 1))}
    shapes |= dict.fromkeys(("feature", "slope", "cost", "weight", "odds"), hypotheses)
    shapes |= {"recent": (KEPT * window, columns)}
    if odd := set(shapes) ^ set(arrays):
        raise InputError(f"it has missing or unexpected arrays: {', '.join(sorted(odd))}")
    for name, shape in shapes.items():
        _check_array(name, arrays[name], shape)
    keep, exponent = arrays["keep"], arrays["exponent"]
    if not 0 < d <= columns or np.unique(keep).size < d or keep.min() < 0 or keep.max() >= columns:
        raise InputError("its columns do not match its names")
    if factors.min(initial=0) < 0 or factors.max(initial=0) >= d or (factors[0] != factors[1])[:s].any():
        raise InputError("its factors are not columns")
    feature = arrays["feature"]
    if not len(feature) or feature.min() < 0 or feature.max() >= p - q:
        raise InputError("its hypotheses are not about its features")
    for name in (*_SINGLE, "deviation", "heights", "total", "weight"):
        if not (arrays[name] > 0).all():
            raise InputError(f"its {name} must be positive")
    if arrays["release"] > arrays["threshold"]:
        raise InputError("its release is above its threshold")
    if (arrays["cost"] < 0).any() or (arrays["odds"] < 0).any():
        raise InputError("its costs and odds must not be negative")
    if (arrays["precision"] < 0).any() or not arrays["precision"].any() or (arrays["low"] > arrays["high"]).any():
        raise InputError("its precision must not be negative, and its low ends must be below the high ones")
    for name in (
        "threshold",
        "release",
        "sigma",
        "turn",
        "reference_mean",
        "sums",
        "precision",
        "heights",
        "low",
        "high",
        "middle",
        "evidence",
        "slope",
        "cost",
        "weight",
    ):
        if np.abs(arrays[name]).max(initial=0.0) > _FAR or (arrays[name].ndim == 0 and arrays[name] < 1.0 / _FAR):
            raise InputError(f"its {name} is far outside the possible range")  # a square would overflow
    if exponent.max() > _EXPONENT or exponent.min() < -_EXPONENT:  # -2^63 has no absolute value
        raise InputError("its exponents are outside the range of float64")


def _check_array(name: str, array: Any, shape: tuple[int, ...]) -> None:
    kind = "i" if name in ("keep", "exponent", "factors", "feature") else "f"
    if array.shape != shape or array.dtype.kind != kind or not np.isfinite(array).all():
        what = "whole numbers" if kind == "i" else "finite numbers"
        raise InputError(f"its array {name} must hold {what} and have the shape {shape}")
    if kind == "f" and array.itemsize != 8:
        raise InputError(f"its array {name} must hold 64-bit numbers")  # to compare others may overflow
