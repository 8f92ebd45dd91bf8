"""When did a series change? Contrasts of neighbouring windows, and a threshold that knows of dependence.

The contrasts and their null live in `scan`, scores of models fitted at every position in `windows`.
"""

from dataclasses import asdict, dataclass, fields, replace
from math import sqrt
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff import messages
from densdiff.core.contrasts import IntArray, longest_period, peaks
from densdiff.core.scaling import FloatArray
from densdiff.data import parameters
from densdiff.data.reading import reading
from densdiff.data.series import Series, check_series, check_window
from densdiff.data.stretches import count_rows, rows_that_fit, stretches
from densdiff.data.table import table_of
from densdiff.errors import InputError
from densdiff.estimators.kde import KDEDifference
from densdiff.estimators.kliep import KLIEP
from densdiff.estimators.lsdd import LSDD
from densdiff.progress import long_work, tell
from densdiff.results import Receipt
from densdiff.series.features import CENTERS
from densdiff.series.kinds import ChangeKind, describe_changes
from densdiff.series.places import LEVEL, block_lengths, place_intervals
from densdiff.series.pretenders import CLUSTERS, Outcome, search_series, spread_note, trend_note
from densdiff.series.scan import Plan, SeriesScan, beyond_lines
from densdiff.series.states import MOST_SEGMENTS, describe_states, segment_states
from densdiff.series.windows import kde_scores, kliep_scores, lsdd_scores
from densdiff.sources.opening import source_of
from densdiff.sources.source import Source
from densdiff.testing.plan import check_estimator
from densdiff.threads import on_one_thread

_TUNINGS = ("series", "window")
_LAG = 5  # samples in a subsequence unless it is said
_SHORTEST = 4  # samples in a window
_SEASON = 0.6  # of a season, in an automatic window
_TUNED = {
    "LSDD": "one model for the series, sigma the median distance of subsequences",
    "LSDD at every position": "cross-validation at every position",
    "KDEDifference": "one width for the series, by likelihood cross-validation",
    "KLIEP": "one sigma for the series, the median distance of subsequences",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class ChangesResult(Receipt):
    """The changes in a series.

    Attributes
    ----------
    changes : array of int
        Index of the first sample of each new regime, increasing; empty if nothing changed.
    pvalues : array of shape (number of changes,)
        Probability of a contrast as large anywhere in a series of this dependence without change.
    intervals : array of int of shape (number of changes, 2)
        First and last sample at which each new regime may begin, both included.
    level : float
        Of the intervals.
    states : array of int of shape (number of changes + 1,)
        A label for each segment between changes, 0, 1, .. in order of first appearance; segments alike share one.
    scores : array of shape (T,)
        The largest contrast over all scales at each sample; nan where less than half a window is on one side.
    threshold : float
        What a score must exceed; exceeded with probability alpha if nothing changes. nan for scores fitted anew at
        every position, whose peaks are judged by the contrast of one model for the series.
    window, lag : int
        Samples in the smallest window and in a subsequence.
    alpha : float
    period : float or None
        Samples in the clearest period of the series; None if none is clear.
    kinds : tuple of ChangeKind
        What changed at each change, one entry a change.
    dependence : float
        The correlation from sample to sample that the threshold reckons with, at most; what is slower is called change.
    series, names, times
        What was given, for the picture.

    Examples
    --------
    >>> import densdiff as dd
    >>> data = dd.datasets.piecewise_series([100], size=5.0, length=200, random_state=0)
    >>> result = dd.detect_changes(data.series, random_state=0)
    >>> len(result.changes), len(result.scores)
    (1, 200)
    """

    changes: IntArray
    pvalues: npt.NDArray[np.float64]
    intervals: IntArray
    states: IntArray
    scores: npt.NDArray[np.float64]
    threshold: float
    window: int
    lag: int
    alpha: float
    dependence: float
    series: npt.NDArray[np.float64]
    names: tuple[str, ...]
    times: npt.NDArray[Any] | None
    period: float | None = None
    kinds: tuple[ChangeKind, ...] = ()
    level: float = LEVEL

    def _contents(self) -> dict[str, Any]:
        """All but the series itself, times of the changes alone, and None for what is nan or infinite."""
        contents = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "series"}
        contents["kinds"] = [asdict(kind) for kind in self.kinds]
        contents["threshold"] = self.threshold if np.isfinite(self.threshold) else None
        contents["scores"] = [None if np.isnan(score) else float(score) for score in self.scores]
        contents["times"] = None if self.times is None else [str(self.times[change]) for change in self.changes]
        return contents

    @property
    def states_text(self) -> str:
        """How many states there are and which segments, counted from 1, are alike: a sentence."""
        return describe_states(self.states)

    def plot(self) -> npt.NDArray[Any]:
        """`plots.plot_changes` of this result."""
        from densdiff.plots import plot_changes

        return plot_changes(self)

    def to_html(self, path: str | PathLike[str], *, title: str | None = None) -> Path:
        """Write the result as one self-contained HTML page, headed by ``title``, and return its path; needs Jinja2."""
        from densdiff.report import write_changes

        return write_changes(path, self, title)

    def _draw(self) -> Any:
        return self.plot()

    def __str__(self) -> str:
        n_changes = len(self.changes)
        lines = [f"{n_changes or 'No'} change{'s' * (n_changes != 1)} in {self.n_x} samples"]
        kinds = [f"  {messages.one_line(kind.text or kind.what)}" for kind in self.kinds] or [""] * n_changes
        for change, (first, last), p, kind in zip(self.changes, self.intervals, self.pvalues, kinds, strict=True):
            at = "" if self.times is None else f"  ({messages.shown(self.times[change])})"
            lines.append(f"  at {change}{at}  between {first} and {last}  p {p:.3g}{kind}")
        if n_changes > 1:
            lines.append(f"  {self.states_text}")
        if self.period is not None:
            lines.append(f"  period      {self.period:.4g} samples")
        scales = "" if np.isnan(self.threshold) else ", doubled up to half the series"
        lines.append(f"  window      {self.window} samples{scales}; lag {self.lag}")
        lines.append(f"  null        no change, correlation of neighbouring samples at most {self.dependence:.3g}")
        return "\n".join(lines + self._receipt_lines())


@long_work("looking for changes")
@on_one_thread
def detect_changes(
    series: Any,
    *,
    time: Any = None,
    window: Any = "auto",
    lag: int = _LAG,
    tuning: str = "series",
    n_changes: int | None = None,
    alpha: float = 0.05,
    model: Any = None,
    random_state: Any = None,
) -> ChangesResult:
    """Find the samples at which a series starts to behave differently.

    Parameters
    ----------
    series : array or data frame of shape (T,) or (T, d)
        Samples in time order.
    time : str or array of shape (T,), optional
        The clock: the name of its column, which is then not part of the data, or an array.
    window : "auto", int or str
        Smallest number of samples compared on each side of a change; a duration such as "4s" if there is a clock.
    lag : int
        Samples in a subsequence: the distributions of this many consecutive samples are compared.
    tuning : {"series", "window"}
        One sigma and lam for the whole series; or the paper's way, cross-validation at every position.
    n_changes : int, optional
        How many changes to report, whatever their p-values; by default those that ``alpha`` allows.
    alpha : float
        Bound on the probability of reporting a change if there is none.
    model : LSDD, KDEDifference or KLIEP, optional
        The estimator whose distance is the score; its sigma and lam are used where they are numbers. With
        ``tuning="window"``, and with the other two estimators, changes are the peaks of that score at one scale.
    random_state : None, int, Generator or RandomState

    Returns
    -------
    ChangesResult

    Examples
    --------
    >>> import densdiff as dd
    >>> data = dd.datasets.piecewise_series([150], size=3.0, length=300, random_state=0)
    >>> dd.detect_changes(data.series, random_state=0).changes.tolist()
    [150]
    """
    alpha = parameters.fraction(alpha, "alpha")
    parameters.choice(tuning, "tuning", _TUNINGS)
    lag = parameters.whole(lag, "lag", 1)
    n_changes = None if n_changes is None else parameters.whole(n_changes, "n_changes", 0)
    estimator: Any = check_estimator(LSDD(solver="centers", n_centers=CENTERS) if model is None else model)
    if tuning == "window" and not isinstance(estimator, LSDD):
        other = f"{type(estimator).__name__} has one width for the series"
        raise InputError(f"tuning='window' is for LSDD; {other}", argument="tuning")
    own = estimator.random_state
    seed = parameters.seed(random_state if own is None else own)
    settings = _Settings(time, window, lag, tuning, n_changes, alpha, estimator, seed)
    name = messages.name_of("series")
    source = source_of(series, name, table_of)
    result = _detect(source, settings)
    return replace(result, warnings=(*result.warnings, *source.notes))


@dataclass(frozen=True)
class _Settings:
    """The arguments of `detect_changes` but for the series, all of them checked."""

    time: Any
    window: Any
    lag: int
    tuning: str
    n_changes: int | None
    alpha: float
    model: LSDD | KDEDifference | KLIEP
    seed: int

    def search(self, series: Any) -> ChangesResult:
        """The changes of a series in memory."""
        data = check_series(series, self.time)
        chosen, length = check_window(self.window, data.step), len(data.rows)
        plan = Plan.of(length, chosen or _auto_window(data.rows, length), self.lag, self.alpha, self.seed)
        if chosen is not None and 2 * chosen + plan.lag > length:
            sides = f"{messages.argument('window', self.window)} takes {chosen} samples on each side"
            few = f"{messages.name_of('series')} has only {length} in all"
            raise InputError(f"{sides}, but {few}; use a smaller window", argument="window")
        search = _Search(data, plan, self.model, self.tuning, self.n_changes, chosen is not None)
        if plan.lag < self.lag != _LAG:  # nobody chose the default
            cut = f"lag reduced from {self.lag} to {plan.lag}, an eighth of the window of {plan.window} samples"
            search.notes.append(cut)
        return search.result()


def _detect(source: Source, settings: _Settings) -> ChangesResult:
    """The changes of a series: all at once if it fits, else in stretches that overlap.

    Each stretch is searched at alpha over their number, so that alpha bounds any false report of all of them; what is
    nearer to the middle of the next stretch is left to it.
    """
    if source.rows_at_once == source.rows:
        return settings.search(source.head())
    name = source.where
    total, width = count_rows(source), len(reading(source.head(), name).names)
    most = rows_that_fit(width)
    if total <= most:
        return settings.search(next(stretches(source, name, max(total, 1), 0))[1])
    if settings.n_changes is not None or not (settings.time is None or isinstance(settings.time, str)):
        what, which = ("n_changes",) * 2 if settings.n_changes is not None else ("time as an array", "time")
        fit = f"a series that fits in memory, but only {most} of {total} samples do"
        raise InputError(f"{what} needs {fit}; leave it out", argument=which)
    head = check_series(next(stretches(source, name, most, 0))[1], settings.time)
    window = check_window(settings.window, head.step) or _auto_window(head.rows, total)
    if (overlap := 8 * window + settings.lag) > most // 2:
        cure = f"use a window of at most {most // 20}, or raise the limit with {messages.memory_limit('...')}"
        what = f"windows of {window} samples are too long where {most} samples fit in memory"
        raise InputError(f"{what}; {cure}", argument="window")
    count = -(-(total - overlap) // (most - overlap))
    stretch_settings = replace(settings, window=window, alpha=settings.alpha / count)
    pieces = tell("searching stretch by stretch", stretches(source, name, most, overlap), count)
    results = [(start, stretch_settings.search(stretch)) for start, stretch in pieces]
    return _join_results(results, settings.alpha, overlap)


def _join_results(results: list[tuple[int, ChangesResult]], alpha: float, overlap: int) -> ChangesResult:
    """One result of overlapping stretches, each responsible up to the middle of the overlap."""
    notes: list[str] = []
    kinds: list[ChangeKind] = []
    count, pieces = len(results), []
    for k, (start, result) in enumerate(results):
        low = overlap // 2 if k else 0
        high = len(result.scores) - (overlap - overlap // 2 if k < count - 1 else 0)
        is_own = (result.changes >= low) & (result.changes < high)
        clock = None if result.times is None else result.times[low:high]
        own_changes = result.changes[is_own] + start, np.minimum(1.0, count * result.pvalues[is_own])
        pieces.append(
            (
                *own_changes,
                result.intervals[is_own] + start,
                result.scores[low:high],
                result.series[low:high].astype(np.float32),
                clock,
            )
        )
        kinds += [kind for kind, own in zip(result.kinds, is_own, strict=False) if own]
        notes += result.warnings
    notes.append(f"searched in {count} overlapping stretches, each at alpha / {count}; threshold is their highest")
    *found, scores, pieces_of_series, times = zip(*pieces, strict=True)
    changes, pvalues, intervals = map(np.concatenate, found)
    series = np.concatenate(pieces_of_series)
    return replace(
        results[0][1],
        changes=changes,
        pvalues=pvalues,
        intervals=intervals,
        kinds=tuple(kinds),
        states=segment_states(series, changes, pvalues <= alpha),
        scores=np.concatenate(scores),
        threshold=max(result.threshold for _, result in results),
        alpha=alpha,
        series=series,
        times=None if times[0] is None else np.concatenate(times),
        n_x=sum(map(len, scores)),
        warnings=tuple(dict.fromkeys(notes)),
    )


def _auto_window(rows: FloatArray, length: int) -> int:
    """A window from the length; more than half a season if these rows have one, or its rise would be a change."""
    rule = min(max(length / 30, 0.75 * sqrt(length)), 1.5 * sqrt(length))
    return max(_SHORTEST, round(max(rule, _SEASON * longest_period(rows))))


class _Search:
    """One series on its way to a result."""

    def __init__(
        self,
        data: Series,
        plan: Plan,
        model: LSDD | KDEDifference | KLIEP,
        tuning: str,
        n_changes: int | None,
        is_window_given: bool,
    ) -> None:
        self.is_window_given = is_window_given
        self.data, self.plan, self.model, self.n_changes = data, plan, model, n_changes
        self.by_windows = tuning == "window" or not isinstance(model, LSDD)
        self.notes = list(data.notes)

    def result(self) -> ChangesResult:
        rows, plan = self.data.rows, self.plan
        is_constant = len(rows) > 1 and not (rows.max(axis=0) > rows.min(axis=0)).any()
        if len(rows) < 2 * plan.window + plan.lag or is_constant:
            few = f"{len(rows)} samples are too few for windows of {plan.window}"
            self.notes.append(f"no change can be found: {'the series is constant' if is_constant else few}")
            if not is_constant:
                messages.warn(self.notes[-1])
            return self._result(np.empty(0, np.intp), np.empty(0), np.full(len(rows), np.nan), np.inf, None)
        if self.by_windows:
            return self._search_windows()
        assert isinstance(self.model, LSDD)
        outcome = search_series(rows, self.data.names, plan, self.model, self.n_changes)
        scores, threshold = outcome.search.contrasts_at_samples(plan.alpha), outcome.search.threshold(plan.alpha)
        self.notes += outcome.notes
        if self.is_window_given and outcome.period is not None and outcome.period.samples > plan.window:
            short = f"window has {plan.window} samples, less than the period of {outcome.period.samples:.3g}"
            messages.warn(f"{short}; use a window of two periods or more, or 'auto'", self.notes)
        if self.n_changes is None and not len(outcome.changes) and not outcome.notes:
            self._note_score(scores, threshold)
        return self._result(outcome.changes, outcome.pvalues, scores, threshold, outcome.search.level, outcome)

    def _note_score(self, scores: FloatArray, threshold: float) -> None:
        """Say why a score above the threshold is no change."""
        if (highest := float(np.nanmax(scores))) > threshold:
            place = int(np.nanargmax(scores))
            why = "moved to its best place between the ends, the contrast stays below it"
            self.notes.append(
                f"the score at {place} is {highest:.3g}, above the threshold of {threshold:.3g}, but {why}"
            )

    def _search_windows(self) -> ChangesResult:
        """Changes by scores of models that are fitted at every position."""
        rows, plan = self.data.rows, self.plan
        lsdd = self.model if isinstance(self.model, LSDD) else LSDD(solver="centers", n_centers=CENTERS)
        scan = SeriesScan.of(rows, plan, lsdd, True)
        lines, least = beyond_lines(rows, scan, lsdd)
        changes, pvalues, scores, threshold = self._peaks(scan)
        pvalues = np.maximum(pvalues, least)
        if self.n_changes is None:
            is_significant = pvalues <= plan.alpha
            if len(lines) and not is_significant.any() and len(is_significant):
                self.notes.append(trend_note(self.data.names, lines))
            changes, pvalues = changes[is_significant], pvalues[is_significant]
        return self._result(changes, pvalues, scores, threshold, scan)

    def _peaks(self, scan: SeriesScan) -> tuple[IntArray, FloatArray, FloatArray, float]:
        """Peaks of a score by windows, each judged by the largest contrast of the series' own model around it.

        A score fitted anew at every position has no null of its own that could be computed, hence no threshold.
        """
        plan, vectors = self.plan, scan.features.vectors
        sigmas = parameters.positive_grid(self.model.sigma, "sigma")
        sigmas = None if sigmas is None else sigmas / scan.features.unit
        if isinstance(self.model, LSDD):
            score = lsdd_scores(vectors, plan.window, sigmas, self.model.settings().lams, plan.seed)
        elif isinstance(self.model, KDEDifference):
            score = kde_scores(vectors, plan.window, sigmas, plan.seed)
        else:
            score = kliep_scores(vectors, plan.window, sigmas, plan.seed)
        scores = np.full(len(self.data.rows), np.nan)
        scores[plan.shift : plan.shift + len(score)] = score
        places = peaks(scores, plan.window)
        near = np.abs(scan.borders() - places[:, None]) <= plan.window // 2
        judged = np.where(near, scan.contrasts(), -np.inf).max(axis=1)  # (places,)
        pvalues = np.array([scan.pvalue(contrast) for contrast in judged])
        order = np.argsort(-scores[places], kind="stable")
        order = order[pvalues[order] <= plan.alpha] if self.n_changes is None else order[: self.n_changes]
        chosen = np.sort(order)
        return places[chosen], pvalues[chosen], scores, np.nan

    def _result(
        self,
        changes: IntArray,
        pvalues: FloatArray,
        scores: FloatArray,
        threshold: float,
        scan: SeriesScan | None,
        outcome: Outcome | None = None,
    ) -> ChangesResult:
        plan, period = self.plan, None if outcome is None else outcome.period
        if self.n_changes is not None and len(changes) < self.n_changes:
            room = f"windows of {plan.window} samples leave room for {len(changes)}"
            messages.warn(f"{self.n_changes} changes were asked for, but {room}", self.notes)
        kinds = describe_changes(self.data.rows, self.data.names, changes, pvalues, plan.window)
        if self.n_changes is None and period is None and not any(CLUSTERS in note for note in self.notes):
            note = spread_note(self.data.rows, kinds, plan)
            self.notes += [] if note is None else [note]
        resolution = block_lengths(kinds, len(changes))
        intervals = place_intervals(self.data.rows, changes, resolution)
        if outcome is not None and period is not None and not resolution.all():
            flat = place_intervals(outcome.flat, changes)  # a season hides changes, but those of the season itself
            intervals = np.where(resolution[:, None] > 0, intervals, flat)
        states = segment_states(self.data.rows, changes, pvalues <= plan.alpha)
        if len(states) > MOST_SEGMENTS:
            self.notes.append(f"{len(states)} segments are too many to compare; each is a state of its own")
        name = next(kind.__name__ for kind in (KDEDifference, KLIEP, LSDD) if isinstance(self.model, kind))
        model = None if scan is None or self.by_windows else scan.features  # its sigma and lam are the score's
        return ChangesResult(
            changes=changes,
            pvalues=pvalues,
            intervals=intervals,
            states=states,
            scores=scores,
            threshold=threshold,
            window=plan.window,
            lag=plan.lag,
            alpha=plan.alpha,
            dependence=plan.slowest,
            series=self.data.rows,
            names=self.data.names,
            times=self.data.times,
            period=None if period is None else period.samples,
            kinds=kinds,
            sigma=None if model is None else model.sigma,
            lam=None if model is None else model.lam,
            solver={"KDEDifference": "kde", "KLIEP": "kliep"}.get(name, "centers"),
            n_centers=None if model is None else model.n_centers,
            n_x=len(self.data.rows),
            n_y=0,
            seed=plan.seed,
            tuning=_TUNED["LSDD at every position" if self.by_windows and name == "LSDD" else name],
            warnings=tuple(self.notes),
        )
