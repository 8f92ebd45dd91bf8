"""Two tables compared group by group: each group as compare has it, adjusted over groups, from every kind of input."""

import datetime
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import densdiff as dd
from densdiff.comparing.decision import decision_pvalue
from densdiff.core import resample
from densdiff.data import grouping
from tests.command_line import silently
from tests.large import Blocks

FEW = {"n_permutations": 99, "random_state": 0}


def table(n=160, shift=0.0, groups=("north", "south", "east"), seed=0):
    """A table whose group "north" is shifted."""
    random = np.random.default_rng([seed, n])
    group = np.resize(np.array(groups, dtype=object), n)
    number = random.normal(size=n) + shift * (group == "north")
    return pd.DataFrame({"region": group, "number": number, "word": random.choice(["u", "v"], n)})


@pytest.fixture(scope="module")
def tables():
    return table(), table(150, 1.5, seed=1)


@pytest.fixture(scope="module")
def found(tables):
    return dd.compare_by(*tables, "region", names=("May", "June"), **FEW)


def by_label(result):
    return {group.label: group for group in result.groups}


def test_each_group_is_what_compare_says_of_its_rows(tables, found):
    """The twin: filter by hand, leave the column out, compare with the same seed."""
    assert by_label(found).keys() == {"north", "south", "east"}
    for label, group in by_label(found).items():
        a, b = (rows[rows["region"] == label].drop(columns="region") for rows in tables)
        own = dd.compare(a, b, names=("May", "June"), n_permutations=119, random_state=0)  # 2 groups / alpha, less 1
        assert group.comparison.to_dict() == own.to_dict()
        assert (group.n_a, group.n_b) == (len(a), len(b))


def test_only_the_group_that_moved_differs_and_comes_first(found):
    assert found.differ
    assert [group.label for group in found.changed] == ["north"] == [found.groups[0].label]
    assert found.groups[0].changed_columns == ["number"]
    assert found.reasons == [f"group north differs: total variation {found.groups[0].total_variation:.3g}, p <= 0.05"]
    assert (found.n_x, found.n_y, found.by, found.names) == (160, 150, ("region",), ("May", "June"))
    assert found.answer.startswith("1 of 3 groups of region differs between May and June, in north, where at least ")


def test_pvalues_are_twice_the_smallest_part_and_adjusted_by_holm(found):
    for group in found.groups:
        parts = [group.comparison.test.pvalue, *(column.pvalue_adjusted for column in group.comparison.columns)]
        assert group.pvalue == min(1.0, 2.0 * min(parts))
    adjusted = resample.holm(np.array([group.pvalue for group in found.groups]))
    assert [group.pvalue_adjusted for group in found.groups] == adjusted.tolist()
    assert [group.differs for group in found.groups] == (adjusted <= found.alpha).tolist()


def test_a_group_that_differs_by_itself_may_not_differ_among_many(found):
    """The p-value of a group says the same as `differ` of its comparison, which knows of no other group."""
    for group in found.groups:
        assert (group.pvalue <= found.alpha) == group.comparison.differ


def test_what_is_smaller_than_min_effect_does_not_count(tables):
    strict = dd.compare_by(*tables, "region", min_effect=0.9, **FEW)
    assert not strict.differ
    assert {group.pvalue for group in strict.groups} == {1.0}
    own = dd.compare_by(*tables, "region", min_effect={"number": 0.2, "*": 0.9}, **FEW)
    assert [group.label for group in own.changed] == ["north"]


def test_missing_rates_are_part_of_the_pvalue(tables):
    a, b = (rows.copy() for rows in tables)
    b.loc[b["region"] == "south", "number"] = np.nan
    south = by_label(silently(dd.compare_by, a, b, "region", **FEW))["south"]
    assert south.differs
    assert decision_pvalue(south.comparison)[0] == 2.0 * south.comparison.missing[0].pvalue_adjusted


def test_groups_of_one_table_are_a_finding_with_their_sizes():
    a, b = table(90, groups=("x", "y", "gone")), table(90, groups=("x", "y", "new"), seed=1)
    result = dd.compare_by(a, b, "region", columns="number", **FEW)
    assert (result.only_a, result.only_b) == ([("gone", 30)], [("new", 30)])
    assert result.differ
    assert result.reasons == ["group gone (30 rows) is only in A", "group new (30 rows) is only in B"]
    assert "Group gone (30 rows) is only in A; group new (30 rows) is only in B; no other difference" in str(result)


def test_groups_with_too_few_rows_are_listed_with_the_reason_and_left_out_of_the_family():
    a = pd.DataFrame({"g": [*"xxxxxxxxxxxx", *"yyy", "z", "z"], "v": np.arange(17.0) ** 1.5})
    b = pd.DataFrame({"g": [*"xxxxxxxxxxxx", *"yy", "z"], "v": np.arange(15.0) ** 1.4})
    result = dd.compare_by(a, b, "g", **FEW)
    assert [group.label for group in result.groups] == ["x"]
    assert result.not_compared == [
        ("y", 3, 2, "too few rows to tell, whatever they hold"),
        ("z", 2, 1, "1 row of B; at least 2 are needed"),
    ]
    assert not result.differ
    assert result.tuning.startswith("Holm's rule over 1 group,")


def test_a_group_without_a_column_to_compare_is_listed_and_counts_in_the_family():
    n = 24
    word = np.array([["u", "v"][k % 2] for k in range(n)] + [f"id {k}" for k in range(n)], dtype=object)
    rows = pd.DataFrame({"g": ["plain"] * n + ["ids"] * n, "word": word})
    result = silently(dd.compare_by, rows, rows.iloc[::-1], "g", **FEW)
    assert [group.label for group in result.groups] == ["plain"]
    assert result.not_compared[0][:3] == ("ids", n, n)
    assert result.not_compared[0][3].startswith("no column is left to compare")
    assert result.tuning.startswith("Holm's rule over 2 groups,")
    with pytest.raises(dd.InputError, match=r"^no group can be compared; the largest, 'ids': no column is left"):
        silently(dd.compare_by, rows[n:], rows[n:], "g", **FEW)


def test_an_error_in_a_group_names_it(tables):
    a, b = (rows.copy() for rows in tables)
    b.loc[b.index[b["region"] == "east"][0], "number"] = np.inf
    with pytest.raises(dd.InputError, match=r"^group 'east': column 'number' of B") as error:
        dd.compare_by(a, b, "region", **FEW)
    assert error.value.column == "number"


def test_missing_values_of_the_column_are_a_group():
    a, b = table(80, groups=("x", None)), table(80, groups=("x", None), seed=1)
    assert by_label(dd.compare_by(a, b, "region", columns="number", **FEW)).keys() == {"x", "missing"}
    a.loc[0, "region"] = "missing"
    with pytest.raises(dd.InputError, match=r"^by 'region': two groups would both be called 'missing'; rename one"):
        dd.compare_by(a, b, "region", **FEW)


DAYS = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)]


@pytest.mark.parametrize(
    ("in_a", "in_b", "labels"),
    [
        ([1, 2], [1.0, 2.0], {"1", "2"}),
        ([1.0, np.nan], [1, 2], {"1"}),
        ([True, False], pd.array([True, None], dtype="boolean"), {"True"}),
        (["01", "1"], ["01", "1"], {"01", "1"}),
        (DAYS, DAYS, {"2024-01-01", "2024-01-02"}),
        ([0.5, -0.0], [0.5, 0], {"0.5", "0"}),
        (["a\nb", "<i>"], ["a\nb", "<i>"], {"a\nb", "<i>"}),
    ],
)
def test_values_are_the_same_group_whatever_type_a_table_has(in_a, in_b, labels):
    random = np.random.default_rng(0)
    a, b = (pd.DataFrame({"g": values}).iloc[[0, 1] * 12].assign(v=random.normal(size=24)) for values in (in_a, in_b))
    result = dd.compare_by(a, b, "g", **FEW)
    assert by_label(result).keys() == labels
    assert str(result).replace("\n", "").isprintable()


def test_several_columns_make_a_group_for_each_combination(tables):
    result = dd.compare_by(*tables, ["region", "word"], columns=["number"], **FEW)
    expected = {f"{r} / {w}" for r in ("north", "south", "east") for w in "uv"}
    assert by_label(result).keys() | {entry[0] for entry in result.not_compared} == expected
    assert {column.name for group in result.groups for column in group.comparison.columns} == {"number"}


def test_permutations_are_enough_for_the_number_of_groups_to_differ():
    groups = tuple("abcdefghijkl")
    a, b = table(12 * 12, groups=groups), table(12 * 12, groups=groups, seed=1)
    b.loc[b["region"] == "c", "number"] += 9.0
    result = dd.compare_by(a, b, "region", columns=["number"], n_permutations=19, random_state=0)
    assert "479 permutations in each" in result.tuning
    assert [group.label for group in result.changed] == ["c"]


def test_changed_columns_are_a_finding_of_the_tables(tables):
    a, b = tables
    result = silently(dd.compare_by, a.assign(old=1.0), b.assign(new=2.0), "region", columns=None, **FEW)
    assert (result.schema_changes.missing, result.schema_changes.added) == (("old",), ("new",))
    assert result.reasons[:2] == ["column old is only in A", "column new is only in B"]


def close(group, other):
    """The same sizes, and estimates up to rounding; tests of rows in blocks draw other relabellings."""
    assert (group.label, group.n_a, group.n_b) == (other.label, other.n_a, other.n_b)
    assert group.total_variation == pytest.approx(other.total_variation, abs=1e-9)
    own, others = group.comparison.distance, other.comparison.distance
    assert own.squared == pytest.approx(others.squared, rel=1e-9, abs=1e-12)


def test_blocks_give_the_groups_of_the_array_at_hand_or_not(tables, found):
    """A group that fits is gathered; with no room for any, its rows are picked out of the blocks again and again."""
    for megabytes in (1024, 1e-4):
        held = [Blocks(rows, [40, 90]) for rows in tables]
        with sklearn.config_context(working_memory=megabytes):
            result = dd.compare_by(*held, "region", names=("May", "June"), **FEW)
        assert [group.differs for group in result.groups] == [True, False, False]
        groups = by_label(result)
        for group in found.groups:
            close(groups[group.label], group)
        assert (held[0].passes == 2) == (megabytes > 1)  # counted and gathered


def test_a_group_whose_text_is_missing_in_a_whole_block_is_compared():
    a, b = table(60, groups=("x", "y")), table(60, groups=("x", "y"), seed=1)
    b.loc[:29, "word"] = None
    whole = silently(dd.compare_by, a, b, "region", **FEW)
    result = silently(dd.compare_by, a, Blocks(b, [30]), "region", **FEW)
    assert [group.comparison.missing for group in result.groups] == [group.comparison.missing for group in whole.groups]
    assert {group.comparison.missing[0].share_b for group in result.groups} == {0.5}


@pytest.mark.parametrize("missing", ["level", "drop"])
def test_groups_beyond_memory_with_missing_values_are_filled(tables, missing, tmp_path):
    """In a Parquet file, of which each step reads the columns that it needs, those that make groups among them."""
    a, b = (rows.copy() for rows in tables)
    for rows in (a, b):
        rows.loc[rows.index[::7], "number"] = np.nan
        rows.to_parquet(tmp_path / f"{len(rows)}.parquet", row_group_size=40)
    options = {"columns": ["number"], "missing": missing} | FEW
    whole = silently(dd.compare_by, a, b, "region", **options)
    with sklearn.config_context(working_memory=1e-4):
        paths = [tmp_path / f"{len(rows)}.parquet" for rows in (a, b)]
        result = silently(dd.compare_by, *paths, "region", **options)
    assert [group.label for group in result.changed] == [group.label for group in whole.changed] == ["north"]
    for label, group in by_label(result).items():
        assert group.comparison.missing == by_label(whole)[label].comparison.missing


def test_files_are_read_for_the_columns_asked_for(tmp_path, tables, found):
    paths = []
    for name, rows in zip(("a", "b"), tables, strict=True):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
        paths.append(tmp_path / f"{name}.csv")
    result = dd.compare_by(*paths, "region", **FEW)
    assert result.names == ("a.csv", "b.csv")
    assert [group.pvalue for group in result.groups] == [group.pvalue for group in found.groups]
    only = dd.compare_by(*paths, "region", columns=["region", "number"], **FEW)
    assert {column.name for group in only.groups for column in group.comparison.columns} == {"number"}


@pytest.mark.parametrize(
    ("by", "options", "message"),
    [
        (
            "regoin",
            {},
            "^by: A has no column 'regoin' \\(did you mean 'region'\\?\\); it has 'region', 'number', 'word'$",
        ),
        (3, {}, "^by must be the name of a column, or a list of names such as .*; got 3$"),
        ([], {}, "^by must be the name of a column"),
        (["word", "word"], {}, "^by names a column twice: 'word', 'word'; name each once$"),
        (
            ["region", "number", "word"],
            {},
            "^by: A has no column but 'region', 'number', 'word', by which its rows are",
        ),
        ("region", {"columns": ["wrod"]}, "^A has no column 'wrod' \\(did you mean 'word'\\?\\)"),
        ("region", {"exclude": 3}, "^exclude must be a list of names"),
        ("region", {"missing": "maybe"}, "^missing must be"),
        ("region", {"alpha": 5}, "^alpha must lie"),
    ],
)
def test_wrong_arguments_are_one_sentence(by, options, message, tables):
    with pytest.raises(dd.InputError, match=message):
        dd.compare_by(*tables, by, **options)


def test_more_than_a_thousand_groups_are_refused_in_arrays_and_blocks():
    rows = pd.DataFrame({"g": np.arange(1001), "v": np.arange(1001.0)})
    for held in (rows, Blocks(rows, [500])):
        with pytest.raises(
            dd.InputError, match=r"^by: 'g' of A makes more than 1000 groups; group by a column with few"
        ):
            dd.compare_by(held, rows, "g")


def test_nested_values_make_no_groups():
    rows = {"g": [[1], [2]] * 10, "v": list(range(20))}
    with pytest.raises(dd.InputError, match=r"^by: column 'g' of A holds nested values; group by a column of text"):
        dd.compare_by(pl.DataFrame(rows), pl.DataFrame(rows), "g")


@settings(max_examples=30)
@given(
    st.lists(st.sampled_from(["a", "b", None, "c"]), min_size=1, max_size=40), st.lists(st.integers(0, 40), max_size=4)
)
def test_counts_are_those_of_the_column_however_it_is_cut(values, cuts):
    rows = pd.DataFrame({"g": pd.Series(values, dtype=object), "v": np.arange(float(len(values)))})
    held = Blocks(rows, [min(cut, len(rows)) for cut in cuts])
    tables = grouping.group_tables(held, rows, "g", grouping.Request())
    assert tables.counts[0] == tables.counts[1] == {(value,): values.count(value) for value in values}
    for key, a, b in tables.groups(tables.keys):
        gathered = [float(v) for _, block in a.in_order(None) for v in block.columns[1].values]
        expected = [k for k, value in enumerate(values) if (value,) == key]
        assert gathered == expected == b.head().columns[1].values.tolist()


def test_texts_frame_and_page_hold_every_group(found, tmp_path):
    lines = str(found).splitlines()
    assert lines[0] == found.answer
    assert [line.split()[0] for line in lines[2:5]] == [group.label for group in found.groups]
    assert repr(found) == "<GroupsResult of May and June: 1 of 3 groups differ>"
    frame = found.to_frame()
    assert frame["group"].tolist() == [group.label for group in found.groups]
    assert frame["pvalue_adjusted"].tolist() == [group.pvalue_adjusted for group in found.groups]
    page = found.to_html(tmp_path / "page.html").read_text("utf-8")
    assert all(f">{group.label}<" in page for group in found.groups)
    assert "1 of 3 groups differ" in page
    assert json.loads(found.to_json()) == found.to_dict()


def test_many_groups_and_hostile_labels_stay_in_form(found, tmp_path):
    label = "<script>|`x`\n\x1b[31m" + "y" * 10_000
    groups = [replace(found.groups[0], label=f"{label}{k}") for k in range(60)]
    many = [(f"{label}{k}", 3) for k in range(60)]
    other = [(f"{label}{k}", 1, 1, "too few") for k in range(60)]
    crowded = replace(found, groups=groups, only_a=many, not_compared=other, warnings=("a note",) * 9)
    text = crowded.to_markdown()
    assert len(text.splitlines()) <= 30
    assert "<script" not in text
    assert str(crowded).replace("\n", "").isprintable()
    assert len(str(crowded).splitlines()) < 60
    assert "<script" not in crowded._repr_html_()
    assert "<script" not in crowded.to_html(tmp_path / "page.html").read_text("utf-8")
    frame = crowded.to_frame()
    assert (len(frame), frame["n_b"].tolist()[60]) == (180, 0)


@pytest.mark.slow
def test_any_group_of_equal_tables_differs_no_more_often_than_alpha():
    """The family-wise level: 60 pairs of tables of five groups."""
    found = 0
    for seed in range(60):
        a, b = (table(500, groups=tuple("abcde"), seed=2 * seed + k) for k in (100, 101))
        found += dd.compare_by(a, b, "region", n_permutations=99, random_state=seed).differ
    assert found <= stats.binom.ppf(0.999, 60, 0.05)
