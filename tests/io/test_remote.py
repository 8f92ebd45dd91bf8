"""Files at addresses, from servers on this machine: read as if they lay here, or refused without telling a secret."""

import errno
import gzip
import http.server
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import densdiff as dd
from densdiff.errors import InputError
from densdiff.io import files
from tests.command_line import refusal, run

pytest.importorskip("aiohttp", reason="the extra remote is not installed")
ROWS = "a,b\n" + "".join(f"{i * i % 31},{i % 7}\n" for i in range(60))
PAGE = b"<!DOCTYPE html>\n<html><body>Please log in</body></html>"


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers by the last part of the path."""

    def do_GET(self):
        name = self.path.partition("?")[0].rpartition("/")[2]
        if name in ("redirect.csv", "denied.csv"):
            self.send_response(302 if name == "redirect.csv" else 403)
            self.send_header("Location", "/other/x.csv")
            self.end_headers()
            return
        if name == "login.csv" and self.headers.get("Authorization") != "Basic bWU6Z2VoZWlt":  # me:geheim
            self.send_error(401)
            return
        content = self.server.contents.get("x.csv" if name == "login.csv" else name)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content) + 1000 * (name == "cut.csv")))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    """The address of a server with a few files."""
    folder = tmp_path_factory.mktemp("web")
    table = pa.table({"a": [i * i % 31 for i in range(60)], "b": [i % 7 for i in range(60)]})
    pq.write_table(table, folder / "x.parquet")
    packed = gzip.compress(ROWS.encode(), mtime=0)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    parquet = (folder / "x.parquet").read_bytes()
    server.contents = {"x.csv": ROWS.encode(), "x.parquet": parquet, "x.csv.gz": packed, "cut.csv": ROWS.encode()}
    server.contents |= {"download": parquet, "page.csv": PAGE, "page.parquet": PAGE, "empty.csv": b""}
    server.contents |= {"up%2Fx.csv": ROWS.encode()}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """The folder for temporary files, empty after each test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def said(*arguments, **options):
    with pytest.raises(InputError) as caught:
        files.table(*arguments, **options)
    text = str(caught.value)
    assert text.isprintable()
    assert "geheim" not in text
    return text


def test_every_format_is_read_from_an_address(web):
    expected = {"a": [i * i % 31 for i in range(60)], "b": [i % 7 for i in range(60)]}
    for name in (
        "x.csv",
        "x.parquet",
        "x.csv.gz",
        "download?id=3",
        "redirect.csv",
        "x.csv?token=geheim",
        "up%2Fx.csv",
    ):
        assert files.table(f"{web}/some/{name}").to_pydict() == expected, name
    login = web.replace("://", "://me:geheim@")
    assert files.table(f"{login}/login.csv", columns=["b"]).column_names == ["b"]


def test_what_was_fetched_lives_as_long_as_it_is_needed(web, temporary):
    file = files.open_file(f"{web}/x.csv")
    assert file.name == "x.csv"
    assert len(list(temporary.iterdir())) == 1
    blocks = iter(file)
    del file
    assert sum(len(block) for block in blocks) == 60
    del blocks
    assert list(temporary.iterdir()) == []


def test_what_was_fetched_is_gone_when_the_process_ends(web, temporary):
    code = f"from densdiff.io import files; kept = files.open_file({web + '/x.csv'!r}); print(kept.names)"
    options = {"capture_output": True, "text": True, "env": {"TMPDIR": str(temporary)}}
    done = subprocess.run([sys.executable, "-c", code], check=True, **options)
    assert done.stdout == "['a', 'b']\n"


@pytest.mark.hostile(51)
def test_row_51_what_cannot_be_had_is_told_without_a_secret(web):
    assert said(f"{web}/none.csv?token=geheim") == f"{web}/none.csv does not exist"
    check = "check the login in the address"
    assert (
        said(f"{web}/denied.csv") == f"{web}/denied.csv cannot be fetched: the server answered 403 Forbidden; {check}"
    )
    login = web.replace("://", "://you:geheim@")
    assert (
        said(f"{login}/login.csv")
        == f"{web}/login.csv cannot be fetched: the server answered 401 Unauthorized; {check}"
    )
    page = "is a web page, not a table; is the address right, and does it need a login?"
    assert said(f"{web}/page.csv") == f"{web}/page.csv {page}"
    assert said(f"{web}/page.parquet?token=geheim") == f"{web}/page.parquet {page}"
    assert said(f"{web}/empty.csv") == "empty.csv is empty"
    assert said(f"{web}/x.csv", columns=["c"]) == "x.csv has no column 'c'; it has 'a', 'b'"
    assert said("ftp://me:geheim@host/x.csv").startswith(
        "x.csv is at an address of the unknown kind ftp://; known are s3://"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gone = f"http://127.0.0.1:{port}/x.csv"
    assert said(gone) == f"{gone} cannot be fetched: cannot connect to 127.0.0.1: Connection refused"


def test_an_address_that_was_made_a_path_is_refused():
    text = "an address such as https://... must be text; got a Path, which drops one of its slashes"
    assert said(Path("https://me:geheim@host/x.csv")) == text
    assert "geheim" not in refusal("compare", "https://me:geheim@host/x", "B", "--scheduler", "tcp://127.0.0.1:1")


def test_a_file_that_is_cut_on_the_way_is_never_taken_for_the_whole(web):
    assert said(f"{web}/cut.csv").startswith(f"{web}/cut.csv cannot be fetched: ")


def test_a_full_disk_is_told(web, monkeypatch):
    from fsspec.implementations.http import HTTPFileSystem

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(HTTPFileSystem, "get_file", full)
    assert said(f"{web}/x.csv") == f"{web}/x.csv cannot be fetched: no space left on device"


def test_an_interrupt_leaves_nothing(web, monkeypatch):
    from fsspec.implementations.http import HTTPFileSystem

    def interrupted(self, address, place, **_):
        Path(place).write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(HTTPFileSystem, "get_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.table(f"{web}/x.csv")


def test_the_command_line_takes_addresses(web, tmp_path):
    local = tmp_path / "y.csv"
    local.write_text(ROWS)
    secret = f"{web.replace('://', '://me:geheim@')}/x.csv?token=geheim"
    report = tmp_path / "page.html"
    code, out, err = run("compare", secret, local, "--permutations", 39, "--seed", 0, "--report", report, "--json")
    assert code == 0
    assert '"names": ["x.csv", "y.csv"]' in out
    assert "geheim" not in out + err + report.read_text()
    assert refusal("compare", f"{web}/none.csv?token=geheim", local) == f"{web}/none.csv does not exist"
    code, out, _ = run("compare", f"{web}/none.csv?token=geheim", local, "--json", "--debug")
    assert '"file": "none.csv"' in out
    assert "geheim" not in out
    assert dd.compare(f"{web}/a/x.csv", f"{web}/b/x.csv", n_permutations=39, random_state=0).names == (
        f"{web}/a/x.csv",
        f"{web}/b/x.csv",
    )


@pytest.mark.hostile(51)
@pytest.mark.parametrize(
    ("address", "lacks", "says"),
    [
        ("http://x/a.csv", "aiohttp", 'reading from http:// needs aiohttp: pip install "densdiff[remote]"'),
        ("s3://x/a.csv", "s3fs", 'reading from s3:// needs s3fs: pip install "densdiff[remote]"'),
        ("gs://x/a.csv", "gcsfs", "reading from gs:// needs gcsfs: pip install gcsfs"),
    ],
)
def test_without_the_extra_the_message_says_what_to_install(monkeypatch, address, lacks, says):
    monkeypatch.setitem(sys.modules, lacks, None)
    with pytest.raises(dd.MissingExtraError) as caught:
        files.table(address)
    assert str(caught.value) == says


@contextmanager
def s3_server():
    """The port of a server that answers as S3 does."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        yield server.get_host_and_port()[1]
    finally:
        server.stop()


@pytest.mark.service
@pytest.mark.hostile(51)
def test_s3_is_read_and_its_refusals_are_told(monkeypatch):
    pytest.importorskip("s3fs", reason="the extra remote is not installed")
    session = pytest.importorskip("botocore.session")
    with s3_server() as port:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "geheim")
        client = session.get_session().create_client("s3")
        client.create_bucket(Bucket="shop")
        large = "a,b\n" + "".join(f"{i},x\n" for i in range(2_000_000))  # of several parts
        for name, text in (("jan/x.csv", ROWS), ("large.csv", large), ("none.csv", "")):
            client.put_object(Bucket="shop", Key=name, Body=text.encode())
        client.close()
        assert files.table("s3://shop/jan/x.csv").num_rows == 60
        assert files.table("s3://shop/large.csv", columns=["a"]).num_rows == 2_000_000
        assert said("s3://shop/none.csv") == "none.csv is empty"
        assert said("s3://shop/x.csv") == "s3://shop/x.csv does not exist"
        assert said("s3://nowhere/x.csv") == "s3://nowhere/x.csv does not exist"
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        cure = "check AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        assert said("s3://shop/jan/x.csv") == f"s3://shop/jan/x.csv cannot be fetched: Forbidden; {cure}"
