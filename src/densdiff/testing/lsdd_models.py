"""The models (sigma, lam) and centers of a test by `LSDD`, chosen without a look at the labels."""

from dataclasses import dataclass, replace

import numpy as np

from densdiff.core.kernel import Categories, radius
from densdiff.core.scaling import FloatArray
from densdiff.data.pair import Pair
from densdiff.data.points import check_centers
from densdiff.estimators.difference import DensityDifference
from densdiff.solvers.base import Side
from densdiff.solvers.centers import CenterKernel
from densdiff.solvers.prepared import Prepared
from densdiff.sources.array_sample import ArraySample
from densdiff.testing.statistics import Model
from densdiff.testing.widths import MEDIAN_ROWS, STRONG, sigmas_of

POOLED_ROWS = 10_000  # of large samples tell the model that suits the pooled density
_POOLED = Side(0.5, 0.5)


@dataclass(frozen=True)
class Grids:
    """Sigmas in inner units and lams that the user gave, None where they are searched."""

    sigmas: FloatArray | None
    lams: FloatArray | None

    def only_model(self) -> Model | None:
        """The one model there is if there is nothing to tune."""
        if self.sigmas is None or self.lams is None or not len(self.sigmas) == len(self.lams) == 1:
            return None
        return float(self.sigmas[0]), float(self.lams[0])


def given_grids(estimator: DensityDifference, data: Prepared) -> Grids:
    """The sigmas and lams that the user gave to the estimator."""
    settings = estimator.settings()
    return Grids(None if settings.sigmas is None else data.sigmas(settings.sigmas), settings.lams)


@dataclass(frozen=True)
class Centers:
    """Centers from the pooled rows, whatever their labels."""

    points: FloatArray  # (b, d), in the user's units
    kernel: CenterKernel

    @classmethod
    def draw(cls, estimator: DensityDifference, data: Prepared, grids: Grids) -> "Centers":
        """The user's centers, or some of the pooled rows."""
        if estimator.centers is not None:
            points = check_centers(estimator.centers, data.pair.names, data.pair.levels)
        else:
            points = np.unique(data.some_user_rows(estimator.n_centers), axis=0)
        inner = data.scaling.apply(points)
        smallest = float((_spread_widths(data) if grids.sigmas is None else grids.sigmas).min()) / 2.0
        d = data.numbers(inner).shape[1]
        farthest = max(data.x.rows.reach(d), data.y.rows.reach(d), radius(data.numbers(inner)))
        return cls(points, CenterKernel(inner, farthest, smallest, data.tied_categories()))

    def kernel_with(self, categories: Categories | None) -> CenterKernel:
        """The kernel with these categories, if there are any, in place of its own."""
        return self.kernel if categories is None else self.kernel.with_categories(categories)


def fixed_models(
    estimator: DensityDifference, data: Prepared, tuning: str, grids: Grids, centers: Centers | None = None
) -> tuple[list[Model], Categories | None]:
    """The models of a test that are the same for every relabelling, and the kernel of categories that was chosen."""
    only = grids.only_model()
    if only is not None:
        return [only], None
    if tuning != "pooled":
        return _spread_models(data, grids, centers), None
    model, categories = pooled_model(estimator, data, centers)
    return [model], categories


def _spread_widths(data: Prepared) -> FloatArray:
    """The sigmas that "aggregate" combines; unequal levels count as a distance."""
    return sigmas_of(data.some_pooled(MEDIAN_ROWS), data.tied_categories())


def _spread_models(data: Prepared, grids: Grids, centers: Centers | None) -> list[Model]:
    """The models that "aggregate" combines."""
    sigmas = grids.sigmas
    if sigmas is None:  # dense centers penalize by |theta|^2, not by an RKHS norm: E11 with sqrt(2) times their sigma
        narrower = 1.0 if centers is None else float(np.sqrt(2.0))
        sigmas = np.asarray(_spread_widths(data) / narrower)
    models = []
    for sigma in map(float, sigmas):
        unit = 1.0 if centers is None else centers.kernel.mean_row_sum(sigma)
        models += [(sigma, float(lam)) for lam in (grids.lams if grids.lams is not None else [STRONG * unit])]
    return models


def pooled_model(
    estimator: DensityDifference, data: Prepared, centers: Centers | None = None
) -> tuple[Model, Categories | None]:
    """Cross-validation of the pooled density on two random halves of the pooled rows: blind to the labels."""
    pooled = data.some_user_rows(POOLED_ROWS)
    # in an order of their own, so that swapping the samples changes nothing; other columns matter for ties of the last
    if pooled.shape[1] == 1:
        pooled = np.sort(pooled, axis=0)
    else:
        has_ties = len(np.unique(pooled[:, -1])) < len(pooled)
        pooled = pooled.take(np.lexsort(pooled.T) if has_ties else np.argsort(pooled[:, -1]), axis=0)
    order = np.random.default_rng([data.seed, 5]).permutation(len(pooled))
    half = len(order) // 2
    model = estimator.unfitted(random_state=data.seed)
    if centers is not None:
        model = model.unfitted(solver="centers", centers=None if data.pair.levels else centers.points)
    halves = pooled.take(order[:half], axis=0), pooled.take(order[half:], axis=0)
    x, y = (ArraySample(np.asfortranarray(rows)) for rows in halves)
    model.fit_pair(replace(Pair.of(x, y, data.pair.names, data.pair.levels), varying=data.pair.varying))
    solver, choice = model.fit_.chosen_for(_POOLED)
    categories = solver.categories if isinstance(solver, CenterKernel) else None
    return (float(choice.sigmas[choice.chosen]), float(choice.lams[choice.chosen])), categories
