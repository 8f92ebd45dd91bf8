"""The nightly job: what breaks in tables every day is found, named first, and ends with status 1."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import densdiff as dd
from tests.command_line import run

N = 1000
NIGHTLY = ("--min-effect", "0.01", "--fail-on-difference")  # as in the README


def night(seed, columns=6, n=N):
    """A table of numbers, a category and a rate, as it comes every night."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame({f"c{j}": random.normal(size=n) for j in range(columns)})
    table["weight"] = 70 + 10 * random.normal(size=n)
    table["colour"] = random.choice(["red", "green", "blue"], n, p=[0.5, 0.3, 0.2])
    return table


def times_100(table):
    table["c17"] *= 100
    return table


def shifted(table):
    table["c3"] += 0.5
    return table


def in_pounds(table):
    table["weight"] *= 2.20462
    return table


def with_sentinel(table):
    table.loc[table.index[::50], "weight"] = -999.0
    return table


def renamed(table):
    table["colour"] = table["colour"].replace("blue", "azure")
    return table


BROKEN = {
    "one of 50 columns times 100": (48, times_100, "c17", "wider in today.csv: standard deviation "),
    "one of 20 shifted by half a deviation": (18, shifted, "c3", "higher in today.csv: mean "),
    "kilograms to pounds": (6, in_pounds, "weight", "2.2"),
    "a sentinel in 2 % of the rows": (6, with_sentinel, "weight", "-999: 0.0 % -> 2.0 % of the rows"),
    "a category renamed": (6, renamed, "colour", "azure 0.0 % -> "),
}


@pytest.mark.hostile(46)
@pytest.mark.parametrize("case", BROKEN)
def test_what_broke_is_found_named_first_and_fails_the_job(case, tmp_path):
    columns, broken, name, words = BROKEN[case]
    night(0, columns).to_csv(tmp_path / "yesterday.csv", index=False)
    broken(night(1, columns)).to_csv(tmp_path / "today.csv", index=False)
    files = tmp_path / "yesterday.csv", tmp_path / "today.csv"
    code, text, _ = run("compare", *files, *NIGHTLY, "--seed", 1)
    assert code == 1
    lines = text.split("\n")
    assert f"; most in {name} (p <= 0.0" in lines[0]
    assert lines[2].startswith(f"  columns     {name}: ")
    assert words in lines[2]


@pytest.mark.hostile(47)
def test_a_column_that_is_gone_fails_the_job(tmp_path):
    night(0, n=200).to_csv(tmp_path / "yesterday.csv", index=False)
    night(1, n=200).drop(columns="weight").to_csv(tmp_path / "today.csv", index=False)
    files = tmp_path / "yesterday.csv", tmp_path / "today.csv"
    code, text, _ = run("compare", *files, *NIGHTLY, "--seed", 1)
    assert code == 1
    assert text.startswith("Column weight is only in yesterday.csv; ")


def test_a_night_like_any_other_is_quiet(tmp_path):
    night(0, n=200).to_csv(tmp_path / "yesterday.csv", index=False)
    night(1, n=200).to_csv(tmp_path / "today.csv", index=False)
    files = tmp_path / "yesterday.csv", tmp_path / "today.csv"
    code, text, _ = run("compare", *files, *NIGHTLY, "--seed", 1)
    assert code == 0
    assert text.startswith("No difference was found between yesterday.csv and today.csv (p = ")


def test_the_options_of_the_job_are_those_of_the_readme():
    readme = Path(__file__).parents[2].joinpath("README.md").read_text("utf-8")
    line = next(line for line in readme.splitlines() if "densdiff compare before.parquet after.parquet" in line)
    assert all(option in line.split() for option in NIGHTLY)


def test_the_headline_is_not_below_the_column_that_broke():
    found = dd.compare(night(0, 48), times_100(night(1, 48)), n_permutations=99, random_state=0)
    top = found.columns[0]
    assert top.name == "c17"
    assert found.total_variation.value >= top.total_variation > 0.8
    assert found.effect == "very large"


@pytest.mark.parametrize(
    ("options", "least"),
    [
        ((), 0.0),
        (("--min-effect", "0.1"), 0.1),
        (("--min-effect", "c1=0.02"), {"c1": 0.02}),
        (("--min-effect", "c1=0.02", "--min-effect", "0.1"), {"c1": 0.02, "*": 0.1}),
    ],
)
def test_smallest_effects_come_from_the_options(options, least, tmp_path):
    for name, seed in (("A.csv", 0), ("B.csv", 1)):
        night(seed, 2, 60).to_csv(tmp_path / name, index=False)
    code, text, _ = run(
        "compare", tmp_path / "A.csv", tmp_path / "B.csv", *options, "--json", "--seed", 1, "--permutations", 39
    )
    assert code == 0
    assert pd.io.json.ujson_loads(text)["min_effect"] == least


def test_an_option_that_is_no_number_is_named(tmp_path):
    for name, seed in (("A.csv", 0), ("B.csv", 1)):
        night(seed, 2, 60).to_csv(tmp_path / name, index=False)
    code, _, errors = run("compare", tmp_path / "A.csv", tmp_path / "B.csv", "--min-effect", "c1=lots")
    assert code == 2
    need = "--min-effect must be a number such as 0.1, or a column and one, as spend=0.02"
    assert errors == f"densdiff: {need}; got 'c1=lots'\n"
