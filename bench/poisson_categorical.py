"""Poisson regression on a frame of categories: codes stay codes, against one-hot columns.

The design is identical for all: every level has its column (315 in all) and the L2 penalty makes it unique.
scikit-learn gets the one-hot matrix ready made; its making is not timed.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from glum import GeneralizedLinearRegressor
from numpy.typing import NDArray
from scipy import sparse
from sklearn import linear_model

from bench.fits import Entrant
from bench.harness import Workload
from bench.objectives import objective_race
from mercer import GLM
from mercer.families import L2

LEVELS = (2, 5, 8, 12, 23, 45, 80, 140)
ALPHA = 1e-3
ROWS = 600_000


class Policies(NamedTuple):
    X: Any  # a frame
    one_hot: Any
    y: NDArray[Any]


def policies(rows: int) -> Policies:
    rng = np.random.default_rng(0)
    # few levels are frequent, many are rare
    codes = [np.minimum(rng.geometric(min(0.5, 4 / size), size=rows) - 1, size - 1) for size in LEVELS]
    number = rng.standard_normal(rows)
    effects = [0.3 * rng.standard_normal(size) for size in LEVELS]
    eta = 0.2 * number - 1.0 + sum(effect[code] for effect, code in zip(effects, codes, strict=True))
    names = [pd.Index([f"level {i:03d}" for i in range(size)]) for size in LEVELS]
    columns = {f"c{j}": pd.Categorical.from_codes(code, names[j]) for j, code in enumerate(codes)}
    blocks = [
        sparse.csr_matrix((np.ones(rows), code, np.arange(rows + 1)), (rows, size))
        for code, size in zip(codes, LEVELS, strict=True)
    ]
    one_hot = sparse.hstack([sparse.csr_matrix(number[:, None]), *blocks], format="csr")
    return Policies(pd.DataFrame({"number": number, **columns}), one_hot, rng.poisson(np.exp(eta)).astype(float))


def objective(model: Any, data: Policies) -> float:
    coefficients, intercept = np.ravel(model.coef_), float(model.intercept_)
    eta = data.one_hot @ coefficients + intercept
    return float(np.mean(np.exp(eta) - data.y * eta) + 0.5 * ALPHA * coefficients @ coefficients)


def glm() -> Any:
    return GLM("poisson", penalty=L2(ALPHA * ROWS))


WORKLOAD = Workload(
    name="poisson_categorical",
    shape=f"{len(LEVELS)} categories of {sum(LEVELS)} levels + 1 number",
    rows=ROWS,
    make_arrays=policies,
    races=(
        objective_race(
            Entrant(glm),
            {
                "glum": Entrant(
                    partial(GeneralizedLinearRegressor, family="poisson", alpha=ALPHA, l1_ratio=0), reach=2
                ),
                "scikit-learn newton-cholesky, one-hot": Entrant(
                    partial(linear_model.PoissonRegressor, alpha=ALPHA, solver="newton-cholesky"),
                    reach=6,
                    see=lambda data: data.one_hot,
                ),
            },
            objective,
        ),
    ),
)
