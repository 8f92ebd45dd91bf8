"""One p-value of many statistics: each kind has its share, and kinds that agree count more than one that is alone.

Everything is computed from the statistics of all relabellings, the data among them, and treats them alike: ranks of
the outcome are exact whatever the statistics are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from densdiff.core import resample
from densdiff.core.scaling import FloatArray

_TAIL, _FEWEST = 0.1, 5  # the share of relabellings, at least so many, whose statistics are taken to fall exponentially
_TIE, _EVIDENCE_TIE = 1e-6, 1e-5  # of the largest value and of the evidence: statistics may be of single precision


@dataclass(frozen=True)
class Part:
    """Neighbouring columns of a table of statistics that are of one kind.

    ``alike`` if their cube roots, once standardized, have tails alike, as those of many small statistics do.
    """

    share: float  # of all parts together, which have 1
    names: Sequence[str]  # what each statistic looks at
    alike: bool = True


@dataclass(frozen=True)
class Combined:
    """The evidence of each relabelling, the data first, and what was strongest in the data."""

    evidence: FloatArray  # (k,)
    of_parts: FloatArray  # of the data, their shares counted
    strongest: list[int]  # of each part

    @property
    def part(self) -> int:
        """The part that tells most in the data."""
        return int(self.of_parts.argmax())

    @property
    def pvalue(self) -> float:
        """The share of relabellings, the data among them, with as much evidence as the data."""
        return float(np.mean(self.evidence >= self.evidence[0] - self.tie))

    @property
    def tie(self) -> float:
        """Evidence that differs by no more is the same: equal statistics, summed in another order."""
        return _EVIDENCE_TIE * max(1.0, abs(float(self.evidence[0])))


def combine(table: FloatArray, parts: Sequence[Part]) -> Combined:
    """The evidence of a table of statistics (k, M), from all its parts.

    A part has the share of relabellings whose strongest statistic is as strong; the mean over parts of one over these
    shares, in logarithms, is the evidence. Near the level that is the strongest part alone, paid for by its share, but
    parts that agree add up.
    """
    evidence, strongest, start = [], [], 0
    for part in parts:
        strength = _strength(table[:, start : start + len(part.names)], part.alike)  # (k, size)
        evidence.append(log_evidence(strength.max(axis=1)) + np.log(part.share))
        strongest.append(int(strength[0].argmax()))
        start += len(part.names)
    of_parts = np.array(evidence)  # (parts, k)
    return Combined(np.logaddexp.reduce(of_parts, axis=0), of_parts[:, 0], strongest)


def _strength(table: FloatArray, alike: bool) -> FloatArray:
    """Statistics on one scale, (k, size)."""
    if table.shape[1] == 1:
        return table
    if alike:
        return resample.standardized_roots(table, _TIE)
    return np.column_stack([log_evidence(values) for values in table.T])


def log_evidence(values: FloatArray) -> FloatArray:
    """-log of the share of values that are as large, (k,); the tail is smoothed, so that the largest ones differ."""
    if np.isneginf(values).all():  # of a part that never varies
        return np.zeros(len(values))
    count, tie = len(values), _TIE * float(np.abs(values).max(initial=0.0))
    ordered = np.sort(values)
    at_least = count - np.searchsorted(ordered, values - tie, side="left")
    within = -np.log(at_least / count)
    edge = ordered[max(0, count - 1 - max(int(np.ceil(_TAIL * count)), _FEWEST))]
    beyond = ordered[ordered > edge + tie] - edge
    if not len(beyond):
        return np.asarray(within)
    tail = np.log(count / len(beyond)) + (values - edge) / beyond.mean()
    return np.asarray(np.where(values > edge + tie, tail, within))
