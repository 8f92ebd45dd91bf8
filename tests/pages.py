"""Pages for tests: one of a result, its elements with what stands in them, and bars to draw."""

import re
from html.parser import HTMLParser

import numpy as np

from densdiff.results import Bars, Shares


class Elements(HTMLParser):
    """Collects the tags and attributes of a page, and its text by the tag it stands in."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text, self.inside = [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.attributes += attrs
        self.inside.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.attributes += attrs

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        self.text.append((self.inside[-1] if self.inside else "", data))

    def of(self, tag):
        return [text for inside, text in self.text if inside == tag]


def coordinates(path):
    return np.array([[float(part) for part in point.split()] for point in re.findall(r"[ML]([^MLZ]+)", path)])


def page_of(result, folder, name="page.html"):
    """The page of a result as text."""
    return result.to_html(folder / name).read_text("utf-8")


def random_bars(random, count):
    """Bars of so many values, with a spike."""
    spikes = Shares(("exactly 0",), *np.ones((2, 1)))
    return Bars(np.arange(float(count)), 1.0, *random.uniform(size=(5, count)), spikes=spikes)
