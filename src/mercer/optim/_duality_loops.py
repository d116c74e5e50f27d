"""Sums over the coefficients of a penalised loss that bound how far it is from its minimum: see
`solvers.sparse.duality`.

Terms are differences of numbers that nearly cancel, so that sums are not reordered.
"""

from __future__ import annotations

from mercer._jit import IN_ORDER, jit


@jit(**IN_ORDER)
def shares(l1, l2, positive, w, c):  # type: ignore[no-untyped-def]
    """The shares of slopes that l1 holds: of all, less what l2 holds, and of those without l2.

    Coefficients without a penalty limit no share; third is ½ Σ c² of theirs, and fourth whether there is an l2.
    """
    rows, conjugate, unheld, smooth = 1.0, 1.0, 0.0, False
    for j in range(w.shape[0]):
        if l1[j] == 0.0 and l2[j] == 0.0:
            if w[j] != 0.0 or not (positive and c[j] < 0.0):
                unheld += 0.5 * c[j] * c[j]
            continue
        rest = c[j] - l2[j] * w[j]
        pull = rest if positive else abs(rest)
        if pull > l1[j]:
            rows = min(rows, l1[j] / pull)
        if l2[j] > 0.0:
            smooth = True
        elif pull > l1[j]:
            conjugate = min(conjugate, l1[j] / pull)
    return rows, conjugate, unheld, smooth


@jit(**IN_ORDER)
def of_rows(l1, l2, w, c, share):  # type: ignore[no-untyped-def]
    """What coefficients add to the gap where the squared penalty counts as rows."""
    total = 0.0
    for j in range(w.shape[0]):
        if l1[j] == 0.0 and l2[j] == 0.0:
            continue
        rest = c[j] - l2[j] * w[j]
        total += l1[j] * abs(w[j]) - share * rest * w[j] + 0.5 * (1.0 - share) ** 2 * l2[j] * w[j] * w[j]
    return total


@jit(**IN_ORDER)
def of_conjugate(l1, l2, positive, w, c, share):  # type: ignore[no-untyped-def]
    """What coefficients add to the gap by the conjugate of their penalty."""
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
    """The gap of ½ Σ h r², where that sum is given without the half; slopes that nothing holds have to vanish."""
    by_rows, by_conjugate, unheld, smooth = shares(l1, l2, positive, w, c)
    bound = 0.5 * (1.0 - by_rows) ** 2 * squares + of_rows(l1, l2, w, c, by_rows)
    if smooth:
        other = 0.5 * (1.0 - by_conjugate) ** 2 * squares + of_conjugate(l1, l2, positive, w, c, by_conjugate)
        bound = min(bound, other)
    return max(bound, 0.0) + unheld
