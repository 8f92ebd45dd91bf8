"""Answers to samples in blocks, for tests, and when two of them are the same."""

import numpy as np

import densdiff as dd

N, M = 700, 500
SMALL = 120  # rows of a comparison, which costs most
close = {"rtol": 1e-10, "atol": 1e-12}


def centers():
    return dd.LSDD(solver="centers", n_centers=40, random_state=3)


def answers(model, points):
    """Everything that a fitted model is asked for, as one array."""
    distance, band = model.l2_distance(), model.confidence_band(points)
    parts = [model.predict(points), *model.densities(points), band.lower, band.upper, [model.sigma_, model.lam_]]
    numbers = [distance.squared, distance.normalized, *distance.interval, *distance.normalized_interval]
    estimates = [value for value in distance.estimates.values() if value is not None]
    return np.concatenate([*parts, numbers, estimates])


def same_columns(found, expected):
    by_name = {column.name: column for column in expected.columns}
    assert by_name.keys() == {column.name for column in found.columns}
    for column in found.columns:
        other = by_name[column.name]
        np.testing.assert_allclose([column.normalized, *column.interval], [other.normalized, *other.interval], **close)
        assert column.kind == other.kind
    np.testing.assert_allclose(found.distance.squared, expected.distance.squared, **close)
    assert (found.n_x, found.n_y, found.left_out) == (expected.n_x, expected.n_y, expected.left_out)
    assert [(each.name, each.share_a, each.pvalue_adjusted) for each in found.missing] == [
        (each.name, each.share_a, each.pvalue_adjusted) for each in expected.missing
    ]
