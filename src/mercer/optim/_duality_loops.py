"""Compiled sums over coefficients for the duality gap of a penalised loss: see `mercer.optim.duality`.

Terms are differences of numbers that nearly cancel, so that the sums must not be reordered.
"""

from __future__ import annotations

from mercer._jit import IN_ORDER, jit


@jit(**IN_ORDER)
def feasible_shares(l1, l2, positive, w, c):  # type: ignore[no-untyped-def]
    """Return the largest shares of the slopes that are dual feasible, ½ Σ c² of unpenalised slopes, and if l2 > 0.

    The first share counts the squared penalty as rows, the second bounds only coefficients without l2. Unpenalised
    coefficients limit no share.
    """
    rows, conjugate, unpenalised, smooth = 1.0, 1.0, 0.0, False
    for j in range(w.shape[0]):
        if l1[j] == 0.0 and l2[j] == 0.0:
            if w[j] != 0.0 or not (positive and c[j] < 0.0):
                unpenalised += 0.5 * c[j] * c[j]
            continue
        rest = c[j] - l2[j] * w[j]
        pull = rest if positive else abs(rest)
        if pull > l1[j]:
            rows = min(rows, l1[j] / pull)
        if l2[j] > 0.0:
            smooth = True
        elif pull > l1[j]:
            conjugate = min(conjugate, l1[j] / pull)
    return rows, conjugate, unpenalised, smooth


@jit(**IN_ORDER)
def penalty_terms_as_rows(l1, l2, w, c, share):  # type: ignore[no-untyped-def]
    """Return the coefficients' part of the gap if the squared penalty counts as rows of data."""
    total = 0.0
    for j in range(w.shape[0]):
        if l1[j] == 0.0 and l2[j] == 0.0:
            continue
        rest = c[j] - l2[j] * w[j]
        total += l1[j] * abs(w[j]) - share * rest * w[j] + 0.5 * (1.0 - share) ** 2 * l2[j] * w[j] * w[j]
    return total


@jit(**IN_ORDER)
def penalty_terms_by_conjugate(l1, l2, positive, w, c, share):  # type: ignore[no-untyped-def]
    """Return the coefficients' part of the gap by the conjugate of their penalty, Σ g(w) + g*(s c) − s c w."""
    total = 0.0
    for j in range(w.shape[0]):
        if l1[j] == 0.0 and l2[j] == 0.0:
            continue
        slope, beyond = share * c[j], 0.0
        if l2[j] > 0.0:
            pull = slope if positive else abs(slope)
            beyond = max(pull - l1[j], 0.0)
            if slope < 0.0:
                beyond = -beyond
            over = l2[j] * w[j] - beyond
            total += over * over / (2.0 * l2[j])
        total += l1[j] * abs(w[j]) - (slope - beyond) * w[j]
    return total


@jit(**IN_ORDER)
def least_squares_gap(l1, l2, positive, w, c, squares):  # type: ignore[no-untyped-def]
    """Return the duality gap of ½ Σ h r², given `squares` = Σ h r²; unpenalised slopes add ½ Σ c²."""
    by_rows, by_conjugate, unpenalised, smooth = feasible_shares(l1, l2, positive, w, c)
    bound = 0.5 * (1.0 - by_rows) ** 2 * squares + penalty_terms_as_rows(l1, l2, w, c, by_rows)
    if smooth:
        other = 0.5 * (1.0 - by_conjugate) ** 2 * squares + penalty_terms_by_conjugate(
            l1, l2, positive, w, c, by_conjugate
        )
        bound = min(bound, other)
    return max(bound, 0.0) + unpenalised
