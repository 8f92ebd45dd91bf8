"""`import densdiff` stays light: optional and heavy packages are imported by what needs them.

scikit-learn imports pandas by itself where it is installed (`sklearn.utils.fixes`), and pandas imports pyarrow. So
the public table loads its names when first used, and the questions that need no estimator do without scikit-learn.
"""

import json
import subprocess
import sys

import pytest

import densdiff as dd

HEAVY = ("matplotlib", "dask", "distributed", "numba", "jinja2", "pandas", "polars", "pyarrow", "typer", "rich")
FIT = (
    "pair = densdiff.datasets.gaussian_shift(0.5, n=20, random_state=0);"
    "densdiff.l2_distance(pair.x, pair.y, random_state=0);"
)


def run(code):
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def loaded():
    """The heavy packages that one process has loaded after each step, in this order; its only output is this table."""
    steps = {
        "import densdiff": "import densdiff",
        "import sklearn": "import sklearn.base",
        "fit": FIT,
        "every name": "[getattr(densdiff, name) for name in densdiff.__all__]",
    }
    lines = ["import sys, json", "found = {}"]
    for name, code in steps.items():
        lines += [code, f"found[{name!r}] = [name for name in {HEAVY} if name in sys.modules]"]
    return json.loads(run("\n".join([*lines, "print(json.dumps(found))"])))


def test_import_loads_no_optional_package_and_prints_nothing(loaded):
    assert loaded["import densdiff"] == []


def test_using_every_public_name_adds_nothing_heavy_to_scikit_learn(loaded):
    assert loaded["every name"] == loaded["import sklearn"]


def test_fit_on_arrays_loads_no_optional_package(loaded):
    assert loaded["fit"] == loaded["import sklearn"]


def test_import_and_fit_work_where_no_optional_package_is_installed():
    # None in sys.modules makes an import fail as if the package were absent, for scikit-learn too
    run(f"import sys; sys.modules.update(dict.fromkeys({HEAVY})); import densdiff; {FIT}")


@pytest.mark.parametrize("question", ["l2_distance", "total_variation", "two_sample_test", "compare"])
def test_questions_of_two_samples_load_neither_scikit_learn_nor_what_it_loads(question):
    code = (
        "import sys, warnings, numpy as np, densdiff; warnings.simplefilter('ignore');"
        "rows = np.random.default_rng(0).normal(size=(2, 40, 2));"
        f"densdiff.{question}(*rows, random_state=0);"
        "print([name for name in ('sklearn', 'pandas', 'scipy.stats', 'joblib') if name in sys.modules])"
    )
    assert run(code).strip() == "[]"


def test_public_table_is_complete_and_documented():
    assert [name for name in dd.__all__ if not hasattr(dd, name)] == []
    bare = [name for name in dd.__all__ if name != "__version__" and not (getattr(dd, name).__doc__ or "").strip()]
    assert bare == []
