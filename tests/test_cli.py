"""The command gives the numbers of the Python call, in the form its reader needs, and exit codes a job can use."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
import typer

import densdiff as dd
from densdiff import cli, errors, messages
from densdiff.cli import failures, inputs, stream
from densdiff.errors import DensDiffWarning, InputError
from tests.command_line import BUFFERED, COMMAND, as_csv, on_terminal, process, refusal, run, shifted, silently

QUICK = ("--permutations", "19", "--seed", "1")


@pytest.fixture
def put(tmp_path, monkeypatch):
    """A function that writes a file into the current folder and gives its name."""
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        (tmp_path / name).write_text(as_csv(content) if isinstance(content, dict) else content)
        return name

    return write


@pytest.fixture
def tables(put):
    return put("A.csv", shifted(0.0)), put("B.csv", shifted(2.0, n=30))


def series():
    random = np.random.default_rng(0)
    return {"t": np.arange(200) * 0.5, "v": np.concatenate([random.normal(size=100), random.normal(4, 1, 100)])}


# --- compare ---------------------------------------------------------------------------------------------------------


def test_compare_prints_what_the_python_call_says(tables):
    found = dd.compare(shifted(0.0), shifted(2.0, n=30), n_permutations=19, random_state=1)
    assert run("compare", *tables, *QUICK) == (0, f"{found}\n", "")
    assert "seed 1" in str(found)
    code, out, err = run("compare", *tables, *QUICK, "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert json.loads(out) == {"schema": 1, "command": "compare"} | found.to_dict()


def test_compare_passes_every_option_on(put):
    a, b = shifted(0.0), shifted(1.0, n=30)
    a["a"][3] = np.nan
    names = [
        put(name, as_csv(each, ";").replace("nan", "").replace(".", ","))
        for name, each in zip("AB", (a, b), strict=True)
    ]
    options = ("--columns", "b,a", "--alpha", "0.2", "--min-effect", "0.01", "--missing", "drop", "--sep", ";")
    code, out, _ = run("compare", *names, *options, "--decimal", ",", *QUICK, "--json")
    found = silently(
        dd.compare,
        {"b": a["b"], "a": a["a"]},
        {"b": b["b"], "a": b["a"]},
        alpha=0.2,
        min_effect=0.01,
        missing="drop",
        n_permutations=19,
        random_state=1,
    )
    assert code == 0
    assert json.loads(out) == {"schema": 1, "command": "compare"} | found.to_dict()


def test_a_seed_is_drawn_and_printed_so_that_the_run_can_be_repeated(tables):
    one = json.loads(run("compare", *tables, "--permutations", 19, "--json")[1])
    other = json.loads(run("compare", *tables, "--permutations", 19, "--json")[1])
    assert one["seed"] != other["seed"]
    assert json.loads(run("compare", *tables, "--permutations", 19, "--seed", one["seed"], "--json")[1]) == one
    text = run("compare", *tables, "--permutations", 19)[1]
    seed = re.search(r"seed (\d+)$", text, re.MULTILINE)[1]
    assert run("compare", *tables, "--permutations", 19, "--seed", seed)[1] == text


def test_tables_of_all_kinds_and_standard_input_give_the_same(tables, tmp_path, put):
    wanted = run("compare", *tables, *QUICK, "--json")
    b = shifted(2.0, n=30)
    lines = "".join(json.dumps(dict(zip(b, row, strict=True))) + "\n" for row in zip(*b.values(), strict=True))
    put("B.jsonl", lines)
    assert run("compare", "A.csv", "B.jsonl", *QUICK, "--json") == wanted
    assert run("compare", "A.csv", "-", *QUICK, "--json", given=as_csv(b)) == wanted
    np.save(tmp_path / "B.npy", np.column_stack([*b.values()]))
    assert run("compare", "A.csv", "B.npy", *QUICK, "--json") == wanted  # by position
    put("bare.csv", as_csv(b).split("\n", 1)[1])
    code, out, _ = run("compare", "bare.csv", "B.npy", "--no-header", "--columns", "x1", *QUICK, "--json")
    assert code == 0
    assert [column["name"] for column in json.loads(out)["columns"]] == ["x1"]


def test_a_column_name_with_a_comma_is_quoted(put):
    a, b = ({"x, y": each["a"], "b": each["b"]} for each in (shifted(0.0), shifted(2.0)))
    code, out, err = run("compare", put("A.csv", a), put("B.csv", b), "--columns", '"x, y", b', *QUICK, "--json")
    assert code == 0, err
    assert {column["name"] for column in json.loads(out)["columns"]} == {"x, y", "b"}
    assert refusal("compare", "A.csv", "B.csv", "--columns", "c").startswith("A.csv has no column 'c'; it has 'x, y'")
    assert refusal("compare", "A.csv", "B.csv", "--columns", "") == (
        "--columns is empty; name at least 1 column, or leave it out to read all"
    )


def test_exit_1_only_when_a_difference_was_found_and_asked_for(tables):
    assert run("compare", *tables, "--fail-on-difference", "--seed", 1, "--permutations", 99)[0] == 1
    assert run("compare", *tables, "--seed", 1, "--permutations", 99)[0] == 0
    assert run("compare", "A.csv", "A.csv", "--fail-on-difference", *QUICK)[0] == 0
    large = ("--min-effect", "0.99", "--permutations", "99", "--seed", "1")
    code, out, _ = run("compare", *tables, "--fail-on-difference", *large)
    assert code == 0
    assert out.startswith("A and B differ less than asked for (0.99), ")


def test_the_report_is_written_before_a_difference_is_judged(tables, tmp_path):
    code, out, err = run(
        "compare", *tables, "--fail-on-difference", "--report", "page.html", "--seed", 1, "--permutations", 99
    )
    assert (code, err) == (1, "")
    assert out.endswith("report: page.html\n")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.startswith("<!doctype html>") or page.startswith("<!DOCTYPE html>")
    assert "<h1>A.csv (A) and B.csv (B)</h1>" in page
    code, out, _ = run("compare", *tables, "--report", "page.html", "--json", *QUICK)
    assert code == 0
    assert json.loads(out)["command"] == "compare"


def test_warnings_are_notes_on_standard_error_once_each(put):
    a = put("A.csv", shifted(0.0, more=np.arange(40)))
    code, out, err = run("compare", a, put("B.csv", shifted(0.0, seed=1)), *QUICK)
    note = "columns left out: 'more' only in A; compared: 'a', 'b'"
    assert code == 0
    assert err == f"densdiff: note: {note.replace('A;', 'A.csv;')}\n"
    assert f"note: {note}\n" in out


def test_a_warning_given_twice_is_one_note(tables, monkeypatch):
    usual = dd.compare

    def warning(*samples, **options):
        seen = f"seen by {messages.argument('n_permutations')} in {messages.name_of('A')}"
        for text in (seen, "other", seen):
            warnings.warn(text, DensDiffWarning, stacklevel=1)
        return usual(*samples, **options)

    monkeypatch.setattr(dd, "compare", warning)
    code, _, err = run("compare", *tables, *QUICK)
    assert (code, err) == (0, "densdiff: note: seen by --permutations in A.csv\ndensdiff: note: other\n")


# --- changes and balance ---------------------------------------------------------------------------------------------


def test_changes_gives_what_the_python_call_gives(put):
    name = put("S.csv", series())
    found = dd.detect_changes(series(), time="t", window=20, lag=2, alpha=0.01, random_state=3)
    assert len(found.changes) == 1
    options = ("--time", "t", "--window", "20", "--lag", "2", "--alpha", "0.01", "--seed", "3")
    assert run("changes", name, *options) == (0, f"{found}\n", "")
    assert run("changes", name, *options, "--fail-on-difference")[0] == 1
    wanted = {"schema": 1, "command": "changes"} | found.to_dict()
    assert json.loads(run("changes", name, *options, "--json", "--columns", "v")[1]) == wanted
    seconds = json.loads(run("changes", "-", *options[:3], "10s", *options[4:], "--json", given=as_csv(series()))[1])
    assert seconds == wanted
    calm = put("calm.csv", {"v": series()["v"][:100]})
    assert run("changes", calm, "--fail-on-difference", "--seed", 3)[0] == 0


def test_dates_are_asked_for_as_the_clock(put):
    name = put("S.csv", "when,v\n" + "".join(f"2024-01-01 00:00:{k % 60:02d},{k}\n" for k in range(60)))
    assert refusal("changes", name) == (
        "column 'when' of S.csv holds dates or times; give --time when if it is the clock, or the other columns by "
        "--columns"
    )
    assert run("changes", name, "--time", "when")[0] == 0
    assert refusal("changes", name, "--time", "then") == "S.csv has no column 'then'; it has 'when', 'v'"
    assert refusal("changes", name, "--columns", "v", "--window", "50") == (
        "--window 50 takes 50 samples on each side, but S.csv has only 60 in all"
    )
    assert refusal("changes", name, "--columns", "v", "--window", "4s") == (
        "--window '4s' is a duration, but there is no time that runs; pass --time or samples"
    )
    assert refusal("changes", name, "--columns", "v", "--window", "soon").startswith("--window must be 'auto', ")
    assert refusal("changes", name, "--columns", "v", "--lag", "0") == (
        "--lag must be a whole number, at least 1; got 0"
    )


def labelled(put):
    random = np.random.default_rng(0)
    rows = np.concatenate([random.normal(size=(40, 2)), random.normal(3, 1, (40, 2))])
    train = {"p": rows[:, 0], "q": rows[:, 1], "y": np.repeat(["ill", "well"], 40)}
    new = {"p": random.normal(3, 1, 30), "q": random.normal(3, 1, 30)}
    return train, new, put("T.csv", train), put("N.csv", new)


def test_balance_gives_what_the_python_call_gives(put):
    train, new, *names = labelled(put)
    model = dd.ClassBalance(random_state=5).fit({"p": train["p"], "q": train["q"]}, train["y"])
    found = model.estimate(new, 0.9)
    options = ("--label", "y", "--seed", "5", "--alpha", "0.1")
    assert run("balance", *names, *options) == (0, f"{found}\n", "")
    wanted = {"schema": 1, "command": "balance"} | found.to_dict()
    assert json.loads(run("balance", *names, *options, "--json")[1]) == wanted
    put("N.csv", new | {"y": np.arange(30)})  # labels of the new rows are no data
    assert json.loads(run("balance", *names, *options, "--json", "--columns", "p,q")[1]) == wanted
    assert json.loads(run("balance", *names, *options, "--json")[1]) == wanted


def test_balance_names_files_in_its_messages(put):
    train, new, *names = labelled(put)
    assert refusal("balance", *names, "--label", "z") == "T.csv has no column 'z'; it has 'p', 'q', 'y'"
    put("N.csv", {"p": new["p"]})
    assert refusal("balance", *names, "--label", "y").startswith("N.csv lacks columns of the fit: 'q'")
    put("T.csv", train | {"y": ["ill"] * 80})
    assert refusal("balance", *names, "--label", "y") == (
        "column 'y' of T.csv holds 1 class, 'ill'; at least 2 are needed"
    )
    assert refusal("balance", *names, "--label", "y", "--alpha", "2").startswith("--alpha must lie strictly between")


@pytest.mark.parametrize("command", ["changes", "balance"])
def test_reports_of_changes_and_balance(command, put, tmp_path):
    files = [put("S.csv", series()), "--time", "t"] if command == "changes" else [*labelled(put)[2:], "--label", "y"]
    code, out, err = run(command, *files, "--seed", 0, "--report", "page.html")
    assert code == 0, err
    assert out.endswith("report: page.html\n")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert {"changes": "<h1>Changes in S.csv</h1>", "balance": "<h1>Class balance of N.csv</h1>"}[command] in page


def test_the_name_of_a_file_is_text_on_the_page(put, tmp_path):
    name = put("<script>alert(1)</script>.csv".replace("/", "_"), series())
    assert run("changes", name, "--time", "t", "--seed", 0, "--report", "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<script" not in page
    assert "<h1>Changes in &lt;script&gt;" in page


# --- monitor ---------------------------------------------------------------------------------------------------------


def watched(n=120):
    random = np.random.default_rng(7)
    reference = {"a": random.normal(size=800), "b": random.normal(size=800)}
    rows = {"b": random.normal(size=n), "text": ["x,\ny"] * n, "a": random.normal(size=n)}
    rows["a"][n // 2 :] += 3.0
    return reference, rows


def onsets(steps):
    """Alarms that follow no alarm, slowly."""
    return [step for k, step in enumerate(steps) if step.alarm and not (k and steps[k - 1].alarm)]


@pytest.fixture
def stream_of(put):
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
        for each in onsets(steps)
    ]
    assert [json.loads(line) for line in out.splitlines()] == wanted
    assert wanted
    above = sum(step.alarm for step in steps)
    alarms = f"{len(wanted)} alarm{'s' * (len(wanted) != 1)}"
    assert (code, err) == (
        0,
        f"{LEFT_OUT}densdiff: 120 rows, {alarms}, {above} rows above the threshold; 120 rows in all; seed 2\n",
    )
    assert run(*OPTIONS, "--fail-on-difference", given=as_csv(rows))[0] == 1
    calm = {name: values[:50] for name, values in rows.items()}
    assert run(*OPTIONS, "--fail-on-difference", given=as_csv(calm)) == (
        0,
        "",
        f"{LEFT_OUT}densdiff: 50 rows, 0 alarms, 0 rows above the threshold; 50 rows in all; seed 2\n",
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
    assert run(*OPTIONS, "--no-header", given=as_csv(numbers).split("\n", 1)[1]) == without_text


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
        ("a,b\n1,2,3\n", 0, "line 2 of standard input has 3 fields, expected 2"),
        ('a,t,b\n1,"x\ny",2\n1\n', 1, "line 4 of standard input has 1 field, expected 3"),
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
        ('{"a": 1, "b": 2}\n{"a": 1\n', 1, "line 2 of standard input is not valid JSON; one object a line is needed"),
        ('{"a": 1, "b": 2}\n[1, 2]\n', 1, "line 2 of standard input is not a JSON object; one object a line is needed"),
        ('{"a": 1, "a": 2}\n', 0, "line 1 of standard input has more than one value named 'a'"),
        ("a,b,a\n1,2,3\n", 0, "line 1 of standard input has more than one column named 'a'"),
        (
            "1,2\n3,4\n",
            0,
            "line 1 of standard input lacks column 'a', 'b'; it has '1', '2'; give --no-header if it holds data, --sep "
            "if fields are separated otherwise",
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
    assert "note: resumed at row 45 from 'state', which holds its own reference\n" in two[2]
    assert two[2].endswith("120 rows in all; seed 2\n")
    assert run("monitor", "gone.csv", "--state", "state", given="")[0] == 0  # the state has all that is needed


def test_options_that_contradict_a_saved_state_are_refused(stream_of, tmp_path):
    assert run(*OPTIONS, "--state", "state", given="")[0] == 0
    cure = "leave it out, or give another --state to begin anew"
    for option, value, known in (
        ("--window", "30", "20"),
        ("--run-length", "600", "500"),
        ("--seed", "3", "2"),
        ("--columns", "b", "'a', 'b'"),
    ):
        assert refusal("monitor", "R.csv", option, value, "--state", "state") == (
            f"{option} is not that of the state 'state', {known}; {cure}"
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
    monkeypatch.setattr(dd.ChangeMonitor, "save", lambda self, path: saved.append(self.n_seen_))
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


# --- demo, help, failures --------------------------------------------------------------------------------------------


def test_demo_tells_what_was_planted_and_nothing_else(tmp_path, monkeypatch):
    results, usual = [], dd.compare
    monkeypatch.setattr(
        dd, "compare", lambda *tables, **options: results.append(usual(*tables, **options)) or results[0]
    )
    folder = tmp_path / "made" / "on the way"
    code, out, err = run("demo", "--out", folder)
    assert (code, err) == (0, "")
    tables = dd.datasets.mixed_tables(2000, shift=0.3, share=0.15, correlation=0.5, random_state=0)
    (result,) = results
    assert [column.name for column in result.columns if column.differs] == ["spend", "age", "region"]
    assert {column.name for column in result.columns if not column.differs} == {
        *("visits", "satisfaction", "recommendation", "channel", "newsletter")
    }
    planted = [{"spend"}, {"age", "region"}, set(tables.pair)]  # a region of two columns makes them depend
    assert [{pair.first, pair.second} for pair in result.pairs] == [planted[2], planted[1]]
    regions = [{condition["column"] for condition in region.conditions} for region in result.regions]
    assert regions[0] == planted[1]
    assert all(columns in planted for columns in regions)
    assert all(columns in regions for columns in planted)
    assert str(result) in out
    first = {line[:12].strip(): line[14:] for line in out.splitlines() if line[2:12].strip()}
    assert re.search(r"^  columns .*\n +spend: ", out, re.MULTILINE)
    assert re.match(r"age > (59|6\d)\S* and region = north: ", first["regions"])
    assert first["pairs"].startswith("satisfaction and recommendation: ")
    assert "seed 0" in out
    assert f"planted in B: spend higher by 0.3 deviations; {tables.region}: 4 % -> 15 %; " in out
    assert [file.name for file in folder.iterdir()] == ["demo-report.html"]


def test_demo_wants_a_folder(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    assert run("demo", "--out", file) == (2, "", f"densdiff: --out must be a folder; {str(file)!r} is a file\n")


def test_version_and_help():
    assert run("--version") == (0, f"densdiff {dd.__version__}\n", "")
    code, out, err = run()
    assert (code, err) == (0, "")
    assert out == run("--help")[1]
    assert "...\n" not in out.split("Commands:")[1]  # no line is cut short
    assert "Examples:\n    densdiff compare " in out
    for command in ("compare", "changes", "balance", "monitor", "demo"):
        assert re.search(rf"^  {command} ", out, re.MULTILINE)
        code, text, _ = run(command, "--help")
        assert code == 0
        assert len(re.findall(rf"^    .*\bdensdiff {command}\b", text.split("Examples:")[1], re.MULTILINE)) >= 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "A.csv", "-"], "standard input is empty"),
        (["compare", "-", "-"], "standard input, '-', can be read only once; give a file for the other"),
        (["compare", "A.csv", "B.csv", "--seed", "-1"], "--seed must be a whole number, at least 0; got -1"),
        (
            ["compare", "A.csv", "B.csv", "--permutations", "0"],
            "--permutations must be a whole number, at least 1; got 0",
        ),
        (
            ["compare", "A.csv", "B.csv", "--min-effect", "2"],
            "--min-effect must lie between 0 and 1, as the normalized distance; got 2.0",
        ),
        (
            ["compare", "A.csv", "B.csv", "--missing", "dorp"],
            "--missing must be one of 'error', 'drop', 'level'; got 'dorp' (did you mean 'drop'?)",
        ),
        (["monitor", "A.csv", "--window", "1"], "--window must be a whole number, at least 2; got 1"),
        (
            ["monitor", "A.csv", "--window", "9", "--run-length", "3"],
            "--run-length must be a number of rows above the window of 9; got 3.0",
        ),
    ],
)
def test_wrong_arguments_are_one_line(arguments, message, tables):
    assert refusal(*arguments) == message


@pytest.mark.parametrize(
    ("arguments", "named", "see"),
    [
        (["compre"], "'compare'", "densdiff --help"),
        (["compare", "A.csv"], "'B'", "densdiff compare --help"),
        (["compare", "A.csv", "B.csv", "C.csv"], "C.csv", "densdiff compare --help"),
        (["balance", "A.csv", "B.csv"], "'--label'", "densdiff balance --help"),
        (["compare", "A.csv", "B.csv", "--sede", "1"], "--seed", "densdiff compare --help"),
        (["compare", "A.csv", "B.csv", "--seed", "x"], "'--seed'", "densdiff compare --help"),
        (["compare", "--\x1b[31m"], r"--\x1b[31m", "densdiff compare --help"),
        (["--versio"], "--version", "densdiff --help"),
    ],
)
def test_usage_errors_are_one_line_that_names_the_argument_and_the_help(arguments, named, see):
    message = refusal(*arguments)
    assert named in message
    assert message.endswith(f" (see {see})")


def broken(error):
    def fail(*_, **__):
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InputError("column 'a\nb\x1b[31m': bad"), r"column 'a b\x1b[31m': bad"),
        (RuntimeError("odd"), "unexpected RuntimeError: odd (--debug shows where)"),
        (EOFError(), "unexpected EOFError:  (--debug shows where)".replace(":  ", ": ")),
        (MemoryError(), "out of memory; take fewer rows or columns"),
        (PermissionError(13, "Permission denied", "x\x1b"), r"Permission denied: 'x\x1b'"),
    ],
)
def test_every_failure_is_one_line_and_status_2(error, message, tables, monkeypatch):
    monkeypatch.setattr(dd, "compare", broken(error))
    assert refusal("compare", *tables) == message
    code, _, err = run("compare", *tables, "--debug")
    assert code == 2
    assert err.startswith("Traceback ")
    assert err.endswith(f"densdiff: {message}\n")


def test_interrupt_is_status_130_and_silent(tables, monkeypatch):
    monkeypatch.setattr(dd, "compare", broken(KeyboardInterrupt()))
    assert run("compare", *tables) == (130, "", "")


def test_messages_use_the_words_of_the_command_line_but_leave_names_alone():
    with messages.called({"A": "x\\1{}.csv"}):
        of = f"column 'n_permutations of A' of {messages.name_of('A')}"
    options = [
        messages.argument("n_permutations"),
        messages.argument("missing", "drop"),
        messages.argument("decimal", ","),
        messages.argument("header", False),
        messages.argument("sep", ...),
        messages.argument("tuning", "window"),
        messages.memory_limit(46),
    ]
    assert failures._worded(InputError(f"{of}: {', '.join(options)}, A, alpha")) == (
        "column 'n_permutations of A' of x\\1{}.csv: --permutations, --missing drop, --decimal ',', --no-header, "
        '--sep, tuning="window", SKLEARN_WORKING_MEMORY=46 in the environment, A, alpha'
    )


def test_no_text_of_the_library_is_searched_for_words():
    for path in Path(cli.__file__).parent.glob("*.py"):
        assert "import re\n" not in path.read_text("utf-8"), path.name


def test_every_option_of_the_wording_is_one_of_a_command():
    commands = typer.main.get_command(cli.app).commands.values()
    known = {name for command in commands for option in command.params for name in option.opts}
    assert {text.split()[0] for text in failures._OPTIONS.values() if text.startswith("--")} <= known


@pytest.mark.parametrize("name", [errors.mark("a", "missing", "drop"), "\ue000", "a\ue001b\ue002"])
def test_marks_in_files_are_text(name, put):
    table = {name: [1.0, np.nan, 2.0], "level": [name, "b", "b"]}
    file = put(f"{name}.csv", as_csv(table).replace("nan", ""))
    escaped = name.encode("unicode_escape").decode()
    assert refusal("compare", file, file) == (
        f"column '{escaped}' of '{escaped}.csv': 1 missing value, at row 1; use --missing drop or --missing level"
    )
    assert refusal("compare", file, file, "--missing", name).endswith(f"got '{escaped}'")
    code, out, _ = run("compare", file, file, "--missing", "level", "--seed", 1)
    assert (code, "\ue000" in out) == (0, False)


def test_errors_know_the_file_of_the_argument_that_they_name():
    known = {"y": ("column 'y' of jan.csv", Path("old/jan.csv"))}
    for argument, file in (("X", "old/jan.csv"), ("X_new", "new/feb.csv"), ("y", "old/jan.csv"), ("Y", None)):
        with pytest.raises(InputError) as caught, inputs.named(known, X=Path("old/jan.csv"), X_new=Path("new/feb.csv")):
            raise InputError(f"{messages.name_of(argument)} is odd", column="a", row=2)
        assert (caught.value.file, caught.value.column, caught.value.row) == (file, "a", 2)
        assert str(caught.value) == f"{argument} is odd"


def test_files_of_the_same_name_are_told_apart_by_their_folders(put, tmp_path):
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
    put("old/data.csv", "a\n1\n2\n")
    put("new/data.csv", "a\n1\n\n3\n")
    message = refusal("compare", "old/data.csv", "new/data.csv")
    assert message.startswith("column 'a' of new/data.csv: 1 missing value, at row 1; use --missing drop or ")


def test_output_that_is_closed_or_full_is_no_traceback(tables):
    arguments = [*COMMAND, "compare", *tables, *QUICK]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(arguments, stdout=write, stderr=subprocess.PIPE, text=True, env=BUFFERED, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")
    if os.path.exists("/dev/full"):
        with open("/dev/full", "w") as full:
            done = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, text=True, env=BUFFERED, check=False)
        assert done.returncode == 2
        assert done.stderr == "densdiff: cannot write to standard output: No space left on device\n"


@pytest.mark.hostile(33)
def test_a_terminal_gets_tables_and_no_escape_of_the_data(put):
    hostile = "x\x1b[2J\nz[bold]"
    names = [
        put(name, {hostile: table["a"], "b": table["b"], name: table["b"]})
        for name, table in (("A.csv", shifted(0.0)), ("B.csv", shifted(3.0)))
    ]
    text = on_terminal("compare", *names, "--seed", 1, "--permutations", 99)
    assert "─" in text
    assert "\x1b[2J" not in text
    assert r"'x\x1b[2J\nz[bold]'" in text
    assert "seed 1" in text
    assert "higher in B" in text
    assert "Left out" in text
    assert "note: columns left out" not in text  # it went to standard error


def test_terminal_views_of_changes_and_balance(put):
    text = on_terminal("changes", put("S.csv", series()), "--time", "t", "--seed", 3)
    assert re.search(r"\b100 +50.0 +0.0", text)
    assert "seed 3" in text
    *_, train, new = labelled(put)
    text = on_terminal("balance", train, new, "--label", "y", "--seed", 5)
    assert re.search(r"\bill +0\.\d\d\d +0\.000 to 0\.", text)
    assert "seed 5" in text


def test_importing_the_command_is_light():
    code = "import sys, densdiff.cli; print([m for m in ('matplotlib', 'pandas', 'numpy', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_without_typer_the_extra_is_named():
    code = "import sys; sys.modules['typer'] = None; import densdiff.cli"
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert outcome.returncode == 2
    assert outcome.stderr == "densdiff: the command line needs typer: pip install 'densdiff[cli]'\n"


def test_the_entry_point_is_the_app():
    from importlib.metadata import entry_points

    (entry,) = entry_points(group="console_scripts", name="densdiff")
    assert entry.load() is cli.app


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
