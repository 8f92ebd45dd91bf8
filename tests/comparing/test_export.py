"""A comparison as a frame, as Markdown of at most 30 lines, and as one line."""

import pickle
import re
import sys
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import densdiff as dd
from densdiff.comparing.export import escape_markdown
from densdiff.comparing.findings import MissingDifference, PairDifference, RegionDifference
from densdiff.data.match import SchemaChanges

FIELDS = ("name", "kind", "total_variation", "lower", "normalized", "pvalue", "pvalue_adjusted", "differs", "direction")


@pytest.fixture(scope="module")
def found():
    tables = dd.datasets.mixed_tables(400, shift=1.0, random_state=0)
    return dd.compare(tables.a, tables.b, n_permutations=99, random_state=0, names=("May", "June"))


@pytest.fixture(scope="module")
def crowded(found):
    """More of everything than a summary has room for."""
    columns = [replace(found.columns[0], name=f"c{j}") for j in range(40)]
    pairs = [PairDifference(f"p{j}", "q", "Spearman's rho", 0.0, 0.5, 0.5, 0.001) for j in range(9)]
    regions = [RegionDifference(f"r > {j}", (), 0.1, 0.4, (0.2, 0.4), 0.001, 10, 40) for j in range(9)]
    missing = [MissingDifference(f"m{j}", 0.1, 0.4, 0.001, True) for j in range(9)]
    schema = SchemaChanges(missing=("gone",), added=("new",), other_kind=(("zip", "number", "category"),))
    return replace(
        found,
        columns=columns,
        pairs=pairs,
        regions=regions,
        missing=missing,
        schema_changes=schema,
        left_out=[(f"l{j}", "an identifier") for j in range(9)],
        warnings=tuple(f"note {j}" for j in range(9)),
    )


def test_a_frame_has_one_row_a_column_in_their_order(found):
    frame = found.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert tuple(frame.columns) == FIELDS
    assert frame["name"].tolist() == [column.name for column in found.columns]
    assert frame["lower"].tolist() == [column.total_variation_interval[0] for column in found.columns]
    assert frame["differs"].dtype == bool
    for name in set(FIELDS) - {"lower"}:
        assert frame[name].tolist() == [getattr(column, name) for column in found.columns]


def test_a_frame_without_pandas_says_what_to_install(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(dd.MissingExtraError, match=r"^to_frame\(\) needs pandas: pip install pandas$"):
        found.to_frame()


def test_repr_is_one_line_and_leaves_pickle_and_equality_alone(found):
    n_changed = sum(column.differs for column in found.columns)
    assert repr(found) == f"<Comparison of May and June: they differ; {n_changed} of 12 columns differ>"
    assert "no difference;" in repr(replace(found, differ=False))
    assert repr(replace(found, names=("a\nb", "c"))).isprintable()
    again = pickle.loads(pickle.dumps(found))
    assert again.to_dict() == found.to_dict()
    assert repr(again) == repr(found)
    assert again == found


def test_the_summary_begins_with_the_answer_and_has_the_columns_that_differ(found):
    lines = found.to_markdown().split("\n")
    assert lines[0] == f"**{escape_markdown(found.answer, 400)}**"
    rows = [line for line in lines if line.startswith("| ")][1:]
    changed = [column for column in found.columns if column.differs]
    assert [row.split(" | ")[0] for row in rows] == [f"| {column.name}" for column in changed]
    assert rows[0].count(" | ") == 3
    assert "<= 0.01" not in rows[0]
    assert "| &lt;= 0.01 |" in rows[0]
    assert "of 12 columns differ; 400 and 400 rows" in found.to_markdown()


def test_a_summary_of_much_has_thirty_lines_and_the_signal_first(crowded):
    text = crowded.to_markdown()
    assert text.endswith("\n")
    lines = text.rstrip("\n").split("\n")
    assert len(lines) <= 30
    assert "40 of 40 columns differ, 30 more than listed" in text
    assert "- columns gone: 'gone'; added: 'new'; of another kind: 'zip'" in lines
    order = [
        text.index(part)
        for part in ("**", "| c0 ", "columns gone", "region: ", "pair: ", "missing: ", "left out: ", "note: ")
    ]
    assert order == sorted(order)
    assert text.count("region: ") == text.count("pair: ") == 2
    assert "and 6 more" in text


def test_reasons_come_before_the_table(found):
    object.__setattr__(other := replace(found), "reasons", ["all columns together", "column spend", "c", "d"])
    lines = other.to_markdown().split("\n")
    assert lines[2:6] == ["- all columns together", "- column spend", "- c", ""]


def test_equal_tables_have_a_summary_too():
    tables = dd.datasets.mixed_tables(60, shift=0, share=None, random_state=0)
    text = dd.compare(tables.a, tables.a, n_permutations=39, random_state=0).to_markdown()
    assert text.startswith("**")
    assert "| column |" not in text
    assert "0 of 12 columns differ" in text


HOSTILE = [
    "a|b",
    "`code`",
    "<script>alert(1)</script>",
    "line\nbreak",
    "[x](y)",
    "**bold**",
    "_em_",
    "&lt;",
    "\x1b[31m",
    "a\\|b",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_do_not_change_the_form(found, name):
    plain = found.to_markdown().split("\n")
    hostile = replace(found, columns=[replace(found.columns[0], name=name, direction=name), *found.columns[1:]])
    lines = hostile.to_markdown().split("\n")
    assert len(lines) == len(plain)
    assert all(line.isprintable() for line in lines)
    row = next(line for line, before in zip(lines, plain, strict=True) if line != before and before.startswith("|"))
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 5  # the edges of four cells
    assert "<" not in row
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*\[]", row)


@given(st.text(max_size=60))
def test_escaped_text_is_one_line_whose_signs_mean_nothing(text):
    escaped = escape_markdown(text)
    assert escaped.isprintable()
    assert "<" not in escaped
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*\[\]|~$]", escaped)
