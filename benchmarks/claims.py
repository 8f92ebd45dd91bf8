"""Where each figure of docs/benchmarks.md comes from: the command of each row, and a source of each figure.

A test compares every figure of that page with what the command has last found, so that a figure cannot outlive its
measurement: those of `make bench` are in benchmarks/results, those of `make calibrate` in docs/calibration.md.
"""

from typing import NamedTuple


class Row(NamedTuple):
    """A measurement of `make bench`: what its title, its name, its peer's name and its unit begin with."""

    title: str
    what: str
    peer: str = ""
    unit: str = ""
    value: str = "ours"


class Growth(NamedTuple):
    """The power of the number of rows that the time of a method's fit grows with."""

    method: str


class Printed(NamedTuple):
    """A number of a printed line: what its paragraph and the line begin with, and the number's place after that."""

    paragraph: str
    line: str
    place: int


class Spread(NamedTuple):
    """The ends of a column of docs/calibration.md, over the rows of the table that contain all these words."""

    column: str
    words: tuple[str, ...] = ()


def beside(title, what, peer="", unit=""):
    """Our figure, the peer's, and the ratio of the two."""
    return tuple(Row(title, what, peer, unit, value) for value in ("ours", "theirs", "ratio"))


def printed(paragraph, line, *places):
    return tuple(Printed(paragraph, line, place) for place in places)


def mixed(tables):
    """Seconds of a later comparison and of the first one of a process."""
    title = f"20 mixed columns of {tables}"
    return Row(title, "later call"), Row(title, "first call")


def errors_of_f(d):
    """Mean ratios of the error of f to that of two others, and the largest ratio to the better of them."""
    title = f"integrated squared error of f, d = {d}, n = 220, m = 220"
    means = "geometric mean of the ratios to "
    return (
        Row(title, f"{means}KDEDifference, without equal"),
        Row(title, f"{means}authors' settings, without equal"),
        Row(title, "largest ratio"),
    )


DELAYS = {
    "mean .25": "a shift of 0.25 deviations",
    "mean .5": "a shift of 0.5 deviations",
    "mean 1": "a shift of one deviation",
    "mean 2": "a shift of two deviations",
    "spread 1.5": "1.5 times the spread",
    "spread 2": "twice the spread of one column",
    "drift of 1 in 100 rows": "a drift of one deviation in 100 rows",
    "correlation .8": "a correlation of 0.8",
}
FIT = "cross-validated fit, 300 centers"
SORT = "cross-validated spectral fit, n = m = 1000000"
ALIBI = "two-sample test, n = m = 5000, d = 10, 1000 permutations, 250 centers"
MILLION = "two-sample test, n = m = 1000000, d = 1, 999 permutations"
GAUSSIANS = "The paper's Gaussians, RMSE of the squared L2 distance, n = 200, m = 200, "
UNITS = "Relative RMSE (by the true distance), units x "
SQUARED = "mean squared error of the prior, 20 labelled"
POWER = "share of rejections at level 0.05, n = m = 100"
HASC = "HASC accelerometer, three axes at 100 Hz"
TURING = "Turing series"
SERIES = "series of 20000 x 3"
SAMPLES = "1000000 samples, one column"
TABLES = "100 columns of 1000000 rows, 2 cores"
WIDE = "1000 columns of 100000 rows from Parquet"
TAILS = "one column of 1000000 rows"
PROFILE = "profile of 20 mixed columns of 1000000 rows"
BEYOND = "Two-sample test of two columns from Parquet"
PARQUET = "Cross-validated fit from Parquet"
SUMS = "Weighted sums of kernel features, one thread"
LSDD, MMD = "LSDDDriftOnline", "MMDDriftOnline"

# What the row is called on the page: the make target, its ARGS, the sources of its figures from left to right.
CLAIMS = {
    "default": (
        "bench",
        "accuracy",
        Row("", "default squared: RMSE over the bound"),
        Row("", "default squared: mean RMSE"),
    ),
    '`solver="centers"`': (
        "bench",
        "accuracy",
        Row("", "centers squared: RMSE over the bound"),
        Row("", "centers squared: mean RMSE"),
    ),
    "the paper's estimate, its authors' settings": ("bench", "accuracy", *printed(GAUSSIANS, "authors'", -2, -1)),
    "difference of kernel density estimates": ("bench", "accuracy", *printed(GAUSSIANS, "KDE difference", -2, -1)),
    "values as they are": (
        "bench",
        "accuracy",
        *printed(UNITS + "1,", "default", -1),
        *printed(UNITS + "1,", "authors'", -1),
    ),
    "values times 100": (
        "bench",
        "accuracy",
        *printed(UNITS + "100,", "default", -1),
        *printed(UNITS + "100,", "authors'", -1),
    ),
    "values divided by 100": (
        "bench",
        "accuracy",
        *printed(UNITS + "0.01,", "default", -1),
        *printed(UNITS + "0.01,", "authors'", -1),
    ),
    "f in 1 column": ("bench", "curves", *errors_of_f(1)),
    "f in 2 columns": ("bench", "curves", *errors_of_f(2)),
    "f in 5 columns": ("bench", "curves", *errors_of_f(5)),
    "interval for the squared distance": (
        "calibrate",
        "coverage",
        Spread("squared", ("Gaussians", "| 200, 200 | auto |")),
    ),
    "simultaneous band": ("calibrate", "coverage", Spread("simultaneous", ("Gaussians", "| 200, 200 | auto |"))),
    "`centers`, 1 column, 99 models": ("bench", "speed", *beside(FIT, "n = m = 200, d = 1, centers, 99 models")),
    "`centers`, 5 columns, 99 models": ("bench", "speed", *beside(FIT, "n = m = 200, d = 5, centers, 99 models")),
    "`pairs`, 5 columns, 110 models": ("bench", "speed", *beside(FIT, "n = m = 200, d = 5, pairs, 110 models")),
    "`spectral`, 1 column, 110 models": ("bench", "speed", *beside(FIT, "n = m = 200, d = 1, spectral, 110 models")),
    "1 column, 140 models": ("bench", "speed", *beside(SORT, "d = 1, 140 models")),
    "2 columns, 90 models": ("bench", "speed", *beside(SORT, "d = 2, 90 models")),
    "`spectral`, 2 x 1,000,000 rows, 1 column": ("bench", "memory", Row("", "spectral, n = m = 1000000, d = 1")),
    "`spectral`, 2 x 1,000,000 rows, 2 columns": ("bench", "memory", Row("", "spectral, n = m = 1000000, d = 2")),
    "`pairs`, 2 x 5,000 rows, 10 columns": ("bench", "memory", Row("", "pairs, n = m = 5000, d = 10")),
    "`centers`, 2 x 200,000 rows, 10 columns": ("bench", "memory", Printed("", "centers, n = m = 200000, d = 10", 1)),
    "`spectral`": ("bench", "growth", Growth("densdiff, spectral")),
    "`pairs`": ("bench", "growth", Growth("densdiff, pairs")),
    "`centers`": ("bench", "growth", Growth("densdiff, centers")),
    "time of the test": ("bench", "peers", *beside(ALIBI, "aggregate", unit="s")),
    "memory of the test": ("bench", "peers", *beside(ALIBI, "aggregate", unit="MiB")[:2]),
    "densdiff, default": ("bench", "power", Printed(POWER, "densdiff ", -1)),
    "MMD, median width, standardized columns": ("bench", "power", Printed(POWER, "MMD, median, standardized", -1)),
    "energy test, standardized columns": ("bench", "power", Printed(POWER, "energy, standardized", -1)),
    "time of the first test of a process, with imports": (
        "bench",
        "peers",
        *beside(ALIBI, "aggregate, cold", unit="s"),
    ),
    "a million rows in one column": ("bench", "peers", *beside(MILLION, "aggregate")),
    "the paper's four data sets, mean squared error": (
        "bench",
        "balance",
        Row("squared error of the prior", "mean"),
        *printed(SQUARED, "EDx", -2),
        *printed(SQUARED, "EMQ ", -2),
        *printed(SQUARED, "KDEyML", -2),
    ),
    "all twelve data sets": (
        "bench",
        "balance",
        Row("class balance over 26 cells", "of the best fixed peer"),
        Row("class balance over 26 cells", "of the best peer of each cell"),
    ),
    "the last five": (
        "bench",
        "balance",
        Row("class balance over 15 cells, the last five", "of the best fixed peer"),
        Row("class balance over 15 cells, the last five", "of the best peer of each cell"),
    ),
    "digits, 900 labelled and 500 new rows": (
        "bench",
        "balance",
        *beside("class balance, mean absolute error", "digits, 90 a class", "EMQ"),
    ),
    "interval of a share": ("calibrate", "balance", Spread("covered", ("| learned | 200 |",))),
    "HASC, densdiff": ("bench", "changes", Row(HASC, "F1@100"), Row(HASC, "covering")),
    "HASC, best of ruptures": ("bench", "changes", *printed(HASC, "KernelCPD, rbf, 3 log n", 1, 2)),
    "HASC, best published": ("bench", "changes", *printed(HASC, "binseg", 1, 2)),
    "Turing, densdiff": ("bench", "changes", Row(TURING, "F1"), Row(TURING, "covering")),
    "Turing, ruptures, best F1": ("bench", "changes", *printed(TURING, "Binseg, l2, 3 log n", 2, 0)),
    "Turing, ruptures, best covering": ("bench", "changes", *printed(TURING, "Window, rbf, 3 log n", 2, 0)),
    "Turing, no change reported": ("bench", "changes", *printed(TURING, "no change at all", 2, 0)),
    "the score alone": ("bench", "changes", *beside(SERIES, "score alone", "ruptures Window, rbf, jump 1")),
    "the score, its threshold and p-values": (
        "bench",
        "changes",
        *beside(SERIES, "score, threshold and p-values", "ruptures Window, rbf, jump 1"),
    ),
    "1,000,000 samples in one column": ("bench", "changes", *beside(SAMPLES, "detect_changes")),
    "memory of the 1,000,000 samples": ("bench", "changes", Row(SAMPLES, "memory beyond")),
    "processor time": ("bench", "compare", *beside(TABLES, "CPU seconds")),
    "time on two cores": ("bench", "compare", Row(TABLES, "wall time")),
    "memory beyond the tables": ("bench", "compare", Row(TABLES, "memory beyond the tables")),
    "moved columns that are found": ("bench", "compare", Row(TABLES, "moved columns found")),
    "other columns that are reported": ("bench", "compare", Row(TABLES, "other columns found")),
    "2 x 2,000 rows of 20 mixed columns": ("bench", "compare", *mixed("2000 rows, all")),
    "2 x 200,000 rows of 20 mixed columns": ("bench", "compare", *mixed("200000 rows, all")),
    "2 x 1,000,000 rows of 20 mixed columns, Parquet": ("bench", "compare", *mixed("1000000 rows from Parquet")),
    "2 x 100,000 rows of 1,000 columns, Parquet": ("bench", "compare", Row(WIDE, "wall time")),
    "memory of the 1,000 columns, whole process": ("bench", "compare", Row(WIDE, "whole process")),
    "normal": ("bench", "compare", Row(TAILS, "normal")),
    "Cauchy": ("bench", "compare", Row(TAILS, "Cauchy")),
    "Pareto, exponent 1.2": ("bench", "compare", Row(TAILS, "Pareto 1.2")),
    "log-normal, deviation 3": ("bench", "compare", Row(TAILS, "log-normal 3")),
    "time of a profile": ("bench", "compare", Row(PROFILE, "wall time")),
    "memory of a profile beyond the table": ("bench", "compare", Row(PROFILE, "memory beyond the table")),
    **{
        text: ("bench", "delays", *beside("", f"delay after {change}", "tuned CUSUM"))
        for change, text in list(DELAYS.items())[:6]
    },
    **{
        f"{text}, several columns": (
            "bench",
            "delays",
            *(Printed(f"d = {d}, realized run length", f"{change} ", 0) for d in (2, 10, 30)),
        )
        for change, text in DELAYS.items()
    },
    **{
        f"{DELAYS[change]}, {peer}": ("bench", "delays", *beside("", f"delay after {change}, d = 2", peer))
        for peer in ("ADWIN", "PageHinkley", LSDD, MMD)
        for change in ("mean .5", "spread 2", "correlation .8")
    },
    "calibration": ("bench", "monitor", *beside("", "calibrate", LSDD)),
    "one row": ("bench", "monitor", *beside("", "step", LSDD)),
    "time of a row after ten million, over that at the start": ("bench", "monitor", Row("", "time a row at the end")),
    "memory that ten million rows add": ("bench", "monitor", Row("", "memory of 10,000,000 rows")),
    "realized over requested run length": ("calibrate", "monitor", Spread("of the asked", ("% | 0 % |",))),
    "kernel sums": ("bench", "fused", *beside(SUMS, "1000000 x 10 rows", "NumPy, an exp for each sigma")),
    "2 x 100,000 rows": (
        "bench",
        "scale",
        Row(PARQUET, "2 x 100000 x 10 rows, one core"),
        Row(PARQUET, "2 x 100000 x 10 rows, all cores"),
        Row(PARQUET, "2 x 100000 x 10 rows, all cores, whole process"),
    ),
    "2 x 1,000,000 rows": (
        "bench",
        "scale",
        Row(PARQUET, "2 x 1000000 x 10 rows, one core"),
        Row(PARQUET, "2 x 1000000 x 10 rows, all cores"),
        Row(PARQUET, "2 x 1000000 x 10 rows, all cores, whole process"),
    ),
    "2 x 10,000,000 rows": (
        "bench",
        "scale",
        Row(PARQUET, "2 x 10000000 x 10 rows, one core"),
        Row(PARQUET, "2 x 10000000 x 10 rows, all cores"),
        Row(PARQUET, "2 x 10000000 x 10 rows, all cores, whole process"),
    ),
    "2 x 1,000,000 rows of two columns": (
        "bench",
        "scale",
        Row(BEYOND, "2 x 1000000 rows, 999 permutations"),
        Row(BEYOND, "2 x 1000000 rows, 999 permutations, whole process"),
    ),
    "2 x 10,000,000 rows of two columns": (
        "bench",
        "scale",
        Row(BEYOND, "2 x 10000000 rows, 999 permutations"),
        Row(BEYOND, "2 x 10000000 rows, 999 permutations, whole process"),
    ),
    "two Dask workers": ("bench", "scale", *beside("Dask", "2 x 2000000 x 10 rows, 500 centers, two workers")),
    "two Dask workers, nothing but the sums": (
        "bench",
        "scale",
        *beside("Dask", "sums alone of 2 x 2000000 x 10 rows, 500 centers, two workers"),
    ),
}
