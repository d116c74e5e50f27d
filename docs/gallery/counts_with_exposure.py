"""
Counts with exposure, and prediction intervals
==============================================

Machines that ran longer had more failures, which is exposure, not risk. ``GLM("poisson")`` accepts an exposure
and models the rate. ``summary`` then gives an interval for the expected number, which is narrow, and one for the next
count, which allows for chance. Since counts are integers, the coverage of the latter is above its nominal level.

Read on: :doc:`/guides/inference`.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mercer import GLM, summary


def machines(n, rng):
    table = pd.DataFrame({"age": rng.uniform(0, 20, n), "maker": rng.choice(["A", "B"], n)})
    months = rng.integers(1, 25, n)
    rate = 0.05 * np.exp(0.12 * table["age"] + 0.5 * (table["maker"] == "B"))
    return table, months, rng.poisson(rate * months)


rng = np.random.default_rng(0)
table, months, failures = machines(300, rng)
results = summary(GLM("poisson").fit(table, failures, exposure=months), table, failures, exposure=months)
print(results)

new, new_months, new_failures = machines(4000, rng)
interval = results.predict_interval(new, 0.9, exposure=new_months, kind="observation")
inside = np.mean((interval.lower <= new_failures) & (new_failures <= interval.upper))
assert 0.9 <= inside < 0.97  # counts are integers: the coverage is at least nominal

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ages = pd.DataFrame({"age": np.linspace(0, 20, 200), "maker": "A"})
for kind, colour, label in (("observation", "C4", "the next count, 90 %"), ("mean", "C0", "the expected number, 90 %")):
    band = results.predict_interval(ages, 0.9, exposure=np.full(200, 12), kind=kind)
    ax.fill_between(ages["age"], band.lower, band.upper, color=colour, alpha=0.6, linewidth=0, label=label)
year = (new_months == 12) & (new["maker"] == "A").to_numpy()
ax.plot(new["age"][year], new_failures[year], ".", color="0.2", markersize=4, label="new machines")
ax.set(xlabel="age of a machine of maker A", ylabel="failures within 12 months")
ax.set_title(f"90 % intervals hold {100 * inside:.0f} % of 4,000 new counts")
ax.legend(frameon=False, loc="upper left")
plt.show()
