"""Cross-validation: rows to groups, groups to folds, fold sums to train and hold-out means, scores to a choice.

Rows are dealt into a few small groups once; a fold is a union of groups, so several random partitions into folds
cost no further pass over the rows.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray

IntArray = npt.NDArray[np.integer]

REPEATS = 2  # partitions into folds of small samples; four were no better in benchmarks/accuracy.py
_SMALL = 10_000
_TEMPERATURE = 0.25  # of the best model's standard error: measured in benchmarks/accuracy.py
_NEGLIGIBLE = 1e-3
_PENALTY, _CURVE_TEMPERATURE = 0.5, 1.0  # of the noise in a curve: measured in benchmarks/curves.py
_ROWS_OF_DENSITIES = 5.0  # how many rows' say the scores of p and q have in that of f
CURVE_RATIO = 0.1  # of neighbouring lams
CURVE_LAMS = CURVE_RATIO ** np.arange(7.0)  # of the filters that a curve is averaged over
_DISTINCT_RUNS = 4096


def draw_rows(seed: int, n: int, count: int) -> IntArray:
    """``count`` of n row indices without repeats; the same for two samples of the same size."""
    return np.random.default_rng([seed, 2]).choice(n, size=min(count, n), replace=False, shuffle=False)


@lru_cache(maxsize=4)
def draw_sorted_rows(seed: int, n: int, count: int) -> IntArray:
    """`draw_rows` in ascending order, which all columns of two tables ask for: it may not be written."""
    rows = np.sort(draw_rows(seed, n, count))
    rows.flags.writeable = False
    return rows


def first_of_equal(rows: npt.NDArray[np.generic]) -> npt.NDArray[np.intp]:
    """Numbers of the rows, (n, d) or (n,), that no earlier one is equal to, ascending."""
    return np.sort(np.unique(rows, axis=0, return_index=True)[1])


class Groups(Protocol):
    """A group for each row of a sample."""

    @property
    def n_groups(self) -> int: ...

    def part(self, start: int, count: int) -> IntArray:
        """The groups of some consecutive rows, (count,)."""


@dataclass(frozen=True)
class GroupPattern:
    """A group for each of n rows, kept as the pattern that repeats: a number for each of many rows would be many."""

    pattern: IntArray  # (p,)
    n: int

    def __len__(self) -> int:
        return self.n

    @property
    def n_groups(self) -> int:
        return int(self.pattern.max()) + 1

    def part(self, start: int, count: int) -> IntArray:
        """The groups of some consecutive rows, (count,)."""
        return np.resize(np.roll(self.pattern, -(start % len(self.pattern))), count)

    def all(self) -> IntArray:
        """The groups of all rows, (n,)."""
        return np.resize(self.pattern, self.n)

    def counts(self) -> IntArray:
        """Rows of each group, (groups,)."""
        whole, remainder = divmod(self.n, len(self.pattern))
        whole_runs = whole * np.bincount(self.pattern, minlength=self.n_groups)
        return whole_runs + np.bincount(self.pattern[:remainder], minlength=self.n_groups)


def assign_groups(seed: int, n: int, groups: int) -> GroupPattern:
    """A group for each of n rows: every run of ``groups`` rows gets one of each; sizes differ by 0 or 1.

    Beyond a few thousand runs the pattern is repeated: a draw per row would cost more than all else on a million rows.
    """
    runs = min(-(-n // groups), _DISTINCT_RUNS)
    numbers = np.arange(groups, dtype=np.min_scalar_type(groups))  # small integers: a million rows are many
    return GroupPattern(np.random.default_rng([seed, 0]).permuted(np.tile(numbers, (runs, 1)), axis=1).ravel(), n)


@dataclass(frozen=True)
class Folds:
    """Groups of the rows of each sample, and which groups make up each fold of each repeat."""

    groups_x: GroupPattern  # of n rows
    groups_y: GroupPattern  # of m rows
    members: FloatArray  # (folds * repeats, groups), 0 or 1

    @property
    def n_groups(self) -> int:
        return int(self.members.shape[1])


def draw_folds(seed: int, n: int, m: int, folds: int, repeats: int | None = None) -> Folds:
    """Folds for n and m rows (``folds`` at most the smaller), drawn from the seed and the row indices alone."""
    repeats = repeats or (REPEATS if n + m <= _SMALL else 1)
    groups = min(repeats * folds, n, m)
    repeats = 1 if groups == folds else repeats
    random = np.random.default_rng([seed, 1])
    labels = [np.arange(groups) % folds] + [random.permutation(groups) % folds for _ in range(repeats - 1)]
    members = np.concatenate([label == np.arange(folds)[:, None] for label in labels]).astype(np.float64)
    return Folds(assign_groups(seed, n, groups), assign_groups(seed, m, groups), members)


def one_group(n: int, m: int) -> Folds:
    """No folds: all rows of a sample in one group."""
    groups = np.zeros(1, dtype=np.intp)
    return Folds(GroupPattern(groups, n), GroupPattern(groups, m), np.empty((0, 1)))


def stratified_folds(codes: npt.NDArray[np.intp], seed: int, folds: int) -> npt.NDArray[np.intp]:
    """A fold for each row, dealt within each class in one random order of all rows, (n,)."""
    order = np.random.default_rng([seed, 6]).permutation(len(codes))
    groups = np.empty(len(codes), dtype=np.intp)
    for code in np.unique(codes):
        own = order[codes[order] == code]
        groups[own] = np.arange(len(own)) % folds
    return groups


def split_means(sums: FloatArray, mass: FloatArray, members: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means over the training rows and over the hold-out rows of each fold, two (b, k) arrays.

    ``sums`` (groups, b) are weighted sums of features, ``mass`` (groups,) the weights' own sums; each sample has
    its own, so n != m needs nothing special.
    """
    fold_sums, fold_mass = members @ sums, members @ mass  # (k, b), (k,)
    train = (sums.sum(axis=0) - fold_sums) / (mass.sum() - fold_mass)[:, None]
    return np.asfortranarray(train.T), np.asfortranarray((fold_sums / fold_mass[:, None]).T)


def rank_models(scores: FloatArray, sigmas: FloatArray, lams: FloatArray, smoothings: IntArray) -> IntArray:
    """Models by mean score, lowest first, (k,); of equals the smoother: in categories, then by sigma, then by lam."""
    return np.lexsort((-lams, -sigmas, -smoothings, scores))


def model_weights(fold_scores: FloatArray, chosen: int, folds: int) -> FloatArray:
    """Weights exp(-(score - best) / (0.25 se)) of all models, (k,), negligible ones 0: for averaging E7.

    ``se`` is the standard error of the chosen model's mean score over one partition into folds.
    """
    mean = fold_scores.mean(axis=1)
    error = standard_errors(fold_scores, folds)[chosen]
    excess = mean - mean[chosen]
    weights = (excess <= 0).astype(np.float64)
    if error > 0:
        weights = np.exp(-excess / (_TEMPERATURE * error))
    weights[weights < _NEGLIGIBLE] = 0.0
    return np.asarray(weights / weights.sum())


def share_of_densities(n: float, m: float) -> float:
    """How much the scores of p and q add to that of f: a curve that hardly shows is about as smooth as they are."""
    return _ROWS_OF_DENSITIES * (1.0 / n + 1.0 / m)


def penalized(scores: FloatArray, noise: FloatArray) -> FloatArray:
    """Scores of curves plus half the noise in them: scores of noisy curves are noisy themselves."""
    return scores + _PENALTY * noise


def curve_weights(scores: FloatArray, noise: FloatArray) -> FloatArray:
    """Weights exp(-(score - least) / noise of the best) of all models for averaging curves, negligible ones 0.

    Scores are penalized; differences between them of the size of the noise in the best curve say little.
    """
    total = penalized(scores, noise)
    best = np.unravel_index(int(np.argmin(total)), total.shape)
    unit, excess = _CURVE_TEMPERATURE * float(noise[best]), total - total[best]
    weights = np.exp(-excess / unit) if unit > 0 else (excess <= 0).astype(np.float64)
    weights[weights < _NEGLIGIBLE] = 0.0
    return np.asarray(weights / weights.sum())


def standard_errors(fold_scores: FloatArray, folds: int) -> FloatArray:
    """Standard error of each model's mean hold-out score; repeats of the partition are not counted as new data."""
    if fold_scores.shape[1] < 2:
        return np.zeros(len(fold_scores))
    return np.asarray(fold_scores.std(axis=1, ddof=1) / np.sqrt(folds))
