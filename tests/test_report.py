"""The page is whole, self-contained, the same every time, and shows hostile text as text."""

import builtins
import json
import os
import re
from html.parser import HTMLParser

import pytest
from matplotlib.figure import Figure

from densdiff.errors import MissingExtraError
from densdiff.report import figure_svg, write_aside, write_page

HOSTILE = "<script>alert(1)</script>\"'{{ 7*7 }}{% raw %}</pre></title>\u202e\x1b[31m"


class Elements(HTMLParser):
    """Collects the tags and attributes of a page, and its pieces of text with the tag they stand in."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text.append((self.tags[-1], data) if self.tags else ("", data))


def figure(label="x0"):
    ax = Figure().subplots()
    ax.plot([0, 1], [0, 1], marker="o")
    ax.set_xlabel(label)
    return ax.figure


def page_text(path, **changes):
    content = {
        "title": "Two samples",
        "answer": "They are equal.",
        "facts": [("", "value"), ("rows", "200")],
        "figures": [("first", figure()), ("second", figure())],
        "data": {"rows": 200},
    }
    return write_page(path, **{**content, **changes}).read_text("utf-8")


def test_page_shows_answer_facts_figures_and_data(tmp_path):
    page = page_text(tmp_path / "page.html")
    parsed = Elements(page)
    shown = {("h1", "Two samples"), ("p", "They are equal."), ("th", "rows"), ("td", "200")}
    assert shown | {("figcaption", "first"), ("figcaption", "second")} <= set(parsed.text)
    assert parsed.tags.count("svg") == 2
    assert "details" in parsed.tags


def test_page_needs_nothing_from_outside(tmp_path):
    parsed = Elements(page_text(tmp_path / "page.html"))
    assert not {"script", "link", "img", "iframe", "object", "base", "form"} & set(parsed.tags)
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    targets = [value for name, value in parsed.attributes if re.fullmatch(r"src|srcset|(xlink:)?href", name)]
    assert targets
    assert all(value.startswith("#") for value in targets)
    policies = [value for _, value in parsed.attributes if value and "default-src" in value]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]


def test_no_identifier_appears_with_two_meanings(tmp_path):
    page = page_text(tmp_path / "page.html", figures=[("", figure("a")), ("", figure("b"))])
    named = re.findall(r'<(\w+) id="([^"]*)"', page)
    assert named
    assert "g" not in {tag for tag, _ in named}


def test_hostile_text_is_text_everywhere(tmp_path):
    page = page_text(
        tmp_path / "page.html",
        title=HOSTILE,
        answer=HOSTILE,
        facts=[(HOSTILE, HOSTILE), (HOSTILE, HOSTILE)],
        figures=[(HOSTILE, figure("<script>alert(1)</script>"))],
        data={HOSTILE: HOSTILE},
    )
    parsed = Elements(page)
    assert "script" not in parsed.tags
    assert parsed.tags.count("pre") == 1
    visible = HOSTILE.replace("\u202e", "\ufffd").replace("\x1b", "\ufffd")
    tags = [tag for tag, text in parsed.text if text == visible]
    assert tags == ["title", "h1", "p", "th", "th", "th", "td", "figcaption"]
    assert not {"\u202e", "\x1b"} & set(page)


def test_lone_surrogates_can_be_written(tmp_path):
    assert "\ufffd" in page_text(tmp_path / "page.html", answer="half \ud800", data={"name": "\ud800"})


def test_embedded_json_is_the_data(tmp_path):
    data = {"a": [1, 2.5, None], "name": "<b>&amp;\n", "ünï": True}
    page = page_text(tmp_path / "page.html", figures=[], data=data)
    shown = next(text for tag, text in Elements(page).text if tag == "pre")
    assert json.loads(shown) == data


def test_numbers_that_json_does_not_know_are_refused(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        page_text(tmp_path / "page.html", data={"distance": float("nan")})
    assert not list(tmp_path.iterdir())


def test_same_content_gives_the_same_bytes(tmp_path):
    assert page_text(tmp_path / "a.html") == page_text(tmp_path / "b.html")


def test_figure_text_stays_text_in_any_alphabet():
    svg = figure_svg(figure("温度 & <b>"))
    assert svg.startswith("<svg")
    assert "温度 &amp; &lt;b&gt;" in svg
    assert "<metadata" not in svg


def test_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    target = tmp_path / "page.html"
    target.write_text("old")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_aside(target, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert target.read_text() == "old"


def test_file_gets_ordinary_permissions(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    written = write_aside(tmp_path / "aside", b"content")
    assert written.stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert written.read_bytes() == b"content"


def test_missing_jinja_names_the_extra(tmp_path, monkeypatch):
    real = builtins.__import__

    def without_jinja(name, *args, **kwargs):
        if name.startswith("jinja2"):
            raise ModuleNotFoundError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_jinja)
    with pytest.raises(MissingExtraError, match=r"densdiff\[plot\]"):
        page_text(tmp_path / "page.html", figures=[])
