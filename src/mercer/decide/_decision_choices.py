"""Choosing what to decide by: priors and thresholds that suit rows at hand."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from mercer._typing import Array
from mercer.decide import priors as shift
from mercer.decide._decision_questions import DecisionQuestions
from mercer.decide.costs import cost_matrix
from mercer.decide.priors import PriorShift
from mercer.decide.thresholds import Threshold, chosen_threshold
from mercer.decide.wrapped import log_probabilities


class DecisionChoices(DecisionQuestions):
    """An estimator whose parameters can be found from rows; none of them is changed here."""

    costs: Any
    actions: Any

    @abstractmethod
    def _trained_priors(self) -> Array: ...

    def estimate_priors(self, X: Any) -> PriorShift:
        """Class priors of rows without labels, by maximum likelihood, and whether they have shifted.

        What a class looks like is taken to be as it was in training, and the model's probabilities to be calibrated
        (`Calibrated` makes them so). Nothing is changed; to use what was found, `set_params(priors=found.priors)`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows from where decisions are to be made.

        Returns
        -------
        found : PriorShift
            `priors` with `standard_errors`, the p-value of a likelihood ratio test against those of the training, and a
            certificate; `sentence()` says it in words.
        """
        trained = self._trained_priors()
        return shift.estimate_priors(log_probabilities(self._fitted, X), trained, self.classes_)

    def choose_threshold(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        false_positive_rate: float | None = None,
        confidence: float | None = None,
    ) -> Threshold:
        """Where to cut the probability of the second of two classes, chosen on rows the model has not seen.

        Nothing is changed; to use what was found, `set_params(threshold=found.value)`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows that the model was not fitted on.
        y : array-like of shape (n_samples,)
            Their true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in costs and shares; a rate is bounded by counting rows, whatever they weigh.
        false_positive_rate : float, default=None
            The lowest threshold that calls at most this share of rows of the first class positive (Neyman and Pearson);
            by default the one of the least average cost.
        confidence : float, default=None
            With which probability the share is kept; by default it is on average.

        Returns
        -------
        found : Threshold
            `value`, what it did on these rows, and what is promised for new ones.
        """
        self._rule()
        costs, p = cost_matrix(self.costs, self.classes_, self.actions), self.predict_proba(X)
        codes, weight = self._labelled(p, y, sample_weight)
        return chosen_threshold(p, codes, costs, weight, rate=false_positive_rate, confidence=confidence)
