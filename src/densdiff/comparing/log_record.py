"""One line of a log for one comparison, or for the latest of many batches: short, whatever the tables hold.

Appending it to a file is the matter of the command line.
"""

import json
from datetime import datetime
from typing import Any

from densdiff import messages
from densdiff.comparing.batch_results import BatchesResult, where_text
from densdiff.comparing.group_results import GroupsResult
from densdiff.comparing.results import Comparison

_LISTED, _LONGEST = 10, 200  # entries of a list, and characters of a text


def log_line(result: Comparison | GroupsResult | BatchesResult, time: datetime) -> str:
    """A result of a time as one JSON object on one line; lists hold the first ten of ``n_..``."""
    record = {
        "schema": 1,
        "command": "track" if isinstance(result, BatchesResult) else "compare",
        "time": time.isoformat(timespec="seconds"),
        **(_of_latest_batch(result) if isinstance(result, BatchesResult) else _of_tables(result)),
        "answer": _short(result.answer),
        "alpha": result.alpha,
        "seed": result.seed,
        "version": result.version,
    }
    return json.dumps(record, allow_nan=False)


def _of_latest_batch(result: BatchesResult) -> dict[str, Any]:
    latest = result.batches[-1]
    reasons = [where_text(latest)] if latest.differs else []
    return {
        "names": [_short(result.reference), _short(latest.label)],
        "differ": latest.differs,
        "n_reasons": len(reasons),
        "reasons": _first(reasons),
        "n_a": latest.n_reference,
        "n_b": latest.n,
        "total_variation": latest.total_variation,
        "lower": None if latest.interval is None else latest.interval[0],
        "pvalue": latest.pvalue_adjusted,
        "n_columns": len(latest.columns),
        "columns": _first(list(latest.columns)),
        "began": None if result.began is None else _short(result.began),
        "n_batches": len(result.batches),
        "n_changed": len(result.changed),
    }


def _of_tables(result: Comparison | GroupsResult) -> dict[str, Any]:
    return {
        "names": [_short(name) for name in result.names],
        "differ": result.differ,
        "n_reasons": len(result.reasons),
        "reasons": _first(result.reasons),
        "n_a": result.n_x,
        "n_b": result.n_y,
        **(_of_groups(result) if isinstance(result, GroupsResult) else _of_columns(result)),
    }


def _of_columns(result: Comparison) -> dict[str, Any]:
    changed = [column.name for column in result.columns if column.differs]
    return {
        "total_variation": result.total_variation.value,
        "lower": result.total_variation.interval[0],
        "pvalue": result.test.pvalue,
        "n_columns": len(changed),
        "columns": _first(changed),
    }


def _of_groups(result: GroupsResult) -> dict[str, Any]:
    """The sizes are those of the group that differs most, or would."""
    first, changed = next(iter(result.groups), None), [group.label for group in result.changed]
    return {
        "by": _first(list(result.by)),
        "total_variation": None if first is None else first.total_variation,
        "lower": None if first is None else first.lower,
        "pvalue": None if first is None else min(group.pvalue_adjusted for group in result.groups),
        "n_groups": len(changed),
        "groups": _first(changed),
        "n_only_a": len(result.only_a),
        "only_a": _first([label for label, _ in result.only_a]),
        "n_only_b": len(result.only_b),
        "only_b": _first([label for label, _ in result.only_b]),
        "n_not_compared": len(result.not_compared),
    }


def _first(texts: list[str]) -> list[str]:
    return [_short(text) for text in texts[:_LISTED]]


def _short(text: str) -> str:
    return messages.one_line(text, _LONGEST)
