"""The file of a profile: arrays and a header of JSON, every part checked on loading."""

from os import PathLike
from typing import Any

import numpy as np

from densdiff.comparing.profile import Profile
from densdiff.comparing.profile_columns import LevelFrame, NumberFrame
from densdiff.comparing.profile_frame import MOST_WIDTHS, Frame
from densdiff.core.dyadic_cells import SIZE, DyadicCells
from densdiff.data import parameters
from densdiff.data.match import SchemaChanges
from densdiff.errors import InputError
from densdiff.io.npz import check_kind, checked_texts, load_arrays, save_arrays
from densdiff.io.options import is_profile_path
from densdiff.results import VERSION
from densdiff.testing.feature_sums import FeatureSums

_KIND, _SCHEMA = "densdiff profile", 3
_FAR = 1e308
_MOST = {"f": _FAR, "i": 2.0**50}  # of a number; some thousand counts have a sum in 64 bits
_NARROW = 1e-30  # a width whose frequencies single precision does not hold
_MOST_COLUMNS = 100_000


def load_if_saved(table: Any) -> Any:
    """The profile that a path names, by its ending; any other table as it is."""
    return load_profile(table) if is_profile_path(table) else table


def save_profile(profile: Profile, path: str | PathLike[str]) -> None:
    """Write a profile, all or nothing."""
    frame = profile.frame
    header = {
        "kind": _KIND,
        "schema": _SCHEMA,
        "version": VERSION,
        "n": profile.n,
        "seed": frame.seed,
        "widths": list(frame.widths),
        "suited": frame.suited,
        "lam": frame.lam,
        "numbers": [
            [own.name, own.cells.center, own.cells.width, own.cells.is_discrete, own.scale, own.has_missing]
            for own in frame.numbers
        ],
        "categories": [[own.name, list(own.levels), own.salt] for own in frame.categories],
        "missing": list(profile.missing),
        "left_out": [list(entry) for entry in profile.left_out],
        "schema_changes": [list(profile.schema_changes.missing), list(profile.schema_changes.added)],
        "other_kind": [list(entry) for entry in profile.schema_changes.other_kind],
        "notes": list(profile.notes),
    }
    arrays: dict[str, Any] = {
        "pairs": frame.pairs,
        "form_quantiles": frame.form_quantiles,
        "counts_of_pairs": profile.pairs,
        "sums": profile.sums.sums,
        "squares": profile.sums.squares,
    }
    for j, (own, cells) in enumerate(zip(frame.numbers, profile.cells, strict=True)):
        occupied = np.flatnonzero(cells)
        arrays |= {f"cells_{j}": np.column_stack([occupied, cells[occupied]]), f"merged_{j}": own.merged}
        arrays |= {f"knots_{j}": own.knots, f"knot_rows_{j}": own.knot_rows}
    for j, (level, rows) in enumerate(zip(frame.categories, profile.levels, strict=True)):
        arrays |= {f"levels_{j}": np.array([level.rows, rows])}
    save_arrays(path, header, arrays, pack=True)


def load_profile(path: str | PathLike[str]) -> Profile:
    """Read what `save_profile` wrote; anything else is an InputError."""
    return load_arrays(path, "a saved profile", _build)


def _build(header: dict[str, Any], arrays: dict[str, Any]) -> Profile:
    if header.get("kind") == _KIND and header.get("schema") in (1, 2):
        raise InputError("it was written by an earlier version, with other sums over rows; make it again")
    check_kind(header, _KIND, _SCHEMA)
    described, named = _columns(header)
    for name, array in arrays.items():
        kind = "f" if name.startswith(("form", "knots", "sums", "squares")) else "i"
        if array.dtype.kind != kind:
            raise InputError(f"its array {name} holds {array.dtype}")
        if not np.isfinite(array).all() or np.abs(array.astype(np.float64)).max(initial=0.0) > _MOST[kind]:
            raise InputError(f"its array {name} holds numbers that are not finite, or too large")
    numbers, cells = [], []
    for j, (name, center, width, is_discrete, scale, has_missing) in enumerate(described):
        own = DyadicCells(center, width, is_discrete)
        merged, counted = (_pairs_of_cells(arrays, f"{what}_{j}") for what in ("merged", "cells"))
        if (merged >= SIZE).any() or np.isin(merged[:, 1], merged[:, 0]).any():
            raise InputError(f"its array merged_{j} names cells that there are not")
        knots, rows = arrays.pop(f"knots_{j}"), arrays.pop(f"knot_rows_{j}")
        if (
            knots.ndim != 1
            or not len(knots)
            or rows.shape != knots.shape
            or (rows <= 0).any()
            or (np.diff(knots) <= 0).any()
        ):
            raise InputError(f"its array knots_{j} is not ascending, or has no rows")
        numbers.append(NumberFrame(name, own, scale, has_missing, merged, knots, rows))
        counts = np.zeros(SIZE, dtype=np.int64)
        counts[counted[:, 0]] = counted[:, 1]
        cells.append(counts)
    categories, levels = [], []
    for j, (name, names, salt) in enumerate(named):
        both = arrays.pop(f"levels_{j}")
        if both.shape != (2, len(names) + 2) or (both < 0).any() or both[0].sum() < 1:
            raise InputError(f"its array levels_{j} does not count its levels")
        categories.append(LevelFrame(name, names, both[0], salt))
        levels.append(both[1])
    return _checked(header, arrays, (tuple(numbers), tuple(cells)), (tuple(categories), tuple(levels)))


def _columns(header: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Numbers and categories as the header describes them."""
    described = []
    for name, center, width, is_discrete, scale, has_missing in header["numbers"]:
        values = [_number(value, "numbers") for value in (center, width, scale)]
        if not isinstance(name, str) or not (values[1] > 0 and values[2] > 0):
            raise InputError("its columns of numbers need a name, a width and a scale above 0")
        described.append((name, values[0], values[1], bool(is_discrete), values[2], bool(has_missing)))
    named = []
    for name, levels, salt in header["categories"]:
        if not isinstance(name, str):
            raise InputError("its columns of categories need a name")
        texts = checked_texts(levels, "levels")
        if salt is not None and not texts:
            raise InputError("its groups of levels need names")
        named.append((name, texts, None if salt is None else parameters.whole(salt, "salt", 0)))
    names = [entry[0] for entry in [*described, *named]]
    if not 0 < len(names) <= _MOST_COLUMNS or len(set(names)) < len(names):
        raise InputError("its columns need different names")
    return described, named


def _checked(header: dict[str, Any], arrays: dict[str, Any], numbers: Any, categories: Any) -> Profile:
    """The profile of columns that are sound, if everything else is."""
    n = parameters.whole(header["n"], "n", 1)
    missing = tuple(parameters.whole(value, "missing", 0) for value in header["missing"])
    widths = tuple(_number(value, "widths") for value in header["widths"])
    if not widths or min(widths) < _NARROW or len(missing) != len(numbers[0]):
        raise InputError("its widths must be above 0, and each column of numbers needs its missing values")
    suited = parameters.whole(header["suited"], "suited", 0)
    if len(widths) > MOST_WIDTHS or suited >= len(widths):
        raise InputError("it has more widths than a profile can have, or names one that there is not")
    lam = None if header["lam"] is None else _number(header["lam"], "lam")
    if lam is not None and not (lam > 0 and suited == len(widths) - 1 and not categories[0]):
        raise InputError("its filter needs a lam above 0, the last of the widths, and columns of numbers only")
    frame = Frame(
        *(numbers[0], categories[0], parameters.whole(header["seed"], "seed", 0), widths, suited, lam),
        *(arrays.pop(name) for name in ("pairs", "form_quantiles")),
    )
    d = len(frame.all_names)
    shapes_hold = frame.pairs.ndim == 2 and frame.pairs.shape[1:] == (2,)
    if not shapes_hold or (frame.pairs < 0).any() or (frame.pairs >= d).any() or frame.form_quantiles.ndim != 2:
        raise InputError("its pairs or quantiles do not fit its columns")
    if len(frame.form_quantiles) != 4 or not frame.form_quantiles.shape[1]:
        raise InputError("its quadratic forms are not four")
    sums, squares, pairs = (arrays.pop(name) for name in ("sums", "squares", "counts_of_pairs"))
    if not sums.shape == squares.shape == (frame.n_features,) or (squares < 0).any():
        raise InputError("its sums do not fit its columns")
    if pairs.shape != frame.pair_counts(frame.empty_rows).shape or (pairs < 0).any() or (pairs > n).any():
        raise InputError("its counts of pairs do not fit its columns and rows")
    for counts, lost in [*zip(numbers[1], missing, strict=True), *((counts, 0) for counts in categories[1])]:
        if counts.sum() + lost != n:
            raise InputError("its counts do not add up to its rows")
    if arrays:
        raise InputError(f"it has unexpected arrays: {', '.join(sorted(arrays))}")
    gone, added = (checked_texts(names, "schema changes") for names in header["schema_changes"])
    changes = SchemaChanges(gone, added, tuple(_texts_of(entry, 3) for entry in header["other_kind"]))
    left_out = tuple(_texts_of(entry, 2) for entry in header["left_out"])
    notes = checked_texts(header["notes"], "notes")
    of_features = FeatureSums(n, sums, squares)
    return Profile(frame, n, numbers[1], missing, categories[1], pairs, of_features, left_out, changes, notes)


def _texts_of(entry: Any, count: int) -> Any:
    texts = checked_texts(entry, "columns")
    if len(texts) != count:
        raise InputError("its columns are not described as they should be")
    return texts


def _pairs_of_cells(arrays: dict[str, Any], name: str) -> Any:
    """An array (k, 2) whose first column names cells, each once."""
    array = arrays.pop(name)
    if array.ndim != 2 or array.shape[1] != 2 or (array < 0).any():
        raise InputError(f"its array {name} must hold cells and counts")
    if (array[:, 0] >= SIZE).any() or len(np.unique(array[:, 0])) < len(array):
        raise InputError(f"its array {name} names cells that there are not, or twice")
    return array


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= _FAR:
        raise InputError(f"its {name} must be finite numbers")
    return float(value)
