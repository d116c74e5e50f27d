"""
Mixed columns, and what each adds for a row
===========================================

``NaiveBayes`` accepts numbers, counts and categories, each with its own family, and missing values. Its log odds are a
sum over columns: each adds its weight of evidence, a missing value adds nothing. The bars of a row
add up to its log odds.

Read on: :doc:`/guides/mixed-columns`.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mercer import NaiveBayes, explain_rows, families

rng = np.random.default_rng(0)
leaves = rng.random(800) < 0.3
table = pd.DataFrame(
    {
        "age": rng.normal(np.where(leaves, 38, 50), 12),
        "calls": rng.poisson(np.where(leaves, 3.0, 1.0)),
        "city": np.where(rng.random(800) < np.where(leaves, 0.5, 0.2), "Oslo", "Rome"),
        "bill": np.where(rng.random(800) < 0.2, np.nan, rng.gamma(4, np.where(leaves, 15, 10))),
        "shoe size": rng.normal(42, 2, 800),
    }
)
shapes = {"calls": families.Poisson(), "city": families.Categorical(), "bill": families.Gamma()}
model = NaiveBayes(families=shapes).fit(table, np.where(leaves, "leaves", "stays"))

row = pd.DataFrame({"age": [35.0], "calls": [4], "city": ["Oslo"], "bill": [np.nan], "shoe size": [42.0]})
explanation = explain_rows(model, row)  # of the second class, "stays"
adds = -np.append(explanation.base, explanation.contributions[0, :, 0])
chance = model.predict_proba(row)[0, 0]
assert np.isclose(adds.sum(), np.log(chance / (1 - chance)))
assert adds[1 + explanation.names.index("bill")] == 0
assert abs(adds[1 + explanation.names.index("shoe size")]) < 0.1

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
written = ["before any column", *(f"{name}: {row[name][0]}" for name in explanation.names)]
written[written.index("bill: nan")] = "bill: missing"
bars = ax.barh(written, adds, left=np.cumsum(adds) - adds, color=np.where(adds > 0, "C1", "C0"), height=0.6)
ax.bar_label(
    bars, labels=[f"{value:+.2f}".replace("-", "−") if value else "0" for value in adds], padding=4, fontsize=9
)
ax.axvline(adds.sum(), color="0.3", linestyle="--", linewidth=1)
ax.axvline(0, color="0.3", linewidth=0.8)
ax.set_xlim(-1.7, 3.9)
ax.invert_yaxis()
ax.set_xlabel(f"log odds of leaving, which come to {adds.sum():.2f}: a chance of {chance:.0%}")
ax.set_title("Every column adds its evidence, and a gap adds none")
plt.show()
