"""What `densdiff track` reads and writes beside its result: the reference, each batch in its turn, and the history."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from densdiff.cli.inputs import Layout, name_inputs, refuse_twice, refuse_unwritable, write_text
from densdiff.progress import Progress

_WORDS = ("first", "previous")


@dataclass(frozen=True)
class BatchFiles:
    """The files of one run."""

    reference: str
    batches: list[str]
    history: Path | None
    layout: Layout

    @cached_property
    def moving_reference(self) -> str | int | None:
        """A reference that is made of batches; None for a file, which wins if it has such a name."""
        if Path(self.reference).exists():
            return None
        if self.reference in _WORDS:
            return self.reference
        return int(self.reference) if self.reference.isdecimal() else None

    @property
    def inputs(self) -> list[str]:
        """All files that are read, but for the history."""
        return [*([] if self.moving_reference is not None else [self.reference]), *self.batches]

    @property
    def needed(self) -> list[str]:
        """Files that must be there: of batches that a history has, some may be gone."""
        return self.inputs if self.history is None or not self.history.exists() else self.inputs[: -len(self.batches)]

    def read_reference(self) -> Any:
        """The reference as `track` takes it."""
        if self.moving_reference is not None:
            return self.moving_reference
        with Progress("reading", None):
            return self.layout.read_compared(self.reference)

    def read_history(self) -> Any:
        """The batches before, if there are any."""
        from densdiff import BatchesResult, messages
        from densdiff.errors import InputError

        if self.history is None or not self.history.exists():
            return None
        name = messages.shown(str(self.history))
        try:
            return BatchesResult.from_json(self.history.read_text("utf-8"))
        except (InputError, OSError, UnicodeDecodeError) as error:
            got = str(error).rpartition("; got ")[2]
            text = f"{name} is no history that --history wrote: it holds {messages.one_line(got, 160)}"
            raise InputError(text, file=str(self.history), argument="history") from error


class _Tables(Mapping[str, Any]):
    """The tables of files by their labels, each read when it is asked for."""

    def __init__(self, paths: list[str], layout: Layout) -> None:
        from densdiff.comparing.batch_labels import label_paths

        self.paths = dict(label_paths(paths))
        self.layout, self.latest = layout, ""

    def __getitem__(self, label: str) -> Any:
        self.latest = self.paths[label]
        return self.layout.read_compared(self.paths[label])

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)


def track_files(files: BatchFiles, **options: Any) -> tuple[Any, bool]:
    """The result, and whether a batch that is new differs; the history is written."""
    from densdiff import track
    from densdiff.errors import DensDiffError

    refuse_twice(*files.inputs)
    refuse_unwritable(files.history, *files.inputs)
    past, reference = files.read_history(), files.read_reference()
    tables = _Tables(files.batches, files.layout)
    try:
        with name_inputs(reference=files.reference):
            result = track(tables, reference=reference, history=past, **options)
    except DensDiffError as error:
        error.file = error.file or tables.latest or None
        raise
    if files.history is not None:
        write_text(files.history, result.to_json())
    known = set() if past is None else {batch.label for batch in past.batches}
    return result, any(batch.differs for batch in result.batches if batch.label not in known)
