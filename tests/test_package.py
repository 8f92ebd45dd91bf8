"""The package as it is handed out: the same bytes every time, nothing missing, nothing that does not belong."""

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import densdiff

ROOT = Path(__file__).parents[1]


def build(folder):
    """Wheel and sdist, as `make package` builds them."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    environment = {"SOURCE_DATE_EPOCH": "1700000000", "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    return {path.name: path for path in folder.iterdir() if path.is_file()}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(tmp_path_factory.mktemp("dist"))


def test_two_builds_are_the_same_bytes(built, tmp_path):
    again = build(tmp_path)
    assert again.keys() == built.keys()
    assert len(built) == 2
    for name, path in built.items():
        assert again[name].read_bytes() == path.read_bytes(), name


def test_the_wheel_has_every_file_of_the_package_and_no_other(built):
    (wheel,) = (path for name, path in built.items() if name.endswith(".whl"))
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    package = ROOT / "src" / "densdiff"
    files = {path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert names == {path.relative_to(ROOT / "src").as_posix() for path in files}
    assert "densdiff/py.typed" in names
    assert wheel.stat().st_size < 1_000_000


def test_the_sdist_can_be_tested_and_is_small(built):
    (sdist,) = (path for name, path in built.items() if name.endswith(".tar.gz"))
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "tests/oracle.py", "docs/conf.py", "Makefile"} <= names
    assert not any(name.startswith(".github") for name in names)
    assert sdist.stat().st_size < 5_000_000


def test_the_module_is_the_command():
    command = [sys.executable, "-m", "densdiff", "--version"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["densdiff", densdiff.__version__]


def test_versions_agree():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1] == re.search(r'^version = "(.+)"', project, re.M)[1]
