"""What BLAS leaves over of Mahalanobis distances: centring rows before the product, summing squares after it."""

from __future__ import annotations

from mercer._jit import jit


@jit
def centre_rows(X, start, stop, centre, out):  # type: ignore[no-untyped-def]
    """out = rows start…stop of X, less `centre`; float64 whatever X is."""
    for i in range(start, stop):
        for j in range(centre.shape[0]):
            out[i - start, j] = X[i, j] - centre[j]


@jit
def quadratic_scores(Z, shift, constant, out):  # type: ignore[no-untyped-def]
    """out[i, c] = constant[c] − ½ Σ_j (Z[i, c·w + j] − shift[c, j])², with w columns of Z for each class c."""
    n = Z.shape[0]
    k, w = shift.shape
    for i in range(n):
        for c in range(k):
            total = 0.0
            for j in range(w):
                z = Z[i, c * w + j] - shift[c, j]
                total += z * z
            out[i, c] = constant[c] - 0.5 * total
