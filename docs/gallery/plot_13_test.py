"""
Are they really different?
==========================

Versicolor and virginica, two kinds of iris, ten flowers of each: do the petals differ? Relabelling the flowers shows what chance can do.
"""

from sklearn.datasets import load_iris

import densdiff as dd

iris = load_iris(as_frame=True)
petals = iris.data[["petal length (cm)", "petal width (cm)"]]
versicolor, virginica = (petals[iris.target == kind].iloc[:10] for kind in (1, 2))

result = dd.two_sample_test(versicolor, virginica, random_state=0)
print(result)
dd.plots.plot_null(result).figure

# %%
# Two halves of the same kind, for comparison.

halves = petals[iris.target == 1].iloc[::2], petals[iris.target == 1].iloc[1::2]
print(f"p = {dd.two_sample_test(*halves, random_state=0).pvalue:.2f}")
