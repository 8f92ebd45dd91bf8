"""Files and options as what the library takes.

How each format is read lives in `io`; failures are worded in `failures`.
"""

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Layout:
    """How files are to be read."""

    columns: list[str] | None
    sep: str | None
    decimal: str | None
    header: bool
    keep_text: bool = False  # of a CSV file, for the command to judge

    def read_on_cluster(self, path: str) -> Any:
        """The columns asked for of Parquet files, for the workers of a cluster to read."""
        from densdiff.errors import InputError
        from densdiff.io.addresses import scheme_of
        from densdiff.sources.clusters import lazy_parquet

        if scheme_of(path):
            name = file_label(path)
            raise InputError(f"{name} is at an address; a cluster reads files that all its workers see", file=name)
        return lazy_parquet(Path(path), self.columns)

    def read(self, path: str, also: Sequence[str] = (), *, in_blocks: bool = False) -> Any:
        """A table of the columns asked for, all by default; ``also`` are columns that must be among them.

        A large file is given ``in_blocks``, where these can be used; one that has no names, if none are asked for.
        """
        import numpy as np

        from densdiff import messages
        from densdiff.errors import InputError
        from densdiff.io import files

        own = None if self.columns is None else list(dict.fromkeys([*self.columns, *also]))
        nameless = path.lower().endswith(".npy") and own is None and also
        reader = files.read if in_blocks and not nameless else files.table
        form = {"sep": self.sep, "decimal": self.decimal, "header": self.header, "keep_text": self.keep_text}
        table = reader(path, columns=own, **form)
        if isinstance(table, np.ndarray) and (own or also):  # an array has no names to ask for
            rows = table.reshape(len(table), -1)
            table = dict(zip(own or [f"x{j}" for j in range(rows.shape[1])], rows.T, strict=True))
        for name in also:
            if name not in (names := column_names(table)):
                raise InputError(
                    f"{file_label(path)} has no column {messages.shown(name)}; it has {messages.listed(names)}"
                )
        return table

    def read_compared(self, path: str) -> Any:
        """A table, a large one in blocks, or a profile, by the ending of its name."""
        from densdiff.io.options import is_profile_path

        if not is_profile_path(path):
            return self.read(path, in_blocks=True)
        from densdiff.comparing.profile_file import load_profile

        return load_profile(path)

    def drop(self, table: Any, path: str, *names: str | None) -> Any:
        """A table, a large one in blocks, that was read from a path, without those of its columns that have a name."""
        from densdiff.io.files import File
        from densdiff.io.sql import Query

        present = [name for name in column_names(table) if name in names]
        if present and isinstance(table, (File, Query)):
            others = [name for name in column_names(table) if name not in present]
            return replace(self, columns=others).read(path, in_blocks=True)
        for name in present:
            table = split_column(table, name)[0]
        return table

    def without(self, *names: str | None) -> "Layout":
        """This layout without some of its columns."""
        return replace(self, columns=self.columns and [column for column in self.columns if column not in names])


def read_classes(layout: Layout, train: str, new: str, label: str, time: str | None) -> tuple[Any, Any, Any]:
    """Rows and classes of a table, and rows of another; neither has the column of the time."""
    from densdiff import messages
    from densdiff.errors import InputError

    layout = layout.without(label, time)
    rows, labels = split_column(layout.read(train, [label]), label)
    new_rows = layout.read(new, in_blocks=True)
    if time is not None and layout.columns is None and time not in column_names(rows) + column_names(new_rows):
        lack = f"neither {file_label(train)} nor {file_label(new)} has a column {messages.shown(time)}"
        raise InputError(f"{lack}, which --time names", argument="time", column=time)
    rows = layout.drop(rows, train, time)
    refuse_clock(rows, train)
    return rows, labels, layout.drop(new_rows, new, label, time)


def parse_layout(columns: str | None, sep: str | None, decimal: str | None, no_header: bool) -> Layout:
    """Options as given; ``columns`` is a line of CSV, so that a name may hold a comma within quotes."""
    return Layout(None if columns is None else split_names([columns]), sep, decimal, not no_header)


def split_names(texts: Sequence[str]) -> list[str]:
    """The names in lines of CSV, so that a name may hold a comma within quotes."""
    return [name for fields in csv.reader(texts, skipinitialspace=True) for name in fields]


@dataclass(frozen=True)
class ColumnOptions:
    """Which columns of two tables are compared and what they are, as the options say."""

    columns: list[str] | None
    exclude: list[str] | None
    kinds: dict[str, str] | None

    def given(self) -> dict[str, Any]:
        """The options by name, None for those that were not given."""
        return {"columns": self.columns, "exclude": self.exclude, "kinds": self.kinds}

    def narrow(self, layout: Layout, by: Sequence[str] = ()) -> Layout:
        """A layout that reads the columns asked for, those that make groups and no others, if names tell which."""
        from densdiff.data.choosing import is_pattern

        layout = replace(layout, keep_text=True)
        if self.exclude is not None or self.kinds is not None or any(map(is_pattern, self.columns or ())):
            return layout
        return replace(layout, columns=self.columns and list(dict.fromkeys([*self.columns, *by])))


def parse_columns(
    columns: list[str] | None, exclude: list[str] | None, category: list[str] | None, number: list[str] | None
) -> ColumnOptions:
    """Options as given, each a line of names or several; an error if a name is said to be of both kinds."""
    from densdiff import messages
    from densdiff.errors import InputError

    categories, numbers = (split_names(names or []) for names in (category, number))
    if both := [name for name in categories if name in numbers]:
        text = f"--category and --number both name {messages.listed(both)}; a column is of one kind"
        raise InputError(text, argument="kinds", column=both[0])
    kinds = dict.fromkeys(categories, "category") | dict.fromkeys(numbers, "number")
    chosen, left_out = (split_names(names) if names else None for names in (columns, exclude))
    return ColumnOptions(chosen, left_out, kinds or None)


def cluster(address: str | None) -> Any:
    """A connection to a Dask scheduler, if one is given."""
    if address is None:
        return nullcontext()
    from densdiff.sources.clusters import connected

    return connected(address)


def column_names(table: Any) -> list[str]:
    """The names of the columns of a table or a large file, if it has any."""
    return list(table) if isinstance(table, dict) else list(getattr(table, "column_names", ()))


def split_column(table: Any, name: str) -> tuple[Any, Any]:
    """A table without one of its columns, and that column."""
    if isinstance(table, dict):
        return {key: values for key, values in table.items() if key != name}, table[name]
    return table.drop_columns([name]), table.column(name)


def file_label(path: str) -> str:
    """What messages call a file or a table."""
    from densdiff import messages
    from densdiff.io.addresses import scheme_of, short_name

    if path == "-":
        return "standard input"
    return short_name(path) if scheme_of(path) else messages.quote_name(Path(path).name or path)


@contextmanager
def name_inputs(others: Mapping[str, tuple[str, str]] | None = None, **inputs: str) -> Iterator[None]:
    """Let messages inside call an argument of the library by its file; errors know the file.

    ``others`` are arguments that are only a part of a file: how to call them, and the file.
    """
    from densdiff import messages
    from densdiff.errors import DensDiffError, marks
    from densdiff.io.addresses import full_name, scheme_of

    names = {name: file_label(path) for name, path in inputs.items()}
    if len(set(names.values())) < len(names):  # of the same name in two folders
        names = {
            name: full_name(path) if scheme_of(path) else messages.quote_name(path) for name, path in inputs.items()
        }
    if len(set(names.values())) < len(names) and len(set(inputs.values())) == len(inputs):  # queries of one database
        names = {name: f"{text} ({name})" for name, text in names.items()}
    names |= {name: text for name, (text, _) in (others or {}).items()}
    paths = inputs | {name: path for name, (_, path) in (others or {}).items()}
    try:
        with messages.set_display_names(names):
            yield
    except DensDiffError as error:
        about = [paths[place.argument] for place in marks(error.marked) if place.argument in paths]
        error.file = error.file or (full_name(about[0]) if about else None)
        raise


def parse_effects(options: Sequence[str]) -> float | dict[str, float]:
    """The smallest effects that count, from options such as 0.1 and spend=0.02."""
    from densdiff import messages
    from densdiff.errors import InputError

    effects: dict[str, float] = {}
    for option in options:
        name, _, number = option.rpartition("=")
        try:
            effects[name.strip() or "*"] = float(number)
        except ValueError:
            need = f"{messages.argument('min_effect')} must be a number such as 0.1, or a column and one, as spend=0.02"
            raise InputError(f"{need}; got {messages.shown(option)}", argument="min_effect") from None
    return effects.get("*", 0.0) if set(effects) <= {"*"} else effects


def refuse_twice(*paths: str) -> None:
    """An error if more than one path is standard input, which can be read once."""
    from densdiff.errors import InputError

    if paths.count("-") > 1:
        raise InputError("standard input, '-', can be read only once; give a file for the other")


def refuse_missing(*paths: str) -> None:
    """Tell before the library is loaded that a file is not there."""
    from densdiff.io import wording
    from densdiff.io.addresses import scheme_of

    for path in paths:
        if path != "-" and not scheme_of(path):
            wording.refuse_missing(path)


def refuse_clock(table: Any, path: str) -> None:
    """An error if a table of numbers holds dates or times, also as text: most likely they are its clock."""
    from densdiff import messages
    from densdiff.data.dates import reads_as_date
    from densdiff.errors import InputError

    first = table if hasattr(table, "slice") else next(iter(table), None)
    for field in getattr(table, "schema", ()):
        kind, name = str(field.type), field.name
        text = first[name][0].as_py() if kind.endswith("string") and first is not None and len(first) else None
        if kind.startswith(("timestamp", "date", "time")) or (text is not None and reads_as_date(text)):
            example = "" if text is None else f", first {messages.shown(text)}"
            cure = (
                f"give --time {messages.quote_name(name)} if it is the time, or name the other columns with --columns"
            )
            raise InputError(
                f"column {messages.shown(name)} of {file_label(path)} holds dates or times{example}; {cure}"
            )


def refuse_other_ending(path: Path) -> None:
    """An error if the name of a profile would not be recognized later."""
    from densdiff import messages
    from densdiff.errors import InputError
    from densdiff.io.options import PROFILE_ENDING, is_profile_path

    if not is_profile_path(path):
        raise InputError(f"the name of a profile ends in {PROFILE_ENDING}; got {messages.shown(str(path))}")


def show_name(name: str) -> str:
    """A column as messages call it."""
    from densdiff import messages

    return messages.shown(name)


def refuse_file(folder: Path) -> None:
    """An error if there is a file where a folder is needed."""
    from densdiff import messages
    from densdiff.errors import InputError

    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out must be a folder; {messages.shown(str(folder))} is a file")


def refuse_unwritable(target: Path | None, *inputs: str) -> None:
    """Tell before the work, not after it, that a file cannot be written, or would take the place of an input."""
    from densdiff.io.write import atomic_write

    if target is None:
        return
    _refuse_input(target, inputs)
    with suppress(_Enough), atomic_write(target) as aside:
        aside.touch()
        raise _Enough


def refuse_unappendable(target: Path | None, *inputs: str) -> None:
    """Tell before the work that nothing can be added to a file, or that it is an input; the file is made if need be."""
    from densdiff.io.write import open_to_append

    if target is not None:
        _refuse_input(target, inputs)
        with open_to_append(target):
            pass


def _refuse_input(target: Path, inputs: Sequence[str]) -> None:
    from densdiff import messages
    from densdiff.errors import InputError
    from densdiff.io.addresses import local_file

    files = [path for path in map(local_file, inputs) if path is not None and os.path.exists(path)]
    if any(target.exists() and os.path.samefile(path, target) for path in files):
        raise InputError(f"{messages.shown(str(target))} is an input; write to another file")


def write_text(target: Path, text: str) -> None:
    """Write a file that is either whole or not there."""
    from densdiff.io.write import atomic_write

    with atomic_write(target) as aside:
        aside.write_text(text, "utf-8")


class _Enough(Exception):
    pass
