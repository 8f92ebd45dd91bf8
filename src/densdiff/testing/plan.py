"""From an estimator and two samples to the statistics of a test, tuned without a look at the labels.

Everything drawn here (centers, folds, the rows a median is taken of) is drawn from the pooled rows by position, which
says nothing about their labels once these are exchangeable.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from densdiff.core import kernel
from densdiff.core.resample import BoolArray
from densdiff.core.scaling import FloatArray
from densdiff.data import parameters
from densdiff.data.pair import Pair
from densdiff.data.points import check_centers
from densdiff.errors import InputError
from densdiff.estimators.kde import GaussianOverlap, KDEDifference, cross_validated_width
from densdiff.estimators.kliep import KLIEP
from densdiff.estimators.lsdd import LSDD
from densdiff.solvers.base import FilterKernel, Side
from densdiff.solvers.centers import CenterKernel
from densdiff.solvers.prepared import Prepared, WeightedSample
from densdiff.sources.array_sample import ArraySample
from densdiff.testing.low_order import LowOrderStatistics
from densdiff.testing.refit import (
    KliepSettings,
    KliepStatistics,
    Refitted,
    RefittedKDE,
    refitted_centers,
    refitted_pairs,
)
from densdiff.testing.statistics import (
    MEDIAN_ROWS,
    SPREAD,
    STRONG,
    CellStatistics,
    CenterStatistics,
    KernelStatistics,
    Model,
    Statistics,
    SummedStatistics,
    sigmas_of,
    spread_sigmas,
)

_KERNEL_WORK = 2e11  # multiplications that relabelling with all pairs of rows may take: two seconds
_KERNEL_MADE = 900  # relabellings that take as long as making the kernel
_MOST_WORK = 2e12  # beyond it "auto" turns to the limit of the null
_POOLED = Side(0.5, 0.5)
_REFIT_ROWS = 3000
_POOLED_ROWS = 20_000  # of large samples tell the model that suits the pooled density


@dataclass(frozen=True)
class Tested:
    """The statistics of one test and what is to be told about them."""

    statistics: Statistics | CellStatistics | SummedStatistics
    solver: str
    tuning: str
    work: float  # multiplications
    n_centers: int | None = None
    low_order: LowOrderStatistics | None = None  # beside the statistics of all columns

    @property
    def too_costly(self) -> bool:
        """Whether relabelling takes so long that "auto" turns to the limit of the null."""
        return self.work > _MOST_WORK

    @property
    def has_limit(self) -> bool:
        return isinstance(self.statistics, KernelStatistics | CenterStatistics | CellStatistics | SummedStatistics)

    @property
    def only_limit(self) -> bool:
        """Whether rows cannot be relabelled because they are not in memory."""
        return isinstance(self.statistics, SummedStatistics)

    @property
    def in_logs(self) -> bool:
        """Whether statistics are logarithms: refitted ones, whose models have scales of their own."""
        return isinstance(self.statistics, Refitted | RefittedKDE)

    def model(self, best: int) -> tuple[float | tuple[float, float], float | None]:
        """Sigma in inner units and lam as they are reported."""
        if isinstance(self.statistics, RefittedKDE):
            return self.statistics.widths or (np.nan, np.nan), None
        sigma, lam = self.statistics.models[best]
        if self.solver == "kliep":
            return sigma, None
        return ((sigma, sigma), None) if self.solver == "kde" else (sigma, lam)

    def log_factor(self, best: int, log_volume: float) -> float:
        """What turns the statistic of a model into the user's units; a divergence has none."""
        return 0.0 if self.solver == "kliep" else float(-self.statistics.log_scales[best]) - log_volume

    def table(self, chunks: Iterable[BoolArray]) -> FloatArray:
        """Statistics of all relabellings, (k, M), those of low order last."""
        if self.low_order is None:
            return np.concatenate([self.statistics.of(labels) for labels in chunks])
        found = [(self.statistics.of(labels), self.low_order.of(labels)) for labels in chunks]
        whole, low = (np.concatenate(part) for part in zip(*found, strict=True))
        return np.hstack([whole, self.low_order.combined(low)])

    def with_low_order(self, data: Prepared) -> "Tested":
        """The same with statistics of single columns and of pairs, if there are several columns and no limit is due."""
        whole = isinstance(self.statistics, KernelStatistics | CenterStatistics)
        if data.x.rows.shape[1] < 2 or not whole or self.too_costly:
            return self
        rows = data.pooled_rows
        more = f"{self.tuning}, single columns and pairs of columns beside them"
        return replace(self, low_order=LowOrderStatistics(rows, data.levels, data.seed), tuning=more)


def checked(estimator: Any) -> LSDD | KDEDifference | KLIEP:
    """One of the three, with parameters that all of them have in order."""
    found: LSDD | KDEDifference | KLIEP = parameters.estimator(estimator, (LSDD, KDEDifference, KLIEP))
    parameters.whole(found.folds, "folds", 2)
    parameters.flag(found.standardize, "standardize")
    return found


def tested(
    estimator: LSDD | KDEDifference | KLIEP, data: Prepared, tuning: str, permutations: int, by_rows: bool
) -> Tested:
    """The test of an `LSDD`, `KDEDifference` or `KLIEP`; ``by_rows`` if counts in cells cannot stand for rows."""
    if isinstance(estimator, LSDD):
        return _lsdd(estimator, data, tuning, permutations, by_rows)
    if isinstance(estimator, KDEDifference):
        return _kde(estimator, data, tuning, permutations)
    return _kliep(estimator, data, tuning)


def _lsdd(estimator: LSDD, data: Prepared, tuning: str, permutations: int, by_rows: bool) -> Tested:
    estimator.settings().check_columns(data.x.rows.shape[1], len(data.levels) > 0)
    if not data.all_at_once:
        return _large(estimator, data, tuning, by_rows)
    rows, (inner, lams) = data.pooled_rows, _grids(estimator, data)
    given = _given(inner, lams)
    count = len(SPREAD) if tuning == "aggregate" and not given else 1  # at most
    work = 2.0 * (permutations + _KERNEL_MADE) * count * len(rows) ** 2
    kind = _kind(estimator, rows, work, by_rows or tuning == "refit")
    kind = "centers" if len(data.levels) else kind
    in_cells = CellStatistics(data, _models(estimator, data, tuning, None, None)[0]) if kind == "cells" else None
    if in_cells is not None and in_cells.narrow and estimator.solver == "auto":
        kind, in_cells = "centers", None
    drawn = _drawn_centers(estimator, data) if kind == "centers" else None
    centers = None if drawn is None else _center_kernel(data, drawn, inner)
    statistics: Statistics | CellStatistics
    models: list[Model] = []
    if in_cells is not None:
        statistics, models = in_cells, in_cells.models
    elif tuning == "refit" and not given:
        statistics = _refitted(data, rows, centers, inner, lams)
    else:
        models, centers = _models(estimator, data, tuning, drawn, centers)
        if kind == "kernel" and tuning == "aggregate" and inner is None and lams is None:  # one more costs little
            models.append(_pooled_model(estimator, data, None)[0])
        if centers is not None:
            statistics = CenterStatistics(rows, models, centers)
        else:
            statistics = KernelStatistics(rows, models, FilterKernel(rows.shape[1]))
    columns = len(rows) if centers is None else len(centers.centers)
    work = 0.0 if kind == "cells" else 2.0 * permutations * max(1, len(models)) * len(rows) * columns
    exact = "spectral" if kind == "cells" or rows.shape[1] <= 2 else "pairs"
    name = "centers" if centers is not None else exact if estimator.solver == "auto" else estimator.solver
    how = "sigma and lam given" if given else _TUNED[tuning].format(len(models))
    return Tested(statistics, name, how, work, n_centers=None if centers is None else columns)


def _large(estimator: LSDD, data: Prepared, tuning: str, blocks: bool) -> Tested:
    """Rows that are not in memory: cells of one or two columns, relabelled exactly, or centers and their limit."""
    if tuning == "refit" or blocks or estimator.solver == "pairs":
        what = "tuning='refit'" if tuning == "refit" else "blocks=" if blocks else "solver='pairs'"
        raise InputError(f"{what} needs all rows in memory; leave it out, or test a random part of the rows")
    inner, lams = _grids(estimator, data)
    few = data.x.rows.shape[1] <= 2 and not len(data.levels)
    in_cells = few and estimator.solver != "centers" and estimator.centers is None
    drawn = None if in_cells else _drawn_centers(estimator, data)
    models, centers = _models(
        estimator, data, tuning, drawn, None if drawn is None else _center_kernel(data, drawn, inner)
    )
    how = "sigma and lam given" if _given(inner, lams) else _TUNED[tuning].format(len(models))
    if tuning == "pooled" and len(data.x.rows) + len(data.y.rows) > _POOLED_ROWS:
        how = how.replace("the pooled rows", f"{_POOLED_ROWS} pooled rows drawn at random")
    if centers is None:
        return Tested(CellStatistics(data, models), "spectral", how, 0.0)
    statistics = SummedStatistics(data, models, centers)
    return Tested(statistics, "centers", how, np.inf, n_centers=len(centers.centers))


def _grids(estimator: LSDD, data: Prepared) -> tuple[FloatArray | None, FloatArray | None]:
    """Sigmas in inner units and lams, None where they are searched."""
    asked = estimator.settings()
    return None if asked.sigmas is None else data.sigmas(asked.sigmas), asked.lams


def _given(sigmas: FloatArray | None, lams: FloatArray | None) -> bool:
    """Whether there is nothing to tune."""
    return sigmas is not None and lams is not None and len(sigmas) == len(lams) == 1


def _models(
    estimator: LSDD, data: Prepared, tuning: str, drawn: FloatArray | None, centers: CenterKernel | None
) -> tuple[list[Model], CenterKernel | None]:
    """The models of a test that are not refitted, and the centers with the kernel of categories that suits them."""
    sigmas, lams = _grids(estimator, data)
    if sigmas is not None and lams is not None and _given(sigmas, lams):
        return [(float(sigmas[0]), float(lams[0]))], centers
    if tuning != "pooled":
        return _several(data, centers, sigmas, lams), centers
    model, categories = _pooled_model(estimator, data, drawn)
    return [model], centers if centers is None or categories is None else centers.with_categories(categories)


_TUNED = {
    "aggregate": "aggregate: the largest of {} standardized statistics",
    "pooled": "pooled: cross-validation on the pooled rows",
    "refit": "refit: cross-validation within every relabelling",
}


def _kind(estimator: LSDD, rows: FloatArray, work: float, by_rows: bool) -> str:
    """How statistics are computed: "centers", "cells" of one or two columns, or the "kernel" between all rows."""
    if estimator.solver == "centers" or estimator.centers is not None:
        return "centers"
    if work <= _KERNEL_WORK:
        return "kernel"
    if rows.shape[1] <= 2 and estimator.solver != "pairs" and not by_rows:
        return "cells"
    return "centers" if estimator.solver == "auto" else "kernel"


def _drawn_centers(estimator: LSDD, data: Prepared) -> FloatArray:
    """Centers in the user's units, from the pooled rows whatever their labels."""
    if estimator.centers is not None:
        return check_centers(estimator.centers, data.pair.names, data.pair.levels)
    return np.unique(data.some_user_rows(estimator.n_centers), axis=0)


def _center_kernel(data: Prepared, drawn: FloatArray, sigmas: FloatArray | None) -> CenterKernel:
    """Of centers in the user's units."""
    centers = data.scaling.apply(drawn)
    smallest = float((_widths(data) if sigmas is None else sigmas).min()) / 2.0
    d = data.numbers(centers).shape[1]
    radius = max(data.x.rows.reach(d), data.y.rows.reach(d), kernel.radius(data.numbers(centers)))
    return CenterKernel(centers, radius, smallest, data.tied_categories())


def _widths(data: Prepared) -> FloatArray:
    """The sigmas that "aggregate" combines; unequal levels count as a distance."""
    return sigmas_of(data.some_pooled(MEDIAN_ROWS), data.tied_categories())


def _several(
    data: Prepared, centers: CenterKernel | None, sigmas: FloatArray | None, lams: FloatArray | None
) -> list[Model]:
    """The models that "aggregate" combines; centers reach the same filters at sigma / sqrt(2) (DESIGN 1.1)."""
    if sigmas is None:
        narrower = 1.0 if centers is None else float(np.sqrt(2.0))
        sigmas = np.asarray(_widths(data) / narrower)
    found = []
    for sigma in map(float, sigmas):
        unit = 1.0 if centers is None else centers.mean_row_sum(sigma)
        found += [(sigma, float(lam)) for lam in (lams if lams is not None else [STRONG * unit])]
    return found


def _pooled_model(
    estimator: LSDD, data: Prepared, centers: FloatArray | None
) -> tuple[Model, kernel.Categories | None]:
    """Cross-validation of the pooled density on two random halves of the pooled rows: blind to the labels."""
    pooled = data.pooled_user_rows(_POOLED_ROWS)
    # in an order of their own, so that swapping the samples changes nothing
    pooled = np.sort(pooled, axis=0) if pooled.shape[1] == 1 else pooled[np.lexsort(pooled.T)]
    order = np.random.default_rng([data.seed, 5]).permutation(len(pooled))
    half = len(order) // 2
    model: LSDD = clone(estimator).set_params(random_state=data.seed)
    if centers is not None:
        model.set_params(solver="centers", centers=None if data.pair.levels else centers)
    x, y = (ArraySample(np.asfortranarray(pooled[rows])) for rows in (order[:half], order[half:]))
    model.fit_pair(replace(Pair.of(x, y, data.pair.names, data.pair.levels), varying=data.pair.varying))
    solver, choice = model.fit_.chosen_for(_POOLED)
    categories = solver.categories if isinstance(solver, CenterKernel) else None
    return (float(choice.sigmas[choice.chosen]), float(choice.lams[choice.chosen])), categories


def _refitted(
    data: Prepared,
    rows: FloatArray,
    centers: CenterKernel | None,
    sigmas: FloatArray | None,
    lams: FloatArray | None,
) -> Refitted:
    if sigmas is None:
        sigmas = data.pooled_ladder()
    if centers is not None:
        sizes = len(data.x.rows), len(data.y.rows)
        return refitted_centers(rows, sizes, data.seed, data.n_folds, centers, sigmas, lams)
    if len(rows) > _REFIT_ROWS:
        raise InputError(
            f"tuning='refit' of {len(rows)} rows needs their pair distances in memory, at most {_REFIT_ROWS} rows; "
            "use tuning='aggregate' or solver='centers'",
            argument="tuning",
        )
    return refitted_pairs(rows, (data.x, data.y), data.seed, data.n_folds, sigmas, lams)


def _kde(estimator: KDEDifference, data: Prepared, tuning: str, permutations: int) -> Tested:
    rows, grid = data.pooled_rows, parameters.positive_grid(estimator.sigma, "sigma")
    inner = None if grid is None else data.sigmas(grid)
    sizes, given = (len(data.x.rows), len(data.y.rows)), inner is not None and len(inner) == 1
    ladder = data.pooled_ladder() if inner is None else inner
    work = 2.0 * permutations * len(rows) ** 2
    if tuning == "refit" and not given:
        refit = RefittedKDE(rows, sizes, data.seed, data.n_folds, ladder)
        return Tested(refit, "kde", _TUNED["refit"].replace("cross", "likelihood cross"), work * len(ladder))
    if given:
        models = [(float(ladder[0]), np.nan)]
    elif tuning == "pooled":
        models = [(_pooled_width(data, rows, ladder), np.nan)]
    else:
        widths = spread_sigmas(rows, data.seed) / np.sqrt(2.0) if inner is None else inner
        models = [(float(width), np.nan) for width in widths]
    how = "sigma given" if given else _TUNED[tuning].format(len(models))
    return Tested(KernelStatistics(rows, models, GaussianOverlap(rows.shape[1])), "kde", how, work * len(models))


def _pooled_width(data: Prepared, rows: FloatArray, ladder: FloatArray) -> float:
    """The width that suits the density of the pooled rows, by likelihood cross-validation with folds by position."""
    return cross_validated_width(WeightedSample.of(rows), data.seed, data.n_folds, ladder)


def _kliep(estimator: KLIEP, data: Prepared, tuning: str) -> Tested:
    rows, grid = data.pooled_rows, parameters.positive_grid(estimator.sigma, "sigma")
    inner = None if grid is None else data.sigmas(grid)
    given = inner is not None and len(inner) == 1
    ladder = data.pooled_ladder() if inner is None else inner
    folds = 0
    if tuning == "refit" and not given:
        sigmas, folds = ladder, data.n_folds
    elif tuning == "pooled" and not given:
        sigmas = np.array([_pooled_width(data, rows, ladder)])
    else:
        widths = spread_sigmas(rows, data.seed)  # one alone if all rows are equal
        sigmas = (widths[1:5] if len(widths) > 1 else widths) if inner is None else inner
    settings = KliepSettings(np.asarray(sigmas), parameters.whole(estimator.n_centers, "n_centers", 1), folds)
    sizes = len(data.x.rows), len(data.y.rows)
    how = "sigma given" if given else _TUNED[tuning].format(len(sigmas)).replace("cross", "likelihood cross")
    statistics = KliepStatistics(rows, sizes, data.seed, settings)
    return Tested(statistics, "kliep", how, 0.0, n_centers=min(sizes[0], estimator.n_centers))
