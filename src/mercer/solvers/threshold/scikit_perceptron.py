"""scikit-learn's perceptron, one unit at a time: pass after pass until its objective stops falling.

The order of rows, the updates and the rule to stop are scikit-learn's (1.9), number for number; see
`_jit.solvers.perceptron`.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import NonFiniteError
from mercer._jit.solvers import perceptron as loops
from mercer._jit.solvers.perceptron import Terms
from mercer._jit.solvers.shuffled_rows import shuffle
from mercer._threads import ordered_map
from mercer._typing import Array
from mercer.designs.sparse import Entries

PENALTIES = {None: 0, "l1": 1, "l2": 2, "elasticnet": 3}
#: sparse rows move the intercept less, since every row does
SPARSE_INTERCEPT_RATE = 0.01
#: numbers below this are drawn to shuffle rows by
LARGEST_SEED = np.iinfo(np.int32).max
#: common factors of weights below this are multiplied in
SMALLEST_SCALE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-6}


class Stopping(NamedTuple):
    """When to stop: after so many passes, or so many in a row without gaining `tolerance` (None: never)."""

    tolerance: float | None
    patience: int
    most_passes: int


class Rows(NamedTuple):
    """Entries of rows, weights, and which rows only judge; empty are places in an array, weights of 1, and "none"."""

    entries: Entries
    weight: Array
    held_out: Array
    sparse: bool

    @classmethod
    def of(cls, X: Any, weight: Array | None, held_out: Array | None) -> Rows:
        weight = np.zeros(0, dtype=X.dtype) if weight is None else weight
        held_out = np.zeros(0, dtype=bool) if held_out is None else held_out
        if not isinstance(X, np.ndarray):
            return cls(Entries.of(X), weight, held_out, sparse=True)
        entries = Entries.of_dense(np.require(X, requirements=["C", "W"]).reshape(-1))
        return cls(entries, weight, held_out, sparse=False)


@dataclass(eq=False)
class Unit:
    """A perceptron while it learns to tell rows with y = 1 from rows with y = −1."""

    rows: Rows
    y: Array  # of int8: little to look up for each row
    terms: Terms
    stopping: Stopping
    w: Array
    intercept: float
    #: of the order of the rows; None for the order they have
    seed: int | None
    #: accuracy on the rows held out, given weights and intercept; None where none are
    judge: Callable[[Array, float], float] | None = None
    verbose: bool = False
    passes: int = 0
    finished: bool = False
    _state: Array = field(init=False)
    _taken: Array = field(init=False)
    _order: Array = field(init=False)
    _best: float = field(init=False)
    _idle: int = field(init=False, default=0)
    _began: float = field(init=False, default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self._state = np.array([self.intercept, 1.0, self.w @ self.w, np.abs(self.w).sum(), 0.0, 0.0, 0.0])
        self._taken = np.zeros_like(self.w)
        self._order = np.arange(len(self.y), dtype=np.int32)
        self._best = math.inf if self.judge is None else -math.inf

    def learn(self) -> None:
        """Make one pass, and note whether it was the last."""
        if self.seed is not None:
            shuffle(self._order, self.seed)
        rows, smallest = self.rows, SMALLEST_SCALE[self.w.dtype]
        data = (*rows.entries, self.y, rows.weight, rows.held_out, self._order)
        loops.learn(*data, self.terms, smallest, self.w, self._state, self._taken)
        self.passes += 1
        self.intercept = float(self._state[loops.INTERCEPT])
        if not (math.isfinite(self.intercept) and np.isfinite(self.w).all()):
            raise OverflowError(self.passes)
        self._idle = self._idle + 1 if self._stagnates() else 0
        self.finished = self._idle >= self.stopping.patience or self.passes >= self.stopping.most_passes

    def _stagnates(self) -> bool:
        learnt = len(self.y) - int(self.rows.held_out.sum())
        loss, objective = (float(self._state[which]) / learnt for which in (loops.LOSS, loops.OBJECTIVE))
        # as in scikit-learn, the common factor of the weights is left out when rows held out are judged
        score = objective if self.judge is None else self.judge(self.w, self.intercept)
        if self.verbose:
            self._report(loss, objective, score)
        sign = 1 if self.judge is None else -1
        idle = self.stopping.tolerance is not None and sign * score > sign * self._best - self.stopping.tolerance
        self._best = min(self._best, score) if self.judge is None else max(self._best, score)
        return idle

    def _report(self, loss: float, objective: float, score: float) -> None:
        judged = "" if self.judge is None else f", Validation score: {score:f}"
        sys.stdout.write(
            f"-- Epoch {self.passes}\nNorm: {np.linalg.norm(self.weights()):.2f}, "
            f"NNZs: {np.count_nonzero(self.w)}, Bias: {self.intercept:.6f}, T: {self.passes * len(self.y)}, "
            f"Avg. loss: {loss:f}, Objective: {objective:f}{judged}\n"
            f"Total training time: {time.perf_counter() - self._began:.2f} seconds.\n"
        )

    def weights(self) -> Array:
        """With the common factor multiplied in."""
        w = self.w.copy()
        loops.unscale(w, self._state.copy())
        return w


def learn_all(units: list[Unit], threads: int) -> None:
    """Let units make passes until all have finished, each in a thread of its own where there are several."""
    try:
        while active := [unit for unit in units if not unit.finished]:
            if threads > 1:
                ordered_map(Unit.learn, active)
            else:
                for unit in active:
                    unit.learn()
    except OverflowError as overflow:
        raise NonFiniteError(
            f"Floating-point under-/overflow occurred at epoch #{overflow.args[0]}. Scaling input data with "
            "StandardScaler or MinMaxScaler might help."
        ) from None


def seed_of(seed: int) -> int:
    """What scikit-learn draws second from a generator with this seed."""
    rng = np.random.RandomState(seed)
    rng.randint(1, LARGEST_SEED)
    return int(rng.randint(LARGEST_SEED))
