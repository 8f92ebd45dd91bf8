"""densdiff: compare two samples by estimating the difference of their densities directly."""

from densdiff import datasets, plots
from densdiff.errors import (
    DensDiffError,
    DensDiffWarning,
    InputError,
    MissingExtraError,
    NotFittedError,
    NumericalError,
)
from densdiff.estimators.kde import KDEDifference
from densdiff.estimators.lsdd import LSDD
from densdiff.estimators.results import VERSION as __version__
from densdiff.estimators.results import DistanceResult
from densdiff.questions.distance import l2_distance

__all__ = [
    "LSDD",
    "DensDiffError",
    "DensDiffWarning",
    "DistanceResult",
    "InputError",
    "KDEDifference",
    "MissingExtraError",
    "NotFittedError",
    "NumericalError",
    "__version__",
    "datasets",
    "l2_distance",
    "plots",
]
