"""What a statistic of a two-sample test answers, and the answers that most statistics share.

A statistic has a value for each of several models (sigma, lam) and each relabelling of the pooled rows. It sees which
rows are X only through the labels it is given, so a permutation test of it is exact.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from densdiff.core import resample
from densdiff.core.resample import BoolArray
from densdiff.core.scaling import FloatArray
from densdiff.progress import tell
from densdiff.testing.combining import Part
from densdiff.testing.limits import Limit

Model = tuple[float, float]  # sigma in inner units, lam
ReportedModel = tuple[float | tuple[float, float], float | None]  # one sigma or one of each sample, lam if there is one


@dataclass(frozen=True)
class Labels:
    """Which pooled rows are X, and the groups within which rows may exchange their labels."""

    is_x: BoolArray  # (N,); empty where rows are not in memory
    groups: npt.NDArray[np.intp] | None = None  # (N,)


class Relabelled(NamedTuple):
    """The statistics of the data and of every relabelling that was tried."""

    table: FloatArray  # (1 + k, M or more), the data first
    null: str  # "permutation" or "all partitions"


class ExactStatistic(NamedTuple):
    """A statistic of the data from the rows as they are, where relabellings use an approximation."""

    value: float
    note: str


class Statistics(Protocol):
    """Statistics of all models for any relabelling of the same pooled rows."""

    @property
    def models(self) -> list[Model]:
        """(sigma, lam) of each column of the table; refitted statistics know theirs once they saw the data's labels."""

    @property
    def log_scales(self) -> FloatArray:
        """(M,): values times exp(-log_scales) are in inner units."""

    @property
    def in_logs(self) -> bool:
        """Whether values are logarithms."""

    @property
    def has_suited(self) -> bool:
        """Whether the last model suits the pooled rows, by cross-validation, beside a range of widths."""

    @property
    def further_parts(self) -> list[Part]:
        """What the joined table has beside the first M columns."""

    def table(self, labels: BoolArray) -> FloatArray:
        """Values for each of the relabellings (k, N), (k, M)."""

    def joined_table(self, chunks: Iterable[BoolArray]) -> FloatArray:
        """Values for relabellings that come in chunks, the first M columns as in `table`."""

    def relabelled(self, labels: Labels, count: int, random: np.random.Generator) -> Relabelled:
        """Values for the data and for ``count`` random relabellings, or for all partitions if there are no more."""

    def limits(self, seed: int, factor: float) -> list[Limit] | None:
        """The limit of each model's null, None if it is not known; ``factor`` is 1/n + 1/m."""

    def reported_model(self, index: int, sigma_unit: float) -> ReportedModel:
        """Sigma in the user's units and lam of one model, as the result shows them."""

    def log_factor(self, index: int, log_volume: float) -> float:
        """Logarithm of the factor that turns values of one model into the user's units."""

    def exact(self, index: int, draws: int) -> ExactStatistic | None:
        """A more exact value of the data's own statistic, on the scale of the table, if there is one."""


def sigma_and_lam(model: Model, sigma_unit: float) -> ReportedModel:
    """A model of a density difference as it is reported."""
    sigma, lam = model
    return sigma * sigma_unit, lam


class BaseStatistics:
    """Rows are relabelled, values are quadratic in the labels, and no limit is known."""

    in_logs = False
    has_suited = False

    @property
    def further_parts(self) -> list[Part]:
        """None."""
        return []

    def joined_table(self: Statistics, chunks: Iterable[BoolArray]) -> FloatArray:
        """Values for relabellings that come in chunks, one below the other."""
        return np.concatenate([self.table(labels) for labels in chunks])

    def relabelled(self: Statistics, labels: Labels, count: int, random: np.random.Generator) -> Relabelled:
        """Every partition of the rows if there are few, else random ones."""
        is_x, groups = labels.is_x, labels.groups
        if resample.count_partitions(is_x, groups) - 1 <= count:
            return Relabelled(self.joined_table([resample.every_relabelling(is_x, groups)]), "all partitions")
        drawn = resample.relabellings(is_x, groups, count, random)
        chunks = tell("relabelling rows", resample.prepend_data_labels(is_x, drawn), count + 1, len)
        return Relabelled(self.joined_table(chunks), "permutation")

    def limits(self, seed: int, factor: float) -> list[Limit] | None:
        """None: the limit of the null is not known."""
        return None

    def reported_model(self: Statistics, index: int, sigma_unit: float) -> ReportedModel:
        """One sigma for both samples, and lam."""
        return sigma_and_lam(self.models[index], sigma_unit)

    def log_factor(self: Statistics, index: int, log_volume: float) -> float:
        """Logarithm of one over the unit of volume, which a squared distance carries."""
        return float(-self.log_scales[index]) - log_volume

    def exact(self, index: int, draws: int) -> ExactStatistic | None:
        """None: the table is exact."""
        return None
