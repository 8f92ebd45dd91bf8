"""The distance of a fit with its interval, and the paper's estimates beside it.

The noise that the interval rests on is computed in `uncertainty`.
"""

from dataclasses import dataclass

import numpy as np

from densdiff.core.scaling import from_log, saturates
from densdiff.solvers.base import DENSITY_X, DENSITY_Y, DIFFERENCE
from densdiff.solvers.centers import CentersSolver
from densdiff.solvers.fit import Densities, Fit
from densdiff.solvers.search import averaged_distance
from densdiff.solvers.uncertainty import distance_spreads, normal_quantile


@dataclass(frozen=True)
class FitDistance:
    """The squared distance, its error and its ends, all times exp(log_factor) in the user's units; and the ratio E9."""

    value: float
    error: float
    ends: tuple[float, float]
    log_factor: float
    normalized: float
    normalized_ends: tuple[float, float]

    @property
    def log_squared(self) -> float | None:
        """Logarithm of the squared distance in the user's units; None when it is 0."""
        return float(np.log(self.value) + self.log_factor) if self.value > 0 else None


def fit_distance(fit: Fit, level: float) -> FitDistance:
    """The debiased distance averaged over near-best models, with an interval of this level."""
    value, log_factor = averaged_distance(fit.solver, DIFFERENCE, fit.choice)
    value = max(0.0, value) if fit.data.checked.varying.any() else 0.0  # else sums that cancel leave a remainder
    total, log_total = _norms(fit.densities)
    normalized = _ratio(value, log_factor, total, log_total)
    spreads, z = distance_spreads(fit), normal_quantile(level)
    error = spreads.error(1.0, log_factor)
    ends = max(0.0, value - z * error), value + spreads.above(1.0, log_factor, value, z)
    relative = (0.0, 1.0)
    if total > 0:
        below = z * spreads.error(1.0 - normalized, log_total) / total
        above = spreads.above(1.0 - normalized, log_total, normalized * total, z) / total
        relative = max(0.0, normalized - below), min(1.0, normalized + above)
    return FitDistance(value, error, ends, log_factor - fit.data.scaling.log_volume, normalized, relative)


def saturation_note(distance: FitDistance) -> str | None:
    """What to say of a squared distance that no double can hold; None if one can."""
    if not saturates(distance.value, distance.log_factor):
        return None
    return (
        f"the squared distance is outside the range of float64 (its logarithm is {distance.log_squared:.6g}): squared "
        "saturates, read log_squared or normalized"
    )


def _norms(densities: Densities) -> tuple[float, float]:
    """|p|^2 + |q|^2 of E9 and the logarithm of its factor."""
    norms = [
        averaged_distance(densities.solver, side, choice)
        for side, choice in zip((DENSITY_X, DENSITY_Y), densities.choices, strict=True)
    ]
    top = max(log for _, log in norms)
    return float(sum(max(0.0, norm) * np.exp(log - top) for norm, log in norms)), top


def _ratio(value: float, log_value: float, total: float, log_total: float) -> float:
    """The normalized distance (E9): between 0 and 1, with 0/0 guarded."""
    if value <= 0:
        return 0.0
    if total <= 0:
        return 1.0
    return float(np.exp(min(0.0, np.log(value) + log_value - np.log(total) - log_total)))


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
