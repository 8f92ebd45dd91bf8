"""The command, run within the test or as a process of its own, and files for it."""

import csv
import io
import os
import subprocess
import sys
import warnings

import numpy as np
from typer.testing import CliRunner

from densdiff import cli
from densdiff.errors import DensDiffWarning

COMMAND = [sys.executable, "-c", "from densdiff.cli import app; app(prog_name='densdiff')"]
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}  # or no flush is missed
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


def process(*arguments, **options):
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=BUFFERED,
        **options,
    )


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
