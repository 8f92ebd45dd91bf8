"""compare: what is found, in which words, and what does not change the answer."""

import copy
import gc
import json
import pickle
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from threading import Barrier

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import norm

import densdiff as dd
from densdiff import messages
from densdiff.comparing import wording
from densdiff.core import radial
from densdiff.core.rules import Condition
from densdiff.data.tables import match_tables

FEW = 39  # permutations: enough for p = 0.025


def compared(a, b, **settings):
    return dd.compare(a, b, **{"n_permutations": FEW, "random_state": 0, **settings})


def table(seed, n, shift=0.0, share=0.5, correlation=0.0):
    """Numbers, whole numbers, text and booleans."""
    random = np.random.default_rng(seed)
    x, z = random.normal(size=(2, n))
    return {
        "x": x + shift,
        "z": correlation * x + np.sqrt(1 - correlation**2) * z,
        "count": random.poisson(2.0, n),
        "city": np.where(random.random(n) < share, "Ulm", "Bonn").astype(object),
        "member": random.random(n) < 0.5,
    }


def by_name(found):
    return {column.name: column for column in found.columns}


def numbers_of(found):
    """All that is a finding, without what only says how it came about."""
    return found.to_dict() | {"warnings": None, "left_out": None}


@pytest.fixture(scope="module")
def planted():
    tables = dd.datasets.mixed_tables(2000, random_state=0)
    return tables, compared(tables.a, tables.b, n_permutations=99)


@pytest.fixture(scope="module")
def interaction():
    tables = dd.datasets.mixed_tables(2000, shift=0, share=None, correlation=0.7, random_state=0)
    return tables, compared(tables.a, tables.b, n_permutations=99)


@pytest.fixture(scope="module")
def small():
    return compared(table(0, 60), table(1, 60, shift=1.5, share=0.1))


@pytest.fixture(scope="module")
def equal():
    """Five comparisons of tables that differ by chance alone."""
    return [compared(table(2 * k, 80), table(2 * k + 1, 76), random_state=k) for k in range(5)]


def test_a_planted_column_is_on_top(planted):
    tables, found = planted
    first = found.columns[0]
    assert found.differ
    assert first.name == tables.shifted
    assert first.differs
    assert first.pvalue_adjusted == 1 / 100
    assert first.direction.startswith("higher in B: mean ")
    assert first.interval[0] <= first.normalized <= first.interval[1]
    order = [(not column.differs, -min(column.moved, column.total_variation_interval[0])) for column in found.columns]
    assert order == sorted(order)
    assert sorted(by_name(found)) == sorted(tables.a)


def test_planted_regions_are_found_with_their_shares(planted):
    tables, found = planted
    assert all([each["column"] for each in region.conditions] != ["spend"] for region in found.regions)  # a column
    region = next(each for each in found.regions if [c["column"] for c in each.conditions] == ["age", "region"])
    age, place = region.conditions
    assert place["levels"] == ["north"]
    assert 55 < age["low"] < 65
    assert age["high"] is None
    assert region.interval[0] <= region.share_b - region.share_a <= region.interval[1]
    assert 0 < region.interval[0] <= tables.share_b - tables.share_a <= region.interval[1]
    assert str(region).startswith(f"age > {age['low']:g} and region = north: ")
    assert " % of A, " in str(region)


def test_a_planted_region_alone_is_the_first_region():
    tables = dd.datasets.mixed_tables(2000, shift=0, random_state=1)
    found = compared(tables.a, tables.b, columns=["age", "plan", "region"])
    first = found.regions[0]
    assert sorted(each["column"] for each in first.conditions) == ["age", "region"]
    assert "region = north" in first.rule
    assert first.share_b > 1.5 * first.share_a
    assert first.pvalue_adjusted <= found.alpha


def test_the_shares_of_a_region_are_those_of_rows_it_was_not_found_on(planted):
    tables, found = planted
    for region in found.regions:
        inside = []
        for rows in (tables.a, tables.b):
            mask = np.ones(2000, dtype=bool)
            for each in region.conditions:
                values = rows[each["column"]]
                if each["levels"] is not None:
                    mask &= np.isin(values.astype(str), each["levels"])
                else:
                    mask &= (values > (-np.inf if each["low"] is None else each["low"])) & (
                        values <= (np.inf if each["high"] is None else each["high"])
                    )
            inside.append(int(mask.sum()))
        assert 0 < region.count_a + region.count_b < sum(inside)
        assert region.count_a <= inside[0]
        assert region.count_b <= inside[1]
        halves = [
            count / share for count, share in ((region.count_a, region.share_a), (region.count_b, region.share_b))
        ]
        assert halves == pytest.approx([1000, 1000], abs=1)


def test_an_interaction_is_found_by_the_joint_test_and_named_as_a_pair(interaction):
    tables, found = interaction
    assert found.differ
    assert found.test.pvalue == 1 / 100
    assert not any(column.differs for column in found.columns)
    assert all(column.direction == "no significant change" for column in found.columns)
    assert [(pair.first, pair.second) for pair in found.pairs] == [tables.pair]
    pair = found.pairs[0]
    assert abs(pair.dependence_a) < 0.1
    assert 0.6 < pair.dependence_b < 0.75
    assert f"satisfaction and recommendation: {pair.measure}" in str(found)


def test_equal_tables_have_no_findings_in_most_runs(equal):
    findings = [
        [
            found.differ,
            any(column.differs for column in found.columns),
            bool(found.pairs),
            bool(found.regions),
        ]
        for found in equal
    ]
    assert (np.sum(findings, axis=0) <= 1).all()
    assert all(found.missing == [] and found.left_out == [] for found in equal)


def test_the_answer_leads_with_the_rows_that_would_have_to_change(small, equal, planted):
    lower = small.total_variation.interval[0]
    share = f"At least {100 * np.floor(100 * lower) / 100:.0f} % of the rows would have to change for B to look like A"
    assert small.answer == f"{share}; most in {small.columns[0].name} (p <= 0.025)"
    quiet = next(found for found in equal if found.test.pvalue > 0.025 and not any(c.differs for c in found.columns))
    assert quiet.answer == f"No difference was found between A and B (p = {quiet.test.pvalue:.3g})"
    assert quiet.reasons == []
    for found in (small, quiet, planted[1]):
        first, second, *_ = str(found).split("\n")
        assert first == found.answer
        low, high = found.distance.normalized_interval
        assert second.startswith(f"  effect      {found.effect}: total variation {found.total_variation.value:.3g}, ")
        assert second.endswith(f"L2 distance {found.distance.normalized:.3g} [{low:.3g}, {high:.3g}] out of 1")


def test_row_42_many_rows_with_a_tiny_shift_are_negligible_first():
    random = np.random.default_rng(0)
    a, b = {"x": random.normal(size=80_000)}, {"x": random.normal(size=100_000) + 0.04}
    found = compared(a, b, min_effect=0.08)
    assert found.test.pvalue <= 0.025
    assert found.columns[0].differs
    assert found.effect == "negligible"
    assert not found.differ
    assert found.reasons == []
    low, high = found.distance.normalized_interval
    assert 0 <= low <= 1 - np.exp(-(0.04**2) / 4) <= high < 0.01
    assert "of the rows would have to change" in found.answer or "differ, but in too few rows" in found.answer
    assert ", less than the smallest effect that counts (0.08); most in x " in found.answer
    assert (found.distance.n_x, found.distance.n_y) == (80_000, 100_000)  # one column is looked at as a whole


@pytest.mark.parametrize(
    ("variation", "word"),
    [
        (0.0, "negligible"),
        (0.0799, "negligible"),
        (0.08, "small"),
        (0.1999, "small"),
        (0.2, "medium"),
        (0.3099, "medium"),
        (0.31, "large"),
        (0.599, "large"),
        (0.6, "very large"),
        (1.0, "very large"),
    ],
)
def test_the_words_of_effect_change_at_their_limits(variation, word):
    assert wording.effect_word(variation) == word


@pytest.mark.parametrize(
    ("deviations", "word"), [(0.19, "negligible"), (0.3, "small"), (0.6, "medium"), (1.0, "large"), (2.0, "very large")]
)
def test_the_words_of_effect_are_those_of_shifted_normal_populations(deviations, word):
    assert wording.effect_word(2 * norm.cdf(deviations / 2) - 1) == word


def test_min_effect_asks_for_what_matters():
    a, b = {"x": table(0, 60)["x"]}, {"x": table(1, 60, shift=1.5)["x"]}
    plain = compared(a, b)
    size = plain.total_variation.value
    assert size == plain.columns[0].total_variation
    assert plain.differ
    for least, differ in ((0, True), (size, True), (np.nextafter(size, 1), False), (1, False)):
        found = compared(a, b, min_effect=least)
        assert found.differ is differ
        assert bool(found.reasons) is differ
        assert found.min_effect == least
        assert found.total_variation.value == size
        assert ("less than the smallest effect that counts" in found.answer) is not differ


def test_alpha_decides_what_is_significant(small):
    with pytest.warns(dd.DensDiffWarning, match="39 permutations cannot reach a p-value of 0.005, half of alpha"):
        strict = compared(table(0, 60), table(1, 60, shift=1.5, share=0.1), alpha=0.01)
    assert small.test.pvalue == strict.test.pvalue == 1 / 40
    assert small.differ
    assert not strict.differ
    assert not any(column.differs for column in strict.columns)
    assert strict.answer == "No difference was found between A and B (p <= 0.025)"
    assert any("39 permutations cannot reach a p-value of 0.005" in note for note in strict.warnings)


@pytest.mark.parametrize(
    ("n", "m", "how"), [(40, 40, "Westfall-Young"), (44, 40, "Westfall-Young"), (40, 45, "Holm"), (60, 30, "Holm")]
)
def test_the_adjustment_is_named(n, m, how):
    a, b = table(0, n, share=0.9), table(1, m, share=0.1)
    found = compared(a, b, columns=["city", "member"])
    assert found.adjustment == how
    assert f"{sum(column.differs for column in found.columns)} of 2 differ ({how}, p at most 0.025)" in str(found)
    p = by_name(found)
    assert p["city"].pvalue_adjusted >= p["city"].pvalue
    if how == "Holm":
        assert p["city"].pvalue_adjusted == 2 * p["city"].pvalue


def test_the_p_value_is_that_of_the_column_where_the_whole_is_not_significant(small):
    found = replace(small, test=replace(small.test, pvalue=0.3))
    assert found.answer.endswith(f"; most in {small.columns[0].name} ({small.columns[0].p_text})")


def test_kinds_and_directions(small):
    columns = by_name(small)
    assert {name: column.kind for name, column in columns.items()} == {
        "x": "number",
        "z": "number",
        "count": "number",
        "city": "category",
        "member": "category",
    }
    assert columns["x"].direction.startswith("higher in B: mean ")
    a, b = (float(np.mean(rows["city"] == "Ulm")) for rows in (table(0, 60), table(1, 60, share=0.1)))
    assert f"Ulm {100 * a:.1f} % -> {100 * b:.1f} %" in columns["city"].direction
    assert all((column.direction == "no significant change") != column.differs for column in small.columns)
    assert not columns["z"].differs


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (Condition(0, low=61.5, high=np.inf), "age > 61.5"),
        (Condition(0, low=-np.inf, high=3.0), "age <= 3"),
        (Condition(0, low=1.0, high=3.0), "1 < age <= 3"),
        (Condition(1, levels=(2,)), "city = c"),
        (Condition(1, levels=(0, 1)), "city in {a, b}"),
        (Condition(1, levels=(0, 1, 2, 3)), "city != e"),
        (Condition(1, levels=(0, 1, 2)), "city not in {d, e}"),
    ],
)
def test_conditions_are_worded(condition, text):
    assert wording.condition_text(condition, ["age", "city"], [None, tuple("abcde")]) == text


def test_shares_have_digits_that_tell_them_from_zero():
    assert [messages.percent(share) for share in (0, 1e-5, 0.00099, 0.001, 0.123, 1)] == [
        "0.0 %",
        "0.001 %",
        "0.099 %",
        "0.1 %",
        "12.3 %",
        "100.0 %",
    ]


def arrays(rows):
    return pd.DataFrame(rows).drop(columns=["city", "member"]).to_numpy(dtype=float)


FORMS = {
    "dict": dict,
    "lists": lambda rows: {name: values.tolist() for name, values in rows.items()},
    "pandas": pd.DataFrame,
    "pandas category": lambda rows: pd.DataFrame(rows).astype({"city": "category"}),
    "pandas reordered": lambda rows: pd.DataFrame(rows).iloc[:, ::-1],
    "polars": pl.DataFrame,
    "polars category": lambda rows: pl.DataFrame(rows).with_columns(pl.col("city").cast(pl.Categorical)),
    "pyarrow": pa.table,
    "pyarrow dictionary": lambda rows: pa.table(rows | {"city": pa.array(rows["city"]).dictionary_encode()}),
}


@pytest.mark.parametrize("form", [form for form in FORMS if form != "dict"])
def test_every_form_of_a_table_gives_the_same_answer(form, small):
    a, b = table(0, 60), table(1, 60, shift=1.5, share=0.1)
    other = FORMS[form](b) if form == "pandas reordered" else b  # columns are in A's order
    found = compared(a if form == "pandas reordered" else FORMS[form](a), other)
    assert found.to_dict() == small.to_dict()


def test_tables_from_two_libraries_are_compared(small):
    a, b = table(0, 60), table(1, 60, shift=1.5, share=0.1)
    assert compared(pd.DataFrame(a), pl.DataFrame(b)).to_dict() == small.to_dict()


def test_arrays_have_numbered_columns_and_the_answer_of_a_frame():
    a, b = (arrays(table(seed, 50, shift)) for seed, shift in ((0, 0.0), (1, 1.0)))
    found = compared(a, b)
    names = ["x0", "x1", "x2"]
    framed = compared(*(pd.DataFrame(rows, columns=names) for rows in (a, b)))
    assert sorted(by_name(found)) == names
    assert found.to_dict() == framed.to_dict()
    assert compared(a.tolist(), b.tolist()).to_dict() == found.to_dict()
    named = compared(pd.DataFrame(a, columns=list("uvw")), b)
    assert sorted(by_name(named)) == list("uvw")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same two tables in each format."""
    folder = tmp_path_factory.mktemp("files")
    for name, rows in (("A", table(0, 60)), ("B", table(1, 60, shift=1.5, share=0.1))):
        frame = pd.DataFrame(rows)
        frame.to_csv(folder / f"{name}.csv", index=False)
        frame.to_parquet(folder / f"{name}.parquet")
        frame.to_json(folder / f"{name}.jsonl", orient="records", lines=True, double_precision=15)
        np.save(folder / f"{name}.npy", arrays(rows))
    return folder


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_files_give_the_answer_of_the_tables_in_them(ending, files, small):
    paths = [files / f"{name}.{ending}" for name in "AB"]
    found = compared(*(paths if ending != "csv" else map(str, paths)), names=("A", "B"))
    if ending == "jsonl":  # 15 digits
        assert found.distance.normalized == pytest.approx(small.distance.normalized, rel=1e-9)
        assert [c.name for c in found.columns] == [c.name for c in small.columns]
        assert [c.pvalue_adjusted for c in found.columns] == [c.pvalue_adjusted for c in small.columns]
        assert found.test.pvalue == small.test.pvalue
    else:
        assert found.to_dict() == small.to_dict()


def test_a_file_of_numbers_gives_the_answer_of_its_array(files):
    found = compared(files / "A.npy", files / "B.npy", names=("A", "B"))
    expected = compared(arrays(table(0, 60)), arrays(table(1, 60, shift=1.5, share=0.1)))
    assert found.to_dict() == expected.to_dict()


def test_a_file_and_a_frame_are_compared(files, small):
    found = compared(files / "A.parquet", table(1, 60, shift=1.5, share=0.1), names=("A", "B"))
    assert found.to_dict() == small.to_dict()


def test_tables_are_called_as_the_user_calls_them(files, small, tmp_path):
    assert small.names == ("A", "B")
    assert compared(files / "A.csv", files / "B.parquet").names == ("A.csv", "B.parquet")
    paths = [tmp_path / month / "orders.csv" for month in ("january", "july")]
    for path in paths:
        path.parent.mkdir()
        path.write_bytes((files / "A.csv").read_bytes())
    assert compared(*paths).names == ("january/orders.csv", "july/orders.csv")
    assert compared(*paths, names=["January", "July"]).names == ("January", "July")
    for wrong in ("AB", ("A", "A"), ("A", " "), ("A", 3), ("A",)):
        with pytest.raises(dd.InputError, match="names must be two different texts"):
            compared(*paths, names=wrong)


def test_the_same_seed_gives_the_same_answer(small):
    a, b = table(0, 60), table(1, 60, shift=1.5, share=0.1)
    assert compared(a, b).to_json() == small.to_json()
    drawn = [compared(a, b, columns=["city"], random_state=np.random.default_rng(5)) for _ in range(2)]
    assert drawn[0].to_json() == drawn[1].to_json()
    assert (
        compared(a, b, columns=["city"], random_state=None).seed
        != compared(a, b, columns=["city"], random_state=None).seed
    )


def test_inputs_are_left_as_they_were():
    a, b = table(0, 30), table(1, 30)
    a["x"][3] = np.nan
    a["city"][4] = None
    frames = [pd.DataFrame(rows) for rows in (a, b)]
    before = copy.deepcopy([a, b]), [frame.copy(deep=True) for frame in frames]
    for given in ((a, b), frames):
        compared(*given, missing="level")
        with pytest.warns(dd.DensDiffWarning, match="dropped"):
            compared(*given, missing="drop")
    for given, rows in zip((a, b), before[0], strict=True):
        for name, values in rows.items():
            np.testing.assert_array_equal(given[name], values)
    for frame, same in zip(frames, before[1], strict=True):
        pd.testing.assert_frame_equal(frame, same)


def test_read_only_arrays_are_compared():
    a, b = table(0, 30)["x"], table(1, 30)["x"]
    for values in (a, b):
        values.flags.writeable = False
    assert compared(a, b).n_x == 30


def test_swapping_the_tables_mirrors_the_answer():
    a, b = table(0, 100), table(1, 95, shift=1.0, share=0.2, correlation=0.9)
    del a["member"], b["member"]
    a["count"] = a["count"].astype(float)
    a["count"][:20] = np.nan
    forth, back = compared(a, b, missing="level"), compared(b, a, missing="level")
    assert forth.distance.normalized == pytest.approx(back.distance.normalized, rel=1e-9)
    assert forth.distance.normalized_interval == pytest.approx(back.distance.normalized_interval, rel=1e-9)
    assert (forth.differ, forth.effect, forth.adjustment) == (back.differ, back.effect, back.adjustment)
    mirrored = by_name(back)
    for column in forth.columns:
        other = mirrored[column.name]
        assert column.normalized == pytest.approx(other.normalized, rel=1e-9, abs=1e-12)
        assert column.interval == pytest.approx(other.interval, rel=1e-9, abs=1e-12)
    assert by_name(forth)["x"].direction.startswith("higher in B")
    assert mirrored["x"].direction.startswith("lower in B")
    for text in mirrored["city"].direction.split(", "):
        level, shares = text.split(" ", 1)
        assert f"{level} {' -> '.join(reversed(shares.split(' -> ')))}" in by_name(forth)["city"].direction
    assert [(pair.dependence_a, pair.dependence_b) for pair in forth.pairs] == [
        (pytest.approx(pair.dependence_b), pytest.approx(pair.dependence_a)) for pair in back.pairs
    ]
    assert (forth.pairs[0].first, forth.pairs[0].second) == ("x", "z")
    (rate,), (other,) = forth.missing, back.missing
    assert (rate.share_a, rate.share_b) == (other.share_b, other.share_a) == (0.2, 0.0)
    assert rate.pvalue_adjusted == pytest.approx(other.pvalue_adjusted)


def test_columns_chooses_and_gives_the_answer_of_that_column_alone():
    a, b = table(0, 50), table(1, 50, shift=1.0)
    chosen = compared(a, b, columns=["x"])
    assert chosen.to_dict() == compared({"x": a["x"]}, {"x": b["x"]}).to_dict()
    assert chosen.left_out == []
    assert compared(a, b, columns=("x", "x")).to_dict() == chosen.to_dict()
    assert [c.name for c in compared(arrays(a), arrays(b), columns=["x1"]).columns] == ["x1"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"columns": ["xx"]}, "A has no column 'xx' (did you mean 'x'?); it has 'x', 'z', 'count', 'city', 'member'"),
        ({"columns": "w"}, "A has no column 'w'; it has 'x', 'z', 'count', 'city', 'member'"),
        ({"columns": [1]}, "columns must be a list of names as strings, such as '1'; got 1"),
        ({"columns": []}, "columns is empty; name at least 1 column, or leave it out to use all"),
        ({"alpha": 5}, "alpha must lie strictly between 0 and 1; got 5 (did you mean 0.05?)"),
        ({"alpha": 0}, "alpha must lie strictly between 0 and 1; got 0"),
        ({"min_effect": -0.1}, "min_effect must lie between 0 and 1, like the total variation; got -0.1"),
        ({"min_effect": np.nan}, "min_effect must lie between 0 and 1, like the total variation; got nan"),
        ({"min_effect": "small"}, "min_effect must lie between 0 and 1, like the total variation; got 'small'"),
        ({"min_effect": True}, "min_effect must lie between 0 and 1, like the total variation; got True"),
        ({"missing": "dorp"}, "missing must be one of 'error', 'drop', 'level'; got 'dorp' (did you mean 'drop'?)"),
        ({"n_permutations": 0}, "n_permutations must be a whole number, at least 1; got 0"),
        (
            {"random_state": "0"},
            "random_state must be None, a whole number of at least 0 or a NumPy generator; got '0'",
        ),
    ],
)
def test_arguments_out_of_range_are_named(settings, message):
    with pytest.raises(dd.InputError) as caught:
        compared(table(0, 10), table(1, 10), **settings)
    assert str(caught.value) == message


def test_different_missing_rates_are_a_finding():
    a, b = table(0, 80), table(1, 80)
    a["x"][::4] = np.nan
    b["city"][0] = None
    for missing in ("level", "drop"):
        if missing == "drop":
            with pytest.warns(dd.DensDiffWarning, match="rows with missing values were dropped: 20 of A and 1 of B"):
                found = compared(a, b, missing=missing)
            assert "rows with missing values were dropped: 20 of A and 1 of B" in found.warnings
        else:
            found = compared(a, b, missing=missing)
        assert (found.n_x, found.n_y) == (80, 80)
        first, second = found.missing
        assert (first.name, first.share_a, first.share_b, first.differs) == ("x", 0.25, 0.0, True)
        assert (second.name, second.share_a, second.share_b, second.differs) == ("city", 0.0, 1 / 80, False)
        assert 0 < first.pvalue_adjusted < 0.001 < second.pvalue_adjusted <= 1
        assert found.differ
        x = by_name(found)["x"]
        assert x.differs
        assert x.direction.endswith("missing 25.0 % -> 0.0 %")
        assert x.total_variation >= 0.25
        assert found.total_variation.value >= 0.25 > found.total_variation.interval[0] > 0.1
        assert str(found).count("missing 25.0 % -> 0.0 %") == 1
        assert "x: 25.0 % of A" not in str(found)
        assert "  missing     city: 0.0 % of A, 1.2 % of B, not significant\n" in str(found)


def test_missing_as_a_level_fills_numbers_with_pooled_ones_and_says_where():
    a, b = {"x": [1.0, np.nan, 3.0], "k": ["u", None, "v"]}, {"x": [5.0, 9.0], "k": ["u", "u"]}
    both = match_tables(a, b)
    assert both.names == ("x", "x is missing", "k")
    assert both.levels == (None, ("False", "True"), ("(missing)", "u", "v"))
    filled = both.a.column(0)
    assert filled[[0, 2]].tolist() == [1.0, 3.0]
    assert filled[1] in (1.0, 3.0, 5.0, 9.0)
    np.testing.assert_array_equal(both.a.column(1), [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(both.b.column(1), [0.0, 0.0])
    np.testing.assert_array_equal(both.a.column(2), [1.0, 0.0, 2.0])
    assert both.missing == (("x", 1, 0), ("k", 1, 0))


def test_names_that_missing_values_would_need_are_refused():
    taken = {"x": [1.0, np.nan, 2.0], "x is missing": [1.0, 2.0, 3.0]}
    with pytest.raises(
        dd.InputError, match="column 'x is missing' has the name under which missing values are counted; rename it"
    ):
        compared(taken, taken, missing="level")
    taken = {"k": ["(missing)", None, "a"]}
    with pytest.raises(
        dd.InputError, match=r"column 'k' has missing values and also a level named '\(missing\)'; rename that level"
    ):
        compared(taken, taken, missing="level")


def test_what_is_left_out_is_listed():
    a, b = table(0, 30), table(1, 30)
    a |= {"only a": a["x"], "empty": np.full(30, np.nan), "id": np.array([f"a{i}" for i in range(30)])}
    b |= {"empty": b["x"], "id": np.array([f"b{i}" for i in range(30)]), "only b": b["x"]}
    with pytest.warns(dd.DensDiffWarning) as caught:
        found = compared(a, b)
    expected = [
        ("only a", "only in A"),
        ("only b", "only in B"),
        ("empty", "all values are missing in A"),
        ("id", "almost every row has a level of its own"),
    ]
    assert found.left_out == expected
    assert sorted(by_name(found)) == sorted(table(0, 2))
    assert len(caught) == 2
    for name, why in expected:
        assert f"{name}: {why}" in str(found)
    assert found.to_dict()["left_out"] == [list(each) for each in expected]


def assert_plain(value):
    """Only what JSON knows, and no number that is not one."""
    if isinstance(value, dict):
        assert all(isinstance(key, str) for key in value)
        for each in value.values():
            assert_plain(each)
    elif isinstance(value, list):
        for each in value:
            assert_plain(each)
    else:
        assert value is None or type(value) in (str, int, float, bool)
        assert not isinstance(value, float) or np.isfinite(value)


def test_to_dict_is_plain_and_whole(planted, interaction, small, equal):
    for found in (planted[1], interaction[1], small, *equal):
        content = found.to_dict()
        assert_plain(content)
        assert set(content) == {field.name for field in fields(found)} | {"answer"}
        assert json.loads(found.to_json()) == content
        assert json.loads(json.dumps(content, allow_nan=False)) == content
        assert all("profile" not in column for column in content["columns"])
        assert all("map" not in pair for pair in content["pairs"])
        assert content["answer"] == found.answer
        assert len(content["columns"]) == len(found.columns)


def test_pictures_keep_their_profiles(small, interaction):
    columns = by_name(small)
    assert {name for name, column in columns.items() if column.picture is not None} >= {"x", "city"}
    assert columns["city"].picture.levels == ("Bonn", "Ulm")
    np.testing.assert_allclose(columns["city"].picture.a.sum(), 1.0)
    curve = columns["x"].picture
    step = curve.points[1] - curve.points[0]
    assert curve.a.sum() * step == pytest.approx(1.0, abs=0.05)
    middle = float(np.median(np.concatenate([table(0, 60)["x"], table(1, 60, shift=1.5)["x"]])))
    assert curve.difference[curve.points > middle].sum() > 0 > curve.difference[curve.points < middle].sum()
    assert (curve.lower <= curve.upper).all()
    values = interaction[1].pairs[0].map.values
    assert values.shape == (41, 41)
    assert values[:20, :20].sum() + values[21:, 21:].sum() > 0 > values[:20, 21:].sum() + values[21:, :20].sum()


def test_a_result_survives_pickle(small):
    again = pickle.loads(pickle.dumps(small))
    assert again.to_dict() == small.to_dict()
    assert str(again) == str(small)
    np.testing.assert_array_equal(again.columns[0].picture.a, small.columns[0].picture.a)


def test_a_result_cannot_be_changed(small):
    with pytest.raises(AttributeError):
        small.differ = False
    with pytest.raises(AttributeError):
        small.columns[0].pvalue = 0.0


def test_the_text_tells_all_parts(planted):
    text = str(planted[1])
    for part in (
        "  columns     ",
        "  pairs       ",
        "  regions     ",
        "  rows        2000 of A, 2000 of B",
        "  model  ",
    ):
        assert f"\n{part}" in text
    for column in planted[1].columns:
        assert (f"{column.name}: {column.total_variation:.3g}, at least " in text) == column.differs


def test_the_text_of_many_findings_is_cut(small):
    many = [replace(small.columns[0], name=f"c{j}", differs=True) for j in range(25)]
    text = str(replace(small, columns=many))
    assert "25 of 25 differ" in text
    assert "c9: " in text
    assert "c10: " not in text
    assert "and 15 more" in text
    assert "<p>15 more columns</p>" in replace(small, columns=many)._repr_html_()


def test_the_notebook_shows_a_table(small):
    page = small._repr_html_()
    assert small.answer.split("(")[0] in page
    assert page.count("<tr>") == 1 + len(small.columns)
    assert "<td>x</td>" in page


@pytest.mark.parametrize("kind", ["number", "category", "boolean", "integer"])
def test_one_column_is_enough(kind):
    name = {"number": "x", "category": "city", "boolean": "member", "integer": "count"}[kind]
    a, b = table(0, 40), table(1, 40, shift=2.0, share=0.02)
    b["member"], b["count"] = b["member"] | True, b["count"] + 3
    found = compared({name: a[name]}, {name: b[name]})
    assert found.differ
    assert [column.name for column in found.columns] == [name]
    assert found.columns[0].differs
    assert found.columns[0].kind == ("number" if kind in ("number", "integer") else "category")
    assert found.pairs == []
    assert found.columns[0].normalized == pytest.approx(found.distance.normalized, abs=0.05)
    if kind in ("number", "integer"):
        assert found.columns[0].normalized == found.distance.normalized
        assert found.columns[0].interval == found.distance.normalized_interval


@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_distance_is_that_of_a_fitted_model_without_fitting_it(d):
    random = np.random.default_rng(3)
    x, y = random.normal(size=(150, d)), random.normal(0.4, 1.3, size=(120, d))
    distance, fitted = compared(x, y).distance, dd.l2_distance(x, y, random_state=0)
    for name in ("squared", "normalized", "standard_error", "interval", "normalized_interval", "resolution", "metric"):
        assert getattr(distance, name) == getattr(fitted, name)
    assert distance.estimates == {}


@pytest.mark.filterwarnings("ignore::densdiff.DensDiffWarning")
@pytest.mark.parametrize("columns", [["x"], ["city"], ["x", "city"], ["x", "z", "count", "city", "member"]])
def test_two_rows_against_two(columns):
    found = compared(table(0, 2), table(3, 2), columns=columns)
    assert not found.differ
    assert found.test.null == "all partitions"
    assert found.test.pvalue >= 1 / 6
    assert any("with 5 relabellings, no p-value can be below 0.167" in note for note in found.warnings)
    assert_plain(found.to_dict())


def test_a_change_of_one_column_is_the_change_of_no_other():
    a, b = table(0, 150), table(1, 150, share=0.05)
    found = compared(a, b)
    assert [column.name for column in found.columns if column.differs] == ["city"]
    assert found.columns[0].name == "city"


def test_many_calls_leave_nothing_behind():
    """But for one cache, which is bounded; the results of eight calls, kept, would be 60 kB."""
    random = np.random.default_rng(0)
    tables = [{"a": random.normal(size=40), "b": random.choice(["u", "v"], 40)} for _ in range(2)]

    def calls(count):
        for k in range(count):
            dd.compare(*tables, n_permutations=39, random_state=k)
        radial._cached_table.cache_clear()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    calls(2)
    tracemalloc.start()
    try:
        before = calls(2)
        assert calls(8) - before < 35_000
    finally:
        tracemalloc.stop()


@pytest.mark.filterwarnings("ignore::densdiff.DensDiffWarning")
def test_comparisons_in_several_threads_leave_the_warnings_of_the_process_alone():
    a = np.random.default_rng(0).normal(size=(60, 2))
    before = warnings.filters[:], warnings._showwarnmsg_impl
    together = Barrier(3)

    def call(k):
        together.wait(10)
        return dd.compare(a, a + 0.1, n_permutations=9, random_state=k)

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(call, range(3)))
    assert all("9 permutations cannot reach" in " ".join(each.warnings) for each in found)
    assert (warnings.filters[:], warnings._showwarnmsg_impl) == before
