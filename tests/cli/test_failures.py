"""Failures of the command: one line each in its own words, and status codes."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import typer

import densdiff as dd
from densdiff import cli, errors, messages
from densdiff.cli import failures, inputs
from densdiff.errors import InputError
from tests.command_line import BUFFERED, COMMAND, as_csv, refusal, run

QUICK = ("--permutations", "39", "--seed", "1")


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
            "--min-effect must lie between 0 and 1, like the total variation; got 2.0",
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
    with messages.set_display_names({"A": "x\\1{}.csv"}):
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
    assert failures._in_options(InputError(f"{of}: {', '.join(options)}, A, alpha")) == (
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
    assert refusal("compare", file, file, "--missing", "error") == (
        f"column '{escaped}' of '{escaped}.csv': 1 missing value, at row 1; use --missing drop or --missing level"
    )
    assert refusal("compare", file, file, "--missing", name).endswith(f"got '{escaped}'")
    code, out, _ = run("compare", file, file, "--missing", "level", "--seed", 1)
    assert (code, "\ue000" in out) == (0, False)


def test_errors_know_the_file_of_the_argument_that_they_name():
    known = {"y": ("column 'y' of jan.csv", "old/jan.csv")}
    for argument, file in (("X", "old/jan.csv"), ("X_new", "new/feb.csv"), ("y", "old/jan.csv"), ("Y", None)):
        with (
            pytest.raises(InputError) as caught,
            inputs.name_inputs(known, X="old/jan.csv", X_new="new/feb.csv"),
        ):
            raise InputError(f"{messages.name_of(argument)} is odd", column="a", row=2)
        assert (caught.value.file, caught.value.column, caught.value.row) == (file, "a", 2)
        assert str(caught.value) == f"{argument} is odd"


def test_files_of_the_same_name_are_told_apart_by_their_folders(put, tmp_path):
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
    put("old/data.csv", "a\n1\n2\n")
    put("new/data.csv", "a\n1\n\n3\n")
    message = refusal("compare", "old/data.csv", "new/data.csv", "--missing", "error")
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


def failed(*arguments, given=None):
    """The object on standard output and the line on standard error of a failure with --json."""
    code, out, err = run(*arguments, "--json", given=given)
    assert code == 2
    lines = [line for line in err.splitlines() if not line.startswith("densdiff: note: ")]
    (line,) = lines
    content = json.loads(out)
    assert line == f"densdiff: {content['error']['message']}"
    assert (content["schema"], set(content)) == (1, {"schema", "command", "error"})
    return content["command"], content["error"]


def test_with_json_a_failure_is_an_object_that_says_what_it_is_about(tables, put):
    command, error = failed("compare", "A.csv", "none.csv")
    assert (command, error["file"], error["column"], error["row"]) == ("compare", "none.csv", None, None)
    bad = {"a": ["1", "2", "inf", "4"], "b": ["1", "2", "3", "4"]}
    command, error = failed("compare", "A.csv", put("bad.csv", bad))
    assert (error["file"], error["column"], error["row"]) == ("bad.csv", "a", 2)
    command, error = failed("balance", "A.csv", "B.csv")
    assert command == "balance"
    assert error["message"].endswith("(see densdiff balance --help)")
    assert failed("compre")[0] is None


def test_without_json_a_failure_leaves_standard_output_empty(tables):
    assert run("compare", "A.csv", "none.csv")[1] == ""


def test_with_json_an_interrupt_is_an_object_and_status_130(tables, monkeypatch):
    monkeypatch.setattr(dd, "compare", broken(KeyboardInterrupt()))
    code, out, err = run("compare", *tables, "--json")
    assert (code, err) == (130, "")
    about = {"message": "interrupted", "file": None, "column": None, "row": None}
    assert json.loads(out) == {"schema": 1, "command": "compare", "error": about}


def test_with_json_an_unexpected_error_and_its_traceback_keep_apart(tables, monkeypatch):
    monkeypatch.setattr(dd, "compare", broken(RuntimeError("odd\x1b")))
    code, out, err = run("compare", *tables, "--json", "--debug")
    assert code == 2
    assert json.loads(out)["error"]["message"] == r"unexpected RuntimeError: odd\x1b (--debug shows where)"
    assert err.startswith("Traceback ")


def test_a_failure_that_nobody_reads_is_still_status_2(tables):
    command = [*COMMAND, "compare", "A.csv", "none.csv", "--json"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=BUFFERED)
    assert done.returncode == 2
    assert done.stderr.startswith("densdiff: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_summary_is_written_whole_or_not_at_all(tables, put):
    code, out, _ = run("compare", *tables, *QUICK, "--markdown", "summary.md")
    assert code == 0
    assert out.endswith("summary: summary.md\n")
    text = Path("summary.md").read_text("utf-8")
    assert text.startswith("**")
    assert len(text.splitlines()) <= 30
    code, out, _ = run("compare", *tables, *QUICK, "--markdown", "summary.md", "--json")
    assert (code, json.loads(out)["command"]) == (0, "compare")
    assert refusal("compare", *tables, "--markdown", "A.csv").endswith("is an input; write to another file")
    assert "does not exist" in refusal("compare", *tables, "--markdown", "none/summary.md")
    same = refusal("compare", *tables, "--markdown", "x.md", "--report", "x.md")
    assert same == "--report and --markdown are both 'x.md'; write to two files"
    assert not Path("x.md").exists()
    assert sorted(path.name for path in Path().iterdir()) == ["A.csv", "B.csv", "summary.md"]
