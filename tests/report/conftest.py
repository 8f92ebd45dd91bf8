"""Results whose pages are looked at."""

import warnings

import numpy as np
import pytest

import densdiff as dd


@pytest.fixture(scope="package")
def compared():
    tables = dd.datasets.mixed_tables(300, correlation=0.8, random_state=1)
    a, b = tables.a, tables.b
    keep = ["spend", "satisfaction", "recommendation", "age", "region", "plan"]
    a, b = ({name: table[name].copy() for name in keep} for table in (a, b))
    b["plan"][:60] = None
    a["empty"], b["empty"] = (np.full(300, np.nan) for _ in range(2))
    with warnings.catch_warnings(action="ignore"):
        return dd.compare(a, b, missing="level", n_permutations=199, random_state=0)


@pytest.fixture(scope="package")
def changed():
    data = dd.datasets.piecewise_series([120], size=2.0, length=240, random_state=0)
    return dd.detect_changes(data.series, random_state=0)


@pytest.fixture(scope="package")
def balanced():
    random = np.random.default_rng(0)
    rows, labels = random.normal([[0.0], [2.0]] * 40), ["ill", "well"] * 40
    return dd.ClassBalance(random_state=0).fit(rows, labels).estimate(random.normal(2.0, 1.0, (50, 1)))
