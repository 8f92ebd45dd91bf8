"""Files in the current folder, for tests of the command."""

import pytest

from tests.command_line import as_csv, shifted


@pytest.fixture
def put(tmp_path, monkeypatch):
    """A function that writes a file into the current folder and gives its name."""
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        (tmp_path / name).write_text(as_csv(content) if isinstance(content, dict) else content)
        return name

    return write


@pytest.fixture
def tables(put):
    return put("A.csv", shifted(0.0)), put("B.csv", shifted(2.0, n=30))
