"""scikit-learn's tests of the lasso and the elastic net on sparse matrices, run on ours."""

from __future__ import annotations

from mercer.linear_model import ElasticNet, ElasticNetCV, Lasso, LassoCV
from tests.sklearn_suite._swap import load_swapped

globals().update(
    load_swapped(
        "sklearn.linear_model.tests.test_sparse_coordinate_descent",
        {"ElasticNet": ElasticNet, "ElasticNetCV": ElasticNetCV, "Lasso": Lasso, "LassoCV": LassoCV},
    )
)
