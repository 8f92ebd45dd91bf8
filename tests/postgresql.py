"""A PostgreSQL server of the tests' own, with a password, on a free port of this machine."""

import glob
import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

PASSWORD = "secret/pass"


class NoServer(Exception):
    """Why no server can be started here."""


@contextmanager
def running_server():
    """The address of a database, up to the question mark, and a function that runs SQL and may write."""
    found = shutil.which("initdb") or next(iter(sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))), None)
    if found is None:
        raise NoServer("initdb of PostgreSQL is not installed")
    programs = Path(os.path.realpath(found)).parent
    folder = Path(tempfile.mkdtemp(prefix="densdiff-postgresql-"))
    is_root = os.getuid() == 0  # whom initdb refuses
    user = {"user": "postgres", "group": "postgres", "extra_groups": []} if is_root else {}
    if is_root:
        shutil.chown(folder, "postgres")
    secret = folder / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)

    def call(program, *arguments):
        command = [programs / program, "-D", folder / "data", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, **user)
        if done.returncode:
            raise NoServer(f"{program} failed: {done.stderr.strip()[-200:]}")

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    try:
        call("initdb", "-U", "tester", "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8", "--locale=C")
        call("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            address = f"postgresql://tester:{PASSWORD.replace('/', '%2F')}@127.0.0.1:{port}/postgres"
            yield address, lambda *statements: run_sql(address, *statements)
        finally:
            call("pg_ctl", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_sql(address, *statements):
    """Run statements, which may write, and give the rows of the last."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []
