#!/usr/bin/env -S uv run --script

# /// script
# dependencies = ["nox>=2025.10.14"]
# ///
"""For those who look for nox: each session is a target of the Makefile, which has its own virtual environment."""

import nox

nox.needs_version = ">=2025.10.14"
nox.options.default_venv_backend = "none"  # the Makefile makes its own


def _make(session: nox.Session, target: str) -> None:
    session.run("make", target, *(f"ARGS={' '.join(session.posargs)}",) if session.posargs else (), external=True)


@nox.session
def lint(session: nox.Session) -> None:
    """Format, lint, types and the direction of imports."""
    _make(session, "check")


@nox.session
def tests(session: nox.Session) -> None:
    """The tests and the examples in docstrings."""
    _make(session, "test")


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """The site."""
    _make(session, "docs")


@nox.session(default=False)
def build(session: nox.Session) -> None:
    """Wheel and sdist, checked."""
    _make(session, "package")


if __name__ == "__main__":
    nox.main()
