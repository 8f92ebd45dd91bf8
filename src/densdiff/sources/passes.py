"""Passes over sources: several computations that need one at the same time share it.

A pass over ten million rows costs as much for one column as for twenty. `side_by_side` runs the computations of many
columns as if each were alone; where all of them wait for a pass, one pass serves them all.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from densdiff.sources.clusters import DaskSource, run_together
from densdiff.sources.source import ArraySource, Merge, Pass, Source, Task, as_it_is

S = TypeVar("S")
T = TypeVar("T")
_here = threading.local()


@dataclass
class _Request:
    passes: list[Pass]
    answers: list[Any] = field(default_factory=list)
    error: BaseException | None = None
    done: bool = False


@dataclass
class _Board:
    """What the computations wait for, and how many of them still run."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    running: int = 0
    waiting: list[_Request] = field(default_factory=list)

    def ask(self, request: _Request) -> list[Any]:
        with self.changed:
            self.waiting.append(request)
            self.running -= 1
            self.changed.notify_all()
            self.changed.wait_for(lambda: request.done)
        if request.error is not None:
            raise request.error
        return request.answers

    def serve(self) -> bool:
        """One pass over each source that is waited for, once nobody runs; False when all are done."""
        with self.changed:
            self.changed.wait_for(lambda: self.running == 0)
            requests, self.waiting = self.waiting, []
        if not requests:
            return False
        _serve(requests)
        with self.changed:
            self.running += len(requests)
            for request in requests:
                request.done = True
            self.changed.notify_all()
        return True


def ask(source: Source, task: Task, merge: Merge, columns: list[str] | None) -> Any:
    """A task on every block of a source, the answers merged in order; ``columns`` are the ones it needs, None all."""
    return ask_all([Pass(source, task, merge, columns)])[0]


def ask_all(passes: list[Pass]) -> list[Any]:
    """The same over several sources, none of which depends on the answer of another: on a cluster at the same time."""
    answers = iter(_read([each for each in passes if not isinstance(each.source, ArraySource)]))
    return [each.source.run(*each[1:]) if isinstance(each.source, ArraySource) else next(answers) for each in passes]


def _read(passes: list[Pass]) -> list[Any]:
    """Over sources that have to be read, together with whoever waits for a pass beside us."""
    board: _Board | None = getattr(_here, "board", None)
    if board is not None and passes:
        return board.ask(_Request(passes))
    if len(passes) > 1 and all(isinstance(each.source, DaskSource) for each in passes):
        return run_together(passes)
    return [each.source.run(each.task, each.merge, each.columns) for each in passes]


def _serve(requests: list[_Request]) -> None:
    """In one pass over each source, which computations around these may share in their turn."""
    every = [each for request in requests for each in request.passes]
    try:
        joint = [_joint([each for each in every if each.source is source]) for source in _distinct(every)]
        answers = {id(one.source): iter(found) for one, found in zip(joint, ask_all(joint), strict=True)}
        for request in requests:
            request.answers = [next(answers[id(each.source)]) for each in request.passes]
    except BaseException as error:
        for request in requests:
            request.error = error


def _distinct(passes: list[Pass]) -> list[Source]:
    return list({id(each.source): each.source for each in passes}.values())


def _joint(passes: list[Pass]) -> Pass:
    """Over one source, as one that answers each."""
    needed = [each.columns for each in passes]
    columns = None if None in needed else list(dict.fromkeys(name for names in needed for name in names or ()))
    tasks, merges = [each.task for each in passes], [each.merge for each in passes]
    source = passes[0].source
    convert = source.as_table if len(tasks) > 1 else as_it_is  # once for all
    return Pass(source, _Each(tasks, convert), _Merge(merges), columns)


@dataclass(frozen=True)
class _Each:
    tasks: list[Task]
    convert: Callable[[Any], Any]

    def __call__(self, block: Any, start: int) -> list[Any]:
        block = self.convert(block)
        return [task(block, start) for task in self.tasks]


@dataclass(frozen=True)
class _Merge:
    merges: list[Merge]

    def __call__(self, a: list[Any], b: list[Any]) -> list[Any]:
        return [merge(x, y) for merge, x, y in zip(self.merges, a, b, strict=True)]


def side_by_side(function: Callable[[S], T], items: Sequence[S]) -> list[T]:
    """The function of each item, in threads that share their passes.

    Once all have ended, the error of the first item that failed is raised.
    """
    board = _Board(running=len(items))
    found: list[Any] = [None] * len(items)
    errors: dict[int, BaseException] = {}

    def work(k: int) -> None:
        _here.board = board
        try:
            found[k] = function(items[k])
        except BaseException as error:
            errors[k] = error
        finally:
            with board.changed:
                board.running -= 1
                board.changed.notify_all()

    threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(len(items))]
    for thread in threads:
        thread.start()
    while board.serve():
        pass
    for thread in threads:
        thread.join()
    if errors:
        raise errors[min(errors)]
    return found
