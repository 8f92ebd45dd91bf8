"""One thread for BLAS while the library computes, so that an answer does not depend on the number of cores.

Several cores share blocks of rows instead: the blocks are fixed and what comes of them is added in their order.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, wraps
from threading import Lock
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

import scipy.linalg.lapack  # noqa: F401  its BLAS has to be there before libraries are looked up
from threadpoolctl import ThreadpoolController

_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")


def cores() -> int:
    """How many cores this process may use, no more than OMP_NUM_THREADS, which Dask and joblib set for their workers.

    What BLAS has now does not count: the library itself holds it at one thread while it computes.
    """
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(available, int(limit)) if limit.isdigit() and int(limit) else available


def map_in_order(work: Callable[[_T], _R], tasks: Sequence[_T], threads: int) -> Iterator[_R]:
    """Results of all tasks, in the order of the tasks, worked on by so many threads."""
    if min(threads, len(tasks)) <= 1:
        yield from map(work, tasks)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, tasks)


@cache
def _libraries() -> list[Any]:
    """The libraries of BLAS, as threadpoolctl knows them."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


@cache
def _limit_is_per_thread() -> bool:
    """Whether a limit is that of the thread which sets it: where BLAS has the threads of OpenMP."""
    return any(getattr(library, "threading_layer", "") == "openmp" for library in _libraries())


def _set_thread_counts(numbers: Sequence[int]) -> None:
    """Give each library of BLAS its number of threads, from whichever thread.

    OpenBLAS obeys, in later versions of threadpoolctl, only the thread that set it first until that one gives it up.
    """
    for library, number in zip(_libraries(), numbers, strict=True):
        free = getattr(library, "clear_controlling_thread", lambda force: None)
        free(force=True)
        library.set_num_threads(number)
        free(force=True)


class OneThread:
    """A context in which BLAS has one thread; the limit is the process's, hence the count of those inside.

    Products on several threads differ in their last digits from those on one, and on a busy machine the threads wait
    for each other a hundred times longer than they work.
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._before: list[int] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = [library.num_threads for library in _libraries()]
            if self._inside == 0 or _limit_is_per_thread():
                _set_thread_counts([1] * len(self._before))
            self._inside += 1

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                _set_thread_counts(self._before)


one_thread = OneThread()


def on_one_thread(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Wrap a function so that it is computed on one thread of BLAS."""

    @wraps(function)
    def limited(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with one_thread:
            return function(*args, **kwargs)

    return limited
