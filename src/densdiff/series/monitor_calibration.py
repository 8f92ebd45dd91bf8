"""What a monitor learns from its reference: features and their means, order of the rows, thresholds, and notes.

The simulation lives in `core.run_length`, tests of the order in `core.serial_dependence`.
"""

from collections.abc import Sequence

import numpy as np

from densdiff.core.change_odds import families
from densdiff.core.forgetting_sums import Bank, decays
from densdiff.core.run_length import Float32Array, RowDraws, Simulation, mean_run, run_length_threshold
from densdiff.core.scaling import FloatArray
from densdiff.core.serial_dependence import SerialDependence, serial_dependence
from densdiff.messages import shown, warn
from densdiff.series.stream import StreamModel
from densdiff.series.watched_stream import Detector

ENOUGH = 40  # windows in a reference, of rows that count as independent
_SPREAD = 2.5  # of the logarithm of a run length, times the root of the rows of the reference
_QUICK = 10  # rows: a run length of so many varies little
_MOST_OFF = 5.0  # logarithm of a factor
_ENTRIES = 40_000_000  # of features that are kept for the simulation
_BLOCK = 4096
_SERIES = 40  # features whose order is looked at
_DRIFTING, _LONGEST_DRIFT = 60, 5000  # simulated streams with a drift, and their rows


def calibrate(
    rows: FloatArray,
    names: Sequence[str],
    model: StreamModel,
    window: int,
    run_length: float,
    seed: int,
    name: str,
    notes: list[str],
) -> Detector:
    """What is fixed while a stream is watched, from rows of numbers (n, q), ``names`` of their columns."""
    features, mean, variance = _features(model, rows)
    floor = 1e-12 * max(float(variance.max()), np.finfo(float).tiny)
    precision = np.where(variance > floor, 1.0 / np.maximum(variance, floor), 0.0)
    precision[model.groups.single :] = 1.0  # kernels are in units of their noise already
    bank = Bank(model.groups, decays(window), precision)
    own = np.flatnonzero(model.owners.max(axis=1) == 1.0)  # of one column: values and squares
    series = [int(j) for j in own if precision[j] > 0][:_SERIES]
    order = serial_dependence(features[:, series].astype(float)) if len(rows) >= 100 else SerialDependence()
    gaps = np.subtract(features, mean.astype(np.float32), out=features)
    hypotheses = families(model.groups, gaps, _times(model, series, order), window)
    simulation = Simulation(bank, hypotheses, gaps, RowDraws(len(gaps), order.block, order.period), window)
    random = np.random.default_rng([seed, 12])
    thresholds = run_length_threshold(simulation, run_length, random)
    if thresholds.is_extrapolated:
        notes.append(f"the threshold for a run length of {run_length:g} is extrapolated from those for shorter ones")
    _tell_few(len(rows), order, window, run_length, name, notes)
    if order.drifting is not None:
        feature = series[order.drifting]
        drift = np.zeros((2, model.groups.width))  # at the first row after the reference, and from row to row
        drift[:, feature] = order.drift * float(gaps[:, feature].std()) * np.array([0.5 * len(rows), 1.0])
        steps = window + round(2.0 * min(run_length, _LONGEST_DRIFT))
        scores = simulation.scores(thresholds.score, _DRIFTING, steps, random, drift)
        expected = mean_run(np.maximum.accumulate(scores, axis=1), thresholds.threshold, window)
        what = "" if feature < model.groups.levels else "the spread of "
        what += f"column {shown(names[int(model.owners[feature].argmax())])} of {name} drifts by"
        what += f" {order.drift * len(rows):+.2f} deviations from its first row to its last"
        much = f"about {min(expected, run_length):.0f} rows instead of {run_length:g}"
        warn(f"{what}: if that goes on, expect an alarm after {much}", notes)
    return Detector(model, mean, thresholds.score, thresholds.threshold, thresholds.release, window)


def _times(model: StreamModel, series: Sequence[int], order: SerialDependence) -> FloatArray:
    """How many rows count as one, for each single feature, (single,): of a pair, those of its quicker column."""
    times = np.full(model.groups.single, order.time)
    if order.times:
        times[series] = order.times
    columns = times[: model.groups.levels]
    pairs = model.factors[:, model.n_squares :]
    times[model.groups.single - pairs.shape[1] :] = columns[pairs].min(axis=0)
    return times


def _features(model: StreamModel, rows: FloatArray) -> tuple[Float32Array, FloatArray, FloatArray]:
    """Features of the last rows that fit into memory, and means and variances over all of them."""
    width = model.groups.width
    kept = np.empty((min(len(rows), max(_ENTRIES // width, 1)), width), np.float32)
    total, squares = np.zeros(width), np.zeros(width)
    center = model.features(rows[:1])[0]
    for first in range(0, len(rows), _BLOCK):
        part = model.features(rows[first : first + _BLOCK])
        gaps = part - center
        total += gaps.sum(axis=0)
        squares += np.square(gaps).sum(axis=0)
        place = first - (len(rows) - len(kept))
        if place + len(part) > 0:
            kept[max(place, 0) : place + len(part)] = part[max(-place, 0) :]
    mean = total / len(rows)
    return kept, np.asarray(mean + center), np.asarray(np.maximum(squares / len(rows) - mean**2, 0.0))


def _spread(rows: float, run_length: float) -> float:
    """How much the logarithm of the run length differs from one reference of so many independent rows to another."""
    return float(_SPREAD * np.log(max(run_length / _QUICK, 1.5)) / np.sqrt(rows))


def _tell_few(n: int, order: SerialDependence, window: int, run_length: float, name: str, notes: list[str]) -> None:
    """A warning if the reference is too short for the run length to be as asked, with the spread to expect."""
    windows = n / order.time / window
    if windows >= ENOUGH:
        return
    counted = f"{name} has {n} rows"
    if order.time > 1.5:
        counted += f", which count as {n / order.time:.0f} because neighbouring rows are alike"
    factor = float(np.exp(min(2.0 * _spread(n / order.time, run_length), _MOST_OFF)))
    spread = f"the run length may be anywhere from {run_length / factor:.0f} to {run_length * factor:.0f}"
    warn(f"{counted}, fewer than {ENOUGH} windows of {window}: {spread}", notes)
