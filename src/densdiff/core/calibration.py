"""Class probabilities from the scores of several classifiers: one weight for each classifier, one bias for each class.

Scores are of rows that the classifiers have not seen; who makes them is no matter here.
"""

import numpy as np

from densdiff.core.scaling import FloatArray

# On squared distances of weights to equal ones and of biases to their start, beside a log-likelihood of n rows. A bias
# moves the shares directly, and classifiers of balanced rows hardly need one.
_WEIGHT_PENALTY, _BIAS_PENALTY = 5.0, 100.0
_STEPS = 50
_FALL = 1e-9  # of the objective: Newton's next step would be its square


class StackedScores:
    """softmax(b + sum_j t_j s_j) with t >= 0, by penalized likelihood: temperature scaling of several scores at once.

    ``scores`` (J, n, K) are logarithms of probabilities up to a constant of the row, ``targets`` (n, K) indicators, and
    ``weights`` (n,) sum to n. A classifier whose weight would be negative is left out.
    """

    def __init__(self, scores: FloatArray, targets: FloatArray, weights: FloatArray) -> None:
        parts = len(scores)
        self.weights, self.biases, used = np.zeros(parts), np.zeros(targets.shape[1]), np.arange(parts)
        centred, at = _centred(scores), np.append(np.full(parts, 1.0 / parts), self.biases)
        while len(used):
            at = _fit(centred[used], targets, weights, 1.0 / parts, at)
            least = int(at[: len(used)].argmin())
            if at[least] >= 0.0:
                self.weights[used], self.biases = at[: len(used)], at[len(used) :]
                break
            used, at = np.delete(used, least), np.delete(at, least)  # what is left of the answer is near the next one

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Probabilities of the classes, as if all had the same share, from scores (J, m, K), (m, K)."""
        return softmax(np.tensordot(self.weights, scores, axes=1) + self.biases)


def softmax(scores: FloatArray) -> FloatArray:
    """exp(scores) over its sum within each row, (m, K)."""
    values = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(values / values.sum(axis=1, keepdims=True))


def _penalty(parts: int, classes: int) -> FloatArray:
    return np.repeat([_WEIGHT_PENALTY, _BIAS_PENALTY], [parts, classes])


def _centred(scores: FloatArray) -> FloatArray:
    return np.asarray(scores - scores.mean(axis=2, keepdims=True))


def _fit(scores: FloatArray, targets: FloatArray, weights: FloatArray, middle: float, at: FloatArray) -> FloatArray:
    """Weights and biases (J + K,) by Newton's method, halved until the objective falls; the objective is convex.

    Weights are drawn to ``middle``, biases to 0; the search begins at ``at``.
    """
    parts, classes = len(scores), targets.shape[1]
    origin, penalty = np.repeat([middle, 0.0], [parts, classes]), _penalty(parts, classes)
    value, probabilities = _objective(at, origin, scores, targets, weights)
    for _ in range(_STEPS):
        away = (probabilities - targets) * weights[:, None]  # (n, K)
        slope = np.append(np.tensordot(scores, away, axes=2), away.sum(axis=0)) + penalty * (at - origin)
        step = -np.linalg.solve(_curvature(scores, probabilities, weights), slope)
        length = 1.0
        while length > 1e-6:
            reached, its = _objective(at + length * step, origin, scores, targets, weights)
            if reached <= value:
                break
            length /= 2.0
        else:
            break
        at, probabilities, fallen = at + length * step, its, value - reached
        value = reached
        if fallen <= _FALL * max(1.0, value):
            break
    return at


def _objective(
    at: FloatArray, origin: FloatArray, scores: FloatArray, targets: FloatArray, weights: FloatArray
) -> tuple[float, FloatArray]:
    """Penalized negative log-likelihood, and the probabilities (n, K)."""
    total = np.tensordot(at[: len(scores)], scores, axes=1) + at[len(scores) :]
    total -= total.max(axis=1, keepdims=True)
    values = np.exp(total)
    sums = values.sum(axis=1)
    loss = weights @ (np.log(sums) - (total * targets).sum(axis=1))
    return float(loss + 0.5 * _penalty(*scores.shape[::2]) @ np.square(at - origin)), values / sums[:, None]


def _curvature(scores: FloatArray, probabilities: FloatArray, weights: FloatArray) -> FloatArray:
    """Second derivatives of the objective, (J + K, J + K), without an array larger than the scores."""
    parts, classes = len(scores), probabilities.shape[1]
    weighted = probabilities * weights[:, None]
    means = np.einsum("jnk,nk->jn", scores, probabilities)
    around = scores - means[:, :, None]  # (J, n, K)
    matrix, scaled = np.diag(_penalty(parts, classes)), around * weighted
    matrix[:parts, :parts] += scaled.reshape(parts, -1) @ around.reshape(parts, -1).T
    mixed = scaled.sum(axis=1)
    matrix[:parts, parts:] += mixed
    matrix[parts:, :parts] += mixed.T
    matrix[parts:, parts:] += np.diag(weighted.sum(axis=0)) - weighted.T @ probabilities
    return matrix
