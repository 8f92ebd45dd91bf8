"""
When did the economy change?
============================

The number of jobs in the United States, month by month, from 2006 to 2015. Its differences are jobs gained or lost. ``detect_changes`` looks for months from which on they come from
another distribution than before, and bounds the chance of reporting any if there is none.
"""

import numpy as np
import pandas as pd
from vega_datasets import local_data

import densdiff as dd

jobs = local_data.us_employment()
gained = np.diff(jobs["nonfarm"].to_numpy())  # in thousands a month

result = dd.detect_changes(gained, random_state=0)
print(result)
result.plot()[0].figure

# %%
# In words of the calendar: the bank that failed in September 2008, and the end of the recession in the summer after.

months = pd.to_datetime(jobs["month"])
print(*(f"{months[change + 1]:%B %Y}" for change in result.changes), sep="\n")
