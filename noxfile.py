"""For those who look for nox: each session is a target of the Makefile, which has its own virtual environment."""

import nox

nox.options.sessions = ["lint", "tests"]


def _make(session: nox.Session, target: str) -> None:
    session.run("make", target, *(f"ARGS={' '.join(session.posargs)}",) if session.posargs else (), external=True)


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Format, lint, types and the direction of imports."""
    _make(session, "check")


@nox.session(venv_backend="none")
def tests(session: nox.Session) -> None:
    """The tests and the examples in docstrings."""
    _make(session, "test")


@nox.session(venv_backend="none")
def docs(session: nox.Session) -> None:
    """The site."""
    _make(session, "docs")


@nox.session(venv_backend="none")
def build(session: nox.Session) -> None:
    """Wheel and sdist, checked."""
    _make(session, "package")
