"""A test that is planned: its statistics, and what the result tells about them."""

from dataclasses import dataclass, replace

from densdiff.solvers.prepared import Prepared
from densdiff.testing.low_order import LowOrderStatistics, StatisticsWithLowOrder
from densdiff.testing.statistics import Statistics

_MOST_WORK = 2e12  # multiplications beyond which "auto" takes the asymptotic null distribution
TUNING_TEXTS = {  # how sigma and lam were found; {} is the number of models
    "aggregate": "aggregate: the largest of {} standardized statistics",
    "pooled": "pooled: cross-validation on the pooled rows",
    "refit": "refit: cross-validation within every relabelling",
}


@dataclass(frozen=True)
class PlanOptions:
    """What the user asked for, whichever the estimator.

    ``by_rows`` if rows themselves must be relabelled; else counts of rows in the cells of a grid may stand for them.
    """

    tuning: str
    permutations: int
    by_rows: bool = False


@dataclass(frozen=True)
class PlannedTest:
    """The statistics of one test and what is to be told about them."""

    statistics: Statistics
    solver: str
    tuning: str  # for the result, in words
    work: float  # multiplications that relabelling takes
    n_centers: int | None = None

    @property
    def is_too_costly(self) -> bool:
        """Whether relabelling takes so long that "auto" takes the asymptotic null distribution."""
        return self.work > _MOST_WORK

    def with_low_order(self, data: Prepared) -> "PlannedTest":
        """Add statistics of single columns and of pairs, if there are several columns and rows are relabelled."""
        if data.x.rows.shape[1] < 2 or self.is_too_costly or not self.statistics.combines_with_low_order:
            return self
        low_order = LowOrderStatistics(data.pooled_rows, data.levels, data.seed)
        return replace(
            self,
            statistics=StatisticsWithLowOrder(self.statistics, low_order),
            tuning=f"{self.tuning}, with single columns and pairs of columns",
        )
