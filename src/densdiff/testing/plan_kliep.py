"""The test whose statistic is the KL divergence that `KLIEP` estimates."""

import numpy as np

from densdiff.data import parameters
from densdiff.estimators.kliep import KLIEP
from densdiff.solvers.prepared import Prepared
from densdiff.testing.kliep_statistics import KliepSettings, KliepStatistics
from densdiff.testing.planned import TUNING_TEXTS, PlannedTest, PlanOptions
from densdiff.testing.widths import pooled_width, spread_sigmas


def plan_kliep(estimator: KLIEP, data: Prepared, options: PlanOptions) -> PlannedTest:
    """Divergences at a few widths, or at the one that each relabelling chooses for itself."""
    rows, grid = data.pooled_rows, parameters.positive_grid(estimator.sigma, "sigma")
    given = None if grid is None else data.sigmas(grid)
    is_fixed = given is not None and len(given) == 1
    ladder = data.pooled_ladder() if given is None else given
    n_folds = 0
    if options.tuning == "refit" and not is_fixed:
        sigmas, n_folds = ladder, data.n_folds
    elif options.tuning == "pooled" and not is_fixed:
        sigmas = np.array([pooled_width(data, rows, ladder)])
    elif given is not None:
        sigmas = given
    else:
        widths = spread_sigmas(rows, data.seed)  # one alone if all rows are equal
        sigmas = widths[1:5] if len(widths) > 1 else widths
    n_centers = parameters.whole(estimator.n_centers, "n_centers", 1)
    statistics = KliepStatistics(rows, data.sizes, KliepSettings(np.asarray(sigmas), n_centers, data.seed, n_folds))
    text = TUNING_TEXTS[options.tuning].format(len(sigmas)).replace("cross", "likelihood cross")
    n_used = min(len(data.x.rows), estimator.n_centers)
    return PlannedTest(statistics, "kliep", "sigma given" if is_fixed else text, 0.0, n_centers=n_used)
