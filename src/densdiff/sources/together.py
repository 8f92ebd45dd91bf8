"""Independent work on several cores, with the warnings that it would give one after the other."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from densdiff import messages
from densdiff.threads import map_in_order

S = TypeVar("S")
T = TypeVar("T")


def map_together(function: Callable[[S], T], items: Sequence[S], threads: int) -> list[T]:
    """The function of each item by so many threads; results and warnings come in the order of the items.

    Examples
    --------
    >>> map_together(abs, [1, -2, 3], threads=2)
    [1, 2, 3]
    """

    def work(item: S) -> tuple[T, list[str]]:
        with messages.collect_warnings() as texts:
            return function(item), texts

    results = []
    for result, texts in map_in_order(work, items, threads):
        results.append(result)
        for text in texts:
            messages.warn(text)
    return results


def run_together(tasks: Sequence[Callable[[], Any]], threads: int) -> list[Any]:
    """The answers of independent tasks, in their order."""
    return map_together(lambda task: task(), tasks, threads)
