"""The command's monitor: a line for each alarm, bad lines named after saving, and going on where it was."""

import json
import re
import signal
import threading

import numpy as np
import pytest

import densdiff as dd
from densdiff.cli import stream
from densdiff.series import monitor as series_monitor
from tests.command_line import as_csv, process, refusal, run


def watched(n=120):
    random = np.random.default_rng(7)
    reference = {"a": random.normal(size=800), "b": random.normal(size=800)}
    rows = {"b": random.normal(size=n), "text": ["x,\ny"] * n, "a": random.normal(size=n)}
    rows["a"][n // 2 :] += 3.0
    return reference, rows


def onsets(steps):
    """Alarms that follow no alarm, slowly."""
    return [step for k, step in enumerate(steps) if step.alarm and not (k and steps[k - 1].alarm)]


MOMENT = "2026-01-31T12:00:00Z"


@pytest.fixture
def stream_of(put, monkeypatch):
    monkeypatch.setattr(stream, "utc_now", lambda: MOMENT)
    reference, rows = watched()
    put("R.csv", reference)
    monitor = dd.ChangeMonitor(reference, window=20, run_length=500, random_state=2)
    steps = monitor.update_many({name: rows[name] for name in ("a", "b")})
    return rows, steps


LEFT_OUT = "densdiff: note: left out, because the reference does not have them: 'text'\n"
OPTIONS = ("monitor", "R.csv", "--window", "20", "--run-length", "500", "--seed", "2")


def test_monitor_prints_one_line_for_each_alarm(stream_of):
    rows, steps = stream_of
    code, out, err = run(*OPTIONS, given=as_csv(rows))
    wanted = [
        {"index": each.index, "score": each.score, "threshold": each.threshold, "strength": each.score / each.threshold}
        | {"since": each.since, "columns": dict(zip("ab", each.columns.values(), strict=True))}
        | {"kind": "change", "time": None, "seen_at": MOMENT}
        for each in onsets(steps)
    ]
    assert [json.loads(line) for line in out.splitlines()] == wanted
    assert wanted
    above = sum(step.alarm for step in steps)
    alarms = f"{len(wanted)} alarm{'s' * (len(wanted) != 1)}"
    assert (code, err) == (
        0,
        f"{LEFT_OUT}densdiff: 120 rows, {alarms}, {above} rows of alarm; 120 rows in all; seed 2\n",
    )
    assert run(*OPTIONS, "--fail-on-difference", given=as_csv(rows))[0] == 1
    calm = {name: values[:50] for name, values in rows.items()}
    assert run(*OPTIONS, "--fail-on-difference", given=as_csv(calm)) == (
        0,
        "",
        f"{LEFT_OUT}densdiff: 50 rows, 0 alarms, 0 rows of alarm; 50 rows in all; seed 2\n",
    )


def test_monitor_reads_json_lines_and_other_separators(stream_of, put):
    rows, _ = stream_of
    wanted = run(*OPTIONS, given=as_csv(rows))
    entries = zip(*(np.asarray(values).tolist() for values in rows.values()), strict=True)
    lines = [json.dumps(dict(zip(rows, entry, strict=True))) for entry in entries]
    assert run(*OPTIONS, given="\n\n".join(lines)) == wanted
    for sep in ";\t|":
        assert run(*OPTIONS, given=as_csv(rows, sep)) == wanted
    assert run(*OPTIONS, given="\ufeff" + as_csv(rows) + "\n\n") == wanted
    put("R.csv", as_csv(watched()[0], "\t"))
    assert run(*OPTIONS, "--sep", r"\t", given=as_csv(rows, "\t")) == wanted
    numbers = {name: rows[name] for name in ("a", "b")}
    commas = as_csv(numbers, ";").replace(".", ",")
    put("R.csv", as_csv(watched()[0], ";").replace(".", ","))
    without_text = run(*OPTIONS, "--decimal", ",", given=commas)
    assert without_text == (*wanted[:2], wanted[2].removeprefix(LEFT_OUT))
    assert refusal_of_stream(commas) == (
        f"line 2 of standard input: column 'a': {str(rows['a'][0]).replace('.', ',')!r} is not a number; give "
        "--decimal ',' if that is a decimal comma"
    )
    bare = as_csv(watched()[0]).split("\n", 1)[1]
    put("R.csv", bare)
    code, out, err = run(*OPTIONS, "--no-header", given=as_csv(numbers).split("\n", 1)[1])
    assert (code, out.replace('"x0"', '"a"').replace('"x1"', '"b"'), err) == without_text


def refusal_of_stream(given, *options):
    code, _, err = run(*OPTIONS, *options, given=given)
    assert code == 2
    *_, summary, last = err.splitlines()
    assert re.search(r"\b(1 row|\d+ rows) in all; seed 2", summary)
    return last.removeprefix("densdiff: ")


@pytest.mark.parametrize(
    ("text", "seen", "message"),
    [
        ("a,b\n1,2\n1,x\n", 1, "line 3 of standard input: column 'b': 'x' is not a number"),
        ("a,b\n1,2\n\n1,1_0\n", 1, "line 4 of standard input: column 'b': '1_0' is not a number"),
        ("a,b\n1,\n", 0, "line 2 of standard input: column 'b' is empty; a value is missing"),
        ("a,b\n1,2,3\n", 0, "line 2 of standard input has 3 fields, but 2 are expected"),
        ('a,t,b\n1,"x\ny",2\n1\n', 1, "line 4 of standard input has 1 field, but 3 are expected"),
        (
            "a,b\n1,2\n1,nan\n",
            1,
            "line 3 of standard input: row 1 of the stream was refused and changed nothing: column 'b' is nan",
        ),
        (
            '{"a": 1, "b": 1e999}\n',
            0,
            "line 1 of standard input: row 0 of the stream was refused and changed nothing: column 'b' is inf",
        ),
        ('{"a": 1, "b": 2}\n{"a": 1\n', 1, "line 2 of standard input is not valid JSON; write one object per line"),
        ('{"a": 1, "b": 2}\n[1, 2]\n', 1, "line 2 of standard input is not a JSON object; write one object per line"),
        ('{"a": 1, "a": 2}\n', 0, "line 1 of standard input has more than one value named 'a'"),
        ("a,b,a\n1,2,3\n", 0, "line 1 of standard input has more than one column named 'a'"),
        (
            "1,2\n3,4\n",
            0,
            "line 1 of standard input lacks column 'a', 'b'; it has '1', '2'; give --no-header if it holds data, --sep "
            "if another character separates the fields",
        ),
        ('a,b\n1,"2\n', 0, "line 2 of standard input cannot be read: unexpected end of data"),
        ("a,b\n1,\x00\n", 0, "line 2 of standard input has a NUL byte; save it as UTF-8"),
        ("a,b\n1,é\n".encode("latin-1"), 0, "line 2 of standard input is not UTF-8; save it as UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), 0, "line 1 of standard input has a NUL byte; save it as UTF-8"),
    ],
)
@pytest.mark.hostile(38)
def test_monitor_names_the_bad_line_after_saving(text, seen, message, stream_of, tmp_path):
    assert refusal_of_stream(text, "--state", "state") == message
    assert dd.ChangeMonitor.load(tmp_path / "state").n_seen_ == seen


def test_an_empty_line_is_a_missing_value_of_a_single_column_unless_it_is_the_last(stream_of):
    numbers = "a\n" + "1\n2\n"
    one = ("--columns", "a")
    assert run(*OPTIONS, *one, given=numbers + "\n\n")[0] == 0
    assert refusal_of_stream("a\n1\n\n2\n", *one) == "line 3 of standard input is empty; a value is missing"


def test_monitor_goes_on_where_it_was_saved(stream_of, tmp_path):
    rows, steps = stream_of
    parts = [
        as_csv({name: values[first:last] for name, values in rows.items()}) for first, last in ((0, 45), (45, 120))
    ]
    one, two = (run(*OPTIONS, "--state", "state", given=part) for part in parts)
    alarms = [json.loads(line) for line in (one[1] + two[1]).splitlines()]
    assert [alarm["score"] for alarm in alarms] == [step.score for step in onsets(steps)]
    assert f"note: resumed at row 45 from 'state', saved {MOMENT}, which includes its reference\n" in two[2]
    assert two[2].endswith("120 rows in all; seed 2\n")
    assert run("monitor", "gone.csv", "--state", "state", given="")[0] == 0  # the state has all that is needed


def test_options_that_contradict_a_saved_state_are_refused(stream_of, tmp_path):
    assert run(*OPTIONS, "--state", "state", given="")[0] == 0
    cure = "leave it out, or give another --state to start afresh"
    for option, value, known in (
        ("--window", "30", "20"),
        ("--run-length", "600", "500"),
        ("--seed", "3", "2"),
        ("--columns", "b", "'a', 'b'"),
    ):
        assert refusal("monitor", "R.csv", option, value, "--state", "state") == (
            f"{option} differs from {known}, which is saved in 'state'; {cure}"
        )
    (tmp_path / "state").write_bytes(b"\x80\x04N.")
    assert "state" in refusal(*OPTIONS, "--state", "state")
    assert (tmp_path / "state").read_bytes() == b"\x80\x04N."
    assert refusal("monitor", "R.csv", "--state", "no/state") == (
        "cannot write 'no/state': the folder 'no' does not exist"
    )
    assert refusal("monitor", "-") == "standard input, '-', holds the rows to watch; give a file for the reference"


def test_the_state_is_saved_on_the_way(stream_of, monkeypatch, put):
    rows, steps = stream_of
    monkeypatch.setattr(stream, "_EVERY", 50)
    saved = []
    monkeypatch.setattr(series_monitor, "save_with_progress", lambda monitor, *_: saved.append(monitor.n_seen_))
    assert run(*OPTIONS, "--state", "state", given=as_csv(rows))[0] == 0
    assert saved == [0, *sorted({50, 100, *(step.index + 1 for step in onsets(steps))}), 120]


def test_an_alarm_comes_at_once_and_ctrl_c_saves(stream_of, tmp_path):
    rows, steps = stream_of
    running = process(*OPTIONS, "--state", "state")
    guard = threading.Timer(120, running.kill)  # without its flush the line would never come
    guard.start()
    lines = as_csv({name: rows[name] for name in ("a", "b")}).splitlines(keepends=True)
    first = onsets(steps)[0].index
    running.stdin.writelines(lines[: first + 2])
    running.stdin.flush()
    assert json.loads(running.stdout.readline())["index"] == first  # while standard input stays open
    running.send_signal(signal.SIGINT)
    assert running.wait(60) == 130
    out, err = running.stdout.read(), running.stderr.read()
    assert out == ""
    assert "Traceback" not in err
    assert err.endswith(f"{first + 1} rows in all; seed 2\n")
    assert dd.ChangeMonitor.load(tmp_path / "state").n_seen_ == first + 1
    guard.cancel()
    for pipe in (running.stdin, running.stdout, running.stderr):
        pipe.close()


def test_an_interrupt_waits_until_an_update_is_done(stream_of, tmp_path, monkeypatch):
    rows, _ = stream_of
    usual = dd.ChangeMonitor.update

    def interrupted(self, row):
        if self.n_seen_ == 30:
            signal.raise_signal(signal.SIGINT)
        return usual(self, row)

    monkeypatch.setattr(dd.ChangeMonitor, "update", interrupted)
    code, _, err = run(*OPTIONS, "--state", "state", given=as_csv(rows))
    assert code == 130
    assert err.endswith("31 rows in all; seed 2\n")
    assert dd.ChangeMonitor.load(tmp_path / "state").n_seen_ == 31


def test_monitor_stops_when_nobody_hears(stream_of, monkeypatch, tmp_path):
    rows, steps = stream_of
    monkeypatch.setattr(stream, "emit", lambda text: False)
    code, _, err = run(*OPTIONS, "--state", "state", "--fail-on-difference", given=as_csv(rows))
    assert code == 1
    assert err.startswith(f"{LEFT_OUT}densdiff: {onsets(steps)[0].index + 1} rows, 1 alarm, ")


@pytest.mark.parametrize("extra", ["c", "d"])
def test_columns_the_reference_lacks_are_left_out_and_said_once(stream_of, extra):
    rows = {name: stream_of[0][name] for name in ("a", "b")}
    count = len(rows["a"])
    said = f"note: left out, because the reference does not have them: '{extra}'\n"
    plain = run(*OPTIONS, given=as_csv(rows))
    more = run(*OPTIONS, given=as_csv({extra: np.zeros(count)} | rows))
    lines = [json.dumps({name: float(values[k]) for name, values in rows.items()} | {extra: 1}) for k in range(count)]
    as_json = run(*OPTIONS, given="\n".join(lines))
    assert plain[1] == more[1] == as_json[1]
    assert more[2].count(said) == as_json[2].count(said) == 1
    assert said not in plain[2]


MIXED = ("monitor", "M.csv", "--window", "10", "--run-length", "100", "--seed", "2")


def mixed_lines(seed, n, new=""):
    random = np.random.default_rng(seed)
    colors = random.choice(["red", "blue", ""], n)
    lines = [f"{x:.6f},{color}" for x, color in zip(random.normal(size=n), colors, strict=True)]
    lines[5] = f",{new or 'red'}"
    return ["amount,color", *lines]


def test_monitor_takes_categories_and_missing_values_and_tells_of_new_levels(put):
    put("M.csv", "\n".join(mixed_lines(0, 500)))
    lines = mixed_lines(1, 60, new="pink")
    code, out, err = run(*MIXED, given="\n".join(lines))
    wanted = {"index": 5, "column": "color", "level": "pink", "kind": "new_level", "time": None}
    (told,) = [json.loads(line) for line in out.splitlines() if "new_level" in line]
    assert told == wanted | {"seen_at": told["seen_at"]}
    assert (code, "60 rows in all" in err) == (0, True)
    objects = [dict(zip(("amount", "color"), line.split(","), strict=True)) for line in lines[1:]]
    entries = [{"amount": float(o["amount"]) if o["amount"] else None, "color": o["color"] or None} for o in objects]
    again = run(*MIXED, given="\n".join(map(json.dumps, entries)))
    assert (again[0], len(again[1].splitlines()), again[2]) == (code, len(out.splitlines()), err)
    bad = run(*MIXED, given="\n".join([*lines[:20], "hot,red"]))
    assert bad[0] == 2
    assert "line 21 of standard input: column 'amount': 'hot' is not a number" in bad[2]


def test_monitor_begins_anew_after_an_alarm_if_asked_and_keeps_to_it(stream_of):
    rows, _ = stream_of
    options = (*OPTIONS, "--state", "state", "--after-alarm", "reset")
    code, out, _ = run(*options, given=as_csv(rows))
    alarms = [json.loads(line)["index"] for line in out.splitlines()]
    assert code == 0
    assert len(alarms) > 1
    code, _, err = run(*OPTIONS, "--state", "state", "--after-alarm", "continue", given=as_csv(rows))
    assert code == 2
    assert "--after-alarm differs from reset, which is saved in 'state'; leave it out" in err
    code, _, err = run(*OPTIONS, "--after-alarm", "stop", given=as_csv(rows))
    assert code == 2
    assert "--after-alarm must be one of 'continue', 'reset'; got 'stop'" in err
