"""The exceptions and the one warning category of the library, and the marks that their texts may hold.

Every message says what came, what is needed and what to do. A place that names an argument is marked: Python reads
``missing="drop"`` there, and the command line, which has the marked text, writes its own option.
"""

import re
from collections.abc import Callable
from typing import NamedTuple, Self

_OPEN, _NEXT, _CLOSE = "\ue000", "\ue001", "\ue002"  # private, hence not printable: `messages.shown` escapes them
_SIGNS = dict.fromkeys(map(ord, (_OPEN, _NEXT, _CLOSE)))
_MARK = re.compile(f"{_OPEN}{_NEXT.join(3 * [f'([^{_OPEN}{_NEXT}{_CLOSE}]*)'])}{_CLOSE}")


class Mark(NamedTuple):
    """A place in a message that names an argument: what Python reads there, the argument, and what is said of it."""

    text: str
    argument: str
    value: str


def mark(text: str, argument: str, value: str = "") -> str:
    """A marked place, to stand in a message."""
    return f"{_OPEN}{_NEXT.join(field.translate(_SIGNS) for field in (text, argument, value))}{_CLOSE}"


def marks(marked: str) -> list[Mark]:
    """The marked places of a text."""
    return [Mark(*fields) for fields in _MARK.findall(marked)]


def rendered(marked: str, wording: Callable[[Mark], str]) -> str:
    """A text with each mark in some wording."""
    return _MARK.sub(lambda match: wording(Mark(*match.groups())), marked)


def plain(marked: str) -> str:
    """A text as Python reads it."""
    return rendered(marked, lambda place: place.text)


def named(marked: str) -> str:
    """A text as Python reads it, but for inputs, which are called as their reader calls them."""
    return rendered(marked, lambda place: place.value if place.value and place.text == place.argument else place.text)


class DensDiffError(Exception):
    """Base class of every error raised on purpose by densdiff.

    Parameters
    ----------
    message : str
        May hold marks; ``str()`` reads it as Python, and ``marked`` is the text as it was given.
    file, argument, column : str, optional
        What the error is about, where that is known.
    row : int, optional
        Counted from 0.

    Examples
    --------
    >>> import densdiff as dd
    >>> try:
    ...     dd.l2_distance({"x": [1.0, 2.0, float("inf")]}, {"x": [1.0, 2.0, 3.0]})
    ... except dd.DensDiffError as error:
    ...     print(type(error).__name__, error.column, error.row)
    InputError x 2
    """

    def __init__(
        self,
        message: str = "",
        *,
        file: str | None = None,
        argument: str | None = None,
        column: str | None = None,
        row: int | None = None,
    ) -> None:
        super().__init__(plain(message))
        self.marked = message
        self.file = file
        self.argument = None if argument is None else plain(argument)
        self.column = column
        self.row = None if row is None else int(row)

    def reworded(self, message: str) -> Self:
        """A copy of this error with another text."""
        about = {"file": self.file, "argument": self.argument, "column": self.column}
        return type(self)(message, row=self.row, **about)


class InputError(DensDiffError, ValueError):
    """The data or an argument cannot be used as given.

    Examples
    --------
    >>> import densdiff as dd
    >>> dd.l2_distance([1.0, 2.0], [1.0, 2.0], level=95)
    Traceback (most recent call last):
        ...
    densdiff.errors.InputError: level ...
    """


class NothingLeftError(InputError):
    """Too few rows, or no column, is left to use: what one group of rows may lack and others have."""


class NumericalError(DensDiffError):
    """The computation could not be carried out in floating point.

    Examples
    --------
    >>> import densdiff as dd
    >>> issubclass(dd.NumericalError, dd.DensDiffError)
    True
    """


class MissingExtraError(DensDiffError, ImportError):
    """An optional dependency is needed for what was asked; its text says what to install.

    Examples
    --------
    >>> import densdiff as dd
    >>> pair = dd.datasets.gaussian_shift(0.5, n=20, random_state=0)
    >>> model = dd.LSDD(random_state=0).fit(pair.x, pair.y)
    >>> try:
    ...     axes = dd.plots.plot_difference(model)
    ... except dd.MissingExtraError as error:  # where matplotlib is not installed
    ...     print(error)
    """


def not_fitted(message: str) -> DensDiffError:
    """A `NotFittedError`, whose class is loaded when it is needed: it is scikit-learn's as well."""
    from densdiff.not_fitted import NotFittedError

    return NotFittedError(message)


class DensDiffWarning(UserWarning):
    """Something was adjusted, or an answer needs care; the result keeps the same text.

    Examples
    --------
    >>> import warnings
    >>> import densdiff as dd
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     result = dd.l2_distance([1.0, 2.0, 4.0], [2.0, 3.0, 5.0], random_state=0)
    >>> [str(warning.message) for warning in caught if warning.category is dd.DensDiffWarning][0] in result.warnings
    True
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(plain(message))
        self.marked = message
