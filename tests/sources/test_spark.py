"""Data frames of Spark give the answers of their rows."""

import os
import shutil
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import densdiff as dd
from densdiff.data.table import table_of
from densdiff.sources.opening import source_of
from tests.command_line import silently

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
pytestmark = [
    pytest.mark.service,
    pytest.mark.skipif(shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="there is no Java"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of its own code
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets to its Java
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
N, M = 3000, 2000


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        options = {"spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC", "spark.driver.memory": "1g"}
        session = SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


def rows(n, shift=0.0):
    random = np.random.default_rng([n, int(10 * shift)])
    words = np.where(random.random(n) < 0.3, "u", "v").tolist()
    return pa.table({"x.1": random.normal(size=n) + shift, "`y`": random.normal(size=n), "word": words})


def on_spark(spark, table, partitions=3):
    """The rows of a table in their order."""
    columns = [column.to_pylist() for column in table.columns]
    named = spark.createDataFrame(list(zip(*columns, strict=True)), [f"c{j}" for j in range(len(columns))])
    return named.coalesce(1).toDF(*table.column_names) if partitions == 1 else named.toDF(*table.column_names)


@pytest.mark.parametrize("room", [1e9, 1000.0])
def test_the_answers_are_those_of_the_rows(spark, monkeypatch, room):
    monkeypatch.setattr("densdiff.io.memory.room", lambda: room)
    monkeypatch.setattr("densdiff.io.memory.VALUES", 3000)
    a, b = rows(N), rows(M, 0.2)
    frames = on_spark(spark, a), on_spark(spark, b)
    expected = dd.l2_distance(a, b, random_state=0)
    found = dd.l2_distance(*frames, random_state=0)
    assert found.squared == pytest.approx(expected.squared, rel=1e-9)
    assert any("X is lazy" in note for note in found.warnings) == (room == 1000.0)
    options = {"columns": ["x*", "word"], "n_permutations": 19, "random_state": 0}
    compared = silently(dd.compare, *frames, **options)
    assert compared.distance.squared == pytest.approx(silently(dd.compare, a, b, **options).distance.squared, rel=1e-9)
    assert {column.name for column in compared.columns} == {"x.1", "word"}


def test_decimals_dates_and_missing_values_are_read(spark):
    values = [(Decimal("0.35"), None, True), (None, 2.5, None)] * 5
    frame = spark.createDataFrame(values, "money decimal(12, 2), gap double, flag boolean")
    table = table_of(source_of(frame, "X", table_of).head(), "X")
    assert [column.kind for column in table.columns] == ["numbers", "numbers", "booleans"]
    np.testing.assert_array_equal(table.columns[0].values, [0.35, np.nan] * 5)
    np.testing.assert_array_equal(table.columns[1].values, [np.nan, 2.5] * 5)


def test_what_spark_refuses_is_one_sentence(spark):
    frame = spark.range(5).selectExpr("raise_error('enough of it') as x")
    with pytest.raises(dd.InputError, match=r"^X cannot be read: [^\n]+$"):
        dd.l2_distance(frame, [1.0, 2.0])
    with pytest.raises(dd.InputError, match=r"^X has 0 (data )?rows"):
        dd.l2_distance(spark.range(0), [1.0, 2.0])
