"""What every draw is asked for: how many rows, and with which seed.

The draws themselves are in `pairs`, `series` and `tables`.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.errors import InputError, mark

FloatArray = npt.NDArray[np.float64]
Seed = int | np.random.Generator | None


def check_sizes(n: Any, m: Any) -> tuple[int, int]:
    """Rows of both samples; ``m=None`` means n."""
    m = n if m is None else m
    for name, size in (("n", n), ("m", m)):
        if not (isinstance(size, int | np.integer) and size >= 1):
            raise InputError(f"{name} is {size!r}; it must be an integer of at least 1", argument=name)
    return int(n), int(m)


def generator(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        name = mark("random_state", "random_state")
        message = f"{name} is {random_state!r}; need None, an integer >= 0 or a numpy Generator"
        raise InputError(message, argument="random_state") from error
