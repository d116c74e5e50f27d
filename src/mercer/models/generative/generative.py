"""Classifiers that model p(x, y) = p(y) p(x|y), so that they have densities and can be sampled from."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, Self

import numpy as np

from mercer._errors import PriorError
from mercer._typing import Array
from mercer.families.draws import as_generator, checked_count
from mercer.models.generative.classifier import StatisticClassifier
from mercer.models.generative.posterior import log_evidence


class GenerativeClassifier(StatisticClassifier):
    """A `StatisticClassifier` with a likelihood: `log_density`, `sample` and `with_priors`."""

    @abstractmethod
    def _sample_rows(self, codes: Array, rng: np.random.Generator) -> Any:
        """One row drawn from p(x|y) for each class code."""

    # Class priors, of models with a parameter `priors` that fixes them.

    priors: Any

    def _class_priors(self) -> Array:
        """As given, or the weights of the classes."""
        weight = self.statistic_.weight
        return weight / weight.sum() if self.priors is None else checked_priors(self.priors, self.classes_)

    def _settle(self) -> None:
        """Only what depends on the priors, so that changing them refits nothing."""
        self.class_count_ = self.statistic_.weight
        self.class_prior_ = self._class_priors()

    def _with_priors(self, priors: Array) -> Self:
        """This model with parameters that fix the class priors."""
        return self.set_params(priors=priors)  # type: ignore[no-any-return]

    def log_density(self, X: Any) -> Array:
        """log p(x) = log Σ_y p(x, y): low where a row is unlike everything seen.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            The log density of each row.
        """
        self._fitted_classes()
        return self._over_blocks(X, log_evidence, None, base=self._log_base)

    def _log_base(self, block: tuple[Any, ...]) -> Array:
        """What log p(x|y) has in common for all classes, where `_joint` leaves it out."""
        return np.zeros(())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, Array]:
        """Draw rows and their classes from the fitted p(x, y).

        Parameters
        ----------
        n_samples : int, default=1
            How many rows.
        random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
            Fixes the draw.

        Returns
        -------
        X : ndarray, or sparse matrix if the model was fitted on one, of shape (n_samples, n_features)
            The rows.
        y : ndarray of shape (n_samples,)
            Their classes.
        """
        return self._sampled(n_samples, random_state)

    def _sampled(self, n_samples: int, random_state: Any, **options: Any) -> tuple[Any, Array]:
        """Classes drawn from the prior, and for each a row as `_sample_rows` draws it."""
        classes, rng = self._fitted_classes(), as_generator(random_state)
        prior = np.exp(self._log_prior())
        codes = rng.choice(len(prior), size=checked_count(n_samples), p=prior / prior.sum())
        return self._sample_rows(codes, rng, **options), classes[codes]

    def with_priors(self, priors: Any) -> Self:
        """The same model under other class priors, without refitting.

        Parameters
        ----------
        priors : array-like of shape (n_classes,) or dict from class to probability
            The new priors; they must sum to one.

        Returns
        -------
        model : object
            A new model; this one is unchanged.
        """
        model = copy.copy(self)._with_priors(checked_priors(priors, self._fitted_classes()))
        model._settle()
        return model


def priors_by_class(priors: dict[Any, float], classes: Array) -> list[float]:
    """Priors in the order of `classes`; a class that is not named has none."""
    labels = classes.tolist()
    if unknown := [label for label in priors if label not in labels]:
        raise PriorError(f"priors names the class {unknown[0]!r}, but the model knows only {labels}.")
    return [priors.get(label, 0.0) for label in labels]


def checked_priors(priors: Any, classes: Array, *, normalised: bool = True) -> Array:
    """Class priors as an array that is non-negative and, where `normalised`, sums to one."""
    if isinstance(priors, dict):
        priors = priors_by_class(priors, classes)
    try:
        values = np.asarray(priors, dtype=float)
    except (TypeError, ValueError):
        raise PriorError(f"Priors must be numbers, one for each of the classes {classes}. Got {priors!r}.") from None
    if np.isnan(values).any():
        raise PriorError(f"Priors must be numbers, but one of them is NaN. Got {priors!r}.")
    if values.shape != classes.shape:
        raise PriorError(
            f"Number of priors must match number of classes. Got {values.size} priors for the classes {classes}."
        )
    if normalised and not np.isclose(values.sum(), 1.0):
        raise PriorError(f"The sum of the priors should be 1. It is {values.sum():.6g}; divide the priors by it.")
    if (values < 0).any():
        label = classes[values < 0].tolist()[0]
        raise PriorError(f"Priors must be non-negative. The prior of class {label!r} is negative.")
    if not 0 < values.sum() < np.inf:
        raise PriorError(f"Priors must be finite and not all 0. Got {priors!r}; give each class its probability.")
    return values
