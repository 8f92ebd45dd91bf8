"""From what a user hands over to numbers: tables, kinds of columns, matched samples, checked parameters.

Where rows are kept and read is the matter of `sources` and `io`.
"""
