"""Explain rows: the contribution of each column to the log odds, the score or the prediction."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from mercer._errors import MercerError, NoExplanationError
from mercer._typing import Array
from mercer.application.reading import columns_of, read_rows, reader_of
from mercer.base.pipelines import last_step
from mercer.data import Kind, Table
from mercer.data.select import names_of, with_columns
from mercer.decision import Calibrated
from mercer.explanation._background import background_of, read_formats
from mercer.explanation._shapley import shapley_values
from mercer.explanation.evidence import (
    AGAINST_AVERAGE,
    LOG_ODDS,
    PREDICTION,
    PROBABILITY_MARGIN,
    SCORE,
    Additive,
    AdditiveEvidence,
    evidence_of,
    output_of,
    relative_scores,
    unwrap_decisions,
)

#: difference between the sum of the parts and the prediction up to which they are equal
ADDITIVITY_TOLERANCE = 1e-7
#: rows of X that suffice as a background
MIN_BACKGROUND_ROWS = 10
#: divisor of the evaluations for Shapley values that gives those for words of texts, which are added
WORD_EVALUATIONS_DIVISOR = 2
#: words of a row that get a contribution of their own
MAX_ROW_WORDS = 10
EXACT_METHOD = "exact"
ENUMERATED_METHOD = "Shapley values, exact over the background"
SAMPLED_METHOD = "Shapley values, sampled"
WORD_DETAILS = (
    " Of a text, words are named by the change of the {what} as each is left out; the text itself adds the rest of its "
    "value."
)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, eq=False)
class Explanation:
    """A base and contributions that add up to the output of a model, before it becomes a probability or a mean.

    Attributes
    ----------
    what : {"log odds", "log odds against the average class", "score", "prediction", "log of the prediction", \
"linear predictor", "decision"}
        The output: the sum of base and contributions.
    outputs : tuple of str
        The second of two classes, each of several classes, or the target.
    base : ndarray of shape (n_outputs,)
        The output without any contribution; for Shapley values, the mean output over the background.
    names : tuple of str
        Columns, and words of columns of text.
    contributions : ndarray of shape (n_rows, n_names, n_outputs)
        Contributions of the columns: in a generative model the weight of evidence, log p(x_j|y) / p(x_j|others).
    method : {"exact", "Shapley values, exact over the background", "Shapley values, sampled"}
        How contributions were computed: as terms of the model, or as Shapley values of all or some orders of columns.
    error : ndarray of shape (n_rows, n_names, n_outputs) or None
        Standard errors of sampled Shapley values.
    details : str
        A sentence on the method.
    """

    what: str
    outputs: tuple[str, ...]
    base: Array
    names: tuple[str, ...]
    contributions: Array
    method: str = EXACT_METHOD
    error: Array | None = None
    details: str = "Contributions are the terms of the model, which is a sum over columns."

    @property
    def totals(self) -> Array:
        """base + Σ contributions, of shape (n_rows, n_outputs)."""
        return Additive(self.base, self.contributions).totals

    def strongest(self, most: int) -> list[str]:
        """Return the names whose contributions differ most from row to row, the first the most."""
        moved = np.abs(self.contributions - np.median(self.contributions, axis=0)).mean(axis=(0, 2))
        return [self.names[j] for j in np.argsort(-moved, kind="stable")[:most].tolist()]


def explain_rows(
    model: Any, X: Any, *, background: Any = None, max_evaluations: int = 100_000, random_state: int = 0
) -> Explanation:
    """Divide the output of a fitted model for each row among the columns.

    Naive Bayes, Gaussian discriminants and linear models are sums over columns, and contributions are their terms:
    log p(x_j|y) of one column with the others missing, or coefficients times features, where a product of two columns
    is divided equally between them. Features of one column are summed, except words. These models need no background.

    Other models (kernel machines, smoothers, trees, …) have Shapley values: the mean change of the output as the
    columns of a background row are replaced by those of the row, one after the other, over background rows and orders.
    They are exact if all orders can be evaluated; otherwise orders are sampled, and standard errors are given. The
    value of a text is divided between the words whose removal changes the output most and the rest of the text.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        Any classifier or regressor. Of a wrapper that makes decisions or intervals, the model inside is explained.
    X : data frame, array-like or sparse matrix
        Rows that the model accepts.
    background : like X, default=None
        Rows with typical values, such as some training rows, for models that are not sums over columns; at most 100 are
        used. By default, rows are drawn column by column from the card of a loaded model; without a card, the rows of
        `X` are used if there are at least 10.
    max_evaluations : int, default=100_000
        Approximate number of rows that the model predicts for all Shapley values together.
    random_state : int, default=0
        Seed of the orders and background rows.

    Returns
    -------
    explanation : Explanation
        `base`, `contributions` and `names`, with `method` and `error`. They add up to log odds if the model has
        probabilities (clipped to [0.0001, 0.9999] for models that are not sums), to the scores of a classifier without
        probabilities, or to the prediction.

    Raises
    ------
    NoExplanationError
        If a model is not a sum over columns, and there is no background.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC, GaussianNB
    >>> X, y = np.array([[0.0], [2.0], [4.0], [6.0]]), [0, 0, 1, 1]
    >>> explanation = explain_rows(GaussianNB(shared_variance=True, var_smoothing=0).fit(X, y), [[4.0]])
    >>> explanation.what, explanation.names, explanation.contributions.round(6).ravel().tolist()
    ('log odds', ('x0',), [4.0])
    >>> explain_rows(SVC().fit(X, y), [[4.0]], background=X).method
    'Shapley values, exact over the background'
    """
    X = read_rows(model, X)
    background = None if background is None else read_rows(model, background)
    explanation = explain_exactly(model, X)
    if explanation is not None:
        return explanation
    X = read_formats(model, X)
    background = background_of(model, X, random_state) if background is None else read_formats(model, background)
    return _explain_by_shapley(unwrap_decisions(model), X, background, max_evaluations, random_state)


def explain_exactly(model: Any, X: Any) -> Explanation | None:
    """Return the terms of a model that is a sum over columns for these rows; None for other models."""
    model = unwrap_decisions(model)
    try:
        found = _explain_scores(model, X, evidence_of(model, X))
    except (MercerError, ValueError, TypeError, AttributeError, IndexError):
        return None  # if the model cannot predict these rows, the evaluation of its output raises
    last = last_step(model)
    is_transformed = isinstance(last, Calibrated) or hasattr(last, "transformer_")
    return None if is_transformed and found.what in (SCORE, "linear predictor") else found


def _explain_by_shapley(model: Any, X: Any, background: Any, max_evaluations: int, random_state: int) -> Explanation:
    table = Table.of(X, dates=True)
    if background is None:
        if table.n_rows < MIN_BACKGROUND_ROWS:
            raise NoExplanationError(
                f"{type(last_step(model)).__name__} is not a sum over columns for these rows. Give background rows for "
                "Shapley values, such as some rows of the fit."
            )
        background = X
    what, outputs, function = output_of(model)
    read = columns_of(model) if names_of(X) is not None else None
    known = [table.names.index(name) for name in read or () if name in table.names] or None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about mixed rows, which are not rows of the user
        shapley = shapley_values(
            function, X, background, columns=known, max_evaluations=max_evaluations, random_state=random_state
        )
    names = tuple(
        table.names[each[0]] if len(each) == 1 else f"({len(each):,} other columns)" for each in shapley.players
    )
    clipped = (
        f" Probabilities are kept {PROBABILITY_MARGIN:g} from 0 and 1." if what in (LOG_ODDS, AGAINST_AVERAGE) else ""
    )
    against = f"{shapley.background} background row{'s' if shapley.background > 1 else ''}"
    method, how = (
        (ENUMERATED_METHOD, "")
        if shapley.error is None
        else (SAMPLED_METHOD, f", in {shapley.orders:,} orders of the columns")
    )
    details = (
        f"Contributions are Shapley values: the mean change of the {what} as the columns of {against} are replaced by "
        f"those of the row, one after the other{how}.{clipped}"
    )
    explanation = Explanation(what, outputs, shapley.base, names, shapley.values, method, shapley.error, details)
    return _divide_texts(explanation, model, function, table, max_evaluations)


def _divide_texts(
    explanation: Explanation, model: Any, function: Callable[[Any], Array], table: Table, max_evaluations: int
) -> Explanation:
    """Divide the value of each column of text between the words that matter most and the rest of the text."""
    before = explanation.names
    positions = [j for j in text_columns(reader_of(model), table) if table.names[j] in explanation.names]
    for position in positions:
        column = table.names[position]
        words, effects = word_effects(
            function, table, position, max_evaluations=max_evaluations // (WORD_EVALUATIONS_DIVISOR * len(positions))
        )
        if not words:
            continue
        contributions = np.concatenate([explanation.contributions, effects], axis=1)
        contributions[:, explanation.names.index(column)] -= effects.sum(axis=1)
        error = (
            None if explanation.error is None else np.concatenate([explanation.error, np.zeros_like(effects)], axis=1)
        )
        names = (*explanation.names, *(f"{column}[{word}]" for word in words))
        explanation = replace(explanation, names=names, contributions=contributions, error=error)
    if explanation.names != before:
        return replace(explanation, details=explanation.details + WORD_DETAILS.format(what=explanation.what))
    return explanation


def _explain_scores(model: Any, X: Any, evidence: AdditiveEvidence) -> Explanation:
    classes = getattr(model, "classes_", None)
    if classes is None:
        added = evidence.additive
        what = _name_prediction(model, X, added)
        return Explanation(what, ("the target",), added.base, evidence.names, added.contributions)
    added = Additive(
        relative_scores(evidence.base, len(classes)), relative_scores(evidence.contributions, len(classes))
    )
    if evidence.outputs:
        return Explanation(LOG_ODDS, evidence.outputs, added.base, evidence.names, added.contributions)
    what = _name_score(model, X, added, len(classes))
    outputs = classes[-1:] if len(classes) == 2 else classes
    return Explanation(what, tuple(map(str, outputs.tolist())), added.base, evidence.names, added.contributions)


def _name_score(model: Any, X: Any, added: Additive, n_classes: int) -> str:
    """Return whether sums are log odds or scores: log odds if they give the probabilities of the model."""
    if not hasattr(model, "predict_proba"):
        return SCORE
    proba, totals = np.asarray(model.predict_proba(X)), added.totals
    from_sums = np.column_stack([expit(-totals), expit(totals)]) if n_classes == 2 else softmax(totals, axis=1)
    if not np.allclose(from_sums, proba, rtol=0, atol=ADDITIVITY_TOLERANCE):
        return SCORE
    return LOG_ODDS if n_classes == 2 else AGAINST_AVERAGE


def _name_prediction(model: Any, X: Any, added: Additive) -> str:
    predicted, totals = np.ravel(model.predict(X)), added.totals[:, 0]
    if np.allclose(predicted, totals, rtol=ADDITIVITY_TOLERANCE):
        return PREDICTION
    with np.errstate(over="ignore"):
        logarithmic = np.allclose(predicted, np.exp(totals), rtol=ADDITIVITY_TOLERANCE)
    return "log of the prediction" if logarithmic else "linear predictor"


# Words of texts, for models that are not sums over columns.


def text_columns(reader: Any, table: Table) -> list[int]:
    """Return the positions of the columns that the fitted first step of a model splits into words."""
    schema = getattr(reader, "schema_", None)
    if schema is None or names_of(table.native) is None:
        return []
    texts = {column.name for column in schema if column.kind is Kind.TEXT}
    return [position for position, name in enumerate(table.names) if name in texts]


def word_effects(
    function: Callable[[Any], Array], table: Table, position: int, *, max_evaluations: int
) -> tuple[list[str], Array]:
    """Return words, and the change of a function if each is removed from the texts of a column.

    Parameters
    ----------
    function : callable
        Function of a table with values of shape (rows, outputs).
    table : Table
        The rows.
    position : int
        Position of a column of texts.
    max_evaluations : int
        Approximate number of rows for which the function is evaluated. Of longer texts, only the first words are
        removed.

    Returns
    -------
    words : list of str
        The words with the largest effects on single rows.
    effects : ndarray of shape (n_rows, n_words, n_outputs)
        f(text) − f(text without the word); 0 if it does not occur, or is not among the strongest words of the row.
    """
    coded = table.coded(position)
    texts = [str(coded.labels[code]) if code >= 0 else "" for code in coded.codes.tolist()]
    most = max(max_evaluations // table.n_rows, 1)
    words_of_texts = [list(dict.fromkeys(_WORD.findall(text.lower())))[:most] for text in texts]
    rows = np.repeat(np.arange(table.n_rows), [len(each) for each in words_of_texts])
    words = [word for each in words_of_texts for word in each]
    if not words:
        return [], np.zeros((table.n_rows, 0, np.shape(function(table.native))[1]))
    shortened = [_remove_word(texts[row], word) for row, word in zip(rows.tolist(), words, strict=True)]
    changed = with_columns(table.take(rows).native, {table.names[position]: np.array(shortened, dtype=object)})
    change = np.asarray(function(table.native))[rows] - np.asarray(function(changed))
    return _select_strongest(rows, words, change, table.n_rows)


def _select_strongest(rows: Array, words: Sequence[str], change: Array, n_rows: int) -> tuple[list[str], Array]:
    """Return the words that change each row most, and their changes."""
    size = np.abs(change).max(axis=1)
    order = np.lexsort((-size, rows))
    rank = np.arange(len(order)) - np.searchsorted(rows[order], rows[order])
    kept = np.sort(order[(rank < MAX_ROW_WORDS) & (size[order] > 0)]).tolist()
    names = list(dict.fromkeys(words[k] for k in kept))
    place = {word: j for j, word in enumerate(names)}
    effects = np.zeros((n_rows, len(names), change.shape[1]))
    for k in kept:
        effects[rows[k], place[words[k]]] = change[k]
    return names, effects


def _remove_word(text: str, word: str) -> str:
    """Return a text without a word, whatever its case."""
    return _WORD.sub(lambda match: "" if match[0].lower() == word else match[0], text)
