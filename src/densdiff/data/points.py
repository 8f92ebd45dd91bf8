"""Rows that are not one of two samples: points and centers of a fitted model, new rows, labelled rows.

Pairs of samples are checked in `pair`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray
from densdiff.data.categories import Levels, codes_of
from densdiff.data.choosing import default_names
from densdiff.data.floats import ROWS, float_matrix, refuse_unusable
from densdiff.data.kinds import Columns, resolve_columns
from densdiff.data.pair import COPIES, HASH_ENTRIES, only_categories, row_weights
from densdiff.data.parameters import label_codes
from densdiff.data.reading import reading
from densdiff.data.summary import WORDS
from densdiff.data.table import Column, Table, missing_values, table_of
from densdiff.errors import InputError
from densdiff.messages import listed, missing_text, name_of, shown, warn


def check_sample(data: Any, where: str) -> tuple[FloatArray, tuple[str, ...], list[str]]:
    """One sample as a float64 matrix (n, d), the names of its columns, and notes."""
    notes: list[str] = []
    table = table_of(data, where)
    names = table.names or default_names(len(table.columns))
    return float_matrix(table, names, notes), names, notes


def check_points(
    data: Any, names: tuple[str, ...], where: str = "points", levels: tuple[Levels, ...] = ()
) -> FloatArray:
    """Points (k, d) at which a fitted model is asked: frames matched by name, arrays by position."""
    return _match_fitted_columns(data, names, where, [], levels)


def check_centers(value: Any, names: tuple[str, ...], levels: tuple[Levels, ...] = ()) -> FloatArray:
    """Centers (b, d) given by the user, in the user's units: the rules of `check_points`, at least one row."""
    centers = _match_fitted_columns(value, names, "centers", [], levels)
    if not len(centers):
        raise InputError("centers has 0 rows; give at least 1 center, or None to draw them from the samples")
    return centers


def match_columns(data: Any, names: tuple[str, ...], where: str, notes: list[str]) -> Table:
    """The columns of a fitted model, as they came: frames are matched by name, arrays by position."""
    table = table_of(data, where)
    d = len(names)
    unnamed = names == default_names(d) and not set(names) & set(table.names or ())  # fitted on arrays
    if table.names and len(table.shape) == 2 and not unnamed:
        if lacking := [name for name in names if name not in table.names]:
            raise InputError(
                f"{where} lacks columns that the model was fitted on: {listed(lacking)}; add or rename them"
            )
        warn_of_extra_columns([name for name in table.names if name not in names], where, notes)
        table = table.select(names)
    elif len(table.columns) != d:
        hint = f"; for one row pass shape (1, {d})" if table.shape == (d,) else ""
        needed = f"{d} columns are" if d > 1 else "1 column is"
        raise InputError(f"{where} has shape {table.shape}, but {needed} needed{hint}")
    return table


def _match_fitted_columns(
    data: Any,
    names: tuple[str, ...],
    where: str,
    notes: list[str],
    levels: tuple[Levels, ...] = (),
    refuse_unseen: bool = True,
) -> FloatArray:
    """Rows in the columns of a fitted model; a level that the fit never saw is refused, or else has the code -1."""
    table = match_columns(data, names, where, notes)
    if any(levels):
        if refuse_unseen:
            table = _encode_known(table, names, levels)
        else:
            table = _encode_with_unseen(table, names, levels, notes)
    return float_matrix(table, names, notes)


def warn_of_extra_columns(extra: Sequence[str], where: str, notes: list[str]) -> None:
    """Warn of columns that a fitted model does not look at."""
    if extra:
        warn(f"columns of {where} left out because the model was not fitted on them: {listed(extra)}", notes)


def _encode_known(table: Table, names: tuple[str, ...], levels: tuple[Levels, ...]) -> Table:
    """The table with codes for the levels of a fitted model; another level is refused."""
    columns = list(table.columns)
    for j, (name, known_levels) in enumerate(zip(names, levels, strict=True)):
        if known_levels is None:
            continue
        codes = codes_of(columns[j].values, known_levels)
        if np.isnan(codes).any():
            row = int(np.isnan(codes).argmax())
            got = f"{shown(columns[j].values[row])} at row {row}"
            text = f"column {shown(name)} of {table.where} holds {got}; the model was fitted on {listed(known_levels)}"
            raise InputError(text, column=name, row=row)
        columns[j] = replace(columns[j], held=codes, kind="numbers")
    return replace(table, columns=columns)


def _encode_with_unseen(table: Table, names: tuple[str, ...], levels: tuple[Levels, ...], notes: list[str]) -> Table:
    """The table with codes for the levels of a fitted model; another level has the code -1 and is warned of."""
    columns = list(table.columns)
    for j, (name, known_levels) in enumerate(zip(names, levels, strict=True)):
        if known_levels is None:
            continue
        label, values = f"column {shown(name)} of {table.where}", columns[j].values
        _refuse_missing(columns[j], label, name)
        if columns[j].kind not in WORDS:
            row, kinds = columns[j].row, f"{columns[j].kind} (in {name_of('X')}: categories)"
            got = f"{kinds}, first {shown(values[row])} at row {row}"
            text = f"{label} holds {got}; the model was fitted on {listed(known_levels)}"
            raise InputError(text, column=name, row=row)
        codes = codes_of(values, known_levels)
        if (unseen := np.isnan(codes)).any():
            others = listed(sorted({str(value) for value in values[unseen].tolist()}))
            rows = f"{unseen.sum()} of {len(codes)} rows hold {others}"
            warn(f"{label}: {rows}, which the model was not fitted on; they match none of its levels", notes)
        columns[j] = replace(columns[j], held=np.where(unseen, -1.0, codes), kind="numbers")
    return replace(table, columns=columns)


@dataclass(frozen=True)
class LabelledRows:
    """Rows of positive weight with the number of their class; ``classes`` are the sorted labels of all rows given."""

    rows: FloatArray  # (n, d)
    codes: npt.NDArray[np.intp]  # (n,)
    weights: FloatArray  # (n,)
    classes: npt.NDArray[Any]  # (K,)
    names: tuple[str, ...]
    notes: tuple[str, ...]
    levels: tuple[Levels, ...] = ()  # (d,) of columns of codes, None for numbers; empty if all are numbers


def check_labelled(X: Any, y: Any, sample_weight: Any = None, *, categories: bool = False) -> LabelledRows:
    """A table and its labels, at least two classes among them; categories are treated as in `pair`.

    Examples
    --------
    >>> labelled = check_labelled([[0.0], [1.0], [2.0]], ["b", "a", "b"])
    >>> labelled.classes.tolist(), labelled.codes.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    notes: list[str] = []
    where, labels = name_of("X"), name_of("y")
    table = table_of(X, where)
    if not table.shape[0]:
        raise InputError(f"{where} has 0 rows (shape {table.shape}); labelled rows are needed", argument="X")
    if y is None:
        raise InputError(f"{labels} is None; one label for each row of {where} is needed", argument="y")
    classes, codes = label_codes(y, labels)
    if len(codes) != table.shape[0]:
        raise InputError(f"{labels} has {len(codes)} labels, but {where} has {table.shape[0]} rows", argument="y")
    if 2 * len(classes) > len(codes) and classes.dtype.kind == "f" and (classes != np.round(classes)).any():
        example = shown(classes[classes != np.round(classes)][0])
        distinct = f"{len(classes)} distinct numbers in {len(codes)} rows, {example} among them"
        text = f"Unknown label type: {labels} holds {distinct}"
        raise InputError(f"{text}; classes must be whole numbers or strings", argument="y")
    if len(classes) < 2:
        raise InputError(f"{labels} holds 1 class, {shown(classes[0])}; at least 2 are needed", argument="y")
    reader = reading(table, where, moments=False)
    summary = reader.summary(table, 0)
    columns = resolve_columns([summary], notes, ROWS) if categories else Columns.of_numbers(reader.names)
    refuse_unusable(summary.only(columns.places), notes, levels=columns.levels)
    rows = replace(reader.only(columns.places), levels=columns.coded).rows(table, 0)
    weights = np.ones(len(rows))
    if sample_weight is not None:
        weights = row_weights(sample_weight, len(rows), where, "sample_weight")
    is_used = weights > 0
    if not only_categories(columns.coded):
        is_used[is_used] = _first_copies(rows[is_used], codes[is_used], where, notes)
    rows, codes, weights = rows[is_used], codes[is_used], weights[is_used]
    return LabelledRows(rows, codes, weights, classes, columns.names, tuple(notes), columns.coded)


def _refuse_missing(column: Column, label: str, name: str) -> None:
    missing = missing_values(column)
    if missing.any():
        row = int(missing.argmax())
        text = f"{label}: {missing_text(int(missing.sum()), row)}; {ROWS}"
        raise InputError(text, column=name, row=row)


def check_new_rows(data: Any, names: tuple[str, ...], notes: list[str], levels: tuple[Levels, ...] = ()) -> FloatArray:
    """Unlabelled rows (m, d) in the columns of a fitted model, at least two; what is odd about them goes to notes.

    Levels the fit never saw have the code -1.
    """
    where = name_of("X_new")
    rows = _match_fitted_columns(data, names, where, notes, levels, refuse_unseen=False)
    if len(rows) < 2:
        few = f"{where} has {len(rows)} row{'s' * (not len(rows))}"
        raise InputError(f"{few}; at least 2 are needed", argument="X_new")
    if only_categories(levels):
        return rows
    return rows[_first_copies(rows, np.zeros(len(rows), dtype=np.intp), where, notes)]


def _first_copies(rows: FloatArray, codes: npt.NDArray[np.intp], where: str, notes: list[str]) -> npt.NDArray[np.bool_]:
    """All rows, or the first of each if all occur equally often: copies are no new observations, (n,)."""
    is_first = np.ones(len(rows), dtype=bool)
    if len(rows) < 2 or rows.size > HASH_ENTRIES or not (rows[1:] == rows[0]).all(axis=1).any():
        return is_first
    _, first, counts = np.unique(np.column_stack([rows, codes]), axis=0, return_index=True, return_counts=True)
    if counts.min() == 1 or counts.min() != counts.max() or len(counts) < 10:
        return is_first
    warn(f"every row of {where} occurs {counts[0]} times and is counted once: {COPIES}", notes)
    is_first[:] = False
    is_first[first] = True
    return is_first
