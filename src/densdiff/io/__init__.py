"""Paths to tables and blocks of rows, results to files: the only place that opens a path.

What the columns of a file mean is decided in `data`.
"""
