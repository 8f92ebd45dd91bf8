"""Simulations on all cores, in chunks that come back in any order."""

import sys


def gathered(chunk, jobs, count):
    """Results of all chunks by the number of their cell: ``chunk(k, ..)`` gives k and a list, for arguments in jobs."""
    from joblib import Parallel, delayed

    tables = [[] for _ in range(count)]
    verbose = 1 if sys.stderr.isatty() else 0
    tasks = (delayed(chunk)(*job) for job in jobs)
    for k, found in Parallel(n_jobs=-1, return_as="generator_unordered", verbose=verbose)(tasks):
        tables[k] += found
    return tables
