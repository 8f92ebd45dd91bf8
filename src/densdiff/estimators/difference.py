"""The least-squares density-difference estimator, f = p - q fitted in one step (paper 2.2).

The class checks parameters and stores what was learned; solvers and their choice are in `solvers`. It is `LSDD` without
scikit-learn, whose import takes a second: what needs no more than an answer uses it as it is.
"""

import copy
import inspect
from functools import partial
from typing import Any, Self

from densdiff import messages
from densdiff.core.scaling import FloatArray, from_log
from densdiff.core.selection import standard_errors
from densdiff.data import parameters
from densdiff.data.pair import Pair, check_pair
from densdiff.data.points import check_points
from densdiff.errors import InputError, not_fitted
from densdiff.estimators.results import Band, DistanceResult
from densdiff.progress import long_work
from densdiff.solvers.base import DIFFERENCE, LEVEL_RATIO
from densdiff.solvers.centers import CentersSolver
from densdiff.solvers.distance import (
    FitDistance,
    fit_distance,
    open_end_note,
    overlap_distance,
    raw_estimates,
    saturation_note,
)
from densdiff.solvers.fit import Fit, Settings, find_fit
from densdiff.solvers.prepared import OVERLAP_ROWS, Prepared, prepare, rows_to_prefetch
from densdiff.solvers.uncertainty import band
from densdiff.threads import on_one_thread

_SOLVERS = ("auto", "centers", "spectral", "pairs")
_LAM_RANGE = (1e-50, 1e50)
_FEW_ROWS = 20
_SHOWN = 4096  # rows of a sample that cannot be had at once: what pictures see of it


class DensityDifference:
    """f = p - q by penalized least squares; `LSDD` has its parameters and attributes."""

    def __init__(
        self,
        sigma: Any = "cv",
        lam: Any = "cv",
        *,
        solver: str = "auto",
        n_centers: int = 300,
        centers: Any = None,
        folds: int = 5,
        standardize: bool = True,
        random_state: Any = None,
    ) -> None:
        self.sigma = sigma
        self.lam = lam
        self.solver = solver
        self.n_centers = n_centers
        self.centers = centers
        self.folds = folds
        self.standardize = standardize
        self.random_state = random_state

    def unfitted(self, **changes: Any) -> Self:
        """A copy with the same parameters but for some changes, and nothing learned."""
        names = inspect.signature(type(self)).parameters
        return type(self)(**{name: copy.deepcopy(getattr(self, name)) for name in names} | changes)

    @long_work("fitting")
    @on_one_thread
    def fit(self, X: Any, Y: Any, weights_x: Any = None, weights_y: Any = None) -> Self:
        """Estimate p - q from X, shape (n, d), and Y, shape (m, d), with optional row weights.

        Samples may be arrays, frames, paths, Dask collections or iterables of blocks; see docs/scale.md.
        """
        self.settings()
        seed = parameters.seed(self.random_state)
        prefetch = partial(rows_to_prefetch, seed, self.n_centers)
        return self.fit_pair(check_pair(X, Y, weights_x, weights_y, prefetch=prefetch), seed)

    def fit_pair(self, pair: Pair, seed: int | None = None) -> Self:
        """Estimate p - q from samples that were checked before; ``seed`` replaces ``random_state`` if it was drawn."""
        settings = self.settings()
        random_state = self.random_state if seed is None else seed
        data = prepare(pair, standardize=self.standardize, folds=self.folds, random_state=random_state)
        self._store(find_fit(data, settings))
        return self

    def settings(self) -> Settings:
        """The parameters, checked."""
        sigmas, lams = parameters.positive_grid(self.sigma, "sigma"), parameters.positive_grid(self.lam, "lam")
        parameters.whole(self.folds, "folds", 2)
        parameters.whole(self.n_centers, "n_centers", 1)
        parameters.flag(self.standardize, "standardize")
        if lams is not None and not (_LAM_RANGE[0] <= lams.min() and lams.max() <= _LAM_RANGE[1]):
            need = f"lam must lie between {_LAM_RANGE[0]:g} and {_LAM_RANGE[1]:g}"
            raise InputError(f"{need}; got {lams.min():g} to {lams.max():g}", argument="lam")
        parameters.choice(self.solver, "solver", _SOLVERS)
        if self.solver == "auto" and self.centers is None and lams is not None:
            raise InputError(
                "lam means something different to each solver; with a numeric lam, name one, such as solver='centers'",
                argument="solver",
            )
        if self.centers is not None and self.solver not in ("auto", "centers"):
            text = f"centers were given, but solver={self.solver!r} uses none; use solver='centers'"
            raise InputError(text, argument="solver")
        return Settings(sigmas, lams, self.solver, self.n_centers, self.centers, self.standardize)

    def _store(self, fit: Fit) -> None:
        """Store learned attributes in the user's units; only once all has succeeded, so that a refusal changes none."""
        data, choice = fit.data, fit.choice
        unit = data.scaling.sigma_unit
        mean = choice.fold_scores.mean(axis=1)
        errors = standard_errors(choice.fold_scores, fit.used.n_folds)
        log_factor = -choice.log_scale - data.scaling.log_volume
        for stale in ("centers_", "theta_"):  # of an earlier fit by another solver
            self.__dict__.pop(stale, None)
        self.fit_ = fit
        self.solver_ = fit.named_solver.name
        self.sigma_ = choice.best.sigma * unit
        self.lam_ = choice.best.lam
        self.cv_results_ = {
            "sigma": choice.sigmas * unit,
            "lam": choice.lams.copy(),
            "smoothing": choice.smoothings.copy(),
            "mean_score": from_log(mean, log_factor),
            "standard_error": from_log(errors, log_factor),
            "fold_scores": from_log(choice.fold_scores, log_factor),
            "rank": choice.ranks,
        }
        self.samples_ = (data.checked.x.spaced(_SHOWN), data.checked.y.spaced(_SHOWN))
        self.feature_names_ = data.pair.names
        self.n_features_in_ = len(data.pair.names)
        self.seed_ = data.seed
        if fit.named_solver.centers is not None:
            self.centers_ = fit.named_solver.centers
        if isinstance(fit.solver, CentersSolver):
            self.theta_ = from_log(fit.solver.coefficients(DIFFERENCE, choice.model), fit.log_factor)

    def _fitted(self) -> Fit:
        if not hasattr(self, "fit_"):
            raise not_fitted("this LSDD is not fitted yet; call fit(X, Y) first")
        return self.fit_

    def _checked_points(self, fit: Fit, points: Any) -> FloatArray:
        """Points in the user's units, codes for categories, (k, d)."""
        return check_points(points, self.feature_names_, levels=fit.data.pair.levels)

    @long_work("predicting")
    @on_one_thread
    def predict(self, points: Any) -> FloatArray:
        """f = p - q at the points, shape (k, d), in the user's units; (k,)."""
        fit = self._fitted()
        return self.difference_at(self._checked_points(fit, points))

    def difference_at(self, rows: FloatArray) -> FloatArray:
        """f at rows that were checked before, codes for categories; (k,)."""
        fit = self._fitted()
        return fit.difference(fit.data.scaling.apply(rows))

    @on_one_thread
    def densities(self, points: Any) -> tuple[FloatArray, FloatArray]:
        """p and q at the points, (k,) each, with a smoothing of their own: their difference is not quite `predict`."""
        fit = self._fitted()
        return fit.density_values(fit.data.scaling.apply(self._checked_points(fit, points)))

    @long_work("taking resamples for the band")
    @on_one_thread
    def confidence_band(self, points: Any, level: float = 0.95, simultaneous: bool = True) -> Band:
        """Limits for f = p - q at the points, shape (k, d): for all of them at once, or for each on its own."""
        fit = self._fitted()
        level, simultaneous = parameters.fraction(level, "level"), parameters.flag(simultaneous, "simultaneous")
        rows = self._checked_points(fit, points)
        limits = band(fit, fit.data.scaling.apply(rows), level, simultaneous)
        notes = [*self._notes(fit), *_curve_notes(fit), *([limits.note] if limits.note else [])]
        return Band(
            points=rows,
            estimate=limits.estimate,
            lower=limits.lower,
            upper=limits.upper,
            level=level,
            simultaneous=simultaneous,
            **self._receipt(fit, notes),
        )

    @long_work("measuring the distance")
    @on_one_thread
    def l2_distance(self, level: float = 0.95) -> DistanceResult:
        """The squared L2 distance of p and q with an interval, and all estimates of the paper."""
        fit = self._fitted()
        level = parameters.fraction(level, "level")
        return _distance_result(
            fit_distance(fit, level), level, raw_estimates(fit), self._receipt(fit, self._notes(fit))
        )

    def _receipt(self, fit: Fit, notes: list[str]) -> dict[str, Any]:
        return {
            "sigma": self.sigma_,
            "lam": self.lam_,
            "solver": self.solver_,
            "n_centers": None if fit.named_solver.centers is None else len(fit.named_solver.centers),
            "n_x": len(fit.data.checked.x),
            "n_y": len(fit.data.checked.y),
            "seed": self.seed_,
            "tuning": _tuning(fit),
            "warnings": tuple(notes),
        }

    def _notes(self, fit: Fit) -> list[str]:
        return [*fit.data.notes, *fit.solver.notes, *_thinning_notes(fit), *_few_rows_notes(fit.data)]


def overlap_result(pair: Pair, seed: int, level: float) -> DistanceResult:
    """The distance that `DensityDifference` gives by default, without a model and so without the paper's estimates."""
    data = prepare(pair, standardize=True, folds=DensityDifference().folds, random_state=seed)
    distance = overlap_distance(data, level)
    scaled = "whitened" if distance.metric == "whitened" else "scaled one by one"
    receipt = {
        "sigma": None,
        "lam": None,
        "solver": "overlap",
        "n_centers": None,
        "n_x": len(data.checked.x),
        "n_y": len(data.checked.y),
        "seed": data.seed,
        "tuning": f"distance by overlap, columns {scaled}",
        "warnings": (*data.notes, *_few_rows_notes(data)),
    }
    return _distance_result(distance, level, {}, receipt)


def _distance_result(
    distance: FitDistance, level: float, estimates: dict[str, float | None], receipt: dict[str, Any]
) -> DistanceResult:
    """A distance in the user's units, with what is to be said of it."""
    notes = list(receipt["warnings"])
    if note := saturation_note(distance):
        messages.warn(note, notes)
    if note := open_end_note(distance):
        notes.append(note)
    return DistanceResult(
        squared=distance.squared,
        normalized=distance.normalized,
        standard_error=distance.standard_error,
        interval=distance.interval,
        normalized_interval=distance.normalized_ends,
        level=level,
        estimates=estimates,
        log_squared=distance.log_squared,
        resolution=distance.resolution,
        metric=distance.metric,
        **receipt | {"warnings": tuple(notes)},
    )


def _few_rows_notes(data: Prepared) -> list[str]:
    fewest = min(data.sizes)
    if fewest >= _FEW_ROWS:
        return []
    return [f"a sample has only {fewest} rows: a distance of this size may be chance alone"]


def _curve_notes(fit: Fit) -> list[str]:
    """Whether the widths that f is averaged over may be too few."""
    return [fit.curve.note] if fit.is_automatic and fit.curve.note else []


def _thinning_notes(fit: Fit) -> list[str]:
    """How many rows the answers rest on, where they are not all."""
    (n, m), (used_n, used_m) = fit.data.sizes, fit.used.sizes
    notes = []
    if (n, m) != (used_n, used_m):
        rows = f"{used_n} of {n} and {used_m} of {m} rows, drawn at random"
        notes.append(f"{'bands' if fit.is_automatic else 'f, bands'}, densities and raw estimates rest on {rows}")
    if fit.is_automatic and max(n, m) > OVERLAP_ROWS:
        notes.append(f"f rests on at most {OVERLAP_ROWS} rows of each sample, drawn at random")
    return notes


def _tuning(fit: Fit) -> str:
    folds, choice = fit.used.n_folds, fit.choice
    models, used = len(choice.sigmas), len(choice.averaged_models)
    averaged = "f averaged" if fit.is_automatic else f"{used} averaged"
    searched = f"{folds}-fold cross-validation x {choice.fold_scores.shape[1] // folds}, {models} models, {averaged}"
    return ("sigma and lam given" if models == 1 else searched) + _smoothing_text(fit)


def _smoothing_text(fit: Fit) -> str:
    """How categories were smoothed; nothing without categories."""
    if not len(fit.data.levels):
        return ""
    if fit.categories is not None:
        return f", categories smoothed by {fit.categories.smoothing:g}"
    if fit.choice.best.smoothing == 0:
        return ", categories not smoothed"
    ratio = LEVEL_RATIO**fit.choice.best.smoothing
    alike = 100.0 * (1.0 - ratio) / (1.0 + ratio)  # r of E16
    return f", categories smoothed (two levels count as {alike:.4g} % alike)"
