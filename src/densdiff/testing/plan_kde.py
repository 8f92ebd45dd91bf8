"""The test whose statistic is the distance of two kernel density estimates."""

import numpy as np

from densdiff.data import parameters
from densdiff.estimators.kde import GaussianOverlap, KDEDifference
from densdiff.solvers.prepared import Prepared
from densdiff.testing.kernel_statistics import KernelStatistics, width_of_each_density
from densdiff.testing.planned import TUNING_TEXTS, PlannedTest, PlanOptions
from densdiff.testing.refit import CrossValidation
from densdiff.testing.refit_kde import RefittedKDE
from densdiff.testing.widths import pooled_width, spread_sigmas


def plan_kde(estimator: KDEDifference, data: Prepared, options: PlanOptions) -> PlannedTest:
    """Statistics with one width for both samples, or with widths that each relabelled sample chooses for itself."""
    rows, grid = data.pooled_rows, parameters.positive_grid(estimator.sigma, "sigma")
    given = None if grid is None else data.sigmas(grid)
    is_fixed = given is not None and len(given) == 1
    ladder = data.pooled_ladder() if given is None else given
    work = 2.0 * options.permutations * len(rows) ** 2
    if options.tuning == "refit" and not is_fixed:
        refitted = RefittedKDE(rows, data.sizes, CrossValidation(data.seed, data.n_folds, ladder))
        tuning = TUNING_TEXTS["refit"].replace("cross", "likelihood cross")
        return PlannedTest(refitted, "kde", tuning, work * len(ladder))
    if is_fixed:
        widths = ladder[:1]
    elif options.tuning == "pooled":
        widths = np.array([pooled_width(data, rows, ladder)])
    else:
        widths = spread_sigmas(rows, data.seed) / np.sqrt(2.0) if given is None else given
    models = [(float(width), np.nan) for width in widths]
    tuning = "sigma given" if is_fixed else TUNING_TEXTS[options.tuning].format(len(models))
    statistics = KernelStatistics(rows, models, GaussianOverlap(rows.shape[1]), width_of_each_density)
    return PlannedTest(statistics, "kde", tuning, work * len(models))
