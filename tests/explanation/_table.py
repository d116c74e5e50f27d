"""A table of a number, by which its two classes are told, and a category with gaps."""

from __future__ import annotations

import pyarrow as pa

FRAME = pa.table({"x": [i % 9 / 2 for i in range(60)], "c": ["u", "v", None] * 20})
CLASSES = ["a" if i % 9 < 4 else "b" for i in range(60)]
