"""How perceptrons learn in the span of their rows: the lectures' rule, and scikit-learn's."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state, compute_class_weight

from mercer._errors import DataError, FitInterrupted, NoRepresenterError
from mercer._jit.solvers.shuffled_rows import shuffle
from mercer._typing import Array
from mercer.models._progress import Progress
from mercer.models.rules.linear_threshold import LinearThreshold
from mercer.models.rules.perceptron import Perceptron
from mercer.solvers.machines.kernel_rows import KernelRows
from mercer.solvers.smooth.online import shuffled
from mercer.solvers.threshold.kernel_perceptron import KernelPocket, KernelUnit
from mercer.solvers.threshold.rates import Rate
from mercer.solvers.threshold.scikit_perceptron import LARGEST_SEED, SPARSE_INTERCEPT_RATE, seed_of


class Lesson(NamedTuple):
    """Rows by their kernel matrix, and for each unit which of them it is to answer to."""

    rows: KernelRows
    codes: Array
    classes: Array
    weight: Array
    sparse: bool

    @property
    def targets(self) -> list[Array]:
        """±1, for the second of two classes or for each of several."""
        wanted = [1] if len(self.classes) == 2 else range(len(self.classes))
        return [np.where(self.codes == k, 1.0, -1.0) for k in wanted]


class Learnt(NamedTuple):
    """α and intercept of each unit, the passes made, mistakes left, and what to say of those."""

    alpha: Array
    intercept: Array
    passes: int
    mistakes: float
    caution: str | None


class Rule(ABC):
    """How the perceptron that it was made from learns."""

    @abstractmethod
    def learn(self, lesson: Lesson, progress: Progress | None) -> Learnt:
        """Pass after pass over the rows."""


@dataclass(frozen=True)
class OfLinearThreshold(Rule):
    """The lectures' rule: until no row is on the wrong side; the best so far is kept."""

    model: LinearThreshold

    def learn(self, lesson: Lesson, progress: Progress | None) -> Learnt:
        model, incremental = self.model, self.model.mode == "incremental"
        units = [
            KernelUnit(lesson.rows, y, lesson.weight, float(model.fit_intercept), zero_is_positive=True)
            for y in lesson.targets
        ]
        pockets = [KernelPocket(unit, average=model.average) for unit in units]
        rate = Rate(1.0 if model.rate == "auto" else float(model.rate), model.decay or 0.0)
        rng = np.random.default_rng(check_random_state(model.random_state).randint(np.iinfo(np.int32).max))
        passes, done = 0, False
        try:
            while passes < model.max_iter and not done:
                if incremental:
                    self._pass(lesson, units, rate, passes, rng)
                # a step over all rows shows at the next look at them
                done = self._looked(pockets) and model.tol is not None
                if not incremental and not done:
                    for unit in units:
                        unit.step_over(rate.after(passes))
                passes += 1
                _tell(progress, passes, units)
            if not done and not incremental:
                done = self._looked(pockets)
        except KeyboardInterrupt:
            stopped = self._learnt(units, pockets, passes)
            raise FitInterrupted("stopped by the user; the best function found so far is kept.", stopped) from None
        return self._learnt(units, pockets, passes)

    def _pass(self, lesson: Lesson, units: list[KernelUnit], rate: Rate, passes: int, rng: np.random.Generator) -> None:
        n = len(lesson.codes)
        order = shuffled(n, rng) if self.model.shuffle else np.arange(n)
        for unit in units:
            unit.pass_over(order, rate, passes)

    def _looked(self, pockets: list[KernelPocket]) -> bool:
        perfect = [pocket.look() for pocket in pockets]  # a look at each
        return all(perfect)

    def _learnt(self, units: list[KernelUnit], pockets: list[KernelPocket], passes: int) -> Learnt:
        if self.model.tol is None:  # all passes were asked for, and where they led
            last = [unit.function(average=self.model.average) for unit in units]
            found = [(alpha, intercept) for alpha, intercept, _ in last]
            counts = [unit.wrong(scores=scores).sum() for unit, (_, _, scores) in zip(units, last, strict=True)]
        else:
            found = [(pocket.alpha, pocket.intercept) for pocket in pockets]
            counts = [pocket.mistakes for pocket in pockets]
        mistakes = float(sum(counts))
        caution = None
        if self.model.tol is not None and mistakes > 0:
            caution = (
                f"the perceptron has found no function without mistakes: {mistakes:g} are left after {passes} passes. "
                f"Allow more of them (max_iter={10 * passes}), or use a kernel of more features: a narrower RBF, say."
            )
        alpha = np.column_stack([alpha for alpha, _ in found])
        return Learnt(alpha, np.array([intercept for _, intercept in found]), max(1, passes), mistakes, caution)


@dataclass(frozen=True)
class OfPerceptron(Rule):
    """scikit-learn's: until the sum of the mistakes' scores stops falling, for each unit by itself."""

    model: Perceptron

    def learn(self, lesson: Lesson, progress: Progress | None) -> Learnt:
        model = self.model
        weights = compute_class_weight(model.class_weight, classes=lesson.classes, y=lesson.classes[lesson.codes])
        intercept_rate = (SPARSE_INTERCEPT_RATE if lesson.sparse else 1.0) * bool(model.fit_intercept)
        units = []
        for k, y in enumerate(lesson.targets):
            negative, positive = weights if len(lesson.classes) == 2 else (1.0, weights[k])
            importance = lesson.weight * np.where(y > 0, positive, negative)
            units.append(KernelUnit(lesson.rows, y, importance, intercept_rate, zero_is_positive=False))
        passes: list[int] = []
        try:
            for unit, seed in zip(units, self._seeds(len(lesson.classes)), strict=True):
                passes.append(0)
                for _ in self._passes_of(unit, seed):
                    passes[-1] += 1
                    _tell(progress, sum(passes), units)
        except KeyboardInterrupt:
            stopped = self._learnt(units, passes)
            raise FitInterrupted("stopped by the user; what was learnt so far is kept.", stopped) from None
        return self._learnt(units, passes)

    def _learnt(self, units: list[KernelUnit], passes: list[int]) -> Learnt:
        mistakes = float(sum(unit.wrong().sum() for unit in units))
        most, caution = max([1, *passes]), None
        if self.model.tol is not None and most == self.model.max_iter:
            caution = (
                "Maximum number of iteration reached before convergence. Consider increasing max_iter to improve the "
                "fit."
            )
        alpha, intercept = np.column_stack([unit.alpha for unit in units]), np.array([u.intercept for u in units])
        return Learnt(alpha, intercept, most, mistakes, caution)

    def _seeds(self, classes: int) -> list[int]:
        """Drawn in scikit-learn's order."""
        rng = check_random_state(self.model.random_state)
        if classes == 2:
            rng.randint(1, LARGEST_SEED)
            return [int(rng.randint(LARGEST_SEED))]
        return [seed_of(seed) for seed in rng.randint(LARGEST_SEED, size=classes)]

    def _passes_of(self, unit: KernelUnit, seed: int) -> Iterator[None]:
        """Teach a unit, with a stop after each pass."""
        model, n = self.model, len(unit.y)
        order, best, idle = np.arange(n, dtype=np.int32), math.inf, 0
        for passes in range(1, model.max_iter + 1):
            if model.shuffle:
                shuffle(order, seed)
            loss = unit.pass_over(order, Rate(float(model.eta0), 0.0), passes) / n
            idle = idle + 1 if model.tol is not None and loss > best - model.tol else 0
            best = min(best, loss)
            yield
            if idle >= model.n_iter_no_change:
                break


def _tell(progress: Progress | None, passes: int, units: list[KernelUnit]) -> None:
    if progress is not None:
        mistakes = sum(int(unit.wrong().sum()) for unit in units)
        progress(passes, mistakes / len(units[0].y), mistakes)


def rule_of(model: Any) -> Rule:
    """How a perceptron learns; a typed error where that has no kernel form."""
    if isinstance(model, LinearThreshold):
        return OfLinearThreshold(model)
    if model.penalty is not None:
        raise NoRepresenterError(
            f"Perceptron(penalty={model.penalty!r}) has no kernel form here: the penalty changes w after every row, "
            "not only after mistakes, and L1 along axes that a kernel does not have. Leave it out, or kernelize "
            "LogisticRegression, whose penalty is a norm."
        )
    if model.early_stopping:
        raise DataError("early_stopping is not for a perceptron with a kernel; leave it out, and set max_iter instead.")
    return OfPerceptron(model)
