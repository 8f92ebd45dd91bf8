"""The screen of very many pairs: the same as the plain formula, and nothing that matters is lost by it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from densdiff.core import dependence, pair_screen
from densdiff.core.dependence import pair_changes
from densdiff.core.pair_screen import promising_pairs
from densdiff.core.resample import holm


def plain_scores(samples):
    """Of every pair of columns: the largest squared difference of mean products over its noise, and the relation."""
    d = len(samples[0])
    changed, related = {}, {}
    for i in range(d):
        for j in range(i + 1, d):
            ratios, relations = [0.0], [0.0]
            for u in range(samples[0][i].shape[1]):
                for v in range(samples[0][j].shape[1]):
                    means, noise = [], 0.0
                    for columns in samples:
                        x, y = (np.asarray(columns[k][:, q], dtype=float) for k, q in ((i, u), (j, v)))
                        x, y = ((z - z.mean()) / (z.std() or np.inf) for z in (x, y))
                        means.append((x * y).mean())
                        noise += (x * y).var() / len(x)
                    ratios.append((means[0] - means[1]) ** 2 / max(noise, 1e-12))
                    relations.append(min(map(abs, means)) if means[0] * means[1] > 0 else 0.0)
            changed[i, j], related[i, j] = max(ratios), max(relations)
    return changed, related


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 4), st.integers(1, 8))
def test_the_screen_keeps_what_the_plain_formula_ranks_first(seed, d, block, most):
    random = np.random.default_rng(seed)
    widths = random.integers(1, 4, d)
    samples = []
    for n in (40, 60):
        common = random.normal(size=(n, 1))
        samples.append([(common * random.normal() + random.normal(size=(n, q))).astype(np.float32) for q in widths])
    changed, related = plain_scores(samples)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_screen, "_BLOCK", block)
        found = promising_pairs(samples, most)
    strongest = sorted(changed, key=changed.get, reverse=True)[:most]
    close = sorted((pair for pair in related if related[pair] > 0.3), key=related.get, reverse=True)[:most]
    assert found == sorted({*strongest, *close})


def test_a_change_among_very_many_pairs_is_found_as_by_a_look_at_all_of_them(monkeypatch):
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, 1500, 30))
    b[:, 17] += b[:, 4]
    a[:, 20] = b[:, 20] = np.arange(1500) % 3
    a[:, 21] = (a[:, 20] + random.integers(0, 3, 1500)) % 3
    b[:, 21] = (b[:, 20] + random.integers(0, 2, 1500)) % 3
    levels = np.zeros(30, dtype=int)
    levels[[20, 21]] = 3
    every = {(pair.first, pair.second): pair for pair in pair_changes(a, b, levels)}
    monkeypatch.setattr(dependence, "_MOST_PAIRS", 20)
    some = pair_changes(a, b, levels)
    assert len(some) < 45 < len(every)
    assert {(pair.first, pair.second) for pair in some[:2]} == {(4, 17), (20, 21)}
    for pair in some[:2]:
        same = every[pair.first, pair.second]
        assert pair.pvalue == same.pvalue
        assert pair.pvalue_adjusted == same.pvalue_adjusted


def test_what_was_not_looked_at_counts_as_tested():
    pvalues = np.array([0.01, 0.0001, 0.2])
    assert np.allclose(holm(pvalues, 100), holm(np.append(pvalues, np.ones(97)))[:3])
    assert np.allclose(holm(pvalues), [0.02, 0.0003, 0.2])
