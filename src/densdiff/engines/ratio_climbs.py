"""Which implementation of accelerated EM fits many density ratios: compiled where it pays, or NumPy's."""

from functools import cache

from densdiff.core import density_ratio

# NumPy takes about 0.4 ms for a problem of 100 rows and centers, the compiled steps 0.1 ms. Their start costs 0.3 s
# once in a process, and a few seconds more where nothing is stored on disk yet.
_FUSED_WORK = 2e7  # problems times rows times centers: 0.8 s of NumPy


def climb_for(problems: int, rows: int, centers: int) -> density_ratio.Climb:
    """What climbs, chosen by the work whatever this process did before: equal calls give equal bits."""
    compiled = _fused() if 1.0 * problems * rows * centers >= _FUSED_WORK else None
    return compiled or density_ratio.climb


@cache
def _fused() -> density_ratio.Climb | None:
    """The compiled steps, or None where numba is absent or does not fit the NumPy that is installed."""
    try:
        from densdiff.engines import fused_ratios
    except ImportError:
        return None
    return fused_ratios.climb
