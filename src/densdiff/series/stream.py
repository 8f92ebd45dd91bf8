"""Features of a reference sample for a stream, the same bits for any chunk of rows.

Values of columns cut at far ends, their squares, products of pairs, and kernels on some rows of the reference. The
monitor that sums them lives in `monitor`; tables become numbers in `stream_columns`.
"""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

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
_CUT = 4.0  # deviations from the median at which a value is cut: beyond, one row says as much as another
_QUARTILES = 1.349  # deviations of a normal law between them
_MOST_PAIRS = 500

IntArray = npt.NDArray[np.intp]


class _Layout(NamedTuple):
    """Where features stand, and constants of a step: a row is so little work that looking them up would count."""

    width: int
    levels: slice
    total: slice
    total_weight: FloatArray  # (s, 1)
    products: slice
    squares: slice  # of the products
    kernels: slice
    centers: FloatArray  # less the means of the cut values, as are low and high
    exponents: FloatArray  # (1, b): an array of the same shape is multiplied sooner than a number
    low: FloatArray  # (1, d')
    high: FloatArray
    has_products: bool
    has_total: bool


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
    total: FloatArray  # weights of the squares in their sum, (s,); empty if there is one square
    factors: (
        IntArray  # columns that are multiplied, (2, s + r): with themselves those of more than two values, then pairs
    )

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
            factors=np.hstack([np.array([squared, squared]), _chosen_pairs(inner.shape[1], seed)]),
        )

    @cached_property
    def n_squares(self) -> int:
        return int((self.factors[0] == self.factors[1]).sum())

    @cached_property
    def groups(self) -> FeatureGroups:
        spreads = self.n_squares + (len(self.total) > 0)
        return FeatureGroups(len(self.low), spreads, self.factors.shape[1] - self.n_squares, self.turn.shape[1])

    def features(self, rows: FloatArray) -> FloatArray:
        """Features (k, p) of rows in the user's units: values, weighted sum of squares, squares, pairs, kernels.

        Each row is multiplied by itself: in a product of more rows the last bit may depend on their number.
        """
        layout = self._layout
        features = np.empty((len(rows), layout.width))
        with np.errstate(over="ignore", under="ignore"):  # a row far from all is 0 everywhere
            centred = self._centred(rows)
            psi = cdist(centred, layout.centers, "sqeuclidean")
            psi *= layout.exponents
            np.exp(psi, out=psi)
        _dot_rows(psi, self.turn, features[:, layout.kernels])
        values = np.minimum(np.maximum(centred, layout.low), layout.high, out=features[:, layout.levels])
        if layout.has_products:
            factors = values.take(self.factors, axis=1)
            products = np.multiply(factors[:, 0], factors[:, 1], out=features[:, layout.products])
            if layout.has_total:
                _dot_rows(products[:, layout.squares], layout.total_weight, features[:, layout.total])
        return features

    @cached_property
    def _layout(self) -> "_Layout":
        levels, single = self.groups.levels, self.groups.single
        return _Layout(
            width=self.groups.width,
            levels=slice(levels),
            total=slice(levels, levels + 1),
            total_weight=self.total[:, None],
            products=slice(levels + (len(self.total) > 0), single),
            squares=slice(self.n_squares),
            kernels=slice(single, None),
            centers=self.centers - self.middle,
            exponents=np.full((1, len(self.centers)), -0.5 / self.sigma**2),
            low=(self.low - self.middle)[None],
            high=(self.high - self.middle)[None],
            has_products=self.factors.size > 0,
            has_total=len(self.total) > 0,
        )

    @cached_property
    def owners(self) -> FloatArray:
        """Which column of the kept ones each single feature tells of, in shares, (single, d')."""
        one = np.eye(self.groups.levels)
        total = np.zeros((int(len(self.total) > 0), self.groups.levels))  # of all: their own squares say which
        return np.vstack([one, total, 0.5 * (one[self.factors[0]] + one[self.factors[1]])])

    def _centred(self, rows: FloatArray) -> FloatArray:
        """Rows in inner units less the means of the cut values, (k, d')."""
        if self._affine is None:
            return np.asarray(self.scaling.apply(rows) - self.middle)
        shift, factor, offset = self._affine
        kept = rows if factor.shape[1] == rows.shape[1] else rows[:, self.scaling.keep]
        return (kept - shift) * factor - offset

    @cached_property
    def _affine(self) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """`Scaling.apply` as a shift, a factor and an offset, (1, d') each; None where that will not do."""
        scaling = self.scaling
        with np.errstate(over="ignore", under="ignore"):
            factor = np.ldexp(1.0, -scaling.exponent) / scaling.deviation
        if not ((np.abs(scaling.exponent) < 900) & (factor > 1e-250) & (factor < 1e250)).all():
            return None
        return scaling.shift[None], factor[None], (scaling.mean / scaling.deviation + self.middle)[None]

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """Everything as arrays by name, for a file."""
        scaling = {field.name: np.asarray(getattr(self.scaling, field.name)) for field in fields(Scaling)}
        return scaling | {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)[1:]}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "StreamModel":
        found: dict[str, Any] = {field.name: arrays[field.name] for field in fields(cls)[1:]}
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


def _dot_rows(rows: FloatArray, matrix: FloatArray, found: FloatArray) -> None:
    """Products of rows (k, b) with a matrix (b, q), each by itself, into ``found`` (k, q)."""
    if len(rows) == 1:  # to begin a loop takes longer
        rows[0].dot(matrix, found[0])
        return
    for row, product in zip(list(rows), list(found), strict=True):
        row.dot(matrix, product)


def _ends(inner: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where values are cut: so many deviations from the median, by the quartiles where they differ, (d',) each."""
    lower, median, upper = np.quantile(inner, (0.25, 0.5, 0.75), axis=0)
    deviation = np.where(upper > lower, (upper - lower) / _QUARTILES, inner.std(axis=0))
    return median - _CUT * deviation, median + _CUT * deviation


def _chosen_pairs(columns: int, seed: int) -> IntArray:
    """All pairs of columns, or some of very many, (2, r)."""
    if columns * (columns - 1) // 2 <= _MOST_PAIRS:
        return np.array(np.triu_indices(columns, 1))
    drawn = np.random.default_rng([seed, 13]).integers(0, columns, (2 * _MOST_PAIRS, 2))
    pairs = np.unique(np.sort(drawn[drawn[:, 0] != drawn[:, 1]], axis=1), axis=0)
    return pairs[np.linspace(0, len(pairs) - 1, _MOST_PAIRS).astype(np.intp)].T if len(pairs) > _MOST_PAIRS else pairs.T
