"""Passes over sources: several computations that need one at the same time share it.

A pass over ten million rows costs as much for one column as for twenty. `map_sharing_passes` runs the computations of
many columns as if each were alone; where all of them wait for a pass, one pass serves them all.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from densdiff.sources.clusters import DaskSource, run_together
from densdiff.sources.source import ArraySource, Merge, Pass, Source, Task, as_it_is, task_of_block

S = TypeVar("S")
T = TypeVar("T")
_here = threading.local()


@dataclass
class _Request:
    """The passes that one computation waits for, and their answers once they have run."""

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

    def submit(self, request: _Request) -> list[Any]:
        """The answers to a request, once the passes that it needs have run."""
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


def run_pass(source: Source, task: Task, merge: Merge, columns: list[str] | None) -> Any:
    """A task on every block of a source, the answers merged in order; ``columns`` are the ones it needs, None all."""
    return run_passes([Pass(source, task, merge, columns)])[0]


def run_passes(passes: list[Pass]) -> list[Any]:
    """The answers of several passes, none of which depends on another: on a cluster they run at the same time."""
    answers = iter(_run_reading_passes([pass_ for pass_ in passes if not isinstance(pass_.source, ArraySource)]))
    return [
        pass_.source.run(*pass_[1:]) if isinstance(pass_.source, ArraySource) else next(answers) for pass_ in passes
    ]


def _run_reading_passes(passes: list[Pass]) -> list[Any]:
    """The answers of passes over sources that have to be read, shared with the computations in other threads."""
    board: _Board | None = getattr(_here, "board", None)
    if board is not None and passes:
        return board.submit(_Request(passes))
    if len(passes) > 1 and all(isinstance(pass_.source, DaskSource) for pass_ in passes):
        return run_together(passes)
    return [pass_.source.run(pass_.task, pass_.merge, pass_.columns) for pass_ in passes]


def _serve(requests: list[_Request]) -> None:
    """Answer all requests by one pass over each source, which an enclosing computation may share in its turn."""
    passes = [pass_ for request in requests for pass_ in request.passes]
    try:
        joint_passes = [
            _join_passes([pass_ for pass_ in passes if pass_.source is source]) for source in _distinct_sources(passes)
        ]
        results = run_passes(joint_passes)
        answers = {id(joint.source): iter(result) for joint, result in zip(joint_passes, results, strict=True)}
        for request in requests:
            request.answers = [next(answers[id(pass_.source)]) for pass_ in request.passes]
    except BaseException as error:
        for request in requests:
            request.error = error


def _distinct_sources(passes: list[Pass]) -> list[Source]:
    return list({id(pass_.source): pass_.source for pass_ in passes}.values())


def _join_passes(passes: list[Pass]) -> Pass:
    """Several passes over one source as one pass, whose answer is the list of theirs."""
    needed = [pass_.columns for pass_ in passes]
    columns = None if None in needed else list(dict.fromkeys(name for names in needed for name in names or ()))
    tasks, merges = [pass_.task for pass_ in passes], [pass_.merge for pass_ in passes]
    source = passes[0].source
    convert = source.as_table if len(tasks) > 1 else as_it_is  # once for all
    return Pass(source, _JointTask(tasks, convert), _JointMerge(merges), columns)


@dataclass(frozen=True)
class _JointTask:
    """Several tasks on one block, which is converted once."""

    tasks: list[Task]
    convert: Callable[[Any], Any]

    def __call__(self, block: Any, start: int) -> list[Any]:
        block = self.convert(block)
        return [task(block, start) for task in self.tasks]

    def of_block(self, start: int, rows: int) -> "_JointTask":
        """The tasks as they are sent to where one block is."""
        return replace(self, tasks=[task_of_block(task, start, rows) for task in self.tasks])


@dataclass(frozen=True)
class _JointMerge:
    """The merges of several tasks, of two lists of their answers."""

    merges: list[Merge]

    def __call__(self, a: list[Any], b: list[Any]) -> list[Any]:
        return [merge(x, y) for merge, x, y in zip(self.merges, a, b, strict=True)]


def map_sharing_passes(function: Callable[[S], T], items: Sequence[S]) -> list[T]:
    """The function of each item, in threads that share their passes.

    Once all have ended, the error of the first item that failed is raised.
    """
    board = _Board(running=len(items))
    results: list[Any] = [None] * len(items)
    errors: dict[int, BaseException] = {}

    def work(k: int) -> None:
        _here.board = board
        try:
            results[k] = function(items[k])
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
    return results
