"""The site without Sphinx: pages from data can be made, and the reference lists every public name and no other."""

import inspect
import re
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import densdiff
from densdiff.results import Receipt

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def docs(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    import check_site
    import site_pages

    return check_site, site_pages


def test_the_reference_lists_every_public_name_once(docs):
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    listed = [name for part in text.split(".. autosummary::")[1:] for name in re.findall(r"^   ([\w.]+)$", part, re.M)]
    assert sorted(listed) == sorted(docs[0].public_names())


def test_every_public_name_has_an_example(docs):
    without = []
    for name in docs[0].public_names():
        value = densdiff
        for part in name.split("."):
            value = getattr(value, part)
        if ">>>" not in inspect.getdoc(value):
            without.append(name)
    assert without == []


def test_the_reference_explains_what_every_result_says_of_itself():
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    assert [field.name for field in fields(Receipt) if f"`{field.name}`" not in text] == []


def test_pages_are_made_from_data_and_left_alone_if_they_are_as_they_were(docs, tmp_path):
    docs[1].write_all(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {*docs[1].OUTSIDE.values(), "schemas.md"}
    assert "`total_variation`" in (tmp_path / "schemas.md").read_text(encoding="utf-8")
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    docs[1].write_all(tmp_path)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_broken_links_and_foreign_files_are_found(docs, tmp_path):
    (tmp_path / "other.html").write_text('<h1 id="here">x</h1>')
    links = '<a href="other.html#here"></a><a href="other.html#there"></a><a href="none.html"></a>'
    (tmp_path / "index.html").write_text(links + '<script src="https://example.org/x.js"></script>')
    found = list(docs[0].broken_links(tmp_path))
    assert [text.split()[-1] for text in found] == ["anchor", "exist", "https://example.org/x.js"]
