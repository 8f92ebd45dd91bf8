"""`import densdiff` stays light: optional and heavy packages are imported by what needs them.

scikit-learn imports pandas by itself where it is installed (`sklearn.utils.fixes`), and pandas imports pyarrow. So
the public table loads its names when first used, and what they load is measured against `import sklearn.base`.
"""

import subprocess
import sys

HEAVY = ("matplotlib", "dask", "distributed", "numba", "jinja2", "pandas", "polars", "pyarrow", "typer", "rich")
FIT = (
    "pair = densdiff.datasets.gaussian_shift(0.5, n=20, random_state=0);"
    "densdiff.l2_distance(pair.x, pair.y, random_state=0);"
)


def run(code):
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def added_by(code):
    """Code that fails if running it loads a heavy package that scikit-learn had not loaded."""
    return (
        f"import sys, sklearn.base; heavy = set({HEAVY}); before = heavy & set(sys.modules); {code}"
        "added = heavy & set(sys.modules) - before; assert not added, added"
    )


def test_import_loads_no_optional_package_and_prints_nothing():
    assert run(f"import sys, densdiff; loaded = set({HEAVY}) & set(sys.modules); assert not loaded, loaded") == ""


def test_using_every_public_name_adds_nothing_heavy_to_scikit_learn():
    assert run(added_by("import densdiff; [getattr(densdiff, name) for name in densdiff.__all__];")) == ""


def test_fit_on_arrays_loads_no_optional_package():
    assert run(added_by(f"import densdiff; {FIT}")) == ""


def test_import_and_fit_work_where_no_optional_package_is_installed():
    # None in sys.modules makes an import fail as if the package were absent, for scikit-learn too
    run(f"import sys; sys.modules.update(dict.fromkeys({HEAVY})); import densdiff; {FIT}")


def test_public_table_is_complete_and_documented():
    code = (
        "import densdiff as dd;"
        "missing = [name for name in dd.__all__ if not hasattr(dd, name)]; assert not missing, missing;"
        "bare = [n for n in dd.__all__ if n != '__version__' and not (getattr(dd, n).__doc__ or '').strip()];"
        "assert not bare, bare"
    )
    run(code)
