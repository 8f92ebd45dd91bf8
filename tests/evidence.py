"""How a test combines statistics, by loops over relabellings, for tests."""

import math

import numpy as np

TIE = 1e-6  # of the largest value


def plain_evidence(values):
    """-log of the share of values as large; beyond the upper tenth, or five, an exponential tail by its mean excess."""
    values = [float(value) for value in values]
    count, tie = len(values), TIE * max(abs(value) for value in values)
    beyond = max(math.ceil(0.1 * count), 5)
    edge = sorted(values)[max(0, count - 1 - beyond)]
    excesses = [value - edge for value in values if value > edge + tie]
    evidence = []
    for value in values:
        if value > edge + tie:
            evidence.append(np.log(count / len(excesses)) + (value - edge) / np.mean(excesses))
        else:
            evidence.append(-np.log(sum(other >= value - tie for other in values) / count))
    return evidence


def plain_roots(columns):
    """Cube roots in deviations from their mean, of the statistics that vary."""
    scores = []
    for column in columns:
        roots = [np.sign(value) * abs(value) ** (1 / 3) for value in column]
        if np.std(roots) > TIE * max(abs(root) for root in roots):
            scores.append([(root - np.mean(roots)) / np.std(roots) for root in roots])
    return scores


def plain_combined(table, parts):
    """The evidence of each row of a table whose parts are (share, size, whether its statistics are alike)."""
    of_parts, start = [], 0
    for share, size, alike in parts:
        columns = [list(column) for column in np.transpose(table)[start : start + size]]
        start += size
        if size > 1:
            columns = plain_roots(columns) if alike else [plain_evidence(column) for column in columns]
        largest = [max(row) for row in zip(*columns, strict=True)] if columns else [0.0] * len(table)
        of_parts.append([value + np.log(share) for value in plain_evidence(largest)])
    return np.log([sum(np.exp(value) for value in row) for row in zip(*of_parts, strict=True)])


def plain_pvalue(evidence):
    """The share of relabellings with as much evidence as the first, the data."""
    return sum(value >= evidence[0] - 1e-5 * max(1.0, abs(evidence[0])) for value in evidence) / len(evidence)
