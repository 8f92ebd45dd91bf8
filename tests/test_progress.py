"""Long work says on a terminal how far it is, and nowhere else."""

import io
import re
import sys

import numpy as np
import pytest

import densdiff as dd
from densdiff import progress
from densdiff.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal(monkeypatch):
    """Standard error as a terminal, and a clock that the test moves."""
    shown, now = Terminal(), [0.0]
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


@pytest.mark.parametrize("by", [None, "g"])
def test_a_comparison_counts_up_to_all_of_its_work(by, monkeypatch):
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    random = np.random.default_rng(0)
    a, b = ({"x": random.normal(size=60), "y": random.normal(size=60), "g": np.repeat(list("uv"), 30)} for _ in "ab")
    asked = {"n_permutations": 79, "random_state": 0}
    dd.compare(a, b, **asked) if by is None else dd.compare_by(a, b, by, **asked)
    said = lines(shown)
    parts = [re.fullmatch(r"(comparing .*): (\d+) %(, about .* left)?", line) for line in said if line]
    assert all(parts)
    whole = {"comparing column by column", *(["comparing group by group"] * (by is not None))}
    assert {part[1] for part in parts if part[2] == "100"} >= whole
    assert said[-1] == ""


@pytest.mark.parametrize(("reference", "compared"), [("first", 3), (2, 2), ({"x": np.arange(60.0)}, 4)])
def test_batches_count_up_to_all_that_are_compared(reference, compared, monkeypatch):
    random = np.random.default_rng(0)
    days = {f"day {k}": {"x": random.normal(size=60)} for k in range(4)}
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    asked = {"reference": reference, "n_permutations": 79, "random_state": 0}
    result = dd.track(days, **asked)
    said = [line.split(": ")[1] for line in lines(shown) if line.startswith("comparing batch by batch")]
    assert [line.split(" %")[0] for line in said] == [str(100 * k // compared) for k in range(1, compared + 1)]
    shown.truncate(0)
    dd.track(days | {"day 4": {"x": random.normal(size=60)}}, history=result, **asked)
    assert [line for line in lines(shown) if "batch by batch" in line] == ["comparing batch by batch: 100 %"]


def test_a_part_of_work_that_speaks_says_nothing(monkeypatch):
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    with Progress("whole", 2) as whole:
        assert list(progress.tell("part", "ab", 2)) == ["a", "b"]
        whole.add(2)
    assert lines(shown) == ["", "whole: 100 %", ""]
    assert list(progress.tell("part", ["ab", "c"], 3, len)) == ["ab", "c"]
    assert lines(shown)[3:] == ["part: 66 %", "part: 100 %", ""]


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
