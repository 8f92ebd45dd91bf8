"""Seeded toy samples, series and tables with the truth attached.

Every pair is drawn from two Gaussian mixtures, whose products integrate in closed form, so the true density
difference and the true distances come with the samples; every series comes with its changes and the parameters of
its regimes, two tables with what was planted in the second. Files and real data do not live here.
"""

from densdiff.datasets.draws import FloatArray, Seed
from densdiff.datasets.pairs import Mixture, TwoSamples, gaussian_shift, mixture_pair, outlier_mixture
from densdiff.datasets.series import PiecewiseSeries, piecewise_series
from densdiff.datasets.tables import MixedTables, mixed_tables

__all__ = [
    "FloatArray",
    "MixedTables",
    "Mixture",
    "PiecewiseSeries",
    "Seed",
    "TwoSamples",
    "gaussian_shift",
    "mixed_tables",
    "mixture_pair",
    "outlier_mixture",
    "piecewise_series",
]
