"""The distance of a fit with its interval, and the paper's estimates beside it.

Estimate and interval come from `overlap`, unless a model was asked for: then the estimate is that of the model.
"""

from dataclasses import dataclass, replace

import numpy as np

from densdiff.core.scaling import from_log, saturates
from densdiff.solvers.base import DIFFERENCE
from densdiff.solvers.centers import CentersSolver
from densdiff.solvers.fit import Fit
from densdiff.solvers.overlap import normalized_distance
from densdiff.solvers.prepared import Prepared
from densdiff.solvers.search import averaged_distance


@dataclass(frozen=True)
class FitDistance:
    """The squared distance, value times exp(log_factor) in the user's units; its error and ends, times exp(log_unit);
    and the ratio E9.
    """

    value: float
    log_factor: float
    error: float
    ends: tuple[float, float]
    log_unit: float
    normalized: float
    normalized_ends: tuple[float, float]
    resolution: float
    metric: str

    @property
    def log_squared(self) -> float | None:
        """Logarithm of the squared distance in the user's units; None when it is 0."""
        return float(np.log(self.value) + self.log_factor) if self.value > 0 else None

    @property
    def squared(self) -> float:
        """The squared distance in the user's units."""
        return float(from_log(self.value, self.log_factor))

    @property
    def standard_error(self) -> float | None:
        """Standard error of the squared distance in the user's units; None where rows cannot tell it."""
        return float(from_log(self.error, self.log_unit)) if np.isfinite(self.error) else None

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the squared distance in the user's units, infinite where there is none; they hold its value."""
        low, high = (float(from_log(end, self.log_unit)) if np.isfinite(end) else end for end in self.ends)
        return min(low, self.squared), max(high, self.squared)


def fit_distance(fit: Fit, level: float) -> FitDistance:
    """The squared and the normalized distance, with intervals of this level.

    Both come from the overlap of the densities; if sigma, lam or centers were asked for, the squared distance is that
    of the models asked for.
    """
    distance = overlap_distance(fit.data, level)
    if fit.is_automatic:
        return distance
    value, log_factor = averaged_distance(fit.solver, DIFFERENCE, fit.choice)
    log_factor -= fit.data.scaling.log_volume
    return replace(distance, value=max(0.0, value) if _varies(fit.data) else 0.0, log_factor=log_factor)


def overlap_distance(data: Prepared, level: float) -> FitDistance:
    """The squared and the normalized distance from the overlap of the densities, for which no model is fitted."""
    overlap, log_volume = normalized_distance(data, level), data.scaling.log_volume
    varies = _varies(data)
    return FitDistance(
        value=max(0.0, overlap.squared_value) if varies else 0.0,
        log_factor=overlap.log_unit - log_volume,
        error=overlap.error,
        ends=overlap.squared_ends if varies else (0.0, 0.0),
        log_unit=overlap.log_unit - log_volume,
        normalized=overlap.value if varies else 0.0,
        normalized_ends=overlap.ends if varies else (0.0, overlap.ends[1]),
        resolution=overlap.resolution,
        metric=overlap.metric,
    )


def _varies(data: Prepared) -> bool:
    """Whether any column does; else sums that cancel leave a remainder."""
    return bool(data.checked.varying.any())


def saturation_note(distance: FitDistance) -> str | None:
    """What to say of a squared distance that no double can hold; None if one can."""
    if not saturates(distance.value, distance.log_factor):
        return None
    return (
        f"the squared distance is outside the range of float64 (its logarithm is {distance.log_squared:.6g}): squared "
        "saturates, read log_squared or normalized"
    )


def open_end_note(distance: FitDistance) -> str | None:
    """What to say of an interval without an upper end; None if it has one."""
    if distance.normalized_ends[1] < 1.0 or np.isfinite(distance.ends[1]):
        return None
    return "how far apart the densities are at most cannot be told from these rows: the interval has no upper end"


def raw_estimates(fit: Fit) -> dict[str, float | None]:
    """E4 to E8 at the chosen model, raw, in the user's units; E8 needs H, so it is None without centers."""
    form = fit.solver.forms(DIFFERENCE, [fit.choice.model])[0]
    corrected = form.plain + form.lam_term
    raw: dict[str, float | None] = {
        "h_theta": form.plain,
        "theta_H_theta": form.plain - form.lam_term,
        "regularization_corrected": corrected,
        "debiased": corrected - form.correction,
        "bias_corrected": None,
        "positive_part": None,
    }
    if isinstance(fit.solver, CentersSolver):
        bias_corrected = corrected - fit.solver.spectrum(fit.choice.model[0]).unregularized_correction()
        raw |= {"bias_corrected": bias_corrected, "positive_part": max(0.0, bias_corrected)}
    return {name: None if value is None else float(from_log(value, fit.log_factor)) for name, value in raw.items()}
