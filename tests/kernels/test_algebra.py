"""Operations that break positive definiteness raise errors with the reason; the repr of a kernel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mercer import kernels as k
from mercer._errors import ColumnMismatchError, KernelError, NotPositiveDefiniteError

LINEAR, RBF = k.Linear(), k.RBF(gamma=1)


@pytest.mark.parametrize(
    "broken",
    [
        lambda: -1 * RBF,
        lambda: RBF * -0.5,
        lambda: RBF / -2,
        lambda: -RBF,
        lambda: RBF - LINEAR,
        lambda: RBF - 1,
        lambda: 1 - RBF,
        lambda: RBF**0.5,
        lambda: RBF**-1,
        lambda: LINEAR + -1,
        lambda: RBF / LINEAR,
        lambda: np.nan * RBF,
        lambda: k.Constant(-1),
        lambda: k.Polynomial(constant=-1),
        lambda: k.Polynomial(degree=1.5),
        lambda: k.Polynomial(gamma=-1),
        lambda: k.RBF(gamma=-1),
        lambda: k.RBF(sigma=0),
        lambda: k.Laplacian(gamma=-1),
        lambda: k.ChiSquared(gamma=-1),
        lambda: k.Matern(length_scale=0),
        lambda: k.RationalQuadratic(alpha=-1),
    ],
)
def test_operations_that_are_not_inner_products_are_rejected(broken: Callable[[], k.Kernel]) -> None:
    with pytest.raises(NotPositiveDefiniteError):
        broken()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: k.Matern(nu=2), "0.5, 1.5 or 2.5"),
        (lambda: k.RBF(gamma=1, sigma=1), "not both"),
        (lambda: k.RBF(gamma="wide"), "must be a number"),
        (lambda: k.Sigmoid(constant=np.inf), "constant of Sigmoid must be finite"),
        (lambda: LINEAR.on([]), "at least one"),
        (lambda: LINEAR.on([-1]), "0 or more"),
        (lambda: LINEAR.on(["age"]), "numbered"),
        (lambda: LINEAR.on("age"), "'age'"),
        (lambda: LINEAR.on(slice(0, 2)), "numbered"),
        (lambda: LINEAR.on([False, True]), "mask"),
        (lambda: LINEAR.on(np.array([False, True])), "numbered"),
        (lambda: k.Sum(LINEAR, np.dot), "takes a Kernel"),
        (lambda: k.FromFunction(3), "needs one"),
        (lambda: k.kernel_from(k.RBF), r"write RBF\(…\)"),
        (lambda: k.OneDimensional(None), "takes a function"),
        (lambda: LINEAR.of(3), "feature map"),
        (lambda: k.Normalised("rbf"), "takes a Kernel"),
        (lambda: k.Columns("rbf", (0,)), "takes a Kernel"),
    ],
)
def test_invalid_parameters_are_rejected(wrong: Callable[[], k.Kernel], message: str) -> None:
    with pytest.raises(KernelError, match=message):
        wrong()


def test_kernels_are_compared_by_value() -> None:
    assert k.RBF(gamma=1) == k.RBF(gamma=1.0)
    assert hash(LINEAR + 2 * RBF) == hash(k.Linear() + 2.0 * k.RBF(gamma=1))
    assert len({LINEAR, k.Linear(), RBF, k.Quadratic()}) == 3
    with pytest.raises(AttributeError):
        RBF.gamma = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (LINEAR + 2 * RBF, "Linear() + 2.0 * RBF(gamma=1.0)"),
        (np.float64(2) * (LINEAR + 1) ** 2, "2.0 * (Linear() + 1.0) ** 2"),
        ((LINEAR + RBF) * LINEAR, "(Linear() + RBF(gamma=1.0)) * Linear()"),
        (LINEAR + (RBF + LINEAR), "Linear() + (RBF(gamma=1.0) + Linear())"),
        ((2 * RBF).on([0, 2]).normalised(), "(2.0 * RBF(gamma=1.0)).on([0, 2]).normalised()"),
        (LINEAR.of(np.abs), "Linear().of(absolute)"),
        (k.RBF(), "RBF()"),
    ],
)
def test_a_repr_is_the_formula(kernel: k.Kernel, text: str) -> None:
    assert repr(kernel) == text


def test_a_column_out_of_range_is_rejected() -> None:
    with pytest.raises(ColumnMismatchError, match="needs column 5"):
        LINEAR.on(5)(np.ones((4, 2)))


def test_a_number_on_either_side_is_a_constant() -> None:
    X = np.random.default_rng(0).normal(size=(4, 2))
    np.testing.assert_allclose((2 + k.Linear())(X), 2 + X @ X.T)
    np.testing.assert_array_equal((2 + k.Linear())(X), (k.Linear() + 2)(X))
    with pytest.raises(TypeError):
        "two" + k.Linear()  # type: ignore[operator]
