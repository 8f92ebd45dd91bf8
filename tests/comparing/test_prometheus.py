"""Metrics of a comparison, as the parser of Prometheus's own client reads them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import densdiff as dd
from densdiff.comparing.prometheus import _escaped, prometheus_text

HOSTILE = ['quote " and \\', "line\nbreak", "\\n", "tab\t", "x" * 10_000, '{a="b"} 1\n# TYPE x', "ü\u202e", "\r", ""]


def parsed(text):
    """Values by metric and labels, each metric once, with a help text and a type."""
    parser = pytest.importorskip("prometheus_client.parser", reason="pip install --group test")
    families = list(parser.text_string_to_metric_families(text))
    assert len({family.name for family in families}) == len(families)
    assert all(family.type == "gauge" and family.documentation for family in families)
    assert text.endswith("\n")
    samples = [sample for family in families for sample in family.samples]
    values = {(sample.name, frozenset(sample.labels.items())): sample.value for sample in samples}
    assert len(values) == len(samples)  # the same series twice would be refused
    return values


@pytest.fixture(scope="module")
def tables():
    return dd.datasets.mixed_tables(150, shift=1.0, random_state=0)


@pytest.fixture(scope="module")
def found(tables):
    return dd.compare(
        tables.a, tables.b, names=("May", "June"), columns=["spend", "age"], n_permutations=99, random_state=0
    )


@pytest.fixture(scope="module")
def grouped(tables):
    a = tables.a | {"shop": ["only"] * 10 + ["x"] * 140}
    b = tables.b | {"shop": ["x"] * 149 + ["new"]}
    return dd.compare_by(a, b, "shop", names=("May", "June"), columns=["spend"], n_permutations=99, random_state=0)


def value(values, metric, **labels):
    return values[f"densdiff_{metric}", frozenset({"table_a": "May", "table_b": "June", **labels}.items())]


def test_every_figure_is_a_metric_with_the_names_of_tables_and_columns(found):
    values = parsed(prometheus_text(found, 1.7e9 + 0.25))
    assert value(values, "comparison_timestamp_seconds") == 1.7e9 + 0.25
    assert value(values, "differ") == found.differ == 1
    assert (value(values, "rows", table="a"), value(values, "rows", table="b")) == (150, 150)
    assert value(values, "total_variation") == found.total_variation.value
    assert value(values, "total_variation_lower") == found.total_variation.interval[0]
    assert value(values, "pvalue") == found.test.pvalue
    for column in found.columns:
        assert value(values, "column_differ", column=column.name) == column.differs
        assert value(values, "column_total_variation", column=column.name) == column.total_variation
        lower = value(values, "column_total_variation_lower", column=column.name)
        assert lower == column.total_variation_interval[0]
        assert value(values, "column_pvalue_adjusted", column=column.name) == column.pvalue_adjusted
    assert len(values) == 7 + 4 * len(found.columns)


def test_groups_are_metrics_also_those_of_one_table(grouped):
    values = parsed(prometheus_text(grouped, 1.0))
    group = grouped.groups[0]
    assert value(values, "group_total_variation", group="x") == group.total_variation
    assert value(values, "group_total_variation_lower", group="x") == group.lower
    assert value(values, "group_pvalue_adjusted", group="x") == group.pvalue_adjusted
    assert value(values, "group_differ", group="x") == group.differs
    assert value(values, "group_rows", group="only", table="a") == 10
    assert value(values, "group_rows", group="only", table="b") == 0
    assert value(values, "group_rows", group="new", table="b") == 1
    assert value(values, "group_differ", group="new") == 1


def test_hostile_names_come_back_as_they_were(found):
    columns = [replace(found.columns[0], name=name) for name in HOSTILE]
    values = parsed(prometheus_text(replace(found, columns=columns), 1.0))
    names = {dict(labels)["column"] for metric, labels in values if metric == "densdiff_column_differ"}
    assert names == set(HOSTILE)


@given(st.text())
def test_any_name_is_one_value_on_one_line(name):
    text = f'metric{{column="{_escaped(name)}"}} 1.0\n'
    assert text.count("\n") == 1
    assert [dict(labels) for _, labels in parsed_samples(text)] == [{"column": name}]


def parsed_samples(text):
    parser = pytest.importorskip("prometheus_client.parser", reason="pip install --group test")
    return [
        (sample.name, sample.labels)
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    ]


def test_half_a_surrogate_is_written_as_its_number():
    assert _escaped("a\udc80").encode("utf-8") == b"a\\\\udc80"


def test_of_many_batches_the_latest_is_told_without_its_name(tables):
    reference, nights = {"age": tables.a["age"]}, {f"2026-01-0{k}": {"age": tables.b["age"]} for k in (1, 2)}
    result = dd.track(nights, reference=reference, n_permutations=39, random_state=0)
    values = {name: value for (name, labels), value in parsed(prometheus_text(result, 1.0)).items()}
    latest = result.batches[-1]
    assert values["densdiff_batches"] == 2
    assert values["densdiff_batch_differ"] == latest.differs
    assert values["densdiff_batch_rows"] == 150
    assert values["densdiff_batch_total_variation_lower"] == latest.interval[0]
    assert values["densdiff_batch_column_total_variation"] == result.columns[0].total_variation[-1]
    assert "2026-01" not in prometheus_text(result, 1.0)


def test_a_first_batch_without_a_reference_has_rows_and_no_effect(tables):
    result = dd.track({"June": {"age": tables.b["age"]}}, reference="previous", random_state=0)
    values = parsed(prometheus_text(result, 1.0))
    names = {name for name, _ in values}
    assert ("densdiff_batch_rows", frozenset({("reference", "previous")})) in values
    assert "densdiff_batch_total_variation" not in names
