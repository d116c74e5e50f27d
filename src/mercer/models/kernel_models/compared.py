"""Kernel machines as they take part in a comparison: with which kernel, and up to how many rows.

The numbers of rows depend on the size of the table alone: a number of seconds would make the list of models depend on
how busy the machine is.
"""

from __future__ import annotations

from mercer.base import Question
from mercer.kernels import RBF

#: the most rows for models that need parts of the kernel matrix, a factor of it, several factors, or its eigenvalues
PART, FACTOR, FACTORS, EIGENVALUES = 10_000, 5_000, 4_000, 2_000
#: rows × functions up to which the price of an error is chosen by folds
SEARCHED = 1_500


def default_kernel(question: Question) -> RBF:
    """Return a Gaussian kernel for columns in standard units.

    The mean squared distance of two rows is twice the number of columns; γ = 1/d is also what "scale" comes to.
    """
    return RBF(gamma=float(f"{1 / max(question.columns, 1):.2g}"))


def searches_price(question: Question) -> bool:
    """Whether there are few enough rows and functions to choose the price of an error by folds."""
    return question.rows * question.outputs <= SEARCHED


def most_rows_of_factors(question: Question) -> int:
    """Return the most rows for a model that needs several factors of the kernel matrix for each function."""
    return int(FACTORS / question.outputs ** (1 / 3))
