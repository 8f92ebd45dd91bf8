"""The monitor as a service: signals, kills, full disks, bad rows, heartbeats and times, with nothing lost or hidden."""

import errno
import json
import os
import shlex
import signal
import subprocess
import threading
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import densdiff as dd
from densdiff.cli import stream
from densdiff.cli.rows import BadRow, Row
from densdiff.cli.stream import RecentLines, Watch, WatchOptions
from densdiff.errors import InputError
from densdiff.series import monitor as series_monitor
from densdiff.series.monitor import load_with_progress
from tests.cli.test_json_schemas import check
from tests.command_line import as_csv, process, refusal, run

MOMENT = "2026-01-31T12:00:00Z"
OPTIONS = ("monitor", "R.csv", "--window", "10", "--run-length", "100", "--seed", "1")
STAMPS = [f"{1 + k % 28:02d}.01.2026 {k // 28:02d}:00" for k in range(60)]  # day first


def reference_and_rows():
    random = np.random.default_rng(3)
    rows = {"a": random.normal(size=60), "b": random.normal(size=60)}
    rows["a"][20] += 4.0  # over soon enough for the alarm to end before the next
    rows["a"][50:] += 4.0
    return {"a": random.normal(size=400), "b": random.normal(size=400)}, rows


REFERENCE, ROWS = reference_and_rows()
HEADER, *LINES = as_csv(ROWS).splitlines(keepends=True)


@pytest.fixture
def folder(put, monkeypatch, tmp_path):
    monkeypatch.setattr(stream, "utc_now", lambda: MOMENT)
    put("R.csv", REFERENCE)
    return tmp_path


def printed(out, kind="change"):
    """Lines of one kind, each checked against the published form."""
    lines = [json.loads(line) for line in out.splitlines()]
    for line in lines:
        check("monitor", line)
    return [line for line in lines if line["kind"] == kind]


def undisturbed():
    """Indices and scores of all alarms of all rows."""
    alarms = printed(run(*OPTIONS, given=HEADER + "".join(LINES))[1])
    assert len(alarms) > 1
    return scores(alarms)


def scores(alarms):
    return [(alarm["index"], alarm["score"]) for alarm in alarms]


class Service:
    """The command as a process of its own, whose lines can be waited for."""

    def __init__(self, *options, stdin=subprocess.PIPE):
        usual = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a test run under nohup ignores it, and so would this
        try:
            self.process = process(*OPTIONS, "--state", "state", "--heartbeat", "100ms", *options, stdin=stdin)
        finally:
            signal.signal(signal.SIGHUP, usual)
        self.out = ""
        self.guard = threading.Timer(120, self.process.kill)  # or a line that never comes would be waited for
        self.guard.start()

    def send(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def wait_for(self, is_wanted):
        while line := self.process.stdout.readline():
            self.out += line
            if (content := json.loads(line))["kind"] == "heartbeat" and is_wanted(content):
                return
        raise AssertionError(self.process.stderr.read())

    def end(self, number):
        """Send a signal, or let the service end by itself; exit status and standard error."""
        if number is not None:
            self.process.send_signal(number)
        self.out += self.process.stdout.read()  # to its end
        err = self.process.stderr.read()
        code = self.process.wait(60)
        self.guard.cancel()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        return code, err


@pytest.mark.parametrize(("number", "kill_at"), [(signal.SIGTERM, 24), (signal.SIGHUP, 41)])
@pytest.mark.hostile(54)
def test_sigterm_and_sighup_save_every_row_and_end_with_0(number, kill_at, folder):
    running = Service("--fail-on-difference")
    running.send(HEADER + "".join(LINES[:kill_at]))
    running.wait_for(lambda life: life["rows"] == kill_at)  # while standard input stays open
    code, err = running.end(number)
    assert code == 0, err
    assert err.splitlines()[-1].startswith(f"densdiff: stopped by {number.name}: {kill_at} rows, ")
    assert err.endswith(f"; {kill_at} rows in all; seed 1\n")
    assert "Traceback" not in err
    code, out, err = run(*OPTIONS, "--state", "state", given=HEADER + "".join(LINES[kill_at:]))
    assert code == 0
    assert f"resumed at row {kill_at} from 'state', saved 20" in err
    assert "did not end in order" not in err
    assert scores(printed(running.out) + printed(out)) == undisturbed()


@pytest.mark.hostile(54)
def test_after_a_kill_the_rows_since_the_last_timed_save_are_sent_again(folder):
    running = Service("--save-every", "100ms")
    running.send(HEADER + "".join(LINES[:30]))
    running.wait_for(lambda life: life["saved_rows"] == 30)  # saved by the clock, while no rows come
    running.send("".join(LINES[30:33]))
    running.wait_for(lambda life: life["rows"] == 33)
    code, _ = running.end(signal.SIGKILL)
    assert code == -signal.SIGKILL
    seen = dd.ChangeMonitor.load("state").n_seen_
    assert seen in (30, 33)
    code, out, err = run(*OPTIONS, "--state", "state", given=HEADER + "".join(LINES[seen:]))
    assert code == 0
    sentence = "which includes its reference; the run that saved it did not end in order, so send again what came after"
    assert f"note: resumed at row {seen} from 'state', saved 20" in err
    assert f"{sentence} these rows\n" in err
    assert scores(printed(running.out) + printed(out)) == undisturbed()


@pytest.mark.hostile(54)
def test_two_services_one_after_the_other_share_a_pipe_without_losing_a_row(folder, monitor_file):
    """The first is ended while rows stream in; the second finds in the pipe what the first has not read."""
    (folder / "state").write_bytes(monitor_file)
    count = 7_000  # more than a pipe and one read hold
    values = np.random.default_rng(5).normal(size=(count, 2)).round(3)
    steps = dd.ChangeMonitor.load("state").update_many(values)
    wanted = [step.index for before, step in pairwise(steps) if step.alarm and not before.alarm]
    text = "".join(json.dumps(dict(zip("ab", row, strict=True))) + "\n" for row in values.tolist())
    cut = text.index("\n", len(text) * 3 // 4) + 1
    reading, writing = os.pipe()
    is_ended = threading.Event()

    def write():
        with open(writing, "w") as pipe:
            pipe.write(text[:cut])
            pipe.flush()
            is_ended.wait(120)
            pipe.write(text[cut:])

    writer = threading.Thread(target=write)
    writer.start()
    first = Service(stdin=reading)
    first.wait_for(lambda life: life["rows"] > 0)
    code, err = first.end(signal.SIGTERM)
    is_ended.set()
    assert code == 0, err
    assert 0 < dd.ChangeMonitor.load("state").n_seen_ < count
    second = Service(stdin=reading)
    os.close(reading)
    code, err = second.end(None)
    writer.join()
    assert code == 0, err
    assert err.endswith(f"; {count:,} rows in all; seed 1\n")
    lines = map(json.loads, (first.out + second.out).splitlines())
    assert [line["index"] for line in lines if line["kind"] == "change"] == wanted


@pytest.mark.hostile(54)
def test_sigterm_while_the_reference_is_learned_ends_with_0_and_no_state(folder, monkeypatch):
    monkeypatch.setattr(dd.ChangeMonitor, "_learn", lambda *_: signal.raise_signal(signal.SIGTERM))
    code, out, err = run(*OPTIONS, "--state", "state", given=HEADER)
    assert (code, out, err) == (0, "", "densdiff: stopped by SIGTERM before the first row was read\n")
    assert not (folder / "state").exists()


# --- killed at any moment, in this process -------------------------------------------------------------------------


class Killed(BaseException):
    pass


class Life:
    """Runs of a watch over rows, each killed between two of them: what it left on the disk is all that is kept."""

    def __init__(self, state, monitor_file, rows, monkeypatch):
        self.state, self.rows, self.now, self.alarms = state, rows, 0.0, []
        monkeypatch.setattr(stream, "emit", self.hear)
        monkeypatch.setattr(stream, "remark", lambda text: None)
        state.write_bytes(monitor_file)

    def hear(self, text):
        alarm = json.loads(text)
        self.alarms.append({name: value for name, value in alarm.items() if name not in ("line", "seen_at")})
        return True

    def run(self, seconds_a_row, count=None):
        monitor, progress = load_with_progress(self.state)
        first = monitor.n_seen_ + (progress.bad_rows if progress else 0)
        options = WatchOptions(save_every=5.0, skips_bad_rows=True)
        watch = Watch(monitor, self.state, options, progress=progress, clock=lambda: self.now)

        def given_rows():
            for row in islice(self.rows, first, None if count is None else first + count):
                self.now += seconds_a_row
                watch.tick()
                yield row
            if count is not None:
                self.left = self.state.read_bytes()
                raise Killed

        try:
            watch.run(given_rows())
        except Killed:
            self.state.write_bytes(self.left)


@pytest.fixture(scope="module")
def monitor_file(tmp_path_factory):
    place = tmp_path_factory.mktemp("monitor") / "file"
    dd.ChangeMonitor(REFERENCE, window=10, run_length=100, random_state=1).save(place)
    return place.read_bytes()


@settings(max_examples=12)
@given(
    kills=st.lists(st.tuples(st.sampled_from([0.1, 1.0, 3.0, 9.0]), st.integers(0, 120)), max_size=6),
    bad_from=st.integers(0, 100),
)
def test_killed_at_any_moments_it_gives_the_alarms_of_an_undisturbed_run(
    kills, bad_from, monitor_file, tmp_path_factory
):
    rows = [Row(k, [ROWS["a"][k % 60], ROWS["b"][k % 60]]) for k in range(120)]
    rows[bad_from:bad_from] = [BadRow(0, InputError("bad"))] * 70
    state = tmp_path_factory.mktemp("life") / "state"
    with pytest.MonkeyPatch.context() as patch:
        whole = Life(state, monitor_file, rows, patch)
        whole.run(1.0)
        assert [alarm["kind"] for alarm in whole.alarms].count("bad_rows") == 1
        assert len(whole.alarms) > 2
        life = Life(state, monitor_file, rows, patch)
        for seconds, count in kills:
            life.run(seconds, count)
        life.run(1.0)
    assert life.alarms == whole.alarms


# --- timers --------------------------------------------------------------------------------------------------------


@pytest.fixture
def clocked(monitor_file, tmp_path, monkeypatch):
    """A function that makes a watch with a clock that is set by hand, and lists of what it printed and saved."""
    (tmp_path / "file").write_bytes(monitor_file)
    out, saved, clock = [], [], [0.0]
    monkeypatch.setattr(stream, "utc_now", lambda: MOMENT)
    monkeypatch.setattr(stream, "emit", lambda text: out.append(json.loads(text)) or True)
    monkeypatch.setattr(series_monitor, "save_with_progress", lambda monitor, *_: saved.append(monitor.n_seen_))

    def make(**options):
        watch = Watch(
            dd.ChangeMonitor.load(tmp_path / "file"), tmp_path / "s", WatchOptions(**options), clock=lambda: clock[0]
        )
        return watch, clock, out, saved

    return make


def test_heartbeats_come_by_the_clock_whether_rows_come_or_not(clocked):
    watch, clock, out, _ = clocked(heartbeat=60.0)

    def rows():
        for now, left in ((10.0, 50.0), (59.0, 1.0), (60.0, 60.0), (61.0, 59.0), (500.0, 60.0), (501.0, 59.0)):
            clock[0] = now
            assert watch.tick() == left
        for k in range(12):
            yield Row(k, [ROWS["a"][k], ROWS["b"][k]], STAMPS[k])
        clock[0] = 600.0
        watch.tick()

    watch.run(rows())
    for line in out:
        check("monitor", line)
    beats = [line for line in out if line["kind"] == "heartbeat"]
    early = [(beat["rows"], beat["score"], beat["time"], beat["alarms"]) for beat in beats[:2]]
    assert early == [(0, None, None, 0)] * 2
    assert len(beats) == 3
    assert (beats[2]["rows"], beats[2]["time"], beats[2]["seen_at"]) == (12, STAMPS[11], MOMENT)
    assert beats[2]["alarms"] == watch.counts.alarms == len(out) - 3
    monitor = dd.ChangeMonitor(REFERENCE, window=10, run_length=100, random_state=1)
    *_, step = monitor.update_many({name: values[:12] for name, values in ROWS.items()})
    assert (beats[2]["score"], beats[2]["threshold"]) == (step.score, step.threshold)


def test_a_timed_save_is_made_if_something_is_new_and_rows_are_not_counted_then(clocked, monkeypatch):
    monkeypatch.setattr(stream, "_EVERY", 2)
    watch, clock, _, saved = clocked(save_every=10.0)

    def rows():
        for k in range(12):
            clock[0] = 2.0 * k
            watch.tick()
            yield Row(k, [ROWS["a"][k], ROWS["b"][k]])
        for now in (29.0, 35.0, 45.0, 55.0):
            clock[0] = now
            watch.tick()

    watch.run(rows())
    assert saved == [0, 5, 10, 12, 12]  # at the start, at 10, 20 and 35 seconds, at the end


def test_a_heartbeat_that_nobody_reads_ends_the_watch(clocked, monkeypatch):
    watch, clock, _, saved = clocked(heartbeat=1.0)
    monkeypatch.setattr(stream, "emit", lambda text: False)

    def rows():
        yield Row(0, [0.0, 0.0])
        clock[0] = 1.0
        watch.tick()
        raise AssertionError("it went on")

    watch.run(rows())
    assert saved == [0, 1]


@pytest.mark.parametrize("text", ["10", "ten", "0s", "0.01s", "1e999s", "5 weeks", "-1s"])
def test_durations_that_cannot_be_meant_are_refused(text, folder):
    need = "must be a duration such as 10s, at least 0.1s, units us, ms, s, min, h, d"
    assert refusal(*OPTIONS, "--heartbeat", text) == f"--heartbeat {need}; got {text!r}"
    assert refusal(*OPTIONS, "--state", "s", "--save-every", text) == f"--save-every {need}; got {text!r}"


def test_options_of_the_service_that_make_no_sense_are_refused(folder):
    assert refusal(*OPTIONS, "--save-every", "1s") == "--save-every needs a file to save to; give --state FILE"
    assert refusal(*OPTIONS, "--bad-rows", "mend") == "--bad-rows must be stop or skip; got 'mend'"


# --- a disk that is full -------------------------------------------------------------------------------------------


@pytest.fixture
def full_disk(monkeypatch):
    """A list of rows seen between which no file can be renamed; what was there when one could not."""
    usual, limits, kept = series_monitor.save_with_progress, [0, 0], []

    def save(monitor, path, progress):
        def refuse(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with pytest.MonkeyPatch.context() as patch:
            if limits[0] <= monitor.n_seen_ < limits[1]:
                kept.append(path.read_bytes() if path.exists() else None)
                patch.setattr(os, "replace", refuse)
            usual(monitor, path, progress)

    monkeypatch.setattr(series_monitor, "save_with_progress", save)
    monkeypatch.setattr(stream, "_EVERY", 7)
    return limits, kept


@pytest.mark.hostile(54)
def test_a_full_disk_is_told_once_and_the_stream_goes_on_with_the_old_state(folder, full_disk):
    limits, kept = full_disk
    limits[:] = 10, 41  # between the save after the alarm of row 39 and that of 42 rows
    code, out, err = run(*OPTIONS, "--state", "state", given=HEADER + "".join(LINES))
    assert code == 0
    full = "cannot write 'state': no space left on device; it stays that of row 7 until there is room"
    assert err.count("no space") == err.count(f"densdiff: note: {full}\n") == 1
    assert err.count("densdiff: note: the state is saved again, at row 42\n") == 1
    assert len(set(kept)) == 1
    assert scores(printed(out)) == undisturbed()
    assert dd.ChangeMonitor.load("state").n_seen_ == 60
    (folder / "state").write_bytes(kept[0])
    assert dd.ChangeMonitor.load("state").n_seen_ == 7


@pytest.mark.hostile(54)
def test_a_disk_that_is_full_at_the_start_or_the_end_is_a_failure(folder, full_disk):
    limits, _ = full_disk
    reason = "densdiff: cannot write 'state': no space left on device\n"
    limits[:] = 0, 1
    code, out, err = run(*OPTIONS, "--state", "state", given=HEADER + "".join(LINES))
    assert (code, out) == (2, "")
    assert err.endswith(reason)
    limits[:] = 60, 61
    code, _, err = run(*OPTIONS, "--state", "state", given=HEADER + "".join(LINES))
    assert code == 2
    assert err.endswith(reason)
    assert dd.ChangeMonitor.load("state").n_seen_ == 56
    limits[:] = 56, 60
    code, _, err = run(*OPTIONS, "--state", "other", given=HEADER + "".join(LINES[:58]) + "1\n")
    assert code == 2
    assert err.endswith("line 60 of standard input has 1 field, but 2 are expected\n")  # both are told
    assert "note: cannot write 'other': no space left on device" in err


# --- bad rows ------------------------------------------------------------------------------------------------------


def with_bad(count, place=30):
    kinds = ["junk\n", "1,x\n", "1,2,3\n", "1,nan\n", '1,"2\n', "é,1\n", ",\n"]
    return [*LINES[:place], *(kinds[k % len(kinds)] for k in range(count)), *LINES[place:]]


@pytest.mark.hostile(55)
def test_bad_rows_are_skipped_counted_and_named_a_few_times(folder):
    code, out, err = run(*OPTIONS, "--state", "state", "--bad-rows", "skip", given=HEADER + "".join(with_bad(25)))
    assert code == 0
    assert scores(printed(out)) == undisturbed()
    assert not printed(out, "bad_rows")
    *notes, last = err.splitlines()
    assert notes[0] == "densdiff: note: skipped: line 32 of standard input has 1 field, but 2 are expected"
    assert len(notes) == 6
    assert notes[5] == "densdiff: note: 10 bad rows are skipped by now, the last of them line 41 of standard input"
    assert "25 bad rows skipped; 60 rows in all" in last
    again = run(*OPTIONS, "--state", "state", "--bad-rows", "skip", "--heartbeat", "1d", given=HEADER)
    assert "resumed at row 60, after 25 bad rows, from 'state'" in again[2]
    assert load_with_progress(Path("state"))[1].bad_rows == 25


@pytest.mark.hostile(55)
def test_an_alarm_of_its_own_comes_when_most_lines_are_bad(folder):
    code, out, err = run(*OPTIONS, "--bad-rows", "skip", "--fail-on-difference", given=HEADER + "junk\n" * 300)
    assert code == 1
    (alarm,) = printed(out, "bad_rows")
    wanted = {"rows": 0, "line": 52, "bad": 51, "lines": 51, "kind": "bad_rows", "time": None, "seen_at": MOMENT}
    assert alarm == wanted
    assert len(err.splitlines()) == 8
    assert "300 bad rows skipped" in err


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 80)), max_size=12), st.integers(0, 400))
def test_recent_lines_are_counted_as_by_hand_also_after_a_restart(runs, restart):
    recent, marks, is_alarm = RecentLines(), [], False
    for is_bad in [is_bad for is_bad, count in runs for _ in range(count)]:
        rises = recent.add(is_bad)
        marks = [*marks, is_bad][-100:]
        was_alarm, is_alarm = is_alarm, sum(marks) > (25 if is_alarm else 50)
        assert (rises, recent.is_alarm, recent.bad) == (is_alarm and not was_alarm, is_alarm, sum(marks))
        if restart == len(marks):
            recent = RecentLines(str(recent), recent.is_alarm)


@pytest.mark.hostile(55)
def test_an_open_quote_takes_only_its_own_line_along(folder):
    lines = [*LINES[:30], '0.5,"0.5\n', *LINES[30:]]
    code, out, err = run(*OPTIONS, "--bad-rows", "skip", given=HEADER + "".join(lines))
    assert code == 0
    assert "1 bad row skipped; 60 rows in all" in err
    assert "skipped: line 32 of standard input cannot be read: unexpected end of data" in err
    assert scores(printed(out)) == undisturbed()


@pytest.mark.hostile(55)
def test_a_header_that_lacks_columns_is_never_skipped(folder):
    code, out, err = run(*OPTIONS, "--bad-rows", "skip", given="a,c\n1,2\n")
    assert (code, out) == (2, "")
    assert "line 1 of standard input lacks column 'b'" in err


# --- the time ------------------------------------------------------------------------------------------------------


@pytest.mark.hostile(58)
@pytest.mark.parametrize("form", ["csv", "jsonl", "bare"])
def test_the_time_is_shown_as_it_came_and_never_data(form, folder, put):
    stamps = {"when": STAMPS}
    put("R.csv", {"when": [STAMPS[0]] * 400} | REFERENCE)
    given_rows = as_csv(ROWS | stamps)
    options = ["--time", "when"]
    if form == "jsonl":
        entries = zip(ROWS["a"].tolist(), ROWS["b"].tolist(), STAMPS, strict=True)
        given_rows = "\n".join(json.dumps({"a": a, "b": b, "when": when}) for a, b, when in entries)
    if form == "bare":
        put("R.csv", as_csv({"when": [STAMPS[0]] * 400} | REFERENCE).split("\n", 1)[1])
        given_rows, options = as_csv(stamps | ROWS).split("\n", 1)[1], ["--time", "x0", "--no-header"]
    code, out, err = run(*OPTIONS, *options, "--state", "state", given=given_rows)
    assert code == 0
    assert "left out" not in err
    alarms = printed(out)
    assert [alarm["time"] for alarm in alarms] == [STAMPS[alarm["index"]] for alarm in alarms]
    put("R.csv", REFERENCE)
    assert scores(alarms) == undisturbed()
    assert run(*OPTIONS, *options, "--state", "state", given="")[0] == 0


@pytest.mark.hostile(58)
@pytest.mark.parametrize("stamp", [STAMPS[20], "2026-01-31T12:00:00"])
def test_a_time_that_is_not_said_to_be_one_is_named_with_the_option(stamp, folder, put):
    put("R.csv", {"when": [stamp] * 400} | REFERENCE)
    for command in (OPTIONS, ("balance", "R.csv", "R.csv", "--label", "a")):
        said = refusal(*command, given=HEADER)
        assert said.startswith("column 'when' of R.csv holds dates or times")
        assert said.endswith("; give --time when if it is the time, or name the other columns with --columns")


@pytest.mark.hostile(58)
def test_rows_without_the_time_that_is_named_are_refused(folder, put):
    assert run(*OPTIONS, "--time", "when", given=HEADER + LINES[0])[2].splitlines()[-1] == (
        "densdiff: line 1 of standard input lacks column 'when'; it has 'a', 'b'; give --no-header if it holds data, "
        "--sep if another character separates the fields"
    )
    code, _, err = run(*OPTIONS, "--time", "when", given='{"a": 1, "b": 2, "when": NaN}\n{"a": 1, "b": 2}\n')
    assert code == 2
    assert err.endswith("line 2 of standard input lacks 'when', the time\n")
    put("R.csv", as_csv(REFERENCE).split("\n", 1)[1])
    assert run(*OPTIONS, "--time", "when", "--no-header", given="1,2,3\n")[2].endswith(
        "--time must be one of 'x0', 'x1', 'x2' with --no-header; got 'when'\n"
    )
    put("R.csv", REFERENCE)
    assert run(*OPTIONS, "--state", "state", given="")[0] == 0
    assert refusal(*OPTIONS, "--state", "state", "--time", "a", given="") == (
        "--time names column 'a', which is data in 'state'; leave it out, or give another --state to start afresh"
    )


@pytest.mark.hostile(58)
def test_the_time_of_balance_is_no_data(put):
    random = np.random.default_rng(0)
    train = {"x": np.concatenate([random.normal(size=60), random.normal(size=60) + 3]), "y": np.repeat(["u", "v"], 60)}
    new = {"x": random.normal(size=50)}
    plain = run("balance", put("t.csv", train), put("n.csv", new), "--label", "y", "--seed", "1")
    put("t.csv", {"when": (STAMPS * 2)} | train)
    for rows in (new, {"when": STAMPS[:50]} | new):
        assert run("balance", "t.csv", put("n.csv", rows), "--label", "y", "--seed", "1", "--time", "when") == plain
    assert plain[0] == 0
    assert refusal("balance", "t.csv", "n.csv", "--label", "y", "--time", "then") == (
        "neither t.csv nor n.csv has a column 'then', which --time names"
    )


# --- examples of the documentation ---------------------------------------------------------------------------------

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
UNITS = sorted(path.name for path in EXAMPLES.iterdir() if path.suffix != ".cron")


@pytest.mark.parametrize("unit", UNITS)
def test_units_of_systemd_are_valid(unit):
    try:
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", EXAMPLES / unit], capture_output=True, text=True, timeout=60
        )
    except FileNotFoundError:
        pytest.skip("systemd-analyze is not installed (Debian: systemd)")
    ours = [line for line in done.stderr.splitlines() if "densdiff" in line]
    assert (done.returncode, ours) == (0, [])


def arguments_of(name):
    """What the command of an example passes to densdiff."""
    lines = (EXAMPLES / name).read_text().splitlines()
    if name.endswith(".cron"):
        (line,) = [line for line in lines if not line.startswith("#")]
        assert "%" not in line  # which is a line break there
        *times, command = line.split(None, 5)
        for text, low, high in zip(times, (0, 0, 1, 1, 0), (59, 23, 31, 12, 7), strict=True):
            assert text == "*" or low <= int(text) <= high
        folder, command = command.split(" && ")
        assert folder == 'cd "$HOME"'
    else:
        (command,) = [line.removeprefix("ExecStart=") for line in lines if line.startswith("ExecStart=")]
        assert "WorkingDirectory=%h" in lines
    words = shlex.split(command)
    return words[words.index("densdiff") + 1 :]


def test_commands_of_the_examples_work(folder, put):
    Path("watch").mkdir()
    put("watch/normal.csv", REFERENCE)
    put("watch/yesterday.csv", ROWS)
    nightly = arguments_of("densdiff-nightly.service")
    assert nightly == arguments_of("densdiff-nightly.cron")
    assert run(*nightly, "--permutations", "19")[0] == 1
    assert Path("watch/report.html").exists()
    rows = [{"a": 1.0, "b": 0.0, "stamp": "noon"}, {"a": 0.0}, {"a": 0.0, "b": 1.0, "stamp": "one"}]
    code, _, err = run(*arguments_of("densdiff-monitor.service"), given="\n".join(map(json.dumps, rows)))
    assert code == 0
    assert "2 rows, 0 alarms, 0 rows of alarm, 1 bad row skipped; 2 rows in all" in err
    assert load_with_progress(Path("watch/monitor.state"))[0].n_seen_ == 2
