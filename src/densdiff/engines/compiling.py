"""How functions are compiled by numba: without a reordered sum, and stored on disk. Needs the extra `fast`."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import njit, types
from numba.extending import intrinsic


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, compiled at the first call as part of another."""
    dispatcher: Callable[..., Any] = njit(function, nogil=True, fastmath={"contract", "nsz"}, error_model="numpy")
    return dispatcher


def compiled_on_disk(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, compiled at the first call and stored on disk, if there is a place to write.

    Measured on a core of 2.3 GHz: about 3 s to compile, 0.2 s to load what was stored, 0.2 s to import numba.
    """
    dispatcher: Any = compiled(function)
    with suppress(RuntimeError):  # neither the folder of this file nor the user's cache can be written
        dispatcher.enable_caching()
    cached: Callable[..., Any] = dispatcher
    return cached


def instruction(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that writes the instructions of compiled ones by itself."""
    return intrinsic(function)


@instruction
def prefer_wide_vectors(context: Any) -> Any:
    """Let LLVM use 512-bit vectors, which it avoids by default: a third less time where there are any."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')  # llvmlite's own add knows few names
        return context.get_dummy_value()

    return types.none(), generate
