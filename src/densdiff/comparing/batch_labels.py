"""What batches are called, and how each is got when its turn comes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from densdiff import messages
from densdiff.errors import InputError
from densdiff.io.addresses import full_name, scheme_of, short_name


def label_batches(batches: Any) -> list[tuple[str, Callable[[], Any]]]:
    """Labels and how to get each table, in their order; a table is asked for when its turn comes, and only then."""
    need = (
        f"{messages.argument('batches')} must be a mapping of labels to tables, or a list of (label, table) or of paths"
    )
    if isinstance(batches, Mapping):
        entries = [(label, partial(batches.__getitem__, label)) for label in batches]
    elif isinstance(batches, Sequence) and not isinstance(batches, (str, bytes)):
        pairs = [entry for entry in batches if isinstance(entry, tuple) and len(entry) == 2]
        pairs = pairs or label_paths([entry for entry in batches if isinstance(entry, (str, PathLike))])
        if len(pairs) < len(batches):
            odd = next(entry for entry in batches if entry not in pairs and not isinstance(entry, (str, PathLike)))
            raise InputError(f"{need}; got {messages.describe_value(odd)} among them", argument="batches")
        entries = [(label, partial(_itself, table)) for label, table in pairs]
    else:
        raise InputError(f"{need}; got {messages.describe_value(batches)}", argument="batches")
    if not entries:
        raise InputError(f"{need}; got none", argument="batches")
    labelled: list[tuple[str, Callable[[], Any]]] = [(messages.escaped(str(label)), get) for label, get in entries]
    seen: set[str] = set()
    for label, _ in labelled:
        if label in seen:
            text = f"{messages.argument('batches')} have the label {messages.shown(label)} twice; each needs its own"
            raise InputError(text, argument="batches")
        seen.add(label)
    return labelled


def _itself(table: Any) -> Any:
    return table


def label_paths(paths: Sequence[Any]) -> list[tuple[str, Any]]:
    """Paths and addresses labelled by their files, without endings unless only these, or folders, tell them apart."""
    labels: list[str] = []
    for naming in (_stem, _name, _folder_and_name, _full_name):
        labels = [naming(path) for path in paths]
        if len(set(labels)) == len(labels):
            break
    return list(zip(labels, paths, strict=True))


def _stem(path: Any) -> str:
    name = _name(path)
    for ending in (".gz", ".zst"):
        name = name.removesuffix(ending)
    return Path(name).stem or name


def _name(path: Any) -> str:
    return short_name(path) if scheme_of(path) else Path(path).name


def _folder_and_name(path: Any) -> str:
    return full_name(path) if scheme_of(path) else f"{Path(path).resolve().parent.name}/{Path(path).name}"


def _full_name(path: Any) -> str:
    return full_name(path) if scheme_of(path) else str(path)
