"""Naive Bayes classifiers, for columns of one kind and for mixed columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer._lazy import lazy_names

if TYPE_CHECKING:
    from mercer.naive_bayes._bernoulli import BernoulliNB
    from mercer.naive_bayes._categorical import CategoricalNB
    from mercer.naive_bayes._complement import ComplementNB
    from mercer.naive_bayes._gaussian import GaussianNB
    from mercer.naive_bayes._multinomial import MultinomialNB
    from mercer.naive_bayes._naive_bayes import NaiveBayes

_MODULES = {
    "_bernoulli": ["BernoulliNB"],
    "_categorical": ["CategoricalNB"],
    "_complement": ["ComplementNB"],
    "_gaussian": ["GaussianNB"],
    "_multinomial": ["MultinomialNB"],
    "_naive_bayes": ["NaiveBayes"],
}
__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB", "NaiveBayes"]
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
