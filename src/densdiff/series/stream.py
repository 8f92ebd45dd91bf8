"""Features of a reference sample for a stream, the same bits for any chunk of rows.

Values of columns cut at far ends, their squares, products of pairs, and kernels on some rows of the reference. The
monitor that sums them lives in `monitor`; tables become numbers in `stream_columns`.
"""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from densdiff.core import kernel, selection
from densdiff.core.forgetting_sums import FeatureGroups
from densdiff.core.scaling import FloatArray, Scaling
from densdiff.errors import InputError
from densdiff.estimators.lsdd import LSDD
from densdiff.series.features import own_lam, own_scaling, own_sigma, principal_axes
from densdiff.solvers.centers import CenterKernel

_WIDEST = 1e5  # sigma in radii of the data: beyond that all kernels are 1
_PART = 4000  # rows that tell the axes
_MOST_AXES = 32
_LEFT_OUT = 1e-4  # of the variance, with the last axes
_RIDGE = 0.1  # of the mean variance, added to each: without it the last axes would be loudest
_CUT = 3.5  # deviations from the median at which a value is cut: beyond, one row says as much as another
_QUARTILES = 1.349  # deviations of a normal law between them
_MOST_PAIRS = 500

IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True)
class StreamModel:
    """What is computed from a row.

    Kernels are turned by the root of M, as E6 of two samples would be the squared distance of two means, and each
    principal axis is divided by its deviation in the reference.
    """

    scaling: Scaling
    centers: FloatArray  # (b, d'), in inner units
    turn: FloatArray  # (b, q)
    sigma: float  # in inner units
    lam: float
    low: FloatArray  # where inner values are cut, (d',)
    high: FloatArray
    middle: FloatArray  # mean of the cut values, (d',)
    total: FloatArray  # weights of the squares in their sum, (d',); empty if there is one column
    squared: IntArray  # columns with squares: those of more than two values
    pairs: IntArray  # columns that are multiplied, (2, r)

    @classmethod
    def of(cls, rows: FloatArray, model: LSDD, seed: int) -> "StreamModel":
        scaling, inner = own_scaling(rows, model.standardize)
        centers = np.unique(inner[selection.draw_rows(seed, len(inner), model.n_centers)], axis=0)
        sigma, radius = own_sigma(centers, model, scaling.sigma_unit), kernel.radius(inner)
        if not 1e-100 < sigma < _WIDEST * radius:
            text = f"sigma is {sigma * scaling.sigma_unit:g}, far from the scale of the data"
            raise InputError(f"{text}; use 'cv' to choose it from the data", argument="sigma")
        center_kernel = CenterKernel(centers, radius, sigma)
        lam = own_lam(center_kernel, sigma, model)
        drawn = inner[selection.draw_rows(seed, len(inner), _PART)]
        spread, axes = principal_axes(center_kernel.features(sigma, lam, drawn))
        tails = np.cumsum(spread[::-1])[::-1]  # variance from each axis on
        n_axes = int(np.clip((tails > _LEFT_OUT * tails[0]).sum(), 1, _MOST_AXES))
        spread, axes = spread[:n_axes], axes[:, :n_axes]
        weights = 1.0 / np.sqrt(spread + _RIDGE * spread.mean())
        low, high = _ends(inner)
        cut = np.clip(inner, low, high)
        squared = np.flatnonzero([len(np.unique(column[:1000])) > 2 for column in cut.T])
        return cls(
            scaling=scaling,
            centers=centers,
            turn=center_kernel.root(sigma, lam) @ axes * weights,
            sigma=sigma,
            lam=lam,
            low=low,
            high=high,
            middle=cut.mean(axis=0),
            total=1.0 / cut[:, squared].var(axis=0) if len(squared) > 1 else np.empty(0),
            squared=squared,
            pairs=_chosen_pairs(inner.shape[1], seed),
        )

    @cached_property
    def groups(self) -> FeatureGroups:
        spreads = len(self.squared) + (len(self.total) > 0)
        return FeatureGroups(len(self.low), spreads, self.pairs.shape[1], self.turn.shape[1])

    def features(self, rows: FloatArray) -> FloatArray:
        """Features (k, p) of rows in the user's units, in the order of their groups.

        Each row is multiplied by itself: in a product of more rows the last bit may depend on their number.
        """
        groups = self.groups
        found = np.empty((len(rows), groups.width))
        with np.errstate(over="ignore", under="ignore"):  # a row far from all is 0 everywhere
            inner = self._inner(rows)
            psi = cdist(inner, self.centers, "sqeuclidean")
            psi *= -0.5 / self.sigma**2
            np.exp(psi, out=psi)
        np.matmul(psi[:, None], self.turn, out=found[:, None, groups.single :])
        values = found[:, : groups.levels]
        np.maximum(inner, self.low, out=values)
        np.minimum(values, self.high, out=values)
        values -= self.middle
        if len(self.squared):
            end = groups.levels + len(self.squared)
            squares = values if len(self.squared) == groups.levels else values[:, self.squared]
            squares = np.multiply(squares, squares, out=found[:, groups.levels : end])
            if len(self.total):
                found[:, end] = np.einsum("ij,j->i", squares, self.total)
        if groups.pairs:
            first = groups.levels + groups.spreads
            np.multiply(
                values[:, self.pairs[0]], values[:, self.pairs[1]], out=found[:, first : first + groups.pairs]
            )
        return found

    @cached_property
    def owners(self) -> FloatArray:
        """Which column of the kept ones each single feature tells of, in shares, (single, d')."""
        groups, one = self.groups, np.eye(self.groups.levels)
        parts = [one, one[self.squared]]
        if len(self.total):
            parts.append(np.zeros((1, groups.levels)))  # of all: their own squares say which
        if groups.pairs:
            parts.append(0.5 * (one[self.pairs[0]] + one[self.pairs[1]]))
        return np.vstack(parts)

    def _inner(self, rows: FloatArray) -> FloatArray:
        scaling = self.scaling
        if self._affine is None:
            return scaling.apply(rows)
        factor, offset = self._affine
        inner = (rows if len(scaling.keep) == rows.shape[1] else rows[:, scaling.keep]) - scaling.shift
        inner *= factor
        inner -= offset
        return inner

    @cached_property
    def _affine(self) -> tuple[FloatArray, FloatArray] | None:
        """`Scaling.apply` in two steps, for a single row is mostly overhead; None where that will not do."""
        scaling = self.scaling
        with np.errstate(over="ignore", under="ignore"):
            factor = np.ldexp(1.0, -scaling.exponent) / scaling.deviation
        sound = (np.abs(scaling.exponent) < 900) & (factor > 1e-250) & (factor < 1e250)
        return (factor, scaling.mean / scaling.deviation) if sound.all() else None

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """Everything as arrays by name, for a file."""
        scaling = {field.name: np.asarray(getattr(self.scaling, field.name)) for field in fields(Scaling)}
        return scaling | {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)[1:]}

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[np.generic]]) -> "StreamModel":
        found: dict[str, npt.NDArray[np.generic]] = {name: arrays[name] for name in (field.name for field in fields(cls)[1:])}
        scaling = Scaling(
            keep=arrays["keep"].astype(np.intp),
            shift=arrays["shift"],
            exponent=arrays["exponent"].astype(np.intc),
            mean=arrays["mean"],
            deviation=arrays["deviation"],
            sigma_unit=float(arrays["sigma_unit"]),
        )
        numbers = {name: float(arrays[name]) for name in ("sigma", "lam")}
        return cls(scaling=scaling, **(found | numbers))


def _ends(inner: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where values are cut: so many deviations from the median, by the quartiles where they differ, (d',) each."""
    lower, median, upper = np.quantile(inner, (0.25, 0.5, 0.75), axis=0)
    deviation = np.where(upper > lower, (upper - lower) / _QUARTILES, inner.std(axis=0))
    return median - _CUT * deviation, median + _CUT * deviation


def _chosen_pairs(columns: int, seed: int) -> IntArray:
    """All pairs of columns, or some of very many, (2, r)."""
    pairs = np.array(np.triu_indices(columns, 1))
    if pairs.shape[1] > _MOST_PAIRS:
        pairs = pairs[:, np.sort(np.random.default_rng([seed, 13]).choice(pairs.shape[1], _MOST_PAIRS, replace=False))]
    return pairs
