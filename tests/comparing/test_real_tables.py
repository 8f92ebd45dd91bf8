"""The tables people have: the known story stands in the first five lines."""

from pathlib import Path

import pandas as pd
import pytest

import densdiff as dd

TABLES = Path(__file__).parents[3] / "shared" / "data" / "tables"
pytestmark = pytest.mark.skipif(not TABLES.exists(), reason="the real tables are not in the shared folder")

STORIES = {
    ("penguins_adelie.csv", "penguins_chinstrap.csv"): (
        "most in bill_length_mm (p <= 0.001)",
        "bill_length_mm: ",
        "(by 10, 3.3 deviations within the tables)",
    ),
    ("seattle_2012.csv", "seattle_2015.csv"): ("most in weather (p <= 0.001)", "rain 52.2 % -> 1.4 %"),
    ("fair_none.csv", "fair_some.csv"): (
        "most in rate_marriage (p <= 0.001)",
        "rate_marriage: ",
        "lower in second: mean 4.33 -> 3.647",
    ),
}
FLIGHTS = ("flights_january.csv.gz", "flights_july.csv.gz")
FLIGHTS_STORY = (
    "apart from month (1 -> 7 in every row); most in dep_delay (p <= ",
    "dep_delay: ",
    "higher in second: mean 10.04 -> 21.73 (by 11.7, ",
    "missing 1.9 % -> 3.2 %",
    "air_time: ",
    "lower in second: mean 154.2 -> 146.7",
)


def compared(names, **settings):
    a, b = (pd.read_csv(TABLES / name) for name in names)
    columns = [name for name in a if name not in ("date", "time_hour")]
    return dd.compare(a, b, names=("first", "second"), columns=columns, missing="level", random_state=0, **settings)


@pytest.mark.parametrize("names", STORIES, ids=lambda names: names[0].split("_")[0])
def test_the_known_story_stands_in_the_first_five_lines(names):
    found = compared(names)
    assert found.differ
    first = "\n".join(str(found).split("\n")[:5])
    assert first.startswith("At least ")
    for words in STORIES[names]:
        assert words in first


@pytest.mark.slow
def test_the_story_of_the_flights_stands_in_the_first_five_lines():
    found = compared(FLIGHTS)
    first = "\n".join(str(found).split("\n")[:5])
    for words in FLIGHTS_STORY:
        assert words in first
    names = [column.name for column in found.columns]
    assert max(names.index("dep_delay"), names.index("arr_delay")) < names.index("flight") < names.index("tailnum")
    assert found.differ
    assert str(found).count("dep_delay: missing") == 0


def test_delays_stand_before_flight_numbers():
    """Some of the rows, and the columns that matter: the whole takes a minute."""
    a, b = (pd.read_csv(TABLES / name).iloc[::8] for name in FLIGHTS)
    columns = ["month", "dep_delay", "flight", "air_time", "tailnum", "carrier"]
    found = dd.compare(
        a, b, names=("January", "July"), columns=columns, missing="level", n_permutations=99, random_state=0
    )
    names = [column.name for column in found.columns]
    assert set(names[:2]) == {"dep_delay", "air_time"}
    assert names.index("flight") < names.index("tailnum")
    first = "\n".join(str(found).split("\n")[:5])
    assert "would have to change for July to look like January, apart from month (1 -> 7 in every row)" in first
    assert f"most in {names[0]} (p <= 0.01)" in first
    assert "missing " in first
