"""What SECURITY.md promises of the source: nothing in it runs text, loads pickles or opens a connection.

The paper beside the package keeps to it too, but for one figure: it waits for OpenML no longer than it says.
"""

import ast
from pathlib import Path

import densdiff
import paper

PACKAGES = [Path(package.__file__).parent for package in (densdiff, paper)]
MODULES = {f"{home.name}/{path.relative_to(home)}": path for home in PACKAGES for path in sorted(home.rglob("*.py"))}
ALLOWED = {"paper/balance.py": ["socket"]}
ALLOWED |= {f"densdiff/io/{name}.py": ["urllib.parse"] for name in ("addresses", "database", "sqlite")}  # text alone
CONNECTING = {"fsspec": ["remote"], "adbc_driver": ["postgresql", "sqlite"]}  # where what a user names is connected to
FORBIDDEN = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "subprocess", "socket", "ssl", "urllib", "http"}
FORBIDDEN |= {"requests", "ftplib", "smtplib", "xmlrpc", "telnetlib"}
CALLS = {"eval", "exec", "compile", "__import__", "system", "popen"}


def flaws(source):
    """Imports and calls that are not allowed; ``re.compile`` is."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.split(".")[0] in FORBIDDEN)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in FORBIDDEN:
            yield node.module
        elif isinstance(node, ast.Call):
            of = node.func
            name = of.id if isinstance(of, ast.Name) else f"os.{of.attr}" if _of_os(of) else ""
            if name.removeprefix("os.") in CALLS:
                yield name
            yield from ("allow_pickle" for word in node.keywords if _may_unpickle(word))


def _of_os(of):
    return isinstance(of, ast.Attribute) and isinstance(of.value, ast.Name) and of.value.id == "os"


def _may_unpickle(word):
    return word.arg == "allow_pickle" and not (isinstance(word.value, ast.Constant) and word.value.value is False)


def test_no_module_runs_text_loads_pickles_or_opens_a_connection():
    assert len(MODULES) > 100
    found = {name: list(flaws(path.read_text(encoding="utf-8"))) for name, path in MODULES.items()}
    assert {name: each for name, each in found.items() if each} == ALLOWED


def test_connections_are_made_in_few_places():
    for library, names in CONNECTING.items():
        users = [name for name, path in MODULES.items() if library in path.read_text(encoding="utf-8")]
        assert users == [f"densdiff/io/{name}.py" for name in names]


def test_the_search_finds_what_it_looks_for():
    source = "import pickle\nfrom urllib.request import urlopen\neval('1')\nos.system('ls')\nload(x, allow_pickle=True)"
    assert list(flaws(source)) == ["pickle", "urllib.request", "eval", "os.system", "allow_pickle"]
    assert list(flaws("import re\nre.compile('a')\nload(x, allow_pickle=False)")) == []


def test_arrays_are_never_loaded_without_saying_that_pickles_are_refused():
    loads = [path.read_text(encoding="utf-8").count("np.load(") for path in MODULES.values()]
    refusals = [path.read_text(encoding="utf-8").count("allow_pickle=False") for path in MODULES.values()]
    assert loads == refusals
    assert sum(loads) >= 2
