"""The test whose statistic is the squared L2 distance that `LSDD` estimates.

Statistics come from the kernel between all rows, from cells of one or two columns, or from centers, whichever the
number of rows allows and the user did not exclude.
"""

from functools import partial
from typing import Any

from densdiff.data import parameters
from densdiff.data.pair import Pair, check_pair
from densdiff.errors import InputError
from densdiff.estimators.difference import DensityDifference
from densdiff.solvers.base import FilterKernel
from densdiff.solvers.prepared import Prepared, rows_to_prefetch
from densdiff.testing.cell_statistics import CellStatistics
from densdiff.testing.kernel_statistics import CenterStatistics, KernelStatistics
from densdiff.testing.low_order import with_low_order
from densdiff.testing.lsdd_models import POOLED_ROWS, Centers, Grids, fixed_models, given_grids, pooled_model
from densdiff.testing.planned import TUNING_TEXTS, PlannedTest, PlanOptions
from densdiff.testing.refit import CrossValidation, refitted_centers, refitted_pairs
from densdiff.testing.statistics import Model, Statistics
from densdiff.testing.units import Units
from densdiff.testing.widths import SPREAD

_KERNEL_WORK = 2e11  # multiplications that relabelling with all pairs of rows may take: two seconds
_COLUMN_SHARE = 0.1  # of that work, for one column: its counts in cells take a tenth of a second
_KERNEL_MADE = 900  # relabellings that take as long as making the kernel
_REFIT_ROWS = 3000


def check_lsdd_samples(estimator: DensityDifference, X: Any, Y: Any) -> Pair:
    """Two samples from wherever they are; the estimator's seed is drawn, which tells the rows to be asked for."""
    seed = estimator.random_state = parameters.seed(estimator.random_state)
    return check_pair(X, Y, prefetch=partial(rows_to_prefetch, seed, estimator.n_centers))


def plan_lsdd(estimator: DensityDifference, data: Prepared, options: PlanOptions) -> PlannedTest:
    """Statistics from the kernel, from cells or from centers; of rows that are not in memory not from the kernel."""
    estimator.settings().check_columns(data.x.rows.shape[1], len(data.levels) > 0)
    if len(data.levels) and estimator.solver == "pairs":
        text = "solver='pairs' tests columns of numbers only; use solver='centers' or 'auto'"
        raise InputError(text, argument="solver")
    if not data.all_at_once:
        _refuse_streamed(estimator, options)
    grids = given_grids(estimator, data)
    # With categories a permutation multiplies labels by features at centers; the kernel of E16 has no features, and
    # its N^2 values would have to be made for every smoothing.
    method = "centers" if len(data.levels) else _choose_method(estimator, data, options, grids)
    if method == "kernel":
        return _plan_kernel(estimator, data, options, grids)
    if method == "cells":
        in_cells = _plan_cells(estimator, data, options, grids)
        if in_cells is not None:
            return in_cells
    return _plan_centers(estimator, data, options, grids)


def _is_refitted(options: PlanOptions, grids: Grids) -> bool:
    return options.tuning == "refit" and grids.only_model() is None


def _is_open(options: PlanOptions, grids: Grids) -> bool:
    """Whether nothing but the data say what is looked at: then low orders and the model that suits them belong in."""
    return options.tuning == "aggregate" and grids.sigmas is None and grids.lams is None


def _models(estimator: DensityDifference, data: Prepared, options: PlanOptions, grids: Grids) -> list[Model]:
    """The models of exact statistics, the one that suits the pooled rows last if it belongs in."""
    models, _ = fixed_models(estimator, data, options.tuning, grids)
    return [*models, pooled_model(estimator, data)[0]] if _is_open(options, grids) else models


def _tuning_text(tuning: str, grids: Grids, models: list[Model], data: Prepared) -> str:
    if grids.only_model() is not None:
        return "sigma and lam given"
    text = TUNING_TEXTS[tuning].format(len(models))
    if tuning == "pooled" and sum(data.sizes) > POOLED_ROWS:
        text = text.replace("the pooled rows", f"{POOLED_ROWS} pooled rows drawn at random")
    return text


def _choose_method(estimator: DensityDifference, data: Prepared, options: PlanOptions, grids: Grids) -> str:
    """How statistics are computed: "centers", "cells" of one or two columns, or the "kernel" between all rows."""
    if estimator.solver == "centers" or estimator.centers is not None:
        return "centers"
    n_models = len(SPREAD) if options.tuning == "aggregate" and grids.only_model() is None else 1  # at most
    d, by_rows = data.x.rows.shape[1], options.units is not None or options.tuning == "refit"
    has_cells = d <= 2 and estimator.solver != "pairs" and not by_rows
    most = _KERNEL_WORK * (_COLUMN_SHARE if has_cells and d == 1 else 1.0)
    if 2.0 * (options.permutations + _KERNEL_MADE) * n_models * sum(data.sizes) ** 2 <= most and data.all_at_once:
        return "kernel"
    if has_cells:
        return "cells"
    return "centers" if estimator.solver == "auto" else "kernel"


def _plan_kernel(estimator: DensityDifference, data: Prepared, options: PlanOptions, grids: Grids) -> PlannedTest:
    """Statistics from the kernel between all pairs of rows."""
    rows, models = data.pooled_rows, list[Model]()
    statistics: Statistics
    if _is_refitted(options, grids):
        if len(rows) > _REFIT_ROWS:
            raise InputError(
                f"tuning='refit' keeps all pair distances in memory and takes at most {_REFIT_ROWS} rows; "
                f"got {len(rows)}: use tuning='aggregate' or solver='centers'",
                argument="tuning",
            )
        statistics = refitted_pairs(rows, (data.x, data.y), _cross_validation(data, grids))
    else:
        models = _models(estimator, data, options, grids)
        statistics = KernelStatistics(rows, models, FilterKernel(rows.shape[1]), has_suited=_is_open(options, grids))
    work = 2.0 * options.permutations * max(1, len(models)) * len(rows) * len(rows)
    exact_solver = "spectral" if rows.shape[1] <= 2 else "pairs"
    solver = exact_solver if estimator.solver == "auto" else estimator.solver
    text, low_order = _tuning_text(options.tuning, grids, models, data), None
    if _is_open(options, grids):
        low_order = partial(with_low_order, statistics, data, options.units or Units.of_rows(*data.sizes))
    return PlannedTest(statistics, solver, text, work, units=options.units, low_order=low_order)


def _plan_cells(estimator: DensityDifference, data: Prepared, options: PlanOptions, grids: Grids) -> PlannedTest | None:
    """Statistics from counts in cells; None if these leave out rows and others need not."""
    models, is_open = _models(estimator, data, options, grids), _is_open(options, grids)
    in_cells = CellStatistics(data, models, has_suited=is_open)
    if in_cells.narrow and estimator.solver == "auto" and data.all_at_once:
        return None
    text = _tuning_text(options.tuning, grids, models, data)
    return PlannedTest(in_cells, "spectral", text, 0.0, low_order=in_cells.with_low_order if is_open else None)


def _plan_centers(estimator: DensityDifference, data: Prepared, options: PlanOptions, grids: Grids) -> PlannedTest:
    """Statistics from features at centers."""
    models, units, low_order = list[Model](), options.units, None
    centers = Centers.draw(estimator, data, grids)
    n_centers = len(centers.kernel.centers)
    statistics: Statistics
    if _is_refitted(options, grids):
        statistics = refitted_centers(data, centers.kernel, _cross_validation(data, grids))
    else:
        units = units or Units.put_together(*data.sizes, data.seed)
        models, categories = fixed_models(estimator, data, options.tuning, grids, centers)
        statistics = CenterStatistics(data, models, centers.kernel_with(categories), units)
        if _is_open(options, grids):
            low_order = partial(with_low_order, statistics, data, units)
    return PlannedTest(
        statistics,
        "centers",
        _tuning_text(options.tuning, grids, models, data),
        work=0.0,
        n_centers=n_centers,
        units=units,
        low_order=low_order,
    )


def _refuse_streamed(estimator: DensityDifference, options: PlanOptions) -> None:
    """Rows that are not in memory are relabelled in cells or in units, and nothing else can be done with them."""
    if options.tuning == "refit" or options.units is not None or estimator.solver == "pairs":
        asked = "blocks=" if options.units is not None else "solver='pairs'"
        what = "tuning='refit'" if options.tuning == "refit" else asked
        raise InputError(f"{what} needs all rows in memory; leave it out, or test a random sample of the rows")


def _cross_validation(data: Prepared, grids: Grids) -> CrossValidation:
    sigmas = data.pooled_ladder() if grids.sigmas is None else grids.sigmas
    return CrossValidation(data.seed, data.n_folds, sigmas, grids.lams)
