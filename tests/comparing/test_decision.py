"""What makes `differ` true: all columns together, one of them, missing values or the schema; and from which size on."""

import numpy as np
import pytest

import densdiff as dd
from densdiff.comparing.effects import check_effects, smallest_effect

QUICK = {"n_permutations": 99, "random_state": 0}


def table(seed, n=300, **moved):
    random = np.random.default_rng(seed)
    made = {name: random.normal(size=n) for name in ("x", "y", "z")}
    return {name: values + moved.get(name, 0.0) for name, values in made.items()}


@pytest.mark.parametrize(
    ("least", "name", "expected"),
    [
        (0.1, "spend", 0.1),
        (0.1, "", 0.1),
        ({"spend": 0.02, "*": 0.1}, "spend", 0.02),
        ({"spend": 0.02, "*": 0.1}, "age", 0.1),
        ({"spend": 0.02, "*": 0.1}, "", 0.1),
        ({"spend": 0.02}, "age", 0.0),
        ({"spend": 0.02}, "", 0.0),
        ({"*_delay": 0.3, "dep_*": 0.2, "arr_delay": 0.1, "*": 0.5}, "arr_delay", 0.1),
        ({"*_delay": 0.3, "dep_*": 0.2, "*": 0.5}, "dep_delay", 0.3),
        ({"a[1]": 0.2, "*": 0.5}, "a[1]", 0.2),
    ],
)
def test_the_smallest_effect_is_that_of_the_name_then_of_the_longest_pattern(least, name, expected):
    assert smallest_effect(check_effects(least), name) == expected


@pytest.mark.parametrize(
    ("least", "message"),
    [
        ({"x": 2}, "min_effect must lie between 0 and 1, like the total variation; got 2 for 'x'"),
        ({1: 0.2}, "min_effect must name columns as text; got 1"),
        ({"w": 0.2}, "min_effect is given for 'w', which matches no column; there are 'x', 'y', 'z'"),
    ],
)
def test_smallest_effects_that_make_no_sense_are_named(least, message):
    with pytest.raises(dd.InputError) as caught:
        dd.compare(table(0, 20), table(1, 20), min_effect=least, n_permutations=39)
    assert str(caught.value) == message


def test_each_column_has_its_own_smallest_effect():
    a, b = table(0), table(1, x=1.0)
    found = dd.compare(a, b, **QUICK)
    assert found.reasons[0].startswith("all columns together differ: total variation ")
    assert [reason.split(":")[0] for reason in found.reasons[1:]] == ["column x differs"]
    size = found.columns[0].total_variation
    assert not dd.compare(a, b, min_effect={"*": 0.9}, **QUICK).differ
    only_x = dd.compare(a, b, min_effect={"x": size, "*": 0.9}, **QUICK)
    assert only_x.differ
    assert [reason.split(":")[0] for reason in only_x.reasons] == ["column x differs"]
    assert "less than" not in only_x.answer
    assert not dd.compare(a, b, min_effect={"x": np.nextafter(size, 1), "*": 0.9}, **QUICK).differ
    assert only_x.to_dict()["min_effect"] == {"x": size, "*": 0.9}
    assert only_x.min_effect_text == f"x {size:g}, * 0.9"


def test_a_column_differs_at_half_of_alpha_as_the_decision_does():
    for seed in range(6):
        found = dd.compare(table(seed, 60), table(seed + 50, 60, x=0.5), **QUICK)
        assert all(column.differs == (column.pvalue_adjusted <= 0.025) for column in found.columns)
        assert found.differ == bool(found.reasons)
        assert found.differ == (found.test.pvalue <= 0.025 or any(column.differs for column in found.columns))


@pytest.mark.hostile(47)
def test_a_column_that_is_gone_or_new_is_a_difference():
    a, b = table(0), table(1)
    lacking = {name: b[name] for name in ("x", "y")}
    with pytest.warns(dd.DensDiffWarning, match="columns left out"):
        found = dd.compare(a, lacking, names=("before", "after"), min_effect=0.5, **QUICK)
    assert found.differ
    assert found.reasons == ["column z is only in before"]
    assert found.answer.startswith("Column z is only in before; no other difference was found between before and after")
    with pytest.warns(dd.DensDiffWarning, match="columns left out"):
        added = dd.compare(lacking, b, **QUICK)
    assert added.reasons == ["column z is only in B"]
    assert not dd.compare(a, lacking, columns=["x", "y"], **QUICK).differ


def test_missing_values_have_their_part_of_the_level():
    """Columns and missing rates share half of alpha by their numbers, and stricter columns get more relabellings."""
    a, b = table(0), table(1)
    a["x"][::3] = np.nan
    whole, holes = dd.compare(a, b, columns=["y", "z"], **QUICK), dd.compare(a, b, missing="level", **QUICK)
    x = next(column for column in holes.columns if column.name == "x")
    assert x.differs
    assert x.direction == "missing 33.3 % -> 0.0 %"
    assert holes.reasons[-1].startswith("column x differs: total variation 0.333, p < 0.0001")
    assert whole.missing == []
    assert 0 < holes.missing[0].pvalue_adjusted < 1e-4
    assert [column.name for column in holes.columns] == ["x", *(c.name for c in holes.columns[1:])]
    assert len(holes.columns) == 3


def test_a_constant_that_names_the_table_hides_nothing():
    a, b = table(0), table(1, y=1.0)
    plain = dd.compare(a, b, names=("January", "July"), **QUICK)
    a["month"], b["month"] = np.full(300, 1), np.full(300, 7)
    found = dd.compare(a, b, names=("January", "July"), **QUICK)
    assert found.constants == ["month"]
    assert found.total_variation.value == plain.total_variation.value
    assert found.distance.normalized == plain.distance.normalized
    assert found.test.pvalue == plain.test.pvalue
    assert ", apart from month (1 -> 7 in every row); most in y (p <= 0.01)" in found.answer
    assert [column.name for column in found.columns if column.differs] == ["y", "month"]
    month = found.columns[1]
    assert month.total_variation == 1.0
    assert month.total_variation_interval[0] > 0.97
    assert not any("month" in region.rule for region in found.regions)
    alone = dd.compare({"month": a["month"]}, {"month": b["month"]}, **QUICK)
    assert (alone.constants, alone.effect) == ([], "very large")
    assert alone.total_variation.value == pytest.approx(1.0)
    quiet = dd.compare(table(0) | {"m": ["a"] * 300}, table(1) | {"m": ["b"] * 300}, **QUICK)
    assert quiet.answer.startswith("A and B differ in m (a -> b in every row); no other difference was found between ")
    assert quiet.differ


def test_all_columns_separate_no_less_than_the_column_that_moved():
    """HOSTILE 46: among 30 columns the joint witness may learn less than the column itself."""
    for seed in range(3):
        random = np.random.default_rng(seed)
        a, b = ({f"c{j}": random.normal(size=150) for j in range(30)} for _ in range(2))
        b["c7"] = b["c7"] + 1.0
        found = dd.compare(a, b, **QUICK)
        top = found.columns[0]
        assert top.name == "c7"
        assert found.total_variation.value >= top.total_variation
        assert 0 < found.total_variation.interval[0] <= found.total_variation.value
        assert found.effect != "negligible"
        assert found.total_variation.share_x - found.total_variation.share_y == pytest.approx(found.total_variation.raw)


def test_p_values_at_the_floor_of_the_permutations_are_limits():
    found = dd.compare(table(0), table(1, x=1.0), **QUICK)
    assert found.p_text == "p <= 0.01"
    assert found.columns[0].p_text == "p <= 0.01"
    assert found.columns[-1].p_text == f"p = {found.columns[-1].pvalue_adjusted:.3g}"
    uneven = dd.compare(table(0), table(1, 500, x=1.0), **QUICK)  # Holm, with relabellings of its own
    assert uneven.adjustment == "Holm"
    assert uneven.columns[0].is_smallest
    assert uneven.columns[0].p_text.startswith("p <= 0.00")
    with pytest.warns(dd.DensDiffWarning):
        exact = dd.compare({"x": [1.0, 2.0]}, {"x": [3.0, 4.0]}, **QUICK)
    assert exact.p_text == f"p = {exact.test.pvalue:.3g}"  # of all partitions: no limit
