"""Cross-fitted witnesses: nobody judges a row whose label it knows, 0 counts half, and the best in training judges."""

import numpy as np
import pytest

from densdiff.solvers import witness
from densdiff.solvers.curve import PairCurve
from densdiff.solvers.drawn_rows import Rows
from densdiff.solvers.pair_counts import PairCounts
from densdiff.solvers.witness import Judged, Table, judge, judge_by, separated

NO_LEVELS = np.empty(0, dtype=np.intp)


def table_of(x, y, n_folds=5, seed=0, codes=None, levels=NO_LEVELS):
    rows = np.concatenate([x, y])
    in_x = np.arange(len(rows)) < len(x)
    omega = np.where(in_x, 1.0 / len(x), 1.0 / len(y))
    folds = np.random.default_rng(seed).permutation(len(rows)) % n_folds
    codes = np.empty((len(rows), 0), dtype=np.intp) if codes is None else codes
    names = tuple(f"x{j}" for j in range(rows.shape[1] + codes.shape[1]))
    return Table.of(rows, codes, levels, omega, in_x, folds, names)


def relabelled(table, held):
    """The table with the labels of the held-out fold flipped, and the weights that rows of these samples have."""
    in_x = np.where(table.folds == held, ~table.in_x, table.in_x)
    omega = np.where(in_x, 1.0 / in_x.sum(), 1.0 / (~in_x).sum())
    return Table(table.scores, table.codes, table.levels, omega, in_x, table.folds, table.n_folds, table.names)


def normals(seed=0, n=60, m=45, d=3, shift=0.8):
    random = np.random.default_rng([seed, n, m, d])
    return random.normal(size=(n, d)), random.normal(size=(m, d)) + shift * (np.arange(d) == 0)


@pytest.mark.parametrize("held", range(5))
def test_labels_of_a_held_out_fold_do_not_reach_its_witness(held):
    """Ranks are of all rows, whatever their labels; weights are even up to rounding once the labels are flipped."""
    random = np.random.default_rng(3)
    codes, levels = random.integers(0, 3, size=(105, 1)), np.array([3])
    table = table_of(*normals(), codes=codes, levels=levels)
    rows = np.flatnonzero(table.folds == held)
    one, other = (witness._witnesses(each, (held,), rows, joint=True) for each in (table, relabelled(table, held)))
    assert set(one) == {"column 'x0'", "column 'x1'", "column 'x2'", "column 'x3'", "linear", "quadratic", "pair"} | {
        witness.SUM,
        witness.ALL,
    }
    for name, values in one.items():
        np.testing.assert_allclose(values, other[name], rtol=0.0, atol=1e-9 * np.abs(values).max(), err_msg=name)
    found, changed = judge(table), judge(relabelled(table, held))
    assert found.witnesses[held] == changed.witnesses[held]
    assert np.array_equal(np.sign(found.values[rows]), np.sign(changed.values[rows]))


def test_with_weights_of_their_own_flipped_labels_change_no_bit():
    x, y = normals(d=1)
    table = table_of(x, y)
    in_x = np.where(table.folds == 2, ~table.in_x, table.in_x)
    flipped = Table(table.scores, table.codes, table.levels, table.omega, in_x, table.folds, table.n_folds, table.names)
    rows = table.folds == 2
    assert np.array_equal(judge(table).values[rows], judge(flipped).values[rows])


def test_rows_are_judged_by_what_was_learned_from_the_other_folds():
    table, asked = table_of(*normals()), []

    def says(is_training, rows):
        asked.append(rows)
        assert not is_training[rows].any()
        assert is_training.sum() + len(rows) == len(table.folds)
        return np.ones(len(rows))

    found = judge_by(says, table)
    assert np.array_equal(np.sort(np.concatenate(asked)), np.arange(len(table.folds)))
    assert (found.values > 0).all()
    assert found.usual == witness.ALL


def test_0_counts_half_and_weights_count():
    table = table_of(np.zeros((3, 1)), np.zeros((2, 1)), n_folds=2)
    values = np.array([1.0, 0.0, -2.0, 0.0, 5.0])
    omega = np.array([0.5, 0.3, 0.2, 0.25, 0.75])
    table = Table(table.scores, table.codes, table.levels, omega, table.in_x, table.folds, 2, table.names)
    every = np.arange(5)
    assert separated(values, table, every) == pytest.approx((0.5 + 0.15) - (0.125 + 0.75))
    assert separated(np.zeros(5), table, every) == 0.0
    only_x = np.arange(3)
    assert separated(values[:3], table, only_x) == pytest.approx(0.65 - 0.5)


def test_values_are_ranks_within_a_fold_with_their_sign():
    values = np.array([0.1, -30.0, 0.0, 2.0])
    assert np.array_equal(witness._within_fold(values), [0.5, -1.0, 0.0, 0.75])


def test_the_column_that_changed_is_named():
    x, y = normals(n=200, m=150, d=8, shift=0.0)
    y[:, 5] += 3.0
    found = judge(table_of(x, y))
    assert found.usual == "column 'x5'"


def test_a_dependence_that_changed_is_seen_by_a_witness_of_several_columns():
    x, y = normals(n=300, m=300, d=4, shift=0.0)
    y[:, 2] = y[:, 1] + 0.1 * y[:, 2]
    table = table_of(x, y)
    found = judge(table)
    assert found.usual in {witness.PAIR, witness.QUADRATIC, witness.ALL}
    assert separated(found.values, table, np.arange(600)) > 0.4


def test_the_usual_witness_is_that_of_most_folds():
    assert Judged(np.zeros(1), ("a", "b", "b")).usual == "b"


def test_swapping_the_samples_flips_every_value():
    x, y = normals()
    table = table_of(x, y)
    swapped = Table(
        table.scores, table.codes, table.levels, table.omega, ~table.in_x, table.folds, table.n_folds, table.names
    )
    found, other = judge(table), judge(swapped)
    assert found.witnesses == other.witnesses
    assert np.array_equal(np.sign(found.values), -np.sign(other.values))


def test_columns_of_all_kinds_say_the_same_together_and_alone(monkeypatch):
    x, y = normals(n=200, m=150, d=5)
    for sample in (x, y):
        sample[:, 1], sample[:, 3] = np.round(sample[:, 1]), np.abs(np.round(8 * sample[:, 3]))  # levels, a short grid
    codes = np.random.default_rng(3).integers(0, 3, size=(350, 1))
    table = table_of(x, y, codes=codes, levels=np.array([3]))
    assert len(table.columns) == 4  # levels of numbers, numbers of two grids, levels
    rows, is_used = np.arange(0, 350, 2), np.arange(5) != 2
    together = table.votes(is_used, rows, np.arange(6)).f
    alone = np.concatenate([table.votes(is_used, rows, np.array([j])).f for j in range(6)])
    monkeypatch.setattr(witness, "_SCORES", 1)
    apart = table_of(x, y, codes=codes, levels=np.array([3]))
    assert len(apart.columns) == 6
    for other in (alone, apart.votes(is_used, rows, np.arange(6)).f):
        np.testing.assert_allclose(together, other, rtol=0.0, atol=1e-13)


def test_a_table_is_kept_with_what_single_columns_have_learned_and_no_more():
    x, y = normals(n=60, m=50, d=3)
    table = table_of(x, y)
    columns, _ = table.columns, table.moments
    kept = table.with_single_columns()
    assert kept.columns is columns
    assert "moments" not in vars(kept)
    assert "columns" not in vars(table_of(x, y).with_single_columns())


@pytest.mark.parametrize("kind", ["numbers", "mixed", "levels"])
def test_f_of_all_columns_from_shared_counts_is_that_of_a_fit_from_scratch(kind):
    random = np.random.default_rng(3)
    x, y = normals(n=60, m=45, d=0 if kind == "levels" else 3)
    has_levels = kind != "numbers"
    codes = random.integers(0, 3, size=(105, 2)) if has_levels else None
    table = table_of(x, y, codes=codes, levels=np.array([3, 3]) if has_levels else NO_LEVELS)
    omega = random.uniform(0.5, 2.0, 105)
    table = Table(table.scores, table.codes, table.levels, omega, table.in_x, table.folds, table.n_folds, table.names)
    points = np.hstack([table.scores, table.codes])
    for is_used in (np.arange(5) > 1, np.isin(np.arange(5), [0, 2, 3])):
        own = np.flatnonzero(is_used[table.folds])
        in_y = ~table.in_x[own]
        rows = Rows(
            numbers=table.scores[own],
            codes=table.codes[own].astype(float),
            omega=omega[own] / np.bincount(in_y, omega[own])[in_y.astype(int)],
            groups=in_y.astype(int),
            n_groups=1,
            levels=table.levels,
            spacings=np.zeros(table.scores.shape[1]),
        )
        scratch = PairCurve(rows, PairCounts(table.joint.counts.sigmas, [rows]))
        shared = table.joint.of(is_used)
        np.testing.assert_allclose(shared.models.scores, scratch.models.scores, rtol=1e-9)
        (found, log_factor), (expected, log_expected) = (curve.values(points) for curve in (shared, scratch))
        assert log_factor == log_expected
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


def test_f_of_more_folds_has_the_widths_that_fewer_folds_were_judged_by():
    """Alone, f of four folds would take one width more than f of three, by which it is chosen."""
    table = table_of(*normals(n=120, m=120, d=20))
    fewer, more = (table.joint.of(np.arange(5) > held) for held in (1, 0))
    assert np.array_equal(fewer.models.sigmas, more.models.sigmas)
    alone = PairCurve(more.rows.as_one_group(), PairCounts(table.joint.counts.sigmas, [more.rows.as_one_group()]))
    assert len(alone.models.sigmas) > len(more.models.sigmas)


def test_folds_without_rows_of_a_sample_leave_the_others_as_they_are():
    x, y = normals(n=60, m=45)
    table = table_of(x, y)
    folds = np.where(table.in_x | (table.folds < 4), table.folds, 0)  # the last fold of Y is empty
    table = Table(table.scores, table.codes, table.levels, table.omega, table.in_x, folds, 5, table.names)
    assert np.isfinite(judge(table).values).all()


@pytest.mark.parametrize("n_folds", [2, 3, 4, 5])
def test_any_number_of_folds_gives_finite_values(n_folds):
    found = judge(table_of(*normals(n=30, m=20), n_folds=n_folds))
    assert np.isfinite(found.values).all()
    assert len(found.witnesses) == n_folds


def test_few_distinct_numbers_are_levels():
    random = np.random.default_rng(0)
    x, y = random.integers(0, 4, size=(2, 200, 1)).astype(float)
    ((_, column),) = table_of(x, y).columns
    assert isinstance(column, witness.LevelWitness)
    ((_, column),) = table_of(*normals(d=1)).columns
    assert isinstance(column, witness.NumberWitness)
