"""What every result shares: the receipt of how it was computed, words for effects, and data that only pictures need.

Each question has its own results, in the folder of the question.
"""

import base64
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.errors import MissingExtraError, plain

FloatArray = npt.NDArray[np.float64]
VERSION = version("densdiff")
# Total variation below which a word holds. That of two normal populations d deviations apart is 2 Phi(d / 2) - 1; the
# limits are those of Cohen's d of 0.2, 0.5, 0.8 and 1.7.
EFFECTS = ((0.08, "negligible"), (0.20, "small"), (0.31, "medium"), (0.60, "large"))


def _plain(value: Any) -> Any:
    """A value that JSON does not know as one that it does: arrays as lists, labels such as dates as text."""
    return value.tolist() if isinstance(value, np.ndarray) else str(value)


def _finite(value: Any) -> Any:
    """A value with None for every infinite end of an interval, which JSON cannot hold."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and np.isinf(value) else value


def _picture(figure: Any) -> str:
    """A figure as an image inside a page."""
    held = io.BytesIO()
    figure.savefig(held, format="png", dpi=100)
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(held.getvalue()).decode()}">'


def table_html(answer: str, titles: tuple[str, ...], rows: Sequence[tuple[str, ...]], more: str = "") -> str:
    """An answer above a table, for notebooks; ``more`` says what the table leaves out."""
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    below = f"<p>{escape(more)}</p>" if more else ""
    return f"<p><b>{escape(answer)}</b></p><table><tr>{head}</tr>{body}</table>{below}"


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """How a result was computed; the common part of every result."""

    sigma: float | tuple[float, float] | None
    lam: float | None
    solver: str
    n_centers: int | None
    n_x: int
    n_y: int
    seed: int
    tuning: str
    warnings: tuple[str, ...] = ()
    version: str = field(default=VERSION)

    def __post_init__(self) -> None:
        """Notes that name an input name it as the library does."""
        object.__setattr__(self, "warnings", tuple(map(plain, self.warnings)))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        return dict(json.loads(json.dumps(_finite(self._contents()), allow_nan=False, default=_plain)))

    def _contents(self) -> dict[str, Any]:
        """What ``to_dict`` holds, before it is made plain."""
        return asdict(self)

    def to_json(self) -> str:
        """``to_dict`` as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def _repr_html_(self) -> str:
        """What a notebook shows: the answer, and its picture where matplotlib is installed."""
        try:
            axes = self._draw()
        except MissingExtraError:
            axes = None
        return self._html() + ("" if axes is None else _picture(np.ravel(axes)[0].figure))

    def _html(self) -> str:
        """The answer without its picture."""
        return f"<pre>{escape(str(self))}</pre>"

    def _draw(self) -> Any:
        """The picture of this result as matplotlib axes, or None if it has none."""
        return None

    def _receipt_lines(self) -> list[str]:
        sigma = self.sigma if isinstance(self.sigma, tuple) else (self.sigma,)
        model = self.solver
        model += "" if self.sigma is None else f", sigma {' and '.join(f'{s:.3g}' for s in sigma)}"
        model += "" if self.lam is None else f", lam {self.lam:.3g}"
        lines = [f"  model       {model}", f"  tuning      {self.tuning}; seed {self.seed}"]
        return lines + [f"  note: {text}" for text in self.warnings]


@dataclass(frozen=True)
class Curve:
    """A column of numbers: both densities, and b - a with a simultaneous band, at some points, (k,) each.

    Densities, difference and the centre of the band are smoothed by one and the same bandwidth.
    """

    points: FloatArray
    a: FloatArray
    b: FloatArray
    difference: FloatArray
    lower: FloatArray
    upper: FloatArray
    outside: tuple[float, float] = (0.0, 0.0)  # share of the rows of each table beyond the points
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shares:
    """A column of categories: the levels whose shares of the tables differ most, and how many others there are."""

    levels: tuple[str, ...]
    a: FloatArray
    b: FloatArray
    others: int = 0  # levels that are pooled


@dataclass(frozen=True)
class Bars:
    """A column of numbers whose values are few, rounded or repeated: the share of the rows of each table in each bar,
    and b - a with simultaneous limits, (k,) each.
    """

    values: FloatArray  # the middle of each bar
    width: float  # of a bar, in the units of values; 0 if their distances say nothing
    a: FloatArray
    b: FloatArray
    difference: FloatArray
    lower: FloatArray
    upper: FloatArray
    is_exact: bool = False  # whether each bar counts the rows of one value
    spikes: Shares | None = None  # values that many rows have, which no bar counts
    outside: tuple[float, float] = (0.0, 0.0)  # share of the rows of each table beyond the bars
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Map:
    """The difference b - a of two columns: points or levels of each, and values (len(y), len(x))."""

    x: FloatArray | tuple[str, ...]
    y: FloatArray | tuple[str, ...]
    values: FloatArray


@dataclass(frozen=True)
class Mixture:
    """One column of numbers: densities of the classes times their shares, and that of the new rows."""

    column: str
    points: FloatArray  # (k,)
    classes: FloatArray  # (K, k)
    new: FloatArray  # (k,)
