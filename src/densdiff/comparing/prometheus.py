"""A comparison, or the latest of many batches, as metrics for Prometheus: text for node_exporter's textfile collector.

Writing the file is the matter of the command line.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from densdiff.comparing.batch_results import BatchesResult
from densdiff.comparing.group_results import GroupsResult
from densdiff.comparing.results import Comparison

_HELP = {
    "comparison_timestamp_seconds": "When the comparison was made, in seconds since 1970.",
    "differ": "1 if the tables differ, else 0.",
    "rows": "Rows of a table.",
    "total_variation": "Share of the rows that would have to change, 0 to 1.",
    "total_variation_lower": "Lower limit of the share of the rows that would have to change.",
    "pvalue": "p-value of all columns together.",
    "column_differ": "1 if the column differs, else 0.",
    "column_total_variation": "Share of the rows that would have to change in this column.",
    "column_total_variation_lower": "Lower limit of the share of the rows that would have to change in this column.",
    "column_pvalue_adjusted": "p-value of the column, adjusted for the number of columns.",
    "group_differ": "1 if the group differs or is in one table only, else 0.",
    "group_rows": "Rows of a table that belong to the group.",
    "group_total_variation": "Share of the rows of the group that would have to change.",
    "group_total_variation_lower": "Lower limit of the share of the rows of the group that would have to change.",
    "group_pvalue_adjusted": "p-value of the group, adjusted for the number of groups.",
    "batches": "Batches that were compared with the reference.",
    "batches_differ": "Batches that differ from the reference.",
    "batch_differ": "1 if the latest batch differs from the reference, else 0.",
    "batch_rows": "Rows of the latest batch.",
    "batch_total_variation": "Share of the rows of the latest batch that would have to change.",
    "batch_total_variation_lower": "Lower limit of the share of rows of the latest batch that would have to change.",
    "batch_pvalue_adjusted": "p-value of the latest batch, adjusted for all batches.",
    "batch_column_total_variation": "Share of rows of the latest batch that would have to change in this column.",
    "batch_column_pvalue_adjusted": "p-value of the column in the latest batch, adjusted for all columns and batches.",
}


class _Sample(NamedTuple):
    metric: str
    labels: Mapping[str, str]
    value: float


def prometheus_text(result: Comparison | GroupsResult | BatchesResult, timestamp: float) -> str:
    """The metrics of a result of a time, in seconds since 1970; all are gauges."""
    if isinstance(result, BatchesResult):
        common, of_result = {"reference": result.reference}, list(_samples_of_batches(result))
    else:
        common, of_result = dict(zip(("table_a", "table_b"), result.names, strict=True)), list(_samples_of(result))
    samples = [_Sample("comparison_timestamp_seconds", {}, timestamp), *of_result]
    lines = []
    for metric, text in _HELP.items():
        own = [sample for sample in samples if sample.metric == metric]
        if own:
            lines += [f"# HELP densdiff_{metric} {text}", f"# TYPE densdiff_{metric} gauge"]
        lines += [f"densdiff_{metric}{_label_text(common | dict(labels))} {float(value)!r}" for _, labels, value in own]
    return "\n".join(lines) + "\n"


def _samples_of_batches(result: BatchesResult) -> Iterator[_Sample]:
    """Of the latest batch alone, and without its name: a server keeps the history, and dated names are new series."""
    yield _Sample("batches", {}, len(result.compared))
    yield _Sample("batches_differ", {}, len(result.changed))
    latest = result.batches[-1]
    yield _Sample("batch_differ", {}, latest.differs)
    yield _Sample("batch_rows", {}, latest.n)
    if latest.total_variation is not None and latest.interval is not None and latest.pvalue_adjusted is not None:
        yield _Sample("batch_total_variation", {}, latest.total_variation)
        yield _Sample("batch_total_variation_lower", {}, latest.interval[0])
        yield _Sample("batch_pvalue_adjusted", {}, latest.pvalue_adjusted)
    for column in result.columns:
        for metric, values in (
            ("total_variation", column.total_variation),
            ("pvalue_adjusted", column.pvalue_adjusted),
        ):
            if (value := values[-1]) is not None:
                yield _Sample(f"batch_column_{metric}", {"column": column.name}, value)


def _samples_of(result: Comparison | GroupsResult) -> Iterator[_Sample]:
    yield _Sample("differ", {}, result.differ)
    yield _Sample("rows", {"table": "a"}, result.n_x)
    yield _Sample("rows", {"table": "b"}, result.n_y)
    yield from _samples_of_groups(result) if isinstance(result, GroupsResult) else _samples_of_columns(result)


def _samples_of_columns(result: Comparison) -> Iterator[_Sample]:
    variation = result.total_variation
    yield _Sample("total_variation", {}, variation.value)
    yield _Sample("total_variation_lower", {}, variation.interval[0])
    yield _Sample("pvalue", {}, result.test.pvalue)
    for column in result.columns:
        label = {"column": column.name}
        yield _Sample("column_differ", label, column.differs)
        yield _Sample("column_total_variation", label, column.total_variation)
        yield _Sample("column_total_variation_lower", label, column.total_variation_interval[0])
        yield _Sample("column_pvalue_adjusted", label, column.pvalue_adjusted)


def _samples_of_groups(result: GroupsResult) -> Iterator[_Sample]:
    """Groups without their columns, which would be too many series for a server to keep."""
    sizes: list[tuple[Any, ...]] = [(group.label, group.n_a, group.n_b, group.differs) for group in result.groups]
    sizes += [(label, n_a, 0, True) for label, n_a in result.only_a]
    sizes += [(label, 0, n_b, True) for label, n_b in result.only_b]
    sizes += [(label, n_a, n_b, False) for label, n_a, n_b, _ in result.not_compared]
    for name, n_a, n_b, differs in sizes:
        yield _Sample("group_differ", {"group": name}, differs)
        yield _Sample("group_rows", {"group": name, "table": "a"}, n_a)
        yield _Sample("group_rows", {"group": name, "table": "b"}, n_b)
    for group in result.groups:
        label = {"group": group.label}
        yield _Sample("group_total_variation", label, group.total_variation)
        yield _Sample("group_total_variation_lower", label, group.lower)
        yield _Sample("group_pvalue_adjusted", label, group.pvalue_adjusted)


def _label_text(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    """A value of a label as the format has it: whatever a name holds, it stays one value on one line of UTF-8."""
    text = value.encode("utf-8", "backslashreplace").decode("utf-8")  # half a surrogate is no character
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
