"""`python -m paper --out DIR`: reproduce the figures of the paper and judge its claims.

Every failure is one line on standard error with exit status 2; ``--debug`` shows the traceback too. The work is
imported once the arguments are read, so that help comes at once and Ctrl-C is silent from the start.
"""

import argparse
import errno
import io
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

_EXAMPLES = """\
The same command goes on where an interrupted one stopped. Exit status: 0 done, 2 failed, 130 interrupted.

examples:
  python -m paper --out paper-out
  python -m paper --out look --runs 5 --figure 3 --figure theory
  python -m paper --out paper-out --data data
"""


class OneLineParser(argparse.ArgumentParser):
    """Wrong arguments are told in one line."""

    def error(self, message: str) -> NoReturn:
        complain(f"{message} (see {self.prog} --help)")
        self.exit(2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a character fails no answer
    options = command_line().parse_args(arguments)
    try:
        run(options)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if options.debug:
            sys.stderr.write(harmless(traceback.format_exc()))
        complain(sentence(error))
        return 2
    return 0


def command_line() -> argparse.ArgumentParser:
    """The options and their help."""
    parser = OneLineParser(
        prog="python -m paper",
        description="Reproduce the figures of the paper, judge its claims.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the page, the pictures and the tables")
    parser.add_argument("--figure", action="append", metavar="N", help="1 to 12, or theory; may be repeated")
    parser.add_argument("--runs", type=int, help="runs of everything that averages; as in the paper by default")
    parser.add_argument("--data", type=Path, help="folder with class_balance/*.csv and changes/<set>/*.csv")
    parser.add_argument("--seed", type=int, default=0, help="all randomness starts from it; 0 by default")
    parser.add_argument("--debug", action="store_true", help="show the traceback of a failure")
    return parser


def run(options: argparse.Namespace) -> None:
    """Reproduce what is asked for and say where the page is."""
    from paper.reproduction import reproduce

    with shown_progress() as progress:
        page = reproduce(
            options.out,
            options.figure,
            runs=options.runs,
            data=options.data,
            seed=options.seed,
            processes=os.cpu_count() or 1,
            tell=remark,
            progress=progress,
        )
    answer(f"page: {page} (seed {options.seed})")


@contextmanager
def shown_progress() -> Iterator[Callable[[str], None]]:
    """A sign of life on standard error, if that is a terminal: what it is given replaces what it showed before."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text("Preparing ...")) as status:
        yield lambda text: status.update(Text(text), spinner="dots")  # which shows it at once


def answer(text: str) -> None:
    """Print at once; it is no failure if nobody reads any more."""
    try:
        sys.stdout.write(harmless(text) + "\n")
        sys.stdout.flush()
    except OSError as error:
        with open(os.devnull, "w") as nowhere:  # or the interpreter would try again as it ends
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        if error.errno != errno.EPIPE:
            raise OSError(error.errno, f"cannot write to standard output: {error.strerror}") from None


def remark(text: str) -> None:
    """One line on standard error."""
    print(f"paper: {harmless(' '.join(text.split()))}", file=sys.stderr, flush=True)


def complain(text: str) -> None:
    """A failure, whose argument is called by its option."""
    remark(re.sub(r"^(data|runs|seed) (must|is)\b", r"--\1 \2", text))


def harmless(text: str) -> str:
    """A text without control and direction characters; its lines stay lines."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def sentence(error: Exception) -> str:
    """What a failure is called; those that nobody thought of are told by their type."""
    from densdiff import DensDiffError

    if isinstance(error, MemoryError):
        return "out of memory; take fewer figures at a time"
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror if error.filename is None else f"{error.strerror}: {error.filename!r}"
    known = isinstance(error, OSError | DensDiffError)
    return text if known and text else f"unexpected {type(error).__name__}: {text} (--debug shows where)"


if __name__ == "__main__":
    sys.exit(main())
