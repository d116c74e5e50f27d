"""Text to a model, end to end: words counted, and a multinomial for each class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn import naive_bayes
from sklearn.feature_extraction import text
from sklearn.pipeline import make_pipeline

from bench import documents
from bench.documents import Documents
from bench.harness import Contender, Race, Results, Workload
from mercer import CountVectorizer, MultinomialNB


def fit(vectorizer: Any, model: Any) -> Callable[[Any], Any]:
    return lambda data: lambda: make_pipeline(vectorizer(), model()).fit(data.strings, data.y)[-1]


def fit_and_predict(vectorizer: Any, model: Any) -> Callable[[Any], Any]:
    return lambda data: lambda: make_pipeline(vectorizer(), model()).fit(data.strings, data.y).predict(data.strings)


def learnt(model: Any, data: Documents) -> Results:
    return {name: getattr(model, name) for name in ("feature_log_prob_", "class_log_prior_")}


def labels(predicted: Any, data: Documents) -> Results:
    return {"labels": predicted}


OURS, THEIRS = (CountVectorizer, MultinomialNB), (text.CountVectorizer, naive_bayes.MultinomialNB)

WORKLOAD = Workload(
    name="multinomial_nb",
    shape="400 bytes of text, 2 classes",
    rows=100_000,
    make_arrays=documents.generated,
    races=(
        Race("fit", Contender("mercer", fit(*OURS)), (Contender("scikit-learn", fit(*THEIRS), reach=10),), learnt),
        Race(
            "fit and predict",
            Contender("mercer", fit_and_predict(*OURS)),
            (Contender("scikit-learn", fit_and_predict(*THEIRS), reach=10),),
            labels,
        ),
    ),
)
