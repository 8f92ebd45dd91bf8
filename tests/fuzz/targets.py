"""What is fed with changed files, and what must hold whatever they hold."""

import contextlib
import io
import warnings
from dataclasses import replace

import numpy as np
import pyarrow as pa
import sklearn

from densdiff import ChangeMonitor, Profile, compare
from densdiff.cli import inputs, rows
from densdiff.cli.lines import LineInput
from densdiff.data.points import check_sample
from densdiff.data.tables import match_tables
from densdiff.errors import DensDiffError, DensDiffWarning
from densdiff.io import files
from tests.fuzz import corpus

MEMORY = 16  # MiB of working memory
MANY = 20  # of our own warnings to one file
LONGEST = 2000  # characters of a message, which may quote two paths and some names


def reader(path):
    """A file read whole, and its rows taken as a sample."""
    check_sample(files.table(path), "B")


def tables(path):
    """The same with words and gaps, as two tables to compare."""
    found = files.table(path)
    match_tables(found, found)


def block_reader(path):
    """The same file as one that does not fit into memory."""
    with sklearn.config_context(working_memory=1e-6):
        found = files.read(path)
    for part in found if isinstance(found, files.File) else ():
        assert isinstance(part, (np.ndarray, pa.Table))


def state(path):
    """A saved monitor, its first updates and its text."""
    monitor = ChangeMonitor.load(path)
    row = np.zeros(len(monitor.names_))
    steps = [monitor.update(row) for _ in range(3)] + monitor.update_many(np.tile(row + 1.0, (4, 1)))
    assert str(monitor)
    for step in steps:
        assert step.score is None or np.isfinite(step.score), step
    monitor.save(path)
    ChangeMonitor.load(path)


def profile(path):
    """A saved profile, compared with itself and with a small table."""
    found = Profile.load(path)
    table = {
        name: np.linspace(0.0, 1.0, 6) if kind == "number" else list("uvuvuv") for name, kind in found.kinds.items()
    }
    for other in (found, table):
        result = compare(found, other, n_permutations=9, random_state=0)
        assert str(result)
        assert 0.0 <= result.test.pvalue <= 1.0
    found.save(path)
    Profile.load(path)


def lines(path):
    """Rows of standard input, one at a time."""
    how, errors = inputs.parse_layout(None, None, None, False), []
    with contextlib.redirect_stderr(io.StringIO()):  # notes on columns that are left out
        for row in rows.read_rows(LineInput(io.BytesIO(path.read_bytes())), rows.Columns(["x", "y"]), how):
            if isinstance(row, rows.BadRow):
                errors.append(row.error)
                continue
            try:
                _monitor().update(row.values)
            except DensDiffError as error:
                errors.append(error)
    if errors:  # after all rows, as with --bad-rows skip
        raise errors[0]


def _monitor(made=[]):  # noqa: B006
    if not made:
        made.append(ChangeMonitor.load(corpus.FOLDER / "state" / "plain.npz"))
        made[0]._columns = replace(made[0]._columns, names=("x", "y"))
    return made[0]


# Each with the folder of its seeds.
TARGETS = {
    "reader": (reader, "reader"),
    "tables": (tables, "reader"),
    "blocks": (block_reader, "reader"),
    "state": (state, "state"),
    "stream": (lines, "stream"),
    "profile": (profile, "profile"),
}


def broken(target, path):
    """What went wrong with one file, in one line, or None. Its exceptions are ours, in one line, and warnings few."""
    with warnings.catch_warnings(record=True) as caught, sklearn.config_context(working_memory=MEMORY):
        warnings.simplefilter("always")
        try:
            TARGETS[target][0](path)
        except DensDiffError as error:
            text = str(error)
            if not text.isprintable() or len(text) > LONGEST:
                return f"a message that is no short line: {text[:200]!r}"
        except (KeyboardInterrupt, MemoryError):
            raise
        except BaseException as error:
            return f"{type(error).__name__} at {_place(error)}: {str(error)[:200]!r}"
    foreign = [each for each in caught if not issubclass(each.category, DensDiffWarning)]
    if foreign:
        return f"{foreign[0].category.__name__} at {foreign[0].filename}:{foreign[0].lineno}: {foreign[0].message}"
    return f"{len(caught)} warnings" if len(caught) > MANY else None


def _place(error):
    trace, found = error.__traceback__, "?"
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if "densdiff" in name or "fuzz" in name:
            found = f"{name.rsplit('/', 1)[-1]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found
