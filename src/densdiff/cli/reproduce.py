"""The command that reproduces the paper."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from densdiff.cli.failures import emit, remark
from densdiff.cli.inputs import working


def paper(
    out: Annotated[Path, typer.Option(help="Folder for the page, the pictures and the tables.")],
    figure: Annotated[list[str] | None, typer.Option(metavar="N", help="1 to 12, or theory; may be repeated.")] = None,
    runs: Annotated[
        int | None, typer.Option(help="Runs of everything that averages; as in the paper by default.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with class_balance/*.csv and changes/<set>/*.csv.")] = None,
    seed: Annotated[int, typer.Option(help="All randomness starts from it.")] = 0,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")] = False,
) -> None:
    """Reproduce the figures of the paper, judge its claims.

    The same command goes on where an interrupted one stopped.

    \b
    Examples:
      densdiff paper --out paper
      densdiff paper --out look --runs 5 --figure 3 --figure theory
      densdiff paper --out paper --data data
    """
    from densdiff.paper import reproduce

    with working("Preparing ...") as progress:
        page = reproduce(
            out,
            figure or None,
            runs=runs,
            data=data,
            seed=seed,
            processes=os.cpu_count() or 1,
            tell=remark,
            progress=progress,
        )
    emit(f"page: {page} (seed {seed})")
