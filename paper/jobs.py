"""Jobs on several processes, each result kept in a file of its own, so that an interrupted run can be resumed."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import densdiff as dd
from paper.files import written
from paper.part import SEED, Job

_STEPS = 10  # lines of progress for one part


class Batch:
    """The jobs of one part."""

    def __init__(self, jobs: Sequence[Job], folder: Path, seed: int) -> None:
        self._folder = folder
        self._calls = {job.key: (job.work, tuple(_filled(job, each, seed) for each in job.arguments)) for job in jobs}
        self._kept = {key: self._read(key) for key in self._calls}
        self._left = {job.key: job.seconds for job in jobs if self._kept[job.key] is None}

    def seconds(self, processes: int) -> float:
        """What is left to do, roughly."""
        return sum(self._left.values()) / max(1, min(processes, len(self._left)))

    def results(self, workers: Workers, name: str, progress: Callable[[str], None]) -> list[Any]:
        """All results in order and as read from their files; what is there already is not computed again."""
        left = len(self._left)
        if left:
            progress(
                f"{name}: {left} of {len(self._calls)} jobs to do, about {duration(self.seconds(workers.processes))}"
            )
        steps = {left * k // _STEPS for k in range(1, _STEPS + 1)}
        for count, (key, result) in enumerate(workers.computed({key: self._calls[key] for key in self._left}), 1):
            with written(self._path(key)) as aside:
                aside.write_text(json.dumps({"job": self._origin(key), "result": result}), "utf-8")
            self._kept[key] = self._read(key)
            if count in steps:
                progress(f"{name}: {count} of {left} done")
        return [found["result"] for found in self._kept.values()]

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"

    def _origin(self, key: str) -> str:
        """What a result is made of: with another seed, folder or version it is another one."""
        work, arguments = self._calls[key]
        return f"densdiff {dd.__version__}: {work.__module__}.{work.__qualname__}{arguments!r}"

    def _read(self, key: str) -> Any:
        """What the file of a job holds, or None if that is not the result of this job."""
        try:
            found = json.loads(self._path(key).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) and found.get("job") == self._origin(key) else None


def duration(seconds: float) -> str:
    """A rough time in words."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _filled(job: Job, argument: Any, seed: int) -> Any:
    """An argument, or the seed of the job: the same whatever the number of runs and the order of the jobs."""
    if argument is not SEED:
        return argument
    return int.from_bytes(hashlib.sha256(f"{seed} {job.key}".encode()).digest()[:4], "big")


class Workers:
    """Processes that compute; they are started when there is work for two."""

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *failure: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def computed(self, calls: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        """Keys and results, as they come."""
        if self.processes == 1 or len(calls) < 2:
            with threadpool_limits(1):
                for key, call in calls.items():
                    yield key, _quietly(*call)
            return
        if self._pool is None:
            context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
            self._pool = ProcessPoolExecutor(self.processes, context, initializer=_alone)
        with _interrupts_held():  # for the processes that start here, until they can end without a word
            running = {self._pool.submit(_quietly, *call): key for key, call in calls.items()}
        for future in as_completed(running):
            yield running[future], future.result()


def _quietly(work: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The notes of hundreds of fits would hide the progress."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dd.DensDiffWarning)
        return work(*arguments)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits, also in processes started meanwhile: one that still imports would answer by a traceback."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # as it starts it lets signals through
    usual = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)


def _alone() -> None:
    """One thread a process; Ctrl-C ends it without a word, as the parent tells what happened."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for library in ("numpy", "scipy.linalg"):
        import_module(library)  # a BLAS that is loaded later would not be limited
    threadpool_limits(1)
