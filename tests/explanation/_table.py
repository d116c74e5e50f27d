"""A table of a number, which determines the class, and a category with missing values."""

from __future__ import annotations

import pyarrow as pa

FRAME = pa.table({"x": [i % 9 / 2 for i in range(60)], "c": ["u", "v", None] * 20})
CLASSES = ["a" if i % 9 < 4 else "b" for i in range(60)]
