"""The README keeps its word: its example prints what it shows, and its links lead to files."""

import contextlib
import doctest
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BESIDE = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
WRITTEN = [path for path in sorted((ROOT / "docs").rglob("*.md")) if "generated" not in path.parts]
PAGES = [*(ROOT / name for name in BESIDE), *WRITTEN]


def test_the_example_prints_what_is_shown():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,), (shown,) = (re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL) for kind in ("python", "text"))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert doctest.OutputChecker().check_output(shown, printed.getvalue(), doctest.ELLIPSIS), printed.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_to_files_and_headings(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, heading = target.partition("#")
        if path.startswith(("http:", "https:")):
            continue
        file = (page.parent / path) if path else page
        if "generated" in file.parts:
            continue  # made by `make docs`, which checks the links to it
        assert file.exists(), target
        if heading:
            titles = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]
            assert heading in anchors, target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_that_a_page_names_exist(page):
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", page.read_text(encoding="utf-8"))
    assert [
        path for path in named if not any((folder / path).exists() for folder in (ROOT, ROOT / "src/densdiff"))
    ] == []
