"""Why a model says what it says of a row: what each column adds to the log odds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from mercer._errors import NoExplanationError, NoLinearFormError
from mercer.using.explaining._evidence import Additive, Evidence, evidence_of

Array = NDArray[Any]

#: how far what the parts add up to may be from what the model says, before it is not the same thing
AGREES = 1e-7


@dataclass(frozen=True, eq=False)
class Explanation:
    """base + Σ contributions = what the model says of a row, before it becomes a probability or a mean.

    Attributes
    ----------
    what : {"log odds", "log odds against the average class", "score", "prediction", "log of the prediction", \
"linear predictor"}
        What the parts add up to.
    outputs : tuple of str
        For whom they speak: the second of two classes, every one of several, or the target.
    base : ndarray of shape (n_outputs,)
        What is said before anything is known of a row.
    names : tuple of str
        Columns, and words of columns of text.
    contributions : ndarray of shape (n_rows, n_names, n_outputs)
        What each adds: of a generative model the weight of evidence, log p(x_j|y) / p(x_j|others).
    """

    what: str
    outputs: tuple[str, ...]
    base: Array
    names: tuple[str, ...]
    contributions: Array

    @property
    def totals(self) -> Array:
        """base + Σ contributions, of shape (n_rows, n_outputs)."""
        return Additive(self.base, self.contributions).totals

    def strongest(self, most: int) -> list[str]:
        """The names whose contributions differ most from row to row, the first the most."""
        moved = np.abs(self.contributions - np.median(self.contributions, axis=0)).mean(axis=(0, 2))
        return [self.names[j] for j in np.argsort(-moved, kind="stable")[:most].tolist()]


def explain_rows(model: Any, X: Any) -> Explanation:
    """What each column adds to what a fitted model says of each row, computed as the model predicts.

    Naive Bayes is asked with one column observed and the others missing, which it integrates out; Gaussian
    discriminants and linear models are asked for the features that they are linear in, and a product of two columns
    counts half for each of them. Features of one column are summed, except words.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        Naive Bayes of any kind, a Gaussian discriminant, or a linear model.
    X : data frame, array-like or sparse matrix
        Rows as the model takes them.

    Returns
    -------
    explanation : Explanation
        `base`, `contributions` and `names`.

    Raises
    ------
    NoExplanationError
        Where a model is not a sum of contributions of its columns, such as a kernel machine.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GaussianNB
    >>> X, y = np.array([[0.0], [2.0], [4.0], [6.0]]), [0, 0, 1, 1]
    >>> told = explain_rows(GaussianNB(shared_variance=True, var_smoothing=0).fit(X, y), [[4.0]])
    >>> told.what, told.names, told.contributions.round(6).ravel().tolist()
    ('log odds', ('x0',), [4.0])
    """
    try:
        found = evidence_of(model, X)
    except NoLinearFormError as refusal:
        raise NoExplanationError(f"There is no explanation of rows: {refusal}") from None
    return _of_scores(model, X, found)


def _of_scores(model: Any, X: Any, found: Evidence) -> Explanation:
    classes = getattr(model, "classes_", None)
    if classes is None:
        added = found.additive
        what = _kind_of_mean(model, X, added)
        return Explanation(what, ("the target",), added.base, found.names, added.contributions)
    added = _relative(found.additive, len(classes))
    what = _kind_of_score(model, X, added, len(classes))
    outputs = classes[-1:] if len(classes) == 2 else classes
    return Explanation(what, tuple(map(str, outputs.tolist())), added.base, found.names, added.contributions)


def _relative(added: Additive, n_classes: int) -> Additive:
    """Of two scores their difference; of several what each is more than their average, which is all that matters."""
    base, contributions = added
    if base.shape[0] == 1:
        return added
    if n_classes == 2:
        return Additive(base[1:] - base[:1], contributions[..., 1:] - contributions[..., :1])
    return Additive(base - base.mean(), contributions - contributions.mean(axis=-1, keepdims=True))


def _kind_of_score(model: Any, X: Any, added: Additive, n_classes: int) -> str:
    """Whether these are log odds: for who has probabilities, they have to be those."""
    if not hasattr(model, "predict_proba"):
        return "score"
    proba, totals = np.asarray(model.predict_proba(X)), added.totals
    mine = np.column_stack([expit(-totals), expit(totals)]) if n_classes == 2 else softmax(totals, axis=1)
    if not np.allclose(mine, proba, rtol=0, atol=AGREES):
        return "score"
    return "log odds" if n_classes == 2 else "log odds against the average class"


def _kind_of_mean(model: Any, X: Any, added: Additive) -> str:
    predicted, totals = np.ravel(model.predict(X)), added.totals[:, 0]
    if np.allclose(predicted, totals, rtol=AGREES):
        return "prediction"
    with np.errstate(over="ignore"):
        logarithmic = np.allclose(predicted, np.exp(totals), rtol=AGREES)
    return "log of the prediction" if logarithmic else "linear predictor"
