"""`python -m paper`: a page and where it is, failures in one line, Ctrl-C in silence, progress for terminals only."""

import os
import re
import subprocess
import sys

import pytest

import densdiff as dd
from paper import reproduction
from tests.command_line import PAPER, WITH_PAPER, on_terminal, refusal, run_paper
from tests.paper.test_reproduction import files_in, toy


@pytest.fixture
def quick(monkeypatch):
    """One figure that takes no time, in this process."""
    monkeypatch.setattr(reproduction, "PARTS", {"7": toy(["a", "b"])})
    monkeypatch.setattr(os, "cpu_count", lambda: 1)


def complaint(*arguments):
    """The one line of a failure, after its 'paper: '."""
    code, out, err = run_paper(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert err.startswith("paper: ")
    return err.removeprefix("paper: ").rstrip("\n")


def test_it_writes_a_page_and_says_where(tmp_path):
    code, out, err = run_paper("--out", tmp_path / "paper", "--figure", "5", "--seed", 3)
    assert code == 0
    page = tmp_path / "paper" / "index.html"
    assert out == f"page: {page} (seed 3)\n"
    assert re.fullmatch(r"paper: 1 part, about \d+ s on \d+ cores?\n", err)  # and progress only on a terminal
    assert "Density-Difference Estimation" in page.read_text("utf-8")
    assert (page.parent / "figure-5.png").exists()


def test_it_goes_on_where_it_stopped(tmp_path, quick):
    assert run_paper("--out", tmp_path)[0] == 0
    before = files_in(tmp_path)
    (tmp_path / "index.html").unlink()
    (tmp_path / "work" / "7-1.json").unlink()
    assert run_paper("--out", tmp_path) == (
        0,
        f"page: {tmp_path / 'index.html'} (seed 0)\n",
        "paper: 1 part, about 1 s on 1 core\n",
    )
    assert files_in(tmp_path) == before
    assert run_paper("--out", tmp_path)[2] == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--figure", "13"], "the paper has no figure '13'; choose among "),
        (["--figure", "\x1b[31m"], r"the paper has no figure '\x1b[31m'; choose among "),
        (["--runs", "0"], "--runs must be a whole number, at least 2; got 0"),
        (["--seed", "-1"], "--seed must be a whole number, at least 0; got -1"),
        (["--data", "nowhere"], "--data is 'nowhere', which is not a folder; "),
        (["--runs", "few"], "argument --runs: invalid int value: 'few' (see python -m paper --help)"),
        (["--run", "3"], "unrecognized arguments: --run 3 (see python -m paper --help)"),
        (["\x1b[31m\n"], r"unrecognized arguments: \x1b[31m (see python -m paper --help)"),
    ],
)
def test_it_refuses_what_it_cannot_do(tmp_path, options, said):
    assert complaint("--out", tmp_path / "paper", *options).startswith(said)
    assert not (tmp_path / "paper").exists()


def test_a_folder_must_be_given_and_must_not_be_a_file(tmp_path):
    required = "the following arguments are required: --out (see python -m paper --help)"
    assert complaint("--figure", "5") == required
    file = tmp_path / "file"
    file.write_text("")
    assert complaint("--out", file, "--figure", "5") == f"cannot make the folder {str(file)!r}: Not a directory"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (dd.InputError("column 'a\nb\x1b[31m': bad"), r"column 'a b\x1b[31m': bad"),
        (RuntimeError("odd"), "unexpected RuntimeError: odd (--debug shows where)"),
        (MemoryError(), "out of memory; take fewer figures at a time"),
        (PermissionError(13, "Permission denied", "x\x1b"), r"Permission denied: 'x\x1b'"),
    ],
)
def test_every_failure_is_one_line_and_status_2(error, message, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(reproduction, "reproduce", fail)
    assert complaint("--out", tmp_path) == message
    code, out, err = run_paper("--out", tmp_path, "--debug")
    assert (code, out) == (2, "")
    assert err.startswith("Traceback ")
    assert err.endswith(f"paper: {message}\n")


@pytest.mark.parametrize("debug", [[], ["--debug"]])
def test_an_interrupt_is_status_130_and_silent(debug, tmp_path, monkeypatch):
    monkeypatch.setattr(reproduction, "PARTS", {"7": toy(["interrupted"])})
    code, out, err = run_paper("--out", tmp_path, *debug)
    assert (code, out) == (130, "")
    assert err.startswith("paper: 1 part, about ")
    assert err.count("\n") == 1
    assert files_in(tmp_path) == files_in(tmp_path / "work") == {}


def test_a_terminal_gets_progress(tmp_path):
    text = on_terminal("--out", tmp_path, "--figure", "5", command=PAPER, both=True)
    assert "paper: 1 part, about" in text
    assert "Figure 5: 1 of 1 jobs to do" in text
    assert "(seed 0)" in text


@pytest.mark.parametrize(
    ("device", "code", "said"),
    [("pipe", 0, ""), ("/dev/full", 2, "paper: cannot write to standard output: No space left on device\n")],
)
def test_a_page_whose_place_cannot_be_told_is_written(device, code, said, tmp_path):
    if device == "pipe":
        unread, end = os.pipe()
        os.close(unread)
    else:
        end = os.open(device, os.O_WRONLY)
    command = [*PAPER, "--out", str(tmp_path), "--figure", "5"]
    done = subprocess.run(command, stdout=end, stderr=subprocess.PIPE, text=True, env=WITH_PAPER, check=False)
    os.close(end)
    assert done.returncode == code
    time, *rest = done.stderr.splitlines(keepends=True)
    assert time.startswith("paper: 1 part, about ")
    assert "".join(rest) == said
    assert (tmp_path / "index.html").exists()


def test_help_has_every_option_and_examples_and_imports_no_library():
    code = (
        "import sys; from paper.__main__ import main\ntry: main(['--help'])\nfinally: assert 'numpy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=WITH_PAPER, check=True)
    assert set(re.findall(r"^  (--\w+)", done.stdout, re.MULTILINE)) == {
        "--out", "--figure", "--runs", "--data", "--seed", "--debug",
    }  # fmt: skip
    assert len(re.findall(r"^  python -m paper ", done.stdout, re.MULTILINE)) >= 2


def test_the_library_has_no_such_command():
    assert refusal("paper", "--out", "x").startswith("No such command 'paper'")
