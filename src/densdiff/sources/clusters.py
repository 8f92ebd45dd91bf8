"""Dask arrays and data frames as sources of blocks: the only importer of Dask.

The task of a block runs where the block is; answers are merged in a tree, a few at a time, and only the last one comes
to the driver. A worker that dies is replaced by Dask, which does its blocks again.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from densdiff import messages
from densdiff.errors import DensDiffError, InputError, MissingExtraError, NumericalError
from densdiff.io import parquet, wording
from densdiff.sources.source import (
    ALL_DROPPED,
    EMPTY,
    Change,
    Merge,
    Pass,
    Task,
    as_it_is,
    chained,
    length,
    needed_columns,
    rows_at,
    task_of_block,
)

_MERGED = 8  # answers at a time
_HEAD_ROWS = 1000
_PIECE_ROWS = 100_000  # of a block that come to the driver at a time
_PATIENCE = 5.0  # seconds until a scheduler must have answered
_DIED = ("KilledWorker", "BrokenProcessPool")


def _dask(module: str = "dask") -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(f'Dask collections need {module}: pip install "densdiff[dask]"') from error


def is_dask(value: Any) -> bool:
    """Whether a value is a collection of Dask, without importing Dask."""
    return type(value).__module__.partition(".")[0] in ("dask", "dask_expr")


@contextmanager
def connected(address: str) -> Iterator[None]:
    """A connection to a scheduler, on whose workers Dask computes as long as it lasts."""
    distributed = _dask("distributed")
    try:
        # a client of Dask that was given no address waits, and complains once more when it is thrown away
        _dask("distributed.comm").get_address_host(address)
        # as the default of the process, one that cannot connect would stay its default
        client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except Exception as error:  # whatever a name, a port or another server made of it
        why = f"no Dask scheduler answers at {messages.shown(address)}: {wording.reason(error)}"
        raise InputError(f"{why}; give the address it prints when it starts, such as tcp://127.0.0.1:8786") from error
    with client, _dask().config.set(scheduler=client):
        yield


def lazy_parquet(path: Path, columns: list[str] | None = None) -> Any:
    """A Parquet file, or a folder of them, as a Dask data frame; workers read it by the same path."""
    name = wording.file_name(path)
    wording.refuse_missing(path)
    if not path.is_dir() and path.suffix.lower() not in (".parquet", ".pq"):
        raise InputError(f"{name} is not a Parquet file; a cluster reads Parquet files and folders of them")
    files = parquet.data_files(path, name) if path.is_dir() else [path]
    footers = parquet.footers(files, columns)
    if indexes := [label for label in footers.names if label in footers.index]:
        raise InputError(
            f"{messages.shown(indexes[0])} of {name} is an index without a name, which Dask does not read as a column; "
            "name the index and save the file again"
        )
    places = [str(file.resolve()) for file in files]
    return _dask("dask.dataframe").read_parquet(places, columns=footers.names, index=False)


@dataclass
class DaskSource:
    """The row blocks of a Dask array, data frame or series; ``change`` makes others of them."""

    where: str
    data: Any
    as_table: Callable[[Any], Any] = as_it_is
    change: Change | None = None
    changed_columns: list[str] | None = None  # the ones that ``change`` needs, None for all
    rows_at_once = 0
    notes = ()

    @classmethod
    def of(cls, where: str, data: Any, as_table: Callable[[Any], Any]) -> "DaskSource":
        """A collection with rows, or the reason why it has none."""
        is_array = isinstance(getattr(data, "chunks", None), tuple)  # a Delayed has any attribute one asks for
        if (not is_array and not isinstance(getattr(data, "npartitions", None), int)) or not hasattr(data, "ndim"):
            raise InputError(f"{where} is a Dask {type(data).__name__}; pass a Dask array or data frame")
        if is_array and data.ndim == 0:
            as_table(np.zeros(()))  # refused
        return cls(where, data, as_table)

    @property
    def rows(self) -> int:
        return int(sum(self.lengths))

    @cached_property
    def lengths(self) -> list[int]:
        """Rows of each block; asked of the workers where Dask does not know."""
        if self.change is None:
            return self._raw_lengths
        return self._count_rows(self._blocks(None))

    @cached_property
    def _raw_lengths(self) -> list[int]:
        """Rows of the blocks before they are changed."""
        chunks = getattr(self.data, "chunks", None)
        if chunks is not None and not any(np.isnan(chunks[0])):
            return [int(rows) for rows in chunks[0]]
        columns = None if getattr(self.data, "ndim", 1) < 2 else list(getattr(self.data, "columns", ()))[:1]
        return self._count_rows(self._delayed(columns or None))  # of a file, one column is read

    def _count_rows(self, blocks: list[Any]) -> list[int]:
        count = _dask().delayed(partial(length, as_table=self.as_table))
        return [int(rows) for rows in self._compute(*map(count, blocks))]

    def converted(self) -> "DaskSource":
        """This source: blocks are converted when they are read."""
        return self

    def changed(self, change: Change, columns: list[str] | None = None) -> "DaskSource":
        """A source of blocks that ``change`` makes of each block and the number of its first row; it may drop rows."""
        needed = needed_columns(self.changed_columns, columns)
        return DaskSource(self.where, self.data, self.as_table, chained(self.change, change), needed)

    def _blocks(self, columns: list[str] | None) -> list[Any]:
        if self.change is None:
            return self._delayed(columns)
        change, starts = _dask().delayed(self.change, pure=False), np.cumsum([0, *self._raw_lengths]).tolist()
        return [
            change(block, start) for block, start in zip(self._delayed(self.changed_columns), starts[:-1], strict=True)
        ]

    def _delayed(self, columns: list[str] | None) -> list[Any]:
        """One delayed object for each block of rows."""
        data = self.data
        if hasattr(data, "to_dask_array"):  # a data frame or series
            own = None if getattr(data, "ndim", 2) == 1 else list(data.columns)
            if columns is not None and own is not None and all(map(own.__contains__, columns)):
                data = data[columns]
            # tuned, partitions of a few columns are joined, and others than those that were counted
            with _dask().config.set({"optimization.tune.active": False}):
                return list(data.to_delayed())
        return list((data.rechunk({1: -1}) if data.ndim > 1 else data).to_delayed().ravel())

    def head(self) -> Any:
        """Some rows of the first block that has any."""
        k = next((k for k, rows in enumerate(self.lengths) if rows), None)
        if k is None:
            raise InputError(f"{self.where} {ALL_DROPPED if self.change else EMPTY}")
        return self._compute(_dask().delayed(rows_at)(self._blocks(None)[k], slice(_HEAD_ROWS)))[0]

    def in_order(self, columns: list[str] | None) -> Iterator[tuple[int, Any]]:
        """Every block that has rows, after the number of its first one, in pieces that come to the driver in turn."""
        rows_of_block, start = _dask().delayed(rows_at), 0
        for block, rows in zip(self._blocks(columns), self.lengths, strict=True):
            for low in range(0, rows, _PIECE_ROWS):
                yield start + low, self._compute(rows_of_block(block, slice(low, low + _PIECE_ROWS)))[0]
            start += rows

    def run(self, task: Task, merge: Merge, columns: list[str] | None) -> Any:
        """The task on the workers, the answers merged there."""
        return _raise_flaw(self._compute(self.plan_run(task, merge, columns))[0])

    def plan_run(self, task: Task, merge: Merge, columns: list[str] | None) -> Any:
        """What `run` computes, delayed."""
        dask, starts = _dask(), np.cumsum([0, *self.lengths]).tolist()[:-1]
        join = dask.delayed(_merge_all, pure=False)
        delayed_merge = dask.delayed(merge, pure=False, traverse=False)
        answers = [
            dask.delayed(partial(_answer_or_flaw, task_of_block(task, start, rows)), pure=False, traverse=False)(
                block, start
            )
            for block, start, rows in zip(self._blocks(columns), starts, self.lengths, strict=True)
            if rows
        ]
        if not answers:
            raise InputError(f"{self.where} {ALL_DROPPED if self.change else EMPTY}")
        while len(answers) > 1:
            answers = [join(delayed_merge, answers[k : k + _MERGED]) for k in range(0, len(answers), _MERGED)]
        return answers[0]

    def _compute(self, *delayed: Any) -> Any:
        try:
            return _dask().compute(*delayed)
        except DensDiffError:
            raise
        except Exception as error:
            if not isinstance(error, MemoryError) and type(error).__name__ not in _DIED:
                raise
            raise NumericalError(self._advice()) from error

    def _advice(self) -> str:
        block = max(self.__dict__.get("lengths") or self.__dict__.get("_raw_lengths") or [0])
        width = self.data.shape[1] if getattr(self.data, "ndim", 1) > 1 else 1
        size = f"a block has up to {block} rows of {width} columns, {8e-6 * block * width:.3g} MB; " if block else ""
        cure = "use smaller blocks (rechunk an array, repartition a data frame) or give the workers more memory"
        return f"Dask workers died while they read {self.where}, most likely out of memory: {size}{cure}"


def run_together(passes: Sequence[Pass]) -> list[Any]:
    """Passes over Dask collections as one computation, so that no worker waits for the end of one of them."""
    widest = max((pass_.source for pass_ in passes), key=lambda source: max(source.lengths, default=0))
    answers = widest._compute(*(pass_.source.plan_run(pass_.task, pass_.merge, pass_.columns) for pass_ in passes))
    return [_raise_flaw(pass_) for pass_ in answers]


def _answer_or_flaw(task: Task, block: Any, start: int) -> Any:
    """The answer of a block, or what is wrong with it: the first block in order is to tell, not the first in time."""
    try:
        return task(block, start)
    except DensDiffError as flaw:
        return flaw


def _merge_all(merge: Merge, answers: list[Any]) -> Any:
    """Answers of neighbouring blocks merged in order, or the first flaw among them."""
    merged = answers[0]
    for answer in answers[1:]:
        if isinstance(merged, DensDiffError):
            return merged
        merged = answer if isinstance(answer, DensDiffError) else merge(merged, answer)
    return merged


def _raise_flaw(answer: Any) -> Any:
    """An answer as it is, unless it is a flaw of a block, which is raised."""
    if isinstance(answer, DensDiffError):
        raise answer
    return answer
