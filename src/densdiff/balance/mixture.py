"""How much of each class a new sample holds: the mixture of class densities that is nearest to its own.

Two ways of the paper: the density difference of an `LSDD` at the estimated balance, and the difference of kernel
density estimates. The default is in `learned`.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from sklearn.base import clone

from densdiff import messages
from densdiff.balance.labelled import LabelledSample, moment_equations
from densdiff.core.class_scores import row_slices
from densdiff.core.scaling import FloatArray
from densdiff.core.selection import stratified_folds
from densdiff.core.simplex import Moments, quadratic_minimum
from densdiff.data import parameters
from densdiff.data.categories import Levels
from densdiff.data.pair import Pair
from densdiff.estimators.kde import KDEDifference, overlap
from densdiff.estimators.lsdd import LSDD
from densdiff.solvers.base import Model
from densdiff.solvers.likelihood_width import cross_validated_width
from densdiff.solvers.prepared import WeightedSample
from densdiff.sources.array_sample import ArraySample

_BLOCK_ROWS = 5_000  # labelled rows among which all pairs are formed
_LEAST_SHARE = 1e-3  # a class of share 0 still takes part in choosing sigma and lam


@dataclass(frozen=True)
class MixtureEstimate:
    """Shares of the classes and how they were estimated; ``moments`` is None where no interval can be given."""

    priors: FloatArray  # (K,)
    sigma: float | tuple[float, float]
    lam: float | None
    solver: str
    tuning: str
    moments: Callable[[], Moments] | None
    n_centers: int | None = None
    notes: tuple[str, ...] = ()


class RowKernel(Protocol):
    """A kernel whose mean over pairs of rows is a squared distance of densities, times its scale."""

    def kernel(self, model: Model, a: FloatArray, b: FloatArray) -> FloatArray: ...


class KernelMixture:
    """The nearest mixture (E6) at one model; of many labelled rows from pairs within blocks (E17)."""

    def __init__(self, labelled: LabelledSample, new: FloatArray, row_kernel: RowKernel, model: Model) -> None:
        self.labelled = labelled
        counts = np.bincount(labelled.codes)
        blocks = max(1, min(-(-len(labelled.rows) // _BLOCK_ROWS), int(counts.min()) // 2))
        groups = stratified_folds(labelled.codes, 0, blocks)
        self._own = np.empty(len(labelled.rows))  # the kernel of each labelled row with itself
        # mean kernels to each class, of labelled rows without themselves
        self.labelled_features = np.empty((len(labelled.rows), len(counts)))
        self.new_features = np.empty((len(new), len(counts)))
        for group in range(blocks):
            own, others = np.flatnonzero(groups == group), np.arange(group, len(new), blocks)
            block = labelled.select(own)
            indicator = block.indicator
            for part in row_slices(block.rows, len(block.rows)):
                values = row_kernel.kernel(model, block.rows[part], block.rows)
                self._own[own[part]] = np.diagonal(values, part.start)
                self.labelled_features[own[part]] = values @ indicator
            self.labelled_features[own, block.codes] -= block.omega * self._own[own]
            self.labelled_features[own, block.codes] /= 1.0 - block.omega
            for part in row_slices(others, len(own)):
                values = row_kernel.kernel(model, new[others[part]], block.rows)
                self.new_features[others[part]] = values @ indicator

    def priors(self) -> FloatArray:
        """The minimum of E6, in which every row is paired with itself too."""
        own, omega = np.arange(len(self.labelled.codes)), self.labelled.omega
        features = self.labelled_features.copy()
        features[own, self.labelled.codes] *= 1.0 - omega
        features[own, self.labelled.codes] += omega * self._own
        return quadratic_minimum(self.labelled.indicator.T @ features, self.new_features.mean(axis=0))

    def moments(self) -> Moments:
        """Equations in the features of all rows, without the pairs of a row with itself."""
        return moment_equations(self.labelled_features, self.labelled, self.new_features)


def estimate_by_lsdd(model: LSDD, labelled: LabelledSample, new: FloatArray) -> MixtureEstimate:
    """The paper's way: the mixture nearest in the L2 distance of a cross-validated `LSDD` (E6).

    Sigma and lam are those of the difference between the new rows and the mixture at the estimated shares, found by
    turns: a fit, the shares at its model, and both once more. Rows are in the user's units here.
    """
    shares = np.full(labelled.n_classes, 1.0)
    for repeat in range(2):
        weights = np.maximum(shares, _LEAST_SHARE)[labelled.codes] * labelled.omega
        with messages.collect_warnings() if repeat == 0 else nullcontext():  # the second fit says it all again
            model.fit(labelled.rows, new, weights_x=weights)
        mixture = _mixture_at(model, labelled, new)
        shares = mixture.priors()
    return _lsdd_estimate(model, mixture, "sigma and lam of the LSDD at the estimated balance")


def estimate_by_mixed_lsdd(
    model: LSDD, labelled: LabelledSample, new: FloatArray, names: tuple[str, ...], levels: tuple[Levels, ...]
) -> MixtureEstimate:
    """The same with columns of categories, as codes (E16); a level that only new rows have is one more.

    At the right shares nothing differs, and a model that is chosen there smooths the categories away. So the model is
    that of the difference between the class which differs most and the others.
    """
    new, levels = _with_unseen_level(new, levels)
    fits = []
    for code in range(labelled.n_classes if labelled.n_classes > 2 else 1):
        own = labelled.codes == code
        pair = Pair.of(ArraySample(labelled.rows[own]), ArraySample(labelled.rows[~own]), names, levels)
        weights = {"weights_x": labelled.omega[own], "weights_y": labelled.omega[~own]}
        fits.append(clone(model).fit_pair(replace(pair, **weights)))
    best = min(fits, key=lambda fit: float(np.min(fit.cv_results_["mean_score"])))
    mixture = _mixture_at(best, labelled, new)
    return _lsdd_estimate(best, mixture, "sigma and lam of the LSDD between one class and the others")


def _mixture_at(model: LSDD, labelled: LabelledSample, new: FloatArray) -> KernelMixture:
    """The nearest mixture at the model that was chosen."""
    scaling = model.fit_.data.scaling
    inner = LabelledSample(scaling.apply(labelled.rows), labelled.codes, labelled.omega)
    return KernelMixture(inner, scaling.apply(new), model.fit_.solver, model.fit_.choice.best)


def _lsdd_estimate(model: LSDD, mixture: KernelMixture, tuning: str) -> MixtureEstimate:
    return MixtureEstimate(
        priors=mixture.priors(),
        sigma=model.sigma_,
        lam=model.lam_,
        solver=model.solver_,
        tuning=tuning,
        moments=mixture.moments,
        n_centers=len(model.centers_) if model.solver_ == "centers" else None,
        notes=model.fit_.data.notes,
    )


def _with_unseen_level(new: FloatArray, levels: tuple[Levels, ...]) -> tuple[FloatArray, tuple[Levels, ...]]:
    """New rows whose codes of -1 are a level of their own, and the levels with it."""
    new, more = new.copy(), list(levels)
    for j, names in enumerate(levels):
        if names is not None and (unseen := new[:, j] < 0).any():
            new[unseen, j] = len(names)
            more[j] = (*names, "unseen")
    return new, tuple(more)


def estimate_by_kde(model: KDEDifference, labelled: LabelledSample, new: FloatArray) -> MixtureEstimate:
    """The mixture of kernel density estimates of the classes nearest to that of the new rows, each of its own width.

    Rows are in the user's units here.
    """
    model = model.fit(labelled.rows, new)
    data = model.prepared_
    rows, sigmas = data.scaling.apply(labelled.rows), data.sigmas(parameters.positive_grid(model.sigma, "sigma"))
    samples = [
        WeightedSample.of(rows[own], labelled.omega[own])
        for own in np.equal.outer(range(labelled.codes.max() + 1), labelled.codes)
    ]
    samples.append(WeightedSample.of(data.scaling.apply(new)))
    widths = [cross_validated_width(sample, data.seed, model.folds, sigmas) for sample in samples]
    products = [
        [overlap(a, b, float(np.hypot(s, t))) for b, t in zip(samples, widths, strict=True)]
        for a, s in zip(samples[:-1], widths, strict=False)
    ]
    values, logs = np.moveaxis(np.array(products), 2, 0)  # two of (K, K + 1)
    matrix = values * np.exp(logs - logs.max())
    return MixtureEstimate(
        priors=quadratic_minimum(matrix[:, :-1], matrix[:, -1]),
        sigma=(float(np.median(widths[:-1])) * data.scaling.sigma_unit, widths[-1] * data.scaling.sigma_unit),
        lam=None,
        solver="kde",
        tuning="width of each class and of the new rows by likelihood cross-validation",
        moments=None,
    )
