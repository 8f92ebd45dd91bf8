"""Total variation from below: honest at p = q, blind to units, to copies and to held-out labels, gated by the test."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import densdiff as dd
from densdiff.core.separation import newcombe_interval
from densdiff.distance import total_variation as total_variation_module
from densdiff.testing.two_sample import pair_test
from tests.large import Blocks


def normals(seed=0, n=60, m=45, d=3, shift=0.0):
    random = np.random.default_rng([seed, n, m, d])
    return random.normal(size=(n, d)), random.normal(size=(m, d)) + shift * (np.arange(d) == 0)


def ask(x, y, **settings):
    return dd.total_variation(x, y, **{"random_state": 0} | settings)


# Newcombe (1998), Statistics in Medicine 17, 873-890, table II, method 10
@pytest.mark.parametrize(
    ("a", "n", "b", "m", "expected"),
    [
        (56, 70, 48, 80, (0.0524, 0.3339)),
        (9, 10, 3, 10, (0.1705, 0.8090)),
        (6, 7, 2, 7, (0.0582, 0.8062)),
        (5, 56, 0, 29, (-0.0381, 0.1926)),
        (0, 10, 0, 20, (-0.1611, 0.2775)),
        (0, 10, 0, 10, (-0.2775, 0.2775)),
        (10, 10, 0, 20, (0.6791, 1.0)),
        (10, 10, 0, 10, (0.6075, 1.0)),
    ],
)
def test_newcombes_own_examples(a, n, b, m, expected):
    assert newcombe_interval(a / n, b / m, n, m, 0.95) == pytest.approx(expected, abs=6e-5)


def test_equal_populations_are_not_told_apart():
    found = [ask(*normals(seed, 100, 80)) for seed in range(8)]
    raws = np.array([each.raw for each in found])
    error = np.sqrt((0.25 / 100 + 0.25 / 80) / len(found))
    assert abs(raws.mean()) < 4 * error
    assert all(each.value == max(0.0, each.raw) for each in found)


def test_a_shift_is_found_and_never_overstated():
    truth = 0.6827  # of normal densities two deviations apart
    found = [ask(*normals(seed, 200, 150, shift=2.0)) for seed in range(6)]
    assert all(each.interval[1] == 1.0 for each in found)
    assert sum(each.interval[0] > truth for each in found) <= 1  # two of six have a chance below 1 %
    error = np.sqrt((1 / 200 + 1 / 150) * 0.8413 * 0.1587 / len(found))
    assert np.mean([each.value for each in found]) == pytest.approx(truth, abs=4 * error)
    assert all(each.raw == pytest.approx(each.share_x - each.share_y, abs=1e-15) for each in found)


@pytest.mark.parametrize("change", [np.exp, lambda rows: rows**3, lambda rows: np.exp(30.0 * rows), lambda rows: -rows])
def test_monotone_maps_of_columns_change_nothing_but_the_test(change):
    x, y = normals(shift=0.8)
    found, other = ask(x, y), ask(change(x), change(y))
    assert (found.raw, found.witness, found.separated_interval) == (other.raw, other.witness, other.separated_interval)
    assert np.array_equal(found.judged_x, other.judged_x)


@pytest.mark.parametrize(("n", "m"), [(60, 60), (60, 45)])
def test_swapping_the_samples_swaps_the_shares(n, m):
    """Folds are drawn from the seed and a sample's own size, so that only the rounding of f could tell."""
    x, y = normals(n=n, m=m, shift=0.8)
    found, other = ask(x, y), ask(y, x)
    assert found.raw == pytest.approx(other.raw, abs=1e-12)
    assert found.share_x == pytest.approx(1.0 - other.share_y, abs=1e-12)
    assert np.array_equal(np.sign(found.judged_x), -np.sign(other.judged_y))
    assert found.witness == other.witness


@pytest.mark.hostile(10)
def test_a_sample_and_itself_are_0_apart():
    x, _ = normals()
    with pytest.warns(dd.DensDiffWarning, match="60 rows are equal"):
        found = ask(x, x.copy())
    assert (found.value, found.raw, found.pvalue, found.interval) == (0.0, 0.0, 1.0, (0.0, 1.0))
    assert any("same rows" in note for note in found.warnings)


@pytest.mark.hostile(61)
@pytest.mark.parametrize("copies", [2, 3, 10])
def test_copies_in_one_sample_do_not_give_themselves_away(copies):
    values = []
    for seed in range(3):
        x, y = normals(seed, 60, 60, 5)
        with pytest.warns(dd.DensDiffWarning, match=f"{60 * (copies - 1)} rows are equal to others"):
            values.append(ask(np.tile(x, (copies, 1)), y).raw)
    assert np.mean(values) < 4 * np.sqrt((0.25 / 60 + 0.25 / 60) / 3)


@pytest.mark.hostile(61)
def test_copies_in_both_samples_do_not_give_themselves_away():
    x, y = normals(0, 60, 60, 5)
    with pytest.warns(dd.DensDiffWarning, match="240 rows are equal"):
        found = ask(np.concatenate([np.repeat(x, 3, axis=0), [[0.1, 0.2, 0.3, 0.4, 0.5]]]), np.repeat(y, 3, axis=0))
    assert found.raw < 4 * np.sqrt(2 * 0.25 / 60)


@pytest.mark.hostile(9)
def test_where_every_row_occurs_three_times_typical_rows_have_their_own_numbers():
    x, y = normals(shift=1.0)
    found = ask(x, y)
    with pytest.warns(dd.DensDiffWarning, match="3 times"):
        copied = ask(np.repeat(x, 3, axis=0), np.repeat(y, 3, axis=0))
    assert copied.raw == found.raw
    assert copied.typical_x == tuple(3 * k for k in found.typical_x)
    assert copied.typical_y == tuple(3 * k for k in found.typical_y)


def test_typical_rows_lie_deepest_on_their_own_side():
    x, y = normals(n=200, m=200, d=1, shift=3.0)
    found = ask(x, y)
    assert len(found.typical_x) == len(found.typical_y) == 10
    assert (x[list(found.typical_x), 0] < 1.0).all()
    assert (y[list(found.typical_y), 0] > 2.0).all()


@pytest.mark.hostile(46)
def test_one_of_50_columns_times_100_is_seen_and_named():
    x, y = normals(n=300, m=300, d=50)
    y[:, 7] *= 100.0
    found = ask(x, y)
    assert found.value >= 0.9
    assert found.witness == "column 'x7'"


def test_below_the_level_of_the_test_the_lower_end_is_0():
    for seed in range(6):
        found = ask(*normals(seed, 40, 40, 1, shift=0.4), level=0.8)
        low = found.separated_interval[0]
        expected = max(0.0, low) if found.pvalue <= 0.5 * (1.0 - 0.8) else 0.0
        assert found.interval == (min(expected, found.value), 1.0)


def test_the_gate_closes_where_newcombe_alone_would_not():
    found = [ask(*normals(seed, 60, 60, 10), level=0.5) for seed in range(10)]
    gated = [each for each in found if each.pvalue > 0.25 and each.separated_interval[0] > 0]
    assert all(each.interval[0] == 0.0 for each in gated)
    assert gated


def mixed(seed, n, share):
    random = np.random.default_rng([seed, n])
    word = pd.Categorical(np.where(random.random(n) < share, "u", "v"), categories=["u", "v", "w"])
    return pd.DataFrame({"word": word, "number": random.normal(size=n), "flag": random.random(n) < share})


def test_categories_and_booleans_take_part_and_are_named():
    found = ask(mixed(0, 150, 0.5), mixed(1, 120, 0.5).assign(flag=True))
    assert found.value == pytest.approx(0.5, abs=0.2)
    found = ask(mixed(0, 150, 0.1)[["number", "word"]], mixed(1, 120, 0.9)[["number", "word"]])
    assert found.value == pytest.approx(0.8, abs=0.12)
    assert found.witness in {"column 'word'", "sum over columns", "all columns"}


def test_purely_categorical_and_tied_tables_keep_their_atoms_in_all_folds():
    x, y = (mixed(seed, 150, share)[["word", "flag"]] for seed, share in ((0, 0.2), (1, 0.7)))
    found = ask(x, y)
    assert found.value == pytest.approx(0.5, abs=0.2)
    assert not any("equal to others" in note for note in found.warnings)
    random = np.random.default_rng(0)
    x, y = random.binomial(3, 0.3, (150, 2)).astype(float), random.binomial(3, 0.7, (150, 2)).astype(float)
    found = ask(x, y)
    assert found.value > 0.5
    assert not any("equal to others" in note for note in found.warnings)


def test_what_ties_do_to_the_squared_distance_is_no_note_of_a_share():
    random = np.random.default_rng(0)
    x, y = random.binomial(3, 0.3, (150, 8)).astype(float), random.binomial(3, 0.7, (150, 8)).astype(float)
    x[:, 0] = y[:, 0] = 1.0  # said, since it contributes nothing
    x[:, 1], y[:, 1] = 2.0, 3.0
    assert sum("have no density" in note for note in dd.l2_distance(x, y, random_state=0).warnings) == 5
    assert ask(x, y).warnings == ("column 'x0' is constant and equal in both samples; it contributes nothing",)


def test_thousands_of_levels():
    random = np.random.default_rng(0)
    x, y = (pd.DataFrame({"id": [f"k{k}" for k in random.integers(0, 2000, 3000)]}) for _ in range(2))
    assert abs(ask(x, y).raw) < 4 * np.sqrt(2 * 0.25 / 3000)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_one_sample_is_a_constant(d):
    random = np.random.default_rng(0)
    found = ask(np.ones((30, d)), random.normal(size=(50, d)))
    assert found.value > 0.7


@pytest.mark.parametrize("d", [1, 2])
def test_both_samples_are_constants(d):
    found = ask(np.ones((30, d)), np.full((20, d), 2.0))
    assert (found.value, found.share_x, found.share_y) == (pytest.approx(1.0), pytest.approx(1.0), pytest.approx(0.0))
    assert found.separated_interval[1] <= 1.0
    found = ask(np.ones((30, d)), np.ones((20, d)))
    assert (found.value, found.pvalue) == (0.0, 1.0)


@pytest.mark.hostile(12)
@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_a_few_rows_give_finite_numbers(n, d):
    with pytest.warns(dd.DensDiffWarning):
        found = ask(*normals(0, n, n, d))
    numbers = [found.value, found.raw, *found.interval, *found.separated_interval, found.pvalue]
    assert np.isfinite(numbers).all()
    assert found.tuning.startswith(f"{n} folds")


@pytest.mark.parametrize("folds", [2, 3, 4, 5])
def test_any_allowed_number_of_folds_sees_a_shift(folds):
    found = ask(*normals(n=100, m=80, shift=2.0), folds=folds)
    assert 0.45 < found.value < 0.9
    assert found.tuning.startswith(f"{folds} folds")


@pytest.mark.parametrize("model", [dd.LSDD(), dd.KDEDifference(), dd.LSDD(0.8, 0.1, solver="centers")], ids=str)
def test_f_of_a_model_is_the_only_witness(model):
    found = ask(*normals(n=80, m=60, d=1, shift=2.0), model=model)
    assert 0.5 < found.value < 0.9
    assert (found.witness, found.solver) == ("all columns", type(model).__name__)
    assert model.random_state is None
    assert not hasattr(model, "sigma_")


def test_a_model_of_categories():
    assert ask(mixed(0, 80, 0.1), mixed(1, 60, 0.9), model=dd.LSDD()).value > 0.5
    with pytest.raises(dd.InputError, match="word"):
        ask(mixed(0, 80, 0.1), mixed(1, 60, 0.9), model=dd.KDEDifference())


@pytest.mark.hostile(35)
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        *(({"folds": bad}, "folds must be a whole number, at least 2") for bad in (1, 0, -1, True, 2.5, "5", None)),
        ({"folds": 6}, "folds must be at most 5.*; got 6"),
        *(({"level": bad}, "level must lie strictly between 0 and 1") for bad in (0, 1, -0.1, np.nan, "high", None)),
        ({"level": 95}, "did you mean 0.95"),
        ({"model": dd.KLIEP()}, "model must be an LSDD or KDEDifference object; got an object of type KLIEP"),
        ({"model": dd.LSDD}, r"got the class LSDD, pass LSDD\(\)"),
        ({"model": "LSDD"}, "model must be"),
        ({"random_state": -1}, "random_state must be"),
        ({"random_state": "a"}, "random_state must be"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(settings, message):
    with pytest.raises(dd.InputError, match=message) as caught:
        ask(*normals(), **settings)
    assert caught.value.argument == next(iter(settings))


def test_bad_rows_are_named():
    x, y = normals()
    for bad, message in (
        (np.nan, "column 'x1' of X: 1 missing value, at row 3"),
        (np.inf, "column 'x1' of X.*infinite"),
    ):
        damaged = x.copy()
        damaged[3, 1] = bad
        with pytest.raises(dd.InputError, match=message):
            ask(damaged, y)
    with pytest.raises(dd.InputError, match="same number of columns"):
        ask(x, y[:, :2])
    with pytest.raises(dd.InputError, match="at least 2 rows"):
        ask(x[:1], y)
    dates = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=20)})
    with pytest.raises(dd.InputError, match="column 'when' of X holds dates"):
        ask(dates, dates)


def test_files_and_blocks_give_the_answer_of_the_arrays(tmp_path):
    x, y = normals(n=90, m=70, shift=0.8)
    found = ask(x, y)
    np.save(tmp_path / "x.npy", x)
    pd.DataFrame(y, columns=["x0", "x1", "x2"]).to_parquet(tmp_path / "y.parquet")
    pd.DataFrame(x, columns=["x0", "x1", "x2"]).to_csv(tmp_path / "x.csv", index=False)
    for other in (
        ask(tmp_path / "x.npy", tmp_path / "y.parquet"),
        ask(tmp_path / "x.csv", y),
        ask(Blocks(x, [20, 50]), Blocks(y, [33])),
    ):
        assert (other.raw, other.witness, other.typical_x) == (found.raw, found.witness, found.typical_x)
        assert np.array_equal(other.judged_y, found.judged_y)


def test_more_rows_than_are_used_are_drawn_and_it_says_so(monkeypatch):
    monkeypatch.setattr("densdiff.distance.total_variation.MOST_ROWS", 50)
    x, y = normals(n=90, m=40, shift=2.0)
    found = ask(x, y)
    assert len(found.judged_x) == 50
    assert len(found.judged_y) == 40
    assert (found.n_x, found.n_y) == (90, 40)
    assert max(found.typical_x) < 90
    assert "it rests on 50 of 90 and 40 of 40 rows, drawn at random" in found.warnings
    assert ask(Blocks(x, [20, 50]), Blocks(y, [33])).raw == found.raw


def test_plain_data_without_what_only_pictures_need():
    found = ask(*normals(shift=1.0))
    plain = found.to_dict()
    assert not {"judged_x", "judged_y"} & set(plain)
    assert {"value", "raw", "interval", "separated_interval", "witness", "typical_x", "pvalue", "seed"} <= set(plain)
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert "judged_" not in repr(found)
    text = str(found)
    assert "60 and 45 rows" in text
    assert found.witness in text
    again = pickle.loads(pickle.dumps(found))
    assert again.to_dict() == plain
    assert np.array_equal(again.judged_x, found.judged_x)


def test_the_seed_repeats_the_run():
    x, y = normals(shift=0.5)
    found = dd.total_variation(x, y)
    assert ask(x, y, random_state=found.seed).to_dict() == found.to_dict()
    one, other = (ask(x, y, random_state=np.random.default_rng(5)) for _ in range(2))
    assert one.to_dict() == other.to_dict()
    assert not np.array_equal(one.judged_x, ask(x, y, random_state=1).judged_x)


def test_many_rows_are_tested_on_some_of_them(monkeypatch):
    monkeypatch.setattr(total_variation_module, "_TESTED_ROWS", 100)
    seen = []

    def recorded(estimator, pair, *arguments, **options):
        seen.append((len(pair.x), len(pair.y)))
        return pair_test(estimator, pair, *arguments, **options)

    monkeypatch.setattr(total_variation_module, "pair_test", recorded)
    random = np.random.default_rng(0)
    result = dd.total_variation(random.normal(size=(450, 2)), random.normal(size=(90, 2)) + 1, random_state=0)
    assert seen == [(90, 90)]
    assert result.interval[0] > 0.2
