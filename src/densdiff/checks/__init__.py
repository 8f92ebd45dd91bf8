"""The only validation and coercion of user input.

Arrays, lists and data frames become float64 matrices with column names, or an InputError that says what came, where it
is and what to do. Nothing is estimated here.
"""

from densdiff.checks.parameters import blocks, choice, estimator, flag, fraction, positive_grid, seed, whole
from densdiff.checks.samples import Pair, centers, pair, points
from densdiff.checks.wording import warn

__all__ = [
    "Pair",
    "blocks",
    "centers",
    "choice",
    "estimator",
    "flag",
    "fraction",
    "pair",
    "points",
    "positive_grid",
    "seed",
    "warn",
    "whole",
]
