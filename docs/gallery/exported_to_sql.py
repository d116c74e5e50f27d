"""
A model as one SELECT
=====================

``to_sql`` writes a fitted model, and the preparation of its columns, as one SELECT in standard SQL. DuckDB, or SQLite
if DuckDB is not installed, then computes the same probabilities as Python up to rounding, also for rows with missing
values.

Read on: :doc:`/guides/export`.
"""

import sqlite3

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline

from mercer import LogisticRegression, TableFeatures
from mercer.export import to_sql

rng = np.random.default_rng(0)
n = 2000
customers = pd.DataFrame(
    {
        "id": np.arange(n),
        "age": np.where(rng.random(n) < 0.1, np.nan, rng.uniform(18, 80, n)),
        "city": rng.choice(["Bonn", "Kiel", "Ulm"], n),
        "visits": rng.poisson(3, n),
    }
)
score = 0.06 * (customers["age"].fillna(40) - 45) + (customers["city"] == "Ulm") - 0.5 * customers["visits"] + 1
buys = rng.random(n) < 1 / (1 + np.exp(-score))
model = make_pipeline(TableFeatures(exclude=["id"]), LogisticRegression()).fit(customers, buys)

query = to_sql(model, "customers", keep="id")
print(query[:300], "…")
try:
    import duckdb

    database, name = duckdb.connect(), "DuckDB"
    answers = database.execute(query).fetchnumpy()
    sql = answers["probability_True"][np.argsort(answers["id"])]
except ImportError:
    database, name = sqlite3.connect(":memory:"), "SQLite"
    customers.to_sql("customers", database, index=False)
    sql = pd.read_sql(query, database).sort_values("id")["probability_True"].to_numpy()
python = model.predict_proba(customers)[:, 1]
assert np.abs(sql - python).max() < 1e-12

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.plot([0, 1], [0, 1], color="0.7", linewidth=1)
gaps = customers["age"].isna().to_numpy()
ax.plot(python[~gaps], sql[~gaps], ".", color="C0", markersize=5, label="complete rows")
ax.plot(python[gaps], sql[gaps], "D", color="C1", fillstyle="none", markersize=6, label="rows without an age")
ax.set(xlabel="probability in Python", ylabel=f"probability in {name}")
ax.set_title(f"{n:,} rows differ by at most {np.abs(sql - python).max():.0e}")
ax.legend(frameon=False)
plt.show()
