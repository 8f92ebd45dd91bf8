"""Categories and missing values in a stream: the same in every form, levels that are new, changes that are seen."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import densdiff as dd
from densdiff import ChangeMonitor, DensDiffWarning, InputError
from tests.monitors import SMALL, W


def table(seed, n, shares=(0.6, 0.3, 0.1), missing=0.1):
    random = np.random.default_rng(seed)
    number = np.where(random.random(n) < missing, np.nan, random.normal(size=n))
    color = random.choice(["red", "green", "blue"], n, p=shares).astype(object)
    color[random.random(n) < missing / 2] = None
    return pd.DataFrame({"number": number, "color": color, "other": random.normal(size=n)})


REFERENCE, ROWS = table(0, 400), table(11, 60)


def made(reference=REFERENCE, **more):
    return ChangeMonitor(reference, **({"window": W, "run_length": 100, "model": SMALL, "random_state": 0} | more))


MONITOR = made()
STEPS = MONITOR.update_many(ROWS)


@pytest.fixture
def monitor():
    return MONITOR.reset()


def test_what_the_columns_are_is_known(monitor):
    assert monitor.names_ == ("number", "color", "other")
    assert monitor.levels_ == (None, ("blue", "green", "red", "(missing)"), None)
    assert monitor.incomplete_ == ("number",)
    note = monitor.warnings_[0]
    assert note.startswith("missing values are a level of their column; how often: 'number' ")
    assert len([step for step in STEPS if step.score is not None]) == len(ROWS) - W + 1


@pytest.mark.parametrize(
    "form",
    [
        lambda rows: [rows],
        lambda rows: [pl.from_pandas(rows)],
        lambda rows: [rows.to_dict("list")],
        lambda rows: [rows.to_dict("records")],
        lambda rows: [rows[["other", "number", "color"]]],
        lambda rows: [rows[:7], rows[7:8], rows[8:]],
    ],
    ids=["pandas", "polars", "mapping", "records", "another order", "in parts"],
)
def test_many_rows_are_the_same_in_every_form(form, monitor):
    assert [step for part in form(ROWS) for step in monitor.update_many(part)] == STEPS


@pytest.mark.parametrize(
    "form",
    [
        lambda row: row._asdict(),
        lambda row: row,
        list,
        tuple,
        lambda row: {name: None if value != value else value for name, value in row._asdict().items()},
        lambda row: pd.DataFrame([row]),
        lambda row: pd.DataFrame([row]).iloc[0],
        lambda row: np.array(list(row), dtype=object),
    ],
    ids=["mapping", "named tuple", "list", "tuple", "None for NaN", "frame", "series", "array"],
)
def test_one_row_is_the_same_in_every_form(form, monitor):
    assert [monitor.update(form(row)) for row in ROWS.itertuples(index=False)] == STEPS


def test_a_new_level_is_told_once_and_kept_in_the_state(monitor, tmp_path):
    row = {"number": 0.1, "color": "pink", "other": 0.2}
    step = monitor.update(row)
    assert step.new_levels == {"color": "pink"}
    assert monitor.update(row).new_levels is None
    monitor.save(tmp_path / "state")
    assert ChangeMonitor.load(tmp_path / "state").update(row).new_levels is None
    many = pd.DataFrame([row, row | {"color": "grey"}, row | {"color": "grey"}])
    assert [one.new_levels for one in monitor.update_many(many)] == [None, {"color": "grey"}, None]
    assert monitor.reset().update(row).new_levels == {"color": "pink"}


def test_new_levels_that_keep_coming_are_a_change(monitor):
    rows = [{"number": 0.0, "color": f"shade {k}", "other": 0.0} for k in range(40)]
    steps = [monitor.update(row) for row in rows]
    alarm = next(step for step in steps if step.alarm)
    assert next(iter(alarm.columns)) == "color"
    assert all(step.new_levels for step in steps)


def test_memory_of_new_levels_is_bounded(monitor):
    rows = pd.DataFrame({"number": 0.0, "color": [f"{k} " + "x" * 500 for k in range(1500)], "other": 0.0})
    found = [step.new_levels for step in monitor.update_many(rows)]
    assert sum(new is not None for new in found) == 1000
    assert max(len(new["color"]) for new in found if new) == 200


def test_a_missing_category_may_be_new():
    reference = pd.DataFrame({"a": ["x", "y"] * 100})
    monitor = made(reference)
    assert monitor.update({"a": None}).new_levels == {"a": "(missing)"}
    assert monitor.update(["x"]).new_levels is None
    assert monitor.update("y").new_levels is None


@pytest.mark.parametrize("seed", range(3))
def test_other_shares_of_levels_and_more_missing_values_are_found_in_their_columns(seed):
    monitor = made(table(seed, 2000), window=20, run_length=500)
    calm = table([seed, 1], 100)
    changes = {"color": table([seed, 2], 300, (0.2, 0.3, 0.5)), "number": table([seed, 3], 300, missing=0.6)}
    for name, rows in changes.items():
        monitor.reset().update_many(calm)
        alarm = next(step for step in monitor.update_many(rows) if step.alarm)
        assert alarm.columns[name] > 0.3
        assert alarm.index < 200


def test_a_saved_monitor_of_mixed_columns_goes_on_bit_by_bit(monitor, tmp_path):
    monitor.update_many(ROWS[:23])
    monitor.save(tmp_path / "state")
    again = ChangeMonitor.load(tmp_path / "state")
    assert (again.levels_, again.incomplete_, str(again)) == (monitor.levels_, monitor.incomplete_, str(monitor))
    assert again.update_many(ROWS[23:]) == STEPS[23:]


BAD = {
    "no number": ({"number": 0.0, "color": "red", "other": None}, "column 'other' of x: 1 missing value"),
    "text for a number": ({"number": "hot", "color": "red", "other": 0.0}, "column 'number' of x holds text"),
    "an infinite number": ({"number": np.inf, "color": "red", "other": 0.0}, "column 'number' of x: 1 infinite value"),
    "a list for a level": ({"number": 0.0, "color": ["red"], "other": 0.0}, "column 'color' of x "),
    "a column too few": ({"number": 0.0, "color": "red"}, "x lacks 'other'; it has 'number', 'color'"),
    "a value too few": ([0.0, "red"], "x has shape"),
}


@pytest.mark.parametrize(("row", "message"), BAD.values(), ids=list(BAD))
def test_a_bad_row_changes_nothing(row, message, monitor):
    monitor.update_many(ROWS[:9])
    with pytest.raises(InputError) as caught:
        monitor.update(row)
    assert str(caught.value).startswith(f"row 9 of the stream was refused and changed nothing: {message}")
    assert monitor.update_many(ROWS[9:]) == STEPS[9:]


def test_names_of_rows_are_left_out_and_a_column_without_a_value_is_refused():
    with pytest.warns(DensDiffWarning, match="almost every row has a level of its own, as in an identifier: 'id'"):
        monitor = made(REFERENCE.assign(id=[f"row {k}" for k in range(len(REFERENCE))]))
    assert monitor.names_ == ("number", "color", "other")
    with pytest.raises(InputError, match="column 'other' of reference has no value; leave it out"):
        made(REFERENCE.assign(other=np.nan))
    with pytest.raises(InputError, match=r"has missing values and also a level named '\(missing\)'; rename that level"):
        made(REFERENCE.assign(color=REFERENCE["color"].replace("blue", "(missing)")))


def test_categories_alone_can_be_watched():
    random = np.random.default_rng(0)
    monitor = made(pd.DataFrame({"a": random.choice(["x", "y"], 400), "b": random.choice(["u", "v"], 400)}))
    alike = random.choice(["x", "y"], 200)
    steps = monitor.update_many(pd.DataFrame({"a": alike, "b": np.where(alike == "x", "u", "v")}))
    assert any(step.alarm for step in steps)
    assert isinstance(dd.plots.plot_monitor(steps).get_title(loc="left"), str)
