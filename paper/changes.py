"""Figure 12: scores of changes by KLIEP and by LSDD, in speech and in the acceleration of a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

import densdiff as dd
from paper.authors import authors_distance, authors_lsdd
from paper.canvas import BLUE, new_figure
from paper.claims import Claim
from paper.part import SEED, Job, Part, Rows
from paper.sequences import ACCELERATION, SOURCES, SPEECH, FloatArray, find_sequences, read_sequence

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The first two are the paper's: cross-validation at every position. The third is that with our grids, the last our
# default: one model for the series, at several scales.
METHODS = ("KLIEP", "LSDD (authors)", "LSDD (window)", "LSDD")
_LAG, _WINDOW = 5, 50
_STRIDE = 5  # positions between two fits of a method of the paper; all scores are read there
_NEAR = _WINDOW  # a peak so near is a change's own: marks made by hand are late or early by as much
_RUNS = 4  # sequences of each kind


def fitted_scores(values: FloatArray, method: str, seed: int, stride: int = _STRIDE) -> FloatArray:
    """Distance of the segment from t on from the one before, cross-validated at every stride-th t, nan elsewhere, (T,).

    For KLIEP it is the divergence of the later segment from the earlier one.
    """
    rows = np.lib.stride_tricks.sliding_window_view(values, _LAG)
    scores = np.full(len(values), np.nan)
    for t in range(_WINDOW, len(rows) - _WINDOW + 1, stride):
        after, before = rows[t : t + _WINDOW], rows[t - _WINDOW : t]
        if method == "KLIEP":
            score = float(dd.KLIEP(standardize=False, random_state=seed).fit(after, before).kl_divergence_)
        else:
            score = authors_distance(authors_lsdd(after, before, seed))
        scores[t + (_LAG - 1) // 2] = max(0.0, score)
    return scores


def one_sequence(kind: str, path: str, changes: list[int], noise: float, method: str, seed: int) -> dict[str, Any]:
    """Scores of one method, None where there is none, and for our default the changes it reports if told how many."""
    values = read_sequence(kind, path, changes, noise)
    if method in METHODS[:2]:
        return _plain(fitted_scores(values, method, seed), ())
    by_window = method == "LSDD (window)"
    found = dd.detect_changes(
        values,
        window=_WINDOW,
        lag=_LAG,
        tuning="window" if by_window else "series",
        model=dd.LSDD(solver="centers") if by_window else None,
        n_changes=len(changes),
        random_state=seed,
    )
    return _plain(found.scores, () if by_window else found.changes.tolist())


def _plain(scores: FloatArray, found: Sequence[int]) -> dict[str, Any]:
    return {"scores": [None if np.isnan(score) else float(score) for score in scores], "found": list(found)}


def _described(kind: str, path: str, changes: list[int], noise: float, name: str) -> dict[str, Any]:
    values = read_sequence(kind, path, changes, noise)
    return {"data": kind, "sequence": name, "values": values.tolist(), "changes": list(changes)}


def _jobs(runs: int, data: Path | None) -> list[Job]:
    found = []
    for kind in SOURCES:
        for name, of in list(find_sequences(kind, data).items())[:runs]:
            key, series = f"12-{name.replace('_', '-')}", (kind, str(of.path), of.changes, of.noise)
            found.append(Job(key, _described, (*series, name), seconds=0.1))
            for method, seconds in zip(METHODS, (20.0, 15.0, 1.5, 0.5), strict=True):
                short = method.replace(" (", "-").replace(")", "")
                found.append(Job(f"{key}-{short}", one_sequence, (*series, method, SEED), seconds=seconds))
    return found


def _table(results: list[Any]) -> list[dict[str, Any]]:
    """One sample a row; "change" is 1 at the first sample of a new regime, "found" where our default reports one."""
    rows = []
    for start in range(0, len(results), 1 + len(METHODS)):
        of, *by = results[start : start + 1 + len(METHODS)]
        changes, found = set(of["changes"]), set(by[-1]["found"])
        for t, value in enumerate(of["values"]):
            row = {"data": of["data"], "sequence": of["sequence"], "t": t, "value": value}
            row |= {"change": int(t in changes), "found": int(t in found)}
            rows.append(row | {method: each["scores"][t] for method, each in zip(METHODS, by, strict=True)})
    return rows


def _by_sequence(rows: Rows, kind: str) -> Iterator[list[Mapping[str, Any]]]:
    mine = [row for row in rows if row["data"] == kind]
    for name in dict.fromkeys(row["sequence"] for row in mine):
        yield [row for row in mine if row["sequence"] == name]


def _draw(rows: Rows) -> Figure:
    """The first sequence of each kind, its true changes as lines."""
    kinds = [kind for kind in SOURCES if any(row["data"] == kind for row in rows)]
    figure = new_figure(11.0, 2.0 * (1 + len(METHODS)))
    columns = figure.subplots(1 + len(METHODS), len(kinds), sharex="col", squeeze=False).T
    for kind, axes in zip(kinds, columns, strict=True):
        mine = next(_by_sequence(rows, kind))
        for ax, key in zip(axes, ("value", *METHODS), strict=True):
            line = [(row["t"], row[key]) for row in mine if row[key] is not None]
            ax.plot(*zip(*line, strict=True), color="black", linewidth=0.8)
            for change in (row["t"] for row in mine if row["change"]):
                ax.axvline(change, color=BLUE, linewidth=1.0, alpha=0.6)
            ax.set_title(f"{kind}: {mine[0]['sequence']}" if key == "value" else key, fontsize="medium")
            if key != "value":
                ax.set_ylim(bottom=0.0)
        axes[-1].set_xlabel("t")
    return figure


class Measured(NamedTuple):
    """How clear and stable a score is, over all sequences of a kind."""

    contrast: float  # median height at changes over what nine tenths of the score elsewhere are below; geometric mean
    noise: float  # largest score elsewhere over the median height at changes; geometric mean
    f1: float  # of as many peaks as there are changes, for our default of the changes it reports; mean
    delay: float  # samples from a change to the nearest of these, either way; mean


def measured(rows: Rows, kind: str, method: str) -> Measured | None:
    """Heights are the largest score within a window of a change; elsewhere is beyond a window of all changes.

    A sequence without a change, or without an elsewhere, is left out; None if all are.
    """
    found = [each for mine in _by_sequence(rows, kind) if (each := _measures(mine, method))]
    if not found:
        return None
    contrast, noise = np.exp(np.mean(np.log([each[:2] for each in found]), axis=0))
    f1, delay = np.mean([each[2:] for each in found], axis=0)
    return Measured(float(contrast), float(noise), float(f1), float(delay))


def _measures(rows: Rows, method: str) -> Measured | None:
    """Of one sequence, at the samples where all methods have a score."""
    scored = [row for row in rows if all(row[name] is not None for name in METHODS)]
    t, score = np.array([row["t"] for row in scored]), np.array([row[method] for row in scored], dtype=np.float64)
    changes = np.array([row["t"] for row in rows if row["change"] and scored and t[0] <= row["t"] <= t[-1]], np.intp)
    rest = score[(np.abs(t[:, None] - changes) > _WINDOW).all(axis=1)]
    if not changes.size or not rest.size:
        return None
    far = np.abs(t[:, None] - changes)
    least = np.finfo(np.float64).eps * max(1e-300, score.max())
    height = max(least, float(np.median([score[each <= _NEAR].max() for each in far.T])))
    peaks = _peaks(t, score, len(changes))
    if method == METHODS[-1]:  # its score has several scales, so that peaks of one width are not what it reports
        peaks = np.array([row["t"] for row in rows if row["found"]], np.intp)
    return Measured(
        contrast=height / max(least, float(np.quantile(rest, 0.9))),
        noise=max(least, float(rest.max())) / height,
        f1=dd.metrics.change_f1(changes, peaks, _NEAR),
        delay=float(np.abs(changes[:, None] - peaks).min(axis=1, initial=len(rows)).mean()),
    )


def _peaks(t: npt.NDArray[np.intp], score: FloatArray, count: int) -> npt.NDArray[np.intp]:
    """The highest score, the highest at least a window away from it, and so on."""
    left = score.copy()
    found: list[int] = []
    while len(found) < count and np.isfinite(left).any():
        best = int(np.argmax(left))
        found.append(int(t[best]))
        left[np.abs(t - t[best]) < _WINDOW] = -np.inf
    return np.sort(np.array(found))


def _claims(rows: Rows) -> list[Claim]:
    says = {
        SPEECH: "In speech LSDD's score shows the changes more clearly than KLIEP's.",
        ACCELERATION: "In acceleration LSDD's score is more stable and easier to read than KLIEP's.",
    }
    there = {row["data"] for row in rows}
    return [
        _judged(rows, kind, text) if kind in there else Claim("12", text, "No data.", None)
        for kind, text in says.items()
    ]


def _judged(rows: Rows, kind: str, says: str) -> Claim:
    """Clear: more contrast. Stable: less noise. And in either case changes found no worse."""
    by = {method: each for method in METHODS if (each := measured(rows, kind, method))}
    if not by:
        return Claim("12", says, "No sequence is long enough.", None)
    kliep, lsdd = by["KLIEP"], by["LSDD (authors)"]
    first = lsdd.contrast > kliep.contrast if kind == SPEECH else lsdd.noise < kliep.noise
    holds = bool(first and lsdd.f1 >= kliep.f1)
    texts = "; ".join(
        f"{method}: contrast {each.contrast:.2f}, noise {each.noise:.3f}, F1 {each.f1:.2f}, delay {each.delay:.0f}"
        for method, each in by.items()
    )
    count = sum(1 for _ in _by_sequence(rows, kind))
    text = (
        f"{texts}. Over {count} sequence{'s' * (count > 1)}. Contrast: score at changes over the ninth decile "
        "elsewhere. Noise: largest score elsewhere over the score at changes. F1: of as many peaks as there are "
        f"changes (of our default: of what it reports), within {_NEAR} samples. Delay: samples from a change to the "
        "nearest of these. "
        f"{'More contrast' if kind == SPEECH else 'Less noise'} than KLIEP's and no smaller F1 were asked for."
    )
    return Claim("12", says, text, holds, "" if holds else _reason(kind, bool(first)))


def _reason(kind: str, first: bool) -> str:
    if first:
        return "Its largest values are not at the changes: an L2 distance is large where the densities are narrow."
    if kind == SPEECH:
        return (
            "A divergence has no upper end: where speech begins after silence its values were never seen, and KLIEP's "
            "score is a high needle. Its lead shrinks with the noise of the room; the paper's recording is a noisy one."
        )
    return "The paper's own sequence is not public; these are others of the same kind."


def _missing(data: Path | None) -> str:
    lost = [kind for kind in SOURCES if not find_sequences(kind, data)]
    if not lost:
        return ""
    needs = " and ".join(
        f"{kind} from {of.origin}, as changes/{of.folders}/{of.start}<name>{of.end}.csv with '{of.label}'"
        for kind, of in SOURCES.items()
        if kind in lost
    )
    return f"No data for {' and '.join(lost)}: give --data a folder with {needs} of each name in labels.json beside it."


PARTS = (
    Part(
        figure="12",
        title="scores of changes by KLIEP and LSDD, k = 5, r = 50",
        jobs=_jobs,
        table=_table,
        draw=_draw,
        claims=_claims,
        full_runs=_RUNS,
        counted="sequences of each kind at most",
        missing=_missing,
    ),
)
