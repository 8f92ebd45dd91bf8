"""The error of a model that is asked before it is fitted, in a room of its own because it loads scikit-learn."""

from sklearn.exceptions import NotFittedError as _SklearnNotFittedError

from densdiff.errors import DensDiffError


class NotFittedError(DensDiffError, _SklearnNotFittedError):
    """A fitted attribute or method was asked for before ``fit``.

    Examples
    --------
    >>> import densdiff as dd
    >>> dd.LSDD().predict([0.0])
    Traceback (most recent call last):
        ...
    densdiff.not_fitted.NotFittedError: ...
    """
