"""The exceptions and the one warning category of the library.

Every message says what came, what is needed and what to do; nothing else lives here.
"""

from sklearn.exceptions import NotFittedError as _SklearnNotFittedError


class DensDiffError(Exception):
    """Base class of every error raised on purpose by densdiff."""


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
