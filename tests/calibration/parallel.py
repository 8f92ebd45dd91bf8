"""Simulations on all cores, in chunks that come back in any order, and the table made of them."""

import sys


def in_chunks(cells, many, size):
    """Jobs of at most ``size`` runs each: the number of a cell, the cell, and its runs; ``many`` are those of each."""
    for k, (cell, runs) in enumerate(zip(cells, many, strict=True)):
        for first in range(0, runs, size):
            yield k, cell, range(first, min(first + size, runs))


def gathered(chunk, jobs, count):
    """Results of all chunks by the number of their cell: ``chunk(k, ..)`` gives k and a list, for arguments in jobs."""
    from joblib import Parallel, delayed

    tables = [[] for _ in range(count)]
    verbose = 1 if sys.stderr.isatty() else 0
    tasks = (delayed(chunk)(*job) for job in jobs)
    for k, found in Parallel(n_jobs=-1, return_as="generator_unordered", verbose=verbose)(tasks):
        tables[k] += found
    return tables


def tabulated(intro, header, cells, tables, line):
    """The table as text, and all breaches: ``line(cell, table)`` gives a row and a list of texts."""
    lines, breaches = [intro, header, "|---" * header.count(" | ") + "|---|"], []
    for cell, table in zip(cells, tables, strict=True):
        row, found = line(cell, table)
        lines.append(row)
        breaches += found
    return "\n".join(lines) + "\n", breaches
