"""Files that `densdiff compare` writes beside what it prints, and groups on the command line."""

import json
import os

import pytest

from densdiff.errors import InputError
from densdiff.io.write import append_line, atomic_write
from tests.command_line import on_terminal, refusal, run, shifted

QUICK = ("--permutations", "19", "--seed", "1")


@pytest.fixture
def grouped(put):
    """Two files of two groups, one of which differs, and a group of one file each."""
    a = shifted(0.0, shop=["x", "y"] * 19 + ["old"] * 2)
    b = shifted(0.0, seed=1, shop=["x", "y"] * 19 + ["new"] * 2)
    b["a"][::2] += 5.0
    return put("A.csv", a), put("B.csv", b)


def test_all_files_are_written_before_the_status_is_1(tables, tmp_path):
    names = {"--report": "r.html", "--markdown": "m.md", "--prometheus": "p.prom", "--log": "l.jsonl"}
    options = [word for pair in names.items() for word in pair]
    code, out, _ = run("compare", *tables, *QUICK, *options, "--fail-on-difference")
    assert code == 1
    assert out.splitlines()[-4:] == ["report: r.html", "summary: m.md", "metrics: p.prom", "log: l.jsonl"]
    assert all((tmp_path / name).read_text() for name in names.values())
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["A.csv", "B.csv", *names.values()])


def test_the_log_gets_one_line_for_each_run(tables, tmp_path):
    for seed in ("1", "2"):
        code, out, _ = run("compare", *tables, "--permutations", "19", "--seed", seed, "--log", "night.jsonl", "--json")
        assert code == 0
        assert out.count("\n") == 1
    records = [json.loads(line) for line in (tmp_path / "night.jsonl").read_text().splitlines()]
    assert [record["seed"] for record in records] == [1, 2]
    assert records[0]["columns"] == ["a"]
    assert records[0]["differ"] == json.loads(out)["differ"] is True


def test_groups_are_compared_and_reported(grouped, tmp_path):
    outputs = ["--report", "r.html", "--markdown", "m.md", "--prometheus", "p.prom", "--log", "l.jsonl"]
    code, out, _ = run("compare", *grouped, "--by", "shop", *QUICK, *outputs, "--fail-on-difference")
    assert code == 1
    assert "1 of 2 groups of shop differs between A.csv and B.csv, in x" in out
    record = json.loads((tmp_path / "l.jsonl").read_text())
    assert (record["groups"], record["only_a"], record["only_b"]) == (["x"], ["old"], ["new"])
    assert 'group="x"' in (tmp_path / "p.prom").read_text()
    assert "| x |" in (tmp_path / "m.md").read_text()
    assert "<h1>A.csv and B.csv compared by shop</h1>" in (tmp_path / "r.html").read_text()


def test_columns_that_make_groups_are_read_and_not_compared(grouped):
    code, out, _ = run("compare", *grouped, "--columns", "a", "--by", "shop,b", *QUICK, "--json")
    assert code == 0
    assert json.loads(out)["by"] == ["shop", "b"]
    code, out, _ = run("compare", *grouped, "--columns", "a", "--by", "shop", *QUICK, "--json")
    groups = json.loads(out)["groups"]
    assert {column["name"] for group in groups for column in group["comparison"]["columns"]} == {"a"}


def test_groups_on_a_terminal_are_a_table(grouped):
    text = on_terminal("compare", *grouped, "--by", "shop", *QUICK)
    for part in ("Groups by total variation", "Groups of one table only", "rows moved", "old", "new"):
        assert part in text


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--by", "shp"], "--by: A.csv has no column 'shp' (did you mean 'shop'?); it has 'a', 'b', 'shop'"),
        (["--by", ""], "--by must be the name of a column, or a list of names such as"),
        (["--log", "A.csv"], "'A.csv' is an input; write to another file"),
        (["--log", "none/l.jsonl"], "cannot write 'none/l.jsonl': no such file or directory"),
        (["--prometheus", "B.csv"], "'B.csv' is an input; write to another file"),
        (["--log", "x", "--prometheus", "x"], "--prometheus and --log are both 'x'; write to two files"),
    ],
)
def test_what_cannot_be_written_or_grouped_is_told_before_the_work(grouped, options, line):
    assert refusal("compare", *grouped, *options).startswith(line)


def test_a_log_needs_no_other_file_in_its_folder(tables, tmp_path, monkeypatch):
    """As in /var/log: the file is there, and nothing may be made beside it."""

    def refuse(path):
        raise AssertionError(f"a file beside {path}")

    monkeypatch.setattr("densdiff.io.write.atomic_write", refuse)
    code, _, _ = run("compare", *tables, *QUICK, "--log", "l.jsonl")
    assert code == 0
    assert (tmp_path / "l.jsonl").read_text().count("\n") == 1


def test_half_a_line_does_not_swallow_the_next(tmp_path):
    path = tmp_path / "l.jsonl"
    path.write_text('{"half": ')
    append_line(path, "{}")
    append_line(path, "{}")
    assert path.read_text() == '{"half": \n{}\n{}\n'


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_is_one_sentence():
    with pytest.raises(InputError, match=r"^cannot write '/dev/full': no space left on device$"):
        append_line("/dev/full", "{}")


def test_no_half_written_file_ends_in_prom(tmp_path):
    """node_exporter reads whatever ends in .prom."""
    with atomic_write(tmp_path / "x.prom") as aside:
        aside.write_text("half")
        assert not [path for path in tmp_path.iterdir() if path.name.endswith(".prom")]
    assert (tmp_path / "x.prom").read_text() == "half"
