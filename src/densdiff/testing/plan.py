"""From an estimator and two samples to a planned test, tuned without a look at the labels.

Everything drawn for a plan (centers, folds, the rows a median is taken of) is drawn from the pooled rows by position,
which says nothing about their labels once these are exchangeable. Each estimator has its own plan.
"""

from typing import TYPE_CHECKING, Any

from densdiff.data import parameters
from densdiff.data.pair import Pair, check_pair
from densdiff.errors import InputError
from densdiff.estimators.difference import DensityDifference
from densdiff.solvers.prepared import Prepared
from densdiff.sources.sample import all_at_once
from densdiff.testing.plan_lsdd import check_lsdd_samples, plan_lsdd
from densdiff.testing.planned import PlannedTest, PlanOptions

if TYPE_CHECKING:
    from densdiff.testing.plan_others import OtherEstimator

    Testable = DensityDifference | OtherEstimator


def check_estimator(estimator: Any) -> "Testable":
    """An estimator that a test can use, with the parameters that all of them have in order."""
    if not isinstance(estimator, DensityDifference):
        from densdiff.testing.plan_others import check_other

        check_other(estimator)
    checked: Testable = estimator
    parameters.whole(checked.folds, "folds", 2)
    parameters.flag(checked.standardize, "standardize")
    return checked


def unfitted(estimator: "Testable") -> "Testable":
    """A copy with the same parameters and nothing learned."""
    if isinstance(estimator, DensityDifference):
        return estimator.unfitted()
    from densdiff.testing.plan_others import unfitted_other

    return unfitted_other(estimator)


def check_samples(estimator: "Testable", X: Any, Y: Any) -> Pair:
    """The two samples in the form that the estimator's statistics need: but for `LSDD` numbers, all rows in memory."""
    if isinstance(estimator, DensityDifference):
        return check_lsdd_samples(estimator, X, Y)
    pair = check_pair(X, Y, categories=False)
    if not all_at_once(pair.x, pair.y):
        raise InputError(
            f"{type(estimator).__name__} needs all rows in memory; use LSDD, or test a random sample of the rows",
            argument="model",
        )
    return pair


def plan_test(estimator: "Testable", data: Prepared, options: PlanOptions) -> PlannedTest:
    """The test whose statistic is the distance or divergence that the estimator estimates."""
    if isinstance(estimator, DensityDifference):
        return plan_lsdd(estimator, data, options)
    from densdiff.testing.plan_others import plan_other

    return plan_other(estimator, data, options)
