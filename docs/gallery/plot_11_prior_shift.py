"""
A classifier for another balance
================================

The classifier of a balanced world errs in one that is not. ``PriorShiftClassifier`` estimates the balance of the unlabelled rows and fits with weights that match it.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import densdiff as dd

X, y = load_digits(return_X_y=True)
chosen = np.isin(y, [1, 8])
X, y = X[chosen][:, 2::9], y[chosen]  # seven pixels, so that the task is not trivial
random = np.random.default_rng(0)
order = random.permutation(len(y))
train, rest = order[:150], order[150:]
ones, eights = rest[y[rest] == 1], rest[y[rest] == 8]
new = np.concatenate([ones, eights[: len(ones) // 8]])  # eights have become rare

plain = LogisticRegression(max_iter=1000).fit(X[train], y[train])
shifted = dd.PriorShiftClassifier(LogisticRegression(max_iter=1000), dd.ClassBalance(random_state=0))
shifted.fit(X[train], y[train], X[new])

print(f"as trained           {plain.score(X[new], y[new]):.3f}")
print(f"with the new balance {shifted.score(X[new], y[new]):.3f}")

# %%
# The balance that it found: eights are about one row in nine.

balance = dd.ClassBalance(random_state=0).fit(X[train], y[train])
dd.plots.plot_mixture(balance, X[new]).figure
