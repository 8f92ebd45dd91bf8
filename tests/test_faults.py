"""Faults of row 41: a full disk, a read-only folder, Ctrl-C at every stage, files cut while they are read, a kill."""

import gzip
import io
import os
import resource
import signal
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import densdiff as dd
from densdiff import cli
from densdiff.balance import class_balance
from densdiff.cli import rows as cli_rows
from densdiff.cli import stream
from densdiff.comparing import joint as comparing
from densdiff.io import files, memory, text
from densdiff.series.scan import SeriesScan
from paper import jobs, reproduction
from tests.command_line import PAPER, as_csv, process, run, run_paper, shifted
from tests.paper.test_reproduction import toy

QUICK = ("--seed", "1")
NOBODY = 65534


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with inputs, in which the command runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduction, "PARTS", {"7": toy(["a", "b", "c"])})
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # jobs in this process
    fill(tmp_path)
    return tmp_path


def fill(place):
    labels = np.repeat(["u", "v"], 20)
    reference = shifted(0.0, 400, 2)
    for name, columns in {
        "A": shifted(0.0),
        "B": shifted(1.0, seed=1),
        "T": shifted(0.0) | {"class": labels},
        "S": {"x": np.repeat([0.0, 4.0], 40) + shifted(0.0, 80)["a"]},
        "R": reference,
    }.items():
        (place / f"{name}.csv").write_text(as_csv(columns))
    (place / "rows.csv").write_text(ROWS)


ROWS = as_csv({name: np.concatenate([shifted(0.0, 30, 3)[name], shifted(5.0, 30, 4)[name]]) for name in "ab"})
MONITOR = ("monitor", "R.csv", "--window", "10", "--run-length", "100", *QUICK, "--state", "out")
WRITING = {
    "compare": ("compare", "A.csv", "B.csv", *QUICK, "--permutations", "39", "--report", "out"),
    "changes": ("changes", "S.csv", *QUICK, "--report", "out"),
    "balance": ("balance", "T.csv", "B.csv", "--label", "class", *QUICK, "--report", "out"),
    "monitor": MONITOR,
    "paper": ("--out", "paper", "--figure", "7"),
}
each_writing = pytest.mark.parametrize("command", WRITING)


def asked(command):
    if command == "paper":
        return run_paper(*WRITING["paper"])
    return run(*WRITING[command], given=ROWS if command == "monitor" else None)


def speaker(command):
    """Who tells of a failure."""
    return "paper" if command == "paper" else "densdiff"


def contents(place):
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


@contextmanager
def small_files(limit):
    """No file may grow beyond so many bytes: what a full disk does, for everyone and without a disk."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


@each_writing
def test_hostile_41_a_full_disk_is_one_line_and_the_old_file_stays(command, folder):
    if command != "monitor":  # whose state would be taken up
        (folder / "out").write_text("old")
    before = contents(folder)
    with small_files(64):
        code, _, err = asked(command)
    assert code == 2
    *_, last = err.splitlines()
    assert last.startswith(f"{speaker(command)}: cannot write ")
    assert last.endswith("file too large")
    assert contents(folder) == before


def test_hostile_41_a_disk_that_fills_up_leaves_the_last_state(folder):
    code, _, _ = run(*MONITOR, given=ROWS)
    before = contents(folder)
    with small_files(64):
        code, _, err = run(*MONITOR, given=ROWS)
    assert code == 2
    assert err.endswith("densdiff: cannot write 'out': file too large\n")
    assert contents(folder) == before
    assert dd.ChangeMonitor.load("out").n_seen_ == 60


@pytest.fixture
def read_only(monkeypatch):
    """A folder that is read-only even if root runs the tests: then they run as nobody for a while."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        fill(place)
        monkeypatch.chdir(place)
        monkeypatch.setattr(reproduction, "PARTS", {"7": toy(["a"])})
        asked("compare")  # imports what it needs, which nobody may be forbidden to read
        (place / "out").unlink()
        for path in (*place.iterdir(), place):
            path.chmod(0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(NOBODY)
        yield place
        os.seteuid(user)
        place.chmod(0o755)


@each_writing
def test_hostile_41_a_read_only_folder_is_refused_before_the_work(command, read_only, monkeypatch):
    before = contents(read_only)
    monkeypatch.setattr(dd, "compare", None)  # a call would be another error
    monkeypatch.setattr(dd, "detect_changes", None)
    code, out, err = asked(command)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].lower().startswith(f"{speaker(command)}: ")
    assert "permission denied" in err.lower()
    assert contents(read_only) == before


STAGES = {
    "reading": (files, "open_file", ("compare", "changes", "balance", "monitor")),
    "estimating": (comparing, "pair_test", ("compare",)),
    "scanning": (SeriesScan, "of", ("changes",)),
    "matching": (class_balance, "_intervals", ("balance",)),
    "learning": (dd.ChangeMonitor, "_learn", ("monitor",)),
    "working": (jobs, "_quietly", ("paper",)),
    "renaming": (os, "replace", ("compare", "changes", "balance", "monitor", "paper")),
    "printing": (cli, "_print_result", ("compare", "changes", "balance")),
}


def interrupted(monkeypatch, owner, name, times=1):
    """Press Ctrl-C when a function is entered, a number of times."""
    usual, left = getattr(owner, name), [times]

    def pressed(*arguments, **options):
        if left[0]:
            left[0] -= 1
            signal.raise_signal(signal.SIGINT)
        return usual(*arguments, **options)

    monkeypatch.setattr(owner, name, pressed)
    return left


@pytest.mark.parametrize(
    ("stage", "command"), [(stage, command) for stage, (_, _, commands) in STAGES.items() for command in commands]
)
def test_hostile_41_ctrl_c_at_any_stage_is_130_and_leaves_whole_files(stage, command, folder, monkeypatch):
    before = contents(folder)
    left = interrupted(monkeypatch, *STAGES[stage][:2])
    code, out, err = asked(command)
    assert left == [0]
    assert code == 130
    assert out == ""
    assert "Traceback" not in err
    after = contents(folder)
    assert {name: after[name] for name in before} == before
    new = set(after) - set(before)
    assert not [name for name in new if Path(name).name.startswith(".")]
    if (command, stage) == ("monitor", "renaming"):  # a state that is being saved is saved
        assert dd.ChangeMonitor.load("out").n_seen_ == 0
    else:
        assert new == set()


def test_hostile_41_ctrl_c_of_a_process_group_is_130_and_silent(folder):
    """As a terminal sends it, to the command and to the processes it works with."""
    running = process("--out", "paper", "--figure", "3", "--runs", "4", command=PAPER, start_new_session=True)
    guard = threading.Timer(300, running.kill)
    guard.start()
    assert "on " in running.stderr.readline()  # the time it takes, told before the work
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait() == 130
    assert (running.stdout.read(), running.stderr.read()) == ("", "")
    guard.cancel()
    for pipe in (running.stdin, running.stdout, running.stderr):
        pipe.close()
    assert not [path for path in (folder / "paper").rglob("*") if path.name.startswith(".")]


# --- files that are cut while they are read --------------------------------------------------------------------------


def cut_after(monkeypatch, owner, name, path):
    """Let a file lose its second half as soon as a function has been called."""
    usual = getattr(owner, name)

    def cutting(*arguments, **options):
        found = usual(*arguments, **options)
        os.truncate(path, os.path.getsize(path) // 2)
        return found

    monkeypatch.setattr(owner, name, cutting)


@pytest.mark.parametrize(
    ("ending", "owner", "name", "message"),
    [
        ("csv", memory, "refuse_large", "B.csv shrank from 1200002 to 600001 bytes while it was read; copy it again"),
        ("npy", memory, "refuse_large", "B.npy cannot be read: "),
        ("parquet", pq, "read_metadata", "B.parquet is damaged: "),
    ],
)
def test_hostile_31_a_file_cut_while_it_is_read_is_one_line(ending, owner, name, message, tmp_path, monkeypatch):
    path = tmp_path / f"B.{ending}"
    rows = {"x": [0.25] * 240_000}  # more than is kept of a file when it is opened
    if ending == "csv":
        path.write_text(as_csv(rows))
    elif ending == "npy":
        np.save(path, np.zeros((500, 3)))
    else:
        pq.write_table(pa.table({"x": np.random.default_rng(0).normal(size=500)}), path)
    files.table(path)
    cut_after(monkeypatch, owner, name, path)
    with pytest.raises(dd.InputError, match=message) as caught:
        files.table(path)
    assert str(caught.value).isprintable()


def test_hostile_31_compressed_text_that_ends_early_is_one_line(tmp_path):
    packed = gzip.compress(as_csv(shifted(0.0)).encode())
    for end in (len(packed) // 2, len(packed) - 4):
        (tmp_path / "B.csv.gz").write_bytes(packed[:end])
        with pytest.raises(dd.InputError, match=r"^B\.csv\.gz cannot be read: Compressed file ended before"):
            files.table(tmp_path / "B.csv.gz")


def test_hostile_31_a_device_that_fails_halfway_is_one_line(folder, monkeypatch):
    class Failing(io.BytesIO):
        def read(self, *_):
            if self.tell():
                raise OSError(5, "ignored")
            return super().read(100)

    monkeypatch.setattr(text, "_open", lambda place: Failing(b"a" * 200))
    code, out, err = run("compare", "A.csv", "B.csv")
    assert (code, out) == (2, "")
    assert err == "densdiff: A.csv cannot be read: input/output error\n"


# --- a monitor that is killed ----------------------------------------------------------------------------------------


def test_hostile_38_a_monitor_killed_between_any_two_lines_goes_on_with_the_same_alarms(folder, monkeypatch):
    """What is on the disk before each row is what a kill would leave; the rows that it had not seen are given again."""
    monkeypatch.setattr(stream, "_EVERY", 7)
    monkeypatch.setattr(stream, "utc_now", lambda: "2026-01-31T12:00:00Z")
    states, usual = [], cli_rows.read_rows

    def watched(*arguments):
        for each in usual(*arguments):
            states.append((folder / "out").read_bytes())
            yield each

    monkeypatch.setattr(cli_rows, "read_rows", watched)
    _, whole, _ = run(*MONITOR, given=ROWS)
    monkeypatch.setattr(cli_rows, "read_rows", usual)
    assert whole.count("\n") >= 1
    assert len(states) == 60
    header, *lines = ROWS.splitlines(keepends=True)
    for state in dict.fromkeys(states):
        (folder / "out").write_bytes(state)
        seen = dd.ChangeMonitor.load("out").n_seen_
        before = [line for line in whole.splitlines() if int(line.split(",")[0].split(":")[1]) < seen]
        code, out, _ = run(*MONITOR, given=header + "".join(lines[seen:]))
        assert code == 0
        assert before + out.splitlines() == whole.splitlines()


def test_hostile_38_a_killed_process_leaves_a_state_that_goes_on(folder):
    """Without a seed: the state has it from the first moment."""
    options = [option for option in MONITOR if option not in QUICK]
    running = process(*options)
    header, *lines = ROWS.splitlines(keepends=True)
    running.stdin.write(header + "".join(lines[:50]))
    running.stdin.flush()
    running.stdout.readline()  # an alarm: the rows before it are in the state as soon as the next one is there
    running.kill()
    running.wait()
    for pipe in (running.stdin, running.stdout, running.stderr):
        pipe.close()
    kept = dd.ChangeMonitor.load("out")
    again = dd.ChangeMonitor.load("out")
    code, _, err = run(*options, given=header + "".join(lines[kept.n_seen_ :]))
    assert code == 0
    assert f"resumed at row {kept.n_seen_} from 'out'" in err
    rows = np.loadtxt(io.StringIO("".join(lines)), delimiter=",")
    again.update_many(rows[again.n_seen_ :])
    assert dd.ChangeMonitor.load("out").alarm_ == again.alarm_
    assert dd.ChangeMonitor.load("out").seed_ == kept.seed_
