"""Settings shared by all tests: reproducible hypothesis runs, and one way to draw two samples."""

import os
import re

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # workers share the cores; must be set before NumPy loads its BLAS

import numpy as np
import pytest
from hypothesis import settings

# Derandomized, because a failure in CI must be the same failure at home; no deadline, because cores are shared.
settings.register_profile("densdiff", deadline=None, derandomize=True, max_examples=20)
settings.load_profile("densdiff")


def pytest_configure(config):
    config.addinivalue_line("markers", "hostile(row): what must happen for a numbered row of the hostile inputs")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Let ``-k hostile_17`` find the tests of row 17, by their name (row_17, hostile_17) or by their mark."""
    for item in items:
        rows = [mark.args[0] for mark in item.iter_markers("hostile")]
        rows += [int(row) for row in re.findall(r"^test_(?:row|hostile)_(\d\d)_", item.name)]
        item.extra_keyword_matches.update(f"hostile_{row:02d}" for row in rows)


@pytest.fixture(scope="session")
def draw():
    """A function that draws X (n, d) and Y (m, d), shifted and stretched, as multiples of 2^-20.

    On that lattice adding an offset up to 1e9 and scaling by powers of two are exact, so that an invariance is
    tested and not the rounding of its input.
    """

    def two_samples(seed, n=40, m=27, d=2):
        random = np.random.default_rng([seed, n, m, d])
        x = random.normal(size=(n, d))
        y = 0.8 * random.normal(size=(m, d)) + 0.6
        return tuple(np.round(rows * 2.0**20) / 2.0**20 for rows in (x, y))

    return two_samples


@pytest.fixture
def put(tmp_path):
    """A function that writes a file and gives its path."""

    def write(content, name="B.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
