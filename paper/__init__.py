"""The paper, reproduced from the public names of densdiff: each figure as picture and table beside its claims.

`python -m paper --out DIR` runs it, and `paper.reproduction.reproduce` is the same from Python.
"""
