"""How well the changes found in a series agree with the true ones, or with those of several annotators.

A change is the 0-based index of the first sample of a new regime. Lists of changes increase strictly; index 0 starts
the series and is no change, so it may stand in a list but is not counted, except where the Turing benchmark does.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.errors import InputError

IntArray = npt.NDArray[np.int64]
Annotations = Sequence[npt.ArrayLike] | Mapping[Any, npt.ArrayLike]


@dataclass(frozen=True)
class ChangeMatch:
    """How many changes were found, how many missed and how many made up.

    Attributes
    ----------
    matched : int
        True changes that have a found one within the margin, and found ones that have a true one: pairs.
    missed : int
        True changes left without a partner.
    false_alarms : int
        Found changes left without a partner.

    Examples
    --------
    >>> from densdiff.metrics import ChangeMatch
    >>> match = ChangeMatch(matched=2, missed=1, false_alarms=0)
    >>> match.precision, round(match.recall, 3), match.f1
    (1.0, 0.667, 0.8)
    """

    matched: int
    missed: int
    false_alarms: int

    @property
    def precision(self) -> float:
        """Share of the found changes that are right; 1 if none was found."""
        return _share(self.matched, self.matched + self.false_alarms)

    @property
    def recall(self) -> float:
        """Share of the true changes that were found; 1 if there is none."""
        return _share(self.matched, self.matched + self.missed)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 1 if there is no change and none was found."""
        return _share(2 * self.matched, 2 * self.matched + self.missed + self.false_alarms)


def match_changes(true: npt.ArrayLike, found: npt.ArrayLike, margin: float) -> ChangeMatch:
    """Pair true with found changes, each with one at most, as many pairs as the margin allows.

    Parameters
    ----------
    true, found : array-like of int
        Changes, strictly increasing; index 0 is left out.
    margin : float
        Largest distance of a pair, in samples.

    Returns
    -------
    ChangeMatch

    Examples
    --------
    >>> from densdiff.metrics import match_changes
    >>> match_changes(true=[100, 200, 300], found=[97, 104, 290], margin=10)
    ChangeMatch(matched=2, missed=1, false_alarms=1)
    """
    truth, guess = _inner(_changes(true, "true")), _inner(_changes(found, "found"))
    pairs = _pairs(truth, guess, _distance(margin))
    return ChangeMatch(matched=pairs, missed=truth.size - pairs, false_alarms=guess.size - pairs)


def change_f1(true: npt.ArrayLike, found: npt.ArrayLike, margin: float) -> float:
    """F1 of found changes: each true one counts once, if it has a found one of its own within `margin`.

    `match_changes` has the counts, precision and recall behind it.

    Parameters
    ----------
    true, found : array-like of int
        Changes, strictly increasing; index 0 is left out.
    margin : float
        Largest distance at which a change counts as found, in samples.

    Returns
    -------
    float
        In [0, 1]; 1 if there is no change and none was found.

    Examples
    --------
    >>> from densdiff.metrics import change_f1
    >>> round(change_f1(true=[100, 200, 300], found=[97, 104, 290], margin=10), 3)
    0.667
    """
    return match_changes(true, found, margin).f1


def covering(true: npt.ArrayLike, found: npt.ArrayLike, n: int) -> float:
    """How well the segments between found changes cover the true segments.

    Every true segment is given the found segment that overlaps it best, in the sense of intersection over union
    (Jaccard); these overlaps are averaged with the lengths of the true segments as weights (Arbelaez et al., 2011).
    There is no margin to choose. True and found play different parts.

    Parameters
    ----------
    true, found : array-like of int
        Changes, strictly increasing and below `n`.
    n : int
        Number of samples in the series.

    Returns
    -------
    float
        In (0, 1]; 1 only if the changes agree exactly.

    Examples
    --------
    >>> from densdiff.metrics import covering
    >>> covering(true=[50], found=[], n=100), covering(true=[50], found=[50], n=100)
    (0.5, 1.0)
    """
    length = _length(n)
    return _covering(_changes(true, "true", length), _changes(found, "found", length), length)


def detection_delay(true: npt.ArrayLike, found: npt.ArrayLike) -> float:
    """Mean number of samples from a true change to the first one found at or after it.

    A change is detected if something is found before the next true change comes; those that are not are left out of
    the mean, so that the delay is to be read beside the recall (`match_changes`). What is found before the first true
    change is not counted. A change reported a little early counts for the regime that ends there, if for any: this
    is a score for detectors that report as data come in.

    Parameters
    ----------
    true, found : array-like of int
        Changes, strictly increasing; index 0 is left out.

    Returns
    -------
    float
        At least 0; nan if no true change was detected.

    Examples
    --------
    >>> from densdiff.metrics import detection_delay
    >>> detection_delay(true=[100, 200, 300], found=[90, 104, 150, 302])
    3.0
    """
    truth, guess = _inner(_changes(true, "true")), _inner(_changes(found, "found"))
    if not truth.size or not guess.size:
        return float("nan")
    first = np.searchsorted(guess, truth)  # (k,)
    later = np.append(truth[1:], max(truth[-1], guess[-1]) + 1)  # (k,) where the regime ends
    reached = np.append(guess, later[-1])[first]  # (k,)
    delays = (reached - truth)[reached < later]
    return float(np.mean(delays)) if delays.size else float("nan")


def annotated_covering(annotations: Annotations, found: npt.ArrayLike, n: int) -> float:
    """Covering of each annotator's segments by the found ones, averaged over the annotators.

    The first score of the Turing change point benchmark (van den Burg and Williams, 2020).

    Parameters
    ----------
    annotations : sequence of array-like of int, or mapping to them
        The changes each annotator marked, strictly increasing and below `n`; an annotator may have marked none.
    found : array-like of int
        Changes, strictly increasing and below `n`.
    n : int
        Number of samples in the series.

    Returns
    -------
    float
        In (0, 1]; 1 is out of reach where annotators disagree.

    Examples
    --------
    >>> from densdiff.metrics import annotated_covering
    >>> annotated_covering([[50], [50], []], found=[50], n=100)
    0.8333333333333334
    """
    length = _length(n)
    guess = _changes(found, "found", length)
    return float(np.mean([_covering(marks, guess, length) for marks in _marks(annotations, length)]))


def annotated_f1(annotations: Annotations, found: npt.ArrayLike, margin: float = 5) -> float:
    """F1 against several annotators, of whom any may be right.

    The second score of the Turing change point benchmark (van den Burg and Williams, 2020). Index 0 is added to all
    lists. Precision is the share of the found changes that pair with one marked by any annotator; recall is the
    share of an annotator's changes that pair with found ones, averaged over the annotators. Pairs are as many as
    possible; the benchmark's own program pairs greedily and may miss one where changes crowd.

    Parameters
    ----------
    annotations : sequence of array-like of int, or mapping to them
        The changes each annotator marked, strictly increasing; an annotator may have marked none.
    found : array-like of int
        Changes, strictly increasing.
    margin : float
        Largest distance at which a change counts as found, in samples; the benchmark's is 5.

    Returns
    -------
    float
        In (0, 1].

    Examples
    --------
    >>> from densdiff.metrics import annotated_f1
    >>> annotated_f1([[50], [52], []], found=[49, 80])
    0.8
    """
    width = _distance(margin)
    marks = [np.union1d(0, marked) for marked in _marks(annotations)]
    guess = np.union1d(0, _changes(found, "found"))
    anyone = np.unique(np.concatenate(marks))
    precision = _pairs(anyone, guess, width) / guess.size
    recall = float(np.mean([_pairs(marked, guess, width) / marked.size for marked in marks]))
    return 2 * precision * recall / (precision + recall)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _pairs(truth: IntArray, guess: IntArray, margin: float) -> int:
    """Size of the largest one-to-one pairing within the margin, both sorted.

    The earliest of one side that still has a partner may as well take the earliest partner: all others can do
    without it at least as well.
    """
    i = j = pairs = 0
    while i < truth.size and j < guess.size:
        gap = int(guess[j]) - int(truth[i])
        pairs += abs(gap) <= margin
        i, j = i + (gap >= -margin), j + (gap <= margin)
    return pairs


def _covering(truth: IntArray, guess: IntArray, n: int) -> float:
    """Cutting at both kinds of change leaves pieces, each of which is one overlap of a true and a found segment."""
    edges = [np.union1d([0, n], cuts) for cuts in (truth, guess)]
    pieces = np.union1d(*edges)
    owners = [np.searchsorted(edge, pieces[:-1], side="right") - 1 for edge in edges]  # two of (pieces,)
    true_lengths, found_lengths = (np.diff(edge)[owner] for edge, owner in zip(edges, owners, strict=True))
    overlap = np.diff(pieces)
    jaccard = overlap / (true_lengths + found_lengths - overlap)
    best = np.maximum.reduceat(jaccard, np.searchsorted(pieces, edges[0][:-1]))  # (true segments,)
    return float(np.diff(edges[0]) @ best / n)


def _inner(changes: IntArray) -> IntArray:
    return changes[changes > 0]


def _changes(values: Any, name: str, n: int | None = None) -> IntArray:
    need = f"{name} must be a 1-D list of whole numbers, the indices at which a new regime starts"
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"{need}; got lists of different lengths: pass one list", argument=name) from error
    if array.ndim != 1:
        what = f"shape {array.shape}" if array.ndim else repr(values)[:80]
        raise InputError(f"{need}; got {what}: pass a flat list, [] for no change", argument=name)
    if array.size and array.dtype.kind not in "iu":
        hint = "round them or divide times by the sampling step" if array.dtype.kind == "f" else "convert them"
        raise InputError(f"{need}; got {array.dtype} values, the first {array[0]!r}: {hint}", argument=name)
    changes = array.astype(np.int64)
    if changes.size and changes.min() < 0:
        place = int(np.argmax(changes < 0))
        got = f"{changes[place]} at position {place}"
        raise InputError(f"{need}, counted from 0; got {got}: count from the start", argument=name)
    falls = np.flatnonzero(np.diff(changes) <= 0)
    if falls.size:
        place = int(falls[0]) + 1
        got = f"{changes[place]} after {changes[place - 1]} at position {place}"
        cure = "numpy.unique sorts and drops repetitions"
        raise InputError(f"{name} must increase strictly; got {got}: {cure}", argument=name)
    if n is not None and changes.size and changes[-1] >= n:
        hint = "drop it if it marks the end of the series" if changes[-1] == n else "check n and the list"
        need = f"{name} must lie below n = {n}, the length of the series"
        raise InputError(f"{need}; got {changes[-1]}: {hint}", argument=name)
    return changes


def _marks(annotations: Any, n: int | None = None) -> list[IntArray]:
    lists = dict(annotations) if isinstance(annotations, Mapping) else annotations
    need = "annotations must hold one list of changes for every annotator, such as [[12, 40], [13], []]"
    if isinstance(lists, str) or not hasattr(lists, "__len__") or not len(lists):
        got = "none" if hasattr(lists, "__len__") and not len(lists) else f"an object of type {type(lists).__name__}"
        raise InputError(f"{need}; got {got}: an annotator who saw no change is []", argument="annotations")
    items = lists.items() if isinstance(lists, dict) else enumerate(lists)
    return [_changes(marked, f"annotations[{who!r}]", n) for who, marked in items]


def _length(n: Any) -> int:
    if not isinstance(n, numbers.Integral) or isinstance(n, bool) or n < 1:
        need = "n must be a whole number, at least 1"
        raise InputError(f"{need}; got {n!r}: pass the length of the series", argument="n")
    return int(n)


def _distance(margin: Any) -> float:
    width = float(margin) if isinstance(margin, numbers.Real) and not isinstance(margin, bool) else float("nan")
    if not 0 <= width < float("inf"):
        need = "margin must be a finite number of samples, at least 0"
        raise InputError(f"{need}; got {margin!r}: 0 asks for hits", argument="margin")
    return width
