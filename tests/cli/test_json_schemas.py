"""What --json prints has the published form, and no field of a result is missing from it."""

import json
from dataclasses import fields, replace
from datetime import UTC, datetime
from importlib.resources import files

import numpy as np
import pytest

import densdiff as dd
from densdiff.balance.class_balance import ClassBalanceResult
from densdiff.comparing.batch_results import BatchColumn, BatchDifference, BatchesResult
from densdiff.comparing.findings import ColumnDifference, MissingDifference, PairDifference, RegionDifference
from densdiff.comparing.group_results import GroupDifference, GroupsResult
from densdiff.comparing.log_record import log_line
from densdiff.comparing.results import Comparison
from densdiff.data.match import SchemaChanges
from densdiff.distance.total_variation import TotalVariationResult
from densdiff.estimators.results import DistanceResult
from densdiff.results import Receipt
from densdiff.series.detect import ChangesResult
from densdiff.series.kinds import ChangeKind
from densdiff.testing.two_sample import TwoSampleResult
from tests.command_line import run, shifted

COMMANDS = ("compare", "groups", "track", "log", "changes", "balance", "monitor", "failure")
NOT_JSON = {"picture", "map", "profile", "judged_x", "judged_y", "series", "held"}  # for pictures


def schema_of(command):
    return json.loads((files("densdiff") / "schemas" / f"{command}.json").read_text("utf-8"))


def check(command, content):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed: pip install --group test")
    schema = schema_of(command)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(content)


@pytest.fixture(scope="module")
def found():
    """A comparison with a finding of every sort but a changed schema."""
    tables = dd.datasets.mixed_tables(2000, correlation=0.5, random_state=0)
    a, b = (dict(rows) for rows in (tables.a, tables.b))
    for rows, share in ((a, 0.02), (b, 0.2)):
        rows["visits"] = rows["visits"].astype(float)
        rows["visits"][np.random.default_rng(0).random(2000) < share] = np.nan
        rows["id"] = np.array([f"r{k}" for k in range(2000)], dtype=object)
    b["new"] = b["spend"]
    with pytest.warns(dd.DensDiffWarning):
        return dd.compare(a, b, missing="level", n_permutations=99, random_state=0)


def printed(command, result):
    return json.loads(json.dumps({"schema": 1, "command": command} | result.to_dict()))


def test_a_comparison_with_all_sorts_of_findings_has_the_published_form(found):
    for part in (found.columns, found.pairs, found.regions, found.missing, found.left_out, found.schema_changes.added):
        assert part
    check("compare", printed("compare", found))
    other = SchemaChanges(missing=("gone",), added=(), other_kind=(("zip", "number", "category"),))
    check("compare", printed("compare", replace(found, schema_changes=other)))


def test_groups_have_the_published_form_and_their_comparisons_that_of_compare(found):
    group = GroupDifference("north", 9, 8, found, 0.001, 0.003, True)
    result = GroupsResult(
        differ=True,
        reasons=["group north differs"],
        groups=[group],
        only_a=[("gone", 3)],
        only_b=[("new", 1)],
        not_compared=[("few", 1, 2, "too few rows")],
        by=("region",),
        schema_changes=found.schema_changes,
        names=found.names,
        alpha=0.05,
        min_effect={"spend": 0.1, "*": 0.2},
        **{field.name: getattr(found, field.name) for field in fields(Receipt)},
    )
    content = printed("compare", result)
    check("groups", content)
    check("compare", {"schema": 1, "command": "compare"} | content["groups"][0]["comparison"])
    now = datetime(2026, 1, 31, 3, 0, 7, 123, tzinfo=UTC)
    for each in (result, replace(result, groups=[]), found):
        line = log_line(each, now)
        check("log", json.loads(line))
        assert line.isprintable()
        assert json.loads(line)["time"] == "2026-01-31T03:00:07+00:00"


def test_a_line_of_the_log_of_batches_has_the_schema_with_and_without_a_reference():
    tables = dd.datasets.mixed_tables(60, random_state=0)
    nights = {"May": {"age": tables.a["age"]}, "June": {"age": tables.b["age"]}}
    for some in ({"May": nights["May"]}, nights):
        result = dd.track(some, reference="previous", n_permutations=39, random_state=0)
        record = json.loads(log_line(result, datetime(2026, 1, 31, tzinfo=UTC)))
        check("log", record)
        assert (record["n_batches"], record["n_a"]) == (len(some), 60 if len(some) > 1 else None)


def test_min_effect_may_be_one_for_each_column(found):
    check("compare", printed("compare", replace(found, min_effect={"spend": 0.1, "*": 0.2})))


def test_a_line_of_the_log_stays_short_whatever_names_hold(found):
    name = "n\n\u202e" + "x" * 10_000
    columns = [replace(found.columns[0], name=f"{name}{k}", differs=True) for k in range(50)]
    line = log_line(
        replace(found, columns=columns, names=(name, "b" * 5000), reasons=[name] * 99),
        datetime(2026, 1, 31, tzinfo=UTC),
    )
    check("log", json.loads(line))
    assert "\n" not in line
    assert len(line) < 8192
    assert (json.loads(line)["n_columns"], json.loads(line)["n_reasons"]) == (50, 99)


def test_a_field_that_is_not_published_is_refused(found):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed: pip install --group test")
    for place in (lambda content: content, lambda content: content["columns"][0], lambda content: content["distance"]):
        content = printed("compare", found)
        place(content)["novel"] = 1
        with pytest.raises(jsonschema.ValidationError):
            check("compare", content)


def test_commands_print_what_is_published(tables, put):
    code, out, _ = run("compare", *tables, "--permutations", "19", "--seed", "1", "--json")
    assert code == 0
    check("compare", json.loads(out))
    groups = [put(f"{name}.csv", shifted(0.0, group=["x", "y"] * 20)) for name in "AB"]
    code, out, _ = run("compare", *groups, "--by", "group", "--permutations", "19", "--seed", "1", "--json")
    assert (code, out.count("\n")) == (0, 1)
    check("groups", json.loads(out))
    code, out, _ = run("track", "first", *groups, "--permutations", "19", "--seed", "1", "--json")
    assert (code, out.count("\n")) == (0, 1)
    check("track", json.loads(out))
    random = np.random.default_rng(0)
    series = {"stamp": [f"2026-01-01T00:{k // 60:02d}:{k % 60:02d}" for k in range(400)]}
    series["x"] = np.concatenate([random.normal(size=200), random.normal(size=200) + 4])
    for options in (["--columns", "x"], ["--time", "stamp"]):
        code, out, _ = run("changes", put("s.csv", series), *options, "--seed", "1", "--json")
        assert code == 0
        check("changes", json.loads(out))
        assert len(json.loads(out)["changes"]) == 1
    labelled = {"x": series["x"], "y": np.repeat(["ill", "well"], 200)}
    code, out, _ = run(
        "balance", put("t.csv", labelled), put("n.csv", {"x": series["x"][100:]}), "--label", "y", "--json"
    )
    assert code == 0
    check("balance", json.loads(out))


@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", "A.csv", "none.csv", "--json"],
        ["compare", "A.csv", "--json"],
        ["changes", "A.csv", "--window", "1", "--json"],
        ["balance", "A.csv", "B.csv", "--label", "y", "--json"],
        ["compre", "--json"],
        ["--json"],
        ["monitor", "A.csv", "--json"],
    ],
)
def test_failures_have_the_published_form(arguments, tables):
    code, out, err = run(*arguments)
    assert code == 2
    content = json.loads(out)
    check("failure", content)
    assert content["command"] == (
        arguments[0] if arguments[0] in ("compare", "changes", "balance", "monitor") else None
    )
    assert err.splitlines()[-1] == f"densdiff: {content['error']['message']}"


def properties(schema, part):
    """Names of the fields of an object of a schema, with those of every result."""
    names = set(part["properties"])
    for other in part.get("allOf", ()):
        names |= properties(schema, schema["$defs"][other["$ref"].rpartition("/")[2]])
    return names


@pytest.mark.parametrize(
    ("result", "command", "part"),
    [
        (Comparison, "compare", None),
        (ColumnDifference, "compare", "column"),
        (PairDifference, "compare", "pair"),
        (RegionDifference, "compare", "region"),
        (MissingDifference, "compare", "missing"),
        (SchemaChanges, "compare", "schema_changes"),
        (GroupsResult, "groups", None),
        (GroupDifference, "groups", "group"),
        (SchemaChanges, "groups", "schema_changes"),
        (BatchesResult, "track", None),
        (BatchDifference, "track", "batch"),
        (BatchColumn, "track", "column"),
        (TotalVariationResult, "compare", "total_variation"),
        (DistanceResult, "compare", "distance"),
        (TwoSampleResult, "compare", "test"),
        (ChangeKind, "changes", "kind"),
        (ChangesResult, "changes", None),
        (ClassBalanceResult, "balance", None),
        *((Receipt, command, "receipt") for command in ("compare", "groups", "track", "changes", "balance")),
    ],
)
def test_every_field_of_a_result_is_published(result, command, part):
    schema = schema_of(command)
    published = properties(schema, schema if part is None else schema["$defs"][part])
    own = {field.name for field in fields(result)} - NOT_JSON
    assert own <= published, f"add to schemas/{command}.json: {sorted(own - published)}"
    added = {"schema", "command", "answer", "reasons"} if part is None else set()
    assert published - added <= own, f"no longer a field: {sorted(published - added - own)}"


@pytest.mark.parametrize("command", COMMANDS)
def test_schemas_forbid_what_they_do_not_name(command):
    def visit(part):
        if isinstance(part, dict):
            if "properties" in part and part != schema["$defs"].get("receipt", None):
                assert part.get("additionalProperties", part.get("unevaluatedProperties")) is False
            for entry in part.values():
                visit(entry)

    schema = {"$defs": {}} | schema_of(command)
    visit(schema)
