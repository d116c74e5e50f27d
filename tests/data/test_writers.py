"""Rows that are written piece by piece are read again as they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mercer._errors import WriteError
from mercer.data import read_table
from mercer.data.writers import beside, encoded, format_of

PARTS = [
    pa.table({"n": [1, 2], "word": ["a,b", None], "city": pa.array(["Ulm", "Bonn"]).dictionary_encode()}),
    pa.table({"n": [3], "word": ['"c"'], "city": pa.array(["Ulm"]).dictionary_encode()}),
]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet"])
def test_pieces_make_a_file(tmp_path: Path, name: str) -> None:
    pieces = list(encoded(PARTS, format_of(name)))
    assert len(pieces) >= len(PARTS)
    (tmp_path / name).write_bytes(b"".join(pieces))
    expected = {"n": [1, 2, 3], "word": ["a,b", None, '"c"'], "city": ["Ulm", "Bonn", "Ulm"]}
    read = read_table(tmp_path / name)
    if name == "a.tsv":
        assert read["n"].to_pylist() == [1, 2, 3]
    else:
        assert read.to_pydict() == expected


def test_columns_beside_others() -> None:
    told = {"prediction": np.array(["x", None], dtype=object), "p": np.array([0.5, 1.0])}
    assert beside(PARTS[0], ["n"], told).to_pydict() == {"n": [1, 2], "prediction": ["x", None], "p": [0.5, 1.0]}
    assert beside(PARTS[0], [], {"all": np.array([None, None], dtype=object)}).schema.field("all").type == pa.string()


def test_the_ending_tells_how() -> None:
    assert format_of("-") == ","
    with pytest.raises(WriteError, match=r"'a\.xlsx' does not tell how to write it\. Use \.csv"):
        format_of("a.xlsx")
