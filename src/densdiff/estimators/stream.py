"""Features of a reference sample for a stream: the squared distance of two means is E6, the same bits for any chunk."""

from dataclasses import dataclass, fields

import numpy as np
from scipy.spatial.distance import cdist

from densdiff.core import kernel, selection
from densdiff.core.scaling import FloatArray, Scaling, pooled_scaling
from densdiff.estimators.centers import CenterKernel
from densdiff.estimators.lsdd import LSDD
from densdiff.estimators.series import STRENGTH

_TILE = 8  # rows of every matrix product: with another number the last bit may differ


@dataclass(frozen=True)
class StreamModel:
    """Kernels on some rows of the reference, turned so that squared mean differences are E6 times s."""

    scaling: Scaling
    centers: FloatArray  # (b, d'), in inner units
    root: FloatArray  # (b, b)
    sigma: float  # in inner units
    lam: float

    @classmethod
    def of(cls, rows: FloatArray, model: LSDD, seed: int) -> "StreamModel":
        sigmas, lams = model.checked_grids()
        even = np.broadcast_to(1.0 / len(rows), len(rows))
        scaling, inner, _ = pooled_scaling(rows, rows, even, even, model.standardize)
        centers = np.unique(inner[selection.draw_rows(seed, len(inner), model.n_centers)], axis=0)
        sigma = kernel.median_distance(centers) if sigmas is None else float(np.median(sigmas)) / scaling.sigma_unit
        of = CenterKernel(centers, kernel.radius(inner), sigma)
        lam = STRENGTH * of.mean_row_sum(sigma) if lams is None else float(np.median(lams))
        return cls(scaling, centers, of.root(sigma, lam), sigma, lam)

    def features(self, rows: FloatArray) -> FloatArray:
        """(k, b), of rows in the user's units."""
        inner = self.scaling.apply(rows)
        with np.errstate(over="ignore", under="ignore"):  # a row far from all is 0 everywhere
            psi = np.exp(cdist(inner, self.centers, "sqeuclidean") * (-0.5 / self.sigma**2))
        tiles = np.zeros((-(-len(rows) // _TILE), _TILE, len(self.centers)))
        tiles.reshape(-1, len(self.centers))[: len(rows)] = psi
        return np.asarray((tiles @ self.root).reshape(-1, len(self.centers))[: len(rows)])

    def arrays(self) -> dict[str, FloatArray]:
        """Everything as arrays by name, for a file."""
        scaling = {field.name: np.asarray(getattr(self.scaling, field.name)) for field in fields(Scaling)}
        return scaling | {name: np.asarray(getattr(self, name)) for name in ("centers", "root", "sigma", "lam")}

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
        return cls(scaling, arrays["centers"], arrays["root"], float(arrays["sigma"]), float(arrays["lam"]))
