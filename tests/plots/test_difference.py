"""Pictures show f, both samples and their names for any data, and leave matplotlib's state alone."""

import builtins
import sys
import unicodedata
from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import densdiff as dd
from densdiff import LSDD
from densdiff.datasets import gaussian_shift
from densdiff.errors import InputError, MissingExtraError
from densdiff.not_fitted import NotFittedError
from densdiff.plots import plot_difference


def fake_model(d=1, n=50, names=None, factor=1.0):
    """A fitted model that knows the truth, with the data stretched by `factor`."""
    pair = gaussian_shift(0.5, d=d, n=n, m=n + 1, random_state=0)
    return SimpleNamespace(
        samples_=(factor * pair.x, factor * pair.y),
        feature_names_=names or tuple(f"x{j}" for j in range(d)),
        predict=lambda points: pair.difference(points / factor) / factor**d,
        l2_distance=lambda: SimpleNamespace(squared=pair.l2 / factor**d, normalized=pair.normalized),
    )


def drawn_texts(ax):
    ax.figure.draw_without_rendering()
    return [text.get_text() for text in ax.figure.findobj(lambda artist: hasattr(artist, "get_text"))]


def test_curve_is_the_models_prediction():
    model = fake_model()
    ax = plot_difference(model)
    curve = max(ax.lines, key=lambda line: len(line.get_xdata()))
    np.testing.assert_array_equal(curve.get_ydata(), model.predict(curve.get_xdata()[:, np.newaxis]))
    assert ax.get_ylabel() == "f = p - q"
    assert ax.get_xlabel() == "x0"
    assert ax.get_title() == "squared L2 distance 1.09, normalized 0.544"


@pytest.mark.parametrize("n", [50, 3000])
def test_both_samples_are_named_with_their_sizes(n):
    texts = " ".join(drawn_texts(plot_difference(fake_model(n=n))))
    assert f"X, n = {n}" in texts
    assert f"Y, m = {n + 1}" in texts


def test_rows_outside_the_picture_are_counted():
    model = fake_model(n=200)
    model.samples_[0][3:5, 0] = 1e9, -1e9
    ax = plot_difference(model)
    assert "2 outside the picture" in " ".join(drawn_texts(ax))
    assert max(np.abs(ax.get_xlim())) < 5


def test_every_row_is_inside_when_there_are_no_outliers():
    ax = plot_difference(fake_model(n=200))
    assert "outside" not in " ".join(drawn_texts(ax))


def test_map_shows_zero_in_the_middle_of_the_colours():
    ax = plot_difference(fake_model(d=2, names=("width", "length")))
    filled = ax.collections[0]
    np.testing.assert_allclose(filled.levels, -filled.levels[::-1], atol=1e-12)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "length")
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["X, n = 50", "Y, m = 51"]


def test_map_of_a_large_sample_says_how_many_rows_it_shows():
    legend = plot_difference(fake_model(d=2, n=2500)).get_legend().get_texts()
    assert [text.get_text() for text in legend] == ["X, n = 2500, 834 shown", "Y, m = 2501, 834 shown"]


@pytest.mark.parametrize(("d", "points"), [(1, np.linspace(-1, 2, 20)), (2, np.random.default_rng(0).random((40, 2)))])
def test_given_points_set_the_range(d, points):
    ax = plot_difference(fake_model(d=d), points=points)
    first = points if d == 1 else points[:, 0]
    assert ax.get_xlim() == (first.min(), first.max())


@pytest.mark.parametrize("points", [np.zeros((5, 3)), [[0.0]], [0.0, np.nan, 1.0]])
def test_unusable_points_are_input_errors(points):
    with pytest.raises(InputError, match="points"):
        plot_difference(fake_model(), points=points)


def test_points_on_one_line_cannot_make_a_map():
    with pytest.raises(InputError, match="line"):
        plot_difference(fake_model(d=2), points=np.linspace(0, 1, 10)[:, np.newaxis] * [1.0, 2.0])


def test_more_than_two_columns_say_what_to_do():
    with pytest.raises(
        InputError, match="one or two columns, but the model has 3; fit it on the columns you want to see"
    ):
        plot_difference(fake_model(d=3))


def test_unfitted_model_is_refused():
    with pytest.raises(NotFittedError, match="call fit"):
        plot_difference(LSDD())


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("factor", [1e-100, 1e-12, 1e12, 1e100])
def test_any_unit_can_be_drawn(d, factor):
    ax = plot_difference(fake_model(d=d, factor=factor))
    ax.figure.draw_without_rendering()
    assert np.all(np.isfinite([*ax.get_xlim(), *ax.get_ylim()]))


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("value", [0.0, 5.0, -1e12])
def test_equal_constant_samples_can_be_drawn(d, value):
    model = SimpleNamespace(
        samples_=(np.full((3, d), value), np.full((400, d), value)),
        feature_names_=("a", "b")[:d],
        predict=lambda points: np.zeros(len(points)),
        l2_distance=lambda: SimpleNamespace(squared=0.0, normalized=0.0),
    )
    plot_difference(model).figure.draw_without_rendering()


@pytest.mark.parametrize(
    "name",
    [
        "$\\frac{$",
        "cost in $",
        "a$b$c",
        "two\nlines\x1b[31m",
        "\u202eright to left",
        "lone \ud800 half",
        "",
        "%s {x} \\",
    ],
)
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.hostile(33)
def test_strange_column_names_are_plain_text(name, d):
    ax = plot_difference(fake_model(d=d, names=(name, name)[:d]))
    ax.figure.draw_without_rendering()
    shown = ax.get_xlabel().replace(r"\$", "$")
    assert len(shown) == len(name)
    assert not any(unicodedata.category(c) in {"Cc", "Cf", "Cs"} for c in shown)
    assert not matplotlib.cbook.is_math_text(ax.get_xlabel())


def test_long_column_name_is_shortened():
    label = plot_difference(fake_model(names=("n" * 10_000,))).get_xlabel()
    assert label.endswith("…")
    assert len(label) < 60


def test_drawing_into_given_axes_uses_them():
    axes = Figure().subplots(1, 2)
    assert plot_difference(fake_model(), ax=axes[0]) is axes[0]
    assert plot_difference(fake_model(d=2), ax=axes[1]) is axes[1]


def test_neither_pyplot_nor_settings_are_touched(monkeypatch):
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    before = list(dict.items(matplotlib.rcParams))  # plain access to the setting "backend" imports pyplot
    plot_difference(fake_model())
    plot_difference(fake_model(d=2))
    assert "matplotlib.pyplot" not in sys.modules
    assert list(dict.items(matplotlib.rcParams)) == before


def test_model_data_are_not_changed():
    model = fake_model()
    before = [sample.copy() for sample in model.samples_]
    plot_difference(model)
    for old, new in zip(before, model.samples_, strict=True):
        np.testing.assert_array_equal(old, new)


def test_missing_matplotlib_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without_matplotlib(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(MissingExtraError, match=r"densdiff\[plot\]"):
        plot_difference(fake_model())


def test_points_of_a_frame_are_matched_by_name():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=60), "b": 100 * random.normal(size=60)})
    model = dd.LSDD(random_state=0).fit(frame, frame + 0.5)
    ax = dd.plots.plot_difference(model, points=frame[["b", "a"]])
    assert ax.get_xlabel() == "a"
    assert max(map(abs, ax.get_xlim())) < 10


@pytest.fixture(scope="module")
def lsdd_models():
    pairs = [gaussian_shift(0.6, d=d, n=n, m=n - 20, random_state=3) for d, n in ((1, 80), (2, 600))]
    return [LSDD(random_state=0).fit(pair.x, pair.y) for pair in pairs]


def test_curve_is_coloured_only_where_the_band_excludes_zero(lsdd_models):
    points = np.linspace(-1.0, 1.5, 101)
    ax = plot_difference(lsdd_models[0], points=points)
    band = lsdd_models[0].confidence_band(points)
    grey, more_x, more_y = ax.collections[:3]
    for part, where in ((more_x, band.lower > 0), (more_y, band.upper < 0)):
        coloured = np.concatenate([path.vertices[:, 0] for path in part.get_paths()])
        assert coloured.min() == points[where].min()
        assert coloured.max() == points[where].max()
    outline = np.concatenate([path.vertices for path in grey.get_paths()])
    assert outline[:, 1].max() == pytest.approx(band.upper.max())
    assert outline[:, 1].min() == pytest.approx(band.lower.min())
    assert "95 % band" in " ".join(drawn_texts(ax))
    assert "[" in ax.get_title()


def test_map_outlines_where_the_band_excludes_zero(lsdd_models):
    axis = np.linspace(-0.9, 1.4, 25)
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    ax = plot_difference(lsdd_models[1], points=points)
    band = lsdd_models[1].confidence_band(points)
    assert (band.lower > 0).any()
    assert (band.upper < 0).any()
    lines = [c for c in ax.collections if list(getattr(c, "levels", [])) == [0.0]]
    assert len(lines) == 2
    step = axis[1] - axis[0]
    for contour, where in zip(lines, (band.lower > 0, band.upper < 0), strict=True):
        corners = np.concatenate([path.vertices for path in contour.get_paths()])
        for column in range(2):
            assert abs(corners[:, column].min() - points[where, column].min()) <= step
            assert abs(corners[:, column].max() - points[where, column].max()) <= step
    assert "f is not 0, 95 % band" in " ".join(text.get_text() for text in ax.get_legend().get_texts())


def test_level_of_the_band_is_checked_and_shown(lsdd_models):
    assert "80 % band" in " ".join(drawn_texts(plot_difference(lsdd_models[0], level=0.8)))
    with pytest.raises(InputError, match="level"):
        plot_difference(lsdd_models[0], level=80)


@pytest.mark.parametrize("null", ["permutation", "asymptotic"])
def test_null_histogram_holds_every_value_and_marks_the_data(null):
    pair = gaussian_shift(0.1, n=40, random_state=0)
    result = dd.two_sample_test(pair.x, pair.y, n_permutations=99, null=null, random_state=0)
    ax = dd.plots.plot_null(result)
    grey = [bar for bar in ax.patches if bar.get_facecolor()[:3] == pytest.approx((0.72, 0.72, 0.72))]
    assert sum(bar.get_height() for bar in grey) == 99
    beyond = sum(bar.get_height() for bar in ax.patches) - 99
    assert beyond == (result.null_distribution >= result.statistic).sum()
    assert ax.lines[0].get_xdata()[0] == result.statistic
    assert f"p = {result.pvalue:.3g}" in ax.get_title()


def test_null_of_equal_values_still_draws():
    x = np.ones(6)
    result = dd.two_sample_test(x, x, n_permutations=19, random_state=0)
    dd.plots.plot_null(result).figure.draw_without_rendering()
