"""What the terminal shows: every failure as one line and an exit status, every warning as a note, nothing harmful.

The texts come from the library; here its arguments become the options of the command line.
"""

import errno
import io
import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

_OPTIONS = {  # what the library calls an argument, as the option that it is here; {} is its value
    "alpha": "--alpha {}",
    "by": "--by {}",
    "category": "--category {}",
    "columns": "--columns {}",
    "decimal": "--decimal {}",
    "exclude": "--exclude {}",
    "header": "--no-header",
    "kinds": "--category or --number",
    "lag": "--lag {}",
    "min_effect": "--min-effect {}",
    "missing": "--missing {}",
    "n_permutations": "--permutations {}",
    "number": "--number {}",
    "random_state": "--seed {}",
    "run_length": "--run-length {}",
    "after_alarm": "--after-alarm {}",
    "sep": "--sep {}",
    "time": "--time {}",
    "window": "--window {}",
    "working_memory": "SKLEARN_WORKING_MEMORY={} in the environment",
}
SCHEMA = 1  # of what --json prints
_printed_notes: ContextVar[set[str]] = ContextVar("printed_notes")


class _Request(NamedTuple):
    """What a command line asks for, as far as a failure needs to know, even one of its arguments."""

    command: str | None
    as_json: bool


_request: ContextVar[_Request] = ContextVar("request")


class OneLineErrors(TyperGroup):
    """The group of commands, whose failures are one line each: status 2, or 130 for an interrupt."""

    def main(self, *args: Any, **options: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a character fails no answer
        options["standalone_mode"] = False
        given = options.get("args", args[0] if args else None)
        words = [str(word) for word in (sys.argv[1:] if given is None else given)]
        command = next((word for word in words if word in self.commands), None)
        _request.set(_Request(command, "--json" in words))
        try:
            code = super().main(*args, **options)
        except typer.Abort:
            _print_object("interrupted")
            code = 130
        except Exception as error:
            if not hasattr(error, "format_message"):
                raise
            message = f"{error.format_message().rstrip('.')} (see {_help_command(error)})"
            _print_object(message)
            remark(message)
            code = 2
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        _printed_notes.set(set())
        debug = "--debug" in ctx.args
        try:
            with _warnings_as_notes():
                return super().invoke(ctx)
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            _print_object("interrupted")
            raise typer.Exit(130) from None
        except Exception as error:
            if hasattr(error, "format_message"):  # of the arguments
                raise
            if debug:
                typer.echo(harmless(_without_logins(traceback.format_exc())), err=True, nl=False)
            message = _error_line(error)
            _print_object(message, error)
            remark(message)
            raise typer.Exit(2) from None


def _print_object(message: str, error: Exception | None = None) -> None:
    """A failure as one JSON object on standard output, if JSON was asked for; what it is about, where that is known."""
    request = _request.get(_Request(None, False))
    if not request.as_json:
        return
    file = getattr(error, "file", None) or getattr(error, "filename", None)
    about = {
        "message": " ".join(harmless(_without_logins(message)).split()),
        "file": None if file is None else str(file),
        "column": getattr(error, "column", None),
        "row": getattr(error, "row", None),
    }
    with suppress(OSError):  # nobody reads it; standard error still has its line
        emit(json.dumps({"schema": SCHEMA, "command": request.command, "error": about}))


def was_printed(text: str) -> bool:
    """Whether a warning went to standard error already."""
    return text in _printed_notes.get(set())


def harmless(text: str) -> str:
    """A text without control and direction characters; its lines stay lines."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def _without_logins(text: str) -> str:
    """A text in which no address has its login."""
    if "://" not in text:
        return text
    from densdiff.io.addresses import hide_logins

    return hide_logins(text)


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
    """One line on standard error, if that is still there: a terminal may be gone before the command."""
    with suppress(OSError):
        typer.echo(f"densdiff: {harmless(_without_logins(' '.join(text.split())))}", err=True)


def _help_command(error: Any) -> str:
    path = error.ctx.command_path if getattr(error, "ctx", None) else "densdiff"
    return f"{path} --help"


def _error_line(error: Exception) -> str:
    """What one line says of an error."""
    is_known = isinstance(error, OSError) or hasattr(error, "marked")
    text = " ".join((_in_options(error) if hasattr(error, "marked") else str(error)).split())
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror if error.filename is None else f"{error.strerror}: {error.filename!r}"
    if isinstance(error, MemoryError):
        return "out of memory; take fewer rows or columns"
    return text if is_known and text else f"unexpected {type(error).__name__}: {text} (--debug shows where)"


def _in_options(message: Any) -> str:
    """An error or a warning of the library in the words of the command line."""
    from densdiff.errors import rendered

    return rendered(message.marked, _option)


def _option(place: Any) -> str:
    """What a marked place of a message says here."""
    if place.argument in _OPTIONS:
        return _OPTIONS[place.argument].format(place.value).rstrip()
    is_input = place.text == place.argument and place.value  # an input, and how it is called
    return str(place.value if is_input else place.text)


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Warnings of the library as lines on standard error, each once."""
    from densdiff.errors import named

    printed = _printed_notes.get()
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if not category.__module__.startswith("densdiff."):
                usual(message, category, *where, **more)
            elif (text := str(message)) not in printed:
                printed.update({text, named(getattr(message, "marked", text))})
                remark(f"note: {_in_options(message)}")

        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
