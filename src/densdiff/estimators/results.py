"""Results of fitted models: a distance with its interval, and a band of the difference.

The part that every result has is in `densdiff.results`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.results import Receipt


@dataclass(frozen=True, kw_only=True)
class DistanceResult(Receipt):
    """The squared L2 distance of two densities.

    Attributes
    ----------
    squared : float
        The integral of (p - q)^2 in the user's units, best estimate, at least 0.
    normalized : float
        ``|p - q|^2 / (|p|^2 + |q|^2)``: 0 for equal densities, 1 without overlap, free of units.
    standard_error : float or None
        Of ``squared``; None for KDE.
    interval, normalized_interval : tuple of two floats or None
        Confidence intervals for the true ``squared`` and ``normalized``. An upper end of inf, or 1, means that the
        rows cannot tell it. None for KDE.
    level : float
        Nominal coverage of the intervals.
    estimates : dict of str to float or None
        Raw values at the best model by name, unclipped: ``h_theta`` (E4), ``theta_H_theta`` (E5),
        ``regularization_corrected`` (E6), ``debiased`` (E7), ``bias_corrected`` and ``positive_part`` (E8; None without
        centers) of docs/math; for KDE ``plug_in``; empty in a comparison, which fits no model for its distance.
    log_squared : float or None
        Natural logarithm of ``squared``, right even where ``squared`` saturates; None when it is 0.
    resolution : float or None
        How far all columns together were blurred, in units of the typical width of a column. None for KDE.
    metric : str or None
        "columns" if columns were scaled one by one, "whitened" if their correlation was taken out. None for KDE.

    Examples
    --------
    >>> import densdiff as dd
    >>> pair = dd.datasets.gaussian_shift(0.5, n=100, random_state=0)
    >>> result = dd.l2_distance(pair.x, pair.y, random_state=0)
    >>> result.interval[0] < result.squared < result.interval[1]
    True
    >>> sorted(result.estimates)[:3]
    ['bias_corrected', 'debiased', 'h_theta']
    """

    squared: float
    normalized: float
    standard_error: float | None
    interval: tuple[float, float] | None
    normalized_interval: tuple[float, float] | None
    level: float
    estimates: dict[str, float | None]
    log_squared: float | None
    resolution: float | None = None
    metric: str | None = None

    def __str__(self) -> str:
        lines = [
            f"L2 distance of two densities from {self.n_x} and {self.n_y} rows",
            f"  squared     {self.squared:.4g}{self._between(self.interval)}",
            f"  normalized  {self.normalized:.4g}{self._between(self.normalized_interval)}; 0 = equal, 1 = no overlap",
        ]
        return "\n".join(lines + self._receipt_lines())

    def _draw(self) -> Any:
        from densdiff.plots.intervals import draw_intervals

        interval = None if self.normalized_interval is None else np.array([self.normalized_interval])
        return draw_intervals(["distance"], np.array([self.normalized]), interval, "0 = equal, 1 = no overlap")

    def _between(self, interval: tuple[float, float] | None) -> str:
        return "" if interval is None else f"  [{interval[0]:.4g}, {interval[1]:.4g}] at {100 * self.level:g} %"


@dataclass(frozen=True, kw_only=True, eq=False)
class Band(Receipt):
    """An estimate of f = p - q at some points, with limits between which f itself lies.

    Attributes
    ----------
    points : array of shape (k, d)
    estimate, lower, upper : array of shape (k,)
        What ``predict`` gives, and the limits, in the user's units. The limits come from a rougher estimate than
        ``predict`` gives, so they need not be symmetric about it, and are wider where f is rough; a note in
        ``warnings`` says where f is too rough even for that.
    level : float
        Nominal coverage: of all points at once if ``simultaneous``, of each point otherwise.
    simultaneous : bool

    Examples
    --------
    >>> import densdiff as dd
    >>> pair = dd.datasets.gaussian_shift(0.8, n=200, random_state=0)
    >>> band = dd.LSDD(random_state=0).fit(pair.x, pair.y).confidence_band([0.0, 0.8])
    >>> band.excludes_zero.tolist(), (band.estimate > 0).tolist()
    ([True, True], [False, True])
    """

    points: npt.NDArray[np.float64]
    estimate: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    level: float
    simultaneous: bool

    @property
    def excludes_zero(self) -> npt.NDArray[np.bool_]:
        """Where the band lies on one side of 0: there the densities differ, (k,)."""
        return np.asarray((self.lower > 0) | (self.upper < 0))

    def __str__(self) -> str:
        kind = "all points at once" if self.simultaneous else "each point"
        lines = [
            f"Band for f = p - q at {len(self.points)} points from {self.n_x} and {self.n_y} rows",
            f"  level       {100 * self.level:g} % for {kind}",
            f"  f > 0       at {int((self.lower > 0).sum())} points",
            f"  f < 0       at {int((self.upper < 0).sum())} points",
        ]
        return "\n".join(lines + self._receipt_lines())

    def _draw(self) -> Any:
        from densdiff.plots.intervals import draw_band

        if self.points.shape[1] != 1:
            return None
        return draw_band(self.points[:, 0], self.estimate, self.lower, self.upper)
