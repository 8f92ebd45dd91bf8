"""The exceptions and the one warning category of the library.

Every message says what came, what is needed and what to do; nothing else lives here.
"""

from typing import Any

from sklearn.exceptions import NotFittedError as _SklearnNotFittedError


class DensDiffError(Exception):
    """Base class of every error raised on purpose by densdiff; it knows where the trouble is, as far as that is known.

    Attributes
    ----------
    file, argument, column : str or None
        The file, the argument of the call and the column that the message speaks of.
    row : int or None
        The data row, counted from 0.
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
        super().__init__(message)
        self.file, self.argument, self.column, self.row = file, argument, column, row

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(kind: type[DensDiffError], args: tuple[Any, ...], attributes: dict[str, Any]) -> DensDiffError:
    """An error as it was before it was sent to another process."""
    error = kind(*args)
    error.__dict__.update(attributes)
    return error


class InputError(DensDiffError, ValueError):
    """The data or an argument cannot be used as given."""


class NotFittedError(DensDiffError, _SklearnNotFittedError):
    """A fitted attribute or method was asked for before ``fit``."""


class NumericalError(DensDiffError):
    """The computation could not be carried out in floating point."""


class MissingExtraError(DensDiffError, ImportError):
    """An optional dependency is needed for what was asked."""


class DensDiffWarning(UserWarning):
    """Something was repaired, or an answer needs care; the same text stands in the result."""
