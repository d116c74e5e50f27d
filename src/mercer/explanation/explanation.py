"""Explanations of rows: what each column adds to the log odds, the score or the prediction."""

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
    LEAST_PROBABILITY,
    LOG_ODDS,
    PREDICTION,
    SCORE,
    Additive,
    AdditiveEvidence,
    before_decisions,
    evidence_of,
    output_of,
    relative,
)

# Words of texts in explanations of models that are not sums over columns.

#: words of a row that are named, and characters from which words are made
MOST_OF_ROW, _WORD = 10, re.compile(r"\w+")
DETAILS = (
    " Of a text, words are named by the change of the {what} as each is left out; the text itself adds the rest of its "
    "value."
)


def text_columns(reader: Any, table: Table) -> list[int]:
    """Return positions of the columns that the fitted reader of a model splits into words."""
    schema = getattr(reader, "schema_", None)
    if schema is None or names_of(table.native) is None:
        return []
    texts = {column.name for column in schema if column.kind is Kind.TEXT}
    return [position for position, name in enumerate(table.names) if name in texts]


def word_effects(
    function: Callable[[Any], Array], table: Table, position: int, *, max_evaluations: int
) -> tuple[list[str], Array]:
    """Return words, and the change of a function as each is left out of the texts of a column.

    Parameters
    ----------
    function : callable
        Of a table, with values of shape (rows, outputs).
    table : Table
        The rows.
    position : int
        Of a column of texts.
    max_evaluations : int
        Rows that the function is evaluated for, about. Of longer texts the first words are left out in turn.

    Returns
    -------
    words : list of str
        Those that change one row or another most.
    effects : ndarray of shape (n_rows, n_words, n_outputs)
        f(text) − f(text without the word); 0 where it does not occur, or is not among the strongest of its row.
    """
    coded = table.coded(position)
    texts = [str(coded.labels[code]) if code >= 0 else "" for code in coded.codes.tolist()]
    most = max(max_evaluations // table.n_rows, 1)
    found = [list(dict.fromkeys(_words(text)))[:most] for text in texts]
    rows = np.repeat(np.arange(table.n_rows), [len(each) for each in found])
    words = [word for each in found for word in each]
    if not words:
        return [], np.zeros((table.n_rows, 0, np.shape(function(table.native))[1]))
    shortened = [_without(texts[row], word) for row, word in zip(rows.tolist(), words, strict=True)]
    changed = with_columns(table.take(rows).native, {table.names[position]: np.array(shortened, dtype=object)})
    change = np.asarray(function(table.native))[rows] - np.asarray(function(changed))
    return _strongest(rows, words, change, table.n_rows)


def _strongest(rows: Array, words: Sequence[str], change: Array, n_rows: int) -> tuple[list[str], Array]:
    """Return the words that change each row most, and their changes."""
    size = np.abs(change).max(axis=1)
    order = np.lexsort((-size, rows))
    rank = np.arange(len(order)) - np.searchsorted(rows[order], rows[order])
    kept = np.sort(order[(rank < MOST_OF_ROW) & (size[order] > 0)]).tolist()
    names = list(dict.fromkeys(words[k] for k in kept))
    place = {word: j for j, word in enumerate(names)}
    effects = np.zeros((n_rows, len(names), change.shape[1]))
    for k in kept:
        effects[rows[k], place[words[k]]] = change[k]
    return names, effects


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _without(text: str, word: str) -> str:
    """Return a text without a word, in small or capital letters."""
    return _WORD.sub(lambda found: "" if found[0].lower() == word else found[0], text)


#: how far what the parts add up to may be from what the model says, before it is not the same thing
AGREES = 1e-7
#: rows of X that are a background by themselves
LEAST_BACKGROUND = 10
#: of the evaluations for Shapley values, one in this many is added for words of texts
WORDS_SHARE = 2
EXACT, ENUMERATED, SAMPLED = "exact", "Shapley values, exact over the background", "Shapley values, sampled"


@dataclass(frozen=True, eq=False)
class Explanation:
    """base + Σ contributions = what the model says of a row, before it becomes a probability or a mean.

    Attributes
    ----------
    what : {"log odds", "log odds against the average class", "score", "prediction", "log of the prediction", \
"linear predictor", "decision"}
        What the parts add up to.
    outputs : tuple of str
        The second of two classes, each of several, or the target.
    base : ndarray of shape (n_outputs,)
        The value before anything is known of a row; of Shapley values, the mean over the background.
    names : tuple of str
        Columns, and words of columns of text.
    contributions : ndarray of shape (n_rows, n_names, n_outputs)
        What each adds: of a generative model the weight of evidence, log p(x_j|y) / p(x_j|others).
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
    method: str = EXACT
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
    """Divide what a fitted model says of each row among the columns.

    Naive Bayes, Gaussian discriminants and linear models are sums over columns, and contributions are their terms:
    log p(x_j|y) of one column with the others missing, or coefficients times features, where a product of two columns
    counts half for each of them. Features of one column are summed, except words. These need no background.

    Other models (kernel machines, smoothers, trees, …) have Shapley values: the mean change of the output as the
    columns of a background row are replaced by those of the row, one after the other, over background rows and orders.
    They are exact where all orders can be evaluated; otherwise orders are sampled, and there are standard errors. The
    value of a text is divided between the words whose omission changes the output most and the rest of the text.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        Any classifier or regressor. Of models that decide by another, or put intervals around it, the other one is
        explained.
    X : data frame, array-like or sparse matrix
        Rows as the model takes them.
    background : like X, default=None
        Rows with usual values, such as some of those of the fit; of many, 100 are used. For models that are not sums
        over columns. If not given, rows are drawn column by column from the card of a loaded model; without a card they
        are the rows of `X`, where there are at least 10.
    max_evaluations : int, default=100_000
        Rows that the model predicts, about, for all Shapley values together.
    random_state : int, default=0
        Which orders and background rows are drawn.

    Returns
    -------
    explanation : Explanation
        `base`, `contributions` and `names`, with `method` and `error`. They add up to log odds where there are
        probabilities (of models that are not sums, those within 0.0001 of 0 or 1 count as 0.0001 from it), to the
        scores of a classifier without, or to the prediction.

    Raises
    ------
    NoExplanationError
        Where a model is not a sum over columns, and there is no background.

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
    found = explain_exactly(model, X)
    if found is not None:
        return found
    X = read_formats(model, X)
    background = background_of(model, X, random_state) if background is None else read_formats(model, background)
    return _of_shapley(before_decisions(model), X, background, max_evaluations, random_state)


def explain_exactly(model: Any, X: Any) -> Explanation | None:
    """Return the terms of a model that is a sum over columns for these rows; None of others."""
    model = before_decisions(model)
    try:
        found = _of_scores(model, X, evidence_of(model, X))
    except (MercerError, ValueError, TypeError, AttributeError, IndexError):
        return None  # a model that cannot predict these rows says so when its output is evaluated
    return None if _changed_after(model) and found.what in (SCORE, "linear predictor") else found


def _changed_after(model: Any) -> bool:
    """Whether something is done to the scores of the model that is a sum."""
    last = last_step(model)
    return isinstance(last, Calibrated) or hasattr(last, "transformer_")


def _of_shapley(model: Any, X: Any, background: Any, max_evaluations: int, random_state: int) -> Explanation:
    table = Table.of(X, dates=True)
    if background is None:
        if table.n_rows < LEAST_BACKGROUND:
            raise NoExplanationError(
                f"{type(last_step(model)).__name__} is not a sum over columns for these rows. Give background rows for "
                "Shapley values, such as some rows of the fit."
            )
        background = X
    what, outputs, function = output_of(model)
    read = columns_of(model) if names_of(X) is not None else None
    known = [table.names.index(name) for name in read or () if name in table.names] or None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # mixed rows are not those that the user asked about
        found = shapley_values(
            function, X, background, columns=known, max_evaluations=max_evaluations, random_state=random_state
        )
    names = tuple(
        table.names[each[0]] if len(each) == 1 else f"({len(each):,} other columns)" for each in found.players
    )
    clipped = (
        f" Probabilities are kept {LEAST_PROBABILITY:g} from 0 and 1." if what in (LOG_ODDS, AGAINST_AVERAGE) else ""
    )
    against = f"{found.background} background row{'s' if found.background > 1 else ''}"
    method, how = (ENUMERATED, "") if found.error is None else (SAMPLED, f", in {found.orders:,} orders of the columns")
    details = (
        f"Contributions are Shapley values: the mean change of the {what} as the columns of {against} are replaced by "
        f"those of the row, one after the other{how}.{clipped}"
    )
    explanation = Explanation(what, outputs, found.base, names, found.values, method, found.error, details)
    return _with_words(explanation, model, function, table, max_evaluations)


def _with_words(
    found: Explanation, model: Any, function: Callable[[Any], Array], table: Table, max_evaluations: int
) -> Explanation:
    """Divide the value of each column of text between the words that matter most and the rest of the text."""
    before = found.names
    positions = [j for j in text_columns(reader_of(model), table) if table.names[j] in found.names]
    for position in positions:
        column = table.names[position]
        words, effects = word_effects(
            function, table, position, max_evaluations=max_evaluations // (WORDS_SHARE * len(positions))
        )
        if not words:
            continue
        contributions = np.concatenate([found.contributions, effects], axis=1)
        contributions[:, found.names.index(column)] -= effects.sum(axis=1)
        error = None if found.error is None else np.concatenate([found.error, np.zeros_like(effects)], axis=1)
        names = (*found.names, *(f"{column}[{word}]" for word in words))
        found = replace(found, names=names, contributions=contributions, error=error)
    if found.names != before:
        return replace(found, details=found.details + DETAILS.format(what=found.what))
    return found


def _of_scores(model: Any, X: Any, found: AdditiveEvidence) -> Explanation:
    classes = getattr(model, "classes_", None)
    if classes is None:
        added = found.additive
        what = _kind_of_mean(model, X, added)
        return Explanation(what, ("the target",), added.base, found.names, added.contributions)
    added = _relative(found.additive, len(classes))
    if found.outputs:
        return Explanation(LOG_ODDS, found.outputs, added.base, found.names, added.contributions)
    what = _kind_of_score(model, X, added, len(classes))
    outputs = classes[-1:] if len(classes) == 2 else classes
    return Explanation(what, tuple(map(str, outputs.tolist())), added.base, found.names, added.contributions)


def _relative(added: Additive, n_classes: int) -> Additive:
    """Of two scores their difference; of several what each is more than their average, which is all that matters."""
    return Additive(relative(added.base, n_classes), relative(added.contributions, n_classes))


def _kind_of_score(model: Any, X: Any, added: Additive, n_classes: int) -> str:
    """Whether these are log odds: for who has probabilities, they have to be those."""
    if not hasattr(model, "predict_proba"):
        return SCORE
    proba, totals = np.asarray(model.predict_proba(X)), added.totals
    mine = np.column_stack([expit(-totals), expit(totals)]) if n_classes == 2 else softmax(totals, axis=1)
    if not np.allclose(mine, proba, rtol=0, atol=AGREES):
        return SCORE
    return LOG_ODDS if n_classes == 2 else AGAINST_AVERAGE


def _kind_of_mean(model: Any, X: Any, added: Additive) -> str:
    predicted, totals = np.ravel(model.predict(X)), added.totals[:, 0]
    if np.allclose(predicted, totals, rtol=AGREES):
        return PREDICTION
    with np.errstate(over="ignore"):
        logarithmic = np.allclose(predicted, np.exp(totals), rtol=AGREES)
    return "log of the prediction" if logarithmic else "linear predictor"
