"""densdiff: compare two samples by estimating the difference of their densities directly.

The public table. Names are loaded when first used, because scikit-learn imports pandas wherever it is installed:
``import densdiff`` itself costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from densdiff import datasets, metrics, plots
    from densdiff.balance.class_balance import ClassBalance, ClassBalanceResult
    from densdiff.balance.prior_shift import PriorShiftClassifier
    from densdiff.comparing.batch_results import BatchColumn, BatchDifference, BatchesResult
    from densdiff.comparing.batches import track
    from densdiff.comparing.compare import compare
    from densdiff.comparing.findings import ColumnDifference, MissingDifference, PairDifference, RegionDifference
    from densdiff.comparing.group_results import GroupDifference, GroupsResult
    from densdiff.comparing.groups import compare_by
    from densdiff.comparing.profile import Profile
    from densdiff.comparing.profile_making import profile
    from densdiff.comparing.results import Comparison
    from densdiff.distance.l2 import l2_distance
    from densdiff.distance.total_variation import TotalVariationResult, total_variation
    from densdiff.errors import (
        DensDiffError,
        DensDiffWarning,
        InputError,
        MissingExtraError,
        NumericalError,
    )
    from densdiff.estimators.kde import KDEDifference
    from densdiff.estimators.kliep import KLIEP
    from densdiff.estimators.least_squares import LeastSquaresClassifier
    from densdiff.estimators.lsdd import LSDD
    from densdiff.estimators.results import Band, DistanceResult
    from densdiff.io.sql import sql
    from densdiff.not_fitted import NotFittedError
    from densdiff.results import VERSION as __version__
    from densdiff.series.detect import ChangesResult, detect_changes
    from densdiff.series.monitor import ChangeMonitor
    from densdiff.series.monitor_step import MonitorStep
    from densdiff.testing.sequential import anytime_pvalues
    from densdiff.testing.two_sample import TwoSampleResult, two_sample_test

__all__ = [
    "KLIEP",
    "LSDD",
    "Band",
    "BatchColumn",
    "BatchDifference",
    "BatchesResult",
    "ChangeMonitor",
    "ChangesResult",
    "ClassBalance",
    "ClassBalanceResult",
    "ColumnDifference",
    "Comparison",
    "DensDiffError",
    "DensDiffWarning",
    "DistanceResult",
    "GroupDifference",
    "GroupsResult",
    "InputError",
    "KDEDifference",
    "LeastSquaresClassifier",
    "MissingDifference",
    "MissingExtraError",
    "MonitorStep",
    "NotFittedError",
    "NumericalError",
    "PairDifference",
    "PriorShiftClassifier",
    "Profile",
    "RegionDifference",
    "TotalVariationResult",
    "TwoSampleResult",
    "__version__",
    "anytime_pvalues",
    "compare",
    "compare_by",
    "datasets",
    "detect_changes",
    "l2_distance",
    "metrics",
    "plots",
    "profile",
    "sql",
    "total_variation",
    "track",
    "two_sample_test",
]

_HOME = {
    "KLIEP": "estimators.kliep",
    "LSDD": "estimators.lsdd",
    "KDEDifference": "estimators.kde",
    "NotFittedError": "not_fitted",
    "Band": "estimators.results",
    "DistanceResult": "estimators.results",
    "ClassBalance": "balance.class_balance",
    "ClassBalanceResult": "balance.class_balance",
    "PriorShiftClassifier": "balance.prior_shift",
    "LeastSquaresClassifier": "estimators.least_squares",
    "l2_distance": "distance.l2",
    "total_variation": "distance.total_variation",
    "TotalVariationResult": "distance.total_variation",
    "TwoSampleResult": "testing.two_sample",
    "two_sample_test": "testing.two_sample",
    "anytime_pvalues": "testing.sequential",
    "ColumnDifference": "comparing.findings",
    "Comparison": "comparing.results",
    "MissingDifference": "comparing.findings",
    "PairDifference": "comparing.findings",
    "RegionDifference": "comparing.findings",
    "compare": "comparing.compare",
    "Profile": "comparing.profile",
    "profile": "comparing.profile_making",
    "BatchColumn": "comparing.batch_results",
    "BatchDifference": "comparing.batch_results",
    "BatchesResult": "comparing.batch_results",
    "track": "comparing.batches",
    "GroupDifference": "comparing.group_results",
    "GroupsResult": "comparing.group_results",
    "compare_by": "comparing.groups",
    "ChangesResult": "series.detect",
    "detect_changes": "series.detect",
    "ChangeMonitor": "series.monitor",
    "MonitorStep": "series.monitor_step",
    "sql": "io.sql",
    "datasets": "",
    "metrics": "",
    "plots": "",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = import_module("densdiff.results").VERSION
    elif name not in __all__:
        raise AttributeError(f"module 'densdiff' has no attribute {name!r}")
    elif _HOME.get(name) == "":
        value = import_module(f"densdiff.{name}")
    else:
        value = getattr(import_module(f"densdiff.{_HOME.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
