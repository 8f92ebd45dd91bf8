"""Features of a reference sample for a stream, in units of their noise, the same bits for any chunk of rows.

The monitor that compares them with a threshold lives in `monitor`.
"""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist

from densdiff.core import kernel, selection
from densdiff.core.scaling import FloatArray, Scaling
from densdiff.errors import InputError
from densdiff.estimators.lsdd import LSDD
from densdiff.series.features import own_lam, own_scaling, own_sigma, principal_axes
from densdiff.solvers.centers import CenterKernel

_WIDEST = 1e5  # sigma in radii of the data: beyond that all kernels are 1
_PART = 4000  # rows that tell the axes
_LEFT_OUT = 1e-4  # of the variance, with the last axes
_RIDGE = 0.1  # of the mean variance, added to each: without it the last axes would be loudest


@dataclass(frozen=True)
class StreamModel:
    """Kernels on some rows of the reference, turned and divided by their noise.

    Turned by the root of M, E6 of two samples would be the squared distance of two means; here each principal axis is
    divided by its deviation in the reference as well.
    """

    scaling: Scaling
    centers: FloatArray  # (b, d'), in inner units
    turn: FloatArray  # (b, p)
    sigma: float  # in inner units
    lam: float

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
        spread, axes = spread[::-1], axes[:, ::-1]  # the narrowest first
        few = min(int(np.searchsorted(np.cumsum(spread), _LEFT_OUT * spread.sum())), len(spread) - 1)
        spread, axes = spread[few:], axes[:, few:]
        weights = 1.0 / np.sqrt(spread + _RIDGE * spread.mean())
        return cls(scaling, centers, center_kernel.root(sigma, lam) @ axes * weights, sigma, lam)

    def features(self, rows: FloatArray) -> FloatArray:
        """Features (k, p) of rows in the user's units.

        Each row is multiplied by itself: in a product of more rows the last bit may depend on their number.
        """
        with np.errstate(over="ignore", under="ignore"):  # a row far from all is 0 everywhere
            squared = cdist(self._inner(rows), self.centers, "sqeuclidean")
            psi = np.exp(squared * (-0.5 / self.sigma**2))
        return np.asarray((psi[:, None] @ self.turn)[:, 0])

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

    def arrays(self) -> dict[str, FloatArray]:
        """Everything as arrays by name, for a file."""
        scaling = {field.name: np.asarray(getattr(self.scaling, field.name)) for field in fields(Scaling)}
        return scaling | {name: np.asarray(getattr(self, name)) for name in ("centers", "turn", "sigma", "lam")}

    @classmethod
    def from_arrays(cls, arrays: dict[str, FloatArray]) -> "StreamModel":
        scaling = Scaling(
            keep=arrays["keep"].astype(np.intp),
            shift=arrays["shift"],
            exponent=arrays["exponent"].astype(np.intc),
            mean=arrays["mean"],
            deviation=arrays["deviation"],
            sigma_unit=float(arrays["sigma_unit"]),
        )
        return cls(scaling, arrays["centers"], arrays["turn"], float(arrays["sigma"]), float(arrays["lam"]))
