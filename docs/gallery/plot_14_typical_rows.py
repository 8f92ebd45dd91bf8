"""
Rows to look at
===============

Cars of the seventies and of the eighties: how many would have to change, and which cars are the most typical of their time? The rows that lie deepest on their own side
are named, so that a person can look at them.
"""

from vega_datasets import local_data

import densdiff as dd

cars = local_data.cars().dropna()
numbers = ["Miles_per_Gallon", "Cylinders", "Displacement", "Horsepower", "Weight_in_lbs", "Acceleration"]
cars = cars.drop_duplicates(numbers)
late = cars["Year"].dt.year >= 1979
old, new = cars[~late].reset_index(drop=True), cars[late].reset_index(drop=True)

result = dd.total_variation(old[numbers], new[numbers], random_state=0)
print(result)
dd.plots.plot_total_variation(result).figure

# %%
# The cars themselves.

print("typical of the seventies:", ", ".join(old["Name"][list(result.typical_x[:4])]))
print("typical of the eighties: ", ", ".join(new["Name"][list(result.typical_y[:4])]))
