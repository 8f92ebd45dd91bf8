"""Long work says on a terminal how far it is, and nowhere else."""

import io
import os
import re
import subprocess
import sys
import time
import warnings
from contextlib import suppress

import numpy as np
import pytest

import densdiff as dd
from densdiff import progress
from densdiff.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal(monkeypatch):
    """Standard error as a terminal, and a clock that the test moves, with no thread that looks at it."""
    shown, now = Terminal(), [0.0]
    monkeypatch.setattr(progress, "_line", progress._Line())
    monkeypatch.setattr(progress._Line, "_keep_painting", lambda line: None)
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return shown, now


def lines(shown):
    return shown.getvalue().split("\r\x1b[K")


def test_what_is_left_follows_from_what_is_done(monkeypatch):
    shown, now = terminal(monkeypatch)
    with Progress("work", 100) as work:
        for done, seconds in ((2, 2.0), (10, 4.0), (50, 20.0), (55, 2200.0), (100, 2300.0)):
            now[0] = seconds
            work.at(done)
    expected = ["work: 2 %", "work: 10 %, about 36 s left", "work: 50 %, about 20 s left"]
    assert lines(shown) == ["", *expected, "work: 55 %, about 30 min left", "work: 100 %", ""]


def test_short_work_says_nothing(monkeypatch):
    shown, now = terminal(monkeypatch)
    with Progress("work", 2) as work:
        now[0] = 0.9
        assert work.after(lambda: 7, 1)() == 7
    assert work.done == 1
    assert shown.getvalue() == ""


def test_nothing_is_said_where_nobody_looks(monkeypatch):
    _, now = terminal(monkeypatch)
    for stream in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", stream)
        with Progress("work", 2) as work:
            now[0] += 5.0
            work.add(1)
        assert stream is None or stream.getvalue() == ""


def test_time_that_passes_counts_for_the_time_that_is_left(monkeypatch):
    shown, now = terminal(monkeypatch)
    with Progress("work", 100) as work:
        now[0] = 20.0
        work.at(50)
        for now[0] in (25.0, 39.5):
            progress._line.paint()
    assert lines(shown) == ["", "work: 50 %, about 20 s left", "work: 50 %, about 15 s left", "work: 50 %", ""]


def test_what_is_being_done_counts_half(monkeypatch):
    shown, now = terminal(monkeypatch)
    with Progress("work", 100) as work:

        def part():
            now[0] = 10.0
            work.add(30)

        work.after(part, 40)()
        assert (work.done, work._begun) == (70, 0)
    assert lines(shown) == ["", "work: 30 %, about 10 s left", ""]


def test_a_thread_moves_the_line_while_a_part_takes_long(monkeypatch):
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    monkeypatch.setattr(progress, "_REPAINT", 1e-3)
    with Progress("reading", None):
        for _ in range(10_000):
            if shown.getvalue().count("reading:") >= 3:
                break
            time.sleep(1e-3)
    assert shown.getvalue().count("reading:") >= 3
    assert lines(shown)[-1] == ""


def test_a_terminal_that_is_gone_costs_no_answer(monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)

    class Gone(Terminal):
        def write(self, text):
            raise OSError("input/output error")

    class OnlyWrites:
        write = flush = print

    closed = io.StringIO()
    closed.close()
    for stream in (Gone(), closed, OnlyWrites()):
        monkeypatch.setattr(sys, "stderr", stream)
        with Progress("work", 2) as work:
            assert work.after(lambda: 7, 2)() == 7


def test_the_line_is_as_long_as_the_terminal_is_wide(monkeypatch):
    shown, now = terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "20")
    with Progress("work with a long name", 2) as work:
        now[0] = 5.0
        work.add(1)
    assert lines(shown) == ["", "work with a long na", ""]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_amid_work_has_a_line_of_its_own(monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    with Progress("of the parent", 2), progress._line._lock, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python, that threads and forks do not go together
        child = os.fork()
        if child == 0:
            status = 1
            try:
                sys.stderr = shown = Terminal()
                with Progress("of the child", 2) as work:
                    work.add(2)
                status = int(lines(shown)[-2:] != ["of the child: 100 %", ""])
            finally:
                os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def as_it_is_done(monkeypatch):
    """What `Progress` says whenever something is done, whatever else runs."""
    said = []

    def at(work, done):
        work.done = done
        said.append(work.text(work.began))

    monkeypatch.setattr(Progress, "at", at)
    return said


@pytest.mark.parametrize("by", [None, "g"])
def test_a_comparison_counts_up_to_all_of_its_work(by, monkeypatch):
    said = as_it_is_done(monkeypatch)
    random = np.random.default_rng(0)
    a, b = ({"x": random.normal(size=60), "y": random.normal(size=60), "g": np.repeat(list("uv"), 30)} for _ in "ab")
    asked = {"n_permutations": 79, "random_state": 0}
    dd.compare(a, b, **asked) if by is None else dd.compare_by(a, b, by, **asked)
    assert "comparing column by column: 100 %" in said
    assert max(int(re.search(r"(\d+) %", line)[1]) for line in said if "%" in line) == 100
    assert by is None or said[-1] == "comparing group by group: 100 %"


@pytest.mark.parametrize(("reference", "compared"), [("first", 3), (2, 2), ({"x": np.arange(60.0)}, 4)])
def test_batches_count_up_to_all_that_are_compared(reference, compared, monkeypatch):
    random = np.random.default_rng(0)
    days = {f"day {k}": {"x": random.normal(size=60)} for k in range(4)}
    said = as_it_is_done(monkeypatch)
    asked = {"reference": reference, "n_permutations": 79, "random_state": 0}
    result = dd.track(days, **asked)
    of_batches = [line for line in said if line.startswith("comparing batch by batch")]
    assert of_batches == [f"comparing batch by batch: {100 * k // compared} %" for k in range(1, compared + 1)]
    said.clear()
    dd.track(days | {"day 4": {"x": random.normal(size=60)}}, history=result, **asked)
    assert [line for line in said if "batch by batch" in line] == ["comparing batch by batch: 100 %"]


def test_of_work_within_work_the_outer_one_speaks(monkeypatch):
    shown, now = terminal(monkeypatch)
    with Progress("whole", 2) as whole:
        for now[0], _ in zip((2.0, 4.0), progress.tell("part", "ab", 2), strict=False):
            pass
        now[0] = 6.0
        whole.add(2)
    assert lines(shown) == ["", "whole: 0 %", "whole: 100 %", ""]


def test_a_step_says_that_its_time_is_not_all(monkeypatch):
    shown, now = terminal(monkeypatch)

    @progress.long_work("everything")
    def ask():
        now[0] = 3.0
        progress._line.paint()
        for now[0], _ in zip((5.0, 7.0, 9.0), progress.tell("a step", ["ab", "cd", "e"], 5, len), strict=False):
            pass
        now[0] = 9.2
        for _ in progress.tell("a short step", range(2), 2):
            now[0] += 0.9

    ask()
    expected = [
        "everything: 3 s so far",
        "a step: 40 %, about 3 s left in this step",
        "a step: 80 %, about 1 s left in this step",
        "everything: 10 s so far",
    ]
    assert lines(shown) == ["", *expected, ""]


def test_a_source_of_unknown_length_says_how_many_rows_were_read(monkeypatch):
    shown, now = terminal(monkeypatch)
    with Progress("everything", None), Progress("a.csv", None) as reading:
        now[0] = 2.0
        reading.at(1000)
    assert lines(shown) == ["", "a.csv: 1000 rows", ""]


def test_steps_left_half_way_end_with_the_work_they_are_part_of(monkeypatch):
    shown, now = terminal(monkeypatch)

    @progress.long_work("everything")
    def ask():
        steps = progress.tell("a step", range(3), 3)
        for now[0] in (2.0, 4.0):
            next(steps)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:  # keeps the generator alive
        ask()
    assert caught.value
    assert progress._line._running == []
    assert lines(shown) == ["", "a step: 33 %, about 4 s left in this step", ""]


def test_work_that_is_given_up_does_not_silence_what_comes_after_it(monkeypatch):
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    with pytest.raises(ZeroDivisionError):
        sum(1 // item for item in progress.tell("first", [1, 0], 2))
    assert list(progress.tell("second", [1], 1)) == [1]
    assert "second: 100 %" in lines(shown)


X = np.random.default_rng(0).normal(size=(120, 2))


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: dd.two_sample_test(X[:60], X[60:], n_permutations=19, random_state=0), {"relabelling rows"}),
        (lambda: dd.total_variation(X[:60], X[60:], random_state=0), {"judging rows"}),
        (
            lambda: dd.detect_changes(X, window=20, random_state=0),
            {"features of the series", "simulating series without change"},
        ),
        (
            lambda: dd.detect_changes(X, window=20, model=dd.KLIEP(), random_state=0),
            {"features of the series", "fitting every position"},
        ),
        (lambda: dd.profile(X, random_state=0), {"features of rows"}),
        (lambda: dd.ClassBalance().fit(X, X[:, 0] > 0).estimate(X), {"scoring labelled rows"}),
    ],
)
def test_long_questions_say_what_is_done(ask, said, monkeypatch):
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    ask()
    assert {line.split(":")[0] for line in lines(shown)} >= said
    assert any(line.endswith("100 %") for line in lines(shown))
    assert lines(shown)[-1] == ""


WATCHED = """
from densdiff import progress
progress._PATIENCE = -1.0
from densdiff.cli import app
app()
"""


@pytest.mark.parametrize("command", ["profile a.csv -o a.profile", "changes s.csv", "balance a.csv b.csv --label g"])
def test_commands_leave_nothing_on_the_terminal(command, tmp_path):
    pty = pytest.importorskip("pty")
    random = np.random.default_rng(0)
    for name in ("a.csv", "b.csv"):
        rows = [f"{x:.3f},{g}" for x, g in zip(random.normal(size=80), random.integers(0, 2, 80), strict=True)]
        (tmp_path / name).write_text("\n".join(["x,g", *rows]))
    (tmp_path / "s.csv").write_text("\n".join(["x", *map(str, random.normal(size=300))]))
    ours, its = pty.openpty()
    called = [sys.executable, "-c", WATCHED, *command.split()]
    with subprocess.Popen(called, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=its) as run:
        os.close(its)
        text = ""
        with suppress(OSError):  # where nobody can write any more
            while more := os.read(ours, 1 << 16):
                text += more.decode()
    os.close(ours)
    assert run.returncode == 0, text
    said = re.sub(r"(\A|\x1b\[K)[^\r]*\r\n", r"\1", text).split("\r\x1b[K")  # without lines that stay
    assert said[0] == said[-1] == ""
    assert len(said) > 2
    assert all(re.fullmatch(r"[^\x1b\n]+: \d+( %.*| s so far| rows)|", line) for line in said)
    assert not re.search(r" so far\r\n|%\r\n|[^\x1b]\[K", text)
