"""One thread for BLAS inside, and what the user had outside, also when calls overlap."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from densdiff.core.threads import on_one_thread, one_thread


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
