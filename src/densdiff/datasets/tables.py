"""Two tables of mixed columns, and what was planted in the second.

Columns are dicts of arrays; frames are made by the user's library.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from densdiff.datasets.draws import FloatArray, Seed, check_sizes, generator
from densdiff.errors import InputError

Table = dict[str, npt.NDArray[Any]]

_REGIONS = ("north", "south", "east", "west")
_REGION_SHARES = (0.25, 0.30, 0.25, 0.20)
_PLANS = ("basic", "plus", "premium")
_CHANNELS = ("search", "shop", "email", "social", "partner", "fair", "phone", "letter")
_OLD, _OLD_SHARE = 61.5, 0.16  # years, and the share of rows above
_SHARE_A = _OLD_SHARE * _REGION_SHARES[0]
_SPEND, _SPEND_WIDTH = 80.0, 0.5  # median, and deviation of the logarithm


@dataclass(frozen=True, eq=False)
class MixedTables:
    """Two tables of customers, and how the second differs.

    Attributes
    ----------
    a, b : dict of str to ndarray
        Name of a column to its n and m entries; ``pandas.DataFrame(tables.a)`` and ``polars.DataFrame(tables.a)``
        are frames of them.
    shifted : str
        The column that is larger in B, by `shift` of its deviations in A.
    shift : float
        By how many.
    region : str
        The rule of the rows that are more or less frequent in B; `in_region` says where it holds.
    share_a, share_b : float
        Its true shares.
    pair : tuple of str
        The two columns that are independent in A.
    correlation : float
        Their correlation in B.

    Examples
    --------
    >>> from densdiff.datasets import mixed_tables
    >>> tables = mixed_tables(20_000, share=0.10, random_state=0)
    >>> tables.region, tables.share_a, tables.share_b
    ('age > 61.5 and region = north', 0.04, 0.1)
    >>> round(float(tables.in_region(tables.b).mean()), 2)
    0.1
    """

    a: Table
    b: Table
    shifted: str
    shift: float
    region: str
    share_a: float
    share_b: float
    pair: tuple[str, str]
    correlation: float

    def in_region(self, table: Mapping[str, Any]) -> npt.NDArray[np.bool_]:
        """Which rows of a table with these columns, a frame or a dict, lie in the region."""
        mask: npt.NDArray[np.bool_] = (np.asarray(table["age"]) > _OLD) & (np.asarray(table["region"]) == _REGIONS[0])
        return mask


def mixed_tables(
    n: int = 1000,
    m: int | None = None,
    *,
    shift: float = 0.5,
    share: float | None = 0.10,
    correlation: float = 0.0,
    random_state: Seed = None,
) -> MixedTables:
    """Two tables of twelve columns: numbers, whole numbers, text and booleans, moderately dependent.

    B differs from A in at most three ways. The column ``spend`` is larger by `shift` of its deviations. The rows with
    ``age > 61.5 and region = north`` have the share `share` instead of 4 %; what the columns are like inside and
    outside stays. And ``satisfaction`` and ``recommendation``, independent of everything in A, get a `correlation`,
    each one by itself staying as it is.

    Parameters
    ----------
    n, m : int
        Rows of A and of B; ``m=None`` means n.
    shift : float
        Deviations by which ``spend`` is larger in B.
    share : float or None
        Share of the region in B, in [0, 1]; None means 4 % as in A.
    correlation : float
        Correlation of the pair in B, strictly between -1 and 1.
    random_state : None, int or numpy.random.Generator
        Seed of the draw.

    Returns
    -------
    MixedTables

    Examples
    --------
    >>> from densdiff.datasets import mixed_tables
    >>> tables = mixed_tables(500, 300, random_state=0)
    >>> list(tables.b)[:6], tables.b["spend"].shape
    (['age', 'income', 'spend', 'balance', 'visits', 'satisfaction'], (300,))
    >>> same = mixed_tables(500, shift=0, share=None, random_state=0)  # two draws of the same law
    >>> same.share_a == same.share_b
    True
    """
    n, m = check_sizes(n, m)
    if not math.isfinite(shift):
        raise InputError(f"shift is {shift!r}; it must be finite", argument="shift")
    if share is not None and not 0 <= share <= 1:
        need = "it must lie in [0, 1], or be None for the share in A"
        raise InputError(f"share is {share!r}; {need}", argument="share")
    if not -1 < correlation < 1:
        need = "it must lie strictly between -1 and 1"
        raise InputError(f"correlation is {correlation!r}; {need}", argument="correlation")
    share = _SHARE_A if share is None else float(share)
    rng = generator(random_state)
    a, b = _customers(n, _SHARE_A, 0.0, rng), _customers(m, share, correlation, rng)
    b["spend"] = b["spend"] + shift * _spend_deviation()
    return MixedTables(
        a=a,
        b=b,
        shifted="spend",
        shift=float(shift),
        region=f"age > {_OLD} and region = {_REGIONS[0]}",
        share_a=_SHARE_A,
        share_b=share,
        pair=("satisfaction", "recommendation"),
        correlation=float(correlation),
    )


def _customers(size: int, share: float, correlation: float, rng: np.random.Generator) -> Table:
    years, region = _years_and_region(size, share, rng)
    wealth, habit, taste = rng.standard_normal((3, size))
    wealth = 0.5 * years + math.sqrt(0.75) * wealth
    noise = rng.standard_normal((7, size))
    spend = 0.6 * habit + 0.8 * noise[1]
    balance = (0.5 * wealth + math.sqrt(0.75) * noise[2]) / np.sqrt(rng.chisquare(3, size) / 3)  # Student's t, 3 df
    plan = np.digitize(0.6 * wealth + 0.8 * noise[3], [0.0, 1.0])
    # thresholds of a normal number, which depends on where one lives
    channel = np.digitize(0.3 * (region == 1) + noise[4], [-0.9, -0.4, 0.0, 0.4, 0.8, 1.2, 1.6])
    return {
        "age": _age(years),
        "income": 32_000 * np.exp(0.6 * (0.8 * wealth + 0.6 * noise[0])),
        "spend": _SPEND * np.exp(_SPEND_WIDTH * spend),
        "balance": 1500 + 900 * balance,
        "visits": rng.poisson(np.exp(1.0 + 0.4 * habit)).astype(np.int64),
        "satisfaction": 50 + 10 * taste,
        "recommendation": 30 + 8 * (correlation * taste + math.sqrt(1 - correlation**2) * rng.standard_normal(size)),
        "region": np.array(_REGIONS, dtype=object)[region],
        "plan": np.array(_PLANS, dtype=object)[plan],
        "channel": np.array(_CHANNELS, dtype=object)[channel],
        "newsletter": 0.5 * habit + noise[5] > 0.5,
        "mobile": noise[6] - 0.5 * years > -0.3,
    }


def _years_and_region(size: int, share: float, rng: np.random.Generator) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """A normal number that grows with age, and the region, independent where the share is that of A."""
    inside = rng.random(size) < share
    old = inside | (rng.random(size) < (_OLD_SHARE - _SHARE_A) / (1 - _SHARE_A))
    uniform = rng.random(size)
    years = ndtri(np.where(old, 1 - _OLD_SHARE * (1 - uniform), (1 - _OLD_SHARE) * (1 - uniform)))
    anywhere = rng.choice(len(_REGIONS), size, p=_REGION_SHARES)
    others = np.array(_REGION_SHARES[1:]) / sum(_REGION_SHARES[1:])
    elsewhere = rng.choice(np.arange(1, len(_REGIONS)), size, p=others)
    return years, np.where(inside, 0, np.where(old, elsewhere, anywhere))


def _age(years: FloatArray) -> FloatArray:
    """From 18 to 90, half of the rows below 45, increasing, and 61.5 where `_OLD_SHARE` lies above."""
    half = math.log((45 - 18) / (90 - 45))
    slope = (math.log((_OLD - 18) / (90 - _OLD)) - half) / float(ndtri(1 - _OLD_SHARE))
    return np.asarray(18 + 72 / (1 + np.exp(-half - slope * years)), dtype=np.float64)


def _spend_deviation() -> float:
    variance = _SPEND_WIDTH**2
    return _SPEND * math.exp(variance / 2) * math.sqrt(math.expm1(variance))
