"""A classifier adapted to the class balance of unlabelled rows: its training rows are reweighted, then it is fitted.

The balance itself is estimated in `class_balance`.
"""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from densdiff import messages
from densdiff.balance.class_balance import ClassBalance
from densdiff.core.scaling import FloatArray
from densdiff.data import parameters
from densdiff.errors import InputError, not_fitted

_LEAST_WEIGHT = 1e-6  # some classifiers cannot be fitted to a class of weight 0


class PriorShiftClassifier(ClassifierMixin, BaseEstimator):
    """A classifier fitted for the class balance of unlabelled rows.

    Parameters
    ----------
    estimator : scikit-learn classifier
        Its ``fit`` must take ``sample_weight``; in a pipeline the last step's. It is cloned.
    balance : ClassBalance, optional
        Estimates the balance; cloned.

    Attributes
    ----------
    estimator_ : the fitted clone
    balance_ : ClassBalanceResult or None
        None if no unlabelled rows were given.
    classes_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> import densdiff as dd
    >>> random = np.random.default_rng(0)
    >>> X, y = np.concatenate([random.normal(0, 1, 50), random.normal(2, 1, 50)])[:, None], np.repeat([0, 1], 50)
    >>> new = np.concatenate([random.normal(0, 1, 10), random.normal(2, 1, 90)])[:, None]
    >>> balance = dd.ClassBalance(random_state=0)
    >>> model = dd.PriorShiftClassifier(LogisticRegression(), balance).fit(X, y, X_unlabeled=new)
    >>> bool(model.predict(new).mean() > LogisticRegression().fit(X, y).predict(new).mean())
    True
    """

    def __init__(self, estimator: Any, balance: Any = None) -> None:
        self.estimator = estimator
        self.balance = balance

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None) -> Self:
        """Fit the classifier to X and y, each row weighted by the new over the old share of its class."""
        if isinstance(self.estimator, type) or not callable(getattr(self.estimator, "fit", None)):
            got = messages.describe_value(self.estimator)
            raise InputError(f"estimator must be a classifier object; got {got}", argument="estimator")
        balance = ClassBalance() if self.balance is None else self.balance
        if not isinstance(balance, ClassBalance):
            raise InputError(
                f"balance must be a ClassBalance object; got {messages.describe_value(balance)}", argument="balance"
            )
        fitted, result = clone(self.estimator), None
        if X_unlabeled is None:
            fitted.fit(X, y)
        else:
            name, codes = _weight_name(fitted), parameters.label_codes(y, "y")[1]
            fitted_balance = clone(balance).fit(X, y)
            result = fitted_balance.estimate(X_unlabeled)
            weights = np.maximum(result.priors / fitted_balance.labelled_shares_, _LEAST_WEIGHT)
            fitted.fit(X, y, **{name: weights[codes]})
        self.estimator_, self.balance_, self.classes_ = fitted, result, fitted.classes_
        return self

    def __sklearn_tags__(self) -> Any:
        """The tags of the wrapped classifier: both take the same data."""
        tags = super().__sklearn_tags__()
        if isinstance(self.estimator, BaseEstimator):
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    @property
    def n_features_in_(self) -> int:
        return int(self.estimator_.n_features_in_)

    def _fitted(self) -> Any:
        if not hasattr(self, "estimator_"):
            raise not_fitted("this PriorShiftClassifier is not fitted yet; call fit(X, y, X_unlabeled) first")
        return self.estimator_

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Classes of the rows, (m,)."""
        return np.asarray(self._fitted().predict(X))

    @available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities of the rows, (m, K), if the classifier has them."""
        return np.asarray(self._fitted().predict_proba(X))

    @available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), "decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> FloatArray:
        """Scores of the rows, if the classifier has them."""
        return np.asarray(self._fitted().decision_function(X))


def _weight_name(estimator: Any) -> str:
    """The argument of ``fit`` that takes row weights."""
    last, steps = estimator, []
    while isinstance(getattr(last, "steps", None), list):  # a pipeline, whose class is costly to import
        step, last = last.steps[-1]
        steps.append(step)
    if not has_fit_parameter(last, "sample_weight"):
        lacks = f"{type(last).__name__} takes no sample_weight, so it cannot be reweighted"
        raise InputError(f"{lacks}; choose a classifier that accepts it", argument="estimator")
    return "__".join([*steps, "sample_weight"])
