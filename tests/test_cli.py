"""The command prints the answer, writes its files, and fails in one line with exit status 2."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

import densdiff
from densdiff import cli
from densdiff.errors import InputError


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "made" / "on the way"
    return folder, CliRunner().invoke(cli.app, ["demo", "--seed", "1", "--out", str(folder)])


def test_demo_prints_estimate_truth_and_files(demo):
    _, outcome = demo
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stderr == ""
    pair = densdiff.datasets.gaussian_shift(0.5, n=200, random_state=1)
    result = densdiff.LSDD(random_state=1).fit(pair.x, pair.y).l2_distance()
    assert str(result) in outcome.stdout
    for shown in ("1.088", "0.5441", "seed 1", "demo-difference.png", "demo-report.html"):
        assert shown in outcome.stdout


def test_demo_writes_a_picture_and_a_page_and_nothing_else(demo):
    folder, _ = demo
    assert sorted(path.name for path in folder.iterdir()) == ["demo-difference.png", "demo-report.html"]
    assert (folder / "demo-difference.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "demo-report.html").read_text("utf-8")
    assert page.count("<svg") == 2
    assert "&#34;squared&#34;" in page


def test_same_seed_writes_the_same_page(demo, tmp_path):
    folder, _ = demo
    assert CliRunner().invoke(cli.app, ["demo", "--seed", "1", "--out", str(tmp_path)]).exit_code == 0
    name = "demo-report.html"
    assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_version_is_the_packages():
    outcome = CliRunner().invoke(cli.app, ["--version"])
    assert (outcome.exit_code, outcome.stdout) == (0, f"densdiff {densdiff.__version__}\n")


def fail_with(monkeypatch, error):
    def broken(*_, **__):
        raise error

    monkeypatch.setattr(cli, "gaussian_shift", broken)


@pytest.mark.parametrize("error", [InputError("column 'a\nb\x1b[31m': bad"), RuntimeError("column 'a b[31m': bad")])
def test_failure_is_one_line_and_status_2(monkeypatch, error):
    fail_with(monkeypatch, error)
    outcome = CliRunner().invoke(cli.app, ["demo"])
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    assert outcome.stderr.replace("\ufffd", "") == "densdiff: column 'a b[31m': bad\n"


def test_unusable_folder_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    outcome = CliRunner().invoke(cli.app, ["demo", "--out", str(tmp_path / "file")])
    assert outcome.exit_code == 2
    assert outcome.stderr.count("\n") == 1
    assert "file" in outcome.stderr


def test_debug_shows_the_traceback(monkeypatch):
    fail_with(monkeypatch, InputError("bad"))
    outcome = CliRunner().invoke(cli.app, ["demo", "--debug"])
    assert isinstance(outcome.exception, InputError)


def test_interrupt_is_status_130(monkeypatch):
    fail_with(monkeypatch, KeyboardInterrupt())
    assert CliRunner().invoke(cli.app, ["demo"]).exit_code == 130


@pytest.mark.parametrize("arguments", [["demo", "--seed", "-1"], ["demo", "--seed", "x"], ["unknown"]])
def test_wrong_arguments_are_status_2(arguments):
    outcome = CliRunner().invoke(cli.app, arguments)
    assert outcome.exit_code == 2
    assert "Traceback" not in outcome.stderr


def test_without_typer_the_extra_is_named():
    code = "import sys; sys.modules['typer'] = None; import densdiff.cli"
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert outcome.returncode == 2
    assert outcome.stderr == "densdiff: the command line needs typer: pip install 'densdiff[cli]'\n"
