"""The best weights that each perceptron has had (Gallant's pocket), and whether it can do better."""

from __future__ import annotations

import numpy as np

from mercer._errors import NotConvergedWarning
from mercer._typing import Array
from mercer.report.wording import counted
from mercer.solvers import separation
from mercer.solvers.certificate import Certificate
from mercer.solvers.separation import Separation
from mercer.solvers.smooth.gradient import Errors
from mercer.solvers.threshold import _advice
from mercer.solvers.threshold.lesson import Lesson

#: looks without fewer mistakes after which to ask whether there is a separating hyperplane at all
PATIENCE = 10


class Pocket:
    """Weights with the fewest mistakes, unit by unit.

    Parameters
    ----------
    lesson : Lesson
        The rows.
    proof_size : float
        Rows × columns² × units up to which linear programmes decide whether separating hyperplanes exist.
    """

    def __init__(self, lesson: Lesson, proof_size: float) -> None:
        self._lesson = lesson
        self._provable = lesson.n_rows * float(lesson.n_columns) ** 2 * lesson.units <= proof_size
        self._wrong = np.full(lesson.units, np.inf)
        self._mistakes = np.zeros(lesson.units)
        self._idle = 0
        self._asked = False
        self.weights: Array | None = None
        self.separations: list[Separation | None] = [None] * lesson.units

    def settled(self, look: Errors) -> bool:
        """Take weights in where they are better; True once every unit is perfect or known never to be."""
        if self.weights is None:
            self.weights = look.w.copy()
        better = look.wrong < self._wrong
        self.weights[:, better] = look.w[:, better]
        self._wrong[better], self._mistakes[better] = look.wrong[better], look.mistakes[better]
        self._idle = 0 if better.any() else self._idle + 1
        if self._idle >= PATIENCE:
            self.ask()
        return self._done()

    def ask(self) -> None:
        """Whether there are separating hyperplanes for the units that have found none; once."""
        if self._asked or self.weights is None or not self._provable:
            return
        self._asked = True
        for unit in range(self._lesson.units):
            if not self._perfect(unit):
                self.separations[unit] = separation.bernoulli(self._lesson.unit_observations(unit))

    def _perfect(self, unit: int) -> bool:
        return bool(self._wrong[unit] == 0)

    def hopeless(self, unit: int) -> bool:
        """Whether it is proven that no weights have every row on its side.

        Rows of class 1 may have u = 0, the others may not; with an intercept that is no difference.
        """
        found = self.separations[unit]
        if found is None or not found.certificate.holds:
            return False
        return not bool(found.separated[self._lesson.codes != self._lesson.first + unit].all())

    @property
    def mistakes(self) -> int:
        return int(self._mistakes.sum())

    def certificate(self) -> Certificate:
        """That the units are perfect, or that those which are not cannot be."""
        hopeless = [k for k in range(self._lesson.units) if self.hopeless(k)]
        proofs = [found.certificate for k in hopeless if (found := self.separations[k]) is not None]
        if not proofs or not self._done():
            return Certificate("separation", float(self.mistakes), 0.0, "rows on the wrong side of a hyperplane")
        worst = max(proofs, key=lambda proof: proof.value)
        which = "the classes" if self._lesson.units == 1 else f"any of classes_[{hopeless}] from the others"
        sentence = (
            f"distance at which weighted means of the rows of both sides meet, so that no hyperplane separates "
            f"{which}; {counted(self.mistakes, 'mistake')} at best so far"
        )
        return Certificate("no separation", worst.value, worst.tolerance, sentence)

    def _done(self) -> bool:
        return all(self._perfect(k) or self.hopeless(k) for k in range(self._lesson.units))

    def trouble(self, passes: int) -> Warning | None:
        """Evidence, cause, and one thing to do, where the certificate does not hold."""
        if self.weights is None or self.certificate().holds:
            return None
        evidence = (
            f"the perceptron has found no separating hyperplane: {counted(self.mistakes, 'mistake')} left after "
            f"{counted(passes, 'pass')}."
        )
        return NotConvergedWarning(f"{evidence} {_advice.no_hyperplane(self._lesson, self._doubt())}")

    def _doubt(self) -> str | None:
        """Why it is not known whether the units could be perfect."""
        if not self._asked:
            return "Whether there is one was not examined: the table exceeds proof_size"
        if any(found is not None and not found.certificate.holds for found in self.separations):
            return "Whether there is one could not be told from rounding errors"
        return None
