"""A test that is planned: its statistics, and what the result tells about them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from densdiff.testing.statistics import Statistics
from densdiff.testing.units import Units

_MOST_WORK = 2e12  # multiplications beyond which "auto" takes the asymptotic null distribution
TUNING_TEXTS = {  # how sigma and lam were found; {} is the number of models
    "aggregate": "aggregate: {} kernels together",
    "pooled": "pooled: cross-validation on the pooled rows",
    "refit": "refit: cross-validation within every relabelling",
}


@dataclass(frozen=True)
class PlanOptions:
    """What the user asked for, whichever the estimator.

    ``units`` are those of the rows if rows themselves must be relabelled; else counts of rows in the cells of a grid,
    or rows put together, may stand for them.
    """

    tuning: str
    permutations: int
    units: Units | None = None


@dataclass(frozen=True)
class PlannedTest:
    """The statistics of one test and what is to be told about them."""

    statistics: Statistics
    solver: str
    tuning: str  # for the result, in words
    work: float  # multiplications that relabelling takes
    n_centers: int | None = None
    units: Units | None = None  # what is relabelled, None for rows
    low_order: Callable[[], Statistics] | None = None  # the statistics with those of columns and pairs beside them

    @property
    def is_too_costly(self) -> bool:
        """Whether relabelling takes so long that "auto" takes the asymptotic null distribution."""
        return self.work > _MOST_WORK

    def with_low_order(self) -> "PlannedTest":
        """Add statistics of columns, pairs and quadratic forms, if they belong there."""
        if self.low_order is None:
            return self
        statistics = self.low_order()
        kinds = "its moments" if len(statistics.further_parts) == 1 else "single columns, pairs and quadratic forms"
        return replace(self, statistics=statistics, tuning=f"{self.tuning}, beside {kinds}")
