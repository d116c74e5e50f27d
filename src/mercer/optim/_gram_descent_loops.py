"""Compiled coordinate descent by the Gram matrix G of the columns, which keeps the slopes of all coefficients.

See `mercer.matrices.descent_loops`, whose sweeps keep the negative gradient of each row.
"""

from __future__ import annotations

from mercer._jit import jit
from mercer.matrices.descent_loops import lowest
from mercer.optim._duality_loops import least_squares_gap


@jit
def gram_sweep(G, size, active, l1, l2, positive, w, c):  # type: ignore[no-untyped-def]
    """Sweep once over the `active` of `size` coefficients; a unit of w_j subtracts row j of G from the slopes c."""
    decrease = 0.0
    for j in active:
        curvature = G[j, j]
        if curvature + l2[j] <= 0.0:
            continue
        step = lowest(c[j] + curvature * w[j], curvature, l1[j], l2[j], positive) - w[j]
        if step != 0.0:
            decrease += 0.5 * (curvature + l2[j]) * step * step
            w[j] += step
            for i in range(size):
                c[i] -= step * G[j, i]
    return decrease


@jit
def gram_descent(G, size, l1, l2, positive, w, c, squares, target, least, most):  # type: ignore[no-untyped-def]
    """Sweep over all coefficients until a sweep gains no more than `least`, at most `most` times.

    Nothing is done if the duality gap of least squares is at most `target`. Returns the number of sweeps and the new
    Σ h r², which was `squares`. The step is repeated from `gram_sweep`: as a shared function it took up to twice as
    long.
    """
    if least_squares_gap(l1, l2, positive, w, c, squares) <= target:
        return 0, squares
    for sweep in range(most):
        decrease = 0.0
        for j in range(size):
            curvature = G[j, j]
            if curvature + l2[j] <= 0.0:
                continue
            step = lowest(c[j] + curvature * w[j], curvature, l1[j], l2[j], positive) - w[j]
            if step != 0.0:
                decrease += 0.5 * (curvature + l2[j]) * step * step
                squares = max(0.0, squares - step * (2.0 * c[j] - step * curvature))
                w[j] += step
                for i in range(size):
                    c[i] -= step * G[j, i]
        if decrease <= least:
            return sweep + 1, squares
    return most, squares
