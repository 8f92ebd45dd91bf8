"""A net around the public behaviour: what the library answers to a fixed list of cases, kept in a file and compared.

    python tests/net.py write before.json      # in the tree as it was
    python tests/net.py compare before.json    # in the tree as it is now; status 1 if an answer differs

``--only TEXT`` takes the cases with this text in their name, ``--docs DIR`` runs the guides of that folder. Strings,
whole numbers and structure must be equal. Two floats may differ by ``--tolerance`` times the larger one, or times the
largest magnitude of the list or array that holds them. Only public names are used, so the file runs in any tree.
"""

import os

if __name__ == "__main__":  # before NumPy is loaded; not where the tests import this module
    for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "BLIS"):
        os.environ[f"{_name}_NUM_THREADS"] = "1"
    os.environ |= {"COLUMNS": "80", "LINES": "40", "MPLBACKEND": "Agg", "TZ": "UTC", "NO_COLOR": "1", "TERM": "dumb"}

import argparse
import codecs
import contextlib
import csv
import dataclasses
import datetime
import decimal
import doctest
import gzip
import html
import inspect
import io
import json
import math
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import densdiff as dd

TOLERANCE = 1e-12
LONGEST = 150  # values of an array that are kept one by one
SECONDS = 120  # after which a case is given up
MOST = 5  # differences of a case that are printed
GROUPS = {}


def group(function):
    """Register a generator of (name, function without arguments); the name of the group comes first."""
    GROUPS[function.__name__] = function
    return function


# --- from any answer to plain values ---------------------------------------------------------------------------------


def plain(value):
    """What JSON can hold; arrays with type and shape, results with their text, models with all that they learned."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return normalized(value)
    if isinstance(value, np.generic):
        return plain(value.item()) if value.dtype.kind in "biufUS" else normalized(str(value))
    if isinstance(value, np.ndarray):
        return plain_array(value)
    if isinstance(value, dict):
        return {str(key): "VERSION" if key == "version" else plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, dd.ChangeMonitor):
        return {"repr": lines(repr(value)), "text": lines(str(value)), **learned(value)}
    if hasattr(value, "to_dict") and dataclasses.is_dataclass(value):
        return {"type": type(value).__name__, "dict": plain(value.to_dict()), "text": lines(str(value))}
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "get_params"):
        return {"repr": lines(repr(value)), **learned(value)}
    return lines(repr(value))


def plain_array(array):
    """All values of a short array; of a long one some, with the largest magnitude and the root of the mean square."""
    about = {"dtype": str(array.dtype), "shape": list(array.shape)}
    flat = array.ravel()
    if array.dtype.kind not in "biuf":
        return about | {"values": [plain(entry) for entry in flat.tolist()[:LONGEST]]}
    step = max(1, -(-flat.size // LONGEST))
    about["values"] = flat[::step].tolist()
    numbers = np.abs(flat[np.isfinite(flat)].astype(float))
    if step > 1 and numbers.size and numbers.max() > 0:
        about["largest"] = float(numbers.max())
        about["root_mean_square"] = about["largest"] * float(np.sqrt(np.mean(np.square(numbers / numbers.max()))))
    return about


def learned(model):
    """The public attributes that end in an underscore."""
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    return {name: plain(getattr(model, name)) for name in names if hasattr(model, name)}


def lines(text):
    """A text as the list of its lines, so that a difference is shown by its line."""
    return [normalized(line) for line in text.split("\n")]


def normalized(text):
    """Without what differs from run to run or release to release: folders, addresses of objects, the version."""
    text = text.replace(os.path.realpath(tempfile.gettempdir()), "TMP").replace(tempfile.gettempdir(), "TMP")
    text = re.sub(r"TMP/[\w.-]+", "TMP/...", text)
    text = re.sub(r"\b0x[0-9a-fA-F]{6,}\b", "0x...", text)
    return re.sub(rf"\b{re.escape(dd.__version__)}\b", "VERSION", text)


def without_frames(text):
    """The lines of a text, of each traceback only the line that names the error."""
    kept, within = [], False
    for line in text.split("\n"):
        within = line.startswith("Traceback (") or (within and (line.startswith(" ") or not line))
        if not within:
            kept.append(normalized(line))
    return kept


def failure(error):
    return {"error": type(error).__name__, "message": lines(str(error))}


def attempt(function, *given, **options):
    """The answer as plain values, or the error."""
    try:
        return plain(function(*given, **options))
    except Exception as error:
        return failure(error)


def each(**questions):
    """Several answers of one case; one that fails does not keep the others."""
    return {name: attempt(question) for name, question in questions.items()}


# --- data ------------------------------------------------------------------------------------------------------------

N = 24
SEED = 7
POINTS = np.array([[0.0, 0.5], [1.0, -1.0], [3.0, 0.0]])


def normal_rows(seed, n=40, d=2, shift=0.0, scale=1.0):
    """Rows (n, d), of which the first column is shifted."""
    rows = np.random.default_rng([seed, n, d]).normal(size=(n, d)) * scale
    rows[:, 0] += shift
    return rows


def two_samples(d=2, n=40, m=30, shift=0.7):
    return normal_rows(0, n, d), normal_rows(1, m, d, shift)


def unequal_units(seed, n, shift=0.0):
    return np.random.default_rng([seed, n]).normal(size=(n, 2)) * [1.0, 30.0] + [shift, 0.0]


def by_name(rows):
    """Columns by the names that arrays get."""
    return dict(rows) if isinstance(rows, dict) else {f"x{j}": column.copy() for j, column in enumerate(rows.T)}


def is_table(value):
    return isinstance(value, dict) or np.ndim(value) == 2


class Blocks:
    """Consecutive pieces of a table, anew each time."""

    def __init__(self, table, cuts):
        self.table, self.cuts = table, cuts

    def __iter__(self):
        for start, stop in pairwise([0, *sorted(self.cuts), len(self.table)]):
            yield self.table[start:stop]


def mixed_columns(seed, n=60, shift=0.0, share=0.5):
    """Numbers, whole numbers, text, categories and booleans."""
    random = np.random.default_rng([seed, n])
    return {
        "size": random.normal(size=n) + shift,
        "age": np.round(random.gamma(3.0, size=n), 2),
        "count": random.integers(0, 5, n),
        "city": random.choice(["Bonn", "Kiel", "Ulm"], n, p=[share, 0.8 - share, 0.2]).astype(object),
        "paid": random.random(n) < share,
    }


def with_missing(seed, n=60, share=0.5, numbers=6, words=4):
    """A mixed table with missing numbers and words."""
    table = mixed_columns(seed, n, 0.2 * seed, share)
    table["size"][1 : 3 * numbers : 3] = np.nan
    table["city"][2 : 5 * words : 5] = None
    return table


def as_csv(columns, sep=","):
    """Columns by name as CSV text; what is missing is left empty."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=sep, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True):
        writer.writerow(["" if entry is None or entry != entry else entry for entry in row])
    return text.getvalue()


def as_json_lines(columns):
    rows = zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True)
    plain_rows = ([None if entry != entry else entry for entry in row] for row in rows)
    return "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in plain_rows)


def as_parquet(columns, rows_of_group=None):
    buffer = io.BytesIO()
    table = columns if isinstance(columns, pa.Table) else pa.Table.from_pandas(pd.DataFrame(columns))
    pq.write_table(table, buffer, row_group_size=rows_of_group)
    return buffer.getvalue()


def as_npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def put(name, content):
    """Write a file into the current folder and give its name."""
    content = as_csv(content) if isinstance(content, dict) else content
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def put_table(name, rows):
    """Write a table in the form that the end of its name says."""
    ending, columns = name.rsplit(".", 1)[1], by_name(rows)
    if ending == "npy":
        return put(name, as_npy(rows if isinstance(rows, np.ndarray) else np.column_stack(list(columns.values()))))
    few = 50 if len(next(iter(columns.values()))) < 2000 else 5000  # rows of a group, so that there are several
    writers = {"csv": as_csv, "jsonl": as_json_lines, "parquet": lambda table: as_parquet(table, few)}
    return put(name, writers[ending](columns))


@contextlib.contextmanager
def small_memory(mebibytes):
    """A ceiling that lets small files be read in blocks."""
    with sklearn.config_context(working_memory=mebibytes):
        yield


# --- every estimator and question in every container -----------------------------------------------------------------


def small_lsdd(seed=None, solver="centers", **settings):
    return dd.LSDD(solver=solver, n_centers=30, random_state=seed, **settings)


def sample_inputs(n):
    return {"X": unequal_units(0, n), "Y": unequal_units(1, n - n // 4, 0.7)}


def weighted_inputs(n):
    random = np.random.default_rng(2)
    return sample_inputs(n) | {"wx": random.uniform(0.5, 2.0, n), "wy": random.uniform(0.5, 2.0, n - n // 4)}


def table_inputs(n):
    return {"A": unequal_units(0, n), "B": unequal_units(1, n - n // 4, 0.7)}


def mixed_inputs(n):
    """A pair, a region, a column and the share of missing values differ."""

    def table(seed, n, share):
        random = np.random.default_rng([seed, n])
        number, other = random.normal(size=(2, n))
        beside = (number if seed else other) + 0.1 * random.normal(size=n)
        beside[:: 5 if seed else n] = np.nan
        return {"number": number, "beside": beside, "word": np.where(random.random(n) < share, "u", "v").astype(object)}

    return {"A": table(0, 3 * n, 0.2), "B": table(1, 3 * n, 0.8)}


def labelled_inputs(n):
    labels = np.repeat(["ill", "well"], [n // 2, n - n // 2])
    rows = unequal_units(0, n) + 2.0 * (labels == "ill")[:, None]
    return {"X": rows, "y": labels, "X_new": unequal_units(1, n, 0.7)}


def weighted_label_inputs(n):
    return labelled_inputs(n) | {"w": np.random.default_rng(2).uniform(0.5, 2.0, n)}


def series_inputs(n):
    return {"series": np.concatenate([unequal_units(0, 3 * n), unequal_units(1, 2 * n, 2.0)])}


def stream_inputs(n):
    rows = np.concatenate([unequal_units(1, n), unequal_units(2, n, 3.0)])
    return {"reference": unequal_units(0, 10 * n), "rows": rows}


def relabelled(**settings):
    return lambda seed, X, Y: dd.two_sample_test(X, Y, n_permutations=49, random_state=seed, **settings)


def changes_of(**settings):
    return lambda seed, series: dd.detect_changes(series, random_state=seed, **settings)


def balance_of(model):
    return lambda seed, X, y, X_new: dd.ClassBalance(model=model, random_state=seed).fit(X, y).estimate(X_new)


def compared_with_levels(seed, A, B):
    return dd.compare(A, B, missing="level", n_permutations=49, random_state=seed)


def fitted_shift(seed, X, y, X_new):
    model = dd.PriorShiftClassifier(LogisticRegression(), dd.ClassBalance(random_state=seed))
    return model.fit(X, y, X_unlabeled=X_new)


def monitored(seed, reference, rows):
    monitor = dd.ChangeMonitor(reference, window=10, run_length=100, random_state=seed)
    return [monitor, monitor.update_many(rows)]


def fitted(make):
    return lambda seed, **given: make(seed).fit(*given.values())


def fitted_to_labels(make):
    return lambda seed, X, y, X_new, w: make(seed).fit(X, y, w)


QUESTIONS = {
    "LSDD auto": (sample_inputs, fitted(lambda s: small_lsdd(s, "auto"))),
    "LSDD centers": (sample_inputs, fitted(lambda s: small_lsdd(s, "centers"))),
    "LSDD pairs": (sample_inputs, fitted(lambda s: small_lsdd(s, "pairs"))),
    "LSDD spectral": (sample_inputs, fitted(lambda s: small_lsdd(s, "spectral", sigma=[1.0, 2.0]))),
    "LSDD weighted": (weighted_inputs, fitted(small_lsdd)),
    "KDEDifference": (weighted_inputs, fitted(lambda s: dd.KDEDifference(random_state=s))),
    "KLIEP": (weighted_inputs, fitted(lambda s: dd.KLIEP(n_centers=30, random_state=s))),
    "LeastSquaresClassifier": (
        weighted_label_inputs,
        fitted_to_labels(lambda s: dd.LeastSquaresClassifier([1.0, 2.0], random_state=s)),
    ),
    "ClassBalance": (weighted_label_inputs, fitted_to_labels(lambda s: dd.ClassBalance(random_state=s))),
    "PriorShiftClassifier": (labelled_inputs, fitted_shift),
    "l2_distance": (sample_inputs, lambda s, X, Y: dd.l2_distance(X, Y, model=small_lsdd(), random_state=s)),
    "l2_distance KDE": (
        sample_inputs,
        lambda s, X, Y: dd.l2_distance(X, Y, model=dd.KDEDifference(), random_state=s),
    ),
    "confidence_band": (
        weighted_inputs,
        lambda s, **given: small_lsdd(s).fit(*given.values()).confidence_band(POINTS),
    ),
    "two_sample_test": (sample_inputs, relabelled()),
    "two_sample_test refit": (sample_inputs, relabelled(tuning="refit", model=small_lsdd())),
    "two_sample_test limit": (sample_inputs, relabelled(tuning="pooled", null="asymptotic", model=small_lsdd())),
    "two_sample_test KLIEP": (sample_inputs, relabelled(model=dd.KLIEP(n_centers=30))),
    "compare": (table_inputs, lambda s, A, B: dd.compare(A, B, n_permutations=49, random_state=s)),
    "compare mixed": (mixed_inputs, compared_with_levels),
    "balance": (labelled_inputs, balance_of(None)),
    "balance LSDD": (labelled_inputs, balance_of(small_lsdd())),
    "balance KDE": (labelled_inputs, balance_of(dd.KDEDifference())),
    "detect_changes": (series_inputs, changes_of()),
    "detect_changes window": (series_inputs, changes_of(tuning="window", model=small_lsdd(sigma=1.0, lam=0.1))),
    "detect_changes KDE": (series_inputs, changes_of(model=dd.KDEDifference())),
    "detect_changes KLIEP": (series_inputs, changes_of(model=dd.KLIEP(sigma=1.0))),
    "ChangeMonitor": (stream_inputs, monitored),
}
FORMS = {
    "array": lambda rows: rows,
    "list": lambda rows: rows.tolist(),
    "Fortran array": np.asfortranarray,
    "strided array": lambda rows: np.repeat(rows, 2, axis=1)[:, ::2],
    "mapping": by_name,
    "rows by name": lambda rows: pd.DataFrame(by_name(rows)).to_dict("records"),
    "pandas": lambda rows: pd.DataFrame(by_name(rows)),
    "polars": lambda rows: pl.DataFrame(by_name(rows)),
    "pyarrow": lambda rows: pa.table(by_name(rows)),
}


def in_blocks(rows):
    table = pd.DataFrame(rows) if isinstance(rows, dict) else rows
    return Blocks(table, [len(table) // 3, len(table) // 2])


def in_list(rows):
    frame = pd.DataFrame(by_name(rows))
    return [frame[: len(frame) // 4], frame[len(frame) // 4 :]]


def dask_array(rows):
    import dask.array

    return dask.array.from_array(rows, chunks=(9, 1))


def dask_frame(rows):
    import dask.dataframe

    return dask.dataframe.from_pandas(pd.DataFrame(by_name(rows)), npartitions=3)


ENGINES = {"blocks": in_blocks, "list of frames": in_list, "Dask array": dask_array, "Dask frame": dask_frame}
ENDINGS = ("csv", "parquet", "jsonl", "npy")
UNFIT = {  # what cannot hold mixed columns, or is refused by scikit-learn and not by us
    "compare mixed": ("list", "Fortran array", "strided array", "Dask array"),
    "PriorShiftClassifier": ("mapping", "rows by name"),
}


def model_answers(model, points, given):
    """What a fitted model says of some points, whatever it is."""
    found = plain(model)
    for name in ("predict", "densities", "confidence_band", "predict_proba", "decision_function"):
        if hasattr(model, name) and not (name == "predict" and isinstance(model, dd.ClassBalance)):
            found[name] = attempt(getattr(model, name), points)
    if isinstance(model, dd.LSDD | dd.KDEDifference):
        found["l2_distance"] = attempt(model.l2_distance)
    if isinstance(model, dd.LSDD):
        found["single band"] = attempt(model.confidence_band, points, 0.8, simultaneous=False)
    if isinstance(model, dd.ClassBalance):
        found |= {
            name: attempt(getattr(model, name), given["X_new"]) for name in ("predict", "estimate", "class_weight")
        }
    return found


def said(answer, points, given):
    return model_answers(answer, points, given) if hasattr(answer, "get_params") else answer


def held_inputs(make, n, hold, whole=()):
    """The inputs of a question, each table in a container."""
    given = make(n)
    return {k: hold(k, v) if is_table(v) and k not in whole else v for k, v in given.items()}


def ask(name, n, hold, points=POINTS, whole=(), memory=None):
    make, question = QUESTIONS[name]
    given = held_inputs(make, n, hold, whole)
    with small_memory(memory) if memory else contextlib.nullcontext():
        return said(question(SEED, **given), points, given)


@group
def containers():
    for name in QUESTIONS:
        labelled = ("X",) if "y" in QUESTIONS[name][0](N) else ()
        unfit = UNFIT.get(name, ())
        for form, hold in FORMS.items():
            if form in unfit:
                continue
            yield (
                f"{name}/{form}",
                lambda name=name, hold=hold: ask(name, N, lambda _, rows: hold(rows), hold(POINTS)),
            )
        for form, hold in ENGINES.items():
            if form in unfit:
                continue
            yield f"{name}/{form}", lambda name=name, hold=hold: ask(name, N, lambda _, rows: hold(rows))
            if labelled:  # labelled rows must be in memory, new ones need not be
                yield (
                    f"{name}/new rows in {form}",
                    lambda name=name, hold=hold: ask(name, N, lambda _, rows: hold(rows), whole=("X",)),
                )
        for ending in ENDINGS:
            to_file = lambda key, rows, ending=ending: put_table(f"{key}.{ending}", rows)  # noqa: E731
            yield (
                f"{name}/{ending} file",
                lambda name=name, to_file=to_file, whole=labelled: ask(name, N, to_file, whole=whole),
            )
            yield (
                f"{name}/streamed {ending}",
                lambda name=name, to_file=to_file, whole=labelled: ask(name, 150, to_file, whole=whole, memory=0.005),
            )


# --- models ----------------------------------------------------------------------------------------------------------


def odd_samples():
    """Pairs of samples that are hard on the arithmetic."""
    x, y = two_samples()
    ties = [np.round(rows) for rows in (x, y)]
    return {
        "one column": two_samples(1),
        "two columns": (x, y),
        "three columns": two_samples(3),
        "five columns": two_samples(5),
        "thirty columns": two_samples(30),
        "more columns than rows": two_samples(12, 6, 5),
        "offset 1e8": (x + 1e8, y + 1e8),
        "scale 1e200": (x * 1e200, y * 1e200),
        "scale 1e-200": (x * 1e-200, y * 1e-200),
        "unequal units": (x * [1e-12, 1e12], y * [1e-12, 1e12]),
        "clusters far apart": (np.r_[x, x + 1e9], np.r_[y, y + 1e9]),
        "ties": ties,
        "copies": (np.repeat(x, 10, axis=0), np.repeat(y, 10, axis=0)),
        "the same": (x, x),
        "constant column": (x * [1.0, 0.0], y * [1.0, 0.0]),
        "constant in one": (x, y * [1.0, 0.0]),
        "two constants": (np.zeros((9, 1)), np.ones((8, 1))),
        "nothing but a constant": (np.ones((9, 2)), np.ones((8, 2))),
        "one wild row": (np.vstack([x, [[1e15, -1e300]]]), y),
        "two rows": (x[:2], y[:2]),
        "three rows": (x[:3], y[:3]),
        "float32": (x.astype(np.float32), y.astype(np.float32)),
        "int8": (ties[0].astype(np.int8), ties[1].astype(np.int8)),
        "booleans": (x > 0, y > 0),
        "beyond 2^53": (2**53 + 2 * np.arange(20) + 1, 2**53 + np.arange(15)),
        "one-dimensional": (x[:, 0], y[:, 0].tolist()),
        "far tails": (np.sign(x) * np.abs(x) ** 9, np.sign(y) * np.abs(y) ** 9),
    }


MODELS = {
    "LSDD": lambda: dd.LSDD(random_state=SEED),
    "LSDD centers": lambda: dd.LSDD(solver="centers", n_centers=20, random_state=SEED),
    "LSDD pairs": lambda: dd.LSDD(solver="pairs", random_state=SEED),
    "LSDD spectral": lambda: dd.LSDD(solver="spectral", sigma=[0.7, 1.4], random_state=SEED),
    "KDEDifference": lambda: dd.KDEDifference(random_state=SEED),
    "KLIEP": lambda: dd.KLIEP(n_centers=20, random_state=SEED),
}


def fit_and_ask(make, x, y, *weights):
    model = make().fit(x, y, *weights)
    points = np.asarray(x)[:3]
    return model_answers(model, points, {})


SETTINGS = {
    "numbers": {"sigma": 0.8, "lam": 0.1, "solver": "centers"},
    "grids": {"sigma": [0.5, 1.0], "lam": [0.01, 0.1, 1.0], "solver": "pairs"},
    "grid of centers": {"sigma": [0.5, 1.0], "lam": [0.01, 1.0], "solver": "centers", "n_centers": 15},
    "own centers": {"centers": [[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]]},
    "own units": {"standardize": False, "solver": "centers"},
    "own units of pairs": {"standardize": False, "solver": "pairs"},
    "own units of a grid": {"standardize": False, "solver": "spectral", "sigma": [0.7, 1.4]},
    "three folds": {"folds": 3},
    "many folds": {"folds": 50},
    "more centers than rows": {"n_centers": 1000, "solver": "centers"},
}


@group
def models():
    for name, make in MODELS.items():
        for kind in odd_samples():
            yield f"{name}/{kind}", lambda make=make, kind=kind: fit_and_ask(make, *odd_samples()[kind])
    for name, settings in SETTINGS.items():
        yield f"settings/{name}", lambda s=settings: fit_and_ask(lambda: dd.LSDD(random_state=3, **s), *two_samples())
    for solver in ("auto", "centers", "pairs", "spectral"):
        yield f"weights/{solver}", lambda solver=solver: weighted_fit(dd.LSDD(solver=solver, random_state=3))
    for model in ("KDEDifference", "KLIEP"):
        yield f"weights/{model}", lambda model=model: weighted_fit(getattr(dd, model)(random_state=3))
        yield (
            f"settings/{model}",
            lambda model=model: fit_and_ask(
                lambda: getattr(dd, model)([0.5, 1.0], folds=3, standardize=False, random_state=3), *two_samples()
            ),
        )
    for name, make in MODELS.items():
        yield f"unfitted/{name}", lambda make=make: unfitted(make())
    for name, random_state in (("generator", np.random.default_rng), ("state", np.random.RandomState)):
        yield (
            f"random_state/{name}",
            lambda r=random_state: dd.LSDD(solver="centers", random_state=r(5)).fit(*two_samples()),
        )
    yield "categories", lambda: fit_and_ask_frames(dd.LSDD(random_state=3))
    yield "categories by centers", lambda: fit_and_ask_frames(dd.LSDD(solver="centers", n_centers=20, random_state=3))
    yield "compiled sums", lambda: dd.LSDD(random_state=3).fit(*two_samples(6, 9000, 8000)).l2_distance()
    yield "many rows of one column", lambda: dd.LSDD(random_state=3).fit(*two_samples(1, 30000, 20000)).l2_distance()
    yield "many rows of two columns", lambda: dd.l2_distance(*two_samples(2, 6000, 5000), random_state=3)
    for level in (0.5, 0.99):
        yield f"level {level}", lambda level=level: dd.l2_distance(*two_samples(), level=level, random_state=3)
    yield "refit", lambda: fit_and_ask(lambda: dd.LSDD(random_state=1).fit(*two_samples(3)), *two_samples())
    yield "kinds of points", points_of_all_kinds


def weighted_fit(model):
    x, y = two_samples()
    random = np.random.default_rng(5)
    heavy, light = random.uniform(0.1, 3.0, len(x)), random.integers(0, 3, len(y))
    return fit_and_ask(lambda: model, x, y, heavy, light)


def unfitted(model):
    methods = ("predict", "l2_distance", "confidence_band", "densities")
    return plain(model) | {
        name: attempt(getattr(model, name), *([POINTS] if name != "l2_distance" else []))
        for name in methods
        if hasattr(model, name)
    }


def fit_and_ask_frames(model):
    a, b = (pd.DataFrame(mixed_columns(seed, shift=0.5 * seed)) for seed in (0, 1))
    model.fit(a, b)
    return model_answers(model, a[:4], {})


def points_of_all_kinds():
    model = small_lsdd(1).fit(*(pd.DataFrame(rows, columns=["a", "b"]) for rows in two_samples()))
    swapped = pd.DataFrame({"b": [0.5, 1.0], "a": [0.0, 1.0]})
    return each(
        array=lambda: model.predict([[0.0, 0.5], [1.0, 1.0]]),
        swapped=lambda: model.predict(swapped),
        extra=lambda: model.predict(swapped.assign(c=1.0)),
        lacking=lambda: model.predict(swapped[["a"]]),
        none=lambda: model.predict(np.empty((0, 2))),
        missing=lambda: model.predict([[0.0, 0.0], [np.nan, 0.0]]),
        infinite=lambda: model.predict([[0.0, 0.0], [0.0, -np.inf]]),
        wide=lambda: model.predict([[0.0, 1.0, 2.0]]),
        flat=lambda: model.predict([0.0, 1.0, 2.0]),
        text=lambda: model.predict([["a", "b"]]),
        path=lambda: model.predict(put("P.csv", "a,b\n1,2\n")),
        blocks=lambda: model.predict([np.zeros((2, 2)), np.ones((1, 2))]),
    )


# --- two samples -----------------------------------------------------------------------------------------------------

TESTED = {
    "default": None,
    "LSDD": dd.LSDD(n_centers=20),
    "LSDD centers": dd.LSDD(solver="centers", n_centers=20),
    "LSDD pairs": dd.LSDD(solver="pairs"),
    "LSDD spectral": dd.LSDD(solver="spectral", sigma=[0.7, 1.4]),
    "LSDD numbers": dd.LSDD(sigma=1.0, lam=0.1, solver="centers", n_centers=20),
    "LSDD grids": dd.LSDD(sigma=[0.5, 1.0], lam=[0.1, 1.0], solver="pairs"),
    "LSDD own units": dd.LSDD(standardize=False, n_centers=20),
    "KDEDifference": dd.KDEDifference(),
    "KDEDifference number": dd.KDEDifference(0.7),
    "KLIEP": dd.KLIEP(n_centers=15),
    "KLIEP number": dd.KLIEP(1.0, n_centers=15),
}


def quick_test(x, y, **settings):
    return dd.two_sample_test(x, y, **({"n_permutations": 29, "random_state": SEED} | settings))


@group
def two_sample_tests():
    for name, model in TESTED.items():
        for tuning in ("aggregate", "pooled", "refit"):
            for null in ("auto", "permutation", "asymptotic"):
                yield (
                    f"{name}/{tuning}/{null}",
                    lambda model=model, tuning=tuning, null=null: quick_test(
                        *two_samples(), model=model, tuning=tuning, null=null
                    ),
                )
            yield (
                f"{name}/{tuning}/blocks",
                lambda model=model, tuning=tuning: quick_test(
                    *two_samples(2, 20, 20), model=model, tuning=tuning, blocks=np.tile(np.arange(10), 4)
                ),
            )
    for kind in odd_samples():
        yield f"data/{kind}", lambda kind=kind: quick_test(*odd_samples()[kind])
        yield f"data of the limit/{kind}", lambda kind=kind: quick_test(*odd_samples()[kind], null="asymptotic")
    x, y = two_samples(2, 12, 12)
    labels = {
        "words": ["u", "v", "w"] * 8,
        "numbers": np.repeat(np.arange(6), 4),
        "too few": [1, 2],
        "nothing to exchange": [0] * 12 + [1] * 12,
        "missing": [None] + [1] * 23,
        "mixed kinds": [1, "a"] * 12,
        "two-dimensional": np.zeros((24, 2)),
        "frame": pd.Series(np.arange(24) % 3),
    }
    for name, blocks in labels.items():
        yield f"blocks/{name}", lambda blocks=blocks: quick_test(x, y, blocks=blocks)
    yield "blocks/copies", lambda: quick_test(np.repeat(x, 2, 0), np.repeat(y, 2, 0), blocks=np.arange(48) % 2)
    yield "all partitions", lambda: quick_test(x[:4], y[:4], n_permutations=999)
    yield "many rows of one column", lambda: quick_test(*two_samples(1, 20000, 15000, 0.05))
    yield "many rows of two columns", lambda: quick_test(*two_samples(2, 8000, 6000, 0.05))
    yield "many rows of three columns", lambda: quick_test(*two_samples(3, 6000, 5000, 0.1))
    yield "mixed frames", lambda: quick_test(*(pd.DataFrame(mixed_columns(seed, shift=0.3 * seed)) for seed in (0, 1)))
    for name, settings in {
        "pooled": {"tuning": "pooled"},
        "refit": {"tuning": "refit"},
        "pairs": {"model": dd.LSDD(solver="pairs")},
        "centers": {"model": small_lsdd()},
        "limit": {"null": "asymptotic"},
        "permutation": {"null": "permutation"},
        "groups": {"blocks": np.zeros(70)},
        "KDEDifference": {"model": dd.KDEDifference()},
    }.items():
        for d in (1, 2, 4):
            yield (
                f"in blocks/{name}/{d} columns",
                lambda d=d, settings=settings: quick_test(
                    *(Blocks(rows, [11, 20]) for rows in two_samples(d)), **settings
                ),
            )


# --- tables ----------------------------------------------------------------------------------------------------------


def quick_compare(a, b, **settings):
    return dd.compare(a, b, **({"n_permutations": 39, "random_state": SEED} | settings))


TABLE_FORMS = {
    "mapping": lambda name, table: dict(table),
    "pandas": lambda name, table: pd.DataFrame(table),
    "polars": lambda name, table: pl.DataFrame(table, nan_to_null=True),
    "pyarrow": lambda name, table: pa.Table.from_pandas(pd.DataFrame(table)),
    "blocks": lambda name, table: Blocks(pd.DataFrame(table), [7, 31]),
    "list of polars": lambda name, table: [pl.DataFrame(table)[:20], pl.DataFrame(table)[20:]],
    "Dask frame": lambda name, table: dask_frame(table),
    "csv": lambda name, table: put_table(f"{name}.csv", table),
    "gz": lambda name, table: put(f"{name}.csv.gz", gzip.compress(as_csv(table).encode(), mtime=0)),
    "parquet": lambda name, table: Path(put_table(f"{name}.parquet", table)),
    "jsonl": lambda name, table: put_table(f"{name}.jsonl", table),
}


def compare_forms(form, a, b, memory=None, **settings):
    hold = TABLE_FORMS[form]
    tables = hold("A", a), hold("B", b)
    with small_memory(memory) if memory else contextlib.nullcontext():
        return quick_compare(*tables, **settings)


def odd_tables():
    """Pairs of tables with something in them."""
    a, b = mixed_columns(0), mixed_columns(1, shift=0.4, share=0.3)
    words = ({"city": t["city"], "paid": t["paid"]} for t in (a, b))
    twice = [{k: np.repeat(v, 3) for k, v in t.items()} for t in (a, b)]
    number, word, flag = a["size"], a["city"], a["paid"]
    empty = np.full(60, np.nan)
    index = np.arange(60)
    return {
        "mixed": (a, b),
        "mirrored": (b, a),
        "categories": tuple(words),
        "one word": ({"city": a["city"]}, {"city": b["city"]}),
        "one flag": ({"paid": a["paid"]}, {"paid": b["paid"]}),
        "one number": ({"size": a["size"]}, {"size": b["size"]}),
        "copies": tuple(twice),
        "some copies": (a, {k: np.concatenate([v, v[:20]]) for k, v in b.items()}),
        "the same": (a, a),
        "rows of A in B": (a, {k: np.concatenate([v, a[k][:30]]) for k, v in b.items()}),
        "missing numbers": ({"x": np.where(index % 4, number, np.nan), "k": word}, {"x": b["size"], "k": b["city"]}),
        "missing everywhere": (with_missing(0), with_missing(1, share=0.3)),
        "missing in one": (a, with_missing(1, share=0.3)),
        "missing flags": (
            {"paid": np.where(index % 5, flag, None).astype(object), "x": number},
            {"paid": b["paid"].astype(object), "x": b["size"]},
        ),
        "empty column": (a | {"gone": empty}, b | {"gone": number}),
        "nothing but empty": ({"gone": empty}, {"gone": number}),
        "infinite": (a | {"size": np.where(index == 3, -np.inf, number)}, b),
        "constant": (a | {"c": np.ones(60)}, b | {"c": np.ones(60)}),
        "constant word": (a | {"c": np.full(60, "u", object)}, b | {"c": np.full(60, "u", object)}),
        "two constants": (a | {"c": np.ones(60)}, b | {"c": np.zeros(60)}),
        "names of rows": (a | {"id": [f"a{k}" for k in index]}, b | {"id": [f"b{k}" for k in index]}),
        "shared names of rows": (a | {"id": [f"a{k}" for k in index]}, b | {"id": [f"a{k}" for k in index]}),
        "columns apart": (a | {"only a": number}, b | {"only b": number}),
        "none in common": ({"u": number}, {"v": number}),
        "another order": (a, dict(reversed(b.items()))),
        "numbers as text": (a | {"t": [f"{v:.2f}" for v in number]}, b | {"t": [f"{v:.2f}" for v in number]}),
        "one bad number": (a | {"t": ["1.5"] * 59 + ["2,5"]}, b | {"t": ["1.5"] * 60}),
        "two kinds": (a, b | {"size": ["u", "v"] * 30}),
        "flags and numbers": ({"x": flag, "y": number}, {"x": number, "y": number}),
        "beyond 2^53": (a | {"n": 2**53 + 2 * index + 1}, b | {"n": 2**53 + index}),
        "ties": ({n: index % 4 for n in "uv"}, {n: index * 7 % 4 for n in "uv"}),
        "offset 1e8": ({"x": number + 1e8, "k": word}, {"x": b["size"] + 1e8, "k": b["city"]}),
        "scale 1e200": ({"x": number * 1e200, "y": number}, {"x": b["size"] * 1e200, "y": b["size"]}),
        "many levels": (
            {"k": np.array([f"l{k % 13}" for k in index]), "x": number},
            {"k": np.array([f"l{k % 11}" for k in index]), "x": b["size"]},
        ),
        "a rare level": (
            {"k": np.where(index == 3, "odd", "usual"), "x": number},
            {"k": np.where(index < 20, "odd", "usual"), "x": b["size"]},
        ),
        "name taken": ({"x": np.where(index % 4, number, np.nan), "x is missing": number},) * 2,
        "level taken": ({"k": np.array(["(missing)", None, "a"] * 20, dtype=object)},) * 2,
        "hostile names": (
            {"<script>\x1b[31m\n": number, "{{ 7 * 7 }}": word, "n" * 300: number},
            {"<script>\x1b[31m\n": b["size"] + 3, "{{ 7 * 7 }}": b["city"], "n" * 300: number},
        ),
        "two rows": ({"x": number[:2]}, {"x": b["size"][:2]}),
        "one row": (a, {k: v[:1] for k, v in b.items()}),
        "no rows": (a, {k: v[:0] for k, v in b.items()}),
        "all rows dropped": ({"x": empty.copy(), "y": number}, b | {"x": number, "y": number}),
        "dates": (a | {"d": np.datetime64("2026-01-01") + index}, b | {"d": np.datetime64("2026-01-01") + index}),
    }


OTHER_TABLES = {
    "three columns": lambda: two_samples(3),
    "five columns": lambda: two_samples(5),
    "thirty columns": lambda: two_samples(30, 40, 35),
    "wide": lambda: two_samples(30, 5, 5),
    "array and frame": lambda: (two_samples()[0], pd.DataFrame(two_samples()[1])),
    "different widths": lambda: (np.ones((5, 2)), np.ones((5, 3))),
    "one dimension": lambda: (normal_rows(0)[:, 0], normal_rows(1)[:, 0]),
    "masked": lambda: (np.ma.masked_greater(normal_rows(0), 1.5), normal_rows(1)),
    "sparse": lambda: (scipy.sparse.csr_matrix(normal_rows(0)), normal_rows(1)),
    "complex": lambda: ({"q": np.array([1j, 2, 3])},) * 2,
    "nested": lambda: ({"q": np.array([{"a": 1}] * 3, dtype=object)},) * 2,
    "lists in a column": lambda: ({"q": [[1, 2]] * 3},) * 2,
    "dates in a list": lambda: ({"q": [datetime.date(2020, 1, 1)] * 3},) * 2,
    "durations": lambda: ({"q": np.array([1, 2, 3], dtype="m8[s]")},) * 2,
    "decimals": lambda: ({"q": [decimal.Decimal(k) / 4 for k in range(9)]}, {"q": np.arange(8.0)}),
    "duplicate names": lambda: (pd.DataFrame(np.ones((4, 2)), columns=["a", "a"]),) * 2,
    "ragged": lambda: ([[1, 2], [3]], [[1, 2]]),
    "ragged columns": lambda: ({"a": [1, 2], "b": [1]},) * 2,
    "text": lambda: ("ab", "cd"),
    "None": lambda: (None, normal_rows(0)),
    "number": lambda: (3.0, normal_rows(0)),
    "generator": lambda: ((block for block in [normal_rows(0)]), normal_rows(1)),
    "iterator": lambda: (normal_rows(0), iter([normal_rows(1)])),
    "lazy polars": lambda: (pl.LazyFrame({"a": [1.0]}), normal_rows(0)),
    "record batch": lambda: (pa.record_batch({"a": [1.0, 2.0]}), {"a": [1.0, 2.0]}),
    "list of record batches": lambda: ([pa.record_batch({"a": [1.0, 2.0]})], {"a": [1.0, 2.0]}),
    "structured": lambda: (np.zeros(4, dtype=[("a", float)]),) * 2,
    "cube": lambda: (np.ones((2, 2, 2)),) * 2,
    "no columns": lambda: (np.ones((4, 0)),) * 2,
    "rows by name": lambda: ([{"a": 1.0, "k": "u"}, {"a": 2.0}, {"k": "v", "a": 0.0}], {"a": [1, 2], "k": ["u", "v"]}),
    "rows with and without names": lambda: ([{"a": 1.0}, [2.0]], {"a": [1, 2]}),
    "categories of pandas": lambda: tuple(
        pd.DataFrame({"k": pd.Categorical(["u", "v"] * 15, ["u", "v", "none"]), "x": normal_rows(s, 30)[:, 0]})
        for s in (0, 1)
    ),
    "nullable types": lambda: tuple(
        pd.DataFrame({"i": pd.array([1, None, 3] * 9, "Int64"), "b": pd.array([True, None, False] * 9, "boolean")})
        for _ in range(2)
    ),
    "numbers and text in blocks": lambda: (
        [pd.DataFrame({"v": np.arange(50.0)}), pd.DataFrame({"v": ["u", "w"] * 25})],
        pd.DataFrame({"v": np.arange(60.0)}),
    ),
    "blocks with other columns": lambda: (
        [pd.DataFrame({"a": [1.0], "b": [2.0]}), pd.DataFrame({"a": [1.0]})],
        pd.DataFrame({"a": [1.0], "b": [2.0]}),
    ),
    "blocks of other widths": lambda: ([np.ones((5, 2)), np.ones((5, 1))], np.ones((5, 2))),
    "empty blocks": lambda: ([np.ones((0, 2)), normal_rows(0), np.ones((0, 2))], normal_rows(1)),
    "nothing but empty blocks": lambda: ([np.ones((0, 2))] * 2, normal_rows(1)),
    "a block of one row": lambda: (Blocks(normal_rows(0)[:1], []), normal_rows(1)),
    "sparse blocks": lambda: ([scipy.sparse.csr_matrix(normal_rows(0))], normal_rows(1)),
    "dates in a late block": lambda: (
        [pd.DataFrame({"v": np.arange(9.0)}), pd.DataFrame({"v": pd.date_range("2024-01-01", periods=9)})],
        pd.DataFrame({"v": np.arange(9.0)}),
    ),
    "one block and one frame": lambda: (Blocks(pd.DataFrame(mixed_columns(0)), [9]), pd.DataFrame(mixed_columns(1))),
}


class Shuffled(Blocks):
    """Blocks whose rows come in another order each time."""

    passes = 0

    def __iter__(self):
        self.passes += 1
        self.table = np.random.default_rng(self.passes).permutation(self.table)
        return super().__iter__()


class Growing(Blocks):
    """Blocks with more rows from the second reading on."""

    passes = 0

    def __iter__(self):
        yield from super().__iter__()
        self.passes += 1
        if self.passes > 1:
            yield self.table[:3]


COMPARE_SETTINGS = {
    "columns": {"columns": ["city", "size"]},
    "columns twice": {"columns": ("size", "size")},
    "unknown column": {"columns": ["sise"]},
    "columns as text": {"columns": "size"},
    "column by number": {"columns": [1]},
    "no columns": {"columns": []},
    "alpha": {"alpha": 0.5},
    "alpha 5": {"alpha": 5},
    "alpha out of reach": {"alpha": 0.001, "n_permutations": 99},
    "min_effect": {"min_effect": 0.9},
    "min_effect below": {"min_effect": -0.1},
    "min_effect text": {"min_effect": "small"},
    "min_effect flag": {"min_effect": True},
    "missing typo": {"missing": "dorp"},
    "missing number": {"missing": 3},
    "no permutations": {"n_permutations": 0},
    "half a permutation": {"n_permutations": 2.5},
    "seed text": {"random_state": "0"},
    "seed negative": {"random_state": -1},
    "seed flag": {"random_state": True},
    "generator": {"random_state": np.random.default_rng},
}


@group
def comparisons():
    for kind in odd_tables():
        yield f"{kind}", lambda kind=kind: with_parts(quick_compare(*odd_tables()[kind]))
        yield f"{kind}/level", lambda kind=kind: quick_compare(*odd_tables()[kind], missing="level")
        yield f"{kind}/drop", lambda kind=kind: quick_compare(*odd_tables()[kind], missing="drop")
        for form in ("blocks", "csv", "parquet"):
            memory = None if form == "blocks" else 0.002
            how = form if form == "blocks" else f"streamed {form}"
            yield (
                f"{kind}/{how}",
                lambda kind=kind, form=form, memory=memory: compare_forms(
                    form, *odd_tables()[kind], memory, missing="level"
                ),
            )
    for form in TABLE_FORMS:
        for missing in ("error", "drop", "level"):
            for kind, pair in (("some", (with_missing(0), with_missing(1))), ("none", odd_tables()["mixed"])):
                yield (
                    f"missing {missing}/{kind}/{form}",
                    lambda form=form, pair=pair, missing=missing: compare_forms(form, *pair, missing=missing),
                )
                if form in ("csv", "parquet", "jsonl", "gz"):
                    yield (
                        f"missing {missing}/{kind}/streamed {form}",
                        lambda form=form, pair=pair, missing=missing: compare_forms(
                            form, *pair, 0.002, missing=missing
                        ),
                    )
    for name, tables in OTHER_TABLES.items():
        yield f"input/{name}", lambda tables=tables: quick_compare(*tables())
        yield f"input as level/{name}", lambda tables=tables: quick_compare(*tables(), missing="level")
    for name, settings in COMPARE_SETTINGS.items():
        yield f"setting/{name}", lambda settings=settings: compare_settings(odd_tables()["mixed"], settings)
        yield (
            f"setting of blocks/{name}",
            lambda settings=settings: compare_settings(
                [Blocks(pd.DataFrame(table), [9]) for table in odd_tables()["mixed"]], settings
            ),
        )
    for name, kind in (("shuffled", Shuffled), ("growing", Growing)):
        yield f"{name} blocks", lambda kind=kind: quick_compare(kind(normal_rows(0), [20]), normal_rows(1))
    for n in (400, 2500):
        yield f"planted {n}", lambda n=n: planted(n)
    yield "planted in blocks", lambda: planted(2500, lambda table: Blocks(pd.DataFrame(table), [400, 900]))
    yield "planted on Dask", lambda: planted(2500, dask_frame)
    yield "many rows of numbers", lambda: quick_compare(*two_samples(4, 12000, 11000, 0.05))
    yield "many rows of one column", lambda: quick_compare(*two_samples(1, 30000, 20000, 0.03))
    for ending in ENDINGS:
        yield f"large {ending}", lambda ending=ending: large_files(ending)
    yield "a folder of Parquet files", folder_of_parquet


def with_parts(result):
    """A comparison with what is not in its dictionary: text for notebooks, and what pictures are drawn from."""
    return plain(result) | {
        "notebook": lines(result._repr_html_()),
        "columns": [str(column) for column in result.columns],
        "json": json.loads(result.to_json()) == result.to_dict(),
        "profiles": [plain(column.profile) for column in result.columns],
        "maps": [plain(pair.map) for pair in result.pairs],
    }


def compare_settings(tables, settings):
    if callable(settings.get("random_state")):
        settings = {"random_state": settings["random_state"](5)}
    return quick_compare(*tables, **settings)


def planted(n, hold=dict):
    tables = dd.datasets.mixed_tables(n, n - n // 5, shift=0.6, share=0.2, correlation=0.6, random_state=0)
    return quick_compare(hold(tables.a), hold(tables.b), n_permutations=99)


def large_files(ending):
    """Files that are read in blocks with a ceiling of 1 MiB."""
    tables = [normal_rows(seed, 17000, 2, 0.05 * seed) for seed in (0, 1)]
    names = [put_table(f"{name}.{ending}", np.round(rows, 6)) for name, rows in zip("AB", tables, strict=True)]
    with small_memory(1):
        return each(
            compare=lambda: quick_compare(*names),
            distance=lambda: dd.l2_distance(*names, random_state=SEED),
            test=lambda: quick_test(*names),
            changes=lambda: dd.detect_changes(names[0], random_state=SEED),
        )


def folder_of_parquet():
    os.mkdir("parts")
    tables = [pd.DataFrame(mixed_columns(seed, 60)) for seed in (0, 1)]
    for k, table in enumerate(tables):
        put(f"parts/{k}.parquet", as_parquet(table))
    put("B.parquet", as_parquet(pd.DataFrame(mixed_columns(3, 80, 0.5))))
    found = {"whole": attempt(quick_compare, "parts", "B.parquet")}
    with small_memory(0.002):
        found["streamed"] = attempt(quick_compare, "parts", "B.parquet")
    put("parts/notes.csv", "a\n1\n")
    return found | {"mixed": attempt(quick_compare, "parts", "B.parquet")}


# --- series ----------------------------------------------------------------------------------------------------------

LENGTH = 160
DAYS = [datetime.datetime(2024, 1, 1) + datetime.timedelta(seconds=k) for k in range(LENGTH)]


def one_series(d=1, shift=2.5):
    return np.concatenate([normal_rows(0, LENGTH // 2, d), normal_rows(1, LENGTH // 2, d) + shift])


def series_models():
    return {
        "default": None,
        "LSDD": dd.LSDD(n_centers=20),
        "LSDD centers": small_lsdd(),
        "LSDD numbers": small_lsdd(sigma=1.0, lam=0.1),
        "LSDD pairs": dd.LSDD(solver="pairs"),
        "LSDD spectral": dd.LSDD(solver="spectral", sigma=1.0),
        "LSDD own units": dd.LSDD(standardize=False),
        "KDEDifference": dd.KDEDifference(),
        "KDEDifference number": dd.KDEDifference(0.7),
        "KLIEP": dd.KLIEP(n_centers=20),
        "KLIEP number": dd.KLIEP(1.0, n_centers=20),
    }


def quick_changes(series, **settings):
    return dd.detect_changes(series, **({"random_state": SEED} | settings))


def odd_series():
    calm = normal_rows(0, LENGTH, 1)[:, 0]
    order = np.arange(LENGTH)
    noise = np.random.default_rng(4).normal(size=LENGTH)
    dependent = [0.0]
    for step in noise:
        dependent.append(0.9 * dependent[-1] + step)
    return {
        "calm": calm,
        "AR(1)": np.array(dependent),
        "seasonal": np.sin(order * 2 * np.pi / 20) + 0.1 * noise,
        "trend": order / 20 + noise,
        "random walk": np.cumsum(noise),
        "two columns": one_series(2),
        "five columns": one_series(5, 1.0),
        "variance": noise * np.where(order < 80, 1.0, 4.0),
        "offset 1e8": one_series() + 1e8,
        "scale 1e200": one_series() * 1e200,
        "ties": np.round(one_series()),
        "constant": np.ones(LENGTH),
        "constant column": np.column_stack([one_series(), np.ones(LENGTH)]),
        "short": one_series()[70:90],
        "eight": one_series()[76:84],
        "two samples": [1.0, 2.0],
        "one sample": [1.0],
        "none": [],
        "no columns": np.empty((5, 0)),
        "number": 7,
        "None": None,
        "cube": np.zeros((2, 2, 2)),
        "scalar": np.float64(1),
        "ragged": [[1, 2], [3]],
        "missing": np.where(order == 17, np.nan, calm),
        "infinite": np.where(order == 17, -np.inf, calm),
        "text numbers": pd.DataFrame({"a": calm, "b": ["1.5"] * LENGTH}),
        "text": pd.DataFrame({"a": calm, "b": ["1.5"] * (LENGTH - 1) + ["x"]}),
        "dates": pd.DataFrame({"a": calm, "b": DAYS}),
        "nested": pl.DataFrame({"a": calm, "b": [[1]] * LENGTH}),
        "complex": calm + 1j,
        "duplicate names": pd.DataFrame(np.zeros((5, 2)), columns=["a", "a"]),
        "lazy": pl.LazyFrame({"a": calm}),
        "swapped": np.random.default_rng(0).normal(size=(20, 300)),
        "beyond 2^53": 2**60 + order,
        "path": "S.csv",
        "generator": (block for block in [calm]),
    }


def clocks():
    order = np.arange(LENGTH)
    zone = datetime.UTC
    return {
        "numbers": order * 0.5,
        "whole numbers": order,
        "dates": DAYS,
        "dates of pandas": pd.date_range("2024-01-01", periods=LENGTH, freq="h"),
        "dates with a zone": [day.replace(tzinfo=zone) for day in DAYS],
        "durations": np.arange(LENGTH).astype("m8[s]"),
        "datetime64": np.datetime64("2024-01-01") + order,
        "months": np.datetime64("2010-01") + order,
        "repeated": np.where(order == 7, 6, order),
        "irregular": np.where(order > 150, order + 500, order),
        "unsorted": np.where(order == 40, 0, order),
        "standing": np.zeros(LENGTH),
        "nanoseconds": 1_700_000_000_000_000_000 + order,
        "text": [f"2024-01-{k}" for k in order],
        "complex": order + 0j,
        "short": order[:-1],
        "two columns": np.column_stack([order, order]),
        "missing": np.where(order == 7, np.nan, order),
        "infinite": np.where(order == 7, np.inf, order),
        "missing date": [None, *DAYS[1:]],
        "two kinds": [datetime.timedelta(1), *DAYS[1:]],
        "zones and none": [*DAYS[:9], *(day.replace(tzinfo=zone) for day in DAYS[9:])],
        "times of day": [day.time() for day in DAYS],
        "durations without unit": order.astype("m8"),
        "number": 0,
        "flag": True,
        "mapping": {"t": 1},
        "name": "t",
    }


WINDOWS = (
    "auto",
    10,
    40,
    "8s",
    "500ms",
    " 0.2 min ",
    "4sec",
    "4",
    "-4s",
    "",
    "1e999s",
    "Auto",
    1,
    2.0,
    True,
    None,
    100,
)
CHANGE_SETTINGS = {
    "n_changes 0": {"n_changes": 0},
    "n_changes 1": {"n_changes": 1},
    "n_changes 100": {"n_changes": 100},
    "n_changes -1": {"n_changes": -1},
    "n_changes text": {"n_changes": "two"},
    "lag 1": {"lag": 1},
    "lag 0": {"lag": 0},
    "lag 50": {"lag": 50},
    "lag 2.5": {"lag": 2.5},
    "alpha 0.5": {"alpha": 0.5},
    "alpha 0": {"alpha": 0},
    "alpha 5": {"alpha": 5},
    "tuning typo": {"tuning": "windows"},
    "model class": {"model": dd.LSDD},
    "model other": {"model": LogisticRegression()},
    "lam without solver": {"model": dd.LSDD(lam=0.1)},
    "sigma 0": {"model": dd.LSDD(sigma=0)},
    "sigma grid": {"model": small_lsdd(sigma=[0.5, 1.0])},
    "own centers": {"model": dd.LSDD(centers=[[0.0]])},
    "seed text": {"random_state": "x"},
}


@group
def series():
    for name, model in series_models().items():
        for tuning in ("series", "window"):
            for d in (1, 2):
                yield (
                    f"{name}/{tuning}/{d} columns",
                    lambda model=model, tuning=tuning, d=d: quick_changes(
                        one_series(d)[40:120] if tuning == "window" else one_series(d),
                        model=model,
                        tuning=tuning,
                        window=12 if tuning == "window" else "auto",
                    ),
                )
    for name in odd_series():
        yield f"data/{name}", lambda name=name: quick_changes(odd_series()[name])
    for name in clocks():
        yield f"time/{name}", lambda name=name: timed_changes(clocks()[name])
    for window in WINDOWS:
        yield f"window/{window!r}", lambda window=window: quick_changes(one_series(), window=window)
        yield (
            f"window with time/{window!r}",
            lambda window=window: quick_changes(one_series(), window=window, time=np.arange(LENGTH) * 0.5),
        )
    for name, settings in CHANGE_SETTINGS.items():
        yield f"setting/{name}", lambda settings=settings: quick_changes(one_series(), **settings)
    for library in ("mapping", "pandas", "polars", "pyarrow", "blocks", "Dask frame", "csv", "parquet", "jsonl"):
        for time_name in ("t", "tt", None):
            yield (
                f"time column {time_name}/{library}",
                lambda library=library, time_name=time_name: quick_changes(
                    TABLE_FORMS[library]("S", {"t": np.arange(LENGTH) * 0.5, "v": one_series()[:, 0]}),
                    time=time_name,
                    window="8s" if time_name == "t" else "auto",
                ),
            )
    for name, settings in (
        ("default", {}),
        ("window", {"window": 20}),
        ("KDEDifference", {"model": dd.KDEDifference()}),
        ("KLIEP", {"model": dd.KLIEP(1.0)}),
        ("n_changes", {"n_changes": 2}),
        ("tuning", {"tuning": "window", "model": small_lsdd(sigma=1.0, lam=0.1)}),
    ):
        for form in ("arrays", "frames", "Dask"):
            yield f"long in {form}/{name}", lambda form=form, settings=settings: long_series(form, settings)


def timed_changes(clock):
    found = plain(result := quick_changes(one_series(), time=clock))
    return found | {"names": plain(result.names), "times": plain([str(entry) for entry in list(result.times)[:3]])}


def long_series(form, settings):
    """A series that does not fit beside the ceiling."""
    rows = np.concatenate([normal_rows(0, 1500, 1), normal_rows(1, 1500, 1) + 1.5])
    hold = {
        "arrays": lambda: Blocks(rows, [700, 1400]),
        "frames": lambda: [pd.DataFrame({"v": part[:, 0]}) for part in np.array_split(rows, 3)],
        "Dask": lambda: dask_array(rows),
    }
    if form == "Dask":
        import dask.array

        hold["Dask"] = lambda: dask.array.from_array(rows, chunks=(700, 1))
    with small_memory(0.02):
        return quick_changes(hold[form](), **settings)


# --- class balance ---------------------------------------------------------------------------------------------------


def labelled_rows(k=2, n=40, d=2, gap=2.0):
    """Rows of k classes and labels, and new rows of another balance."""
    names = ["ill", "well"] if k == 2 else ["ill", "odd", "well"]
    rows = [normal_rows(c, n, d) + gap * c for c in range(k)]
    new = [normal_rows(10 + c, 10 + 15 * c, d) + gap * c for c in range(k)]
    return np.concatenate(rows), np.repeat(names, n), np.concatenate(new)


BALANCE_MODELS = {
    "default": lambda: None,
    "LSDD": lambda: dd.LSDD(n_centers=20),
    "LSDD centers": lambda: dd.LSDD(solver="centers", n_centers=20),
    "LSDD pairs": lambda: dd.LSDD(solver="pairs"),
    "LSDD numbers": lambda: dd.LSDD(sigma=1.0, lam=0.1, solver="centers", n_centers=20),
    "LSDD own units": lambda: dd.LSDD(standardize=False, n_centers=20),
    "KDEDifference": lambda: dd.KDEDifference(),
    "KDEDifference number": lambda: dd.KDEDifference(0.5),
}


def balance_answers(model, x, y, new, weights=None):
    balance = dd.ClassBalance(model=model, random_state=SEED).fit(x, y, weights)
    return {
        "model": plain(balance),
        **each(
            predict=lambda: balance.predict(new),
            estimate=lambda: balance.estimate(new),
            wide=lambda: balance.estimate(new, 0.5),
            weight=lambda: balance.class_weight(new),
        ),
    }


def mixed_labelled(seed, n=60):
    table = pd.DataFrame(mixed_columns(seed, n))
    labels = np.arange(n) % 2
    table["size"] += 2.0 * labels
    table.loc[labels == 1, "city"] = "Ulm"
    return table, labels


def odd_balances():
    x, y, new = labelled_rows()
    frame, labels = mixed_labelled(0)
    fresh = mixed_labelled(1)[0]
    random = np.random.default_rng(3)
    return {
        "three classes": labelled_rows(3),
        "one column": labelled_rows(2, 40, 1),
        "five columns": labelled_rows(2, 40, 5),
        "new of one class": (x, y, x[y == "ill"] + 0.01),
        "alike": (x, y[random.permutation(len(y))], new),
        "mixed": (frame, labels, fresh),
        "mixed blocks": (frame, labels, Blocks(fresh, [10, 30])),
        "mixed Dask": (frame, labels, dask_frame(dict(fresh.items()))),
        "unknown level": (frame, labels, fresh.assign(city="Rom")),
        "numbers for words": (frame, labels, fresh.assign(city=1.0)),
        "column missing": (frame, labels, fresh.drop(columns="age")),
        "column more": (frame, labels, fresh.assign(more=1.0)),
        "names of rows": (frame.assign(id=[f"u{k}" for k in range(60)]), labels, fresh),
        "whole numbers": (x, np.repeat([3, 5], 40), new),
        "flags": (x, np.repeat([True, False], 40), new),
        "real labels": (x, np.repeat([1.5, 2.5], 40), new),
        "column of labels": (x, y[:, None], new),
        "list of labels": (x, y.tolist(), new.tolist()),
        "series of labels": (x, pd.Series(y), new),
        "mixed labels": (x, [1, "a"] * 40, new),
        "missing label": (x, [None, *y[1:]], new),
        "one class": (x, ["ill"] * 80, new),
        "a class of one row": (x, ["odd", *y[1:]], new),
        "as many classes as rows": (x, np.arange(80), new),
        "too few labels": (x, y[:-1], new),
        "no labels": (x, None, new),
        "no rows": (x[:0], y[:0], new),
        "no new rows": (x, y, new[:0]),
        "one new row": (x, y, new[:1]),
        "wide new rows": (x, y, np.ones((5, 3))),
        "missing value": (np.where(np.arange(80)[:, None] == 3, np.nan, x), y, new),
        "missing new value": (x, y, np.where(np.arange(len(new))[:, None] == 3, np.nan, new)),
        "infinite": (np.where(np.arange(80)[:, None] == 3, np.inf, x), y, new),
        "copies": (np.repeat(x, 10, 0), np.repeat(y, 10), np.repeat(new, 10, 0)),
        "constant": (np.ones((20, 2)), np.repeat([0, 1], 10), np.ones((9, 2))),
        "constant column": (x * [1.0, 0.0], y, new * [1.0, 0.0]),
        "offset 1e8": (x + 1e8, y, new + 1e8),
        "scale 1e200": (x * 1e200, y, new * 1e200),
        "two rows of each": (x[[0, 1, 40, 41]], y[[0, 1, 40, 41]], new),
        "more columns than rows": (np.ones((6, 30)) * np.arange(6)[:, None], [0, 1] * 3, np.ones((5, 30))),
        "many rows": labelled_rows(2, 700, 2),
    }


def balance_weights():
    random = np.random.default_rng(2)
    return {
        "random": random.uniform(0.5, 2.0, 80),
        "whole": random.integers(0, 3, 80),
        "negative": -np.ones(80),
        "short": np.ones(79),
        "zero": np.zeros(80),
        "missing": np.full(80, np.nan),
        "two-dimensional": np.ones((80, 2)),
        "one row": np.r_[1e15, np.ones(79) * 1e-15],
        "text": ["a"] * 80,
        "one class without": np.r_[np.zeros(40), np.ones(40)],
    }


@group
def balances():
    for name, make in BALANCE_MODELS.items():
        yield f"{name}/two classes", lambda make=make: balance_answers(make(), *labelled_rows())
        yield f"{name}/three classes", lambda make=make: balance_answers(make(), *labelled_rows(3))
        for weights in balance_weights():
            if weights in ("random", "whole") or name in ("default", "LSDD centers"):
                yield (
                    f"{name}/weights {weights}",
                    lambda make=make, weights=weights: balance_answers(
                        make(), *labelled_rows(), balance_weights()[weights]
                    ),
                )
    for name in odd_balances():
        for model in ("default", "LSDD centers", "KDEDifference"):
            yield (
                f"data/{name}/{model}",
                lambda name=name, model=model: balance_answers(BALANCE_MODELS[model](), *odd_balances()[name]),
            )
    for form in ("blocks", "list of frames", "Dask array", "Dask frame"):
        yield f"new rows/{form}", lambda form=form: new_rows_in(ENGINES[form])
        if form != "Dask array":
            yield f"new rows by name/{form}", lambda form=form: new_rows_in(ENGINES[form], by_frame=True)
    for ending in ENDINGS:
        yield f"new rows/{ending}", lambda ending=ending: new_rows_in(lambda rows: put_table(f"N.{ending}", rows))
    for level in (0, 1, 95, np.nan, "0.95", None):
        yield (
            f"level/{level!r}",
            lambda level=level: dd.ClassBalance(random_state=1).fit(*labelled_rows()[:2]).estimate(POINTS, level),
        )
    for name, model in (("class", dd.LSDD), ("text", "LSDD"), ("KLIEP", dd.KLIEP()), ("sigma", dd.LSDD(sigma=-1))):
        yield f"model/{name}", lambda model=model: balance_answers(model, *labelled_rows())
    for name, make in CLASSIFIERS.items():
        yield f"classifier/{name}", lambda make=make: classified(make())
        yield f"classifier/{name}/three classes", lambda make=make: classified(make(), 3)
        yield f"classifier/{name}/unfitted", lambda make=make: unfitted(make())
    x, y, new = labelled_rows()
    for name, given in {
        "wide points": lambda: dd.LeastSquaresClassifier(random_state=1).fit(x, y).predict([[1.0, 2.0, 3.0]]),
        "frames": lambda: dd.LeastSquaresClassifier(random_state=1).fit(*mixed_labelled(0)),
        "one class": lambda: dd.LeastSquaresClassifier(random_state=1).fit(x, ["a"] * 80),
        "missing": lambda: dd.LeastSquaresClassifier(random_state=1).fit(x * np.nan, y),
        "folds": lambda: dd.LeastSquaresClassifier(folds=1).fit(x, y),
        "many folds": lambda: dd.LeastSquaresClassifier(folds=60, random_state=1).fit(x, y).score(x, y),
        "lam": lambda: dd.LeastSquaresClassifier(lam=-1).fit(x, y),
        "weights": lambda: dd.LeastSquaresClassifier().fit(x, y, -np.ones(80)),
        "no sample_weight": lambda: dd.PriorShiftClassifier(KNeighborsClassifier()).fit(x, y, X_unlabeled=new),
        "class for an estimator": lambda: dd.PriorShiftClassifier(LogisticRegression).fit(x, y, X_unlabeled=new),
        "balance of another kind": lambda: dd.PriorShiftClassifier(LogisticRegression(), 3).fit(x, y, X_unlabeled=new),
        "no new rows": lambda: dd.PriorShiftClassifier(LogisticRegression()).fit(x, y).predict(new),
        "unfitted balance": lambda: dd.ClassBalance().predict(new),
        "unfitted estimate": lambda: dd.ClassBalance().estimate(new),
        "unfitted weight": lambda: dd.ClassBalance().class_weight(new),
    }.items():
        yield f"error/{name}", given


CLASSIFIERS = {
    "least squares": lambda: dd.LeastSquaresClassifier(random_state=SEED),
    "least squares numbers": lambda: dd.LeastSquaresClassifier(1.0, 0.1, random_state=SEED),
    "least squares grid": lambda: dd.LeastSquaresClassifier(
        [0.5, 1.0], [0.01, 1.0], folds=3, standardize=False, random_state=SEED
    ),
    "prior shift": lambda: dd.PriorShiftClassifier(LogisticRegression(), dd.ClassBalance(random_state=SEED)),
    "prior shift of least squares": lambda: dd.PriorShiftClassifier(
        dd.LeastSquaresClassifier(1.0, 0.1, random_state=1), dd.ClassBalance(model=small_lsdd(), random_state=SEED)
    ),
}


def classified(model, k=2):
    x, y, new = labelled_rows(k)
    if isinstance(model, dd.PriorShiftClassifier):
        model.fit(x, y, X_unlabeled=new)
    else:
        model.fit(x, y, np.random.default_rng(1).uniform(0.5, 2.0, len(x)))
    return model_answers(model, new[:5], {}) | {"score": float(model.score(x, y))}


def new_rows_in(hold, by_frame=False):
    x, y, new = labelled_rows()
    if by_frame:
        x, new = pd.DataFrame(by_name(x)), by_name(new)
    return balance_answers(None, x, y, hold(new))


# --- the monitor -----------------------------------------------------------------------------------------------------

REFERENCE = normal_rows(0, 240) * [1.0, 50.0]
STREAM = np.concatenate([normal_rows(1, 40), normal_rows(2, 20, shift=3.0)]) * [1.0, 50.0]


def small_monitor(reference=REFERENCE, **settings):
    model = dd.LSDD(solver="centers", n_centers=12)
    return dd.ChangeMonitor(
        reference, **({"window": 5, "run_length": 30, "model": model, "random_state": 0} | settings)
    )


def named_frame(rows, library=pd.DataFrame):
    return library({"a": rows[:, 0], "b": rows[:, 1]})


def bad_rows():
    return {
        "nan": [np.nan, 1.0],
        "none": (None, 1.0),
        "NA": pd.Series({"a": pd.NA, "b": 1}),
        "null": pl.DataFrame({"a": [1.0], "b": [None]}),
        "infinite": [1.0, -np.inf],
        "beyond float64": [10**400, 1.0],
        "narrow": [1.0],
        "wide": np.ones(3),
        "a number": 1.0,
        "nothing": [],
        "two rows": np.ones((2, 2)),
        "cube": np.ones((1, 1, 2)),
        "frame of no rows": named_frame(STREAM[:0]),
        "text": ["hot", 1.0],
        "number as text": ["1", 1.0],
        "a string": "ab",
        "bytes": b"ab",
        "None": None,
        "set": {1.0},
        "generator": (x for x in (1.0, 2.0)),
        "complex": [1j, 1.0],
        "dates": np.array(["2024-01-01", "2024-01-02"], "M8[D]"),
        "key missing": {"a": 1.0, "c": 2.0},
        "no key": {},
        "label missing": pd.Series({"a": 1.0}),
        "column missing": pd.DataFrame({"a": [1.0]}),
        "lazy": pl.LazyFrame({"a": [1.0], "b": [1.0]}),
        "ragged": [1.0, [2.0, 3.0]],
        "nested": {"a": [1, 2], "b": 1.0},
        "masked": np.ma.array([1.0, 2.0], mask=[True, False]),
        "column for a row": np.ones((2, 1)),
        "label twice": pd.Series([1.0, 2.0, 3.0], index=["a", "b", "a"]),
        "beyond 2^53": [2**60 + 1, 1.0],
        "far": [1e300, -1e300],
        "good list": [0.5, 1.0],
        "good mapping": {"b": 1.0, "a": 0.5},
        "good with more": {"b": 1.0, "a": 0.5, "c": 1.0},
        "good frame": named_frame(STREAM[:1]),
        "good polars": named_frame(STREAM[:1], pl.DataFrame),
        "good pyarrow": named_frame(STREAM[:1], pa.table),
        "mappings": [{"a": 1.0, "b": 2.0}, {"b": 1.0}],
        "mappings with a typo": [{"a": 1.0, "bb": 2.0}] * 2,
        "mappings and a list": [{"a": 1.0, "b": 2.0}, [1.0, 2.0]],
        "good mappings": [{"a": 1.0, "b": 2.0}] * 3,
        "good rows": STREAM[:4],
        "good rows with more": named_frame(STREAM[:4]).assign(c=1.0),
        "missing among rows": np.where(np.arange(20)[:, None] == 7, np.nan, STREAM[:20]),
        "path": "rows.csv",
    }


MONITOR_SETTINGS = {
    "default model": {"model": None},
    "numbers": {"model": dd.LSDD(sigma=1.0, lam=0.5, solver="centers", n_centers=12)},
    "own units": {"model": dd.LSDD(standardize=False, solver="centers", n_centers=12)},
    "window 20": {"window": 20},
    "window 1": {"window": 1},
    "window 0": {"window": 0},
    "window text": {"window": "5"},
    "window long": {"window": 200},
    "run_length 4": {"run_length": 4},
    "run_length nan": {"run_length": np.nan},
    "run_length text": {"run_length": "long"},
    "run_length huge": {"run_length": 1e30},
    "own centers": {"model": dd.LSDD(centers=[[0.0, 0.0]])},
    "pairs": {"model": dd.LSDD(solver="pairs")},
    "KDEDifference": {"model": dd.KDEDifference()},
    "class": {"model": dd.LSDD},
    "sigma grid": {"model": dd.LSDD(sigma=[1.0, 2.0], solver="centers")},
    "sigma 0": {"model": dd.LSDD(sigma=0)},
    "seed text": {"random_state": "x"},
}


def references():
    return {
        "frame": named_frame(REFERENCE),
        "polars": named_frame(REFERENCE, pl.DataFrame),
        "one column": REFERENCE[:, 0],
        "list": REFERENCE.tolist(),
        "short": REFERENCE[:9],
        "constant": np.ones((50, 2)),
        "constant column": REFERENCE * [1.0, 0.0],
        "missing": np.where(np.arange(240)[:, None] == 3, np.nan, REFERENCE),
        "text": pd.DataFrame({"a": ["u", "v"] * 30}),
        "dependent": np.cumsum(REFERENCE, axis=0),
        "offset 1e8": REFERENCE + 1e8,
        "scale 1e200": REFERENCE * 1e200,
        "path": put("R.csv", by_name(REFERENCE)),
        "blocks": [REFERENCE[:100], REFERENCE[100:]],
        "None": None,
        "empty": REFERENCE[:0],
    }


@group
def monitors():
    for name, settings in MONITOR_SETTINGS.items():
        yield f"setting/{name}", lambda settings=settings: watched(small_monitor(**settings))
    for name in references():
        yield f"reference/{name}", lambda name=name: reference_watched(references()[name])
    for name in bad_rows():
        for method in ("update", "update_many"):
            yield f"{method}/{name}", lambda name=name, method=method: refused_row(method, bad_rows()[name])
    yield "one by one", lambda: one_by_one(small_monitor())
    yield "saved and loaded", saved_and_loaded
    yield "reset", reset
    for name in ("pickle", "text", "empty", "cut", "folder", "absent", "other archive"):
        yield f"state/{name}", lambda name=name: bad_state(name)


def watched(monitor, rows=STREAM):
    steps = monitor.update_many(rows)
    return {
        "monitor": plain(monitor),
        "steps": [plain(step.to_dict()) for step in steps],
        "text": lines(str(steps[-1])),
    }


def reference_watched(reference):
    monitor = small_monitor(reference)
    rows = STREAM[:, : len(monitor.names_)]
    return watched(monitor, rows[:, 0] if rows.shape[1] == 1 else rows)


def one_by_one(monitor):
    return [[str(step), step.strength, step.alarm] for step in map(monitor.update, STREAM)]


def refused_row(method, row):
    monitor = small_monitor(named_frame(REFERENCE))
    monitor.update_many(STREAM[:13])
    found = attempt(getattr(monitor, method), row)
    return {"answer": found, "seen": monitor.n_seen_, "next": plain(monitor.update([0.5, 1.0]))}


def saved_and_loaded():
    monitor = small_monitor(named_frame(REFERENCE))
    monitor.update_many(STREAM[:30])
    found = {"path": plain(monitor.save("state"))}
    again = dd.ChangeMonitor.load("state")
    return found | {"loaded": watched(again, STREAM[30:]), "kept": watched(monitor, STREAM[30:])}


def reset():
    monitor = small_monitor()
    first = watched(monitor)
    again = watched(monitor.reset())
    return {"same": first == again, "new": watched(monitor.reset(REFERENCE[::-1] * 2.0))}


def bad_state(name):
    contents = {"pickle": pickle.dumps([1]), "text": b"hello", "empty": b""}
    small_monitor().save("good")
    if name in contents:
        put("state", contents[name])
    elif name == "cut":
        put("state", Path("good").read_bytes()[:-200])
    elif name == "folder":
        os.mkdir("state")
    elif name == "other archive":
        np.savez("state.npz", a=np.ones(3))
        os.rename("state.npz", "state")
    return each(
        load=lambda: dd.ChangeMonitor.load("state"),
        number=lambda: dd.ChangeMonitor.load(3),
        save=lambda: small_monitor().save("no/state"),
    )


# --- hostile inputs at every entrance --------------------------------------------------------------------------------

ENTRANCES = {
    "arrays": lambda a, b: quick_test(matrix(a), matrix(b), n_permutations=19),
    "frames": lambda a, b: quick_compare(pd.DataFrame(a), pd.DataFrame(b), n_permutations=19),
    "distance": lambda a, b: dd.l2_distance(pd.DataFrame(a), pd.DataFrame(b), random_state=0),
    "KDEDifference": lambda a, b: dd.l2_distance(a, b, model=dd.KDEDifference(), random_state=0),
    "KLIEP": lambda a, b: dd.KLIEP(random_state=0).fit(pd.DataFrame(a), pd.DataFrame(b)).kl_divergence_,
    "files": lambda a, b: quick_compare(put("A.csv", a), put("B.csv", b), n_permutations=19),
    "command": lambda a, b: command(
        "compare", put("A.csv", a), put("B.csv", b), "--permutations", 19, "--seed", 0, "--json"
    ),
    "stream": lambda a, b: hostile_stream(a, b),
    "series": lambda a, b: quick_changes(np.concatenate([matrix(a), matrix(b)])),
    "balance": lambda a, b: (
        dd.ClassBalance(random_state=0).fit(matrix(a), np.arange(len(matrix(a))) % 2).estimate(matrix(b))
    ),
}


def matrix(table):
    return np.column_stack(list(table.values()))


def hostile_stream(a, b):
    monitor = dd.ChangeMonitor({k: np.tile(v, 10) for k, v in a.items()}, window=10, run_length=100, random_state=0)
    return [[step.score for step in monitor.update_many(b)], monitor.warnings_]


def normal_table(seed, n=N, d=2):
    return {f"x{j}": column for j, column in enumerate(np.random.default_rng([seed, n]).normal(size=(n, d)).T)}


def spoilt(value, at=3):
    column = normal_table(1)["x1"].copy()
    column[at] = value
    return normal_table(1) | {"x1": column}


def scaled(seed, by, offset=0.0):
    """Columns multiplied and moved, as multiples of 2^-20, so that offsets up to 1e9 are exact."""
    table = {name: np.round(values * 2.0**20) / 2.0**20 for name, values in normal_table(seed).items()}
    return {name: values * factor + offset for (name, values), factor in zip(table.items(), by, strict=True)}


def hostile_pairs():
    a, b = normal_table(0), normal_table(1)
    index = np.arange(N)
    return {
        "01 missing": (a, spoilt(np.nan)),
        "02 missing in one": (spoilt(np.nan, slice(0, 12)), b),
        "03 infinite": (a, spoilt(np.inf)),
        "04 all missing": (a, spoilt(np.nan, slice(None))),
        "05 constant": (a | {"x1": np.ones(N)}, b | {"x1": np.ones(N)}),
        "06 two constants": ({"x0": np.zeros(N)}, {"x0": np.ones(N)}),
        "07 constant in one": (a, b | {"x1": np.ones(N)}),
        "08 integers": ({n: index % 4 for n in "uv"}, {n: index * 7 % 4 for n in "uv"}),
        "09 copies": tuple({k: np.repeat(v, 10) for k, v in t.items()} for t in (a, b)),
        "10 the same": (a, a),
        "11 one row": (a, normal_table(1, 1)),
        "12 two rows": (normal_table(0, 2, 1), normal_table(1, 2, 1)),
        "13 no rows": (a, normal_table(1, 0)),
        "14 wide": (normal_table(0, 5, 30), normal_table(1, 5, 30)),
        "16 offset 1e8": (scaled(0, (1, 1), 1e8), scaled(1, (1, 1), 1e8)),
        "17 clusters": (
            {"x0": np.r_[a["x0"], 1e9 + b["x0"]]},
            {"x0": np.r_[a["x1"], 1e9 + b["x1"] + 3.0]},
        ),
        "18 scales": (scaled(0, (2.0**-40, 2.0**660)), scaled(1, (2.0**-40, 2.0**660))),
        "19 float32": tuple({k: v.astype(np.float32) for k, v in t.items()} for t in (a, b)),
        "20 beyond 2^53": (a | {"x1": 2**53 + 2 * index + 1}, b | {"x1": 2**53 + index}),
        "21 numbers as text": (a, b | {"x1": np.array(["1.5"] * (N - 1) + ["2,5"])}),
        "22 text": (a | {"x1": np.array(["u", "v"] * 12)}, b | {"x1": np.array(["u", "v"] * 12)}),
        "22 names of rows": (
            a | {"id": np.array([f"a{k}" for k in index])},
            b | {"id": np.array([f"b{k}" for k in index])},
        ),
        "23 dates": (a, b | {"x1": np.datetime64("2026-01-01") + index}),
        "24 column in one": (a | {"z": np.zeros(N)}, dict(reversed(b.items()))),
        "24 none in common": (a, {"y": b["x0"]}),
        "26 two kinds": (a, b | {"x1": np.array(["u", "v"] * 12)}),
        "33 escapes": ({"\x1b[31m<script>": a["x0"]}, {"\x1b[31m<script>": b["x0"] + 5}),
        "44 codes": (
            a | {"zip": np.array([f"0{k % 7}123" for k in index])},
            b | {"zip": np.array([f"0{k % 5}123" for k in index])},
        ),
        "45 rounded": ({k: np.round(v) for k, v in a.items()}, {k: np.round(v) for k, v in b.items()}),
        "46 times 100": (
            normal_table(0, 60, 20),
            normal_table(1, 60, 20) | {"x3": 100 * normal_table(1, 60, 20)["x3"]},
        ),
        "47 kind changed": (a | {"k": np.arange(N) % 3}, b | {"k": np.array(["u", "v"] * 12)}),
        "48 spike of zeros": (
            {"x": np.where(index % 4, 0.0, a["x0"])},
            {"x": np.where(index % 3, 0.0, b["x0"])},
        ),
        "61 rows in both": (a, {k: np.concatenate([v, a[k][:12]]) for k, v in b.items()}),
    }


BAD_VALUES = {
    "n_permutations": (0, -3, 2.5, np.nan, True),
    "sigma": (0, -1.0, np.nan, np.inf, [], [1.0, 0.0], "auto", None, [[1.0]], True),
    "lam": (0, -1.0, np.nan, [], "auto", None),
    "alpha": (0, 1, 5, -0.1, np.nan, "a", None),
    "level": (0, 1, 95, np.nan, "0.95", None),
    "folds": (1, 2.5, True, "5"),
    "n_centers": (0, "all", 2.5),
    "solver": ("centres", None, 3),
    "standardize": (1, "yes", None),
    "random_state": (-1, "seed", 2.5, True),
    "centers": ([[0.0, 1.0, 2.0]], [[np.nan, 1.0]], np.empty((0, 2)), "rows"),
    "tuning": ("agregate", None, 3),
    "null": ("permutations", None),
    "model": (dd.LSDD, "LSDD", 3, LogisticRegression()),
}
TAKERS = {
    "LSDD": (
        ("sigma", "lam", "folds", "n_centers", "solver", "standardize", "random_state", "centers"),
        lambda **given: dd.LSDD(**given).fit(*two_samples()),
    ),
    "LSDD centers": (("lam", "sigma"), lambda **given: dd.LSDD(solver="centers", **given).fit(*two_samples())),
    "KDEDifference": (
        ("sigma", "folds", "standardize", "random_state"),
        lambda **given: dd.KDEDifference(**given).fit(*two_samples()),
    ),
    "KLIEP": (
        ("sigma", "folds", "n_centers", "standardize", "random_state"),
        lambda **given: dd.KLIEP(**given).fit(*two_samples()),
    ),
    "LeastSquaresClassifier": (
        ("sigma", "lam", "folds", "standardize", "random_state"),
        lambda **given: dd.LeastSquaresClassifier(**given).fit(*labelled_rows()[:2]),
    ),
    "l2_distance": (("level", "random_state", "model"), lambda **given: dd.l2_distance(*two_samples(), **given)),
    "l2_distance method": (
        ("level",),
        lambda **given: dd.LSDD(random_state=0).fit(*two_samples()).l2_distance(**given),
    ),
    "confidence_band": (
        ("level",),
        lambda **given: small_lsdd(0).fit(*two_samples()).confidence_band(POINTS, **given),
    ),
    "two_sample_test": (
        ("n_permutations", "tuning", "null", "model", "random_state"),
        lambda **given: dd.two_sample_test(*two_samples(), **given),
    ),
    "test with a bad model": (
        ("sigma", "folds", "solver"),
        lambda **given: dd.two_sample_test(*two_samples(), model=dd.LSDD(**given)),
    ),
    "ClassBalance": (
        ("model", "random_state"),
        lambda **given: dd.ClassBalance(**given).fit(*labelled_rows()[:2]).estimate(POINTS),
    ),
}


@group
def hostile():
    for name in hostile_pairs():
        for entrance, question in ENTRANCES.items():
            if name[:2] in ("23", "24") and entrance in (
                "arrays",
                "series",
                "balance",
            ):  # no arrays can be made of them
                continue
            yield f"{name}/{entrance}", lambda name=name, question=question: question(*hostile_pairs()[name])
    yield "15 d 2000", lambda: quick_test(*(matrix(normal_table(seed, 12, 2000)) for seed in (0, 1)))
    yield "42 tiny shift", lambda: quick_compare(*(normal_rows(s, 20_000, 1, 0.04 * s) for s in (0, 1)))
    for taker, (names, question) in TAKERS.items():
        for name in names:
            for value in BAD_VALUES[name]:
                yield (
                    f"parameter/{taker}/{name}={value!r}",
                    lambda question=question, name=name, value=value: question(**{name: value}),
                )
    for solver in ("spectral", "pairs", "centers"):
        frames = [pd.DataFrame(mixed_columns(seed)) for seed in (0, 1)]
        yield f"solver {solver}/categories", lambda s=solver, f=frames: dd.LSDD(solver=s, random_state=0).fit(*f)
        yield f"solver {solver}/five columns", lambda s=solver: dd.LSDD(solver=s, random_state=0).fit(*two_samples(5))
        yield (
            f"solver {solver}/own centers",
            lambda s=solver: dd.LSDD(solver=s, centers=[[0.0, 0.0]], random_state=0).fit(*two_samples()),
        )
    for name in ("negative", "short", "zero", "missing", "two-dimensional", "one row", "text"):
        for model in ("LSDD", "KDEDifference", "KLIEP"):
            yield f"weights/{model}/{name}", lambda name=name, model=model: bad_weights(name, model)
    yield "weights/blocks", lambda: dd.LSDD().fit([normal_rows(0)], normal_rows(1), np.ones(40))
    yield "no_such_name", lambda: dd.LSDD().set_params(no_such_name=1)
    yield "attribute", lambda: dd.no_such_name


def bad_weights(name, model):
    x, y = normal_rows(0, 80), normal_rows(1, 40)
    weights = balance_weights()[name]
    return each(
        x=lambda: getattr(dd, model)(random_state=0).fit(x, y, weights),
        y=lambda: getattr(dd, model)(random_state=0).fit(y, x, None, weights),
    )


# --- files -----------------------------------------------------------------------------------------------------------


def bad_files():
    """File name and content; rows 3 and 13 to 33 of the hostile inputs."""
    parquet = as_parquet({"a": np.arange(100.0)})
    array = as_npy(np.ones(9))
    many = ["1.25"] * 31_000
    many[30_001] = "bad"
    damaged_footer, damaged_page = bytearray(parquet), bytearray(parquet)
    damaged_footer[-12:-8] = b"\xff" * 4
    damaged_page[4:60] = b"\xff" * 56
    return {
        "good": ("B.csv", "a,b\n1.5,2\n2.5,1\n0.5,7\n"),
        "infinite": ("B.csv", "a\n1\n1e999\n2\n"),
        "infinite JSON": ("B.jsonl", '{"a": 1}\n{"a": -1e999}\n'),
        "header only": ("B.csv", "a,b\n"),
        "empty": ("B.csv", ""),
        "blank": ("B.csv", "\n\n"),
        "empty JSON": ("B.jsonl", ""),
        "empty Parquet": ("B.parquet", ""),
        "Parquet without rows": ("B.parquet", as_parquet({"a": np.ones(0)})),
        "empty array": ("B.npy", ""),
        "array without rows": ("B.npy", as_npy(np.zeros((0, 3)))),
        "JSON without columns": ("B.jsonl", "{}\n{}\n"),
        "one row": ("B.csv", "a\n1\n"),
        "one bad number": ("B.csv", "a\n" + "1.5\n" * 9 + "?\n"),
        "two bad numbers": ("B.csv", "a\n" + "1.5\n" * 9 + "?\n!\n"),
        "missing words": ("B.csv", "a\n" + "1.5\n" * 8 + "NA\n"),
        "text numbers": ("B.parquet", as_parquet({"a": ["1", "2"] * 5})),
        "dates": ("B.csv", "a\n" + "".join(f"2024-01-{k:02d}\n" for k in range(1, 29))),
        "nested": ("B.jsonl", '{"a": [1]}\n{"a": [2]}\n'),
        "decimals": ("B.parquet", as_parquet(pa.table({"a": pa.array(range(20), pa.decimal128(5, 2))}))),
        "complex": ("B.npy", as_npy(np.ones((9, 1), dtype=complex))),
        "duplicate columns": ("B.csv", "a,b,a,b\n1,2,3,4\n"),
        "duplicate keys": ("B.jsonl", '{"a": 1}\n{"a": 1, "a": 2}\n'),
        "duplicate in Parquet": ("B.parquet", as_parquet(pa.table([[1.0], [2.0]], names=["a", "a"]))),
        "semicolons": ("B.csv", "a;b\n1,5;-2\n,25;3e2\n2,5;1\n"),
        "tabs": ("B.csv", "a\tb\n1,5\t-2\n0,25\t300\n"),
        "decimal comma alone": ("B.csv", "a\n1,5\n2,5\n"),
        "thousands": ("B.csv", "a;b\n1,500;2\n12,000;3\n"),
        "both marks": ("B.csv", "a;b\n1,5;1.5\n2,5;2.5\n"),
        "quoted comma": ("B.csv", 'a,b\n"1,5",1\n"2,5",2\n'),
        "marks of thousands": ("B.csv", "a;b\n1.234,5;1\n1.334,5;2\n"),
        "two separators": ("B.csv", "a|b;c|d\n1|2;3|4\n"),
        "ragged": ("B.csv", "a,b\n1,2\n3\n"),
        "ragged more": ("B.csv", "a,b\n1,2,3\n"),
        "ragged after a quote": ("B.csv", 'a,b\n"x\ny",1\n\n1,2,3\n'),
        "open quote": ("B.csv", 'a,b\n1,2\n3,"x\n4,5\n'),
        "comment": ("B.csv", "# made today\na,b\n1,2\n"),
        "numbers for a header": ("B.csv", "1,2\n3,4\n5,6\n"),
        "bad far down": ("B.csv", "a\n" + "\n".join(many)),
        "byte order mark": ("B.csv", codecs.BOM_UTF8 + b"a,b\n1.5,2\n2,1\n"),
        "UTF-16": ("B.csv", "a,b\n1,2\n".encode("utf-16")),
        "UTF-16 without mark": ("B.csv", "a,b\n1,2\n".encode("utf-16-le")),
        "UTF-32": ("B.csv", "a,b\n1,2\n".encode("utf-32")),
        "Latin-1": ("B.csv", "a,b\n1,é\n".encode("latin-1")),
        "NUL byte": ("B.csv", "a,b\n1,\0\n"),
        "cut Parquet": ("B.parquet", parquet[:-7]),
        "damaged footer": ("B.parquet", bytes(damaged_footer)),
        "damaged page": ("B.parquet", bytes(damaged_page)),
        "CSV called Parquet": ("B.parquet", "a,b\n1,2\n"),
        "Parquet called CSV": ("B.csv", parquet),
        "Parquet called JSON": ("B.jsonl", parquet),
        "array called CSV": ("B.csv", array),
        "gz called CSV": ("B.csv", gzip.compress(b"a\n1\n", mtime=0)),
        "workbook": ("B.xlsx", b"PK\x03\x04rest"),
        "JSON called CSV": ("B.csv", '{"a": 1}\n'),
        "CSV called JSON": ("B.jsonl", "a,b\n1,2\n"),
        "JSON list": ("B.json", '[{"a": 1}]'),
        "cut JSON": ("B.jsonl", '{"a": 1}\n{"a": 2'),
        "JSON array line": ("B.jsonl", '{"a": 1}\n[2]\n'),
        "JSON null line": ("B.jsonl", '{"a": 1}\n null\n'),
        "deep JSON": ("B.jsonl", '{"a": 1}\n{"a": ' + "[" * 101 + "]" * 101 + "}\n"),
        "JSON of two kinds": ("B.jsonl", '{"a": 1}\n' * 20 + '{"a": "bad"}\n'),
        "Parquet called array": ("B.npy", parquet),
        "cut array": ("B.npy", array[:-9]),
        "single number": ("B.npy", as_npy(np.float64(1))),
        "pickle": ("B.npy", pickle.dumps([1])),
        "objects": ("B.npy", as_npy(np.array([{}], dtype=object))),
        "cube": ("B.npy", as_npy(np.ones((2, 2, 2)))),
        "gz": ("B.csv.gz", gzip.compress(b"a,b\n1.5,2\n2,1\n0,0\n", mtime=0)),
        "cut gz": ("B.csv.gz", gzip.compress(b"a\n1\n" * 50, mtime=0)[:-9]),
        "empty gz": ("B.csv.gz", gzip.compress(b"", mtime=0)),
        "zst": ("B.csv.zst", b"\x28\xb5\x2f\xfd rest"),
        "SQLite": ("B.db", b"SQLite format 3\0" + b"\0" * 100),
        "hostile name": ("\x1b[31m\n.csv", ""),
        "hostile columns": ("B.csv", '"\x1b[31mred\nline\u202e",b\n1,\n2,1\n'),
        "long name": ("B.csv", f"{'x' * 10_000},b\n1,\n2,1\n"),
        "no ending": ("B", "a,b\n1,2\n2,1\n3,3\n"),
        "spaces": ("B.csv", "a, b\n1, 2\n2 ,3\n 4,1\n"),
        "true and false": ("B.csv", "a,f\n" + "1,true\n2,false\n" * 9),
        "leading zeros": ("B.csv", "a,zip\n" + "1,01234\n2,04321\n" * 9),
        "Windows lines": ("B.csv", "a,b\r\n1,2\r\n2,1\r\n0,0\r\n"),
    }


@group
def files():
    for name in bad_files():
        for entrance in ("compare", "streamed", "command", "fit", "changes"):
            yield f"{name}/{entrance}", lambda name=name, entrance=entrance: read_file(entrance, *bad_files()[name])
    for path in ("gone.csv", "gone.parquet", "gone.npy", "gone.jsonl", "no/B.csv", "a\0b.csv", ".", "", "A.csv/B.csv"):
        yield f"path/{path!r}", lambda path=path: absent_file(path)
    yield "changed while open", changed_while_open
    yield "too much", too_much


def read_file(entrance, name, content):
    good = put("A.csv", "a,b\n1.5,2\n2.5,1\n0.5,7\n4,5\n")
    put(name, content)
    if entrance == "command":
        return command("compare", good, name, "--permutations", 19, "--seed", 1, "--json")
    if entrance == "fit":
        return dd.l2_distance(good, Path(name), random_state=0)
    if entrance == "changes":
        return quick_changes(name)
    with small_memory(1e-5) if entrance == "streamed" else contextlib.nullcontext():
        return quick_compare(good, name, n_permutations=19)


def absent_file(path):
    put("A.csv", "a\n1\n2\n")
    return {
        "compare": attempt(quick_compare, "A.csv", path),
        "distance": attempt(dd.l2_distance, Path(path), "A.csv"),
        "changes": attempt(dd.detect_changes, path),
        "command": command("compare", "A.csv", path),
    }


def changed_while_open():
    """A file that is written anew between two readings."""
    put("A.csv", by_name(normal_rows(0, 400)))

    class Touching(Blocks):
        def __iter__(self):
            put("A.csv", "x0,x1\n" + "1,2\n" * 400)
            return super().__iter__()

    with small_memory(0.002):
        return attempt(quick_compare, "A.csv", Touching(normal_rows(1, 400), [100]))


def too_much():
    """Files that promise more than the ceiling allows, where all rows are needed."""
    put("B.parquet", as_parquet(pa.table({name: np.zeros(300_000) for name in "abc"})))
    put("B.csv", "a\n" + "1\n" * 700_000)
    put("B.npy", as_npy(np.zeros(250_000)))
    with small_memory(1):
        return {name: command("monitor", f"B.{name}") for name in ("parquet", "csv", "npy")}


# --- the command -----------------------------------------------------------------------------------------------------

QUICK = ("--permutations", "19", "--seed", "1")


def command(*arguments, given=None, page=None):
    """Status, both outputs by line, those of JSON as values, and the text of a page that was written."""
    from typer.testing import CliRunner

    from densdiff.cli import app

    done = CliRunner().invoke(app, [str(entry) for entry in arguments], input=given, prog_name="densdiff")
    error = None if isinstance(done.exception, SystemExit | None) else failure(done.exception)
    found = {"status": done.exit_code, "out": [parsed(line) for line in done.stdout.split("\n")]}
    found["err"] = without_frames(done.stderr)
    if page is not None:
        found["page"] = page_summary(page)
    return found if error is None else found | {"exception": error}


def parsed(line):
    try:
        return plain(json.loads(line)) if line.startswith("{") else normalized(line)
    except ValueError:
        return normalized(line)


def page_summary(path):
    """The words of a page and how many tags of each kind it has."""
    if not Path(path).is_file():
        return "no page"
    text = Path(path).read_text("utf-8")
    tags = Counter(re.findall(r"<([a-z][\w-]*)", text))
    bare = re.sub(r"<(style|script)\b.*?</\1>", " ", text, flags=re.DOTALL)
    words = html.unescape(re.sub(r"<[^>]*>", "\n", bare))
    return {
        "tags": dict(sorted(tags.items())),
        "words": [normalized(" ".join(line.split())) for line in words.split("\n") if line.strip()],
        "files": sorted(os.listdir()),
    }


def shifted(by, n=40, seed=0, **more):
    random = np.random.default_rng([seed, n])
    return {"a": random.normal(size=n) + by, "b": random.normal(size=n)} | more


def changing():
    random = np.random.default_rng(0)
    return {"t": np.arange(200) * 0.5, "v": np.concatenate([random.normal(size=100), random.normal(4, 1, 100)])}


def training():
    random = np.random.default_rng(0)
    rows = np.concatenate([random.normal(size=(40, 2)), random.normal(3, 1, (40, 2))])
    train = {"p": rows[:, 0], "q": rows[:, 1], "y": np.repeat(["ill", "well"], 40)}
    return train, {"p": random.normal(3, 1, 30), "q": random.normal(3, 1, 30)}


def watched_rows(n=120):
    random = np.random.default_rng(7)
    reference = {"a": random.normal(size=800), "b": random.normal(size=800)}
    rows = {"b": random.normal(size=n), "text": ["x,\ny"] * n, "a": random.normal(size=n)}
    rows["a"][n // 2 :] += 3.0
    return reference, rows


def european(table):
    return as_csv(table, ";").replace(".", ",")


def command_files():
    """Files for all calls of the command, in the current folder."""
    a, b = shifted(0.0), shifted(2.0, n=30)
    put("A.csv", a)
    put("B.csv", b)
    for ending in ("parquet", "jsonl", "npy"):
        put_table(f"B.{ending}", b if ending != "npy" else np.column_stack(list(b.values())))
    put("bare.csv", as_csv(b).split("\n", 1)[1])
    put("semicolon.csv", european(b))
    put("tab.csv", as_csv(b, "\t"))
    put("holes.csv", {k: np.where(np.arange(40) % 9 == 4, np.nan, v) for k, v in shifted(0.0, seed=1).items()})
    put("more.csv", shifted(0.0, seed=1) | {"more": np.arange(40)})
    put("comma.csv", {"x, y": a["a"], "b": a["b"]})
    put("mixedA.csv", mixed_columns(0))
    put("mixedB.csv", mixed_columns(1, 60, 0.8, 0.2))
    put("hostile.csv", {"<script>alert(1)</script>": a["a"] + 3, "b": a["b"], "{{ 7 * 7 }}": ["u", "v"] * 20})
    put("hostile0.csv", {"<script>alert(1)</script>": a["a"], "b": a["b"], "{{ 7 * 7 }}": ["u"] * 35 + ["v"] * 5})
    put("S.csv", changing())
    put("calm.csv", {"v": changing()["v"][:100]})
    put("dated.csv", "when,v\n" + "".join(f"2024-01-01 00:00:{k:02d},{k % 7}\n" for k in range(60)))
    order = np.arange(24)
    wave = np.sin(order * 2.0)
    put("unsorted.csv", {"x": wave, "t": np.r_[0, 2, 1, np.arange(3, 24)]})
    put("twice.csv", {"x": wave, "t": np.r_[0, 1, 1, np.arange(3, 24)]})
    put("gap.csv", {"x": wave, "t": np.r_[np.arange(23), 500]})
    put("season.csv", {"x": np.sin(np.arange(400) * 2 * np.pi / 20)})
    train, new = training()
    put("T.csv", train)
    put("T.parquet", as_parquet(train))
    put("N.csv", new)
    put("N.parquet", as_parquet(new))
    put("labelled.csv", new | {"y": np.arange(30)})
    put("narrow.csv", {"p": new["p"]})
    put("one.csv", train | {"y": ["ill"] * 80})
    put("alike.csv", shifted(0.0) | {"y": ["u", "v"] * 20})
    put("R.csv", watched_rows()[0])
    put("Rbare.csv", as_csv(watched_rows()[0]).split("\n", 1)[1])
    put("Rsemicolon.csv", european(watched_rows()[0]))
    put("empty.csv", "")
    put("header.csv", "a,b\n")
    os.mkdir("folder")
    os.mkdir("old")
    os.mkdir("new")
    put("old/data.csv", "a\n1\n2\n")
    put("new/data.csv", "a\n1\n\n3\n")


MONITOR = "monitor R.csv --window 20 --run-length 500 --seed 2"
CALLS = """
compare A.csv B.csv
compare A.csv B.csv --json
compare A.csv A.csv
compare B.csv A.csv --json
compare A.csv B.parquet --json
compare A.csv B.jsonl --json
compare A.csv B.npy --json
compare bare.csv B.npy --no-header --columns x1 --json
compare bare.csv bare.csv --json
compare A.csv semicolon.csv
compare A.csv semicolon.csv --sep ; --decimal , --json
compare A.csv semicolon.csv --sep ;
compare A.csv semicolon.csv --decimal . --json
compare A.csv tab.csv --sep \\t --json
compare A.csv tab.csv
compare A.csv B.csv --sep ;;
compare A.csv B.csv --sep ;
compare A.csv B.csv --decimal x
compare A.csv B.csv --columns b,a --json
compare A.csv B.csv --columns b
compare A.csv B.csv --columns c
compare A.csv B.csv --columns EMPTY
compare comma.csv comma.csv --columns "x, y", b --json
compare A.csv holes.csv
compare A.csv holes.csv --missing error
compare A.csv holes.csv --missing drop
compare A.csv holes.csv --missing drop --json
compare A.csv holes.csv --missing level
compare A.csv holes.csv --missing level --json
compare A.csv holes.csv --missing dorp
compare A.csv more.csv
compare mixedA.csv mixedB.csv
compare mixedA.csv mixedB.csv --json
compare hostile0.csv hostile.csv
compare A.csv B.csv --fail-on-difference
compare A.csv A.csv --fail-on-difference
compare A.csv B.csv --fail-on-difference --min-effect 0.99
compare A.csv B.csv --min-effect 0.01 --alpha 0.2 --json
compare A.csv B.csv --min-effect 2
compare A.csv B.csv --alpha 0
compare A.csv B.csv --alpha nan
compare A.csv B.csv --alpha 5
compare A.csv B.csv --alpha 0.001
compare A.csv B.csv --permutations 0
compare A.csv B.csv --permutations -3
compare A.csv B.csv --seed -1
compare A.csv B.csv --seed x
compare A.csv B.csv --sede 1
compare A.csv B.csv C.csv
compare A.csv
compare
compre
--versio
--version
compare A.csv - < B
compare - A.csv --json < B
compare A.csv - < EMPTY
compare - -
compare A.csv gone.csv
compare gone.csv B.csv
compare A.csv no/B.csv
compare A.csv folder
compare A.csv empty.csv
compare A.csv header.csv
compare old/data.csv new/data.csv
compare A.csv gone.csv --debug
compare A.csv B.csv --report page.html
compare A.csv B.csv --report page.html --json
compare mixedA.csv mixedB.csv --report page.html
compare mixedA.csv holes.csv --report page.html
compare A.csv holes.csv --missing level --report page.html
compare hostile0.csv hostile.csv --report page.html
compare A.csv B.csv --report page.html --fail-on-difference
compare A.csv B.csv --report no/page.html
compare A.csv B.csv --report .
compare A.csv B.csv --report A.csv
compare A.csv B.csv --scheduler tcp://127.0.0.1:1
compare --help
changes S.csv
changes S.csv --json
changes S.csv --time t
changes S.csv --time t --json --columns v
changes S.csv --time t --window 20 --lag 2 --alpha 0.01 --json
changes S.csv --time t --window 10s --lag 2 --json
changes S.csv --time t --window 20 --fail-on-difference
changes calm.csv --fail-on-difference
changes calm.csv --json
changes - --time t --window 10s --json < S
changes - < EMPTY
changes S.csv --time tt
changes S.csv --columns v --window 4s
changes S.csv --columns v --window soon
changes S.csv --columns v --window 150
changes S.csv --columns v --window 1
changes S.csv --columns v --window -4
changes S.csv --columns v --lag 0
changes S.csv --columns v --lag x
changes S.csv --columns v --alpha 1
changes S.csv --columns w
changes S.csv --seed -1
changes dated.csv
changes dated.csv --time when
changes dated.csv --time when --json
changes dated.csv --time then
changes dated.csv --columns v
changes unsorted.csv --time t
changes twice.csv --time t
changes gap.csv --time t
changes season.csv --fail-on-difference
changes holes.csv
changes mixedA.csv
changes semicolon.csv --json
changes bare.csv --no-header --json
changes tab.csv --sep \\t --json
changes B.npy --json
changes B.npy --time x0
changes B.npy --time x0 --columns x1
changes B.parquet --json
changes gone.csv
changes empty.csv
changes header.csv
changes
changes S.csv --report page.html --time t
changes calm.csv --report page.html
changes dated.csv --time when --report page.html
changes S.csv --report S.csv
changes S.csv --report no/page.html
changes --help
balance T.csv N.csv --label y
balance T.csv N.csv --label y --json
balance T.parquet N.parquet --label y --json
balance T.csv N.csv --label y --alpha 0.1 --json
balance T.csv N.csv --label y --columns p --json
balance T.csv N.csv --label y --columns p,q,y --json
balance T.csv labelled.csv --label y --json
balance T.csv labelled.csv --label y --columns p,q --json
balance T.csv - --label y --json < N
balance - N.csv --label y --json < T
balance - - --label y
balance T.csv N.csv
balance T.csv N.csv --label z
balance T.csv narrow.csv --label y
balance one.csv N.csv --label y
balance alike.csv A.csv --label y
balance alike.csv A.csv --label y --json
balance T.csv N.csv --label y --alpha 2
balance T.csv N.csv --label y --seed -1
balance T.csv holes.csv --label y
balance T.csv header.csv --label y
balance T.csv empty.csv --label y
balance T.csv gone.csv --label y
balance gone.csv N.csv --label y
balance mixedA.csv mixedB.csv --label city --json
balance mixedA.csv mixedB.csv --label paid
balance bare.csv bare.csv --no-header --label x0
balance B.npy B.npy --label x0
balance A.csv B.csv --label a
balance T.csv N.csv --label y --report page.html
balance alike.csv A.csv --label y --report page.html
balance mixedA.csv mixedB.csv --label paid --report page.html
balance T.csv N.csv --label y --report T.csv
balance --help
MONITOR < ROWS
MONITOR < CALM
MONITOR --fail-on-difference < ROWS
MONITOR --fail-on-difference < CALM
MONITOR < JSON
MONITOR < SEMICOLON
MONITOR --sep ; < SEMICOLON
MONITOR --sep ; < ROWS
MONITOR < EUROPEAN
MONITOR < EMPTY
MONITOR --columns a < ROWS
MONITOR --columns a < HOLE
MONITOR --columns z < ROWS
MONITOR --state no/state < ROWS
MONITOR --state R.csv < ROWS
MONITOR --state folder < ROWS
monitor Rsemicolon.csv --window 20 --run-length 500 --seed 2 --decimal , < EUROPEAN
monitor Rbare.csv --window 20 --run-length 500 --seed 2 --no-header < BARE
monitor R.csv --seed 2 < ROWS
monitor A.csv --window 1
monitor A.csv --window 9 --run-length 3
monitor A.csv --window x
monitor A.csv --seed 2 < ROWS
monitor A.csv --window 5 --run-length 50 --seed 2 < ROWS
monitor -
monitor
monitor gone.csv
monitor empty.csv
monitor header.csv
monitor holes.csv
monitor mixedA.csv --window 5
monitor --help
demo --out made/here
demo --seed 1 --out A.csv
demo --out A.csv/x
demo --seed x
demo --help
"""
BAD_STREAMS = {
    "text": "a,b\n1,2\n1,x\n",
    "underscore": "a,b\n1,2\n\n1,1_0\n",
    "empty field": "a,b\n1,\n",
    "wide": "a,b\n1,2,3\n",
    "ragged after a quote": 'a,t,b\n1,"x\ny",2\n1\n',
    "nan": "a,b\n1,2\n1,nan\n",
    "infinite JSON": '{"a": 1, "b": 1e999}\n',
    "cut JSON": '{"a": 1, "b": 2}\n{"a": 1\n',
    "array in JSON": '{"a": 1, "b": 2}\n[1, 2]\n',
    "text in JSON": '{"a": 1, "b": "x"}\n',
    "null in JSON": '{"a": 1, "b": null}\n',
    "key missing": '{"a": 1}\n',
    "key twice": '{"a": 1, "a": 2}\n',
    "more keys": '{"a": 1, "b": 2, "c": 3}\n{"a": 1, "b": 2, "d": 3}\n',
    "column twice": "a,b,a\n1,2,3\n",
    "no header": "1,2\n3,4\n",
    "one column": "a\n1\n",
    "open quote": 'a,b\n1,"2\n',
    "NUL byte": "a,b\n1,\x00\n",
    "Latin-1": "a,b\n1,é\n".encode("latin-1"),
    "UTF-16": "a,b\n1,2\n".encode("utf-16"),
    "byte order mark": "\ufeffa,b\n1,2\n",
    "blank lines": "a,b\n\n1,2\n\n",
}


def split_call(line):
    """Arguments and what stands on standard input; a text in quotes is one argument."""
    call, _, source = line.replace("MONITOR", MONITOR).partition(" < ")
    if '"' in call:
        before, quoted = call.split(' "', 1)
        quoted, *after = quoted.rsplit(" --", 1)
        arguments = [*before.split(), f'"{quoted}', *(f"--{rest}" for rest in after)]
    else:
        arguments = call.split()
    arguments = [{"EMPTY": "", "\\\\t": "\\t"}.get(entry, entry) for entry in arguments]
    if arguments and arguments[0] in ("compare", "changes", "balance") and "--help" not in arguments:
        if "--seed" not in arguments and "--sede" not in arguments:
            arguments += ["--seed", "1"]
        if arguments[0] == "compare" and "--permutations" not in arguments:
            arguments += ["--permutations", "99"]
    return arguments, source


def standard_input(source):
    rows = watched_rows()[1]
    numbers = {name: rows[name] for name in ("a", "b")}
    return {
        "": None,
        "EMPTY": lambda: "",
        "B": lambda: as_csv(shifted(2.0, n=30)),
        "S": lambda: as_csv(changing()),
        "T": lambda: as_csv(training()[0]),
        "N": lambda: as_csv(training()[1]),
        "ROWS": lambda: as_csv(rows),
        "CALM": lambda: as_csv({name: values[:50] for name, values in rows.items()}),
        "JSON": lambda: as_json_lines(rows),
        "SEMICOLON": lambda: as_csv(rows, ";"),
        "EUROPEAN": lambda: european(numbers),
        "BARE": lambda: as_csv(numbers).split("\n", 1)[1],
        "HOLE": lambda: "a\n1\n\n2\n",
    }[source]


def called(line):
    arguments, source = split_call(line)
    command_files()
    given = standard_input(source)
    page = "page.html" if "page.html" in arguments else None
    found = command(*arguments, given=given and given(), page=page)
    if arguments[:1] == ["demo"] and Path("made/here").is_dir():
        found["page"] = page_summary("made/here/demo-report.html")
    return found


@group
def calls():
    for line in CALLS.strip().split("\n"):
        yield line.replace("MONITOR", MONITOR), lambda line=line: called(line)
    for name, text in BAD_STREAMS.items():
        yield f"stream/{name}", lambda text=text: bad_stream(text)
    yield "a monitor goes on", monitor_goes_on
    for name in ("compare", "changes", "balance"):
        yield f"streamed/{name}", lambda name=name: streamed_command(name)
    for name, arguments in {
        "compare": ("compare", "hostile0.csv", "hostile.csv", "--permutations", "99", "--seed", "1"),
        "mixed": ("compare", "mixedA.csv", "mixedB.csv", "--permutations", "99", "--seed", "1"),
        "missing": ("compare", "A.csv", "holes.csv", "--missing", "level", "--permutations", "99", "--seed", "1"),
        "changes": ("changes", "S.csv", "--time", "t", "--seed", "3"),
        "balance": ("balance", "T.csv", "N.csv", "--label", "y", "--seed", "5"),
    }.items():
        yield f"terminal/{name}", lambda arguments=arguments: on_terminal(*arguments)
    yield "process", as_process


def bad_stream(text):
    put("R.csv", watched_rows()[0])
    found = command(*MONITOR.split(), "--state", "state", given=text)
    return found | {"seen": attempt(lambda: dd.ChangeMonitor.load("state").n_seen_)}


def monitor_goes_on():
    reference, rows = watched_rows()
    put("R.csv", reference)
    parts = [as_csv({k: v[start:stop] for k, v in rows.items()}) for start, stop in ((0, 45), (45, 120))]
    found = {str(k): command(*MONITOR.split(), "--state", "state", given=part) for k, part in enumerate(parts)}
    found["without reference"] = command("monitor", "gone.csv", "--state", "state", given="")
    for option, value in (("--window", 30), ("--run-length", 600), ("--seed", 3), ("--columns", "b")):
        found[option] = command("monitor", "R.csv", option, value, "--state", "state", given="")
    put("state", b"\x80\x04N.")
    return found | {"pickle": command("monitor", "R.csv", "--state", "state", given="")}


def streamed_command(name):
    random = np.random.default_rng(3)
    rows = {"a": random.normal(size=900), "b": random.normal(size=900)}
    put("A.csv", rows)
    put("B.csv", {k: np.round(v + 0.2, 3) for k, v in rows.items()} | {"y": np.arange(900)})
    put("T.csv", training()[0] | {"y": np.repeat([0, 1], 40)})
    put("N.csv", {"p": rows["a"], "q": rows["b"], "y": np.arange(900)})
    arguments = {
        "compare": ("compare", "A.csv", "B.csv", *QUICK, "--json"),
        "changes": ("changes", "A.csv", "--seed", "1", "--json"),
        "balance": ("balance", "T.csv", "N.csv", "--label", "y", "--seed", "1", "--json"),
    }[name]
    with small_memory(0.02):
        return command(*arguments)


COMMAND = [sys.executable, "-c", "from densdiff.cli import app; app(prog_name='densdiff')"]


def on_terminal(*arguments):
    """What a terminal of 80 columns gets on standard output."""
    import pty

    command_files()
    here, there = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "80"}
    done = subprocess.Popen(
        [*COMMAND, *arguments], stdout=there, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment
    )
    os.close(there)
    found = b""
    with contextlib.suppress(OSError):  # how Linux says that the other end is closed
        while part := os.read(here, 65536):
            found += part
    os.close(here)
    errors = done.communicate()[1].decode()
    return {"status": done.returncode, "out": lines(found.decode()), "err": lines(errors)}


def as_process():
    """The command as a process of its own."""
    command_files()
    done = subprocess.run(
        [*COMMAND, "compare", "A.csv", "holes.csv"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return {"status": done.returncode, "out": lines(done.stdout), "err": lines(done.stderr)}


# --- pages, pictures, data sets, scores, names -----------------------------------------------------------------------


def drawn(axes):
    """Lines, texts and limits of matplotlib axes."""
    return [
        {
            "lines": [plain(np.asarray(line.get_xydata(), dtype=float)) for line in ax.lines],
            "texts": [text.get_text() for text in ax.texts],
            "labels": [ax.get_title(), ax.get_xlabel(), ax.get_ylabel()],
            "legend": [text.get_text() for text in ax.get_legend().get_texts()] if ax.get_legend() else None,
            "collections": [type(entry).__name__ for entry in ax.collections],
            "patches": len(ax.patches),
            "limits": plain([float(end) for end in (*ax.get_xlim(), *ax.get_ylim())]),
        }
        for ax in np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
    ]


def page_of(result, **options):
    path = result.to_html("page.html", **options)
    return {"path": str(path), "page": page_summary("page.html"), "again": attempt(result.to_html, "no/page.html")}


def quick_balance(k=2):
    x, y, _ = labelled_rows(k)
    return dd.ClassBalance(random_state=SEED).fit(x, y)


@group
def pictures():
    for kind in ("mixed", "missing everywhere", "categories", "hostile names", "constant", "copies", "one number"):
        yield (
            f"comparison/{kind}",
            lambda kind=kind: drawn(quick_compare(*odd_tables()[kind], missing="level").plot()),
        )
        yield (
            f"page of a comparison/{kind}",
            lambda kind=kind: page_of(quick_compare(*odd_tables()[kind], missing="level"), title="A <b> title"),
        )
    yield "page of many columns", lambda: page_of(quick_compare(*two_samples(30, 40, 35)))
    for name, make in list(MODELS.items())[:-1]:  # a ratio is not drawn
        for d in (1, 2, 3):
            yield (
                f"difference/{name}/{d}",
                lambda make=make, d=d: drawn(dd.plots.plot_difference(make().fit(*two_samples(d)))),
            )
    yield (
        "difference at points",
        lambda: drawn(
            dd.plots.plot_difference(small_lsdd(0).fit(*two_samples(1)), points=np.linspace(-2, 2, 9), level=0.8)
        ),
    )
    yield (
        "difference at one point",
        lambda: drawn(dd.plots.plot_difference(small_lsdd(0).fit(*two_samples(1)), points=[1.0, 1.0])),
    )
    yield "null", lambda: drawn(dd.plots.plot_null(quick_test(*two_samples())))
    yield "null of the limit", lambda: drawn(dd.plots.plot_null(quick_test(*two_samples(), null="asymptotic")))
    for name in ("numbers", "dates", "durations", "irregular"):
        yield f"changes/{name}", lambda name=name: drawn(quick_changes(one_series(), time=clocks()[name]).plot())
        yield f"page of changes/{name}", lambda name=name: page_of(quick_changes(one_series(), time=clocks()[name]))
    yield "changes of two columns", lambda: drawn(quick_changes(one_series(2)).plot())
    yield "page of changes of three columns", lambda: page_of(quick_changes(one_series(3)), title="Three")
    yield "mixture", lambda: drawn(dd.plots.plot_mixture(quick_balance(), labelled_rows()[2]))
    yield "mixture of a column", lambda: drawn(dd.plots.plot_mixture(quick_balance(), labelled_rows()[2], column="x1"))
    yield "mixture of no column", lambda: drawn(dd.plots.plot_mixture(quick_balance(), labelled_rows()[2], column="z"))
    yield "page of a balance", lambda: page_of(quick_balance(3).estimate(labelled_rows(3)[2]))
    yield "monitor", lambda: drawn(dd.plots.plot_monitor(small_monitor().update_many(STREAM)))
    yield "monitor without steps", lambda: drawn(dd.plots.plot_monitor([]))
    yield "monitor of other things", lambda: drawn(dd.plots.plot_monitor([1, 2]))
    yield "comparison of other things", lambda: drawn(dd.plots.plot_comparison(3))
    yield "changes on other axes", lambda: drawn(dd.plots.plot_changes(quick_changes(one_series()), axes=3))


def described(samples):
    points = np.linspace(-1, 1, 4)[:, None] * np.ones(samples.x.shape[1])
    return {
        "x": plain(samples.x),
        "y": plain(samples.y),
        **each(
            l2=lambda: samples.l2,
            normalized=lambda: samples.normalized,
            kl=lambda: samples.kl,
            difference=lambda: samples.difference(points),
            p=lambda: samples.p(points),
            text=lambda: str(samples.p),
        ),
    }


@group
def data_sets():
    sets = dd.datasets
    mixture = sets.Mixture([0.3, 0.7], [[0.0], [2.0]], [1.0, 0.25])
    for name, make in {
        "gaussian_shift": lambda: sets.gaussian_shift(random_state=0),
        "gaussian_shift d 3": lambda: sets.gaussian_shift(1.0, d=3, n=50, m=40, random_state=0),
        "outlier_mixture": lambda: sets.outlier_mixture(random_state=0),
        "outlier_mixture of none": lambda: sets.outlier_mixture(5.0, 0.0, n=20, m=10, random_state=0),
        "mixture_pair": lambda: sets.mixture_pair(mixture, sets.Mixture([1.0], [0.5], [1.0]), n=30, random_state=0),
        "mixture_pair d 2": lambda: sets.mixture_pair(
            sets.Mixture([0.5, 0.5], np.eye(2), [1.0, 2.0]), sets.Mixture([1.0], [[0.0, 0.0]], [1.0]), random_state=0
        ),
        "bad n": lambda: sets.gaussian_shift(n=0),
        "bad d": lambda: sets.gaussian_shift(d=0),
        "bad eta": lambda: sets.outlier_mixture(eta=2),
        "bad seed": lambda: sets.gaussian_shift(random_state="x"),
        "bad dimensions": lambda: sets.mixture_pair(mixture, sets.Mixture([1.0], [[0.0, 0.0]], [1.0])),
    }.items():
        yield name, lambda make=make: described(make())
    for name, make in {
        "weights": lambda: sets.Mixture([0.5, 0.6], [0.0, 1.0], [1.0, 1.0]),
        "shapes": lambda: sets.Mixture([1.0], [0.0, 1.0], [1.0]),
        "variances": lambda: sets.Mixture([1.0], [0.0], [0.0]),
        "points": lambda: mixture([[1.0, 2.0]]),
        "density": lambda: [mixture([0.0, 1.0]), mixture.log_density([0.0, 50.0])],
    }.items():
        yield f"Mixture/{name}", make
    for name, given in {
        "default": {},
        "given changes": {"changes": [30, 60], "kind": ["mean", "variance"], "length": 100},
        "three columns": {"kind": "correlation", "d": 3, "phi": 0.5, "length": 200},
        "heavy tails": {"df": 3.0, "length": 100},
        "no change": {"changes": 0, "length": 50},
        "bad kind": {"kind": "meen"},
        "kinds": {"kind": ["mean"]},
        "correlation": {"kind": "correlation"},
        "bad phi": {"phi": 1.0},
        "bad df": {"df": 2.0},
        "bad size": {"size": 0.0},
        "bad length": {"length": 0},
        "bad changes": {"changes": [5, 3]},
        "bad count": {"changes": 5000},
        "real changes": {"changes": 2.5},
    }.items():
        yield f"piecewise_series/{name}", lambda given=given: sets.piecewise_series(**({"random_state": 0} | given))
    for name, given in {
        "default": {"n": 30},
        "two sizes": {"n": 30, "m": 20, "shift": 1.0, "share": 0.3, "correlation": 0.5},
        "nothing planted": {"n": 20, "shift": 0, "share": None},
        "bad n": {"n": 0},
        "bad m": {"m": 2.5},
        "bad shift": {"shift": np.nan},
        "bad share": {"share": 1.2},
        "bad correlation": {"correlation": 1.0},
        "bad seed": {"random_state": "x"},
    }.items():
        yield f"mixed_tables/{name}", lambda given=given: sets.mixed_tables(**({"random_state": 0} | given))
    yield "mixed_tables/region", lambda: (t := sets.mixed_tables(50, random_state=1)).in_region(t.b)


@group
def scores():
    true, found = [20, 50, 80], [18, 55, 56, 90]
    bad = ([5, 3], [-1], [1.5], [[1]], "a", None, [200], [[1], [2, 3]], [3, 3], np.array([True]))
    annotations = {"u": [20, 50], "v": [], "w": [21, 80]}
    for margin in (0, 3, 5.5, -1, np.nan, "x", None):
        yield f"match_changes/{margin!r}", lambda margin=margin: matched(true, found, margin)
        yield f"change_f1/{margin!r}", lambda margin=margin: dd.metrics.change_f1(true, found, margin)
        yield f"annotated_f1/{margin!r}", lambda margin=margin: dd.metrics.annotated_f1(annotations, found, margin)
    for n in (100, 91, 60, 0, 2.5, None):
        yield f"covering/{n!r}", lambda n=n: dd.metrics.covering(true, found, n)
        yield f"annotated_covering/{n!r}", lambda n=n: dd.metrics.annotated_covering(annotations, found, n)
    yield "detection_delay", lambda: dd.metrics.detection_delay(true, found)
    yield "nothing found", lambda: [dd.metrics.change_f1(true, [], 3), dd.metrics.detection_delay(true, [])]
    yield "nothing there", lambda: [dd.metrics.change_f1([], found, 3), dd.metrics.covering([], [], 10)]
    for value in bad:
        yield (
            f"bad/{value!r}",
            lambda value=value: each(
                f1=lambda: dd.metrics.change_f1(value, found, 3),
                covering=lambda: dd.metrics.covering(true, value, 100),
                delay=lambda: dd.metrics.detection_delay(value, found),
                annotated=lambda: dd.metrics.annotated_f1({"a": [1], "b": value}, found),
                annotations=lambda: dd.metrics.annotated_covering(value, found, 100),
            ),
        )


def matched(true, found, margin):
    match = dd.metrics.match_changes(true, found, margin)
    return plain(match) | {"precision": match.precision, "recall": match.recall, "f1": match.f1, "text": str(match)}


def parameters(function):
    """Names, kinds and defaults; annotations may move."""
    signature = inspect.signature(function)
    entries = signature.parameters.values()
    return [f"{entry.kind.name} {entry.name} {normalized(repr(entry.default))}" for entry in entries]


@group
def names():
    yield "public", lambda: [sorted(dd.__all__), sorted(dir(dd)), sorted(dd.datasets.__all__)]
    for place in (dd, dd.datasets, dd.metrics, dd.plots):
        public = getattr(place, "__all__", None) or [name for name in dir(place) if not name.startswith("_")]
        for name in sorted(public):
            entry = getattr(place, name)
            if callable(entry) and getattr(entry, "__module__", "").startswith(place.__name__):
                yield f"{place.__name__}.{name}", lambda entry=entry: members(entry)


def members(entry):
    """What can be called, with its parameters, and from which public errors it comes."""
    is_error = inspect.isclass(entry) and issubclass(entry, Exception)
    found = {} if is_error else {"parameters": attempt(parameters, entry)}
    if inspect.isclass(entry):
        known = [name for name in dir(entry) if not name.startswith("_") and name not in dir(Exception)]
        methods = {name: getattr(entry, name) for name in known if callable(getattr(entry, name))}
        found["members"] = known
        found["methods"] = {name: attempt(parameters, method) for name, method in methods.items()}
        found["bases"] = [base.__name__ for base in entry.__mro__ if base.__name__ in (*dd.__all__, "ValueError")]
        if dataclasses.is_dataclass(entry):
            found["fields"] = [field.name for field in dataclasses.fields(entry)]
    return found


# --- examples --------------------------------------------------------------------------------------------------------


class Recorder(doctest.DocTestRunner):
    """Runs examples and keeps what each of them prints."""

    def __init__(self):
        options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        super().__init__(verbose=False, optionflags=options)
        self.examples = []

    def report_start(self, out, test, example):
        pass

    def report_success(self, out, test, example, got):
        self.keep(example, got, "as shown")

    def report_failure(self, out, test, example, got):
        self.keep(example, got, "not as shown")

    def report_unexpected_exception(self, out, test, example, error):
        self.keep(example, f"{error[0].__name__}: {error[1]}", "not as shown")

    def keep(self, example, got, how):
        self.examples.append(
            {"source": lines(example.source.rstrip()), "prints": without_frames(got.rstrip()), "is": how}
        )


def run_examples(text, name):
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, name, name, 0)
    recorder = Recorder()
    recorder.run(test, out=lambda _: None)
    return recorder.examples


def guides(folder):
    for path in sorted(Path(folder).glob("guide*.md")):
        yield f"guides/{path.name}", lambda path=path: run_examples(path.read_text("utf-8"), path.name)


@group
def docstrings():
    for place in (dd, dd.datasets, dd.metrics, dd.plots):
        public = getattr(place, "__all__", None) or [name for name in dir(place) if not name.startswith("_")]
        for name in sorted(public):
            entry = getattr(place, name)
            text = inspect.getdoc(entry) or ""
            if ">>>" in text and getattr(entry, "__module__", place.__name__).startswith(place.__name__):
                yield f"{place.__name__}.{name}", lambda text=text, name=name: run_examples(text, name)


# --- running and comparing -------------------------------------------------------------------------------------------


def given_up(number, frame):
    raise TimeoutError(f"gave no answer in {SECONDS} seconds")


def run_case(function, folder):
    """The answer of a case with what it warned of, in a folder of its own; an error is an answer too."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    os.chdir(folder)
    signal.alarm(SECONDS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for kind in (ResourceWarning, DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", kind)  # they come when others change or memory is collected
        try:
            found = {"answer": plain(function())}
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            found = failure(error)
        finally:
            signal.alarm(0)
    texts = [f"{entry.category.__name__}: {normalized(str(entry.message))}" for entry in caught]
    return found | {"warnings": texts}


def all_cases(docs):
    for name, cases in GROUPS.items():
        for case, function in cases():
            yield f"{name}/{case}", function
    yield from guides(docs)


def run_all(docs, only, times):
    """All answers by name of the case."""
    answers, home = {}, Path.cwd()
    signal.signal(signal.SIGALRM, given_up)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # some inputs are files that are written when cases are listed
        for name, function in all_cases(docs):
            if only in name:
                if name in answers:
                    raise ValueError(f"two cases are called {name!r}")
                start = time.perf_counter()
                answers[name] = run_case(function, Path(folder, "case"))
                times[name] = time.perf_counter() - start
                os.chdir(folder)
        os.chdir(home)
    return json.loads(json.dumps(answers))


def numbers_in(value):
    """All numbers of lists within lists; None if there is anything else."""
    if isinstance(value, list):
        parts = [numbers_in(entry) for entry in value]
        return None if None in parts else [number for part in parts for number in part]
    if value is None:
        return []
    return [abs(value)] if isinstance(value, int | float) and not isinstance(value, bool) else None


def scale_of(value):
    return max((number for number in numbers_in(value) or [] if math.isfinite(number)), default=0.0)


def differences(before, after, tolerance, scale=0.0, at=""):
    """Place, before and after of each difference; ``scale`` is the largest magnitude of the array around."""
    if type(before) is not type(after):
        yield at, before, after
    elif isinstance(before, dict):
        scale = max(found.get("largest", 0.0) if "values" in found else 0.0 for found in (before, after))
        for key in [*before, *(key for key in after if key not in before)]:
            if key in before and key in after:
                yield from differences(before[key], after[key], tolerance, scale, f"{at}.{key}")
            else:
                yield f"{at}.{key}", before.get(key, "(absent)"), after.get(key, "(absent)")
    elif isinstance(before, list):
        if len(before) != len(after):
            yield at, f"{len(before)} entries {before}", f"{len(after)} entries {after}"
            return
        scale = max(scale, scale_of(before), scale_of(after))
        for k, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, tolerance, scale, f"{at}[{k}]")
    elif isinstance(before, float):
        same = before == after or (math.isnan(before) and math.isnan(after))
        if not same and not abs(before - after) <= tolerance * max(abs(before), abs(after), scale):
            yield at, before, after
    elif before != after:
        yield at, before, after


def shortened(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:160]} ..."


def print_differences(name, found, most):
    for place, before, after in found[:most]:
        print(f"{name}  {place}  before {shortened(before)}  after {shortened(after)}")
    if len(found) > most:
        print(f"{name}  and {len(found) - most} more differences")


def compare_answers(before, after, tolerance, most):
    """Print what differs; the number of cases that differ."""
    count = 0
    for name in [*before, *(name for name in after if name not in before)]:
        one, other = before.get(name, "(no such case)"), after.get(name, "(no such case)")
        if found := list(differences(one, other, tolerance)):
            count += 1
            print_differences(name, found, most)
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("write", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="", metavar="TEXT", help="cases with this text in their name")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="relative, of floats")
    parser.add_argument("--docs", type=Path, default=Path(__file__).resolve().parent.parent / "docs", metavar="DIR")
    parser.add_argument("--most", type=int, default=MOST, help="differences printed of a case")
    parser.add_argument("--slowest", type=int, default=0, help="print the time of so many cases")
    given = parser.parse_args()
    file, docs, times = given.file.resolve(), given.docs.resolve(), {}
    before = json.loads(file.read_text("utf-8")) if given.what == "compare" else {}
    print(f"densdiff of {Path(dd.__file__).parent}, guides of {docs}", file=sys.stderr)
    start = time.perf_counter()
    answers = run_all(docs, given.only, times)
    print(f"{len(answers)} cases in {time.perf_counter() - start:.0f} s", file=sys.stderr)
    for name in sorted(times, key=times.get, reverse=True)[: given.slowest]:
        print(f"{times[name]:6.2f} s  {name}", file=sys.stderr)
    if given.what == "write":
        file.write_text(json.dumps(answers, indent=0, ensure_ascii=False), "utf-8")
        return 0
    before = {name: answer for name, answer in before.items() if given.only in name}
    count = compare_answers(before, answers, given.tolerance, given.most)
    print(f"{len(answers)} cases, {count} differ")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
