"""One thread for BLAS inside, and what the user had outside, also when calls overlap."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event, get_ident

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from densdiff import threads
from densdiff.threads import on_one_thread, one_thread


def blas():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _two_threads():
    with threadpool_limits(2, user_api="blas"):
        yield


def test_blas_has_one_thread_inside_and_the_users_number_after():
    with one_thread:
        assert blas() == {1}
    assert blas() == {2}


def test_a_failure_inside_gives_the_threads_back():
    @on_one_thread
    def failing():
        assert blas() == {1}
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        failing()
    assert blas() == {2}


def test_of_calls_that_overlap_the_last_to_end_gives_the_threads_back():
    one_thread.__enter__()  # as if by another thread, which ends first
    one_thread.__enter__()
    one_thread.__exit__(None, None, None)
    assert blas() == {1}
    one_thread.__exit__(None, None, None)
    assert blas() == {2}


def test_cores_are_those_of_the_process_and_of_the_environment(monkeypatch):
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda process: {0, 3, 5}, raising=False)
    for told, cores in (("", 3), ("2", 2), ("1", 1), ("0", 3), ("8", 3), ("many", 3)):
        monkeypatch.setenv("OMP_NUM_THREADS", told)
        assert threads.cores() == cores
    monkeypatch.delattr(threads.os, "sched_getaffinity")
    monkeypatch.setattr(threads.os, "cpu_count", lambda: None)
    assert threads.cores() == 1


@pytest.mark.parametrize("number", [1, 2, 5])
def test_tasks_are_answered_in_their_order_on_any_number_of_threads(number):
    turns = [Event() for _ in range(3)]
    turns[-1].set()

    def work(k):
        if number >= 3:  # the last task ends first
            turns[k].wait(10)
            turns[k - 1].set()
        return k, get_ident()

    found = list(threads.map_in_order(work, range(3), number))
    assert [k for k, _ in found] == [0, 1, 2]
    assert (get_ident() in {thread for _, thread in found}) == (number == 1)


def test_the_limit_holds_in_any_thread_whoever_set_it_first():
    """In later versions threadpoolctl lets only the first thread set OpenBLAS, and others do nothing in silence."""

    def inside():
        with one_thread:
            return blas()

    def leave():
        one_thread.__exit__(None, None, None)
        return blas()

    with ThreadPoolExecutor(1) as other:
        assert inside() == {1}
        assert other.submit(inside).result() == {1}
        one_thread.__enter__()
        assert other.submit(inside).result() == {1}
        assert other.submit(leave).result() == {2}  # the last one out is not the first one in
        assert inside() == {1}
    assert blas() == {2}


def test_a_limit_of_openmp_is_set_by_every_thread(monkeypatch):
    numbers = []

    class Library:
        threading_layer, num_threads = "openmp", 7

        def set_num_threads(self, number):
            numbers.append((number, get_ident()))

    threads._limit_is_per_thread.cache_clear()
    monkeypatch.setattr(threads, "_libraries", lambda: [Library()])
    with one_thread, ThreadPoolExecutor(1) as other:
        thread = other.submit(lambda: one_thread.__enter__() or get_ident()).result()
        one_thread.__exit__(None, None, None)
    assert numbers == [(1, get_ident()), (1, thread), (7, get_ident())]
    threads._limit_is_per_thread.cache_clear()
