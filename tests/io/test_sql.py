"""Tables and queries of SQLite: what is read is what Python's own sqlite3 reads; nothing is written; names are safe."""

import itertools
import pickle
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest
import sklearn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import densdiff as dd
from densdiff.errors import InputError
from densdiff.io import files
from densdiff.io.streams import TableStream
from tests.command_line import run

pytest.importorskip("adbc_driver_sqlite", reason="the extra sql is not installed")
CELLS = [st.none(), st.integers(-(2**40), 2**40), st.floats(-1e9, 1e9), st.text(max_size=5), st.binary(max_size=5)]
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
numbered = itertools.count()


@pytest.fixture
def database(tmp_path):
    """A function that makes a database of tables, each a list of rows, and gives its address."""

    def make(name="shop.db", **tables):
        path = tmp_path / name
        with closing(sqlite3.connect(path)) as connection:
            for table, (names, rows) in tables.items():
                connection.execute(f'create table "{table}" ({", ".join(names)})')
                connection.executemany(f'insert into "{table}" values ({", ".join("?" * len(names))})', rows)
            connection.commit()
        return f"sqlite:///{path}"

    return make


def refusal(call, *arguments, **options):
    with pytest.raises(InputError) as caught:
        call(*arguments, **options)
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_a_query_is_a_lazy_table(database):
    uri = database(orders=(["price real", "city text"], [(1.5, "Ulm"), (None, "Bonn")]))
    table = dd.sql(f"{uri}?table=orders")
    assert isinstance(table, TableStream)
    assert (table.names, table.is_repeatable, repr(table)) == (["price", "city"], False, "orders")
    assert pa.table(table).to_pydict() == {"price": [1.5, None], "city": ["Ulm", "Bonn"]}
    assert [batch.to_pydict() for batch in table.batches(["city"])] == [{"city": ["Ulm", "Bonn"]}]
    assert pickle.loads(pickle.dumps(table)).names == table.names
    assert files.table(f"{uri}?table=orders", columns=["city"]).to_pydict() == {"city": ["Ulm", "Bonn"]}


@in_one_folder
@given(kinds=st.lists(st.sampled_from(CELLS[1:]), min_size=1, max_size=3), data=st.data())
def test_every_value_is_the_one_that_python_reads(tmp_path, kinds, data):
    rows = data.draw(st.lists(st.tuples(*(st.none() | kind for kind in kinds)), min_size=1, max_size=9))
    path = tmp_path / f"{next(numbered)}.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"create table t ({', '.join(f'c{j}' for j in range(len(kinds)))})")
        connection.executemany(f"insert into t values ({', '.join('?' * len(kinds))})", rows)
        connection.commit()
    table = files.table(f"sqlite:///{path}?table=t")
    assert list(zip(*table.to_pydict().values(), strict=True)) == rows


@in_one_folder
@given(table=NAMES, column=NAMES)
def test_names_of_any_kind_are_quoted(tmp_path, table, column):
    path = tmp_path / f"{next(numbered)}.db"
    wrapped = ['"' + name.replace('"', '""') + '"' for name in (table, column)]
    try:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"create table {wrapped[0]} ({wrapped[1]} int)")
            connection.execute(f"insert into {wrapped[0]} values (7)")
            connection.commit()
    except sqlite3.Error:  # such as names that begin with sqlite_
        return
    encoded = "".join(f"%{byte:02X}" for byte in table.encode())
    assert files.table(f"sqlite:///{path}?table={encoded}", columns=[column]).to_pydict() == {column: [7]}


def test_the_name_of_a_table_cannot_be_more_than_a_name(database):
    uri = database(orders=(["a"], [(1,)]))
    for name in ('orders"; drop table orders; --', "orders where 1=0", "(select 1)", "orders, orders"):
        assert "has no table" in refusal(files.table, f"{uri}?table={name}")
    assert files.table(f"{uri}?table=main.orders").num_rows == 1
    assert files.table(f"{uri}?table=orders").num_rows == 1


@pytest.mark.hostile(60)
def test_the_type_of_a_column_is_that_of_all_its_rows(database):
    n = 40_000
    rows = [
        (None if i < 30_000 else i + 0.5, i if i < 35_000 else i + 0.25, None, "x" if i > 20_000 else None, i % 2)
        for i in range(n)
    ]
    names = ["late", "later", "never", "word", "flag boolean"]
    table = files.table(database(t=(names, rows)) + "?table=t")
    assert [str(field.type) for field in table.schema] == ["double", "double", "null", "string", "int64"]
    assert list(zip(*table.to_pydict().values(), strict=True)) == rows


@pytest.mark.hostile(60)
@pytest.mark.parametrize(
    ("usual", "other", "says"),
    [
        (
            1,
            "n/a",
            "holds numbers up to row 4999 and text in row 5000: 'n/a'; select it as one type, as CAST(\"a\" AS REAL)",
        ),
        (
            0.5,
            b"\0",
            "holds numbers up to row 4999 and bytes in row 5000: '00'; select it as one type, as CAST(\"a\" AS REAL)",
        ),
        (
            "x",
            3,
            "holds text up to row 4999 and numbers in row 5000: '3'; select it as one type, as CAST(\"a\" AS TEXT)",
        ),
    ],
)
def test_a_column_whose_type_changes_is_named_with_its_row(database, usual, other, says):
    uri = database(t=(["a", "b"], [(other if i == 5000 else None if i < 3 else usual, i) for i in range(6000)]))
    with pytest.raises(InputError) as caught:
        dd.compare(f"{uri}?table=t", f"{uri}?table=t")
    assert str(caught.value) == f"column 'a' of t {says}"
    assert (caught.value.column, caught.value.row, caught.value.file) == ("a", 5000, "t")
    assert files.table(f"{uri}?table=t", columns=["b"]).num_rows == 6000  # a column that nobody asks for harms nobody


def test_rows_come_in_the_order_of_the_query(database):
    values = np.random.default_rng(0).permutation(50_000).tolist()
    uri = database(t=(["a", "b"], [(value, str(value)) for value in values]))
    query = dd.sql(uri, "select * from t order by a desc -- all of them\n;")
    assert pa.table(query)["a"].to_pylist() == sorted(values, reverse=True)
    assert pa.table(dd.sql(f"{uri}?table=t"))["a"].to_pylist() == values


def test_a_query_is_taken_as_it_stands_or_percent_encoded(database):
    uri = database(t=(["a"], [("50% & more",), ("+",)]))
    assert files.table(f"{uri}?query=select * from t where a like '%20%' or a like '50% &%'").num_rows == 1
    assert files.table(f"{uri}?query=select%20*%20from%20t%20where%20a%3D'%2B'").to_pydict() == {"a": ["+"]}
    assert files.table(f"{uri}?query=with x as (values (1), (2)) select * from x").num_rows == 2


def test_nothing_is_written(database, tmp_path):
    uri = database(t=(["a"], [(1,)]))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for query in (
        "delete from t",
        "insert into t values (2) returning a",
        "create table u (a)",
        f"attach '{tmp_path}/new.db' as n",
        "pragma user_version = 7",
        f"select 1) ; attach '{tmp_path}/new.db' as n; --",
        "select 1; delete from t",
    ):
        assert "cannot be read: " in refusal(files.table, f"{uri}?query={query}")
    assert refusal(files.table, f"sqlite:///{tmp_path}/none.db?table=t").startswith(
        "none.db does not exist in the folder "
    )
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.hostile(50)
def test_row_50_what_is_not_there_is_named(database, put, tmp_path):
    uri = database(orders=(["price"], [(1.0,)]), none=(["a"], []))
    assert (
        refusal(files.table, f"{uri}?table=order")
        == "shop.db has no table 'order' (did you mean 'orders'?); it has 'none', 'orders'"
    )
    assert (
        refusal(files.table, f"{uri}?query=select * from orderz")
        == "query of shop.db cannot be read: no such table: orderz"
    )
    assert refusal(files.table, f"{uri}?query=selec 1 a") == 'query of shop.db cannot be read: near "1": syntax error'
    assert refusal(files.table, f"{uri}?table=none") == "none has 0 data rows"
    assert (
        refusal(files.table, f"{uri}?table=orders", columns=["prize"])
        == "orders has no column 'prize' (did you mean 'price'?); it has 'price'"
    )
    assert (
        refusal(files.table, f"{uri}?query=select 1 as a, 2 as a")
        == "query of shop.db has more than one column named 'a'; give the others another name by AS"
    )
    need = "shop.db is a database, and a table in it is needed: end its address in ?table=NAME or ?query=select ..."
    assert refusal(files.table, uri) == refusal(dd.sql, uri) == need
    assert (
        refusal(dd.sql, f"{uri}?table=a&table=b")
        == "the address of shop.db names more than one table or query; name one"
    )
    assert refusal(dd.sql, f"{uri}?table=a", "select 1").startswith(
        "both the address of shop.db and query say what to read"
    )
    assert (
        refusal(dd.sql, f"{uri}?mode=rw&table=a")
        == "the address of shop.db has an unknown part 'mode'; name a table by ?table="
    )
    assert refusal(dd.sql, "shop.db", "select 1").startswith("the address of a database is needed, such as sqlite:///")
    assert (
        refusal(dd.sql, "sqlite://shop.db?table=a")
        == "'sqlite://shop.db' needs a third slash before the path: sqlite:///shop.db"
    )
    assert refusal(dd.sql, f"sqlite:///{put('a,b', 'B.csv')}?table=a") == "B.csv is not a SQLite database"
    assert refusal(dd.sql, f"sqlite:///{tmp_path}?table=a").endswith("is a folder, and a SQLite database is a file")
    bad = database("bad.db", t=(["a"], [(1,)]))
    assert "Invalid UTF8" in refusal(files.table, f"{bad}?query=select cast(x'ff' as text) as a")


@pytest.mark.hostile(52)
def test_row_52_a_database_given_as_a_table_is_named_as_what_it_is(database):
    path = database(t=(["a"], [(1,)])).removeprefix("sqlite:///")
    says = "shop.db is a SQLite database; name a table in it by its address, sqlite:///PATH?table=NAME"
    assert refusal(files.table, path) == says
    assert refusal(dd.compare, path, path) == says


def test_a_password_is_in_no_message_and_no_repr():
    query = dd.sql("postgresql://me:geheim@127.0.0.1:1/shop?table=t")
    assert "geheim" not in repr([query, query.database])
    for uri in (
        "postgresql://me:geheim@127.0.0.1:1/shop?table=t",
        "postgresql://me:ge%68eim@127.0.0.1:1/shop?table=t",
        "postgresql://127.0.0.1:1/shop?user=me&password=geheim&table=t",
        "postgresql://me:x@127.0.0.1:1/shop?sslpassword=geheim&table=t",
        "postgresql://me:x/geheim@127.0.0.1:1/shop?table=t",
        "postgresql://me:geheim?x@127.0.0.1:1/shop?table=t",
        "postgresql://me:geheim@127.0.0.1:geheim/shop?table=t",
    ):
        with pytest.raises(InputError) as caught:
            dd.sql(uri).whole()
        assert "geheim" not in str(caught.value)
        assert caught.value.__cause__ is None
        for extra in ([], ["--debug"], ["--json"]):
            code, out, err = run("compare", uri, "B.csv", *extra)
            assert code == 2
            assert "geheim" not in out + err


def test_the_command_line_compares_tables_of_a_database(database, tmp_path):
    random = np.random.default_rng(0)
    rows = {name: random.normal(shift, size=(60, 2)).tolist() for name, shift in (("jan", 0), ("feb", 3))}
    uri = database(**{name: (["a", "b"], table) for name, table in rows.items()})
    options = ["--permutations", 39, "--seed", 0]
    code, out, err = run("compare", f"{uri}?table=jan", f"{uri}?table=feb", *options)
    assert (code, err) == (0, "")
    assert "for feb to look like jan" in out
    assert str(dd.compare(rows["jan"], rows["feb"], n_permutations=39, random_state=0).distance.squared)
    code, out, _ = run("compare", f"{uri}?query=select * from jan", f"{uri}?query=select * from feb", *options)
    assert code == 0
    assert "for query of shop.db (B) to look like query of shop.db (A)" in out
    code, _, err = run("compare", f"{uri}?table=jan", f"{uri}?table=feb", "--report", uri.removeprefix("sqlite:///"))
    assert (code, "is an input; write to another file" in err) == (2, True)
    assert run("changes", f"{uri}?table=jan", "--seed", 0)[0] == 0
    assert (
        run("balance", f"{uri}?query=select a, b > 0 as c from jan", f"{uri}?table=feb", "--label", "c", "--seed", 0)[0]
        == 0
    )
    assert run("monitor", f"{uri}?table=jan", "--window", 5, given="a,b\n1,2\n")[0] == 0


def test_a_database_gives_the_answer_of_the_same_rows_in_memory(database):
    random = np.random.default_rng(1)
    tables = [random.normal(shift, size=(50, 2)) for shift in (0, 1)]
    uri = database(a=(["x", "y"], tables[0].tolist()), b=(["x", "y"], tables[1].tolist()))
    frames = [dict(zip("xy", table.T, strict=True)) for table in tables]
    answers = [
        dd.compare(*pair, names=("A", "B"), n_permutations=39, random_state=0).to_dict()
        for pair in (frames, [f"{uri}?table=a", f"{uri}?table=b"], [dd.sql(uri, f"select * from {t}") for t in "ab"])
    ]
    assert answers[0] == answers[1] == answers[2]
    named = [
        dd.compare(*pair, n_permutations=39, random_state=0).names
        for pair in (
            [f"{uri}?table=a", f"{uri}?table=b"],
            [dd.sql(f"{uri}?table=a"), dd.sql(uri, "select * from b")],
            [dd.sql(uri, "select * from a"), dd.sql(uri, "select * from b")],
        )
    ]
    assert named == [("a", "b"), ("a", "query of shop.db"), ("A", "B")]


def test_rows_beyond_the_memory_ceiling_are_kept_in_a_file_with_a_note(database):
    random = np.random.default_rng(2)
    tables = [random.normal(shift, size=(30_000, 2)) for shift in (0, 1)]
    uri = database(a=(["x", "y"], tables[0].tolist()), b=(["x", "y"], tables[1].tolist()))
    model = dd.LSDD(solver="centers", n_centers=10, folds=2, random_state=0)
    with sklearn.config_context(working_memory=1):
        result = dd.l2_distance(f"{uri}?table=a", dd.sql(f"{uri}?table=b"), model=model)
    assert sum("read once into a temporary file: 30000 rows" in note for note in result.warnings) == 2
    assert result.squared == pytest.approx(dd.l2_distance(*tables, model=model).squared, rel=1e-9)


def test_without_the_driver_the_message_says_what_to_install(database):
    uri = database(t=(["a"], [(1,)]))
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['adbc_driver_sqlite', 'adbc_driver_postgresql']))\n"
        "import densdiff as dd\n"
        f"for uri in ({uri!r}, 'postgresql://x/y'):\n"
        "    try: dd.sql(uri, 'select 1 as a').names\n"
        "    except dd.MissingExtraError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        'reading from SQLite needs adbc-driver-sqlite: pip install "densdiff[sql]"\n'
        'reading from PostgreSQL needs adbc-driver-postgresql: pip install "densdiff[sql]"\n'
    )
