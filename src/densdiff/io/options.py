"""How a user wants a file to be read, checked before it is opened.

Whether a file has the columns asked for is told by the reader of its format.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from densdiff.errors import InputError
from densdiff.io.wording import repeated
from densdiff.messages import argument, describe_value, listed, shown

PROFILE_ENDING = ".profile"


def is_path(value: Any) -> bool:
    """Whether a value names a file.

    Examples
    --------
    >>> is_path("A.csv"), is_path([1.0, 2.0])
    (True, False)
    """
    return isinstance(value, (str, PathLike))


def is_profile_path(value: Any) -> bool:
    """Whether a value names a file, and by its ending that of a profile."""
    return is_path(value) and str(value).lower().endswith(PROFILE_ENDING)


@dataclass(frozen=True)
class Options:
    """How a file is to be read."""

    columns: list[str] | None
    sep: str | None
    decimal: str | None
    header: bool
    keep_text: bool = False  # codes with leading zeros, and text that is nearly numbers, are the caller's to judge

    @classmethod
    def checked(
        cls, columns: Sequence[str] | None, sep: str | None, decimal: str | None, header: bool, keep_text: bool = False
    ) -> "Options":
        """Options as given, or an error that names the one that makes no sense."""
        chosen = None if columns is None else list(columns)
        if isinstance(columns, str) or not all(isinstance(name, str) for name in chosen or ()):
            other = (
                columns if isinstance(columns, str) else next(name for name in chosen or () if type(name) is not str)
            )
            text = f"{argument('columns')} must be a list of names; got {describe_value(other)}"
            raise InputError(text, argument="columns")
        if chosen == []:
            text = f"{argument('columns')} is empty; name at least 1 column, or leave it out to read all"
            raise InputError(text, argument="columns")
        if twice := repeated(chosen or ()):
            text = f"{argument('columns')} names {listed(twice)} more than once; name each column once"
            raise InputError(text, argument="columns", column=twice[0])
        sep = "\t" if sep == r"\t" else sep
        if sep is not None and (not isinstance(sep, str) or len(sep) != 1 or not sep.isascii() or sep in '"\r\n\0'):
            raise InputError(
                f"{argument('sep')} must be one character such as ',' or ';'; got {shown(sep)}", argument="sep"
            )
        if decimal not in (None, ".", ","):
            raise InputError(f"{argument('decimal')} must be '.' or ','; got {shown(decimal)}", argument="decimal")
        return cls(chosen, sep, decimal, header, keep_text)
