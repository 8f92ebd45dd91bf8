"""Are two samples really different? A permutation test with the density difference as its statistic."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from densdiff import messages
from densdiff.core import resample
from densdiff.core.resample import BoolArray
from densdiff.core.scaling import FloatArray, from_log, saturates
from densdiff.data import parameters
from densdiff.data.pair import Pair, check_pair
from densdiff.errors import InputError
from densdiff.estimators.kde import KDEDifference
from densdiff.estimators.kliep import KLIEP
from densdiff.estimators.lsdd import LSDD
from densdiff.results import Receipt
from densdiff.solvers.prepared import Prepared, prepare, rows_to_prefetch
from densdiff.sources.sample import all_at_once
from densdiff.testing.plan import Tested, checked, tested
from densdiff.testing.statistics import (
    CellStatistics,
    CenterStatistics,
    KernelStatistics,
    SummedStatistics,
)
from densdiff.threads import on_one_thread

_TUNINGS = ("aggregate", "pooled", "refit")
_NULLS = ("auto", "permutation", "asymptotic")
_ALPHA = 0.05


@dataclass(frozen=True, kw_only=True, eq=False)
class TwoSampleResult(Receipt):
    """Whether two samples come from one population.

    Attributes
    ----------
    statistic : float
        The squared L2 distance E6 (or its twin E12) of the two samples at the reported sigma and lam, in the user's
        units; for `KLIEP` the estimated KL divergence.
    pvalue : float
        Probability of a statistic at least as large if the labels of the rows meant nothing; never 0.
    null_distribution : array of shape (n_permutations,)
        The statistic of relabelled rows, or draws from its limit; on the statistic's own scale.
    n_permutations : int
        How many relabellings were tried; all there are, if there are fewer than asked for.
    null : str
        "permutation", "all partitions" or "asymptotic".
    """

    statistic: float
    pvalue: float
    null_distribution: npt.NDArray[np.float64]
    n_permutations: int
    null: str

    def __str__(self) -> str:
        draws = {
            "permutation": f"{self.n_permutations} random relabellings",
            "all partitions": f"all {self.n_permutations + 1} partitions",
        }.get(self.null, "limit for large samples")
        lines = [
            f"Two-sample test of {self.n_x} and {self.n_y} rows",
            f"  p-value     {self.pvalue:.4g}  ({draws})",
            f"  statistic   {self.statistic:.4g}",
        ]
        return "\n".join(lines + self._receipt_lines())


@on_one_thread
def two_sample_test(
    X: Any,
    Y: Any,
    *,
    model: Any = None,
    n_permutations: int = 999,
    tuning: str = "aggregate",
    null: str = "auto",
    blocks: Any = None,
    random_state: Any = None,
) -> TwoSampleResult:
    """Test whether X and Y come from the same population.

    Parameters
    ----------
    X, Y : array or data frame of shape (n, d) and (m, d), path, Dask collection or iterable of blocks
    model : LSDD, KDEDifference or KLIEP, optional
        An unfitted estimator whose distance is the statistic; it is cloned, and its own ``random_state`` wins if set.
    n_permutations : int
        Relabellings to draw; the p-value is at least 1 / (n_permutations + 1).
    tuning : {"aggregate", "pooled", "refit"}
        How sigma and lam are found without looking at the labels: several at once, the largest standardized statistic
        counting; one pair, by cross-validation on the pooled rows; or cross-validation anew within every
        relabelling, as in the paper. Numbers given for both leave nothing to tune.
    null : {"auto", "permutation", "asymptotic"}
        Where the null distribution comes from; "auto" takes relabellings while they are affordable. Rows that are not
        in memory are relabelled in one and two columns; with more there is the limit only.
    blocks : array of n + m labels, optional
        Groups of the pooled rows, X's first: rows are exchanged within their group only. Paired rows are groups of two.
    random_state : None, int, Generator or RandomState

    Returns
    -------
    TwoSampleResult

    Examples
    --------
    >>> import densdiff as dd
    >>> pair = dd.datasets.gaussian_shift(mu=0.5, n=50, random_state=0)
    >>> dd.two_sample_test(pair.x, pair.y, random_state=0).pvalue
    0.001
    """
    parameters.whole(n_permutations, "n_permutations", 1)
    parameters.choice(tuning, "tuning", _TUNINGS)
    parameters.choice(null, "null", _NULLS)
    estimator = clone(checked(LSDD() if model is None else model))
    if estimator.random_state is None:
        estimator.random_state = random_state
    if isinstance(estimator, LSDD):
        seed = estimator.random_state = parameters.seed(estimator.random_state)
        pair = check_pair(X, Y, prefetch=partial(rows_to_prefetch, seed, estimator.n_centers))
    else:
        pair = check_pair(X, Y, categories=False)
        if not all_at_once(pair.x, pair.y):
            raise InputError(f"{type(estimator).__name__} needs all rows in memory; test with LSDD", argument="model")
    groups = None if blocks is None else parameters.blocks(blocks, len(pair.x), len(pair.y))
    return pair_test(estimator, pair, n_permutations, tuning, null, groups)


def pair_test(
    estimator: LSDD | KDEDifference | KLIEP,
    pair: Pair,
    n_permutations: int,
    tuning: str = "aggregate",
    null: str = "auto",
    groups: npt.NDArray[np.intp] | None = None,
    low_order: bool = False,
) -> TwoSampleResult:
    """The test of samples that were checked before; ``low_order`` adds statistics of single columns and pairs."""
    data = prepare(pair, standardize=estimator.standardize, folds=estimator.folds, random_state=estimator.random_state)
    if groups is not None and len(data.pair.x) + len(data.pair.y) != len(groups):
        text = "every row occurs several times, which blocks cannot tell apart; remove the copies first"
        raise InputError(text, argument="blocks")
    by_rows = groups is not None or (low_order and data.all_at_once and data.x.rows.shape[1] > 1)
    case = tested(estimator, data, tuning, n_permutations, by_rows=by_rows)
    case = case.with_low_order(data) if low_order else case
    chosen = _null(null, case, groups)
    sizes = len(data.x.rows), len(data.y.rows)
    # which pooled rows are X; what counts rows in cells or knows their sums asks for none
    is_x = np.repeat([True, False], sizes if data.all_at_once else (0, 0))
    random = np.random.default_rng([data.seed, 4])
    if chosen == "asymptotic":
        values, best, p, chosen = _asymptotic(case, is_x, sizes, n_permutations, data.seed, random)
    else:
        values, best, p, chosen = _permuted(case, is_x, groups, n_permutations, random)
    return _result(case, data, values, best, p, chosen)


def _null(asked: str, case: Tested, groups: npt.NDArray[np.intp] | None) -> str:
    possible = case.has_limit and groups is None
    if asked == "asymptotic" and not possible:
        why = "blocks" if groups is not None else f"{case.solver} with {case.tuning.split(':')[0]!r} tuning"
        raise InputError(f"null='asymptotic' is not known for {why}; use null='permutation'", argument="null")
    if asked == "permutation" and case.only_limit:
        raise InputError(
            "null='permutation' needs all rows in memory, or one or two columns of numbers; use null='asymptotic', or "
            "test a random part of the rows",
            argument="null",
        )
    if asked == "auto":
        return "asymptotic" if possible and case.too_costly else "permutation"
    return asked


def _permuted(
    case: Tested, is_x: BoolArray, groups: npt.NDArray[np.intp] | None, count: int, random: np.random.Generator
) -> tuple[FloatArray, int, float, str]:
    """Statistics with the data's own first, the model they are reported at, the p-value, and what was tried."""
    if isinstance(case.statistics, CellStatistics):
        table = case.statistics.permuted(count, random)
    elif resample.count_partitions(is_x, groups) - 1 <= count:
        table = case.table([resample.every_relabelling(is_x, groups)])
        values, best = resample.largest_standardized(table, len(case.statistics.log_scales))
        return values, best, resample.share_at_least(values), "all partitions"
    else:
        table = case.table(resample.prepend_data_labels(is_x, resample.relabellings(is_x, groups, count, random)))
    values, best = resample.largest_standardized(table, len(case.statistics.log_scales))
    return values, best, resample.pvalue(float(values[0]), values[1:]), "permutation"


def _asymptotic(
    case: Tested, is_x: BoolArray, sizes: tuple[int, int], count: int, seed: int, random: np.random.Generator
) -> tuple[FloatArray, int, float, str]:
    """The same from the limit of the null: exact for one model, simulated for several."""
    statistics = case.statistics
    if not isinstance(statistics, KernelStatistics | CenterStatistics | CellStatistics | SummedStatistics):
        raise TypeError("there is no limit to draw from")
    limits = statistics.limits(seed, 1.0 / sizes[0] + 1.0 / sizes[1])
    observed = statistics.of(is_x[None, :])
    multipliers = random.standard_normal((len(limits[0].root), count))
    drawn = np.column_stack([limit.draws(multipliers) for limit in limits])
    values, best = resample.largest_standardized(np.vstack([observed, drawn]))
    p = limits[0].tail(float(observed[0, 0])) if len(limits) == 1 else resample.pvalue(float(values[0]), values[1:])
    return values, best, p, "asymptotic"


def _result(case: Tested, data: Prepared, values: FloatArray, best: int, p: float, null: str) -> TwoSampleResult:
    sigma, lam = case.model(best)
    notes = list(data.notes)
    smallest = 1.0 / len(values)
    if null != "asymptotic" and smallest > _ALPHA:
        notes.append(f"no p-value below {smallest:.3g} can come of {len(values) - 1} relabellings")
        messages.warn(notes[-1])
    unit = data.scaling.sigma_unit
    log_factor = case.log_factor(best, data.scaling.log_volume)
    if case.in_logs:
        there = np.isfinite(values)
        statistic, *others = from_log(there.astype(float), np.where(there, values, 0.0) + log_factor)
    else:
        statistic, *others = from_log(values, log_factor)
    if isinstance(case.statistics, CellStatistics):
        statistic = from_log(case.statistics.exact(best), log_factor)
        notes.append(f"relabelled rows were counted in cells; {len(values) - 1} relabellings of rows would take long")
    size = (1.0, float(values[0]) + log_factor) if case.in_logs else (float(values[0]), log_factor)
    if np.isfinite(values[0]) and saturates(*size):
        notes.append("the statistic is out of the range of doubles and saturates; the p-value is not affected")
    return TwoSampleResult(
        statistic=float(statistic),
        pvalue=p,
        null_distribution=np.array(others),
        n_permutations=len(others),
        null=null,
        sigma=(sigma[0] * unit, sigma[1] * unit) if isinstance(sigma, tuple) else sigma * unit,
        lam=lam,
        solver=case.solver,
        n_centers=case.n_centers,
        n_x=len(data.checked.x),
        n_y=len(data.checked.y),
        seed=data.seed,
        tuning=case.tuning,
        warnings=tuple(notes),
    )
