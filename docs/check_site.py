"""Check a built site: its links lead to pages and anchors, and every public name has a page with an example.

Run as ``python docs/check_site.py build/site``; prints what is wrong, one line each, and fails if anything is.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import densdiff
from densdiff import datasets, metrics, plots

TYPES = {"datasets.FloatArray", "datasets.Seed"}  # names for annotations


class Page(HTMLParser):
    """The anchors of a page, what it links to and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loads = {"", "top"}, [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("img", "script", "source", "iframe"):
            self.loads.append(given.get("src"))
        elif tag == "link" and given.get("rel") in ("stylesheet", "preload", "icon", "shortcut icon"):
            self.loads.append(given.get("href"))


def html_files(site):
    """The pages; the theme keeps templates of its own among its files."""
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]


def broken_links(site):
    """Links that lead nowhere, and files that a page would ask the network for."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in html_files(site)}
    for path, page in pages.items():
        here = path.relative_to(site.resolve())
        for target in filter(None, [*page.links, *page.loads]):
            url = urlsplit(target)
            if url.scheme or url.netloc:
                if target in page.loads and url.scheme != "data":
                    yield f"{here} loads {target}"
                continue
            file = (path.parent / unquote(url.path)).resolve() if url.path else path
            if not file.is_file():
                yield f"{here} links to {target}, which does not exist"
            elif url.fragment and file in pages and unquote(url.fragment) not in pages[file].anchors:
                yield f"{here} links to {target}, which has no such anchor"


def public_names():
    """Every name that the reference has to list."""
    names = [name for name in densdiff.__all__ if name not in ("__version__", "datasets", "metrics", "plots")]
    for module in (datasets, plots):
        names += [f"{module.__name__.rpartition('.')[2]}.{name}" for name in module.__all__]
    names += [
        f"metrics.{name}"
        for name, value in vars(metrics).items()
        if getattr(value, "__module__", "") == metrics.__name__ and not name.startswith("_")
    ]
    return [name for name in names if name not in TYPES]


def names_without_example(site):
    """Public names that have no page, or a page on which nothing is called."""
    for name in public_names():
        path = site / "generated" / "reference" / f"densdiff.{name}.html"
        if not path.is_file():
            yield f"{name} has no page in the reference"
        elif "&gt;&gt;&gt;" not in path.read_text(encoding="utf-8"):
            yield f"{name} has no example on its page"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    problems = [*broken_links(folder), *names_without_example(folder)]
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{len(html_files(folder))} pages, {len(public_names())} public names, {len(problems)} problems")
    sys.exit(bool(problems))
