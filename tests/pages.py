"""Pages for tests: the elements of one, with what stands in them."""

import re
from html.parser import HTMLParser

import numpy as np


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
