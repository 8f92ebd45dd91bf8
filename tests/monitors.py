"""What the tests of the monitor share: a small one in three forms, its rows and the steps that they must give."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import densdiff as dd
from densdiff import ChangeMonitor

W = 5
SMALL = dd.LSDD(solver="centers", n_centers=12)
REFERENCE = np.random.default_rng(0).normal(size=(240, 2)) * [1.0, 50.0]
ROWS = np.random.default_rng(11).normal(size=(60, 2)) * [1.0, 50.0]  # without an alarm, which has names of columns
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def made(reference=REFERENCE, *, window=W, run_length=60, model=SMALL, random_state=0, **more):
    return ChangeMonitor(
        reference, window=window, run_length=run_length, model=model, random_state=random_state, **more
    )


def named(rows, library=pd.DataFrame, order=("a", "b"), **more):
    columns = {"a": rows[:, 0], "b": rows[:, 1], **more}
    return library({name: columns[name] for name in (*order, *more)})


def first_alarm(steps):
    return next((step.index for step in steps if step.alarm), None)


STEPS = made().update_many(ROWS)  # what every other way of passing the same rows must give
PLAIN, FRAMED, SINGLE = made(), made(named(REFERENCE)), made(REFERENCE[:, 0])


def renewed(monitor):
    """A fixture that gives the monitor as if it had seen nothing: to make one takes longer."""

    @pytest.fixture
    def found():
        return monitor.reset()

    return found


def saving(tmp_path):
    """A function that gives all that is saved of a monitor, byte by byte; a fixture of each module that needs it."""

    def saved(monitor):
        monitor.save(tmp_path / "state")
        return (tmp_path / "state").read_bytes()

    return saved
