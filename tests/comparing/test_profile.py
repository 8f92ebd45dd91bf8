"""Profiles: the same from every container, merged from parts, saved, and compared as the rows are."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn

import densdiff as dd
from densdiff.comparing import profile_frame
from densdiff.comparing.profile_columns import LEAST_ROWS
from densdiff.comparing.profile_comparison import JointProfiles, pair_profiles
from densdiff.comparing.profile_rows import features_anew
from densdiff.data.tables import Request
from tests.large import Blocks
from tests.lazy_forms import LAZY_FORMS


def night(n, seed=0, **columns):
    """Skewed, rounded and missing numbers, a rare level and a flag."""
    random = np.random.default_rng([seed, n])
    amount = random.lognormal(3.0, 0.8, n)
    amount[random.random(n) < 0.05] = np.nan
    table = {
        "height": random.normal(170.0, 9.0, n),
        "amount": amount,
        "visits": random.poisson(4.0, n),
        "city": random.choice(["Bonn", "Kiel", "Ulm", "Hof"], n, p=[0.5, 0.3, 0.199, 0.001]).astype(object),
        "paid": random.random(n) < 0.6,
    }
    return pd.DataFrame(table | columns)


@pytest.fixture(scope="module")
def table():
    return night(1500)


@pytest.fixture(scope="module")
def reference(table):
    return dd.profile(table, random_state=0)


def compared(a, b, **settings):
    return dd.compare(a, b, **{"n_permutations": 199, "random_state": 0} | settings)


def assert_same(found, expected, atol=1e-9):
    assert found.is_like(expected)
    assert (found.n, found.missing) == (expected.n, expected.missing)
    for own, other in zip((*found.cells, *found.levels), (*expected.cells, *expected.levels), strict=True):
        np.testing.assert_array_equal(own, other)
    np.testing.assert_array_equal(found.pairs, expected.pairs)
    for own, other in ((found.sums.sums, expected.sums.sums), (found.sums.squares, expected.sums.squares)):
        np.testing.assert_allclose(own, other, atol=atol)


# -- where the rows are -----------------------------------------------------------------------------------------------


def in_blocks_of_a_file(table, folder):
    path = folder / "night.parquet"
    table.to_parquet(path, row_group_size=200)
    return path


FORMS = {
    "polars": lambda table, folder: pl.from_pandas(table),
    "blocks": lambda table, folder: Blocks(table, [1, 400, 400, 1203]),
    "Parquet": in_blocks_of_a_file,
    "LazyFrame": lambda table, folder: LAZY_FORMS["polars LazyFrame"](pa.Table.from_pandas(table)),
    "stream": lambda table, folder: LAZY_FORMS["RecordBatchReader"](pa.Table.from_pandas(table)),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_container_of_the_rows_does_not_matter(table, reference, tmp_path, form):
    with sklearn.config_context(working_memory=0.02 if form == "Parquet" else 1024):
        assert_same(dd.profile(FORMS[form](table, tmp_path), random_state=0), reference, atol=1e-4)


def test_sums_of_pieces_are_those_of_all_rows_whatever_the_threads(monkeypatch, table, reference):
    monkeypatch.setattr(profile_frame, "_SUMMED_ROWS", 300)
    frame = reference.frame
    random = np.random.default_rng(0)
    codes = [random.integers(0, len(column.rows), len(table)) for column in frame.categories]
    rows = frame.with_marks(np.column_stack([*(table[column.name] for column in frame.numbers), *codes]))
    one, four = (frame.totals(rows, threads) for threads in (1, 4))
    np.testing.assert_array_equal(one[0], four[0])
    np.testing.assert_array_equal(one[1], four[1])
    np.testing.assert_array_equal(one[0], frame.pair_counts(rows))
    features = np.vstack([*frame.feature_rows(rows)]).astype(np.float64)
    expected = features.sum(axis=0), np.square(features).sum(axis=0)
    np.testing.assert_allclose(one[1], expected, rtol=1e-5, atol=1e-5 * len(rows))


def test_dask_gives_the_same_profile(table, reference):
    frames = pytest.importorskip("dask.dataframe")
    assert_same(dd.profile(frames.from_pandas(table, npartitions=3), random_state=0), reference, atol=1e-4)


def test_parts_made_like_one_merge_to_the_whole(table, reference):
    parts = [dd.profile(part, like=reference) for part in (table[:500], table[500:503], table[503:])]
    merged = parts[0].merge(parts[1]).merge(parts[2])
    assert_same(merged, reference)


def test_a_notebook_shows_the_columns_and_how_often_they_are_missing(table, reference):
    page = reference._repr_html_()
    assert page.startswith("<p><b>Profile of 1500 rows: 3 numbers, 2 categories</b></p><table>")
    assert f"<tr><td>amount</td><td>number</td><td>{table['amount'].isna().sum()}</td>" in page
    assert "<tr><td>paid</td><td>category</td><td>0</td><td>2 levels</td></tr>" in page


def test_a_saved_profile_is_the_same(reference, tmp_path):
    path = tmp_path / "ref.profile"
    reference.save(path)
    loaded = dd.Profile.load(path)
    assert_same(loaded, reference, atol=0.0)
    again = compared(path, night(400, 3), names=("A", "B"))
    assert compared(loaded, night(400, 3), names=("A", "B")).to_json() == again.to_json()
    assert path.stat().st_size < 200_000
    assert repr(loaded) == "Profile of 1500 rows: 3 numbers, 2 categories"


# -- what can be read from it ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "seed"), [(50, 0), (73, 1), (400, 2), (1500, 0)])
def test_no_cell_or_level_of_a_saved_profile_has_less_than_five_rows(tmp_path, n, seed):
    table = night(n, seed)
    table.loc[3, "height"] = 1e7  # the one row that everybody would look for
    dd.profile(table, random_state=seed).save(tmp_path / "ref.profile")
    found = dd.Profile.load(tmp_path / "ref.profile")
    for own in found.cells:
        assert own[own > 0].min() >= LEAST_ROWS
    for own in found.levels:
        assert own[:-2].min() >= LEAST_ROWS
    assert "Hof" not in found.frame.categories[0].levels or n > 1000
    heights = found.frame.numbers[0]
    assert heights.cells.middles(np.flatnonzero(found.cells[0])).max() < 1e6
    assert np.abs(heights.knots).max() < 1e6
    ends = heights.cells.middles(heights.merged[:, 0])
    assert len(np.unique(np.diff(heights.merged[heights.merged[:, 1] == heights.merged[-1, 1], 0]))) == 1  # a range
    assert ends.max() >= 1e7 / 1.05


def test_of_a_table_of_usual_size_the_sums_are_fewer_than_a_quarter_of_its_numbers():
    random = np.random.default_rng(0)
    found = dd.profile(random.normal(size=(2000, 12)), random_state=0)
    waves = found.frame.waves.size
    told = waves + waves // 2 + 2 * found.frame.layout.size  # squares of sines follow from those of cosines
    assert told <= 0.25 * 2000 * 12


def test_rows_made_anew_have_about_the_mean_features(reference):
    circle = np.random.default_rng(0).normal(size=(2000, 2))
    circle /= np.linalg.norm(circle, axis=1)[:, None]
    for own in (reference, dd.profile(circle, random_state=0)):
        features = features_anew(own, 400, np.random.default_rng(0))
        wanted, noise = own.sums.sums / own.n, np.sqrt(own.sums.variances() / 400)
        off = (features.mean(axis=0) - wanted)[noise > 0] / noise[noise > 0]
        assert np.sqrt(np.mean(off**2)) < 2.0


# -- comparisons -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["height", "amount", "visits"])
def test_columns_are_as_far_apart_as_their_rows(name):
    """Within 1 %, or a fifth of the half width of the interval where that is larger."""
    a, b = night(20_000, 1)[[name]], night(20_000, 2)[[name]]
    b = b.where(np.arange(len(b))[:, None] % 8 > 0, b + 3.0) if name == "visits" else b * 1.05
    by_profile = compared(dd.profile(a, random_state=0), b).columns[0]
    by_rows = compared(a, b).columns[0]
    half = 0.5 * (by_rows.interval[1] - by_rows.interval[0])
    assert abs(by_profile.normalized - by_rows.normalized) <= max(0.01 * by_rows.normalized, 0.2 * half)


def test_a_single_column_is_compared_by_the_code_of_rows():
    """Whole numbers are the middles of cells: values made anew are the rows, in another order."""
    random = np.random.default_rng(4)
    a, b = ({"visits": random.poisson(mean, n).astype(float)} for mean, n in ((5.0, 400), (6.5, 300)))
    settings = {"n_permutations": 99, "random_state": 0}
    by_profile, by_rows = (dd.compare(A, b, **settings) for A in (dd.profile(a, random_state=0), a))
    assert (
        (by_profile.test.pvalue, by_profile.test.solver)
        == (by_rows.test.pvalue, by_rows.test.solver)
        == (0.01, "spectral")
    )
    (low, high), value = by_rows.distance.normalized_interval, by_profile.distance.normalized
    assert abs(value - by_rows.distance.normalized) <= 0.5 * (high - low)  # whose blur was chosen with other groups


def test_pvalues_of_columns_are_those_of_rows_within_their_noise():
    a, b = night(800, 1), night(600, 2)
    b["height"] += 0.6
    by_profile, by_rows = (
        {column.name: column.pvalue for column in compared(table, b, n_permutations=999).columns}
        for table in (dd.profile(a, random_state=0), a)
    )
    assert by_profile.keys() == by_rows.keys()
    for name, pvalue in by_rows.items():
        noise = np.sqrt(pvalue * (1 - pvalue) / 999) + 1 / 1000
        assert abs(by_profile[name] - pvalue) <= 5 * noise + 0.05 * min(1.0, pvalue * 4), name


def test_the_distance_is_that_of_all_pairs_of_rows_at_its_width(table, reference):
    """A Gaussian kernel of the rows themselves; what is left is the noise of the waves."""
    numbers = ["height", "visits"]
    a, b = table[numbers], night(700, 4)[numbers] + [5.0, 0.0]
    pair = pair_profiles(dd.profile(a, random_state=0), b, ("A", "B"), Request())
    joint = JointProfiles.of(pair, 99, 0)
    for found in joint.blurred():
        x, y = (own.to_numpy(float) / [frame.scale for frame in pair.a.frame.numbers] for own in (a, b))
        means = [
            np.exp(-0.5 * np.square((one[:, None] - other) / found.width).sum(-1))
            for one, other in ((x, x), (y, y), (x, y))
        ]
        own = sum((kernel.sum() - len(kernel)) / (len(kernel) * (len(kernel) - 1)) for kernel in means[:2])
        assert found.norms == pytest.approx(own, abs=5 / np.sqrt(pair.a.frame.n_waves))
        assert found.normalized == pytest.approx(1 - 2 * means[2].mean() / own, abs=0.05)
    assert joint.distance().normalized > 0.01


def test_profile_and_table_can_stand_on_either_side(reference):
    b = night(700, 5)
    b["height"] += 4.0
    with_table, other_side = compared(reference, b), compared(b, reference)
    with_profile = compared(reference, dd.profile(b, like=reference))
    for result in (with_table, other_side, with_profile):
        assert result.differ
        assert result.columns[0].name == "height"
    assert max(with_profile.test.pvalue, with_table.test.pvalue) <= 0.01
    assert "higher" in with_table.columns[0].direction
    assert "lower" in other_side.columns[0].direction
    assert (with_table.n_x, with_table.n_y) == (1500, 700)
    assert any("pairs of columns, regions" in note for note in with_table.warnings)
    assert (with_table.pairs, with_table.regions) == ([], [])


def test_a_night_like_the_reference_is_quiet(reference):
    result = compared(reference, night(700, 6))
    assert not result.differ
    assert result.test.pvalue > 0.05
    assert not compared(reference, reference).differ


def test_rounded_values_of_equal_tables_are_drawn_alike():
    """Whether a value stands out is asked of both tables together: else the tables differ by how values are drawn."""
    random = np.random.default_rng(0)
    alarms = 0
    for k in range(6):
        a, b = ({"rounded": random.normal(size=2000).round(1)} for _ in range(2))
        alarms += compared(dd.profile(a, random_state=k), b, n_permutations=99).columns[0].pvalue <= 0.02
    assert alarms <= 1


def changed(**columns):
    return night(700, 7).assign(**columns)


BROKEN = {
    "height": {
        "times 100": changed(height=lambda t: t.height * 100),
        "half a deviation": changed(height=lambda t: t.height + 4.5),
        "-999 in 2 %": changed(height=lambda t: t.height.where(np.arange(len(t)) % 50 > 0, -999.0)),
        "constant": changed(height=170.0),
    },
    "city": {
        "level renamed": changed(city=lambda t: t.city.replace("Kiel", "KIEL")),
        "other order": changed(city=lambda t: t.city.replace({"Bonn": "Ulm", "Ulm": "Bonn"})),
        "missing": changed(city=lambda t: t.city.where(np.arange(len(t)) % 5 > 0)),
    },
    "amount": {"more missing": changed(amount=lambda t: t.amount.where(np.arange(len(t)) % 5 > 0))},
}


@pytest.mark.parametrize(("name", "change"), [(name, change) for name, own in BROKEN.items() for change in own])
def test_a_broken_night_is_found_and_its_column_named_first(reference, name, change):
    result = compared(reference, BROKEN[name][change])
    assert result.differ
    assert result.columns[0].name == name
    assert str(result).isprintable() or "\n" in str(result)
    assert all(text.isprintable() for text in (*result.reasons, *result.warnings, *result.names))


def test_changes_of_the_schema_are_told(reference):
    b = night(700, 8).drop(columns="visits").assign(more=1.5, height="tall")
    b.loc[::2, "more"] = 2.5
    found = compared(reference, b).schema_changes
    assert (found.missing, found.added) == (("visits",), ("more",))
    assert [entry[0] for entry in found.other_kind] == ["height"]
    turned = compared(b, reference).schema_changes
    assert (turned.missing, turned.added) == (("more",), ("visits",))


def test_a_column_without_any_value_is_told(reference):
    result = compared(reference, night(700, 8).assign(amount=np.nan))
    assert result.differ
    assert "amount" in str(result)


def test_values_between_whole_numbers_are_seen():
    a, b = night(3000, 1)[["visits"]], night(3000, 2)[["visits"]]
    reference = dd.profile(a, random_state=0)
    assert not compared(reference, b).differ
    assert compared(reference, b * 1.05).columns[0].differs


def test_levels_that_the_reference_did_not_have_are_others(reference):
    b = night(700, 9)
    b.loc[::3, "city"] = [f"town {k}" for k in range(len(b.loc[::3]))]
    result = compared(reference, b)
    assert result.columns[0].name == "city"
    assert "other levels" in result.columns[0].direction


# -- refusals ----------------------------------------------------------------------------------------------------------


def refused(text, call, *given, **settings):
    with pytest.raises(dd.InputError) as error:
        call(*given, **settings)
    assert text in str(error.value)
    assert str(error.value).isprintable()


def test_what_cannot_be_is_refused_in_one_sentence(table, reference):
    refused("were not made like one another", compared, reference, dd.profile(table, random_state=1))
    refused("were not made like one another", reference.merge, dd.profile(table, random_state=1))
    refused("other must be a Profile", reference.merge, table)
    refused("like must be a Profile", dd.profile, table, like=table)
    refused("leave them out", dd.profile, table, like=reference, columns=["height"])
    refused("at least 50 are needed", dd.profile, table[:49])
    refused("at least 2", dd.profile, table[:1], like=reference)
    for name, value in (("columns", ["height"]), ("exclude", ["height"]), ("kinds", {"height": "number"})):
        refused("chosen when a profile is made", compared, reference, table, **{name: value})
    refused("must be 'level'", compared, reference, table, missing="drop")
    refused("there is no file", compared, "nowhere.profile", table)


def test_one_huge_value_is_a_finding_and_no_overflow(reference):
    b = night(700, 6)
    b.loc[:20, "height"] = 1e300
    result = compared(reference, b)
    assert result.columns[0].name == "height"
    assert 0.0 < result.test.pvalue <= 1.0


def test_any_whole_number_is_a_seed(table):
    assert dd.profile(table, random_state=2**70).n == len(table)


def test_nothing_is_warned_of_and_inputs_stay(table):
    before = table.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dd.profile(table, random_state=0)
    pd.testing.assert_frame_equal(table, before)


def test_two_rows_and_equal_constants_are_no_difference(reference):
    assert compared(reference, night(3, 4)).test.pvalue > 0.05
    two = compared(reference, {"height": [165.0, 172.0]})
    assert (two.distance.normalized_interval, two.distance.standard_error > 0) == ((0.0, 1.0), True)
    constant = dd.profile({"x": np.full(60, 2.0)}, random_state=0)
    assert not compared(constant, {"x": np.full(80, 2.0)}).differ
    assert compared(constant, {"x": np.full(80, 3.0)}).differ


def test_columns_of_any_size_and_kind_survive_the_file(tmp_path):
    random = np.random.default_rng(0)

    def table(n, more=0.0):
        return {
            "huge": random.normal(size=n) * 1e300,
            "tiny": random.normal(size=n) * 1e-200,
            "offset": 1e8 + random.normal(size=n),
            "constant": np.full(n, 3.0 + more),
            "mostly missing": np.where(np.arange(n) % 3, np.nan, 1.5),
            "one word": ["u"] * n,
            "flag": random.random(n) < 0.5,
        }

    dd.profile(table(100), random_state=0).save(tmp_path / "ref.profile")
    assert not compared(tmp_path / "ref.profile", table(80)).differ
    other = compared(tmp_path / "ref.profile", table(80, 1.0))
    assert other.constants == ["constant"]


def test_a_table_that_has_nothing_to_compare_is_refused(reference):
    refused("none of the columns of the profile", compared, reference, np.zeros((40, 2)))
    refused("'height', category and not number", compared, reference, {"height": ["a", "b"] * 40})
    refused("'height', all values are missing in B", compared, reference, {"height": np.full(80, np.nan)})
