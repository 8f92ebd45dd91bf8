"""The page of a comparison names tables and sizes as a reader would, and says what its pictures leave open."""

import dataclasses
import re

import numpy as np

from densdiff import messages
from densdiff.data.match import SchemaChanges
from densdiff.results import Curve
from tests.pages import Elements, page_of, random_bars


def with_picture(compared, picture, **fields):
    """A comparison whose first column has another picture."""
    first = dataclasses.replace(compared.columns[0], picture=picture)
    return dataclasses.replace(compared, columns=[first, *compared.columns[1:]], **fields)


def a_curve(difference, reach=0.05, **fields):
    points = np.linspace(0.0, 1.0, 21)
    values, margin = np.full(21, difference), np.full(21, reach)
    return Curve(points, points, points + difference, values, values - margin, values + margin, **fields)


def test_tables_are_called_as_the_user_called_them(compared, tmp_path):
    named = with_picture(compared, a_curve(0.5, outside=(0.021, 0.04)), names=("January", "July"))
    page = page_of(named, tmp_path)
    parsed = Elements(page)
    assert parsed.of("h1") == ["January and July compared"]
    shown = "".join(text for inside, text in parsed.text if inside not in ("pre", "style"))
    body = shown.split("columns differ")[1]
    assert "more in July" in body
    assert "Outside the picture: 2.1 % of January and 4 % of July." in body
    assert "300 of January, 300 of July" in parsed.of("td")
    # what the result says in words of its own is not the page's
    texts = [
        *(column.direction for column in named.columns),
        *(reason for _, reason in named.left_out),
        *named.warnings,
    ]
    assert not re.findall(r".*\b(?:of|in) [AB]\b.*", re.sub("|".join(map(re.escape, texts)), "", body))


def test_long_names_of_tables_are_cut_in_the_middle_and_stay_apart(compared, tmp_path):
    names = tuple(f"/data/{'x' * 300}/{month}.csv" for month in ("january", "july"))
    heading = Elements(page_of(dataclasses.replace(compared, names=names), tmp_path)).of("h1")[0]
    assert len(heading) < 150
    assert "january.csv" in heading
    assert "july.csv" in heading
    assert messages.short_names(("x" * 90 + "a" + "x" * 90, "x" * 90 + "b" + "x" * 90), 20)[0].startswith("A: ")
    assert messages.short_names(("January", "July"), 20) == ("January", "July")


def test_a_smallest_possible_p_is_a_bound(compared, tmp_path):
    assert messages.p_number(0.002) == "0.002"
    assert messages.p_number(1e-7) == "< 0.0001"
    first = dataclasses.replace(compared.columns[0], pvalue_adjusted=0.005, is_smallest=True)
    later = dataclasses.replace(compared.columns[0], pvalue_adjusted=0.015, is_smallest=False)
    cells = Elements(page_of(dataclasses.replace(compared, columns=[first, later]), tmp_path)).of("td")
    assert "<= 0.005" in cells
    assert "0.015" in cells


def test_reasons_and_changes_of_the_schema_are_shown_if_there_are_any(compared, tmp_path):
    plain = page_of(dataclasses.replace(compared, reasons=[]), tmp_path)
    assert "<h2>Why</h2>" not in plain
    assert "do not share" not in plain
    schema = SchemaChanges(("gone",), ("new",), (("zip", "number", "category"),))
    told = dataclasses.replace(compared, reasons=["a <b>reason</b>"], schema_changes=schema, names=("u", "v"))
    parsed = Elements(page_of(told, tmp_path))
    assert "a <b>reason</b>" in parsed.of("li")
    assert {"only in u", "only in v", "number in u, category in v"} <= set(parsed.of("td"))
    assert {"gone", "new", "zip"} <= set(parsed.of("th"))
    many = dataclasses.replace(compared, reasons=[f"reason {k}" for k in range(20)])
    listed = Elements(page_of(many, tmp_path)).of("li")
    assert "reason 5" in listed
    assert "reason 6" not in listed
    assert "and 14 more, as the list of columns below tells" in listed


def test_the_page_says_why_a_column_differs_though_its_band_holds_zero(compared, tmp_path):
    compared = dataclasses.replace(compared, columns=compared.columns[:1])
    spread, sure = (page_of(with_picture(compared, a_curve(0.01, reach)), tmp_path) for reach in (0.5, 0.001))
    assert "the band holds 0 everywhere" in spread
    assert "the band holds 0 everywhere" not in sure
    drawn = random_bars(np.random.default_rng(0), 20)
    unsure = dataclasses.replace(drawn, lower=-np.ones(20), upper=np.ones(20))
    assert "the change is in the share of rows with the very same value" in page_of(
        with_picture(compared, unsure), tmp_path
    )


def test_notes_of_a_picture_stand_below_it(compared, tmp_path):
    page = page_of(with_picture(compared, a_curve(0.5, notes=("f is rough here",))), tmp_path)
    assert "F is rough here." in Elements(page).of("p")


def test_size_in_words_has_total_variation_first_and_the_distance_beside_it(compared, tmp_path):
    caption = "".join(Elements(page_of(compared, tmp_path)).of("figcaption")[:1])
    text = re.sub(r"<[^>]*>", "", page_of(compared, tmp_path))
    variation = compared.total_variation
    assert f"{messages.percent(variation.value)} of the rows would have to change" in text
    assert f"at least {messages.percent(variation.interval[0])}" in text
    assert "normalized L2 distance" in text
    assert caption


def test_classes_that_are_numbers_are_called_classes(balanced, tmp_path):
    numbered = dataclasses.replace(balanced, classes=(0, 1))
    parsed = Elements(page_of(numbered, tmp_path))
    share = messages.percent(float(balanced.priors[0]))
    assert f"class 0: {share}" in "".join(text for inside, text in parsed.text if inside in ("p", "span"))
    assert "class 1" in parsed.of("th")
    assert f"  class 0:  {100 * balanced.priors[0]:.1f} %" in str(numbered)
    assert "  ill:   " in str(balanced)
