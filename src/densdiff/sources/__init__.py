"""Where rows are: in an array, in blocks, in a lazy table, on Dask or Spark.

Sizes, rows by number, and totals of a function over blocks.
Files are opened in `io`; what columns mean is decided in `data`.
"""
