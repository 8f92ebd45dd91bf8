"""Everything that a user can call, as plain lists: what is added here is held to every promise of test_contracts.py.

A `Case` gets its inputs by name and gives a fitted model or a result. A `Form` is a way to hold the rows of a table:
`FORMS` are in memory, `ENGINES` are not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from sklearn.linear_model import LogisticRegression

import densdiff as dd
from tests.large import Blocks
from tests.lazy_forms import LAZY_FORMS, of_sqlite

POINTS = np.array([[0.0, 0.5], [1.0, -1.0], [3.0, 0.0]])


@dataclass(frozen=True)
class Case:
    name: str
    inputs: Callable[[int], dict[str, Any]]  # so many rows and more -> tables (n, d), or of columns, and vectors (n,)
    ask: Callable[..., Any]  # (seed, **inputs) -> a fitted model, a result, or a list of steps
    make: Callable[[int | None], Any] | None = None  # an unfitted estimator of that seed, where there is one

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Form:
    name: str
    hold: Callable[[Any], Any]  # (n, d) floats, or columns by name -> the same rows in another container
    takes: Callable[[Case], bool] = lambda case: case.name != "compare mixed"

    def __str__(self) -> str:
        return self.name


def named(rows: Any) -> dict[str, np.ndarray]:
    """Columns by the names that arrays get."""
    if isinstance(rows, dict):
        return dict(rows)
    return {f"x{j}": column.copy() for j, column in enumerate(rows.T)}


def rows_of(seed: int, n: int, shift: float = 0.0) -> np.ndarray:
    return np.random.default_rng([seed, n]).normal(size=(n, 2)) * [1.0, 30.0] + [shift, 0.0]


def samples(n: int) -> dict[str, Any]:
    return {"X": rows_of(0, n), "Y": rows_of(1, n - n // 4, 0.7)}


def weighted(n: int) -> dict[str, Any]:
    random, found = np.random.default_rng(2), samples(n)
    return found | {"wx": random.uniform(0.5, 2.0, n), "wy": random.uniform(0.5, 2.0, n - n // 4)}


def tables(n: int) -> dict[str, Any]:
    return {"A": rows_of(0, n), "B": rows_of(1, n - n // 4, 0.7)}


def long_tables(n: int) -> dict[str, Any]:
    """As many rows as a profile needs."""
    return tables(3 * n)


def mixed_tables(n: int) -> dict[str, Any]:
    """A pair, a region, a column and the share of missing values differ."""
    return {"A": _mixed(0, 7 * n, 0.2), "B": _mixed(1, 7 * n, 0.8)}


def _mixed(seed: int, n: int, share: float) -> dict[str, np.ndarray]:
    random = np.random.default_rng([seed, n])
    number, other = random.normal(size=(2, n))
    beside = (number if seed else other) + 0.1 * random.normal(size=n)
    beside[:: 5 if seed else n] = np.nan
    return {"number": number, "beside": beside, "word": np.where(random.random(n) < share, "u", "v").astype(object)}


def grouped_tables(n: int) -> dict[str, Any]:
    """Two groups of a column, of which one differs."""
    return {"A": _grouped(0, 2 * n), "B": _grouped(1, 2 * n)}


def _grouped(seed: int, n: int) -> np.ndarray:
    rows = rows_of(seed, n)
    rows[:, 1] = np.arange(n) % 2
    rows[:, 0] += 2.0 * seed * rows[:, 1]
    return rows


def batches_of(n: int) -> dict[str, Any]:
    """A reference and a batch that differs."""
    return {"R": rows_of(0, 2 * n), "B": rows_of(1, n, 2.0)}


def labelled(n: int) -> dict[str, Any]:
    classes = np.repeat(["ill", "well"], [n // 2, n - n // 2])
    return {"X": rows_of(0, n) + 2.0 * (classes == "ill")[:, None], "y": classes, "X_new": rows_of(1, n, 0.7)}


def weighted_labels(n: int) -> dict[str, Any]:
    return labelled(n) | {"w": np.random.default_rng(2).uniform(0.5, 2.0, n)}


def a_series(n: int) -> dict[str, Any]:
    return {"series": np.concatenate([rows_of(0, 3 * n), rows_of(1, 2 * n, 2.0)])}


def a_stream(n: int) -> dict[str, Any]:
    return {"reference": rows_of(0, 10 * n), "rows": np.concatenate([rows_of(1, n), rows_of(2, n, 3.0)])}


def pair_model(name: str, make: Callable[[int | None], Any], inputs: Any = samples) -> Case:
    return Case(name, inputs, lambda seed, **given: make(seed).fit(*given.values()), make)


def label_model(name: str, make: Callable[[int | None], Any]) -> Case:
    def ask(seed: int, X: Any, y: Any, X_new: Any, w: Any) -> Any:
        return make(seed).fit(X, y, w)

    return Case(name, weighted_labels, ask, make)


def shifted_classifier(seed: int | None) -> Any:
    return dd.PriorShiftClassifier(LogisticRegression(), dd.ClassBalance(random_state=seed))


def small(seed: int | None = None, solver: str = "centers", **settings: Any) -> Any:
    return dd.LSDD(solver=solver, n_centers=30, random_state=seed, **settings)


ESTIMATORS = [
    *(pair_model(f"LSDD {solver}", lambda s, v=solver: small(s, v)) for solver in ("auto", "centers", "pairs")),
    pair_model("LSDD spectral", lambda s: small(s, "spectral", sigma=[1.0, 2.0])),
    pair_model("LSDD weighted", small, weighted),
    pair_model("KDEDifference", lambda s: dd.KDEDifference(random_state=s), weighted),
    pair_model("KLIEP", lambda s: dd.KLIEP(n_centers=30, random_state=s), weighted),
    label_model("LeastSquaresClassifier", lambda s: dd.LeastSquaresClassifier([1.0, 2.0], random_state=s)),
    label_model("ClassBalance", lambda s: dd.ClassBalance(random_state=s)),
    Case(
        "PriorShiftClassifier",
        labelled,
        lambda s, **given: shifted_classifier(s).fit(**_new(given)),
        shifted_classifier,
    ),
]


def _new(given: dict[str, Any]) -> dict[str, Any]:
    return {"X": given["X"], "y": given["y"], "X_unlabeled": given["X_new"]}


def _test(**settings: Any) -> Callable[..., Any]:
    return lambda s, X, Y: dd.two_sample_test(X, Y, n_permutations=49, random_state=s, **settings)


def _compared(seed: int, A: Any, B: Any) -> Any:
    return dd.compare(A, B, missing="level", n_permutations=49, random_state=seed)


def _compared_with_profile(seed: int, A: Any, B: Any) -> Any:
    reference = dd.profile(A, random_state=seed)
    return dd.compare(reference, B, names=("A", "B"), n_permutations=49, random_state=seed)


def _compared_by(seed: int, A: Any, B: Any) -> Any:
    return dd.compare_by(A, B, "x1", names=("A", "B"), n_permutations=49, random_state=seed)


def _tracked(seed: int, R: Any, B: Any) -> Any:
    return dd.track({"today": B}, reference=R, n_permutations=49, random_state=seed)


def _balance(model: Any) -> Callable[..., Any]:
    return lambda s, X, y, X_new: dd.ClassBalance(model=model, random_state=s).fit(X, y).estimate(X_new)


def _changes(**settings: Any) -> Callable[..., Any]:
    return lambda s, series: dd.detect_changes(series, random_state=s, **settings)


def _steps(seed: int, reference: Any, rows: Any) -> Any:
    return dd.ChangeMonitor(reference, window=10, run_length=100, random_state=seed).update_many(rows)


QUESTIONS = [
    Case("l2_distance", samples, lambda s, X, Y: dd.l2_distance(X, Y, model=small(), random_state=s)),
    Case("l2_distance KDE", samples, lambda s, X, Y: dd.l2_distance(X, Y, model=dd.KDEDifference(), random_state=s)),
    Case("total_variation", samples, lambda s, X, Y: dd.total_variation(X, Y, random_state=s)),
    Case("total_variation model", samples, lambda s, X, Y: dd.total_variation(X, Y, model=small(), random_state=s)),
    Case("confidence_band", weighted, lambda s, **given: small(s).fit(*given.values()).confidence_band(POINTS)),
    Case("two_sample_test", samples, _test()),
    Case("two_sample_test refit", samples, _test(tuning="refit", model=small())),
    Case("two_sample_test limit", samples, _test(tuning="pooled", null="asymptotic", model=small())),
    Case("two_sample_test KLIEP", samples, _test(model=dd.KLIEP(n_centers=30))),
    Case("compare", tables, lambda s, A, B: dd.compare(A, B, names=("A", "B"), n_permutations=49, random_state=s)),
    Case("compare mixed", mixed_tables, _compared),
    Case("compare_by", grouped_tables, _compared_by),
    Case("track", batches_of, _tracked),
    Case("compare profile", long_tables, _compared_with_profile),
    Case("balance", labelled, _balance(None)),
    Case("balance LSDD", labelled, _balance(small())),
    Case("balance KDE", labelled, _balance(dd.KDEDifference())),
    Case("detect_changes", a_series, _changes()),
    Case("detect_changes window", a_series, _changes(tuning="window", model=small(sigma=1.0, lam=0.1))),
    Case("detect_changes KDE", a_series, _changes(model=dd.KDEDifference())),
    Case("detect_changes KLIEP", a_series, _changes(model=dd.KLIEP(sigma=1.0))),
    Case("ChangeMonitor", a_stream, _steps),
]


# Public functions that neither take rows nor give a result with a receipt, and where their promises are tested.
OF_NUMBERS = {"anytime_pvalues": "tests/testing/test_sequential.py"}


def _any(case: Case) -> bool:
    return True


def _not_wrapping(case: Case) -> bool:
    return case.name != "PriorShiftClassifier"  # whose own classifier gets the rows as they are


FORMS = [
    Form("list", lambda rows: rows.tolist()),
    Form("Fortran array", np.asfortranarray),
    Form("strided array", lambda rows: np.repeat(rows, 2, axis=1)[:, ::2]),
    Form("mapping", named, _not_wrapping),
    Form("pandas", lambda rows: pd.DataFrame(named(rows)), _any),
    Form("polars", lambda rows: pl.DataFrame(named(rows)), _any),
    Form("pyarrow", lambda rows: pa.table(named(rows)), _any),
]

_BY_NAME = {form.name: form for form in FORMS}
MIXES = [  # forms of the first table, the second and so on, and of the points
    tuple(_BY_NAME[name] for name in names)
    for names in (("pandas", "polars"), ("pyarrow", "pandas"), ("list", "pyarrow"), ("polars", "Fortran array"))
]

# Who takes rows that are not in memory, and what may differ then from the answer to the array: a test relabels cells
# where it has all rows otherwise. Everybody else refuses
# them.
_RELABELLED = ("statistic", "pvalue", "pvalue_adjusted", "null_distribution", "method", "tuning", "warnings", "lam")
BEYOND_MEMORY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("LSDD auto", "LSDD centers", "LSDD spectral", "LSDD pairs", "l2_distance"), ()),
    **dict.fromkeys(("compare", "compare_by", "track"), ()),
    # sums of waves are of single precision, and blocks of rows are added up in their order
    "compare profile": (),
    **dict.fromkeys(("total_variation", "total_variation model"), ("pvalue",)),
    **dict.fromkeys(("balance", "balance LSDD", "balance KDE", "two_sample_test limit"), ()),
    **dict.fromkeys(("detect_changes", "detect_changes window", "detect_changes KDE", "detect_changes KLIEP"), ()),
    "two_sample_test": (*_RELABELLED, "sigma", "strongest"),
    "compare mixed": (*_RELABELLED, "adjustment", "reasons", "is_smallest"),
}


def _in_blocks(rows: Any) -> Any:
    table = pd.DataFrame(rows) if isinstance(rows, dict) else rows
    return Blocks(table, [len(table) // 3, len(table) // 2])


def _lazily(form: str) -> Callable[[Any], Any]:
    return lambda rows: LAZY_FORMS[form](pa.table(named(rows)))


def _is_quick(case: Case) -> bool:
    return case.name in ("l2_distance", "compare", "balance", "detect_changes")


# Where rows may take no memory at all, what can be read once is kept in a file and a dataset is read again and again:
# both answer everything. The others are kept as the first is.
ENGINES = [
    Form("blocks", _in_blocks, _any),
    *(Form(form, _lazily(form), _any) for form in ("RecordBatchReader", "pyarrow Dataset")),
    *(
        Form(form, _lazily(form), _is_quick)
        for form in LAZY_FORMS
        if form not in ("RecordBatchReader", "pyarrow Dataset")
    ),
    Form("SQLite", lambda rows: of_sqlite(pa.table(named(rows))), _is_quick),
]
try:
    import dask.array as da
    import dask.dataframe as df
except ImportError:  # an extra, which the oldest environment does without
    pass
else:
    ENGINES += [
        Form("Dask array", lambda rows: da.from_array(rows, chunks=(9, 1))),
        Form("Dask frame", lambda rows: df.from_pandas(pd.DataFrame(named(rows)), npartitions=3), _any),
    ]
