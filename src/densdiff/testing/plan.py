"""From an estimator and two samples to a planned test, tuned without a look at the labels.

Everything drawn for a plan (centers, folds, the rows a median is taken of) is drawn from the pooled rows by position,
which says nothing about their labels once these are exchangeable. Each estimator has its own plan.
"""

from functools import singledispatch
from typing import Any

from densdiff.data import parameters
from densdiff.data.pair import Pair, check_pair
from densdiff.errors import InputError
from densdiff.estimators.kde import KDEDifference
from densdiff.estimators.kliep import KLIEP
from densdiff.estimators.lsdd import LSDD
from densdiff.solvers.prepared import Prepared
from densdiff.sources.sample import all_at_once
from densdiff.testing.plan_kde import plan_kde
from densdiff.testing.plan_kliep import plan_kliep
from densdiff.testing.plan_lsdd import check_lsdd_samples, plan_lsdd
from densdiff.testing.planned import PlannedTest, PlanOptions

Testable = LSDD | KDEDifference | KLIEP


def check_estimator(estimator: Any) -> Testable:
    """An estimator that a test can use, with the parameters that all of them have in order."""
    checked: Testable = parameters.estimator(estimator, (LSDD, KDEDifference, KLIEP))
    parameters.whole(checked.folds, "folds", 2)
    parameters.flag(checked.standardize, "standardize")
    return checked


@singledispatch
def check_samples(estimator: Testable, X: Any, Y: Any) -> Pair:
    """The two samples in the form that the estimator's statistics need: by default numbers, all rows in memory."""
    pair = check_pair(X, Y, categories=False)
    if not all_at_once(pair.x, pair.y):
        raise InputError(
            f"{type(estimator).__name__} needs all rows in memory; use LSDD, or test a random sample of the rows",
            argument="model",
        )
    return pair


check_samples.register(LSDD, check_lsdd_samples)


@singledispatch
def plan_test(estimator: Testable, data: Prepared, options: PlanOptions) -> PlannedTest:
    """The test whose statistic is the distance or divergence that the estimator estimates."""
    raise TypeError(f"no test is known for {type(estimator).__name__}")


plan_test.register(LSDD, plan_lsdd)
plan_test.register(KDEDifference, plan_kde)
plan_test.register(KLIEP, plan_kliep)
