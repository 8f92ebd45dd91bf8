"""Passes over rows that are not in memory: how many there are, and that computations side by side share them."""

import io
import sys
import threading
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st

import densdiff as dd
from densdiff import progress
from densdiff.comparing import joint
from densdiff.comparing.joint import joint_rows_to_prefetch
from densdiff.data.table import table_of
from densdiff.data.tables import match_tables
from densdiff.sources import block_sample
from densdiff.sources.block_sample import RowCache, sorted_unique
from densdiff.sources.blocks import BlockSource, IteratedBlocks
from densdiff.sources.passes import map_sharing_passes, run_pass, run_passes
from densdiff.sources.sample import add_sums
from densdiff.sources.source import Pass
from tests.large import Blocks, tables

AS_TABLE = partial(table_of, where="X")


@pytest.fixture
def passes(monkeypatch):
    """How often each source was read to the end, by its name."""
    found = {}
    run = BlockSource.run

    def counted(self, *arguments):
        found[self.where] = found.get(self.where, 0) + 1
        return run(self, *arguments)

    monkeypatch.setattr(BlockSource, "run", counted)
    return found


def taken(passes):
    found = dict(passes)
    passes.clear()
    return found


@pytest.fixture
def samples():
    random = np.random.default_rng(0)
    return random.normal(size=(1500, 4)), random.normal(size=(1200, 4)) + 0.3


@pytest.mark.parametrize(("solver", "d"), [("centers", 4), ("spectral", 2)])
def test_passes_of_a_fit_a_distance_and_a_band(tmp_path, samples, passes, solver, d):
    paths = []
    for name, rows in zip("AB", samples, strict=True):
        paths.append(tmp_path / f"{name}.parquet")
        pq.write_table(pa.table({f"x{j}": rows[:, j] for j in range(d)}), paths[-1])
    blocks = [Blocks(rows[:, :d], [100, 900]) for rows in samples]
    with sklearn.config_context(working_memory=0.01):
        for given, fit in ((paths, 2), (blocks, 3)):  # the number of rows of a Parquet file is known beforehand
            model = dd.LSDD(solver=solver, n_centers=20, random_state=0).fit(*given)
            assert taken(passes) == {"X": fit, "Y": fit}
            model.l2_distance()
            assert taken(passes) == {}  # the rows that it needs came with the fit
            model.confidence_band(samples[0][:3, :d])
            assert taken(passes) == {"X": 1, "Y": 1}


@pytest.mark.parametrize(("solver", "expected"), [("auto", 2), ("centers", 3)])
def test_categories_take_one_pass_more_to_know_their_levels(passes, solver, expected):
    x, y = tables(5000, 4500)
    model = dd.LSDD(solver=solver, n_centers=15, random_state=0).fit(Blocks(x, [2000]), Blocks(y, [2000]))
    assert taken(passes) == {"X": expected, "Y": expected}
    model.l2_distance()
    assert taken(passes) == {}  # the rows that it needs came with the fit


@pytest.mark.parametrize("d", [3, 5])
def test_pairs_of_drawn_rows_take_no_pass_after_the_look(passes, monkeypatch, d):
    monkeypatch.setattr("densdiff.solvers.prepared.PAIRS_ROWS", 300)
    monkeypatch.setattr("densdiff.solvers.prepared._DRAWN", (10,))  # else all of so few rows are at hand
    monkeypatch.setattr("densdiff.solvers.drawn_rows.OVERLAP_ROWS", 10)
    random = np.random.default_rng(0)
    model = dd.LSDD(random_state=0).fit(*(Blocks(random.normal(size=(n, d)), [7000]) for n in (20_000, 21_000)))
    assert model.solver_ == "pairs"
    assert taken(passes) == {"X": 2, "Y": 2}  # to know the sizes, and what is drawn
    model.confidence_band(random.normal(size=(4, d)))
    model.densities(random.normal(size=(4, d)))
    assert taken(passes) == {}


@pytest.mark.parametrize(("sigma", "expected"), [([0.5, 1.0], 3), ("cv", 4)])
def test_a_test_of_centers_takes_one_pass_after_the_look_and_one_for_columns_and_pairs(
    passes, monkeypatch, sigma, expected
):
    monkeypatch.setattr("densdiff.solvers.prepared.PAIRS_ROWS", 300)
    monkeypatch.setattr("densdiff.solvers.prepared._DRAWN", (10,))  # else all of so few rows are at hand
    random = np.random.default_rng(0)
    given = [Blocks(random.normal(size=(n, 4)), [7000]) for n in (20_000, 21_000)]
    model = dd.LSDD(sigma, solver="centers", n_centers=20)
    dd.two_sample_test(*given, model=model, n_permutations=19, random_state=0)
    assert taken(passes) == {"X": expected, "Y": expected}


def test_columns_of_a_comparison_share_their_passes(passes):
    tables_of = [pd.DataFrame(np.random.default_rng(k).normal(size=(150, 6))).rename(columns=str) for k in (0, 1)]
    counts = []
    for d in (2, 6):
        given = [Blocks(table[[str(j) for j in range(d)]], [70]) for table in tables_of]
        dd.compare(*given, n_permutations=39, random_state=0)
        counts.append(taken(passes))
    assert counts[0]["A"] <= 6
    assert counts[1] == counts[0]


def test_draws_from_wide_tables_take_one_pass_where_the_scan_cannot_keep_their_rows(passes, monkeypatch):
    for name, most in (("_JOINT_ROWS", 100), ("_DISTANCE_ROWS", 60), ("_TESTED_VALUES", 4 * 120)):
        monkeypatch.setattr(joint, name, most)
    arrays = [np.random.default_rng(k).normal(size=(400, 4)) for k in (0, 1)]

    def drawn(tables):
        rows = joint.draw_joint_rows(tables, 3)
        return [sample[:] for pair in (rows.some, rows.measured, rows.tested) for sample in (pair.x, pair.y)]

    monkeypatch.setattr(block_sample, "_AT_HAND", 8 * 4 * 300)  # fewer than fits ask for, more than are drawn
    blocks = match_tables(*(Blocks(rows, [70, 150]) for rows in arrays), prefetch=partial(joint_rows_to_prefetch, 3))
    passes.clear()
    found = drawn(blocks)
    assert taken(passes) == {"A": 1, "B": 1}
    assert [len(rows) for rows in found] == [100, 100, 60, 60, 120, 120]
    for rows, expected in zip(found, drawn(match_tables(*arrays)), strict=True):
        np.testing.assert_array_equal(rows, expected)


class Counting:
    """A source of one block, whose passes are counted."""

    where, as_table = "X", staticmethod(AS_TABLE)

    def __init__(self):
        self.passes, self.columns = 0, []

    def run(self, task, merge, columns):
        self.passes += 1
        self.columns.append(columns)
        return merge(task(np.ones((4, 1)), 0), task(np.ones((3, 1)), 4))


def count(block, start):
    return len(block)


def _within_a_minute(function):
    """A thread of its own, so that a hang is a failure and not a hang."""
    outcome = []

    def run():
        try:
            outcome.append((function(), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert outcome, "hangs"
    if outcome[0][1] is not None:
        raise outcome[0][1]
    return outcome[0][0]


def test_computations_side_by_side_share_passes_also_when_nested():
    source = Counting()

    def one(k):
        total = run_pass(source, count, add_sums, [f"c{k}"])
        parts = map_sharing_passes(lambda _: run_pass(source, count, add_sums, [f"c{k}"]), range(2))
        last = run_pass(source, count, add_sums, None) if k == 2 else 0
        return k, total + sum(parts), last

    assert map_sharing_passes(one, range(3)) == [(0, 21, 0), (1, 21, 0), (2, 21, 7)]
    assert source.passes == 3
    *named, everything = source.columns
    assert [sorted(names) for names in named] == [["c0", "c1", "c2"]] * 2
    assert everything is None


def test_passes_over_several_sources_are_asked_for_at_once_and_answered_in_order():
    sources = Counting(), Counting()

    def passes(k):
        return [Pass(source, partial(times, k + j), add_sums, [f"c{j}"]) for j, source in enumerate(sources)]

    def one(k):
        outer = run_passes(passes(k)) + run_passes(passes(10)[::-1])
        inner = map_sharing_passes(lambda j: run_passes(passes(k + j)), range(2))
        return outer + [answer for answers in inner for answer in answers]

    expected = [[7 * k, 7 * (k + 1), 77, 70, 7 * k, 7 * (k + 1), 7 * (k + 1), 7 * (k + 2)] for k in range(3)]
    assert run_passes(passes(0)) == [0, 7]
    assert _within_a_minute(lambda: map_sharing_passes(one, range(3))) == expected
    assert [source.passes for source in sources] == [4, 4]  # one alone, and each of the three calls together


def times(factor, block, start):
    return factor * len(block)


@given(st.lists(st.integers(0, 40), max_size=60), st.lists(st.integers(0, 40), max_size=60))
def test_numbers_of_rows_once_each_and_those_that_lack(wanted, known):
    found = sorted_unique(np.array(wanted, dtype=np.int64))
    assert found.tolist() == sorted(set(wanted))
    kept = RowCache()
    if known:
        kept.add(np.array(known), np.array(known, dtype=float)[:, None])
    assert kept.lacking(found).tolist() == sorted(set(wanted) - set(known))


@pytest.mark.parametrize("failing", [(1, 3), (0,), (3, 2)])
def test_the_error_of_the_first_item_is_raised_and_nobody_waits_for_it(failing):
    source = Counting()
    ended = []

    def one(k):
        if k in failing:
            raise KeyError(k)
        run_pass(source, count, add_sums, None)
        run_pass(source, count, add_sums, None)
        ended.append(k)

    with pytest.raises(KeyError) as caught:
        _within_a_minute(lambda: map_sharing_passes(one, range(4)))
    assert caught.value.args == (min(failing),)
    assert sorted(ended) == [k for k in range(4) if k not in failing]


def test_an_error_within_a_pass_reaches_all_who_wait_for_it():
    source, met = Counting(), []

    def one(k):
        def task(block, start):
            if k == 1:
                raise dd.InputError("a bad block")
            return 0

        try:
            return run_pass(source, task, add_sums, None)
        except dd.InputError:
            met.append(k)
            raise

    with pytest.raises(dd.InputError, match="a bad block"):
        _within_a_minute(lambda: map_sharing_passes(one, range(3)))
    assert sorted(met) == [0, 1, 2]
    assert map_sharing_passes(one, []) == []


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("rows", "parts"), [(9, ["44 %", "100 %"]), (None, ["4 rows", "9 rows"])])
def test_on_a_terminal_a_pass_says_how_far_it_is_and_wipes_it_away(monkeypatch, rows, parts):
    monkeypatch.setattr(sys, "stderr", Terminal())
    source = BlockSource("X", IteratedBlocks("X", [np.zeros((4, 1)), np.zeros((5, 1))], AS_TABLE), rows, AS_TABLE)
    assert source.run(count, add_sums, None) == 9
    assert sys.stderr.getvalue() == ""  # a short pass says nothing
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    assert BlockSource("X", source.blocks, rows, AS_TABLE).run(count, add_sums, None) == 9
    said = [f"\r\x1b[KX: {part}" for part in parts]
    assert sys.stderr.getvalue() == "".join(said) + "\r\x1b[K"
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert source.run(count, add_sums, None) == 9
    assert sys.stderr.getvalue() == ""


def test_rows_kept_by_many_threads_at_once_stay_together():
    kept = RowCache()
    wrong = []

    def work(k):
        random = np.random.default_rng(k)
        for _ in range(200):
            index = np.unique(random.integers(0, 500, 20))
            kept.add(index, np.column_stack([index, index]).astype(float))
            wrong.extend(kept.at(index, [0])[:, 0] != index)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not any(wrong)
