"""From a solver's hold-out scores to the chosen model, and to the debiased distance averaged over near-best models.

Solvers are built in `fit`.
"""

from dataclasses import dataclass

import numpy as np

from densdiff.core import selection
from densdiff.core.scaling import FloatArray
from densdiff.core.selection import IntArray
from densdiff.solvers.base import Model, Side, Solver


@dataclass(frozen=True)
class Choice:
    """The score table of one curve, its best model and the weights of the average."""

    sigmas: FloatArray  # (k,) all models, level by level
    lams: FloatArray  # (k,)
    smoothings: IntArray  # (k,) of categories
    n_lams: int  # of each level
    fold_scores: FloatArray  # (k, folds * repeats), times exp(log_scale)
    log_scale: float
    chosen: int
    weights: FloatArray  # (k,)

    @property
    def model(self) -> tuple[int, int]:
        """(level, index of lam) of the best model."""
        return self._address(self.chosen)

    @property
    def best(self) -> Model:
        """The best model itself."""
        k = self.chosen
        return Model(float(self.sigmas[k]), float(self.lams[k]), int(self.smoothings[k]))

    @property
    def ranks(self) -> IntArray:
        """Place of each model, the best one first, (k,)."""
        order = selection.rank_models(self.fold_scores.mean(axis=1), self.sigmas, self.lams, self.smoothings)
        return np.argsort(order) + 1

    def _address(self, index: int) -> tuple[int, int]:
        level, i = divmod(index, self.n_lams)
        return int(level), int(i)

    @property
    def averaged_models(self) -> list[tuple[int, int]]:
        """The models that carry weight."""
        return [self._address(int(index)) for index in np.flatnonzero(self.weights)]


def choose(solver: Solver, side: Side, folds: int) -> Choice:
    """Score every model of one curve by cross-validation and choose (paper 2.4)."""
    raw = solver.scores(side)  # (S, L, k)
    log_scale = float(solver.log_scales.min())
    with np.errstate(under="ignore"):
        relative = raw * np.exp(log_scale - solver.log_scales)[:, None, None]
    fold_scores = relative.reshape(-1, raw.shape[2])
    n_lams = raw.shape[1]
    sigmas, smoothings = np.repeat(solver.sigmas, n_lams), np.repeat(solver.smoothings, n_lams)
    lams = solver.lams.ravel()
    chosen = int(selection.rank_models(fold_scores.mean(axis=1), sigmas, lams, smoothings)[0])
    weights = selection.model_weights(fold_scores, chosen, folds)
    return Choice(sigmas, lams, smoothings, n_lams, fold_scores, log_scale, chosen, weights)


def averaged_distance(solver: Solver, side: Side, choice: Choice) -> tuple[float, float]:
    """E7 averaged over the models near the best score: a value and the logarithm of its factor."""
    forms = solver.forms(side, [(level, i + solver.distance_steps) for level, i in choice.averaged_models])
    values = np.array([form.plain + form.lam_term - form.correction for form in forms])
    logs = -solver.log_scales[[level for level, _ in choice.averaged_models]]
    with np.errstate(under="ignore"):
        value = choice.weights[choice.weights > 0] @ (values * np.exp(logs - logs.max()))
    return float(value), float(logs.max())
