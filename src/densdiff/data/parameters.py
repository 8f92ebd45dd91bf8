"""Arguments other than data: numbers, grids, choices, seeds and models, each with its range in the message.

Tables and samples are checked in `table`, `pair`, `points` and `series`.
"""

import math
import numbers
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from densdiff.data.table import is_missing
from densdiff.errors import InputError
from densdiff.messages import argument, describe_choice, describe_ragged, describe_value

FloatArray = npt.NDArray[np.float64]


def positive_grid(value: Any, name: str) -> FloatArray | None:
    """None for "cv", otherwise the positive numbers to use or to search, 1-D."""
    need = f"{argument(name)} must be 'cv', a positive number or a 1-D sequence of them"
    if isinstance(value, str):
        if value == "cv":
            return None
        raise InputError(f"{need}; got {describe_choice(value, ('cv',))}", argument=name)
    try:
        grid = np.asarray(value)
    except ValueError:
        raise InputError(f"{need}; got {describe_value(value)}: {describe_ragged(value)}", argument=name) from None
    if grid.dtype.kind not in "iuf":
        raise InputError(f"{need}; got {describe_value(value)}", argument=name)
    if grid.ndim > 1 or not grid.size:
        raise InputError(f"{need}; got shape {grid.shape}", argument=name)
    values = np.array(grid, dtype=np.float64, ndmin=1)
    bad = np.flatnonzero(~((values > 0) & np.isfinite(values)))
    if bad.size:
        place = f" at position {bad[0]}" if grid.ndim else ""
        raise InputError(f"{argument(name)} must be positive and finite; got {values[bad[0]]}{place}", argument=name)
    return values


def whole(value: Any, name: str, minimum: int) -> int:
    """A whole number of at least ``minimum``; floats and booleans are refused."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or int(value) < minimum:
        need = f"{argument(name)} must be a whole number, at least {minimum}"
        raise InputError(f"{need}; got {describe_value(value)}", argument=name)
    return int(value)


def flag(value: Any, name: str) -> bool:
    """True or False, and nothing that merely counts as one of them."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{argument(name)} must be True or False; got {describe_value(value)}", argument=name)
    return bool(value)


def fraction(value: Any, name: str) -> float:
    """A number strictly between 0 and 1."""
    number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan
    if not 0 < number < 1:
        hint = f" (did you mean {number / 100:g}?)" if 1 < number < 100 else ""
        need = f"{argument(name)} must lie strictly between 0 and 1"
        raise InputError(f"{need}; got {describe_value(value)}{hint}", argument=name)
    return number


def pvalues(value: Any, name: str) -> FloatArray:
    """P-values of one or more looks, each above 0 and at most 1, (k,)."""
    need = f"{argument(name)} must be a 1-D sequence of numbers, one p-value for each look"
    try:
        values = np.ma.asarray(value) if isinstance(value, np.ma.MaskedArray) else np.asarray(value)
    except ValueError:
        raise InputError(f"{need}; got {describe_value(value)}: {describe_ragged(value)}", argument=name) from None
    if values.ndim != 1 or not values.size:
        got = describe_value(value) if values.ndim == 0 else f"shape {values.shape}"
        raise InputError(f"{need}; got {got if values.size else 'none'}", argument=name)
    # NumPy turns [0.5, "a"] into text and [0.5, True] into numbers, so lists are looked at as they are
    items = value if isinstance(value, (list, tuple)) else values.tolist()
    numeric = [math.nan if is_missing(each) else each for each in items]
    for position, each in enumerate(numeric):
        if not isinstance(each, numbers.Real) or isinstance(each, (bool, np.bool_)):
            hint = " (did you mean its pvalue?)" if hasattr(each, "pvalue") else ""
            raise InputError(f"{need}; got {describe_value(each)} at position {position}{hint}", argument=name)
    checked = np.array(numeric, dtype=np.float64)
    _refuse_impossible(checked, name)
    return checked


def _refuse_impossible(values: FloatArray, name: str) -> None:
    """Raise if a number cannot be a p-value."""
    bad = np.flatnonzero(~((values > 0) & (values <= 1)))
    if not bad.size:
        return
    first = values[bad[0]]
    reason = ""
    if np.isnan(first):
        reason = ": leave out looks that were not taken"
    elif first == 0:
        reason = ": a permutation p-value is never 0, count the data themselves among the permutations"
    got = f"{describe_value(first)} at position {bad[0]}{reason}"
    raise InputError(f"{argument(name)} must be above 0 and at most 1; got {got}", argument=name)


def choice(value: Any, name: str, options: tuple[str, ...]) -> str:
    """One of ``options``; a typo is answered with the nearest one."""
    if not isinstance(value, str) or value not in options:
        need = f"{argument(name)} must be one of {', '.join(map(repr, options))}"
        raise InputError(f"{need}; got {describe_choice(value, options)}", argument=name)
    return str(value)


def seed(random_state: Any) -> int:
    """The integer all randomness starts from: fresh for None, one draw from a generator."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**32, dtype=np.uint64))
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        return whole(random_state, "random_state", 0)
    need = f"{argument('random_state')} must be None, a whole number of at least 0 or a NumPy generator"
    raise InputError(f"{need}; got {describe_value(random_state)}", argument="random_state")


def estimator(value: Any, need: str | tuple[type, ...]) -> Any:
    """An estimator object of one of the kinds needed, or one that has ``fit`` and the method needed."""
    if isinstance(need, str):
        kind, requirement = "estimator", f"have the methods fit and {need}, as LSDD() has"
        fits = callable(getattr(value, "fit", None)) and callable(getattr(value, need, None))
    else:
        *first, last = (cls.__name__ for cls in need)
        kind = f"{', '.join(first)} or {last}" if first else last
        requirement, fits = f"be an {kind} object", isinstance(value, need)
    if isinstance(value, type):
        got = f"the class {value.__name__}, pass {value.__name__}()"
        raise InputError(f"model must be an {kind} object; got {got}", argument="model")
    if not fits:
        raise InputError(f"model must {requirement}; got {describe_value(value)}", argument="model")
    return value


def label_codes(value: Any, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """Sorted distinct labels (K,) of any one kind, and the number of each row's label, (n,)."""
    series = nw.from_native(value, series_only=True, pass_through=True)
    labels = series.to_numpy() if isinstance(series, nw.Series) else value
    if isinstance(labels, (list, tuple)):
        labels = np.array(labels, dtype=object)  # as they are: NumPy would turn [1, "a"] and [nan, "a"] into text
    missing = np.ma.getmaskarray(labels) if isinstance(labels, np.ma.MaskedArray) else np.False_
    labels = np.ma.getdata(labels) if isinstance(labels, np.ma.MaskedArray) else np.asarray(labels)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels, missing = labels[:, 0], np.broadcast_to(missing, labels.shape)[:, 0]
    if labels.ndim != 1:
        raise InputError(f"{name} must be 1-D, one label for each row; got shape {labels.shape}", argument=name)
    if labels.dtype.kind in "fcOmM":
        missing = missing | np.array([is_missing(label) for label in labels], dtype=bool)
    if np.any(missing):
        count, row = f"{missing.sum()} missing label{'s' * bool(missing.sum() > 1)}", int(missing.argmax())
        raise InputError(f"{name} has {count}, first at row {row}; drop those rows", argument=name, row=row)
    kinds = {"text" if isinstance(label, (str, bytes)) else "" for label in labels} if labels.dtype == object else set()
    try:
        if len(kinds) > 1:
            raise TypeError
        if labels.dtype == object:
            labels = np.array(labels.tolist())
        classes, codes = np.unique(labels, return_inverse=True)
    except (TypeError, ValueError):
        need = f"{name} must hold labels of one kind, all numbers or all strings"
        raise InputError(need, argument=name) from None
    return classes, np.asarray(codes, dtype=np.intp)


def blocks(value: Any, n: int, m: int) -> npt.NDArray[np.intp]:
    """Group numbers 0, 1, .. of the pooled rows, (n + m,), from labels of any kind."""
    _, groups = label_codes(value, "blocks")
    if len(groups) != n + m:
        need = f"blocks must hold one label for each of the {n} rows of X, then for each of the {m} rows of Y"
        raise InputError(f"{need}; got {len(groups)} labels", argument="blocks")
    counts_x = np.bincount(groups, np.arange(n + m) < n)
    if ((counts_x == 0) | (counts_x == np.bincount(groups))).all():
        text = "no block has rows of both X and Y, so no rows can be exchanged; use larger blocks"
        raise InputError(text, argument="blocks")
    return groups
