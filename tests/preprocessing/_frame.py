"""A table with a column of every kind."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd

RNG = np.random.default_rng(0)
ROWS = 60
START = datetime.datetime(2024, 1, 1)
COLUMNS: dict[str, list[Any]] = {
    "user_id": [f"u{i}" for i in range(ROWS)],
    "age": [None if i % 9 == 0 else float(value) for i, value in enumerate(RNG.normal(40, 10, ROWS))],
    "visits": (RNG.poisson(30, ROWS) + 1).tolist(),
    "member": (RNG.random(ROWS) > 0.5).tolist(),
    "city": [
        None if i % 11 == 0 else city for i, city in enumerate(RNG.choice(["Ulm", "Bonn", "Jena"], ROWS).tolist())
    ],
    "when": [START + datetime.timedelta(hours=37 * i) for i in range(ROWS)],
    "note": [f"the {size} dog barks {i} times" for i, size in enumerate(RNG.choice(["big", "small"], ROWS))],
    "same": [7] * ROWS,
}
FRAME = pd.DataFrame(COLUMNS)
Y = (RNG.random(ROWS) > 0.5).astype(int)
