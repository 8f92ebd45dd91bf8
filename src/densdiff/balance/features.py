"""Kernels between rows as features: from linear in each column to local in all, and one learned from the labels.

A kernel is represented on at most some hundred labelled rows, the landmarks; with fewer rows it is exact.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist

from densdiff.balance.labelled import IntArray, LabelledSample
from densdiff.core import kernel, metric
from densdiff.core.class_scores import landmark_map, row_slices
from densdiff.core.scaling import FloatArray

Kernel = Callable[[FloatArray, FloatArray], FloatArray]
WIDTHS = np.array([2.0, 1.0, 0.5])  # of the median distance, and the weight of each in the kernel
_LANDMARKS, _MORE_LANDMARKS = 200, 400
_MANY, _TOO_MANY = 2_000, 20_000  # labelled rows that ask for more landmarks, and whose features would be too large
_SAMPLES = 2  # the labelled and the new rows, which several models ask for
_MOST_LABELLED, _MOST_NEW = 5_000, 10_000  # rows whose class means are compared


class RowFeatures:
    """Features of rows whose products are a kernel, exact on the landmarks and projected elsewhere."""

    def __init__(self, kernel_of: Kernel, landmarks: FloatArray, remembered: int = 0) -> None:
        self._kernel, self._landmarks, self._remembered = kernel_of, landmarks, remembered
        self._turn = landmark_map(kernel_of(landmarks, landmarks))
        self._known: list[tuple[FloatArray, FloatArray]] = []

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Features of rows, (m, r); those of so many samples are remembered, where several folds ask for them."""
        for sample, features in self._known:
            if sample is rows:
                return features
        found = self._features(rows)
        if self._remembered:
            self._known = [*self._known, (rows, found)][-self._remembered :]
        return found

    def _features(self, rows: FloatArray) -> FloatArray:
        features = np.empty((len(rows), self._turn.shape[1]))
        for block in row_slices(rows, len(self._landmarks)):
            features[block] = self._kernel(rows[block], self._landmarks) @ self._turn
        return features


class KernelFeatures:
    """The features of three kernels: additive and local ones without labels, and a learned one."""

    def __init__(self, labelled: LabelledSample, seed: int) -> None:
        self.labelled, self.seed = labelled, seed
        chosen = self._landmarks(labelled)
        self.sigma = kernel.median_distance(chosen)
        self.additive = RowFeatures(additive_kernel, chosen, _SAMPLES)
        self.local = RowFeatures(_gaussians([np.eye(chosen.shape[1])], chosen), chosen, _SAMPLES)

    def _landmarks(self, labelled: LabelledSample) -> FloatArray:
        """Rows that stand for all, drawn evenly from the classes, (l, d)."""
        count = _MORE_LANDMARKS if _MANY <= len(labelled.rows) <= _TOO_MANY else _LANDMARKS
        return labelled.rows[labelled.draw(count, self.seed)]

    @cached_property
    def learned(self) -> RowFeatures:
        """Features of the kernel learned from all labelled rows."""
        return self._learn(self.labelled, _SAMPLES)

    def learn(self, labelled: LabelledSample) -> RowFeatures:
        """Features of the kernel learned from some labelled rows."""
        return self.learned if labelled is self.labelled else self._learn(labelled)

    def _learn(self, labelled: LabelledSample, remembered: int = 0) -> RowFeatures:
        """Gaussians of three widths in two metrics learned from the labels."""
        learners = (metric.column_metric, metric.direction_metric)
        turns = [learn(labelled.rows, labelled.codes, labelled.balanced) for learn in learners]
        chosen = self._landmarks(labelled)
        return RowFeatures(_gaussians(turns, chosen), chosen, remembered)

    def sample(self, new: FloatArray) -> tuple[IntArray, IntArray]:
        """Numbers of labelled and of new rows, drawn where there are many: beside some thousand others are nothing."""
        random = np.random.default_rng([self.seed, 9])
        count = min(len(new), _MOST_NEW)
        return self.labelled.draw(_MOST_LABELLED, self.seed), np.sort(random.choice(len(new), count, replace=False))


def additive_kernel(a: FloatArray, b: FloatArray) -> FloatArray:
    """|a| + |b| - |a - b| summed over columns, (k, l): linear splines, and the kernel of the energy distance."""
    return np.asarray(np.abs(a).sum(axis=1)[:, None] + np.abs(b).sum(axis=1) - cdist(a, b, "cityblock"))


def _gaussians(turns: list[FloatArray], rows: FloatArray) -> Kernel:
    """The sum of Gaussians of three widths after each of some linear maps (d, d)."""
    units = [kernel.median_distance(rows @ turn) for turn in turns]

    def values(a: FloatArray, b: FloatArray) -> FloatArray:
        total = np.zeros((len(a), len(b)))
        for turn, unit in zip(turns, units, strict=True):
            left, right = a @ turn, b @ turn
            direct = kernel.needs_direct_differences(kernel.radius(left, right), WIDTHS[-1] * unit, a.shape[1])
            squared = kernel.squared_distances(left, right, direct)
            for factor, psi in zip(WIDTHS, kernel.features(squared, WIDTHS * unit), strict=True):
                total += factor * psi
        return total

    return values
