"""LSDD: the least-squares density-difference estimator, f = p - q fitted in one step (paper 2.2)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from densdiff import messages
from densdiff.core import selection
from densdiff.core.kernel import Categories
from densdiff.core.scaling import FloatArray, from_log, saturates
from densdiff.core.selection import standard_errors
from densdiff.data import parameters
from densdiff.data.pair import Pair, check_pair
from densdiff.data.points import check_centers, check_points
from densdiff.errors import InputError, NotFittedError, NumericalError
from densdiff.estimators.results import Band, DistanceResult
from densdiff.solvers.base import DENSITY_X, DENSITY_Y, DIFFERENCE, Side, Solver
from densdiff.solvers.centers import CentersSolver
from densdiff.solvers.pairs import PairsSolver
from densdiff.solvers.prepared import Prepared, prepare, rows_to_prefetch
from densdiff.solvers.search import Choice, averaged_distance, choose
from densdiff.solvers.spectral import MOST_COLUMNS, SpectralSolver
from densdiff.solvers.uncertainty import Densities, band, band_model, distance_spreads, normal_quantile
from densdiff.sources.array_sample import ArraySample
from densdiff.threads import on_one_thread

_SOLVERS = ("auto", "centers", "spectral", "pairs")
_LAM_RANGE = (1e-50, 1e50)
_FEW_ROWS = 20
_PROBED = 2000  # rows of a sample that choose the smoothing of categories
_SHOWN = 4096  # rows of a sample that is not in memory: what pictures see of it
_PAIRS_ROWS = 20_000  # N^2 distances: a few seconds
Built = tuple[str, Solver, FloatArray | None]  # a solver's name, itself, its centers in the user's units


def automatic_solver(d: int, rows: int) -> str:
    """The solver of "auto" for d varying columns and so many rows of both samples together.

    Spectral and pairs are the same estimator; the grid costs least in one or two columns and grows slowly with the
    rows, pairs do not mind columns. Centers remain where neither fits.
    """
    if d <= 2 or (d <= MOST_COLUMNS and rows > _PAIRS_ROWS):
        return "spectral"
    return "pairs" if rows <= _PAIRS_ROWS else "centers"


class LSDD(BaseEstimator):
    """Least-squares density difference.

    Estimates f(x) = p(x) - q(x) from a sample X of p and a sample Y of q by penalized least squares on
    Gaussian kernels, with sigma and lam chosen by cross-validation.

    Parameters
    ----------
    sigma, lam : "cv", float or sequence of float
        Kernel width and regularization: searched over the data's own range, given, or searched over the
        sequence. sigma is in standardized units when ``standardize``; lam is the paper's lambda divided by
        (pi sigma^2)^(d/2), free of units.
    solver : {"auto", "centers", "spectral", "pairs"}
        "spectral" (up to three columns) and "pairs" solve the paper's RKHS problem exactly, on a grid and from
        pair distances; "centers" puts Gaussian kernels on a random subset of the rows. "auto" chooses by columns
        and rows. lam means something else to "centers" than to the other two, so a numeric lam needs a solver.
    n_centers : int
        With solver "centers": how many rows become kernel centers (all of them if there are fewer).
    centers : array of shape (b, d), optional
        Kernel centers in the user's units, instead of random rows.
    folds : int
        Folds of the cross-validation; two random partitions are used, at no cost in passes over the rows.
    standardize : bool
        Divide each column by its pooled standard deviation first. Results are in the user's units either way.
    random_state : None, int, Generator or RandomState
        Seed of centers and folds.

    Attributes
    ----------
    sigma_, lam_ : float
        The chosen model.
    cv_results_ : dict of arrays
        "sigma", "lam", "mean_score", "standard_error", "rank" (k,) and "fold_scores" (k, folds * repeats).
    solver_ : str
    centers_ : array of shape (b, d)
        With solver "centers" only.
    theta_ : array of shape (b,)
        With solver "centers" only: f(x) = theta_ @ psi(x), in the user's units.
    samples_ : tuple of two arrays
        Some rows, evenly spaced, of samples that are not in memory.
    feature_names_ : tuple of str
    n_features_in_ : int
    seed_ : int

    References
    ----------
    Sugiyama et al., "Density-Difference Estimation", arXiv 1207.0099.

    Examples
    --------
    >>> import densdiff as dd
    >>> pair = dd.datasets.gaussian_shift(mu=0.5, n=200, random_state=0)
    >>> model = dd.LSDD(random_state=0).fit(pair.x, pair.y)
    >>> model.predict([[0.5], [-0.5]]) > 0
    array([ True, False])
    """

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

    @on_one_thread
    def fit(self, X: Any, Y: Any, weights_x: Any = None, weights_y: Any = None) -> Self:
        """Estimate p - q from X, shape (n, d), and Y, shape (m, d), with optional row weights.

        Samples may be arrays, frames, paths, Dask collections or iterables of blocks; see docs/scale.md.
        """
        before = dict(self.__dict__)
        try:
            self.checked_grids()
            seed = parameters.seed(self.random_state)
            prefetch = partial(rows_to_prefetch, seed, self.n_centers)
            return self.fit_pair(check_pair(X, Y, weights_x, weights_y, prefetch=prefetch), seed)
        except Exception:  # a refused refit leaves the model as it was
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def checked_grids(self) -> tuple[FloatArray | None, FloatArray | None]:
        """The sigmas and lams to search, None for the data's own, after a check of all parameters."""
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
                "lam means something different to each solver; with a numeric lam choose one, such as solver='centers'",
                argument="solver",
            )
        if self.centers is not None and self.solver not in ("auto", "centers"):
            text = f"centers were given, but solver={self.solver!r} has none; use solver='centers'"
            raise InputError(text, argument="solver")
        return sigmas, lams

    def check_columns(self, d: int, categories: bool) -> None:
        """Refuse a solver that cannot have these columns."""
        if categories and self.solver not in ("auto", "centers"):
            text = f"solver={self.solver!r} takes columns of numbers only; use solver='centers' or 'auto'"
            raise InputError(text, argument="solver")
        if self.solver == "spectral" and d > MOST_COLUMNS:
            raise InputError(
                f"solver='spectral' takes up to {MOST_COLUMNS} columns that vary, here are {d}; "
                "use solver='pairs' or 'auto'",
                argument="solver",
            )

    def fit_pair(self, pair: Pair, seed: int | None = None) -> Self:
        """The same from samples that were checked before; ``seed`` in place of ``random_state`` if it was drawn."""
        sigmas, lams = self.checked_grids()
        random_state = self.random_state if seed is None else seed
        data = prepare(pair, standardize=self.standardize, folds=self.folds, random_state=random_state)
        for stale in ("centers_", "theta_"):  # of an earlier fit by another solver
            self.__dict__.pop(stale, None)
        self._data = data
        grid = data.sigmas(sigmas), None if lams is None else np.unique(lams)[::-1]
        built, (choice,) = self._searched_for([DIFFERENCE], self._resolve_solver(), *grid, strict=self.solver != "auto")
        self.solver_, self._solver, centers = built
        if centers is not None:
            self.centers_ = centers
        self._searched = sigmas is None and lams is None
        self._both: Densities | None = None
        self._store(choice, data)
        return self

    def _searched_for(
        self, sides: list[Side], name: str, sigmas: FloatArray, lams: FloatArray | None, strict: bool
    ) -> tuple[Built, list[Choice]]:
        """A solver and its choice for each curve; with categories, of the smoothing that suits these curves best."""
        found: list[tuple[float, float, Built, list[Choice]]] = []
        builds = [
            partial(self._build, name, sigmas, lams, strict, categories)
            for categories in self._smoothings(sides, name, sigmas, lams)
        ]
        for built in self._all_built(builds):
            choices = [choose(built[1], side, self._data.n_folds) for side in sides]
            log_scale = choices[0].log_scale
            found.append(
                (sum(float(each.fold_scores[each.chosen].mean()) for each in choices), log_scale, built, choices)
            )
        top = min(log_scale for _, log_scale, _, _ in found)
        with np.errstate(under="ignore"):
            best = min(found, key=lambda each: each[0] * np.exp(top - each[1]))
        return best[2], best[3]

    def _smoothings(
        self, sides: list[Side], name: str, sigmas: FloatArray, lams: FloatArray | None
    ) -> list[Categories | None]:
        """The kernels of categories to search; of many rows the best one for some of them, and the next rougher one."""
        options, pair = self._data.smoothings(), self._data.pair
        if len(options) == 1 or max(len(pair.x), len(pair.y)) <= 2 * _PROBED:
            return options
        of_x, of_y = (selection.draw_rows(self._data.seed, len(rows), _PROBED) for rows in (pair.x, pair.y))
        weights_x, weights_y = pair.weights_x[of_x], pair.weights_y[of_y]
        x, y = ArraySample(pair.x[of_x]), ArraySample(pair.y[of_y])
        some = replace(pair, x=x, y=y, weights_x=weights_x, weights_y=weights_y)
        probe = clone(self)
        probe._data = prepare(
            some, standardize=self.standardize, folds=self._data.n_folds, random_state=self._data.seed
        )
        (_, solver, _), _ = probe._searched_for(sides, name, sigmas, lams, strict=False)
        chosen = solver.categories.smoothing if isinstance(solver, CentersSolver) and solver.categories else 0.0
        place = [0.0 if each is None else each.smoothing for each in options].index(chosen)
        return options[max(0, place - 1) : place + 1]

    def chosen_for(self, side: Side) -> tuple[Solver, Choice]:
        """The fitted solver and its choice for another curve; with categories, with a smoothing of its own."""
        if not len(self._data.levels):
            return self._solver, choose(self._solver, side, self._data.n_folds)
        sigmas, lams = self.checked_grids()
        grid = self._data.sigmas(sigmas), None if lams is None else np.unique(lams)[::-1]
        built, (choice,) = self._searched_for([side], self.solver_, *grid, strict=False)
        return built[1], choice

    def _resolve_solver(self) -> str:
        self.check_columns(self._data.x.rows.shape[1], len(self._data.levels) > 0)
        if self.solver == "pairs" and not self._data.all_at_once:
            raise InputError("solver='pairs' needs all rows in memory; use 'auto' or 'centers'", argument="solver")
        if self.solver != "auto":
            return self.solver
        if self.centers is not None or len(self._data.levels):
            return "centers"
        d = self._data.x.rows.shape[1]
        if d == MOST_COLUMNS and not self._data.all_at_once:  # a grid of 128 MiB for every block of rows
            return "centers"
        return automatic_solver(d, self._many())

    def _many(self) -> int:
        """Rows of both samples; more than pairs can have if they are not in memory."""
        rows = len(self._data.x.rows) + len(self._data.y.rows)
        return rows if self._data.all_at_once else max(rows, _PAIRS_ROWS + 1)

    def _build(
        self,
        name: str,
        sigmas: FloatArray,
        lams: FloatArray | None,
        strict: bool,
        categories: Categories | None = None,
    ) -> Built:
        """The solver taken, and its centers if it has any; not ``strict``, another replaces a grid that fails."""
        data = self._data
        if name == "spectral":
            without_grid = automatic_solver(MOST_COLUMNS + 1, self._many())
            try:
                solver = SpectralSolver(data.x, data.y, data.folds, sigmas, lams)
                if self.solver != "auto" or not solver.n_outside or without_grid != "pairs":
                    return name, solver, None
            except NumericalError:
                if strict:
                    raise
            name = without_grid  # where the grid loses rows, pairs lose none
        if name == "pairs":
            return name, PairsSolver(data.x, data.y, data.folds, sigmas, lams), None
        given = self.centers is not None
        names, levels = data.pair.names, data.pair.levels
        centers = check_centers(self.centers, names, levels) if given else data.first_rows(self.n_centers)
        inner = data.scaling.apply(centers)
        return name, CentersSolver(data.x, data.y, inner, data.folds, sigmas, lams, categories), centers

    def _all_built(self, builds: Sequence[Callable[[], Built]]) -> list[Built]:
        """Several solvers, in the passes of one where rows have to be read."""
        return self._data.x.rows.each(lambda build: build(), builds)

    def _singles(self, models: Sequence[tuple[float, float]]) -> list[Solver]:
        """The same solver with single models, sigma and lam of each in inner units."""
        categories = self._solver.categories if isinstance(self._solver, CentersSolver) else None
        builds = [
            partial(self._build, self.solver_, np.array([sigma]), np.array([lam]), False, categories)
            for sigma, lam in models
        ]
        return [solver for _, solver, _ in self._all_built(builds)]

    def _store(self, choice: Choice, data: Prepared) -> None:
        """Learned attributes, in the user's units."""
        unit, log_volume = data.scaling.sigma_unit, data.scaling.log_volume
        self._choice = choice
        self.sigma_ = float(choice.sigmas[choice.chosen] * unit)
        self.lam_ = float(choice.lams[choice.chosen])
        mean = choice.fold_scores.mean(axis=1)
        errors = standard_errors(choice.fold_scores, data.n_folds)
        log_factor = -choice.log_scale - log_volume
        order = np.lexsort((-choice.lams, -choice.sigmas, mean))
        self.cv_results_ = {
            "sigma": choice.sigmas * unit,
            "lam": choice.lams.copy(),
            "mean_score": from_log(mean, log_factor),
            "standard_error": from_log(errors, log_factor),
            "fold_scores": from_log(choice.fold_scores, log_factor),
            "rank": np.argsort(order) + 1,
        }
        self.samples_ = (data.given.x.spaced(_SHOWN), data.given.y.spaced(_SHOWN))
        self.feature_names_ = data.pair.names
        self.n_features_in_ = len(data.pair.names)
        self.seed_ = data.seed
        self._log_factor = -float(self._solver.log_scales[choice.model[0]]) - log_volume
        if isinstance(self._solver, CentersSolver):
            self.theta_ = from_log(self._solver.coefficients(DIFFERENCE, choice.model), self._log_factor)

    def _check_fitted(self) -> None:
        if not hasattr(self, "cv_results_"):
            raise NotFittedError("this LSDD is not fitted yet; call fit(X, Y) first")

    @on_one_thread
    def predict(self, points: Any) -> FloatArray:
        """f = p - q at the points, shape (k, d), in the user's units; (k,)."""
        self._check_fitted()
        return self.difference_at(check_points(points, self.feature_names_, levels=self._data.pair.levels))

    def difference_at(self, rows: FloatArray) -> FloatArray:
        """f at rows that were checked before, codes for categories; (k,)."""
        values = self._solver.evaluate(DIFFERENCE, self._choice.model, self._data.scaling.apply(rows))
        return from_log(values, self._log_factor)

    @on_one_thread
    def densities(self, points: Any) -> tuple[FloatArray, FloatArray]:
        """p and q at the points, (k,) each, with a smoothing of their own: their difference is not quite `predict`."""
        self._check_fitted()
        inner = self._data.scaling.apply(check_points(points, self.feature_names_, levels=self._data.pair.levels))
        both, found = self._densities(), []
        for side, choice in zip((DENSITY_X, DENSITY_Y), both.choices, strict=True):
            values = np.maximum(0.0, both.solver.evaluate(side, choice.model, inner))
            found.append(
                from_log(values, -float(both.solver.log_scales[choice.model[0]]) - self._data.scaling.log_volume)
            )
        return found[0], found[1]

    @on_one_thread
    def confidence_band(self, points: Any, level: float = 0.95, simultaneous: bool = True) -> Band:
        """Limits for f = p - q at the points, shape (k, d): for all of them at once, or for each on its own."""
        self._check_fitted()
        level, simultaneous = parameters.fraction(level, "level"), parameters.flag(simultaneous, "simultaneous")
        data = self._data
        rows = check_points(points, self.feature_names_, levels=data.pair.levels)
        inner = data.scaling.apply(rows)
        sigma, lam = band_model(self._solver, self._choice, inner.shape[1], self._densities())
        (rough,) = self._singles([(sigma, lam)])
        center, half = band(rough, data, inner, level, simultaneous)
        log_factor = -rough.log_scale(sigma) - data.scaling.log_volume
        estimate = self.difference_at(rows)
        return Band(
            points=rows,
            estimate=estimate,
            lower=np.minimum(estimate, from_log(center - half, log_factor)),
            upper=np.maximum(estimate, from_log(center + half, log_factor)),
            level=level,
            simultaneous=simultaneous,
            **self._receipt(self._notes()),
        )

    @on_one_thread
    def l2_distance(self, level: float = 0.95) -> DistanceResult:
        """The squared L2 distance of p and q with an interval, and all estimates of the paper."""
        self._check_fitted()
        level = parameters.fraction(level, "level")
        data, solver, choice = self._data, self._solver, self._choice
        value, log_factor = averaged_distance(solver, DIFFERENCE, choice)
        value = max(0.0, value) if data.given.varying.any() else 0.0  # else sums that cancel leave a rest
        densities = self._densities()
        total, log_total = self._norms(densities)
        normalized = _ratio(value, log_factor, total, log_total)
        spreads, z = distance_spreads(solver, choice, data, densities, self._singles), normal_quantile(level)
        error = spreads.error(1.0, log_factor)
        ends = max(0.0, value - z * error), value + spreads.above(1.0, log_factor, value, z)
        relative = (0.0, 1.0)
        if total > 0:
            below = z * spreads.error(1.0 - normalized, log_total) / total
            above = spreads.above(1.0 - normalized, log_total, normalized * total, z) / total
            relative = max(0.0, normalized - below), min(1.0, normalized + above)
        log_factor -= data.scaling.log_volume
        notes = self._notes()
        if saturates(value, log_factor):
            notes.append(
                f"the squared distance is out of the range of doubles (its logarithm is "
                f"{np.log(value) + log_factor:.6g}): squared saturates, read log_squared or normalized"
            )
            messages.warn(notes[-1])
        low, high = (float(from_log(end, log_factor)) for end in ends)
        return DistanceResult(
            squared=float(from_log(value, log_factor)),
            normalized=normalized,
            standard_error=float(from_log(error, log_factor)),
            interval=(low, high),
            normalized_interval=relative,
            level=level,
            estimates=self._estimates(),
            log_squared=float(np.log(value) + log_factor) if value > 0 else None,
            **self._receipt(notes),
        )

    def _receipt(self, notes: list[str]) -> dict[str, Any]:
        return {
            "sigma": self.sigma_,
            "lam": self.lam_,
            "solver": self.solver_,
            "n_centers": len(self.centers_) if self.solver_ == "centers" else None,
            "n_x": len(self._data.given.x),
            "n_y": len(self._data.given.y),
            "seed": self.seed_,
            "tuning": self._tuning(),
            "warnings": tuple(notes),
        }

    def _notes(self) -> list[str]:
        data = self._data
        notes = [*data.notes, *self._solver.notes, *self._solver_notes()]
        if (fewest := min(len(data.x.rows), len(data.y.rows))) < _FEW_ROWS:
            notes.append(f"{fewest} rows in a sample are few: a distance as large as this may be chance alone")
        return notes

    def _solver_notes(self) -> list[str]:
        """Where "auto" had to fall back on centers, what may be closer: measured in docs/math.md."""
        rows, d = len(self._data.x.rows) + len(self._data.y.rows), self._data.x.rows.shape[1]
        if self.solver != "auto" or self.centers is not None or self.solver_ != "centers" or len(self._data.levels):
            return []
        return [
            f"{rows} rows in {d} columns are too many for pairs, so {len(self.centers_)} centers were used; "
            f"solver='pairs' on a random {_PAIRS_ROWS} of the rows may come closer"
        ]

    def _tuning(self) -> str:
        models = len(self._choice.sigmas)
        repeats = self._choice.fold_scores.shape[1] // self._data.n_folds
        used = len(self._choice.averaged)
        how = f"{self._data.n_folds}-fold cross-validation x {repeats}, {models} models, {used} averaged"
        of = self._solver.categories if isinstance(self._solver, CentersSolver) else None
        smoothed = "" if of is None else f", categories smoothed by {of.smoothing:g}"
        return ("sigma and lam given" if models == 1 else how) + smoothed

    def _densities(self) -> Densities:
        """p and q with their own smoothing, from the data's own range of models; kept once made."""
        if self._both is None:
            sides = [DENSITY_X, DENSITY_Y]
            if self._searched and not len(self._data.levels):
                solver, choices = self._solver, [choose(self._solver, side, self._data.n_folds) for side in sides]
            else:
                built, choices = self._searched_for(sides, self.solver_, self._data.ladder(), None, strict=False)
                solver = built[1]
            self._both = Densities(solver, (choices[0], choices[1]))
        return self._both

    def _norms(self, densities: Densities) -> tuple[float, float]:
        """|p|^2 + |q|^2 of E9 and the logarithm of its factor."""
        norms = [
            averaged_distance(densities.solver, side, choice)
            for side, choice in zip((DENSITY_X, DENSITY_Y), densities.choices, strict=True)
        ]
        top = max(log for _, log in norms)
        return float(sum(max(0.0, norm) * np.exp(log - top) for norm, log in norms)), top

    def _estimates(self) -> dict[str, float | None]:
        """E4 to E8 at the chosen model, raw, in the user's units; E8 needs H, so it is None without centers."""
        form = self._solver.forms(DIFFERENCE, [self._choice.model])[0]
        corrected = form.plain + form.lam_term
        raw: dict[str, float | None] = {
            "h_theta": form.plain,
            "theta_H_theta": form.plain - form.lam_term,
            "regularization_corrected": corrected,
            "debiased": corrected - form.correction,
            "bias_corrected": None,
            "positive_part": None,
        }
        if isinstance(self._solver, CentersSolver):
            spectrum = self._solver.spectrum(self._choice.model[0])
            bias_corrected = corrected - spectrum.unregularized_correction()
            raw |= {"bias_corrected": bias_corrected, "positive_part": max(0.0, bias_corrected)}
        return {
            name: None if value is None else float(from_log(value, self._log_factor)) for name, value in raw.items()
        }


def _ratio(value: float, log_value: float, total: float, log_total: float) -> float:
    """The normalized distance (E9): between 0 and 1, with 0/0 guarded."""
    if value <= 0:
        return 0.0
    if total <= 0:
        return 1.0
    return float(np.exp(min(0.0, np.log(value) + log_value - np.log(total) - log_total)))
