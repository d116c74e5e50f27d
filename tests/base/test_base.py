"""Functions that all estimators share."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

import mercer
from mercer._errors import DataError
from mercer.base.validation import Plan, check_weight, find_first, restore_on_failure


def test_a_plan_names_the_path():
    assert str(Plan("one pass", "float32", 3, 2)) == "one pass; exact, float32, 3 blocks on 2 threads, cpu"
    assert "approximate" in str(Plan("grid", "float64", 1, 1, exact=False))


def test_a_failed_fit_restores_every_attribute():
    class Thing:
        pass

    thing = Thing()
    thing.kept, thing.gone = 1, 2

    def fail():
        with restore_on_failure(thing):
            thing.kept, thing.new = 5, 6
            del thing.gone
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert vars(thing) == {"kept": 1, "gone": 2}
    with restore_on_failure(thing):
        thing.kept = 5
    assert thing.kept == 5


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csc_array])
def test_the_first_bad_value_is_found_by_row_and_column(kind):
    X = kind(np.array([[1.0, 0.0], [0.0, -2.0], [3.0, 4.0]]))
    assert find_first(X, lambda values: values < 0) == (1, 1, -2.0)
    assert find_first(X, lambda values: values > 9) is None


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        ([1.0, 2.0], r"sample_weight\.shape.*Give one weight for each row"),
        ([1.0, np.nan, 1.0], r"sample_weight contains NaN.*Give one weight"),
        ([1.0, -1.0, 1.0], r"Row 1 has the weight -1"),
        ([0.0, 0.0, 0.0], r"at least one non-zero number.*give some rows a weight above 0"),
    ],
)
def test_an_error_of_invalid_weights_has_a_remedy(weight, said):
    X = np.zeros((3, 1))
    with pytest.raises(DataError, match=f"(?s){said}"):
        check_weight(weight, X)
    assert check_weight(None, X) is None
    np.testing.assert_array_equal(check_weight([0, 0, 0], X, part=True), np.zeros(3))


@pytest.mark.parametrize("model", [mercer.NaiveBayes(), mercer.LogisticRegression()])
def test_the_columns_of_a_record_batch_have_names(model):
    X = {"a": [-2.0, -1.0, 1.0, 2.0], "b": [1.0, 2.0, 2.0, 1.0]}
    model.fit(pa.RecordBatch.from_pydict(X), [0, 0, 1, 1])
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.predict(pa.RecordBatch.from_pydict(X)).tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="same order"):
        model.predict(pa.RecordBatch.from_pydict({"b": X["b"], "a": X["a"]}))
