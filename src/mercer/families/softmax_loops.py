"""Losses of a multinomial response and their slopes, row by row, in place."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit
from mercer._jit.scalar import exp


@jit
def slopes(codes, eta, weight, implied):  # type: ignore[no-untyped-def]
    """Σ weight · (log Σ exp η_k − η_code); each row of `eta` becomes weight · (p − indicator of its code).

    With `implied` there is one more class, of code −1 and η = 0.
    """
    n, k = eta.shape
    total = 0.0
    for i in range(n):
        highest = 0.0 if implied else eta[i, 0]
        for c in range(k):
            highest = eta[i, c] if eta[i, c] > highest else highest
        code = codes[i]
        own = (eta[i, code] if code >= 0 else 0.0) - highest
        # the sum without the likeliest class, whose term is 1: exact where the probability of that class is almost 1
        others, likeliest = 0.0, 0.0
        for c in range(k):
            below = eta[i, c] - highest
            e = exp(below)
            eta[i, c] = e
            others += 0.0 if below == 0.0 else e
            likeliest += 1.0 if below == 0.0 else 0.0
        if implied:
            others += exp(-highest) if highest > 0.0 else 0.0
            likeliest += 0.0 if highest > 0.0 else 1.0
        others += likeliest - 1.0
        # and without the observed class
        unseen = others if own == 0.0 else 1.0 + others - (eta[i, code] if code >= 0 else exp(own))
        w = weight[i] if weight.shape[0] else 1.0
        total += w * (np.log1p(others) - own)
        scale = w / (1.0 + others)
        for c in range(k):
            eta[i, c] *= scale
        if code >= 0:
            eta[i, code] = -scale * unseen
    return total


@jit
def total(codes, eta, weight, implied):  # type: ignore[no-untyped-def]
    """Σ weight · (log Σ exp η_k − η_code)."""
    n, k = eta.shape
    result = 0.0
    for i in range(n):
        highest = 0.0 if implied else eta[i, 0]
        for c in range(k):
            highest = eta[i, c] if eta[i, c] > highest else highest
        others, likeliest = 0.0, 0.0
        for c in range(k):
            below = eta[i, c] - highest
            others += 0.0 if below == 0.0 else exp(below)
            likeliest += 1.0 if below == 0.0 else 0.0
        if implied:
            others += exp(-highest) if highest > 0.0 else 0.0
            likeliest += 0.0 if highest > 0.0 else 1.0
        own = (eta[i, codes[i]] if codes[i] >= 0 else 0.0) - highest
        result += (weight[i] if weight.shape[0] else 1.0) * (np.log1p(others + (likeliest - 1.0)) - own)
    return result
