"""Lecture 5: a discriminative model does not estimate p(x), and so it cannot recognise unfamiliar rows.

Scanned digits 0 to 7 are known. What is strange: the digits 8 and 9, negatives of known ones, and known ones twice as
bright. AUC is the probability that a known row scores higher than a strange one.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from mercer import DensityOutliers, GaussianDiscriminant, GaussianNB, KernelBayes, LogisticRegression
from mercer.density import Scott

X, Y = load_digits(return_X_y=True)
KNOWN = np.random.default_rng(0).permutation(np.flatnonzero(Y < 8))
TRAIN, TEST = np.split(KNOWN, 2) if len(KNOWN) % 2 == 0 else np.split(KNOWN[1:], 2)
STRANGE = {"new digits": X[Y > 7], "negatives": 16 - X[TEST], "twice as bright": 2 * X[TEST]}
#: one width for all pixels, which are all in one unit
GENERATIVE = {
    "KernelBayes": KernelBayes(bandwidth=Scott(shape="one")),
    "GaussianDiscriminant": GaussianDiscriminant(shrinkage=0.1),
    "GaussianNB": GaussianNB(var_smoothing=0.01),
}


def auc(known: np.ndarray, strange: np.ndarray) -> float:
    return float(roc_auc_score(np.repeat([1, 0], [len(known), len(strange)]), np.concatenate([known, strange])))


@functools.cache
def discriminative() -> LogisticRegression:
    return LogisticRegression(C=0.1, max_iter=500).fit(X[TRAIN], Y[TRAIN])


def confidence(rows: np.ndarray) -> np.ndarray:
    return np.asarray(discriminative().predict_proba(rows).max(axis=1))


def test_a_discriminative_model_is_confidently_wrong():
    """A model of known digits is equally confident about digits of other classes."""
    assert discriminative().score(X[TEST], Y[TEST]) > 0.97
    sure = {name: (confidence(rows) > 0.9).mean() for name, rows in STRANGE.items()}
    assert sure["new digits"] > 0.2  # 0.25, each of them wrong: there is no right answer
    assert sure["negatives"] > 0.5  # 0.61
    assert sure["twice as bright"] > 0.9  # 0.97


@pytest.mark.parametrize("name", GENERATIVE)
def test_the_density_finds_what_confidence_does_not(name):
    model = GENERATIVE[name].fit(X[TRAIN], Y[TRAIN])
    usual = model.log_density(X[TEST])
    by_density = {kind: auc(usual, model.log_density(rows)) for kind, rows in STRANGE.items()}
    by_confidence = {kind: auc(confidence(X[TEST]), confidence(rows)) for kind, rows in STRANGE.items()}
    assert by_confidence["twice as bright"] < 0.2  # more confident than about known digits
    assert by_confidence["negatives"] < 0.8
    assert min(by_density["negatives"], by_density["twice as bright"]) > 0.98
    if name != "GaussianNB":  # pixels are far from independent
        assert by_density["new digits"] > 0.97 > by_confidence["new digits"]


def test_new_digits_are_flagged_with_few_false_alarms():
    """Flag 100 known and 100 new digits: a twentieth of the flagged ones may be known, as half of the rows are."""
    wrong, found = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        known, new = rng.permutation(KNOWN), rng.choice(np.flatnonzero(Y > 7), 100, replace=False)
        learnt, new_rows = known[:1300], [*known[1300:1400], *new]
        model = DensityOutliers(GENERATIVE["KernelBayes"], fdr=0.1, random_state=seed).fit(X[learnt], Y[learnt])
        flagged = model.predict(X[new_rows]) < 0
        wrong.append(flagged[:100].sum() / max(1, flagged.sum()))
        found.append(flagged[100:].mean())
    assert np.mean(wrong) <= 0.1
    assert np.mean(found) > 0.8
