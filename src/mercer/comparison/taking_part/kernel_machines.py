"""Kernel machines as they take part in a comparison: with which kernel, in which units, and up to how many rows."""

from __future__ import annotations

from typing import Any, NamedTuple

from mercer.comparison.taking_part.inner import Inner
from mercer.comparison.taking_part.question import Question
from mercer.comparison.taking_part.tuning import Tuned

#: Rows up to which they are invited: those that need a part of the kernel matrix, a factor of it, several factors, or
#: its eigenvalues. A number of seconds would make the list of models depend on how busy the machine is.
PART, FACTOR, FACTORS, EIGENVALUES = 10_000, 5_000, 4_000, 2_000
#: rows × functions up to which the price of an error is chosen by folds, and the prices that are tried, safest first
SEARCHED, PRICES, PRICES_OF_LOGS = 1_500, (1.0, 10.0, 100.0), (10.0, 1.0, 100.0)
#: penalties of kernel ridge regression that are tried where folds are needed, the usual one first
PENALTIES = (0.1, 0.001, 0.01, 1.0, 10.0, 100.0)


class KernelMachine(NamedTuple):
    """A model that compares rows, and the most rows that it is shown."""

    model: Any
    most_rows: int


def kernel_machines(asked: Question, rows: int, columns: int) -> list[KernelMachine]:
    """Those for so many columns in standard units; each of several outputs is a function to be fitted."""
    from mercer import models
    from mercer.families import L2
    from mercer.kernels import RBF

    # the mean squared distance of two rows is twice the number of columns; γ = 1/d is also what "scale" comes to
    kernel = RBF(gamma=float(f"{1 / max(columns, 1):.2g}"))
    several = int(FACTORS / asked.outputs ** (1 / 3))
    few = rows * asked.outputs <= SEARCHED
    if asked.classes:
        # C = 1 shrinks a function of such a kernel too far: on four of five data sets 10 has the lower log loss
        vectors, smooth = models.SVC(), models.kernelize(models.LogisticRegression(C=10), kernel)
        return [
            KernelMachine(Tuned(vectors, "C", PRICES, cv=asked.inner) if few else vectors, PART),
            KernelMachine(Tuned(smooth, "model__C", PRICES_OF_LOGS, cv=asked.inner) if few else smooth, several),
        ]
    with_log_link = {
        "counts": models.GLM("poisson", penalty=L2(0.1), kernel=kernel),
        "amounts": models.GLM("gamma", link="log", penalty=L2(0.1), kernel=kernel),
    }
    skewed = [with_log_link[asked.task]] if asked.task in with_log_link and asked.positive else []
    tube = Tuned(models.SVR(), "C", PRICES, "regression", asked.inner) if few else models.SVR()
    return [
        *(KernelMachine(model, several) for model in skewed),
        KernelMachine(_of_standard_target(tube), PART),
        KernelMachine(_of_standard_target(_ridge(rows, asked.inner)), FACTOR),
    ]


def _ridge(rows: int, inner: Inner | None) -> Any:
    """Leaving out each row in turn has a closed form, but tells nothing where its like are left in."""
    from mercer import models

    search = rows <= EIGENVALUES
    ridge = models.KernelRidge(alpha="loo" if search and inner is None else 0.1, kernel="rbf", gamma="median")
    return Tuned(ridge, "alpha", PENALTIES, "regression", inner) if search and inner is not None else ridge


def _of_standard_target(model: Any) -> Any:
    """Kernel ridge has no intercept, and the tube of SVR is as wide as its ε says: both are for a target in units."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler

    return TransformedTargetRegressor(model, transformer=StandardScaler())
