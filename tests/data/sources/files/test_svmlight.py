"""Files of svmlight, compared with what scikit-learn reads."""

from __future__ import annotations

import gzip
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from mercer._errors import DataError, EmptyDataError
from mercer.data import Source
from tests.data.sources._reading import chunks_of, open_in_blocks

X = sparse.random(200, 40, 0.1, format="csr", random_state=0)
Y = np.where(np.arange(200) % 3, 1.0, -1.0)


#: many blocks and pieces in files of a few rows
open_source = partial(open_in_blocks, block_bytes=900, piece_bytes=4000)


def read(source: Source) -> tuple[sparse.csr_matrix, np.ndarray, list[str]]:
    chunks, skipped = chunks_of(source, pickled=True)
    return sparse.vstack([chunk.X for chunk in chunks]), np.concatenate([chunk.y for chunk in chunks]), skipped


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("rows", [None, 7, 90])
@pytest.mark.parametrize("compressed", [False, True])
def test_rows_agree_with_scikit_learn(tmp_path: Path, zero_based: bool, rows: int | None, compressed: bool) -> None:
    path = tmp_path / "a.svm"
    dump_svmlight_file(X, Y, str(path), zero_based=zero_based, comment="made of nothing", query_id=np.arange(200) // 9)
    expected, y = load_svmlight_file(str(path), n_features=40)
    if compressed:
        (tmp_path / "a.svm.gz").write_bytes(gzip.compress(path.read_bytes()))
        path = tmp_path / "a.svm.gz"
    source = open_source(path, rows=rows)
    assert len(list(source.pieces())) == 1 or not compressed
    for _ in range(2):
        found, labels, _ = read(source)
        assert_array_equal(found.toarray(), expected.toarray())
        assert_array_equal(labels, y)
    assert source.n_rows == 200
    assert len(source.columns.features) == 40


def test_the_number_of_columns_can_be_given(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("+1 1:0.5 3:1e+2\n\n-1\n")
    assert open_source(tmp_path / "a.svm").head().X.toarray().tolist() == [[0.5, 0.0, 100.0], [0.0, 0.0, 0.0]]
    assert open_source(tmp_path / "a.svm", features=5).head().X.shape == (2, 5)
    with pytest.raises(DataError, match=r"'a\.svm' has 3 columns, more than features=2"):
        open_source(tmp_path / "a.svm", features=2)


@pytest.mark.parametrize("line", ["1 2 3:4:5", "1 2:x", "1 2:3 4", "word 1:2", "1 -1:2", "1 1:2.3.4"])
def test_a_broken_line_is_named_or_left_out(tmp_path: Path, line: str) -> None:
    rows = [f"{i} 1:{i}" for i in range(300)]
    rows[250] = line
    (tmp_path / "a.svm").write_text("\n".join(rows))
    with pytest.raises(DataError, match=r"Line 251 of 'a\.svm' is not like 'label column:value"):
        open_source(tmp_path / "a.svm")
    _, y, skipped = read(open_source(tmp_path / "a.svm", on_error="skip"))
    assert y.tolist() == [i for i in range(300) if i != 250]
    assert len(skipped) == 1


@pytest.mark.parametrize("line", ["1 1:1 2:1 1:2", "1 1:1 01:2", "1 3:1 3:1 # the same"])
def test_a_column_twice_in_a_line_is_named_or_left_out(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n" * 250 + f"{line}\n" + "-1 2:2 1:5\n" * 3)
    with pytest.raises(ValueError, match="sorted and unique"):
        load_svmlight_file(str(tmp_path / "a.svm"))
    with pytest.raises(DataError, match=r"Line 251 of 'a\.svm' has column [13] more than once: "):
        read(open_source(tmp_path / "a.svm"))
    found, _, skipped = read(open_source(tmp_path / "a.svm", on_error="skip"))
    assert found.shape[0] == 253
    assert found.toarray()[-1].tolist()[:2] == [5.0, 2.0]
    assert len(skipped) == 1


def test_files_without_rows_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("\n# nothing\n")
    with pytest.raises(EmptyDataError, match=r"There are no rows in 'a\.svm'"):
        open_source(tmp_path / "a.svm")


def test_a_byte_order_mark_is_not_part_of_a_label(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_bytes("\ufeff1 1:2\n0 1:3\n".encode())
    assert open_source(tmp_path / "a.svm").head().y.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("column", ["4000000000", "99999999999999999999", "9" * 400])
def test_a_huge_column_number_is_rejected_before_names_are_made(tmp_path: Path, column: str) -> None:
    (path := tmp_path / "a.svm").write_text(f"1 1:2\n0 {column}:1\n")
    with pytest.raises(DataError, match=r"4,000,000,000, but at most|Line 2 of 'a\.svm' is not like"):
        open_source(path)
