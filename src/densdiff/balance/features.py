"""Kernels between rows as features: from linear in each column to local in all, and one learned from the labels.

A kernel is represented on at most some hundred labelled rows, the landmarks; with fewer rows it is exact.
"""

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from densdiff.balance.labelled import LabelledSample
from densdiff.core import kernel, metric
from densdiff.core.class_scores import landmark_features, row_slices
from densdiff.core.scaling import FloatArray

Kernel = Callable[[FloatArray, FloatArray], FloatArray]
WIDTHS = np.array([2.0, 1.0, 0.5])  # of the median distance, and the weight of each in the kernel
_LANDMARKS, _MORE_LANDMARKS, _MANY = 200, 400, 2000  # the second number from so many labelled rows on


class RowFeatures:
    """Features of rows whose products are a kernel, exact on the landmarks and projected elsewhere."""

    def __init__(self, kernel_of: Kernel, landmarks: FloatArray) -> None:
        self._kernel, self._landmarks = kernel_of, landmarks
        self._turn = landmark_features(kernel_of(landmarks, landmarks))

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Features of rows, (m, r)."""
        features = np.empty((len(rows), self._turn.shape[1]))
        for block in row_slices(rows, len(self._landmarks)):
            features[block] = self._kernel(rows[block], self._landmarks) @ self._turn
        return features


def landmarks(labelled: LabelledSample, seed: int) -> FloatArray:
    """Rows that stand for all, drawn evenly from the classes, (l, d)."""
    count = _LANDMARKS if len(labelled.rows) < _MANY else _MORE_LANDMARKS
    return labelled.rows[labelled.draw(count, seed)]


def additive_kernel(a: FloatArray, b: FloatArray) -> FloatArray:
    """Minus the sum of absolute differences, (k, l): linear splines of each column, the kernel of the energy distance."""
    return np.asarray(-cdist(a, b, "cityblock"))


def local_kernel(rows: FloatArray) -> Kernel:
    """Gaussians of three widths around the median distance of the rows."""
    return _gaussians([np.eye(rows.shape[1])], rows)


def learned_kernel(labelled: LabelledSample) -> Kernel:
    """Gaussians of three widths in two metrics learned from the labels."""
    learners = (metric.column_metric, metric.direction_metric)
    turns = [learn(labelled.rows, labelled.codes, labelled.balanced) for learn in learners]
    return _gaussians(turns, labelled.rows)


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
