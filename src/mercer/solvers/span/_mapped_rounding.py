"""What tiles of float32 do to the gradient of a problem on features, as float64 tells it of some of the rows.

n/m times the error of m rows that are drawn at random is in the mean the error of all rows, so that the mean of its
square is larger than the square of that. No row may have so much of it that a sample which misses the row would tell
another story: an error of row i is about u (h‖t‖² ‖c‖ + |slope| ‖t‖), with its weight or curvature h.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer._typing import Array
from mercer.designs.mapped import KeptTiles, MappedDesign
from mercer.solvers.span.mapped_curvature import Inverse
from mercer.solvers.span.mapped_problem import MappedProblem

#: one of so many rows is looked at, and what they say is multiplied by this, since all may say a little more
OF_ROWS, MARGIN = 32, 1.5


def rounding(problem: MappedProblem, inverse: Inverse | None, w: Array) -> float:
    """How long the error of a gradient by tiles of float32 is, as the Hessian measures it; infinite if nobody knows.

    Parameters
    ----------
    inverse : Inverse
        Of the Hessian, about.
    w : array of shape (columns, outputs)
        Where the gradient is.
    """
    design, n = problem.design, problem.design.n_rows
    if not (isinstance(design, MappedDesign) and isinstance(design.tiles, KeptTiles)):
        return np.inf
    if design.rough == np.float64 or inverse is None or n < OF_ROWS:
        return np.inf
    some = np.sort(np.random.default_rng(1).choice(n, n // OF_ROWS, replace=False))
    few = replace(problem, design=replace(design, tiles=design.tiles.made)).sampled(some)
    if few.design.rough == np.float64:  # so few that there is no float32 to look at
        return np.inf
    _, rough = few.design.swept(w, few.slopes, exactly=False)
    _, exact = few.design.swept(w, few.slopes)
    error = (rough - exact) * (n / len(some))
    return MARGIN * float(np.sqrt(np.vdot(error, inverse.times(error))))


def is_even(problem: MappedProblem, eta: Array) -> bool:
    """Whether some rows can tell what rounding does to all, where these have the values η."""
    design = problem.design
    if not (isinstance(design, MappedDesign) and isinstance(design.tiles, KeptTiles)):
        return False
    first, bend = problem.losses.slopes(eta)
    sizes, h = np.sqrt(design.tiles.squares), bend.typical
    with np.errstate(over="ignore", invalid="ignore"):
        return all(_even(share) for share in (np.abs(first).sum(axis=1) * sizes, h * sizes, h * sizes**2))


def told(length: float) -> str:
    """In a sentence, of so many standard errors."""
    return f"; {length:.2g} of it is an estimate of what float32 does to g, by float64 on one in {OF_ROWS} rows"


def _even(share: Array) -> bool:
    return bool(0 < OF_ROWS**2 * share.max(initial=0.0) <= share.sum() < np.inf)
