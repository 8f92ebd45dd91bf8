"""The ``densdiff`` command: arguments in, plain lines and files out.

Every failure is one line on standard error with exit status 2; ``--debug`` shows the traceback instead.
Nothing is estimated here.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

try:
    import typer
except ModuleNotFoundError:
    print("densdiff: the command line needs typer: pip install 'densdiff[cli]'", file=sys.stderr)
    raise SystemExit(2) from None

from densdiff import LSDD, DistanceResult, __version__
from densdiff.datasets import TwoSamples, gaussian_shift
from densdiff.plots import plot_difference
from densdiff.report import write_aside, write_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

app = typer.Typer(
    help="Compare two samples by the difference of their densities.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@contextmanager
def _failures_in_one_line(debug: bool) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except Exception as error:
        if debug:
            raise
        text = " ".join(str(error).split()) or type(error).__name__
        # Names from the user's data may carry terminal escapes.
        plain = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
        typer.echo(f"densdiff: {plain}", err=True)
        raise typer.Exit(2) from None


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"densdiff {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    seed: Annotated[int, typer.Option(min=0, help="Seed of the samples and of the fit.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the picture and the report.")] = Path(),
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")] = False,
) -> None:
    """Compare two built-in samples whose true distance is known; write a picture and a report."""
    with _failures_in_one_line(debug):
        line, plane = (gaussian_shift(0.5, d=d, n=200, random_state=seed) for d in (1, 2))
        model, planar = (LSDD(random_state=seed).fit(pair.x, pair.y) for pair in (line, plane))
        curve, surface = (cast("Figure", plot_difference(fitted).figure) for fitted in (model, planar))
        result = model.l2_distance()
        image = io.BytesIO()
        curve.savefig(image, format="png", dpi=150)

        out.mkdir(parents=True, exist_ok=True)
        picture = write_aside(out / "demo-difference.png", image.getvalue())
        page = write_page(
            out / "demo-report.html",
            title="densdiff demo: two Gaussian samples",
            answer=_answer(line, result),
            facts=_facts((line, result), (plane, planar.l2_distance())),
            figures=[
                (
                    "One column: p is q shifted by 0.5. The curve is f = p - q, in colour where its band excludes 0.",
                    curve,
                ),
                ("Two columns: the same shift along x0, nothing along x1. Inside the lines f is not 0.", surface),
            ],
            data=result.to_dict(),
        )
        typer.echo(f"X from N(0.5, 1/(4 pi)), Y from N(0, 1/(4 pi)).\n{result}")
        typer.echo(f"The truth: squared {line.l2:.4g}, normalized {line.normalized:.4g}.")
        typer.echo(f"Written: {picture}, {page}")


def _answer(pair: TwoSamples, result: DistanceResult) -> str:
    low, high = result.normalized_interval or (0.0, 1.0)
    return (
        f"On the scale from 0, equal, to 1, no overlap, the two densities are {result.normalized:.2g} apart: "
        f"between {low:.2g} and {high:.2g}, {100 * result.level:g} % sure (the truth: {pair.normalized:.2g})."
    )


def _facts(*pairs: tuple[TwoSamples, DistanceResult]) -> list[list[str]]:
    rows = [["", "estimated", f"{100 * pairs[0][1].level:g} % interval", "true"]]
    for samples, result in pairs:
        columns = "one column" if samples.p.dimension == 1 else "two columns"
        for name, value, interval, truth in (
            ("squared L2 distance", result.squared, result.interval, samples.l2),
            ("normalized", result.normalized, result.normalized_interval, samples.normalized),
        ):
            limits = "" if interval is None else f"{interval[0]:.3g} to {interval[1]:.3g}"
            rows.append([f"{name}, {columns}", f"{value:.4g}", limits, f"{truth:.4g}"])
    return rows
