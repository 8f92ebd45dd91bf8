"""The only validation and coercion of user input.

Arrays, lists and data frames become float64 matrices with column names, or an InputError that says what came, where it
is and what to do. Nothing is estimated here.
"""

from densdiff.checks.compared import Compared, Constant, chosen_columns, compared, constant_notes
from densdiff.checks.parameters import (
    blocks,
    choice,
    estimator,
    flag,
    fraction,
    label_codes,
    positive_grid,
    seed,
    whole,
)
from densdiff.checks.samples import LabelledRows, Pair, centers, labelled, left_out, new_rows, pair, points, sample
from densdiff.checks.series import Series, series, window
from densdiff.checks.wording import bare, came, gathered, listed, shown, warn

__all__ = [
    "Compared",
    "Constant",
    "LabelledRows",
    "Pair",
    "Series",
    "bare",
    "blocks",
    "came",
    "centers",
    "choice",
    "chosen_columns",
    "compared",
    "constant_notes",
    "estimator",
    "flag",
    "fraction",
    "gathered",
    "label_codes",
    "labelled",
    "left_out",
    "listed",
    "new_rows",
    "pair",
    "points",
    "positive_grid",
    "sample",
    "seed",
    "series",
    "shown",
    "warn",
    "whole",
    "window",
]
