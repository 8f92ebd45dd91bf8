"""Calls in several threads at once give what each gives alone: nothing that they share changes.

Needs no more than the library itself, so that it runs on every build of Python, those without a global lock too.
"""

import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import densdiff as dd

THREADS = 4


def tables(seed):
    """Two tables of a number and a category; the number differs."""
    random = np.random.default_rng(seed)
    rows = [{"x": random.normal(shift, 1, 80), "word": random.choice(["u", "v"], 80)} for shift in (0.0, 1.5)]
    return {"A": rows[0], "B": rows[1]}


def few(seed):
    """Settings of a quick test."""
    return {"n_permutations": 39, "random_state": seed}


def samples(seed):
    random = np.random.default_rng(seed)
    return random.normal(0, 1, (60, 2)), random.normal(0.7, 1, (50, 2))


def labelled(seed):
    X, Y = samples(seed)
    return np.vstack([X, Y + 1.0]), np.repeat([0, 1], [60, 50]), Y


def pair_model(make):
    def ask(seed):
        X, Y = samples(seed)
        return make(random_state=seed).fit(X, Y).predict(X).tobytes()

    return ask


def classified(seed):
    X, y, new = labelled(seed)
    balance = dd.ClassBalance(random_state=seed)
    return dd.PriorShiftClassifier(LogisticRegression(), balance).fit(X, y, new).predict_proba(new).tobytes()


def balanced(seed):
    X, y, new = labelled(seed)
    return dd.ClassBalance(random_state=seed).fit(X, y).estimate(new).to_json()


def banded(seed):
    X, Y = samples(seed)
    return dd.LSDD(random_state=seed).fit(X, Y).confidence_band(X[:5]).to_json()


def changed(seed):
    random = np.random.default_rng(seed)
    return dd.detect_changes(random.normal(np.repeat([0.0, 3.0], 60), 1.0), random_state=seed).to_json()


def monitored(seed):
    random = np.random.default_rng(seed)
    monitor = dd.ChangeMonitor(random.normal(size=(300, 1)), window=10, run_length=100, random_state=seed)
    return [step.to_dict() for step in monitor.update_many(random.normal(1.0, 1.0, (30, 1)))]


def profiled(seed):
    two = tables(seed)
    return dd.compare(dd.profile(two["A"], random_state=seed), two["B"], names=("A", "B"), **few(seed)).to_json()


def least_squares(seed):
    X, y, new = labelled(seed)
    return dd.LeastSquaresClassifier([1.0], random_state=seed).fit(X, y).predict(new).tobytes()


# What a person can ask, by its public name.
CALLS = {
    "LSDD": pair_model(dd.LSDD),
    "KDEDifference": pair_model(dd.KDEDifference),
    "KLIEP": pair_model(dd.KLIEP),
    "Band": banded,
    "l2_distance": lambda seed: dd.l2_distance(*samples(seed), random_state=seed).to_json(),
    "total_variation": lambda seed: dd.total_variation(*samples(seed), random_state=seed).to_json(),
    "two_sample_test": lambda seed: dd.two_sample_test(*samples(seed), **few(seed)).to_json(),
    "anytime_pvalues": lambda seed: dd.anytime_pvalues([0.01, 0.5, 0.1 / (1 + seed)]).tobytes(),
    "compare": lambda seed: dd.compare(**tables(seed), **few(seed)).to_json(),
    "compare_by": lambda seed: dd.compare_by(**tables(seed), by="word", **few(seed)).to_json(),
    "track": lambda seed: dd.track({"b": tables(seed)["B"]}, reference=tables(seed)["A"], **few(seed)).to_json(),
    "profile": profiled,
    "ClassBalance": balanced,
    "PriorShiftClassifier": classified,
    "LeastSquaresClassifier": least_squares,
    "detect_changes": changed,
    "ChangeMonitor": monitored,
}
# A connection is opened by whoever reads it, and tests of it need a driver.
WITHOUT_ROWS = {"sql"}


@pytest.fixture(autouse=True)
def _small_samples_are_small():
    """Few rows are quick; what the library says of that stands in its results too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dd.DensDiffWarning)
        yield


def in_threads(ask, arguments):
    """The answers to all arguments, all asked at once."""
    start = Barrier(len(arguments))

    def wait_and_ask(argument):
        start.wait()
        return ask(argument)

    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(wait_and_ask, arguments))


def test_every_public_call_is_in_the_list():
    calls = {name for name in dd.__all__ if callable(getattr(dd, name)) and name[0].islower()}
    models = {name for name in dd.__all__ if hasattr(getattr(dd, name), "fit") or hasattr(getattr(dd, name), "update")}
    assert (calls | models) - CALLS.keys() == WITHOUT_ROWS


@pytest.mark.parametrize("name", CALLS)
def test_calls_in_threads_give_the_bits_of_calls_in_a_row(name):
    seeds = range(THREADS)
    assert in_threads(CALLS[name], seeds) == [CALLS[name](seed) for seed in seeds]


def test_different_questions_at_once_give_the_bits_of_each_alone():
    assert in_threads(lambda name: CALLS[name](0), list(CALLS)) == [ask(0) for ask in CALLS.values()]


def fitted(make):
    return lambda: make(random_state=0).fit(*samples(0))


# What may be asked again and again once it is fitted: how it is made, and how rows are asked about.
MODELS = {
    "LSDD.predict": (fitted(dd.LSDD), lambda model, rows: model.predict(rows).tobytes()),
    "LSDD.confidence_band": (fitted(dd.LSDD), lambda model, rows: model.confidence_band(rows).to_json()),
    "LSDD.densities": (fitted(dd.LSDD), lambda model, rows: [each.tobytes() for each in model.densities(rows)]),
    "LSDD.l2_distance": (fitted(dd.LSDD), lambda model, rows: model.l2_distance().to_json()),
    "KDEDifference": (fitted(dd.KDEDifference), lambda model, rows: model.predict(rows).tobytes()),
    "KLIEP": (fitted(dd.KLIEP), lambda model, rows: model.predict(rows).tobytes()),
    "ClassBalance": (
        lambda: dd.ClassBalance(random_state=0).fit(*labelled(0)[:2]),
        lambda model, rows: model.estimate(rows).to_json(),
    ),
    "Profile": (
        lambda: dd.profile(tables(0)["A"], random_state=0),
        lambda reference, rows: dd.compare(reference, tables(abs(int(rows[0, 0] * 1e6)))["B"], **few(0)).to_json(),
    ),
    "Comparison": (
        lambda: dd.compare(**tables(0), **few(0)),
        lambda result, rows: (str(result), result.to_json(), result.to_markdown()),
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_one_fitted_model_answers_many_threads(name):
    make, ask = MODELS[name]
    model, X = make(), samples(0)[0]
    points = [X[k : k + 10] for k in range(0, 10 * THREADS, 10)]
    assert in_threads(lambda rows: ask(model, rows), points) == [ask(model, rows) for rows in points]
