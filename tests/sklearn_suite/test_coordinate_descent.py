"""scikit-learn's tests of the lasso and the elastic net, run on ours."""

from __future__ import annotations

import pytest

from mercer.linear_model import ElasticNet, ElasticNetCV, Lasso, LassoCV, LinearRegression, Ridge, enet_path, lasso_path
from tests.sklearn_suite._swap import load_swapped

PRIVATE = "tests private functions of scikit-learn, not the estimators"
ITERATES = "compares with what scikit-learn's MultiTask models have found when they stop, 1e-4 from the optimum"


@pytest.fixture(params=[42])
def global_random_seed(request: pytest.FixtureRequest) -> int:
    """One seed: the suite is long."""
    return int(request.param)


globals().update(
    load_swapped(
        "sklearn.linear_model.tests.test_coordinate_descent",
        {
            "ElasticNet": ElasticNet,
            "ElasticNetCV": ElasticNetCV,
            "Lasso": Lasso,
            "LassoCV": LassoCV,
            "LinearRegression": LinearRegression,
            "Ridge": Ridge,
            "enet_path": enet_path,
            "lasso_path": lasso_path,
        },
        exclude={
            "test_set_order_dense": PRIVATE,
            "test_set_order_sparse": PRIVATE,
            "test_cython_solver_equivalence": PRIVATE,
            "test_lassoCV_does_not_set_precompute": "replaces a private class of scikit-learn, which ours does not use",
            "test_enet_copy_X_False_check_input_False": "wants X to be overwritten",
            "test_check_input_false": "wants rows in C order to be rejected; ours reads either order",
            "test_lasso_dual_gap": "compares gaps to seven digits, which are of the order of rounding here; the law is "
            "in tests/linear_model/test_lasso.py",
            "test_warm_start": "wants two fits of 5 iterations to end where one of 10 does; "
            "iterations are not alike here",
            "test_1d_multioutput_enet_and_multitask_enet_cv": ITERATES,
            "test_1d_multioutput_lasso_and_multitask_lasso_cv": ITERATES,
        },
    )
)
