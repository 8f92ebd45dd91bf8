"""`densdiff track`: histories, exit codes and refusals."""

import json

import pytest

import densdiff as dd
from tests.command_line import refusal, run, shifted

OPTIONS = ("--permutations", "39", "--seed", "1")


@pytest.fixture
def days(put):
    """A reference, and three days of which the last differs."""
    return [put(f"{name}.csv", shifted(shift)) for name, shift in (("ref", 0.0), ("d1", 0.0), ("d2", 0.0), ("d3", 6.0))]


def test_a_history_goes_on_and_only_new_batches_fail(days, tmp_path):
    file = tmp_path / "history.json"
    code, out, _ = run("track", *days[:3], "--history", file, *OPTIONS, "--fail-on-difference")
    assert (code, "None of 2 batches differs from ref.csv" in out) == (0, True)
    again = ("track", *days, "--history", file, "--permutations", "39", "--fail-on-difference")
    code, out, _ = run(*again)
    assert (code, out.splitlines()[0]) == (1, "1 of 3 batches differs; since d3, most in a")
    assert run(*again)[0] == 0
    kept = dd.BatchesResult.from_json(file.read_text("utf-8"))
    assert [batch.label for batch in kept.batches] == ["d1", "d2", "d3"]


def test_the_batch_before_is_a_reference_too(days):
    code, out, _ = run("track", "previous", *days[1:], *OPTIONS, "--json")
    assert (code, json.loads(out)["began"], json.loads(out)["reference"]) == (0, "d3", "previous")


def test_a_file_that_is_no_history_is_refused_and_kept(days, tmp_path):
    file = tmp_path / "history.json"
    file.write_text("[]")
    assert "is no history that --history wrote" in refusal("track", *days, "--history", file)
    assert file.read_text() == "[]"


def test_a_bad_batch_is_named(days, put):
    put("bad.csv", {"x": [1.0]})
    code, out, _ = run("track", *days[:2], "bad.csv", *OPTIONS, "--json")
    assert code == 2
    assert json.loads(out)["error"]["file"] == "bad.csv"
    assert json.loads(out)["error"]["message"].startswith("batch 'bad': ")


def test_metrics_and_log_are_of_the_latest_batch(days, tmp_path):
    prometheus, log = tmp_path / "night.prom", tmp_path / "night.jsonl"
    code, out, _ = run("track", *days, *OPTIONS, "--prometheus", prometheus, "--log", log, "--json")
    result = json.loads(out)
    latest = result["batches"][-1]
    record = json.loads(log.read_text("utf-8"))
    assert (code, record["command"], record["names"], record["differ"]) == (0, "track", ["ref.csv", "d3"], True)
    assert (record["pvalue"], record["total_variation"]) == (latest["pvalue_adjusted"], latest["total_variation"])
    assert (record["n_batches"], record["n_changed"], record["began"], record["columns"]) == (3, 1, "d3", ["a"])
    lines = prometheus.read_text("utf-8").splitlines()
    assert 'densdiff_batches_differ{reference="ref.csv"} 1.0' in lines
    assert f'densdiff_batch_total_variation{{reference="ref.csv"}} {latest["total_variation"]!r}' in lines
    first = result["columns"][0]
    labels = f'{{reference="ref.csv",column="{first["name"]}"}}'
    assert f"densdiff_batch_column_pvalue_adjusted{labels} {first['pvalue_adjusted'][-1]!r}" in lines
