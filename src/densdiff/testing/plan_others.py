"""The tests of the estimators that stand beside `LSDD`; they are loaded when one of them is used."""

from functools import singledispatch
from typing import Any

from sklearn.base import clone

from densdiff.data import parameters
from densdiff.estimators.kde import KDEDifference
from densdiff.estimators.kliep import KLIEP
from densdiff.estimators.lsdd import LSDD
from densdiff.solvers.prepared import Prepared
from densdiff.testing.plan_kde import plan_kde
from densdiff.testing.plan_kliep import plan_kliep
from densdiff.testing.planned import PlannedTest, PlanOptions

OtherEstimator = KDEDifference | KLIEP


def check_other(estimator: Any) -> None:
    """An error if no test can use the estimator."""
    parameters.estimator(estimator, (LSDD, KDEDifference, KLIEP))


def unfitted_other(estimator: OtherEstimator) -> OtherEstimator:
    """A copy with the same parameters and nothing learned."""
    copied: OtherEstimator = clone(estimator)
    return copied


@singledispatch
def plan_other(estimator: Any, data: Prepared, options: PlanOptions) -> PlannedTest:
    """The test whose statistic is the distance or divergence that the estimator estimates."""
    raise TypeError(f"no test is known for {type(estimator).__name__}")


plan_other.register(KDEDifference, plan_kde)
plan_other.register(KLIEP, plan_kliep)
