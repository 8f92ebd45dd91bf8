"""The command gives the numbers of the Python call, in the form its reader needs, and exit codes a job can use."""

import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import densdiff as dd
from densdiff import cli, messages
from densdiff.errors import DensDiffWarning
from tests.command_line import as_csv, on_terminal, refusal, run, shifted, silently

QUICK = ("--permutations", "39", "--seed", "1")


def series():
    random = np.random.default_rng(0)
    return {"t": np.arange(200) * 0.5, "v": np.concatenate([random.normal(size=100), random.normal(4, 1, 100)])}


# --- compare ---------------------------------------------------------------------------------------------------------


def test_compare_prints_what_the_python_call_says(tables):
    names = ("A.csv", "B.csv")
    found = dd.compare(shifted(0.0), shifted(2.0, n=30), names=names, n_permutations=39, random_state=1)
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
        names=("A", "B"),
        min_effect=0.01,
        missing="drop",
        n_permutations=39,
        random_state=1,
    )
    assert code == 0
    assert json.loads(out) == {"schema": 1, "command": "compare"} | found.to_dict()


def test_a_seed_is_drawn_and_printed_so_that_the_run_can_be_repeated(tables):
    one = json.loads(run("compare", *tables, "--permutations", 39, "--json")[1])
    other = json.loads(run("compare", *tables, "--permutations", 39, "--json")[1])
    assert one["seed"] != other["seed"]
    assert json.loads(run("compare", *tables, "--permutations", 39, "--seed", one["seed"], "--json")[1]) == one
    text = run("compare", *tables, "--permutations", 39)[1]
    seed = re.search(r"seed (\d+)$", text, re.MULTILINE)[1]
    assert run("compare", *tables, "--permutations", 39, "--seed", seed)[1] == text


def test_tables_of_all_kinds_and_standard_input_give_the_same(tables, tmp_path, put):
    def answer(*arguments, **options):
        """The exit status and the numbers: what the tables are called differs."""
        code, out, err = run("compare", *arguments, *QUICK, "--json", **options)
        found = json.loads(out)
        return code, err, found["total_variation"], found["test"], [c["pvalue"] for c in found["columns"]]

    wanted = answer(*tables)
    b = shifted(2.0, n=30)
    lines = "".join(json.dumps(dict(zip(b, row, strict=True))) + "\n" for row in zip(*b.values(), strict=True))
    put("B.jsonl", lines)
    assert answer("A.csv", "B.jsonl") == wanted
    assert answer("A.csv", "-", given=as_csv(b)) == wanted
    np.save(tmp_path / "B.npy", np.column_stack([*b.values()]))
    assert answer("A.csv", "B.npy") == wanted  # by position
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
    assert ", less than the smallest effect that counts (0.99); most in a (p <= " in out


def test_the_report_is_written_before_a_difference_is_judged(tables, tmp_path):
    code, out, err = run(
        "compare", *tables, "--fail-on-difference", "--report", "page.html", "--seed", 1, "--permutations", 99
    )
    assert (code, err) == (1, "")
    assert out.endswith("report: page.html\n")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.startswith("<!doctype html>") or page.startswith("<!DOCTYPE html>")
    assert "<h1>A.csv and B.csv compared</h1>" in page
    code, out, _ = run("compare", *tables, "--report", "page.html", "--json", *QUICK)
    assert code == 0
    assert json.loads(out)["command"] == "compare"


def test_warnings_are_notes_on_standard_error_once_each(put):
    a = put("A.csv", shifted(0.0, more=np.arange(40)))
    code, out, err = run("compare", a, put("B.csv", shifted(0.0, seed=1)), *QUICK)
    note = "columns left out: 'more' only in A.csv; compared: 'a', 'b'"
    assert code == 0
    assert err == f"densdiff: note: {note}\n"
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
        "column 'when' of S.csv holds dates or times; give --time when if it is the time, or name the other columns "
        "with --columns"
    )
    assert run("changes", name, "--time", "when")[0] == 0
    assert refusal("changes", name, "--time", "then") == "S.csv has no column 'then'; it has 'when', 'v'"
    assert refusal("changes", name, "--columns", "v", "--window", "50") == (
        "--window 50 takes 50 samples on each side, but S.csv has only 60 in all; use a smaller window"
    )
    assert refusal("changes", name, "--columns", "v", "--window", "4s") == (
        "--window '4s' is a duration, which needs times that increase; pass --time, or a number of samples"
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
    assert refusal("balance", *names, "--label", "y").startswith(
        "N.csv lacks columns that the model was fitted on: 'q'"
    )
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
    assert all(columns in regions for columns in planted[1:])  # that spend moved is told of the column
    assert str(result) in out
    first = {line[:12].strip(): line[14:] for line in out.splitlines() if line[2:12].strip()}
    assert first["columns"].startswith("spend: ")
    assert re.match(r"age > (59|6\d)\S* and region = north: ", first["regions"])
    assert first["pairs"].startswith("satisfaction and recommendation: ")
    assert "seed 0" in out
    assert f"planted in B: spend higher by 0.3 standard deviations; {tables.region}: 4 % -> 15 %; " in out
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
    for command in ("compare", "profile", "track", "changes", "balance", "monitor", "demo"):
        assert re.search(rf"^  {command} ", out, re.MULTILINE)
        code, text, _ = run(command, "--help")
        assert code == 0
        assert len(re.findall(rf"^    .*\bdensdiff {command}\b", text.split("Examples:")[1], re.MULTILINE)) >= 2


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
    assert re.search(r"\b100 +50.0 +100 to 100 +0.0", text)
    assert "seed 3" in text
    *_, train, new = labelled(put)
    text = on_terminal("balance", train, new, "--label", "y", "--seed", 5)
    assert re.search(r"\bill +\d+\.\d % +0\.0 % to \d", text)
    assert "seed 5" in text


def test_importing_the_command_is_light():
    code = "import sys, densdiff.cli; print([m for m in ('matplotlib', 'pandas', 'numpy', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "command",
    [
        ["compare", "gone.csv", "gone too.csv"],
        ["profile", "gone.csv", "--out", "new.profile"],
        ["changes", "gone.csv"],
        ["balance", "gone.csv", "gone too.csv", "--label", "y"],
        ["track", "gone.csv", "gone too.csv"],
        ["track", "first", "gone.csv", "gone too.csv"],
        ["monitor", "gone.csv"],
    ],
)
def test_a_wrong_file_name_is_told_before_the_library_is_loaded(command, tmp_path):
    code = f"""
import sys
from densdiff.cli import app
try:
    app({command!r})
finally:
    print([m for m in ("numpy", "narwhals", "pyarrow", "sklearn") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "densdiff: gone.csv does not exist in the folder '.'\n"
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


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("compare a.csv a.csv --alpha 3", "--alpha must lie strictly between 0 and 1"),
        ("compare a.csv a.csv --columns nope", "no column 'nope'"),
        ("track a.csv a.csv --permutations 0", "--permutations must be"),
        ("changes a.csv --columns nope", "a.csv has no column 'nope'"),
        ("balance a.csv a.csv --label nope", "a.csv has no column 'nope'"),
        ("monitor a.csv --bad-rows nope", "--bad-rows must be stop or skip"),
    ],
)
def test_a_wrong_option_is_told_without_scikit_learn(command, why, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n2,3\n")
    code = f"""
import sys
from densdiff.cli import app
try:
    app({command.split()!r})
finally:
    print([m for m in ("pandas", "sklearn", "scipy.stats") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert why in done.stderr
    assert done.stdout == "[]\n"
