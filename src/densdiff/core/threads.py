"""One thread for BLAS while the library computes, so that an answer does not depend on the number of cores."""

from collections.abc import Callable
from functools import cache, wraps
from threading import Lock
from types import TracebackType
from typing import ParamSpec, TypeVar

import scipy.linalg.lapack  # noqa: F401  its BLAS has to be there before libraries are looked up
from threadpoolctl import ThreadpoolController

_P = ParamSpec("_P")
_R = TypeVar("_R")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


class OneThread:
    """A context in which BLAS has one thread; the limit is the process's, hence the count of those inside.

    Products on several threads differ in their last digits from those on one, and on a busy machine the threads wait
    for each other a hundred times longer than they work. Row blocks are what several cores share.
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


one_thread = OneThread()


def on_one_thread(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function, computed on one thread of BLAS."""

    @wraps(function)
    def limited(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with one_thread:
            return function(*args, **kwargs)

    return limited
