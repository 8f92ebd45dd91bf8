"""What changed is said: level, spread, correlation or rhythm."""

import numpy as np
import pytest

from densdiff import detect_changes
from densdiff.series.kinds import KINDS, describe_changes

MIDDLE, SURE = np.array([300]), np.array([0.01])


def kind(rows):
    return describe_changes(rows, tuple(f"c{j}" for j in range(rows.shape[1])), MIDDLE, SURE, 20)[0]


def noise(d=2, seed=0):
    return np.random.default_rng(seed).standard_normal((600, d))


def test_each_kind_is_told_from_the_others():
    level, spread, correlation, rhythm = noise(), noise(), noise(), noise()
    level[300:, 1] += 1
    spread[300:, 0] *= 2
    correlation[300:, 1] = 0.8 * correlation[300:, 0] + 0.6 * correlation[300:, 1]
    rhythm[300:, 0] = np.sqrt(2.0) * np.sin(np.arange(300) / 2)
    found = [kind(rows) for rows in (level, spread, correlation, rhythm)]
    assert [one.what for one in found] == list(KINDS)
    for one in found:
        assert one.pvalue == one.pvalues[one.what] == min(one.pvalues.values()) < 1e-4
    assert "level of 'c1' from" in found[0].text
    assert "spread of 'c0' times" in found[1].text
    assert "correlation of 'c0' and 'c1' from" in found[2].text
    assert "rhythm from no period to period 12." in found[3].text


def test_the_spread_of_what_hardly_moved_is_no_ratio():
    rows = noise()
    rows[:300, 0] = 0.0
    deviation = f"{rows[300:, 0].std():.3g}"
    assert kind(rows).text == f"standard deviation of 'c0' from 0 to {deviation}"
    assert kind(rows[::-1]).text == f"standard deviation of 'c0' from {deviation} to 0"


def test_no_difference_is_called_distribution():
    one = kind(noise())
    assert (one.what, one.pvalue, one.text) == ("distribution", 0.01, "distribution")


def test_pvalues_of_no_difference_are_spread_evenly():
    pvalues = [kind(noise(1, seed)).pvalues["level"] for seed in range(100)]
    assert np.mean(np.array(pvalues) < 0.1) == pytest.approx(0.1, abs=0.1)


def test_a_single_column_has_no_correlation():
    assert set(kind(noise(1)).pvalues) == {"level", "spread", "rhythm"}


def test_segments_of_a_few_samples_have_kinds():
    rows = noise(2)[:12]
    described = describe_changes(rows, ("a", "b"), np.array([1, 3, 6]), np.full(3, 0.01), 20)
    assert len(described) == 3
    assert all(0 <= p <= 1 for one in described for p in one.pvalues.values())


def test_the_result_holds_one_kind_for_each_change():
    rows = noise(1)[:, 0]
    rows[300:] += 3
    found = detect_changes(rows, random_state=0)
    assert [one.what for one in found.kinds] == ["level"]
    assert len(found.changes) == 1
