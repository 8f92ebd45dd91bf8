"""Pages are whole, self-contained, the same every time, and show hostile text as text."""

import builtins
import dataclasses
import datetime
import json
import os
import re
import warnings

import numpy as np
import pytest

import densdiff as dd
from densdiff import messages
from densdiff.errors import InputError, MissingExtraError
from densdiff.report import changes as changes_page
from densdiff.report import column_figures, page, svg, write_balance, write_changes, write_comparison
from densdiff.results import Curve, Map, Shares
from tests.pages import Elements, coordinates, page_of, random_bars

HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "{{ 7*7 }}{% raw %}",
    "</pre></title></svg></style>",
    "long" * 2500,
    "\u202eevil\u202c",
    "two\nlines",
    "\x1b[31mred",
    "&lt;b&gt; &amp;",
    "half \ud800",
]


@pytest.fixture(params=["compared", "changed", "balanced"])
def result(request):
    return request.getfixturevalue(request.param)


def embedded(page):
    return json.loads("".join(Elements(page).of("pre")))


def test_page_needs_nothing_from_outside_and_runs_nothing(result, tmp_path):
    parsed = Elements(page_of(result, tmp_path))
    tags = {tag for tag, _ in parsed.tags}
    assert not {"script", "link", "img", "image", "iframe", "object", "embed", "base", "form", "use"} & tags
    assert not [name for name, _ in parsed.attributes if name.startswith("on") or name in ("src", "srcset", "href")]
    assert "url(" not in "".join(parsed.of("style"))
    assert "@import" not in "".join(parsed.of("style"))
    policies = [value for name, value in parsed.attributes if value and "default-src" in value]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]


def test_pictures_and_tables_have_names_for_those_who_cannot_see_them(result, tmp_path):
    page = page_of(result, tmp_path)
    parsed = Elements(page)
    pictures = [attrs for tag, attrs in parsed.tags if tag == "svg"]
    assert pictures
    assert all(attrs["role"] == "img" for attrs in pictures)
    assert len(re.findall(r"<svg[^>]*><title>[^<]+</title>", page)) == len(pictures)
    assert all(attrs.get("scope") in ("row", "col") for tag, attrs in parsed.tags if tag == "th")


def test_page_holds_the_json_of_the_result(result, tmp_path):
    assert embedded(page_of(result, tmp_path)) == result.to_dict()


def test_same_result_gives_the_same_bytes(result, tmp_path):
    first, second = (result.to_html(tmp_path / name).read_bytes() for name in ("a.html", "b.html"))
    assert first == second


def test_answer_comes_first(result, tmp_path):
    parsed = Elements(page_of(result, tmp_path))
    answers = [text for text in parsed.of("p") if text.strip()]
    expected = {"Comparison": "At least ", "ChangesResult": "1 change in 240", "ClassBalanceResult": "Of 50 new"}
    assert answers[0].startswith(expected[type(result).__name__])
    assert parsed.of("h1") == parsed.of("title")[:1]


def test_how_it_was_computed_is_on_the_page(result, tmp_path):
    shown = Elements(page_of(result, tmp_path)).of("td")
    assert {str(result.seed), f"densdiff {result.version}", result.tuning} <= set(shown)
    assert any(result.solver in text for text in shown)
    assert any(
        re.fullmatch(rf"Python [\d.]+\S*, numpy {np.__version__}, scipy \S+, scikit-learn \S+", text) for text in shown
    )


def test_every_class_on_the_page_has_a_style(result, tmp_path):
    page = page_of(result, tmp_path)
    style = page[page.index("<style>") : page.index("</style>")]
    used = {name for names in re.findall(r'class="([^"]*)"', page[len(style) :]) for name in names.split()}
    assert {name for name in used if not re.search(rf"\.{name}(?![\w-])", style)} <= set()


def test_columns_that_differ_get_cards_and_the_others_one_compact_table(compared, tmp_path):
    page = page_of(compared, tmp_path)
    ranked = Elements(page).of("th")
    names = [column.name for column in compared.columns]
    assert [text for text in ranked if text in names][: len(names)] == names
    drawn, listed = page.split("Columns without a significant difference")
    for column in compared.columns:
        assert (f"<h3>{column.name}</h3>" in drawn) == column.differs
        assert (f"<td>{column.kind}</td>" in listed.split(f">{column.name}</th>")[-1][:40]) != column.differs
    assert "<h3>" not in listed.split("</table>")[0]
    assert "<details>" not in page  # what is folded, the browser's search may not find
    assert {column.differs for column in compared.columns} == {True, False}


def test_comparison_shows_pairs_regions_missing_and_left_out(compared, tmp_path):
    parsed = Elements(page_of(compared, tmp_path))
    assert compared.pairs
    assert compared.regions
    assert f"{compared.pairs[0].first} and {compared.pairs[0].second}" in parsed.of("h3")
    for region in compared.regions:
        assert region.rule in parsed.of("th")
        assert f"{100 * region.interval[0]:+.1f} to {100 * region.interval[1]:+.1f}" in parsed.of("td")
    assert "20.0 %" in parsed.of("td")  # of B without a plan
    assert dict(compared.left_out)["empty"] in parsed.of("td")


def test_no_row_of_the_data_is_on_the_page(changed, tmp_path):
    random = np.random.default_rng(5)
    a, b = ({"x": random.normal(size=60), "y": random.normal(size=60)} for _ in range(2))
    page = page_of(dd.compare(a, b, n_permutations=39, random_state=0), tmp_path)
    assert not [value for table in (a, b) for of in table.values() for value in of if f"{abs(value):.6f}"[:8] in page]
    page = page_of(changed, tmp_path)
    assert not [value for value in changed.series[:, 0] if f"{abs(value):.6f}"[:8] in page]


def test_a_hundred_columns_make_a_page_of_less_than_one_and_a_half_megabytes(compared, tmp_path):
    random = np.random.default_rng(0)
    points = np.linspace(-1234.5, 1234.5, 121)
    rough = [Curve(points, *random.normal(size=(5, 121))) for _ in range(38)]
    levels = Shares(tuple(f"level number {k}" for k in range(12)), *random.dirichlet(np.ones(12), 2), 27)
    drawn = [*rough, *(random_bars(random, 60) for _ in range(10)), levels, levels, *[None] * 50]
    columns = [
        dataclasses.replace(compared.columns[0], name=f"a column {j}", picture=picture)
        for j, picture in enumerate(drawn)
    ]
    worst = Map(points[:41], points[:41], random.normal(size=(41, 41)))
    pairs = [dataclasses.replace(compared.pairs[0], map=worst)] * 4
    path = dataclasses.replace(compared, columns=columns, pairs=pairs).to_html(tmp_path / "page.html")
    assert 300_000 < path.stat().st_size < 1_500_000
    assert "50 more columns of the list above are not drawn." in path.read_text("utf-8")


@pytest.fixture(scope="module")
def hostile_pages(tmp_path_factory):
    """A page of each kind whose names of columns, levels and classes are hostile."""
    folder, random = tmp_path_factory.mktemp("hostile"), np.random.default_rng(0)
    tables = []
    for shift in (0.0, 1.5):
        shared = random.normal(size=80)
        table = {name: shared * shift + random.normal(shift, 1.0, 80) for name in HOSTILE}
        table["<u>levels</u>"] = np.array(HOSTILE, dtype=object)[random.integers(0, 5 + 3 * bool(shift), 80)]
        table["\u202elevels"] = np.array(HOSTILE, dtype=object)[random.integers(4 * bool(shift), 10, 80)]
        table[f"empty{HOSTILE[0]}"] = np.full(80, np.nan)
        tables.append(table)
    with warnings.catch_warnings(action="ignore"):
        found = dd.compare(*tables, missing="level", n_permutations=99, random_state=0)
    series = dict(zip(HOSTILE, random.normal(size=(len(HOSTILE), 120)), strict=True))
    scanned = dataclasses.replace(dd.detect_changes(random.normal(size=120), random_state=0), names=tuple(HOSTILE))
    scanned = dataclasses.replace(
        scanned, series=np.column_stack(list(series.values())), warnings=tuple(HOSTILE[:4] + HOSTILE[5:])
    )
    rows = np.concatenate([random.normal(k, 0.1, (5, 1)) for k in range(len(HOSTILE))])
    with warnings.catch_warnings(action="ignore"):
        shares = dd.ClassBalance(random_state=0).fit(rows, np.repeat(HOSTILE, 5)).estimate(rows)
    assert found.columns[0].differs
    assert found.pairs
    return [
        write_comparison(folder / "comparison.html", found),
        write_changes(folder / "changes.html", scanned),
        write_balance(folder / "balance.html", shares),
    ]


@pytest.mark.hostile(33)
def test_hostile_names_are_text_everywhere(hostile_pages):
    for path in hostile_pages:
        page = path.read_text("utf-8")
        parsed = Elements(page)
        tags = [tag for tag, _ in parsed.tags]
        assert not {"script", "img", "u", "b"} & set(tags)
        assert [tags.count(tag) for tag in ("pre", "style", "main")] == [1, 1, 1]
        assert not [name for name, _ in parsed.attributes if name.startswith("on")]
        assert all(c.isprintable() or c == "\n" for c in page)
        shown = "".join(text for inside, text in parsed.text if inside not in ("pre", "style"))
        for name in HOSTILE:
            assert svg.cut(messages.quote_name(name), 15)[:-1] in shown
        assert "long" * 25 not in shown
        assert embedded(page)


def test_hostile_names_survive_in_the_json(hostile_pages):
    found = embedded(hostile_pages[0].read_text("utf-8"))
    assert {column["name"] for column in found["columns"]} >= set(HOSTILE)


@pytest.mark.parametrize("scale", [2.0**-990, 2.0**20, 2.0**1000])
def test_huge_and_tiny_numbers_are_drawn_like_others(changed, scale, tmp_path):
    points, heights = np.linspace(-2.0, 5.0, 31), np.random.default_rng(0).uniform(size=(5, 31))

    def lines(drawn):
        return re.findall(r'd="([^"]*)" class="(?:in-. )?(?:line|area|band|solid)', drawn)

    for draw in (column_figures.densities, column_figures.difference):
        curves = Curve(points, *heights), Curve(scale * points, *(heights / scale))
        usual, scaled = (draw("x", curve, ("A", "B")) for curve in curves)
        assert lines(usual) == lines(scaled)
        assert lines(usual)
    scaled = dataclasses.replace(changed, series=scale * changed.series)
    assert lines(page_of(scaled, tmp_path)) == lines(page_of(changed, tmp_path))


def test_dates_and_arrows_stay_whole_and_the_rest_is_escaped():
    assert page.unbroken("<b> 1 -> 2 at 2024-03-01T00:05:00 \u202e") == (
        '&lt;b&gt; 1 <span class="nowrap">-&gt;</span> 2 at <span class="nowrap">2024-03-01T00:05:00</span> \ufffd'
    )


def test_long_series_is_thinned_and_keeps_its_extremes(changed, tmp_path):
    series = np.random.default_rng(0).normal(size=(100_000, 1))
    series[77_777] = 40.0
    long = dataclasses.replace(changed, series=series, scores=np.abs(series[:, 0]))
    page = page_of(long, tmp_path)
    assert len(page) < 60_000
    assert "scores" not in embedded(page)
    assert "100000 scores" in page
    y = coordinates(re.search(r'd="([^"]*)" class="range"', page)[1])[:, 1]
    assert y.min() == pytest.approx(148 - 140 * 1.06 / 1.12, abs=0.051)  # room of 6 % above and below
    assert len(y) <= 1200


def test_series_without_score_or_threshold_is_drawn(changed, tmp_path):
    with pytest.warns(dd.DensDiffWarning, match="too few"):
        short = dd.detect_changes(np.arange(5.0) ** 2, random_state=0)
    page = page_of(short, tmp_path)
    assert "No change found in 5 samples." in page
    assert 'class="threshold"' not in page
    assert 'class="threshold"' in page_of(changed, tmp_path)


zoned = datetime.datetime(2026, 3, 1, 23, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))


@pytest.mark.parametrize(
    ("times", "labels", "name"),
    [
        (None, ["0", "1", "2", "3", "4"], "sample"),
        ([5, 6, 7, 8, 15], ["6", "8", "10", "12", "14"], "time"),
        (np.arange(5).astype("m8[m]"), ["0", "1", "2", "3", "4"], "time (min)"),
        (np.arange(5).astype("m8[M]"), ["0", "50", "100"], "time (d)"),
        ([datetime.timedelta(seconds=k) for k in range(5)], ["0", "1", "2", "3", "4"], "time (s)"),
        (np.arange(5).astype("M8[D]"), ["1970-01-01", "1970-01-03", "1970-01-05"], "time"),
        (np.arange(5).astype("M8[Y]"), ["1970-01-01", "1972-01-01", "1974-01-01"], "time"),
        (np.arange(5).astype("M8[h]"), ["00:00", "02:00", "04:00"], "time, from 1970-01-01"),
        ([datetime.date(2026, 1, k) for k in range(1, 6)], ["2026-01-01", "2026-01-03", "2026-01-05"], "time"),
        (
            [zoned + datetime.timedelta(hours=k) for k in range(5)],
            ["22:00", "00:00"],
            "time (UTC), from 2026-03-01",
        ),
        (np.zeros(5, "M8[s]"), ["00:00:00.000000"], "time, from 1970-01-01"),
        (
            np.arange(5) * 200 + np.datetime64("2024-03-01T09:58:10"),
            ["10:00", "10:05", "10:10"],
            "time, from 2024-03-01",
        ),
        (np.arange(5) * 45 + np.datetime64("2024-01-20"), ["2024-03-01", "2024-05-01", "2024-07-01"], "time"),
    ],
)
def test_clock_has_round_ticks(times, labels, name):
    clock = changes_page._clock(None if times is None else np.asarray(times), 5)
    assert clock.axis[1] == labels
    assert clock.name == name
    assert len(clock.at) == 5


@pytest.mark.parametrize("span", [10.0**k * digits for k in range(-5, 10) for digits in (1.3, 2.9, 6.1)])
def test_labels_of_dates_say_where_they_stand(span):
    first = np.datetime64("2024-02-28T22:57:13.123457")
    last = first + np.timedelta64(round(1e6 * span), "us")
    at, labels = changes_page._clock(np.array([first, last]), 2).axis
    assert 1 <= len(labels) <= 5
    for seconds, label in zip(at, labels, strict=True):
        stands = first + np.timedelta64(round(1e6 * seconds), "us")
        assert first <= stands <= last
        rest = str(stands if "-" in label else str(stands).split("T")[1]).removeprefix(label)
        assert not rest.strip("T:.0")  # nothing was cut from it


def test_interrupted_write_leaves_the_old_file_and_no_other(result, tmp_path, monkeypatch):
    target = tmp_path / "page.html"
    target.write_text("old")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        result.to_html(target)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert target.read_text() == "old"


def test_unwritable_place_is_named(result, tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        result.to_html(tmp_path / "no" / "page.html")


def test_missing_jinja_names_the_extra(result, tmp_path, monkeypatch):
    real = builtins.__import__

    def without_jinja(name, *args, **kwargs):
        if name.startswith("jinja2"):
            raise ModuleNotFoundError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_jinja)
    with pytest.raises(MissingExtraError, match=r"densdiff\[plot\]"):
        result.to_html(tmp_path / "page.html")
