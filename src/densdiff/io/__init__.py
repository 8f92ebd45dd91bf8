"""Paths to tables and blocks of rows, results to files: the only place that opens a path."""
