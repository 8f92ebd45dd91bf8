"""When did a series change? Contrasts of neighbouring windows, and a threshold that knows of dependence."""

import heapq
from dataclasses import dataclass, fields
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff import checks
from densdiff.core import changes as scan
from densdiff.core.scaling import FloatArray
from densdiff.errors import InputError
from densdiff.estimators.kde import KDEDifference
from densdiff.estimators.kliep import KLIEP
from densdiff.estimators.lsdd import LSDD
from densdiff.estimators.results import Receipt
from densdiff.estimators.series import CENTERS, series_features
from densdiff.estimators.testing import checked
from densdiff.estimators.windows import kde_scores, kliep_scores, lsdd_scores

IntArray = npt.NDArray[np.intp]
_TUNINGS = ("series", "window")
_SHORTEST = 4  # samples in a window
_BLOCKS = 8  # in a window
_NULL = 199  # simulated series; more for a smaller alpha
_SLOW = 4  # subsequences that a slow direction is looked for over
_LEAST_CAP = 0.05
_SERIES = "one model for the series, sigma the median distance of subsequences"


@dataclass(frozen=True, kw_only=True, eq=False)
class ChangesResult(Receipt):
    """The changes in a series.

    Attributes
    ----------
    changes : array of int
        Index of the first sample of each new regime, increasing; empty if nothing changed.
    pvalues : array of shape (number of changes,)
        Probability of a contrast as large anywhere in a series of this dependence without change.
    scores : array of shape (T,)
        The largest contrast over all scales at each sample; nan where less than half a window is on one side.
    threshold : float
        What a score must exceed; exceeded with probability alpha if nothing changes. nan for scores fitted anew at
        every position, whose peaks are judged by the contrast of one model for the series.
    window, lag : int
        Samples in the smallest window and in a subsequence.
    alpha : float
    dependence : float
        The correlation from sample to sample that the threshold reckons with, at most; what is slower is called change.
    series, names, times
        What was given, for the picture.
    """

    changes: IntArray
    pvalues: npt.NDArray[np.float64]
    scores: npt.NDArray[np.float64]
    threshold: float
    window: int
    lag: int
    alpha: float
    dependence: float
    series: npt.NDArray[np.float64]
    names: tuple[str, ...]
    times: npt.NDArray[Any] | None

    def _contents(self) -> dict[str, Any]:
        """All but the series itself, times of the changes alone, and None for what is nan or infinite."""
        found = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "series"}
        found["threshold"] = self.threshold if np.isfinite(self.threshold) else None
        found["scores"] = [None if np.isnan(score) else float(score) for score in self.scores]
        found["times"] = None if self.times is None else [str(self.times[change]) for change in self.changes]
        return found

    def plot(self) -> npt.NDArray[Any]:
        """`plots.plot_changes` of this result."""
        from densdiff.plots import plot_changes

        return plot_changes(self)

    def __str__(self) -> str:
        found = len(self.changes)
        lines = [f"{found or 'No'} change{'s' * (found != 1)} in {self.n_x} samples"]
        for change, p in zip(self.changes, self.pvalues, strict=True):
            at = "" if self.times is None else f"  ({checks.shown(self.times[change])})"
            lines.append(f"  at {change}{at}  p {p:.3g}")
        lines.append(f"  window      {self.window} samples and its doubles; lag {self.lag}")
        lines.append(f"  null        no change, correlation of samples at most {self.dependence:.3g}")
        return "\n".join(lines + self._receipt_lines())


def detect_changes(
    series: Any,
    *,
    time: Any = None,
    window: Any = "auto",
    lag: int = 5,
    tuning: str = "series",
    n_changes: int | None = None,
    alpha: float = 0.05,
    model: Any = None,
    random_state: Any = None,
) -> ChangesResult:
    """Find the samples at which a series begins to behave in another way.

    Parameters
    ----------
    series : array or data frame of shape (T,) or (T, d)
        Samples in the order of time.
    time : str or array of shape (T,), optional
        The clock, by the name of its column, which is then no data, or as an array.
    window : "auto", int or str
        Samples on each side of a change that are compared, at least; a duration such as "4s" if there is a clock.
    lag : int
        Samples in a subsequence: what is compared are the distributions of so many samples in a row.
    tuning : {"series", "window"}
        One sigma and lam for the whole series; or the paper's way, cross-validation at every position.
    n_changes : int, optional
        How many changes to report, whatever their p-values; by default those that ``alpha`` allows.
    alpha : float
        Bound on the probability of any report if nothing changes.
    model : LSDD, KDEDifference or KLIEP, optional
        Whose distance is the score; its sigma and lam are taken where they are numbers. With ``tuning="window"`` and
        with the other two changes are peaks of that score at one scale.
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
    alpha = checks.fraction(alpha, "alpha")
    checks.choice(tuning, "tuning", _TUNINGS)
    lag = checks.whole(lag, "lag", 1)
    wanted = None if n_changes is None else checks.whole(n_changes, "n_changes", 0)
    estimator = checked(LSDD(solver="centers", n_centers=CENTERS) if model is None else model)
    if tuning == "window" and not isinstance(estimator, LSDD):
        raise InputError(f"tuning='window' is for LSDD; {type(estimator).__name__} has one width for the series")
    data = checks.series(series, time)
    given = checks.window(window, data.step)
    own = estimator.random_state
    seed = checks.seed(random_state if own is None else own)
    length = len(data.rows)
    if given is not None and 2 * given + min(lag, max(1, given // _BLOCKS)) > length:
        raise InputError(f"window={window!r} takes {given} samples on each side, but series has only {length} in all")
    return _Search(data, given, lag, estimator, tuning, alpha, wanted, seed).result()


class _Search:
    """One series on its way to a result."""

    def __init__(
        self,
        data: checks.Series,
        given: int | None,
        lag: int,
        model: LSDD | KDEDifference | KLIEP,
        tuning: str,
        alpha: float,
        wanted: int | None,
        seed: int,
    ) -> None:
        self.data, self.model, self.alpha, self.wanted, self.seed = data, model, alpha, wanted, seed
        self.by_windows = tuning == "window" or not isinstance(model, LSDD)
        length = len(data.rows)
        rule = min(max(length / 20, 0.75 * sqrt(length)), 1.5 * sqrt(length))
        self.window = given or max(_SHORTEST, round(rule))
        self.block = max(1, self.window // _BLOCKS)
        self.lag = min(lag, self.block)  # blocks shorter than the lag would overlap
        self.shift = (self.lag - 1) // 2  # a subsequence belongs to its middle
        self.notes = list(data.notes)
        if self.lag < lag:
            self.notes.append(f"lag cut from {lag} to {self.lag}, an eighth of the window of {self.window} samples")

    def result(self) -> ChangesResult:
        length = len(self.data.rows)
        n = (length - self.lag + 1) // self.block
        constant = length > 1 and not np.ptp(self.data.rows, axis=0).any()
        if length < 2 * self.window + self.lag or constant:
            why = "the series is constant" if constant else f"{length} samples are too few for windows of {self.window}"
            self.notes.append(f"no change can be found: {why}")
            if not constant:
                checks.warn(self.notes[-1])
            return self._result(np.empty(0, np.intp), np.empty(0), np.full(length, np.nan), np.inf, 0.0, (1.0, 0.1, 0))
        one = self.model if isinstance(self.model, LSDD) else LSDD(solver="centers", n_centers=CENTERS)
        features = series_features(self.data.rows, self.lag, one, self.seed)
        model = (features.sigma, features.lam, features.n_centers)
        offset = (len(features.values) - n * self.block) // 2
        u = features.values[offset : offset + n * self.block].reshape(n, self.block, -1).mean(axis=1)
        u = u - u.mean(axis=0)
        wide = max(2, round(self.window / self.block))  # of a window, in blocks
        span = min(max(1, -(-_SLOW * self.lag // self.block)), max(1, n // 4))
        axes = scan.slow_axes(u, wide, span)
        u = u @ axes
        slowest = max(0.5, min(1.0 - 70.0 / length, 1.0 - 4.0 / self.window))
        most = max(_LEAST_CAP, slowest**self.block)
        fitted = scan.dependence(u[None], wide)
        fitted = scan.Dependence(fitted.variance[0], fitted.correlation[0], fitted.pieces[0])
        count = max(_NULL, int(np.ceil(5.0 / self.alpha)))
        null = scan.null_series(fitted, n, wide, most, count, np.random.default_rng([self.seed, 8]))
        scales = [wide] if self.by_windows else scan.window_scales(wide, n)
        maxima = np.concatenate([scan.contrasts(sums, scales, 0, n).max(axis=(0, 2)) for sums in null])
        root = np.sqrt(fitted.weights(most))
        sums = scan.running_sums(u * root)
        if self.by_windows:
            contrast = scan.contrasts(sums, scales, 0, n)[0]
            at = offset + self.block * np.arange(n + 1)
            return self._result(*self._peaks(features.vectors, contrast, at, maxima), slowest, model)
        found = self._segmented(sums, scales, maxima)
        places = np.array([place for place, _ in found], dtype=np.intp)
        pvalues = np.array([p for _, p in found])
        fine = scan.running_sums(features.values @ axes * root)
        changes = scan.refined(fine, offset + places * self.block, 2 * self.block + self.window)
        score = scan.contrasts(sums, scales, 0, n).max(axis=0)
        scores = np.interp(
            np.arange(length) - self.shift,
            offset + self.block * np.arange(n + 1),
            np.where(np.isfinite(score), score, np.nan),
            left=np.nan,
            right=np.nan,
        )
        threshold = _threshold(maxima, self.alpha)
        return self._result(changes + self.shift, pvalues, scores, threshold, slowest, model)

    def _peaks(
        self, vectors: FloatArray, contrast: FloatArray, at: IntArray, maxima: FloatArray
    ) -> tuple[IntArray, FloatArray, FloatArray, float]:
        """Peaks of a score by windows, each judged by the largest contrast of the series' own model around it.

        ``contrast`` (n + 1,) belongs to the places ``at``. A score fitted anew at every position has no null of its
        own that could be computed, hence no threshold.
        """
        sigmas = checks.positive_grid(self.model.sigma, "sigma")
        if isinstance(self.model, LSDD):
            score = lsdd_scores(vectors, self.window, sigmas, self.model.checked_grids()[1], self.seed)
        elif isinstance(self.model, KDEDifference):
            score = kde_scores(vectors, self.window, sigmas, self.seed)
        else:
            score = kliep_scores(vectors, self.window, sigmas, self.seed)
        places = scan.peaks(score, self.window)
        near = np.abs(at - places[:, None]) <= self.window // 2
        judged = np.where(near, contrast, -np.inf).max(axis=1)  # (places,)
        pvalues = (1.0 + (maxima >= judged[:, None]).sum(axis=1)) / (len(maxima) + 1.0)
        order = np.argsort(-score[places], kind="stable")
        order = order[pvalues[order] <= self.alpha] if self.wanted is None else order[: self.wanted]
        kept = np.sort(order)
        scores = np.full(len(self.data.rows), np.nan)
        scores[self.shift : self.shift + len(score)] = score
        return places[kept] + self.shift, pvalues[kept], scores, np.nan

    def _segmented(self, sums: FloatArray, scales: list[int], maxima: FloatArray) -> list[tuple[int, float]]:
        """Binary segmentation, the largest contrast first; a step must explain at least as much as a straight line."""
        n = len(sums) - 1
        moments = scan.running_sums(np.diff(sums, axis=0) * (np.arange(n) + 0.5)[:, None])
        queue: list[tuple[float, int, int, int, float]] = []

        def look(low: int, high: int, before: float) -> None:
            values = scan.contrasts(sums, scales, low, high)
            values[values < scan.line_gains(sums, moments, scales, low, high)] = -np.inf
            best = values.max(axis=0)
            i = int(best.argmax())
            if np.isfinite(best[i]):
                p = max(before, (1.0 + float((maxima >= best[i]).sum())) / (len(maxima) + 1.0))
                heapq.heappush(queue, (-float(best[i]), low, high, low + i, p))

        look(0, n, 0.0)
        found: list[tuple[int, float]] = []
        while queue and (self.wanted is None or len(found) < self.wanted):
            _, low, high, place, p = heapq.heappop(queue)
            if self.wanted is None and p > self.alpha:
                continue
            found.append((place, p))
            look(low, place, p)
            look(place, high, p)
        return sorted(found)

    def _result(
        self,
        changes: IntArray,
        pvalues: FloatArray,
        scores: FloatArray,
        threshold: float,
        slowest: float,
        model: tuple[float, float, int],
    ) -> ChangesResult:
        if self.wanted is not None and len(changes) < self.wanted:
            room = f"windows of {self.window} samples leave room for {len(changes)}"
            checks.warn(f"{self.wanted} changes were asked for, but {room}", self.notes)
        sigma, lam, centers = model
        return ChangesResult(
            changes=changes,
            pvalues=pvalues,
            scores=scores,
            threshold=threshold,
            window=self.window,
            lag=self.lag,
            alpha=self.alpha,
            dependence=slowest,
            series=self.data.rows,
            names=self.data.names,
            times=self.data.times,
            sigma=sigma,
            lam=lam,
            solver={"KDEDifference": "kde", "KLIEP": "kliep"}.get(type(self.model).__name__, "centers"),
            n_centers=centers,
            n_x=len(self.data.rows),
            n_y=0,
            seed=self.seed,
            tuning="cross-validation at every position"
            if self.by_windows and isinstance(self.model, LSDD)
            else _SERIES,
            warnings=tuple(self.notes),
        )


def _threshold(maxima: FloatArray, alpha: float) -> float:
    return float(np.quantile(maxima, 1.0 - alpha, method="higher"))
