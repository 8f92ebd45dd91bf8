"""What share of each class does an unlabelled sample hold?

The shares are estimated in `mixture`; here rows are checked and intervals and warnings put together.
"""

import itertools
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student
from sklearn.base import BaseEstimator, clone

from densdiff import messages
from densdiff.balance.features import KernelFeatures
from densdiff.balance.labelled import LabelledSample, encode_columns
from densdiff.balance.learned import LearnedMixture
from densdiff.balance.mixture import MixtureEstimate, estimate_by_kde, estimate_by_lsdd, estimate_by_mixed_lsdd
from densdiff.balance.pictures import mixture_picture
from densdiff.core.scaling import FloatArray, pooled_scaling
from densdiff.core.simplex import Moments
from densdiff.data import parameters
from densdiff.data.inputs import source_of
from densdiff.data.points import LabelledRows, check_labelled, check_new_rows, warn_of_extra_columns
from densdiff.data.stretches import draw_table
from densdiff.errors import InputError, not_fitted
from densdiff.estimators.kde import KDEDifference
from densdiff.estimators.lsdd import LSDD
from densdiff.progress import long_work
from densdiff.results import Mixture, Receipt
from densdiff.threads import on_one_thread

MOST_ROWS = 100_000  # labelled rows that are used: their features are held in memory
_MOST_NEW = 200_000  # rows of a large sample: beside the noise of 2000 labelled rows theirs is nothing
_SCORES = ("predict_proba", "decision_function")
_CHANGED = 0.04  # p-value of a mixture below which a warning is given
_APART = 2.0  # standard errors by which the scores of two classes must differ


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassBalanceResult(Receipt):
    """The shares of the classes in an unlabelled sample.

    Attributes
    ----------
    classes : tuple
        The labels, sorted.
    priors : array of shape (K,)
        Estimated share of each class; they sum to 1, and 0 and 1 are possible.
    standard_errors : array of shape (K,) or None
        None for `KDEDifference`.
    intervals : array of shape (K, 2) or None
        Confidence interval of each share; all of [0, 1] where the classes cannot be told apart.
    level : float
        Nominal coverage of each interval.
    mixture_pvalue : float
        p-value of the hypothesis that the new rows are a mixture of the labelled classes at all; small where a class
        itself has changed, or a class has no labels.
    profile
        Densities of the classes and of the new rows, for pictures; not in ``to_dict``.

    Examples
    --------
    >>> import densdiff as dd
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> X, y = np.r_[random.normal(0, 1, 100), random.normal(4, 1, 100)], np.repeat(["a", "b"], 100)
    >>> result = dd.ClassBalance(random_state=0).fit(X, y).estimate(random.normal(4, 1, 50))
    >>> result.classes, bool(result.intervals[1, 0] > 0.8)
    (('a', 'b'), True)
    """

    classes: tuple[Any, ...]
    priors: npt.NDArray[np.float64]
    standard_errors: npt.NDArray[np.float64] | None
    intervals: npt.NDArray[np.float64] | None
    level: float
    mixture_pvalue: float
    profile: Mixture | None = field(default=None, repr=False)  # for pictures; not in `to_dict`

    def _contents(self) -> dict[str, Any]:
        contents = super()._contents()
        del contents["profile"]
        return contents

    def __str__(self) -> str:
        labels = [f"{messages.class_name(label)}:" for label in self.classes]
        wide = max(map(len, labels))
        lines = [f"Class balance of {self.n_y} rows, from {self.n_x} labelled rows"]
        for c, label in enumerate(labels):
            between = ""
            if self.intervals is not None:
                low, high = 100 * self.intervals[c]
                between = f"  [{low:.1f} %, {high:.1f} %] at {100 * self.level:g} %"
            lines.append(f"  {label:<{wide}}  {100 * self.priors[c]:.1f} %{between}")
        lines.append(f"  mixture of these classes: p = {self.mixture_pvalue:.3g}")
        return "\n".join(lines + self._receipt_lines())

    def _draw(self) -> Any:
        from densdiff.plots.intervals import draw_intervals

        labels = [messages.class_name(label) for label in self.classes]
        return draw_intervals(labels, self.priors, self.intervals, "share of the new rows")

    def to_html(self, path: str | PathLike[str], *, title: str | None = None) -> Path:
        """Write the result as one self-contained HTML page, headed by ``title``, and return its path; needs Jinja2."""
        from densdiff.report import write_balance

        return write_balance(path, self, title)


@dataclass(frozen=True)
class NewRows:
    """New rows in the user's units, and what the labels say of them."""

    checked: FloatArray
    learned: LearnedMixture


class ClassBalance(BaseEstimator):
    """Estimate the class balance of unlabelled samples from labelled rows.

    Assumes that each class looks the same in both samples and only the shares differ. Columns of text, categories and
    booleans become one column for each level seen in ``fit``, together as wide as one standardized column of numbers; a
    level that only new rows have is warned of and counts as none. `KDEDifference` takes numbers only.

    Parameters
    ----------
    model : None, LSDD or KDEDifference
        How densities are compared. None lets the labels decide between several kinds of class scores and the nearest
        mixture, which measured best. An `LSDD` is the paper's method, with sigma and lam cross-validated at the
        estimated balance; it is cloned, and its own ``random_state`` wins if set.
    classifier : scikit-learn classifier, optional
        Gives the class scores in place of the library's own, for ``model=None``. It is cloned, fitted to standardized
        columns (one for each level of a category), and calibrated on labelled rows that were held out.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    classes_ : array of shape (K,)
    samples_ : tuple of arrays of shape (n_c, d)
        The labelled rows of each class; a category is the number of its level among the sorted ones.
    sample_weights_ : tuple of arrays of shape (n_c,)
        Weights of these rows, which sum to 1 in each class.
    labelled_shares_ : array of shape (K,)
        Share of each class among the labelled rows, by weight.
    n_features_in_, feature_names_, seed_

    Examples
    --------
    >>> import numpy as np
    >>> import densdiff as dd
    >>> random = np.random.default_rng(0)
    >>> X = np.concatenate([random.normal(0, 1, (50, 2)), random.normal(2, 1, (50, 2))])
    >>> y = np.repeat(["ill", "well"], 50)
    >>> new = np.concatenate([random.normal(0, 1, (20, 2)), random.normal(2, 1, (80, 2))])
    >>> balance = dd.ClassBalance(random_state=0).fit(X, y)
    >>> balance.predict(new).round(1).tolist()
    [0.2, 0.8]
    """

    def __init__(self, *, model: Any = None, classifier: Any = None, random_state: Any = None) -> None:
        self.model = model
        self.classifier = classifier
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Store labelled rows X (n, d) and labels y; the estimate waits for new rows, whose scale counts too."""
        if self.model is not None and not isinstance(self.model, LSDD | KDEDifference):
            got = type(self.model).__name__
            if isinstance(self.model, type):
                got = f"the class {self.model.__name__}, pass {self.model.__name__}()"
            raise InputError(f"model must be None, an LSDD or a KDEDifference object; got {got}", argument="model")
        self._check_classifier()
        mixed, weighted = not isinstance(self.model, KDEDifference), sample_weight is not None
        data = check_labelled(X, y, sample_weight, categories=mixed)
        counts = np.bincount(data.codes, minlength=len(data.classes))
        if counts.min() < 2:
            label = messages.shown(data.classes[counts.argmin()])
            what = f"{counts.min()} row{'s' * (not counts.min())} of positive weight" if weighted else "1 row"
            hint = ""
            if np.median(counts) < 2:
                distinct = f"{len(counts)} distinct values in {counts.sum()} rows"
                hint = f"; {messages.name_of('y')} holds {distinct}: are they classes?"
            few = f"class {label} has {what} in {messages.name_of('X')}"
            raise InputError(f"{few}; each class needs at least 2{hint}", argument="y")
        totals = np.bincount(data.codes, data.weights)
        heaviest = np.array([data.weights[data.codes == code].max() for code in range(len(totals))])
        if (alone := heaviest >= (1 - 1e-12) * totals).any():
            label = messages.shown(data.classes[alone.argmax()])
            text = f"class {label} has all but 1e-12 of its sample_weight in one row; make the weights more even"
            raise InputError(text, argument="sample_weight")
        own = None if self.model is None else self.model.random_state
        self.seed_ = parameters.seed(self.random_state if own is None else own)
        self._data, self._counts, self.labelled_shares_ = _thin(data, self.seed_), counts, totals / totals.sum()
        self.classes_ = data.classes
        rows_of = [data.codes == code for code in range(len(data.classes))]
        self.samples_ = tuple(data.rows[own] for own in rows_of)
        self.sample_weights_ = tuple(data.weights[own] / totals[code] for code, own in enumerate(rows_of))
        self.feature_names_, self.levels_ = data.names, data.levels
        self.n_features_in_ = len(data.names)
        return self

    def _check_classifier(self) -> None:
        """Refuse what gives no class scores, and a classifier beside a model that has no use for it."""
        if self.classifier is None:
            return
        methods = [callable(getattr(self.classifier, name, None)) for name in _SCORES]
        if isinstance(self.classifier, type) or not callable(getattr(self.classifier, "fit", None)) or not any(methods):
            got = messages.describe_value(self.classifier)
            needed = f"classifier must be a classifier object with {' or '.join(_SCORES)}"
            raise InputError(f"{needed}; got {got}", argument="classifier")
        if self.model is not None:
            name = type(self.model).__name__
            text = f"classifier gives class scores, which model={name}() has no use for; leave one of them out"
            raise InputError(text, argument="classifier")

    @long_work("estimating class balance")
    @on_one_thread
    def predict(self, X_new: Any) -> FloatArray:
        """Estimated share of each class in ``X_new``, (K,), in the order of ``classes_``."""
        return self._estimate_mixture(X_new, [])[0].priors

    def class_weight(self, X_new: Any) -> dict[Any, float]:
        """Estimated share of each class in ``X_new`` over its share of the labelled rows, for scikit-learn."""
        weights = self.predict(X_new) / self.labelled_shares_
        return dict(zip(self.classes_.tolist(), weights.tolist(), strict=True))

    @long_work("estimating class balance")
    @on_one_thread
    def estimate(self, X_new: Any, level: float = 0.95) -> ClassBalanceResult:
        """The shares in ``X_new`` with standard errors and confidence intervals."""
        level = parameters.fraction(level, "level")
        notes = list(self._fitted().notes)
        estimate, rows = self._estimate_mixture(X_new, notes)
        new, n_new = rows.checked, len(rows.checked)
        notes += [note for note in estimate.notes if note not in notes]
        pvalue = rows.learned.pvalue(estimate.priors)
        if pvalue < _CHANGED:
            messages.warn(_changed_text(pvalue), notes)
        errors = intervals = None
        if estimate.moments is None:
            notes.append("KDEDifference gives no standard errors and no intervals")
        else:
            moments = estimate.moments()
            alike = _alike_pairs(moments)
            if text := _confusion_text(moments, alike, self.classes_):
                messages.warn(text, notes)
            errors = moments.standard_errors(estimate.priors)
            intervals = _intervals(moments, estimate.priors, level, self._counts, n_new)
            for a, b in alike:  # what one of them has the other may have had
                together = min(1.0, intervals[a, 1] + intervals[b, 1]) if len(self.classes_) > 2 else 1.0
                intervals[[a, b]] = 0.0, together
        return ClassBalanceResult(
            classes=tuple(self.classes_.tolist()),
            priors=estimate.priors,
            standard_errors=errors,
            intervals=intervals,
            level=level,
            mixture_pvalue=pvalue,
            profile=self._profile(new, estimate.priors),
            sigma=estimate.sigma,
            lam=estimate.lam,
            solver=estimate.solver,
            n_centers=estimate.n_centers,
            n_x=int(self._counts.sum()),
            n_y=n_new,
            seed=self.seed_,
            tuning=estimate.tuning,
            warnings=tuple(notes),
        )

    def _profile(self, new: FloatArray, priors: FloatArray) -> Mixture | None:
        numbers = [j for j in range(len(self.feature_names_)) if not self.levels_ or self.levels_[j] is None]
        samples = [rows[:, numbers] for rows in self.samples_]
        names = tuple(self.feature_names_[j] for j in numbers)
        if not numbers:
            return None
        return mixture_picture(samples, list(self.sample_weights_), new[:, numbers], priors, names)

    def _fitted(self) -> LabelledRows:
        if not hasattr(self, "classes_"):
            raise not_fitted("this ClassBalance is not fitted yet; call fit(X, y) first")
        return self._data

    def _estimate_mixture(self, X_new: Any, notes: list[str]) -> tuple[MixtureEstimate, NewRows]:
        """The estimated shares, and the new rows."""
        data = self._fitted()
        name = messages.name_of("X_new")
        source = source_of(X_new, name)
        notes += source.notes
        table, extra, count = draw_table(source, name, self.seed_, _MOST_NEW, self.feature_names_)
        warn_of_extra_columns(extra, name, notes)
        if count > max(_MOST_NEW, source.rows_at_once):
            notes.append(f"shares are estimated from {_MOST_NEW} of the {count} new rows, drawn at random")
        checked = check_new_rows(table, self.feature_names_, notes, data.levels)
        if self.n_features_in_ > len(data.rows) + len(checked) and self.model is None:
            shapes = f"{self.n_features_in_} columns but only {len(data.rows)} labelled and {len(checked)} new rows"
            messages.warn(f"{shapes}: are rows and columns swapped?", notes)
        labelled, inner = self._inner_rows(checked)
        learned = LearnedMixture(KernelFeatures(labelled, self.seed_), inner, self.seed_, self.classifier)
        new = NewRows(checked, learned)
        if self.model is None:
            return learned.estimate(), new
        model, given = clone(self.model).set_params(random_state=self.seed_), replace(labelled, rows=data.rows)
        if isinstance(model, KDEDifference):
            return estimate_by_kde(model, given, checked), new
        if data.levels:
            return estimate_by_mixed_lsdd(model, given, checked, self.feature_names_, data.levels), new
        return estimate_by_lsdd(model, given, checked), new

    def _inner_rows(self, new: FloatArray) -> tuple[LabelledSample, FloatArray]:
        """Labelled and new rows in standardized columns, one for each level of a category."""
        data = self._data
        omega = data.weights / np.bincount(data.codes, data.weights)[data.codes]
        shares = data.weights / data.weights.sum()
        if data.levels:
            counts = [len(levels or ()) for levels in data.levels]
            rows, inner = np.split(encode_columns(data.rows, new, shares, counts), [len(data.rows)])
        else:
            even = np.broadcast_to(1.0 / len(new), len(new))
            _, rows, inner = pooled_scaling(data.rows, new, shares, even, True)
        return LabelledSample(rows, data.codes, omega), inner


def _thin(data: LabelledRows, seed: int) -> LabelledRows:
    """At most some thousand labelled rows, drawn evenly from the classes' own rows."""
    n = len(data.rows)
    if n <= MOST_ROWS:
        return data
    random, is_drawn = np.random.default_rng([seed, 7]), np.zeros(n, dtype=bool)
    fair = MOST_ROWS // len(data.classes)
    for code in range(len(data.classes)):
        own = np.flatnonzero(data.codes == code)
        is_drawn[random.choice(own, min(len(own), max(fair, 2)), replace=False)] = True
    note = f"{is_drawn.sum()} of the {n} labelled rows were used, drawn evenly from the classes, to limit memory"
    rows, codes, weights = data.rows[is_drawn], data.codes[is_drawn], data.weights[is_drawn]
    return replace(data, rows=rows, codes=codes, weights=weights, notes=(*data.notes, note))


def _changed_text(pvalue: float) -> str:
    return (
        f"the new rows are no mixture of the labelled classes (p = {pvalue:.2g}): a class has changed, or one has no "
        "labels; look at the picture before you use the shares"
    )


def _alike_pairs(moments: Moments) -> list[tuple[int, int]]:
    """Pairs of classes whose mean scores differ by less than two standard errors."""
    k, pairs = len(moments.target), []
    for a, b in itertools.combinations(range(k), 2):
        contrast = np.eye(k)[a] - np.eye(k)[b]
        gap = contrast @ moments.matrix @ contrast
        if gap <= _APART * np.sqrt(contrast @ (moments.of_classes[a] + moments.of_classes[b]) @ contrast):
            pairs.append((a, b))
    return pairs


def _confusion_text(moments: Moments, alike: list[tuple[int, int]], classes: npt.NDArray[Any]) -> str:
    """What to warn of: classes that are alike, or that mixtures of others look like."""
    if alike:
        pairs = ", ".join(f"{messages.shown(classes[a])} and {messages.shown(classes[b])}" for a, b in alike[:3])
        more = f" and {len(alike) - 3} more pairs" if len(alike) > 3 else ""
        return (
            f"classes {pairs}{more} can hardly be told apart in these columns: read their intervals, not their shares"
        )
    if moments.separation() <= _APART:
        return "a class can hardly be told apart from a mixture of others in these columns: read the intervals instead"
    return ""


def _intervals(
    moments: Moments, priors: FloatArray, level: float, counts: npt.NDArray[np.intp], n_new: int
) -> FloatArray:
    """The interval of each share, (K, 2), wide enough to hold the estimate itself."""
    quantile = float(student.ppf(0.5 + level / 2, min(int(counts.min()), n_new) - 1))
    limits = np.array([moments.interval(c, priors, quantile) for c in range(len(priors))])
    return np.column_stack([np.minimum(limits[:, 0], priors), np.maximum(limits[:, 1], priors)])
