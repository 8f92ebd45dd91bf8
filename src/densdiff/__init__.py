"""densdiff: compare two samples by estimating the difference of their densities directly.

The public table. Names are loaded when first used, because scikit-learn imports pandas wherever it is installed:
``import densdiff`` itself costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from densdiff import datasets, metrics, plots
    from densdiff.errors import (
        DensDiffError,
        DensDiffWarning,
        InputError,
        MissingExtraError,
        NotFittedError,
        NumericalError,
    )
    from densdiff.estimators.classifier import LeastSquaresClassifier
    from densdiff.estimators.kde import KDEDifference
    from densdiff.estimators.kliep import KLIEP
    from densdiff.estimators.lsdd import LSDD
    from densdiff.estimators.results import VERSION as __version__
    from densdiff.estimators.results import Band, DistanceResult
    from densdiff.questions.changes import ChangesResult, detect_changes
    from densdiff.questions.class_balance import ClassBalance, ClassBalanceResult, PriorShiftClassifier
    from densdiff.questions.compare import (
        ColumnDifference,
        Comparison,
        MissingDifference,
        PairDifference,
        RegionDifference,
        compare,
    )
    from densdiff.questions.distance import l2_distance
    from densdiff.questions.monitor import ChangeMonitor, MonitorStep
    from densdiff.questions.two_sample import TwoSampleResult, two_sample_test

__all__ = [
    "KLIEP",
    "LSDD",
    "Band",
    "ChangeMonitor",
    "ChangesResult",
    "ClassBalance",
    "ClassBalanceResult",
    "ColumnDifference",
    "Comparison",
    "DensDiffError",
    "DensDiffWarning",
    "DistanceResult",
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
    "RegionDifference",
    "TwoSampleResult",
    "__version__",
    "compare",
    "datasets",
    "detect_changes",
    "l2_distance",
    "metrics",
    "plots",
    "two_sample_test",
]

_HOME = {
    "KLIEP": "estimators.kliep",
    "LSDD": "estimators.lsdd",
    "KDEDifference": "estimators.kde",
    "Band": "estimators.results",
    "DistanceResult": "estimators.results",
    "ClassBalance": "questions.class_balance",
    "ClassBalanceResult": "questions.class_balance",
    "PriorShiftClassifier": "questions.class_balance",
    "LeastSquaresClassifier": "estimators.classifier",
    "l2_distance": "questions.distance",
    "TwoSampleResult": "questions.two_sample",
    "two_sample_test": "questions.two_sample",
    "ColumnDifference": "questions.compare",
    "Comparison": "questions.compare",
    "MissingDifference": "questions.compare",
    "PairDifference": "questions.compare",
    "RegionDifference": "questions.compare",
    "compare": "questions.compare",
    "ChangesResult": "questions.changes",
    "detect_changes": "questions.changes",
    "ChangeMonitor": "questions.monitor",
    "MonitorStep": "questions.monitor",
    "datasets": "",
    "metrics": "",
    "plots": "",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = import_module("densdiff.estimators.results").VERSION
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
