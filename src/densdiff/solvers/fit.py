"""A fit in one object: the prepared samples, the solver that was built for them and the model that was chosen.

X is a sample of p, Y of q, and f = p - q. `find_fit` builds the solver, searches sigma, lam and the smoothing of
categories, and returns the `Fit` that distances, bands, tests, class balance and pictures start from.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from densdiff.core import selection
from densdiff.core.kernel import Categories
from densdiff.core.scaling import FloatArray, from_log
from densdiff.data.points import check_centers
from densdiff.errors import InputError, NumericalError
from densdiff.solvers import prepared
from densdiff.solvers.base import DENSITY_X, DENSITY_Y, DIFFERENCE, Model, Side, Solver, has_many_classes
from densdiff.solvers.centers import CentersSolver
from densdiff.solvers.curve import AveragedCurve, find_curve
from densdiff.solvers.pairs import PairsSolver
from densdiff.solvers.prepared import Prepared, prepare
from densdiff.solvers.search import Choice, choose
from densdiff.solvers.spectral import MOST_COLUMNS, SpectralSolver
from densdiff.sources.array_sample import ArraySample

_PROBED = 2000  # rows of a sample that choose the smoothing of categories for centers
_MANY_CLASSES_ROWS = 3000  # each pair is weighed some forty times where columns of categories are many


def automatic_solver(d: int, rows: int) -> str:
    """The solver of "auto" for d varying columns of numbers and so many rows of both samples together.

    Spectral and pairs are the same estimator; the spectral grid costs least in one or two columns and grows slowly with
    the rows, pairs do not mind columns.
    """
    return "spectral" if d <= 2 or (d <= MOST_COLUMNS and rows > prepared.PAIRS_ROWS) else "pairs"


def rows_for_pairs(data: Prepared) -> Prepared:
    """The samples, or as many of their rows as pairs can have."""
    data = data.thinned(prepared.PAIRS_ROWS)
    return data.thinned(_MANY_CLASSES_ROWS) if has_many_classes(data.levels) else data


@dataclass(frozen=True)
class Settings:
    """What was asked of a fit: grids to search, None for the data's own, and the solver with its centers."""

    sigmas: FloatArray | None  # in the units of standardized columns, or the user's
    lams: FloatArray | None
    solver: str  # "auto", "centers", "spectral" or "pairs"
    n_centers: int
    centers: Any  # in the user's units, None to draw them from the rows
    standardize: bool

    def check_columns(self, d: int, categories: bool) -> None:
        """Refuse a solver that cannot have these columns."""
        if categories and self.solver == "spectral":
            text = "solver='spectral' takes columns of numbers only; use solver='pairs' or 'auto'"
            raise InputError(text, argument="solver")
        if self.solver == "spectral" and d > MOST_COLUMNS:
            text = f"solver='spectral' takes at most {MOST_COLUMNS} columns that vary; got {d}"
            raise InputError(f"{text}: use solver='pairs' or 'auto'", argument="solver")


@dataclass(frozen=True)
class Densities:
    """p and q, each with its own cross-validated smoothing.

    Where f is nearly 0 its own cross-validation takes the widest kernels there are, and says nothing about what they
    hide; the smoothing that suits the two densities bounds that.
    """

    solver: Solver
    choices: tuple[Choice, Choice]

    def model(self, weaker: float) -> Model:
        """Geometric means of the sigmas and the lams of p and q, lam so many times weaker, and the lesser smoothing."""
        models = [self.solver.rougher_model(choice.model, 1.0, weaker) for choice in self.choices]
        sigma, lam = np.exp(np.mean(np.log([model[:2] for model in models]), axis=0))
        return Model(float(sigma), float(lam), min(model.smoothing for model in models))


@dataclass(frozen=True)
class NamedSolver:
    """A solver, its name and the samples it was made of, which may be thinned."""

    name: str
    solver: Solver
    data: Prepared
    centers: FloatArray | None = None  # in the user's units, if it has any


@dataclass(frozen=True)
class Fit:
    """Two prepared samples, a solver of their models, and the model of f = p - q that was chosen."""

    data: Prepared
    settings: Settings
    named_solver: NamedSolver
    choice: Choice
    _kept: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def solver(self) -> Solver:
        return self.named_solver.solver

    @property
    def used(self) -> Prepared:
        """The samples that f rests on: all rows, or those that were drawn of too many."""
        return self.named_solver.data

    @property
    def categories(self) -> Categories | None:
        """The kernel between levels that centers have, if there are any."""
        return self.solver.categories if isinstance(self.solver, CentersSolver) else None

    @property
    def is_automatic(self) -> bool:
        """Whether sigma, lam and the solver were left to the data."""
        asked = self.settings
        return asked.sigmas is None and asked.lams is None and asked.centers is None and asked.solver != "centers"

    @property
    def log_factor(self) -> float:
        """Logarithm of what turns values at the chosen model into the user's units."""
        return -float(self.solver.log_scales[self.choice.model[0]]) - self.data.scaling.log_volume

    def difference(self, inner: FloatArray) -> FloatArray:
        """f at points in inner units, in the user's, (k,): averaged over models unless one was asked for."""
        if self.is_automatic:
            return self.curve.at(inner)
        return from_log(self.solver.evaluate(DIFFERENCE, self.choice.model, inner), self.log_factor)

    @property
    def curve(self) -> AveragedCurve:
        """f averaged over models, found when it is first asked for; not a cached property, as `densities`."""
        found: AveragedCurve = self._kept.get("curve") or self._kept.setdefault("curve", find_curve(self.data))
        return found

    @property
    def densities(self) -> Densities:
        """p and q with their own smoothing, found when they are first asked for.

        Not a cached property: in Python 3.11 its lock is one for all fits, and those that share passes would wait in
        vain.
        """
        found: Densities = self._kept.get("densities") or self._kept.setdefault("densities", self._find_densities())
        return found

    def _find_densities(self) -> Densities:
        """p and q with their own smoothing, from the data's own range of models."""
        sides = [DENSITY_X, DENSITY_Y]
        searched = self.settings.sigmas is None and self.settings.lams is None
        if searched and self.categories is None:
            solver, choices = self.solver, [choose(self.solver, side, self.used.n_folds) for side in sides]
        else:
            own_models = self.data.ladder(), None  # the sigmas of the data's own scale, the lams of the solver
            named, choices = self._search().best(sides, *own_models)
            solver = named.solver
        return Densities(solver, (choices[0], choices[1]))

    def density_values(self, inner: FloatArray) -> tuple[FloatArray, FloatArray]:
        """p and q at points in inner units, in the user's, (k,) each."""
        curves = []
        for side, choice in zip((DENSITY_X, DENSITY_Y), self.densities.choices, strict=True):
            solver = self.densities.solver
            values = np.maximum(0.0, solver.evaluate(side, choice.model, inner))
            log_factor = -float(solver.log_scales[choice.model[0]]) - self.data.scaling.log_volume
            curves.append(from_log(values, log_factor))
        return curves[0], curves[1]

    def chosen_for(self, side: Side) -> tuple[Solver, Choice]:
        """The solver and its choice for another curve; centers with categories have a smoothing for each curve."""
        if self.categories is None:
            return self.solver, choose(self.solver, side, self.used.n_folds)
        named, (choice,) = self._search().best([side], *_models_to_search(self.data, self.settings))
        return named.solver, choice

    def single_models(self, models: Sequence[Model]) -> list[NamedSolver]:
        """A solver of this kind for each of the models, with no other model in it, and the rows that it rests on."""
        search = self._search()
        builds = [
            partial(search.build, np.array([model.sigma]), np.array([model.lam]), self.categories, (model.smoothing,))
            for model in models
        ]
        return search.build_all(builds)

    def drawn_out_model(self, model: Model, factors: FloatArray) -> NamedSolver:
        """A solver of this kind for one model, its rows multiplied by a factor in each column, (d,)."""
        search = replace(self._search(), data=self.used.drawn_out(factors))
        return search.build(np.array([model.sigma]), np.array([model.lam]), self.categories, (model.smoothing,))

    def _search(self) -> "_Search":
        """A search among other models of this kind, on the same rows."""
        return _Search(self.used, self.settings, self.named_solver.name, strict=False)


def find_fit(data: Prepared, settings: Settings) -> Fit:
    """Build the solver, score its models and choose."""
    search = _Search(data, settings, _solver_name(data, settings), strict=settings.solver != "auto")
    named, (choice,) = search.best([DIFFERENCE], *_models_to_search(data, settings))
    return Fit(data, settings, named, choice)


def _models_to_search(data: Prepared, settings: Settings) -> tuple[FloatArray, FloatArray | None]:
    """Sigmas in inner units, widest first, and lams, strongest first, None for the solver's own."""
    return data.sigmas(settings.sigmas), None if settings.lams is None else np.unique(settings.lams)[::-1]


def _solver_name(data: Prepared, settings: Settings) -> str:
    d = data.x.rows.shape[1]
    settings.check_columns(d, len(data.levels) > 0)
    if settings.solver != "auto":
        return settings.solver
    if settings.centers is not None:
        return "centers"
    if len(data.levels) or (d == MOST_COLUMNS and not data.all_at_once):  # a grid of 128 MiB for every block of rows
        return "pairs"
    return automatic_solver(d, sum(data.sizes))


@dataclass(frozen=True)
class _Search:
    """The search among the models of one kind of solver; unless ``strict``, another kind replaces
    a spectral grid that does not reach all rows.
    """

    data: Prepared
    settings: Settings
    name: str
    strict: bool

    def best(self, sides: list[Side], sigmas: FloatArray, lams: FloatArray | None) -> tuple[NamedSolver, list[Choice]]:
        """A solver and its choice for each curve; centers with categories have the smoothing that suits all best."""
        candidates: list[tuple[float, float, NamedSolver, list[Choice]]] = []
        builds = [partial(self.build, sigmas, lams, categories) for categories in self._smoothings(sides, sigmas, lams)]
        for named in self.build_all(builds):
            choices = [choose(named.solver, side, named.data.n_folds) for side in sides]
            loss = sum(float(choice.fold_scores[choice.chosen].mean()) for choice in choices)
            candidates.append((loss, choices[0].log_scale, named, choices))
        # losses have the scale of their solver; compared in that of the smallest
        lowest = min(log_scale for _, log_scale, _, _ in candidates)
        with np.errstate(under="ignore"):
            *_, named, choices = min(candidates, key=lambda candidate: candidate[0] * np.exp(lowest - candidate[1]))
        return named, choices

    def _smoothings(self, sides: list[Side], sigmas: FloatArray, lams: FloatArray | None) -> list[Categories | None]:
        """The kernels of categories to search with centers; of many rows the best one for some of them, and the next
        rougher one.
        """
        data, pair = self.data, self.data.pair
        if self.name != "centers":
            return [None]
        options = data.smoothings()  # from rough to smooth
        if len(options) == 1 or max(len(pair.x), len(pair.y)) <= 2 * _PROBED:
            return options
        drawn_x, drawn_y = (selection.draw_rows(data.seed, len(rows), _PROBED) for rows in (pair.x, pair.y))
        x, y = ArraySample(pair.x[drawn_x]), ArraySample(pair.y[drawn_y])
        subsample = replace(pair, x=x, y=y, weights_x=pair.weights_x[drawn_x], weights_y=pair.weights_y[drawn_y])
        few = prepare(subsample, standardize=self.settings.standardize, folds=data.n_folds, random_state=data.seed)
        named, _ = replace(self, data=few, strict=False).best(sides, sigmas, lams)
        best = named.solver.categories if isinstance(named.solver, CentersSolver) else None
        chosen = 0.0 if best is None else best.smoothing
        place = [0.0 if option is None else option.smoothing for option in options].index(chosen)
        return options[max(0, place - 1) : place + 1]

    def build(
        self,
        sigmas: FloatArray,
        lams: FloatArray | None,
        categories: Categories | None = None,
        smoothings: Sequence[int] | None = None,
    ) -> NamedSolver:
        """The solver of a table of models; ``smoothings`` of categories are those of pairs, None for their own."""
        data = self.data
        if self.name == "spectral":
            fits_pairs = sum(data.sizes) <= prepared.PAIRS_ROWS
            try:
                solver = SpectralSolver(data.x, data.y, data.folds, sigmas, lams)
                if self.settings.solver != "auto" or not solver.n_outside or not fits_pairs:
                    return NamedSolver(self.name, solver, data)
            except NumericalError:
                if self.strict:
                    raise
        if self.name != "centers":  # where the grid loses rows, pairs lose none
            data = rows_for_pairs(data)
            pairs = PairsSolver(data.x, data.y, data.folds, sigmas, lams, data.levels, smoothings)
            return NamedSolver("pairs", pairs, data)
        user_centers = self.settings.centers
        centers = (
            data.draw_distinct_rows(self.settings.n_centers)
            if user_centers is None
            else check_centers(user_centers, data.pair.names, data.pair.levels)
        )
        inner = data.scaling.apply(centers)
        at_centers = CentersSolver(data.x, data.y, inner, data.folds, sigmas, lams, categories)
        return NamedSolver(self.name, at_centers, data, centers)

    def build_all(self, builds: Sequence[Callable[[], NamedSolver]]) -> list[NamedSolver]:
        """Several solvers; rows that have to be read are read no more often than for one of them."""
        return self.data.x.rows.map(lambda build: build(), builds)
