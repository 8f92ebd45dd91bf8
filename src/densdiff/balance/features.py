"""Kernels between rows as features: from linear in each column to local in all, and one learned from the labels.

A kernel is represented on at most some hundred labelled rows, the landmarks; with fewer rows it is exact.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist

from densdiff.balance.labelled import IntArray, LabelledSample
from densdiff.core import kernel, metric
from densdiff.core.class_scores import landmark_map, row_slices, turned
from densdiff.core.scaling import FloatArray

Kernel = Callable[[FloatArray], FloatArray]  # rows (m, d) to their kernels with some landmarks (m, l)
Map = Callable[[FloatArray], FloatArray]
Space = tuple[FloatArray, float, Map]  # landmarks in a space, the median distance there, and the map of rows to it
WIDTHS = np.array([2.0, 1.0, 0.5])  # of the median distance, and the weight of each in the kernel
_LANDMARKS, _MORE_LANDMARKS = 200, 400
_MANY, _TOO_MANY = 2_000, 20_000  # labelled rows that ask for more landmarks, and whose features would be too large
_CACHED = 1 << 15  # kernels that are computed at a time: what stays in the cache takes half the time
_MEDIAN_ROWS = 100  # landmarks whose median distance is the unit of a learned kernel
_WIDE = 2.0  # median distances: wide Gaussians see the spread of a sample, which a changed class has changed
_SAMPLES = 2  # the labelled and the new rows, which several models ask for
_MOST_LABELLED, _MOST_NEW = 5_000, 10_000  # rows whose class means are compared


class RowFeatures:
    """Features of rows whose products are a kernel, exact on the landmarks and projected elsewhere.

    What is linear in the features is linear in the kernels with the landmarks too, which cost less: `weights` says how.
    Answers for so many samples are remembered, where several folds ask for them.
    """

    def __init__(self, kernel_to: Kernel, turn: FloatArray, remembered: int = 0) -> None:
        self._kernel_to, self._turn, self._remembered = kernel_to, turn, remembered
        self._known_kernels: list[tuple[FloatArray, FloatArray]] = []
        self._known_features: list[tuple[FloatArray, FloatArray]] = []

    @classmethod
    def learn(
        cls, kernel_to: Kernel, rows: FloatArray, landmarks: IntArray, remembered: int = 0
    ) -> "tuple[RowFeatures, FloatArray]":
        """From rows (n, d) and the numbers of the landmarks among them, and the features of these rows, (n, l)."""
        kernels = _in_blocks(kernel_to, rows, len(landmarks))
        features = cls(kernel_to, landmark_map(kernels[landmarks]), remembered)
        return features, features._recall(features._known_features, rows, lambda: turned(kernels, features._turn))

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Features of rows, (m, l)."""
        return self._recall(self._known_features, rows, lambda: turned(self.kernels(rows), self._turn))

    def kernels(self, rows: FloatArray) -> FloatArray:
        """Kernels between rows and landmarks, (m, l)."""
        return self._recall(self._known_kernels, rows, lambda: _in_blocks(self._kernel_to, rows, len(self._turn)))

    def weights(self, slopes: FloatArray) -> FloatArray:
        """Weights of the kernels, (l, k), whose sums are the products of the features with slopes (l, k)."""
        return np.asarray(self._turn @ slopes)

    def _recall(
        self, known: list[tuple[FloatArray, FloatArray]], rows: FloatArray, compute: Callable[[], FloatArray]
    ) -> FloatArray:
        for sample, values in known:
            if sample is rows:
                return values
        found = compute()
        if self._remembered:
            known[:] = [*known, (rows, found)][-self._remembered :]
        return found


def _in_blocks(kernel_to: Kernel, rows: FloatArray, landmarks: int) -> FloatArray:
    values = np.empty((len(rows), landmarks))
    for block in row_slices(rows, landmarks, _CACHED):
        values[block] = kernel_to(rows[block])
    return values


class KernelFeatures:
    """The features of three kernels: additive and local ones without labels, and a learned one."""

    def __init__(self, labelled: LabelledSample, seed: int) -> None:
        self.labelled, self.seed = labelled, seed
        self._numbers = self._landmarks(labelled)
        self._chosen = labelled.rows[self._numbers]
        self.sigma = kernel.median_distance(self._chosen)

    @cached_property
    def additive(self) -> RowFeatures:
        """Features of the additive kernel."""
        return self._of_labelled(additive_kernel(self._chosen))

    @cached_property
    def local(self) -> RowFeatures:
        """Features of Gaussians of all columns."""
        return self._of_labelled(_gaussians([(self._chosen, self.sigma, lambda rows: rows)]))

    def _of_labelled(self, kernel_to: Kernel) -> RowFeatures:
        return RowFeatures.learn(kernel_to, self.labelled.rows, self._numbers, _SAMPLES)[0]

    def _landmarks(self, labelled: LabelledSample) -> IntArray:
        """Numbers of rows that stand for all, drawn evenly from the classes, (l,)."""
        return labelled.draw(_MORE_LANDMARKS if _MANY <= len(labelled.rows) <= _TOO_MANY else _LANDMARKS, self.seed)

    @cached_property
    def learned(self) -> RowFeatures:
        """Features of the kernel learned from all labelled rows."""
        return self.learn(self.labelled, _SAMPLES)[0]

    def learn(self, labelled: LabelledSample, remembered: int = 0) -> tuple[RowFeatures, FloatArray]:
        """Gaussians of three widths in two metrics learned from labelled rows, and the features of these, (n, l)."""
        moments = metric.ClassMoments.of(labelled.rows, labelled.codes, labelled.balanced)
        by_column, by_direction = metric.column_metric(moments), metric.direction_metric(moments)
        numbers = self._landmarks(labelled)
        spaces = [
            _space(labelled.rows[numbers], lambda rows: rows * by_column),
            _space(labelled.rows[numbers], lambda rows: rows @ by_direction),
        ]
        return RowFeatures.learn(_gaussians(spaces), labelled.rows, numbers, remembered)

    def sample(self, new: FloatArray) -> tuple[IntArray, IntArray]:
        """Numbers of labelled and of new rows, drawn where there are many: beside some thousand others are nothing."""
        random = np.random.default_rng([self.seed, 9])
        count = min(len(new), _MOST_NEW)
        return self.labelled.draw(_MOST_LABELLED, self.seed), np.sort(random.choice(len(new), count, replace=False))


def additive_kernel(landmarks: FloatArray) -> Kernel:
    """|a| + |b| - |a - b| summed over columns: linear splines, and the kernel of the energy distance."""
    lengths = np.abs(landmarks).sum(axis=1)
    return lambda rows: np.abs(rows).sum(axis=1)[:, None] + lengths - cdist(rows, landmarks, "cityblock")


def wide_kernel(landmarks: FloatArray) -> Kernel:
    """Gaussians of three widths, the middle one of two median distances between the landmarks."""
    return _gaussians([(landmarks, _WIDE * kernel.median_distance(landmarks), lambda rows: rows)])


def _space(landmarks: FloatArray, turn: Map) -> Space:
    turned_landmarks = turn(landmarks)
    return turned_landmarks, kernel.median_distance(turned_landmarks[:: -(-len(landmarks) // _MEDIAN_ROWS)]), turn


def _gaussians(spaces: list[Space]) -> Kernel:
    """The sum of Gaussians of three widths in each of some spaces."""

    def values(rows: FloatArray) -> FloatArray:
        total = np.zeros((len(rows), len(spaces[0][0])))
        for landmarks, unit, turn in spaces:
            left = turn(rows)
            radius = kernel.radius(left, landmarks)
            direct = kernel.needs_direct_differences(radius, WIDTHS[-1] * unit, rows.shape[1])
            squared = kernel.squared_distances(left, landmarks, direct)
            for factor, psi in zip(WIDTHS, kernel.features(squared, WIDTHS * unit), strict=True):
                total += factor * psi
        return total

    return values
