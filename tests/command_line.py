"""`densdiff` and `python -m paper`, run within the test or as a process of its own, and files for them."""

import csv
import io
import os
import pty
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from densdiff import cli
from densdiff.errors import DensDiffWarning
from paper.__main__ import main as paper_main

COMMAND = [sys.executable, "-c", "from densdiff.cli import app; app(prog_name='densdiff')"]
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}  # or no flush is missed
PAPER = [sys.executable, "-m", "paper"]
ROOT = str(Path(__file__).parents[1])
WITH_PAPER = BUFFERED | {"PYTHONPATH": os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))}
ESCAPES = "\x1b[31mred\nline\u202e"


def run(*arguments, given=None):
    """Exit code, standard output and standard error, which is one line if the command failed."""
    done = CliRunner().invoke(cli.app, [str(each) for each in arguments], input=given, prog_name="densdiff")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    for text in (done.stdout, done.stderr):
        assert text.replace("\n", "").isprintable()
    return done.exit_code, done.stdout, done.stderr


def refusal(*arguments, given=None):
    """The one line of a failure, after its 'densdiff: '."""
    code, out, err = run(*arguments, given=given)
    assert (code, out) == (2, ""), err
    notes = [line for line in err.splitlines() if not line.startswith("densdiff: note: ")]
    assert len(notes) == 1, err
    assert notes[0].startswith("densdiff: ")
    return notes[0].removeprefix("densdiff: ")


def run_paper(*arguments):
    """The same of `python -m paper`."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = paper_main([str(each) for each in arguments])
        except SystemExit as ended:  # of the help, and of wrong arguments
            code = ended.code
    for text in (out.getvalue(), err.getvalue()):
        assert text.replace("\n", "").isprintable()
    return code, out.getvalue(), err.getvalue()


def process(*arguments, command=COMMAND, stdin=subprocess.PIPE, **options):
    return subprocess.Popen(
        [*command, *map(str, arguments)],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=WITH_PAPER,
        **options,
    )


def on_terminal(*arguments, command=COMMAND, both=False):
    """What a terminal of 80 columns gets on standard output, or on both outputs."""
    here, there = pty.openpty()
    environment = {**WITH_PAPER, "TERM": "xterm-256color", "COLUMNS": "80"}
    done = subprocess.Popen(
        [*command, *map(str, arguments)],
        stdout=there,
        stderr=there if both else subprocess.PIPE,
        env=environment,
        stdin=subprocess.DEVNULL,
    )
    os.close(there)
    found = b""
    try:
        while part := os.read(here, 65536):
            found += part
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(here)
    _, err = done.communicate()
    assert done.returncode == 0, err
    assert b"\x1b" not in (err or b"")  # progress is for terminals
    return found.decode()


def as_csv(columns, sep=","):
    """Columns by name as CSV text."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=sep, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True))
    return text.getvalue()


def silently(function, *arguments, **options):
    """What the library answers, whatever it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DensDiffWarning)
        return function(*arguments, **options)


def shifted(by, n=40, seed=0, **more):
    """A table of two columns, the first moved."""
    random = np.random.default_rng([seed, n])
    return {"a": random.normal(size=n) + by, "b": random.normal(size=n)} | more
