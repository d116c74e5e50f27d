"""All products of columns up to a degree, as features of a linear model (lecture 1)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from mercer._errors import DataError, NonFiniteError
from mercer._memory import refuse_beyond_memory
from mercer._stored import part_of, stored, whole
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.base import traits
from mercer.data.blocks import COPIED_BLOCK
from mercer.features.monomials import MonomialMap
from mercer.models.base import column_names, first_where, is_sparse
from mercer.models.fitted_fields import FITTED
from mercer.models.numeric._rows import NumericTransformer, largest


@traits(
    "features",
    makes="products",
    export="mercer.export.tables.monomials",
)
@stored(**FITTED, _map=part_of(MonomialMap, d="d"), n_output_features_=whole(0))
class MonomialFeatures(NumericTransformer):
    """Every product of up to `degree` columns, in the order of scikit-learn's `PolynomialFeatures`.

    With `scaled=True` monomials have the coefficients of the polynomial kernel's map: inner products of features are
    (x·z + c)ᵖ, or (x·z)ᵖ with `exactly=True`. `count` says how many features there will be; what has no room in memory
    is refused, since the kernel needs none of them: `KernelRidge(kernel=Polynomial(8))`, `kernelize(model, kernel)`.

    Sparse rows have sparse features, made of the numbers that are stored. Missing values stay missing.

    Parameters
    ----------
    degree : int, default=2
        The highest degree p.
    exactly : bool, default=False
        Whether only monomials of degree p are wanted, not those of lower degrees.
    scaled : bool, default=False
        Whether monomials have the coefficients √(C(p, t) cᵖ⁻ᵗ t!/∏aⱼ!) instead of 1.
    constant : float, default=1.0
        c > 0 of the polynomial kernel; only used if `scaled` and not `exactly`.
    interaction_only : bool, default=False
        Whether no column is to be multiplied by itself.
    include_bias : bool, default=True
        Whether the monomial 1 is among the features, unless they are `exactly` of a degree.

    Attributes
    ----------
    n_output_features_ : int
        Number of features.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    plan_ : Plan
        Which path the fit took.

    Examples
    --------
    >>> from mercer import MonomialFeatures
    >>> features = MonomialFeatures(degree=2).fit([[3.0, 5.0]])
    >>> features.transform([[3.0, 5.0]])
    array([[ 1.,  3.,  5.,  9., 15., 25.]])
    >>> features.get_feature_names_out(["height", "weight"]).tolist()
    ['1', 'height', 'weight', 'height^2', 'height weight', 'weight^2']
    >>> MonomialFeatures(degree=8, exactly=True).count(40)
    314457495
    """

    _takes_sparse = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "degree": [Interval(Integral, 0, None, closed="left")],
        "exactly": ["boolean"],
        "scaled": ["boolean"],
        "constant": [Interval(Real, 0, None, closed="neither")],
        "interaction_only": ["boolean"],
        "include_bias": ["boolean"],
    }

    def __init__(
        self,
        degree: int = 2,
        exactly: bool = False,
        scaled: bool = False,
        *,
        constant: float = 1.0,
        interaction_only: bool = False,
        include_bias: bool = True,
    ) -> None:
        self.degree = degree
        self.exactly = exactly
        self.scaled = scaled
        self.constant = constant
        self.interaction_only = interaction_only
        self.include_bias = include_bias

    def count(self, columns: int) -> int:
        """How many features so many columns have; nothing is made, and no fit is needed.

        Parameters
        ----------
        columns : int
            Number of columns.

        Returns
        -------
        features : int
            Number of features.
        """
        self._validate_params()
        return self._map_of(columns).n_features

    def powers(self) -> Array:
        """Exponents of every column in every feature, which scikit-learn calls `powers_`.

        Returns
        -------
        powers : ndarray of shape (`n_output_features_`, `n_features_in_`)
            Whole numbers.
        """
        check_is_fitted(self)  # a method, since whoever prints a model looks at all of its attributes
        what = f"a table of {self.n_output_features_:,} monomials"
        refuse_beyond_memory(16.0 * self.n_output_features_ * self.n_features_in_, what, "give a lower degree")
        return self._map.order.exponents()

    def _learn(self, X: Any) -> str:
        self._map = self._map_of(X.shape[1])
        self.n_output_features_ = self._map.n_features
        if self.n_output_features_ == 0:
            raise DataError(
                f"there are no monomials of degree {self.degree} in {X.shape[1]} columns without powers and without "
                "1; give a degree of at most the number of columns, or include_bias=True."
            )
        return f"{self.n_output_features_:,} monomials of {X.shape[1]:,} columns"

    def _mapped(self, X: Any) -> Any:
        features = self._map(X)
        if self._may_overflow(X):
            self._refuse_overflow(X, features)
        return features

    def _refuse_unmappable(self, X: Any) -> None:
        if self._may_overflow(X):
            for rows in row_blocks(X.shape[0], max(1, COPIED_BLOCK // (8 * self.n_output_features_))):
                self._refuse_overflow(X, self._map(X[rows]), rows.start)

    def _names(self, columns: list[str]) -> list[str]:
        # names of a few words, and lists of them
        what = f"a list of {self.n_output_features_:,} names"
        refuse_beyond_memory(250.0 * self.n_output_features_, what, "give a lower degree")
        return self._map.order.names(columns)

    def _map_of(self, columns: int) -> MonomialMap:
        if self.scaled and self.interaction_only:
            raise DataError(
                "scaled=True makes the map of the polynomial kernel, which has powers of columns; leave out "
                "scaled=True or interaction_only=True."
            )
        if self.scaled and not self.exactly and not self.include_bias:
            raise DataError(
                "scaled=True makes the map of the polynomial kernel (x·z + c)ᵖ, which has a constant feature; leave "
                "out include_bias=False, or give exactly=True."
            )
        constant = float(self.constant) if self.scaled else None
        return MonomialMap(columns, int(self.degree), self.exactly, self.interaction_only, self.include_bias, constant)

    def _may_overflow(self, X: Any) -> bool:
        """Whether numbers are so large that a product of them may be none."""
        constant = float(self.constant) if self.scaled else 1.0
        # coefficients are at most √(2ᵖ p! cᵖ): four bits a factor, and half of those of c, are enough for them
        bits = np.log2(max(_largest_of_any(X), 1.0)) + np.log2(max(constant, 1.0)) / 2 + 4
        return bool(self.degree * bits >= np.finfo(X.dtype).maxexp)

    def _refuse_overflow(self, X: Any, features: Any, first: int = 0) -> None:
        """Refuse products that are none, of rows of X from the `first` on."""
        if (found := first_where(features, np.isinf)) is not None:
            row, feature, _ = found
            names = column_names(self)
            product = " ".join(names[j] for j in self._map.order.factors(feature))
            raise NonFiniteError(
                f"The product {product!r} of row {first + row} is beyond {X.dtype}: numbers are up to "
                f"{_largest_of_any(X):.3g}. Standardise the columns first, or give a lower degree."
            )


def _largest_of_any(X: Any) -> float:
    """The largest absolute value; missing ones do not count."""
    if np.isnan(most := largest(X)):
        return float(np.nanmax(np.abs(X.data if is_sparse(X) else X), initial=0.0))
    return most
