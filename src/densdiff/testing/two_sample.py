"""Are two samples really different? A permutation test with the density difference as its statistic."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from densdiff import messages
from densdiff.core import resample
from densdiff.core.scaling import FloatArray, from_log, saturates
from densdiff.data import parameters
from densdiff.data.pair import Pair
from densdiff.errors import InputError
from densdiff.estimators.difference import DensityDifference
from densdiff.progress import long_work
from densdiff.results import Receipt
from densdiff.solvers.prepared import Prepared, prepare
from densdiff.testing.combining import Combined, Part, combine
from densdiff.testing.limits import Limit
from densdiff.testing.plan import check_estimator, check_samples, plan_test, unfitted
from densdiff.testing.planned import PlannedTest, PlanOptions
from densdiff.testing.statistics import Labels, Statistics
from densdiff.testing.units import Units
from densdiff.threads import on_one_thread

if TYPE_CHECKING:
    from densdiff.testing.plan import Testable

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
    strongest : str
        The statistic that was the least likely: "all columns at width 1.2", "column 'x3'", "pair 'x1', 'x2'",
        "all columns, one by one", "all pairs of columns", or a quadratic form of all columns. It says where to look.

    Examples
    --------
    >>> import densdiff as dd
    >>> pair = dd.datasets.gaussian_shift(0.8, n=60, random_state=0)
    >>> result = dd.two_sample_test(pair.x, pair.y, n_permutations=99, random_state=0)
    >>> result.pvalue, result.null, len(result.null_distribution)
    (0.01, 'permutation', 99)
    """

    statistic: float
    pvalue: float
    null_distribution: npt.NDArray[np.float64]
    n_permutations: int
    null: str
    strongest: str

    def __str__(self) -> str:
        draws = {
            "permutation": f"{self.n_permutations} random relabellings",
            "all partitions": f"all {self.n_permutations + 1} partitions",
        }.get(self.null, "large-sample limit")
        lines = [
            f"Two-sample test of {self.n_x} and {self.n_y} rows",
            f"  p-value     {self.pvalue:.4g}  ({draws})",
            f"  strongest   {self.strongest}",
            f"  statistic   {self.statistic:.4g}",
        ]
        return "\n".join(lines + self._receipt_lines())

    def _draw(self) -> Any:
        from densdiff.plots import plot_null

        return plot_null(self)


@long_work("testing two samples")
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
        How sigma and lam are found without looking at the labels: several at once, with `LSDD` beside statistics of
        single columns, of pairs and of quadratic forms of all columns, the strongest counting; one pair, by
        cross-validation on the pooled rows; or cross-validation anew within every relabelling, as in the paper.
        Numbers given for both leave nothing to tune.
    null : {"auto", "permutation", "asymptotic"}
        Where the null distribution comes from; "auto" takes relabellings while they are affordable. Many rows are
        relabelled in cells of one or two columns, or put together into units of equal size: all of them count.
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
    estimator = unfitted(check_estimator(DensityDifference() if model is None else model))
    if estimator.random_state is None:
        estimator.random_state = random_state
    pair = check_samples(estimator, X, Y)
    groups = None if blocks is None else parameters.blocks(blocks, len(pair.x), len(pair.y))
    return pair_test(estimator, pair, n_permutations, tuning=tuning, null=null, groups=groups)


def pair_test(
    estimator: "Testable",
    pair: Pair,
    n_permutations: int,
    *,
    tuning: str = "aggregate",
    null: str = "auto",
    groups: npt.NDArray[np.intp] | None = None,
) -> TwoSampleResult:
    """The test of samples that were checked before."""
    data = prepare(pair, standardize=estimator.standardize, folds=estimator.folds, random_state=estimator.random_state)
    if groups is not None and len(data.pair.x) + len(data.pair.y) != len(groups):
        text = "every row occurs several times, and blocks need each row once; remove the copies first"
        raise InputError(text, argument="blocks")
    units = None if groups is None else Units.of_rows(*data.sizes, groups)
    test = plan_test(estimator, data, PlanOptions(tuning, n_permutations, units))
    limits = _limits_if_due(test, data, null, groups)
    test = test.with_low_order() if limits is None else test
    # what counts rows in cells asks for no labels
    labels = Labels(np.repeat([True, False], data.sizes if data.all_at_once else (0, 0)), groups)
    labels = labels if test.units is None else test.units.labels
    random = np.random.default_rng([data.seed, 4])
    if limits is None:
        outcome = _by_relabelling(test.statistics, labels, n_permutations, random)
    else:
        outcome = _by_limits(test.statistics, labels, limits, n_permutations, random)
    return _result(test, data, outcome)


def _limits_if_due(
    test: PlannedTest, data: Prepared, null: str, groups: npt.NDArray[np.intp] | None
) -> list[Limit] | None:
    """The limit of the null if it was asked for, or if relabelling takes too long; None for relabelling."""
    if null == "permutation" or (null == "auto" and not test.is_too_costly):
        return None
    factor = 1.0 / len(data.x.rows) + 1.0 / len(data.y.rows)
    limits = None if groups is not None else test.statistics.limits(data.seed, factor)
    if null == "asymptotic" and limits is None:
        why = "blocks" if groups is not None else f"{test.solver} with {test.tuning.split(':')[0]!r} tuning"
        raise InputError(f"null='asymptotic' is not available for {why}; use null='permutation'", argument="null")
    return limits


@dataclass(frozen=True)
class _Outcome:
    """What a test found: the statistic of the data and of the null, and the p-value."""

    values: FloatArray  # (1 + k,), the data first, on the scale of the reported model's statistic
    model_index: int  # of the reported model
    pvalue: float
    null: str
    strongest: str | None = None  # None for the reported model


def _by_relabelling(statistics: Statistics, labels: Labels, count: int, random: np.random.Generator) -> _Outcome:
    """The p-value among relabelled data."""
    table, null = statistics.relabelled(labels, count, random)
    return _outcome(statistics, table, null)


def _by_limits(
    statistics: Statistics, labels: Labels, limits: list[Limit], count: int, random: np.random.Generator
) -> _Outcome:
    """The p-value from the limit of the null: exact for one model, simulated for several."""
    observed = statistics.table(labels.is_x[None, :])
    multipliers = random.standard_normal((len(limits[0].root), count))
    drawn = np.column_stack([limit.draws(multipliers) for limit in limits])
    found = _outcome(statistics, np.vstack([observed, drawn]), "asymptotic")
    return replace(found, pvalue=limits[0].tail(float(observed[0, 0]))) if len(limits) == 1 else found


def _outcome(statistics: Statistics, table: FloatArray, null: str) -> _Outcome:
    """What a table of statistics of the data, first, and of the null tells."""
    if table.shape[1] == 1:
        values = table[:, 0]
        return _Outcome(values, 0, resample.pvalue(float(values[0]), values[1:]), null)
    of_models, further = _parts_of_models(statistics), statistics.further_parts
    found = combine(table, [*of_models, *further])
    first = int(found.of_parts[: len(of_models)].argmax())
    best = found.strongest[0] if first == 0 else len(statistics.log_scales) - 1
    values = _on_scale_of(table[:, best], found)
    place = found.part - len(of_models)
    strongest = further[place].names[found.strongest[found.part]] if place >= 0 else None
    return _Outcome(values, best, found.pvalue, null, strongest)


def _parts_of_models(statistics: Statistics) -> list[Part]:
    """The models of all columns together: a range of widths, and for as much the one that suits the pooled rows."""
    models = len(statistics.log_scales)
    share = 1.0 - sum(part.share for part in statistics.further_parts)
    if not statistics.has_suited or models < 2:
        return [Part(share, [""] * models, alike=False)]
    return [Part(share / 2, [""] * (models - 1), alike=False), Part(share / 2, [""])]


def _on_scale_of(statistic: FloatArray, found: Combined) -> FloatArray:
    """A statistic (k,) in the order of the evidence, times what makes the first value, that of the data, its own.

    Values that are equal tell less than the evidence: a p-value comes from the latter.
    """
    ordered = np.sort(statistic)
    matched = ordered[np.searchsorted(np.sort(found.evidence), found.evidence + found.tie, side="right") - 1]
    if matched[0] <= 0:
        return np.asarray(matched + (statistic[0] - matched[0]))
    return np.asarray(matched * (statistic[0] / matched[0]))


def _result(test: PlannedTest, data: Prepared, outcome: _Outcome) -> TwoSampleResult:
    """The outcome in the user's units, with its notes and its receipt."""
    statistics, values = test.statistics, outcome.values
    notes = list(data.notes)
    smallest = 1.0 / len(values)
    if outcome.null != "asymptotic" and smallest > _ALPHA:
        notes.append(f"with {len(values) - 1} relabellings, no p-value can be below {smallest:.3g}")
        messages.warn(notes[-1])
    log_factor = statistics.log_factor(outcome.model_index, data.scaling.log_volume)
    factors, logs = _factored(values, log_factor, statistics.in_logs)
    statistic, *null_distribution = from_log(factors, logs)
    exact = statistics.exact(outcome.model_index, len(values) - 1)
    if exact is not None:
        statistic = from_log(exact.value, log_factor)
        notes.append(exact.note)
    if np.isfinite(values[0]) and saturates(float(factors[0]), float(logs[0])):
        notes.append("the statistic is outside the range of float64 and saturates; the p-value is not affected")
    sigma, lam = statistics.reported_model(outcome.model_index, data.scaling.sigma_unit)
    if test.units is not None and sum(test.units.sizes) < sum(data.sizes):
        notes.append(f"the test takes {test.units.sizes[0]} and {test.units.sizes[1]} of the rows")
    return TwoSampleResult(
        statistic=float(statistic),
        pvalue=outcome.pvalue,
        null_distribution=np.array(null_distribution),
        n_permutations=len(null_distribution),
        null=outcome.null,
        strongest=outcome.strongest or _all_columns(data, sigma),
        sigma=sigma,
        lam=lam,
        solver=test.solver,
        n_centers=test.n_centers,
        n_x=len(data.checked.x),
        n_y=len(data.checked.y),
        seed=data.seed,
        tuning=test.tuning,
        warnings=tuple(notes),
    )


def _all_columns(data: Prepared, sigma: float | tuple[float, float]) -> str:
    """What a statistic of all columns is called: by the width of its kernel."""
    width = f"{sigma:.3g}" if isinstance(sigma, float) else " and ".join(f"{each:.3g}" for each in sigma)
    one = data.x.rows.shape[1] < 2
    return f"{f'column {data.pair.names[data.scaling.keep[0]]!r}' if one else 'all columns'} at width {width}"


def _factored(values: FloatArray, log_factor: float, in_logs: bool) -> tuple[FloatArray, FloatArray]:
    """Statistics in the user's units as numbers and the logarithms of their factors, (1 + k,) each."""
    if not in_logs:
        return values, np.full(len(values), log_factor)
    is_positive = np.isfinite(values)
    return is_positive.astype(float), np.where(is_positive, values, 0.0) + log_factor
