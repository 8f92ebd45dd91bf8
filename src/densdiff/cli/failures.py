"""What the terminal hears: every failure as one line and an exit status, every warning as a note, nothing harmful."""

import errno
import io
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import typer
from typer.core import TyperGroup

_QUOTED = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")
_OPTIONS = (  # what the library calls an argument, as the option that it is here
    (r'\bmissing="(\w+)"', r"--missing \1"),
    (r"\bheader=False\b", "--no-header"),
    (r"\b(sep|decimal|window)=(?=['\d])", r"--\1 "),
    (r"\b(sep|columns|time)=(?![\w'\"])", r"--\1"),
    (r"^(alpha|columns|decimal|lag|missing|seed|sep|time|window) (must|is)\b", r"--\1 \2"),
    (r"\bsklearn\.set_config\(working_memory=([\d.]+)\)", r"SKLEARN_WORKING_MEMORY=\1 in the environment"),
)
_WORDS = {
    r"\bn_permutations\b": "--permutations",
    r"\brandom_state\b": "--seed",
    r"\bmin_effect\b": "--min-effect",
    r"\brun_length\b": "--run-length",
}
_names: ContextVar[dict[str, str]] = ContextVar("names")
_said: ContextVar[set[str]] = ContextVar("said")


class OneLine(TyperGroup):
    """The group of commands, whose failures are one line each: status 2, or 130 for an interrupt."""

    def main(self, *args: Any, **options: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a character fails no answer
        options["standalone_mode"] = False
        try:
            code = super().main(*args, **options)
        except typer.Abort:
            code = 130
        except Exception as error:
            if not hasattr(error, "format_message"):
                raise
            _complain(f"{error.format_message().rstrip('.')} (see {_help_of(error)})")
            code = 2
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        _names.set({})
        _said.set(set())
        debug = "--debug" in ctx.args
        try:
            with _notes():
                return super().invoke(ctx)
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except Exception as error:
            if hasattr(error, "format_message"):  # of the arguments
                raise
            if debug:
                typer.echo(harmless(traceback.format_exc()), err=True, nl=False)
            _complain(_sentence(error))
            raise typer.Exit(2) from None


def call_them(names: dict[str, str]) -> None:
    """How messages call what the library calls A, X or series: patterns and file names."""
    _names.set(names)


def was_said(text: str) -> bool:
    """Whether a warning went to standard error already."""
    return text in _said.get(set())


def harmless(text: str) -> str:
    """A text without control and direction characters; its lines stay lines."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def emit(text: str) -> bool:
    """Print at once; False if nobody reads any more."""
    try:
        sys.stdout.write(harmless(text) + "\n")
        sys.stdout.flush()
    except OSError as error:
        with open(os.devnull, "w") as nowhere:  # or the interpreter would try again as it ends
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        if error.errno == errno.EPIPE:
            return False
        raise OSError(error.errno, f"cannot write to standard output: {error.strerror}") from None
    return True


def remark(text: str) -> None:
    """One line on standard error."""
    typer.echo(f"densdiff: {harmless(' '.join(text.split()))}", err=True)


def _complain(text: str) -> None:
    remark(_worded(text))


def _help_of(error: Any) -> str:
    path = error.ctx.command_path if getattr(error, "ctx", None) else "densdiff"
    return f"{path} --help"


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror if error.filename is None else f"{error.strerror}: {error.filename!r}"
    known = isinstance(error, OSError) or any(base.__name__ == "DensDiffError" for base in type(error).__mro__)
    if isinstance(error, MemoryError):
        return "out of memory; take fewer rows or columns"
    return text if known and text else f"unexpected {type(error).__name__}: {text} (--debug shows where)"


def _worded(text: str) -> str:
    """A message in the words of the command line; what is quoted, such as names of columns, stays."""
    for pattern, option in _OPTIONS:
        text = re.sub(pattern, option, text)
    parts = _QUOTED.split(text)
    for pattern, word in (_WORDS | _names.get({})).items():
        parts[::2] = [re.sub(pattern, lambda _, word=word: word, part) for part in parts[::2]]
    return "".join(parts)


@contextmanager
def _notes() -> Iterator[None]:
    """Warnings of the library as lines on standard error, each once."""
    said = _said.get()
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if not category.__module__.startswith("densdiff."):
                usual(message, category, *where, **more)
            elif (text := str(message)) not in said:
                said.add(text)
                remark(f"note: {_worded(text)}")

        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
