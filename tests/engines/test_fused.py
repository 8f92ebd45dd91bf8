"""The compiled ladder is the plain sum, its bits are the same for any threads, and nothing needs it."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from densdiff import engines
from densdiff.core import kernel
from densdiff.core.selection import GroupPattern
from densdiff.engines import kernel_sums
from densdiff.engines.kernel_sums import CenterFeatures, group_sums, numpy_group_sums
from densdiff.sources.array_sample import ArraySample
from densdiff.testing.units import Units
from tests import oracle

LADDER = 1.5 * np.sqrt(2.0) ** -np.arange(12.0)


@pytest.fixture(scope="module")
def fused():
    pytest.importorskip("numba")
    return kernel_sums._fused()


@pytest.fixture(scope="module")
def tiles(fused):
    return fused.fused_tiles


def case(seed, n=300, b=70, d=4, groups=3, far=0.0):
    random = np.random.default_rng([seed, n, b, d])
    rows, centers = random.normal(size=(n, d)), random.normal(size=(b, d))
    rows[: n // 3] += far
    centers[: b // 3] += far
    return rows, random.normal(size=n), random.integers(groups, size=n), centers


def ladder(kind, levels, seed):
    """Widest first: neighbours of ratio sqrt(2), of several powers of it, and of any."""
    random = np.random.default_rng(seed)
    steps = {
        "sqrt(2)": np.ones(levels),
        "powers": random.integers(1, 4, size=levels).astype(float),
        "any": random.uniform(0.2, 3.0, size=levels),
        "mixed": np.where(random.random(levels) < 0.8, 1.0, random.uniform(0.2, 3.0, size=levels)),
    }[kind]
    return 4.0 * np.sqrt(2.0) ** -np.cumsum(steps)


@given(
    seed=st.integers(0, 1000),
    n=st.integers(1, 150),
    b=st.integers(1, 140),
    d=st.integers(1, 20),
    groups=st.integers(1, 9),
    levels=st.integers(1, 16),
    kind=st.sampled_from(["sqrt(2)", "powers", "any", "mixed"]),
    direct=st.booleans(),
    far=st.sampled_from([0.0, 0.0, 30.0, 1e8]),
)
@example(seed=0, n=1, b=1, d=1, groups=9, levels=16, kind="sqrt(2)", direct=True, far=0.0)
@example(seed=1, n=150, b=140, d=10, groups=5, levels=16, kind="sqrt(2)", direct=False, far=0.0)
@example(seed=2, n=90, b=65, d=20, groups=2, levels=11, kind="mixed", direct=False, far=30.0)
def test_compiled_sum_is_the_plain_one(fused, seed, n, b, d, groups, levels, kind, direct, far):
    rows, weights, labels, centers = case(seed, n, b, d, groups, far)
    sigmas = ladder(kind, levels, seed)
    direct = direct or kernel.needs_direct_differences(kernel.radius(rows, centers), sigmas[-1], 4)
    found = fused.group_sums(rows, weights, labels, centers, sigmas, direct=direct)
    numpys = numpy_group_sums(rows, weights, labels, CenterFeatures(centers, sigmas, direct))
    assert found.shape == numpys.shape == (levels, labels.max() + 1, b)
    for level, sigma in enumerate(sigmas):
        features = oracle.psi(rows, centers, sigma)
        plain = [(weights[:, None] * features)[labels == g].sum(axis=0) for g in range(labels.max() + 1)]
        largest = (np.abs(weights[:, None]) * features).max()  # sums of signed weights may cancel
        np.testing.assert_allclose(found[level], numpys[level], rtol=0, atol=1e-10 * largest + 1e-300)
        np.testing.assert_allclose(found[level], plain, rtol=0, atol=4e-10 * largest + 1e-300)


def test_sum_of_many_blocks_has_the_same_bits_on_any_number_of_threads_in_any_order(fused, monkeypatch):
    monkeypatch.setattr(fused, "BLOCK_ROWS", 48)
    given_arrays = case(3, n=1000, groups=4)

    def sums():
        return fused.group_sums(*given_arrays, LADDER, direct=True)

    def backwards(work, tasks, threads):
        return reversed([work(task) for task in reversed(tasks)])

    monkeypatch.setattr(fused, "_threads", lambda: 1)
    expected = sums()
    numpys = numpy_group_sums(*given_arrays[:3], CenterFeatures(given_arrays[3], LADDER, direct=True))
    np.testing.assert_allclose(expected, numpys, rtol=0, atol=1e-10 * np.abs(numpys).max())
    for threads in (2, 5):
        monkeypatch.setattr(fused, "_threads", lambda threads=threads: threads)
        assert sums().tobytes() == expected.tobytes()
    with ThreadPoolExecutor(4) as pool:  # calls from several threads, as in a Dask worker
        assert {found.tobytes() for found in pool.map(lambda _: sums(), range(8))} == {expected.tobytes()}
    monkeypatch.setattr(fused, "map_in_order", backwards)
    assert sums().tobytes() == expected.tobytes()


def test_threads_follow_the_cores_and_numba(fused, monkeypatch):
    monkeypatch.setattr(fused.numba.config, "NUMBA_NUM_THREADS", 3)
    for cores, threads in ((4, 3), (2, 2)):
        monkeypatch.setattr(fused, "cores", lambda cores=cores: cores)
        assert fused._threads() == threads


def test_exp_is_right_to_the_last_digits_down_to_zero(tiles):
    powers = -np.concatenate([np.linspace(0.0, 1022.0, 40_001), [1e-300, 1e-17, 0.5, 1.5, 1023.0, 1e5, 1e300, np.inf]])
    found = np.empty_like(powers)
    tiles.exponentials(found, powers, 1.0)
    np.testing.assert_allclose(found[:-4], np.exp2(powers[:-4]), rtol=1e-15)
    assert not found[-4:].any()


def test_features_too_small_for_a_number_are_zero_and_the_thread_keeps_its_arithmetic(fused):
    rows, weights, labels, centers = case(4)
    found = fused.group_sums(rows, weights, labels, centers + 20.0, LADDER, direct=True)
    assert found[0].any()
    assert not found[-1].any()
    assert np.multiply(1e-200, np.array([1e-115]))[0] > 0.0  # a denormal number


def test_inputs_in_any_layout_are_only_read(fused):
    rows, weights, labels, centers = given_arrays = case(5)
    expected = fused.group_sums(*given_arrays, LADDER, direct=False)
    strided = np.repeat(weights, 2)[::2]
    others = (np.asfortranarray(rows), strided, labels.astype(np.int8), np.asfortranarray(centers), LADDER.copy())
    for array in others:
        array.flags.writeable = False
    found = fused.group_sums(*others, direct=False)
    assert found.tobytes() == expected.tobytes()


def test_more_groups_than_a_short_integer_holds(fused):
    rows, weights, _, centers = case(6, n=40, b=3)
    labels = np.repeat([0, 40_000], 20)
    found = fused.group_sums(rows, weights, labels, centers, LADDER[:2], direct=True)
    two = fused.group_sums(rows, weights, labels // 40_000, centers, LADDER[:2], direct=True)
    assert found[:, [0, -1]].tobytes() == two.tobytes()
    assert not found[:, 1:-1].any()


def test_without_numba_the_sum_is_numpys(monkeypatch):
    for name in ("fused", "fused_tiles", "compiling"):
        monkeypatch.delitem(sys.modules, f"densdiff.engines.{name}", raising=False)
        monkeypatch.delattr(engines, name, raising=False)
    monkeypatch.setitem(sys.modules, "numba", None)
    rows, weights, groups, centers = case(7)
    features = CenterFeatures(centers, LADDER, direct=True)
    kernel_sums._fused.cache_clear()
    try:
        found = group_sums(rows, weights, groups, features, fused=True)
    finally:
        kernel_sums._fused.cache_clear()
    assert found.tobytes() == numpy_group_sums(rows, weights, groups, features).tobytes()


def test_two_samples_pay_for_the_start_together(monkeypatch):
    rows, weights, groups, centers = case(5, n=400)
    asked = []
    monkeypatch.setattr(kernel_sums, "fused_pays", lambda *sizes: asked.append(sizes) or False)
    features = CenterFeatures(centers, LADDER, direct=True)
    found = kernel_sums.sample_sums([(ArraySample(rows), weights, GroupPattern(groups, len(rows)))] * 2, features)
    shorter = [(ArraySample(part), np.ones(len(part)), Units.of_rows(len(part), 1).x) for part in (rows, rows[:100])]
    kernel_sums.sample_sums(shorter, features)
    n_groups = int(groups.max()) + 1
    assert asked == [(800, 2 * n_groups, len(centers), len(LADDER)), (500, 500, len(centers), len(LADDER))]
    alone = group_sums(rows, weights, groups, features, fused=False)
    assert [each.tobytes() for each in found] == [alone.tobytes()] * 2


def test_only_work_that_pays_for_the_start_is_compiled():
    assert kernel_sums.fused_pays(1_000_000, 5, 500, 10)
    assert not kernel_sums.fused_pays(10_000, 5, 300, 12)  # a fraction of a second
    assert not kernel_sums.fused_pays(10_000_000, 5, 10, 100)  # tiles nearly empty
    assert not kernel_sums.fused_pays(1_000_000, 500_000, 500, 10)


class Compiled:
    """Stands for the compiled sum, to see who takes it."""

    @staticmethod
    def group_sums(rows, weights, groups, centers, sigmas, *, direct, threads):
        return np.full((len(sigmas), int(groups.max()) + 1, len(centers)), np.nan)


def test_categories_stay_with_numpy(monkeypatch):
    monkeypatch.setattr(kernel_sums, "_fused", lambda: Compiled)
    rows, weights, labels, centers = case(8)
    features = CenterFeatures(centers, LADDER, direct=True)
    assert np.isnan(group_sums(rows, weights, labels, features, fused=True)).all()
    assert np.isfinite(group_sums(rows, weights, labels, features)).all()  # too small
    monkeypatch.setattr(kernel_sums, "_FUSED_WORK", 0.0)
    assert np.isnan(group_sums(rows, weights, labels, features)).all()
    assert np.isfinite(group_sums(rows, weights, labels, features, fused=False)).all()
    codes = np.zeros((len(rows), 1))
    mixed = np.hstack([centers, codes[: len(centers)]])
    features = CenterFeatures(mixed, LADDER, direct=True, categories=kernel.Categories(np.array([2])))
    assert np.isfinite(group_sums(np.hstack([rows, codes]), weights, labels, features, fused=True)).all()


def test_a_place_that_cannot_be_written_costs_only_the_time_to_compile(tiles):
    from densdiff.engines import compiling

    namespace = {}
    exec("def double(x):\n    return 2 * x", namespace)  # code without a file: numba has nowhere to keep it
    assert compiling.compiled_on_disk(namespace["double"])(21) == 42
