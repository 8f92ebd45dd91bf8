"""How messages word an argument, a value, a list of names and a note: one harmless line, whatever they hold.

Which message is due is decided by the room that raises it; the exceptions live in `errors`.
"""

import datetime
import difflib
import numbers
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from densdiff.errors import DensDiffWarning, mark, named

_DATES = (datetime.date, datetime.time, datetime.timedelta)
_TINY = 1e-4  # p-values below it are all alike
_SHOWN = 5  # names or notes of one sort listed before "and .. more"
_collected: ContextVar[list[str] | None] = ContextVar("collected", default=None)
_display_names: ContextVar[Mapping[str, str] | None] = ContextVar("display_names", default=None)


def argument(name: str, value: Any = None) -> str:
    """An argument in a message: ``alpha``, ``missing="drop"``, ``decimal=','``, or ``sep=`` for a value of ``...``.

    Python reads it as that; another front, such as the command line, writes what it calls the argument.
    """
    if value is None:
        return mark(name, name)
    if value is ...:
        return mark(f"{name}=", name)
    is_word = isinstance(value, str) and value.isidentifier()
    return mark(f'{name}="{value}"' if is_word else f"{name}={shown(value)}", name, value if is_word else shown(value))


def memory_limit(value: int | str) -> str:
    """How to change the memory ceiling, in MiB, which is scikit-learn's."""
    return mark(f"sklearn.set_config(working_memory={value})", "working_memory", str(value))


@contextmanager
def set_display_names(names: Mapping[str, str]) -> Iterator[None]:
    """Let messages inside know how their reader calls what the library calls A, X or series."""
    token = _display_names.set(names)
    try:
        yield
    finally:
        _display_names.reset(token)


def name_of(argument: str) -> str:
    """An argument that holds data, as messages call it; Python, and every result, reads its own name."""
    name = (_display_names.get() or {}).get(argument)
    return argument if name is None else mark(argument, argument, name)


def warn(text: str, notes: list[str] | None = None) -> None:
    """Warn at the line of the first caller outside the library; ``notes`` get the text as its reader calls things."""
    if notes is not None:
        notes.append(named(text))
    if (collected := _collected.get()) is not None:
        collected.append(text)
        return
    level, frame = 1, sys._getframe()
    while f"{frame.f_globals.get('__name__')}.".startswith("densdiff.") and frame.f_back:
        level, frame = level + 1, frame.f_back
    warnings.warn(DensDiffWarning(text), stacklevel=level)


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """The texts of warnings raised inside, none of which is shown.

    Python's own way of recording is the process's, and threads would spoil it.
    """
    texts: list[str] = []
    token = _collected.set(texts)
    try:
        yield texts
    finally:
        _collected.reset(token)


def capped(notes: list[str], what: str) -> list[str]:
    """The first notes of one sort, and how many more columns they would be about."""
    n_more = len(notes) - _SHOWN
    return notes if n_more <= 0 else [*notes[:_SHOWN], f"{n_more} more {what}"]


def escaped(text: str) -> str:
    """A text without control, direction and private characters, hence without line breaks and marks."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def shown(value: Any) -> str:
    """A value as one harmless line: control and direction characters are escaped, long values cut."""
    value = _plain(value)
    return one_line(str(value) if isinstance(value, _DATES) or _is_numpy(value) else repr(value))


def _plain(value: Any) -> Any:
    """A number or a text of NumPy as one of Python; its dates and all other values as they are."""
    return value.item() if _is_numpy(value) and value.dtype.kind not in "mM" else value


def _is_numpy(value: Any) -> bool:
    """Whether a value is a scalar of NumPy, which is not loaded for plain ones: the command line refuses before it."""
    if type(value) in (str, bytes, int, float, bool, type(None)):
        return False
    import numpy as np

    return isinstance(value, np.generic)


def one_line(text: str, most: int = 80) -> str:
    """Text that a terminal shows as it is: escaped, and cut if it is too long."""
    text = escaped(text)
    return text if len(text) <= most else f"{text[: most - 20]}..{text[-10:]}"


def quote_name(name: str) -> str:
    """A name within a sentence, in quotes only where something in it could mislead."""
    text = shown(name)
    return name if name and text[1:-1] == name == name.strip() else text


def percent(share: float) -> str:
    """A share in percent, with enough digits to tell it from 0."""
    return f"{100 * share:.1f} %" if share >= 0.001 or share == 0 else f"{100 * share:.2g} %"


def p_number(pvalue: float, is_smallest: bool = False) -> str:
    """A p-value by itself; one that no relabelling could make smaller is an upper limit."""
    return f"< {_TINY:g}" if pvalue < _TINY else f"{'<= ' * is_smallest}{pvalue:.3g}"


def p_text(pvalue: float, is_smallest: bool = False) -> str:
    """A p-value in a sentence."""
    text = p_number(pvalue, is_smallest)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def class_name(label: Any) -> str:
    """A class within a sentence: a number is said to be one, other labels speak for themselves."""
    label = _plain(label)
    return f"class {label}" if isinstance(label, int | float) else quote_name(str(label))


def state_name(state: int) -> str:
    """The letter of a state counted from 0; after Z come AA, AB, .."""
    more, last = divmod(state, 26)
    return (state_name(more - 1) if more else "") + chr(ord("A") + last)


def short_names(names: tuple[str, str], most: int) -> tuple[str, str]:
    """What two tables are called where there is little room: cut in the middle, as files often begin and end alike."""
    first, second = (
        name if len(name) <= most else f"{name[: most - most // 2 - 1]}…{name[len(name) - most // 2 :]}"
        for name in names
    )
    return (first, second) if first != second else (f"A: {first}", f"B: {second}")


def missing_text(count: int, row: int) -> str:
    """How many values are missing, and the row of the first."""
    return f"{count} missing value{'s' * (count > 1)}, {'first ' * (count > 1)}at row {row}"


def listed(names: Sequence[str]) -> str:
    """The first names in quotes, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(shown, names[:_SHOWN])) + more


def describe_value(value: Any) -> str:
    """What an error says it got: a plain value itself, or the type of any other object."""
    is_plain = value is None or isinstance(value, (str, bytes, numbers.Number)) or _is_numpy(value)
    return shown(value) if is_plain else f"an object of type {type(value).__name__}"


def describe_choice(value: Any, options: Sequence[str]) -> str:
    """What an error says it got in place of one of the options, and the option that was probably meant."""
    near = difflib.get_close_matches(value.lower().strip(), options, n=1, cutoff=0.5) if isinstance(value, str) else []
    return describe_value(value) + (f" (did you mean {near[0]!r}?)" if near else "")


def near_name(name: str, names: Sequence[str]) -> str:
    """The name that was probably meant in place of one that is not there, to follow it in a message; or nothing."""
    same = [other for other in names if other.casefold() == name.casefold()]
    near = same or difflib.get_close_matches(name, names, n=1)
    return f" (did you mean {shown(near[0])}?)" if near else ""


def describe_ragged(rows: Any) -> str:
    """Where a list of lists is ragged, or nothing."""
    rows = rows if isinstance(rows, (list, tuple)) else []
    import numpy as np

    sizes = [len(row) if isinstance(row, (list, tuple, np.ndarray)) else 1 for row in rows]
    odd = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
    if odd is None:
        return "it mixes single values and sequences" if rows else ""
    return f"rows differ in length, {sizes[0]} in row 0 and {sizes[odd]} in row {odd}"
