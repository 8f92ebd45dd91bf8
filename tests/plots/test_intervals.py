"""The pictures that notebooks show of intervals and bands."""

import numpy as np

import densdiff as dd
from densdiff.plots.intervals import draw_intervals


def test_a_band_of_one_column_is_drawn_in_order_and_one_of_two_columns_is_not():
    pair = dd.datasets.gaussian_shift(0.8, d=2, n=60, random_state=0)
    points = np.array([0.5, -0.5, 0.0])
    band = dd.LSDD(random_state=0).fit(pair.x[:, 0], pair.y[:, 0]).confidence_band(points)
    drawn = next(line for line in band._draw().lines if len(line.get_xdata()) == 3)
    assert drawn.get_xdata().tolist() == [-0.5, 0.0, 0.5]
    assert drawn.get_ydata().tolist() == band.estimate[[1, 2, 0]].tolist()
    of_two = dd.LSDD(random_state=0).fit(pair.x, pair.y).confidence_band(np.zeros((1, 2)))
    assert "<img" not in of_two._repr_html_()


def test_names_are_plain_text_and_a_long_list_is_cut_and_counted():
    ax = draw_intervals(["$x$"] * 30, np.linspace(0, 1, 30), None, "share")
    assert len(ax.get_yticks()) == 25
    assert ax.get_yticklabels()[0].get_text() == r"\$x\$"
    assert ax.get_xlabel() == "share; 5 more"
