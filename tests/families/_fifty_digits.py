"""Logarithms of Γ and of factorials, with as many digits as the decimal context has, up to fifty."""

from __future__ import annotations

import math
from decimal import Decimal

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")


def log_gamma(x: Decimal) -> Decimal:
    """Stirling's series, whose five terms have 24 digits at 100 and more beyond; below, by the recursion of Γ."""
    below = Decimal(0)
    while x < 100:
        below, x = below - x.ln(), x + 1
    terms = (1 / Decimal(d) / x**k for d, k in ((12, 1), (-360, 3), (1260, 5), (-1680, 7), (1188, 9)))
    return below + (x - Decimal("0.5")) * x.ln() - x + (2 * PI).ln() / 2 + sum(terms)


def log_factorial(n: int) -> Decimal:
    """Logarithm of n! by its value below 1,000, and by the series, which has 35 digits, from there on."""
    return Decimal(math.factorial(n)).ln() if n < 1000 else log_gamma(Decimal(n + 1))
