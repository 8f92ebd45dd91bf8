"""PostgreSQL, by a server of the tests' own: types, a transaction that cannot write, failures in one sentence."""

import datetime
import subprocess
import sys

import pytest

import densdiff as dd
from densdiff.errors import InputError
from densdiff.io import files
from tests import postgresql
from tests.command_line import refusal, run

pytest.importorskip("adbc_driver_postgresql", reason="the extra sql is not installed")
pytestmark = pytest.mark.service
PEAK = """
import sys, densdiff as dd
uri, count = sys.argv[1], 0
for batch in dd.sql(uri).batches(None):
    count += batch.num_rows
answers = dd.LSDD(solver="centers", n_centers=20, folds=2, random_state=0).fit(uri, uri)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
print(count, int(peak) // 1024)
"""


@pytest.fixture(scope="session")
def server():
    """The address of a database and a function that writes to it."""
    try:
        with postgresql.running_server() as started:
            yield started
    except postgresql.NoServer as error:
        pytest.skip(f"no PostgreSQL server can be started: {error}")


@pytest.fixture(scope="session")
def uri(server):
    return server[0]


@pytest.fixture(scope="session")
def orders(server):
    """The address, with tables of orders."""
    uri, write = server
    write(
        "create table orders as select i, (i * 7919 % 1000) / 10.0 as price, 'c' || i % 3 as city "
        "from generate_series(1, 400) i",
        'create schema "my schema"',
        'create table "my schema"."Or""ders" as select 1 as "a%b", 2.5::numeric as "B"',
        "create sequence counter",
    )
    return uri


def said(call, *arguments):
    with pytest.raises(InputError) as caught:
        call(*arguments)
    assert str(caught.value).isprintable()
    assert "secret" not in str(caught.value)
    return str(caught.value)


def test_every_type_becomes_a_number_a_text_or_a_date(server):
    uri, write = server
    write(
        "create type mood as enum ('glad', 'sad')",
        "create table kinds (i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, n numeric(12, 2), b bool, t text, "
        "v varchar(9), d date, z timestamptz, u uuid, j json, jb jsonb, m mood, y bytea, e money, iv interval, "
        "ip inet)",
        "insert into kinds select from generate_series(1, 3000)",  # missing in the first batches
        "insert into kinds values (1, 2, 3, 0.5, 2.5, 1234567890.12, true, 'x', 'y', '2024-02-29', "
        "'2024-02-29 12:00+02', '00000000-0000-0000-0000-000000000001', '[1]', '{\"a\": 1}', 'sad', '\\x0102', '12.5', "
        "'1 hour', '10.0.0.1')",
    )
    table = files.table(f"{uri}?query=select * from kinds")
    row = {name: values[-1] for name, values in table.slice(3000).to_pydict().items()}
    assert table.num_rows == 3001
    assert all(column.null_count == 3000 for column in table.columns)
    assert str(row.pop("z").astimezone(datetime.UTC)) == "2024-02-29 10:00:00+00:00"
    assert row == {
        "i2": 1, "i4": 2, "i8": 3, "f4": 0.5, "f8": 2.5, "n": 1234567890.12, "b": True, "t": "x", "v": "y",
        "d": datetime.date(2024, 2, 29), "u": "00000000-0000-0000-0000-000000000001", "j": "[1]", "jb": '{"a": 1}',
        "m": "sad", "y": b"\1\2", "e": 12.5, "iv": 3600.0, "ip": "10.0.0.1/32",
    }  # fmt: skip
    assert str(table.schema.field("n").type) == "double"
    arrays = f"{uri}?query=select i::float as a, array[i] as tags from generate_series(1, 30) i"
    assert "tags" in said(dd.compare, arrays, arrays)


def test_tables_are_found_by_schema_and_quoted_name(orders):
    table = files.table(f"{orders}?table=my%20schema.Or%22ders", columns=["B", "a%b"])
    assert table.to_pydict() == {"B": [2.5], "a%b": [1]}
    assert files.table(f"{orders}?table=public.orders", columns=["city"]).column_names == ["city"]
    text = said(files.table, f"{orders}?table=Orders")
    assert text.startswith("postgres has no table 'Orders' (did you mean 'orders'?); it has ")
    assert "'my schema.Or\"ders'" in text


def test_nothing_can_be_written(server, orders):
    _, write = server
    for query in (
        "delete from orders",
        "with gone as (delete from orders returning *) select * from gone",
        "select nextval('counter')",
        "select set_config('transaction_read_only', 'off', false)",
        "select 1; delete from orders",
        "select 1) as x; delete from orders; --",
    ):
        said(files.table, f"{orders}?query={query}")
    sneaky = dd.sql(
        f"{orders}?query=select set_config('default_transaction_read_only', 'off', false), nextval('counter')"
    )
    for _ in range(2):
        assert "read-only transaction" in said(sneaky.whole)
    assert files.table(f"{orders}?query=select lo_create(0)").num_rows == 1  # a gap of old servers, and undone
    assert write("select count(*) from pg_largeobject_metadata") == [(0,)]
    assert write("select count(*) from orders") == [(400,)]


@pytest.mark.hostile(50)
def test_row_50_failures_are_one_sentence_without_the_password(orders, uri):
    at = uri.partition("@")[2]
    wrong = f"postgresql://tester:geheim@{at}?table=orders"
    text = said(files.table, wrong)
    assert text.startswith("the database postgres cannot be opened: connection to server at ")
    assert text.endswith('password authentication failed for user "tester"')
    assert "geheim" not in text
    assert said(files.table, f"{uri}?query=select prize from orders") == (
        'query of postgres cannot be read: column "prize" does not exist'
    )
    assert said(files.table, f"{uri}?query=select 1 / (i - 300) from orders") == (
        "query of postgres cannot be read: division by zero"
    )
    assert "cannot be opened" in said(files.table, f"{uri.rpartition('/')[0]}/none?table=orders")
    line = refusal("compare", f"{uri}?query=select 1 / (i - 300) as a from orders", f"{uri}?table=orders", "--seed", 0)
    assert line.endswith("cannot be read: division by zero")
    for option in ("--debug", "--json"):
        code, out, err = run("compare", wrong, wrong, option)
        assert code == 2
        assert "geheim" not in out + err


def test_a_password_may_come_from_the_environment(orders, uri, monkeypatch):
    bare = f"postgresql://tester@{uri.partition('@')[2]}?table=orders"
    assert "no password supplied" in said(files.table, bare)
    monkeypatch.setenv("PGPASSWORD", postgresql.PASSWORD)
    assert files.table(bare).num_rows == 400


@pytest.mark.hostile(50)
def test_a_connection_that_is_cut_is_told_and_never_taken_for_the_end(server):
    uri, write = server
    query = dd.sql(uri, "select i, repeat('x', 200) as t from generate_series(1, 2000000) i")
    batches = query.batches(None)
    first = next(batches)
    cut = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'densdiff'"
    assert (True,) in write(cut)
    with pytest.raises(InputError, match=r"^query of postgres cannot be read after \d+ rows: ") as caught:
        sum(batch.num_rows for batch in batches)
    assert first.num_rows < 2_000_000
    assert "secret" not in str(caught.value)


def test_the_answer_is_that_of_the_same_rows_in_memory(orders):
    halves = [f"select price::float8, city from orders where i % 2 = {part} order by i" for part in (0, 1)]
    tables = [files.table(f"{orders}?query={query}") for query in halves]
    options = {"names": ("A", "B"), "n_permutations": 39, "random_state": 0}
    expected = dd.compare(*tables, **options).to_dict()
    assert dd.compare(*(dd.sql(orders, query) for query in halves), **options).to_dict() == expected


def test_a_million_rows_take_bounded_memory(server):
    uri, write = server
    columns = ", ".join(f"random() as c{j}" for j in range(10))
    write(f"create table if not exists large as select {columns} from generate_series(1, 1000000)")
    command = [sys.executable, "-c", PEAK, f"{uri}?table=large"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    count, peak = map(int, done.stdout.split())
    assert count == 1_000_000
    assert peak < 1024
