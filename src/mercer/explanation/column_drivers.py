"""The columns that move what a model says most, with the direction of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from mercer._typing import Array
from mercer.data import Kind, Schema, Table
from mercer.data.dates import days_of_labels
from mercer.explanation._background import read_formats
from mercer.explanation._shapley import LEAST_PAIRS, MOST_PLAYERS
from mercer.explanation.explanation import Explanation, explain_exactly, explain_rows
from mercer.report.wording import format_value, join_words, shorten

#: rank correlation of values and contributions from which a column has one direction, and the share of rows that a
#: level has at least where it is named
ONE_DIRECTION, FREQUENT = 0.5, 0.02
#: the same of the mean contributions of levels that are numbers
HARDLY_AN_EXCEPTION = 0.8
#: rows that are explained where that takes one pass, and that others are held against
MOST_ROWS = 1000
#: rows that are explained at least
LEAST_ROWS = 10
#: words of a text that raise the output, and that lower it
MOST_WORDS = 3
#: characters of a level that is named
LONGEST_LEVEL = 40
ORDERED = frozenset({Kind.NUMBER, Kind.INTEGER, Kind.COUNT, Kind.COUNTS})
#: a mean distance that is rounding
NOTHING = 1e-12


@dataclass(frozen=True)
class Driver:
    """A column, and how it moves what a model says.

    Attributes
    ----------
    column : str
        Its name.
    direction : str
        In words: "higher values make yes more likely", or the levels that raise and lower the prediction most.
    size : float
        The mean distance of its contribution from its mean, over rows: in log odds, or in units of the prediction.
    error : float
        The standard error of the size.
    sign : {-1, 0, 1}
        Whether higher values raise (1) or lower (-1) the output; 0 where it depends, and of categories and text.
    of : str
        What is moved: "log odds of yes".
    """

    column: str
    direction: str
    size: float
    error: float
    sign: int
    of: str

    def __str__(self) -> str:
        return f"{self.column}: {self.direction}"


def drivers(
    model: Any,
    X: Any,
    *,
    most: int | None = None,
    max_rows: int = 60,
    max_evaluations: int = 40_000,
    random_state: int = 0,
) -> list[Driver]:
    """Rank columns by how far they move what a fitted model says from row to row.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        Any classifier or regressor: see `explain_rows`.
    X : data frame, array-like or sparse matrix
        Rows as the model takes them, such as those of the fit.
    most : int, default=None
        How many drivers are returned; all columns that move anything by default.
    max_rows : int, default=60
        Rows of `X` that are explained where a model is not a sum over columns; 1,000 where it is one.
    max_evaluations : int, default=40_000
        Rows that the model predicts, about.
    random_state : int, default=0
        Which rows are drawn.

    Returns
    -------
    drivers : list of Driver
        The largest first.

    Examples
    --------
    >>> from mercer import LinearRegression
    >>> X = np.column_stack([np.arange(20.0), np.sin(np.arange(20.0))])
    >>> [str(driver) for driver in drivers(LinearRegression().fit(X, 2 * X[:, 0] - X[:, 1]), X)]
    ['x0: higher values raise the prediction', 'x1: higher values lower the prediction']
    """
    table = Table.of(read_formats(model, X), dates=True)
    random = np.random.default_rng(random_state)
    explanation, rows = _explained(model, table, random, max_rows, max_evaluations, random_state)
    return summarize_drivers(explanation, table.take(rows), schema=_schema(table), most=most)


def _explained(
    model: Any, table: Table, random: np.random.Generator, max_rows: int, max_evaluations: int, seed: int
) -> tuple[Explanation, Array]:
    """An explanation of many rows where that is cheap, else of few."""
    order = random.permutation(table.n_rows)
    # of many columns each has a value of its own only where there are evaluations enough for every row
    affordable = max_evaluations // (2 * LEAST_PAIRS * min(table.n_columns, MOST_PLAYERS))
    many, few = np.sort(order[:MOST_ROWS]), np.sort(order[: min(max_rows, max(affordable, LEAST_ROWS))])
    usual = table.take(many).native
    if explain_exactly(model, table.take(few[:1]).native) is not None:
        exact = explain_exactly(model, usual)
        if exact is not None:
            return exact, many
    sampled = explain_rows(
        model, table.take(few).native, background=usual, max_evaluations=max_evaluations, random_state=seed
    )
    return sampled, few


def _schema(table: Table) -> Schema:
    return Schema.of(table) if table.library == "scipy" else Schema.infer(table)


def summarize_drivers(
    explanation: Explanation, table: Table, *, schema: Schema, most: int | None = None
) -> list[Driver]:
    """Rank the columns of an explanation of the rows of a table.

    Words of a column of text count together. Of several classes, the direction is that of the class that the column
    moves most.
    """
    kinds = {column.name: column.kind for column in schema}
    found = []
    for name, members in _by_column(explanation.names, table.names).items():
        parts = explanation.contributions[:, members]
        moved = np.abs(parts.sum(axis=1) - parts.sum(axis=1).mean(axis=0))  # (rows, outputs)
        output = int(moved.mean(axis=0).argmax())
        size = float(moved.mean())
        if not size > NOTHING:
            continue
        effect = _Effect.on(explanation, output)
        if len(members) > 1 or name not in table.names:
            direction, sign = _of_words(parts[..., output], [explanation.names[j] for j in members], effect), 0
        else:
            direction, sign = _direction(table, name, kinds.get(name, Kind.NUMBER), parts[:, 0, output], effect)
        found.append(Driver(name, direction, size, _error(explanation, members, moved), sign, effect.of))
    # columns that count together, of very wide tables, come last
    return sorted(found, key=lambda driver: (driver.column.startswith("("), -driver.size))[:most]


def common_output(found: Sequence[Driver]) -> str:
    """Return what drivers move, without the class where they name several."""
    outputs = {driver.of for driver in found}
    if len(outputs) == 1:
        return outputs.pop()
    return min(outputs).partition(" of ")[0] if outputs else "prediction"


def _by_column(names: Sequence[str], columns: Sequence[str]) -> dict[str, list[int]]:
    """Positions of names by the column that they are of: itself, or that of its words, "column[word]"."""
    known = set(columns)
    found: dict[str, list[int]] = {}
    for j, name in enumerate(names):
        owner = name.partition("[")[0] if name not in known and name.partition("[")[0] in known else name
        found.setdefault(owner, []).append(j)
    return found


class _Effect(NamedTuple):
    """An output, and words for values that raise or lower it."""

    of: str
    label: str | None

    @classmethod
    def on(cls, explanation: Explanation, output: int) -> _Effect:
        what = explanation.what.partition(" against")[0]
        if what not in ("log odds", "score", "decision"):
            return cls(what, None)
        return cls(f"{what} of {explanation.outputs[output]}", explanation.outputs[output])

    @property
    def noun(self) -> str:
        """Name what rises with the output: a logarithm rises with the prediction."""
        return "prediction" if "predict" in self.of else self.of

    def of_many(self, subject: str, raises: bool) -> str:
        if self.label is None:
            return f"{subject} {'raise' if raises else 'lower'} the {self.noun}"
        return f"{subject} make {self.label} {'more' if raises else 'less'} likely"

    def of_levels(self, highest: str, lowest: str, several: bool) -> str:
        most = " most" if several else ""
        if self.label is None:
            return f"{highest!r} raises the {self.noun}{most}, {lowest!r} lowers it{most}"
        ends = ("most likely", "least likely") if several else ("more likely", "less likely")
        return f"{highest!r} makes {self.label} {ends[0]}, {lowest!r} {ends[1]}"

    def of_words(self, raising: list[str], lowering: list[str]) -> str:
        higher, lower = ("raise", "lower") if self.label is None else ("more likely", "less likely")
        parts = []
        for words, way in ((raising, higher), (lowering, lower)):
            if words and self.label is None:
                parts.append(f"{join_words(words)} {way} the {self.noun}")
            elif words:
                parts.append(f"{join_words(words)} make {self.label} {way}")
        return "; ".join(parts) or f"its words move {self.moved}"

    @property
    def moved(self) -> str:
        return f"the {self.noun}" if self.label is None else f"how likely {self.label} is"


def _error(explanation: Explanation, members: list[int], moved: Array) -> float:
    """The standard error of a mean over rows; errors of sampled contributions add to it."""
    over_rows = moved.mean(axis=1).var(ddof=1) / len(moved) if len(moved) > 1 else 0.0
    sampled = 0.0 if explanation.error is None else float(np.square(explanation.error[:, members]).mean()) / len(moved)
    return float(np.sqrt(over_rows + sampled))


def _direction(table: Table, name: str, kind: Kind, added: Array, effect: _Effect) -> tuple[str, int]:
    """Words, and the sign of a column whose values are in order."""
    position = table.names.index(name)
    if kind is Kind.TEXT:
        return f"its words move {effect.moved}", 0
    if kind is Kind.DATE:
        typed = table.kinds[position] is Kind.DATE
        days = table.days(position) if typed else days_of_labels(table.coded(position))
        return _of_amounts(days, added, "later dates", effect)
    if table.library == "scipy" or (kind in ORDERED and table.kinds[position].numeric):
        return _of_amounts(table.numbers([position])[:, 0], added, "higher values", effect)
    if kind is Kind.CODE and table.kinds[position].numeric:  # names, unless they have an order after all
        numbers = table.numbers([position])[:, 0]
        words, sign = _of_amounts(numbers, added, "higher values", effect)
        if sign and _is_ordered(numbers, added):
            return words, sign
    return _of_levels(table, position, added, effect), 0


def _is_ordered(values: Array, added: Array) -> bool:
    """Whether the mean contribution of the levels rises, or falls, with hardly an exception."""
    levels = np.unique(values[np.isfinite(values)])
    if len(levels) < 3:
        return False
    means = np.array([added[values == level].mean() for level in levels])
    return bool(abs(np.corrcoef(rankdata(levels), rankdata(means))[0, 1]) >= HARDLY_AN_EXCEPTION)


def _of_amounts(values: Array, added: Array, higher: str, effect: _Effect) -> tuple[str, int]:
    added = added - added.mean()
    known = np.isfinite(values)
    if known.sum() < 3 or np.ptp(values[known]) == 0 or np.ptp(added[known]) == 0:
        return f"missing values move {effect.moved}", 0
    ranks, heights = rankdata(values[known]), rankdata(added[known])
    correlation = float(np.corrcoef(ranks, heights)[0, 1])
    if correlation >= ONE_DIRECTION:
        return effect.of_many(higher, True), 1
    if correlation <= -ONE_DIRECTION:
        return effect.of_many(higher, False), -1
    third = np.quantile(values[known], [1 / 3, 2 / 3])
    inner = (values[known] > third[0]) & (values[known] <= third[1])
    if inner.any() and not inner.all():
        gap = added[known][inner].mean() - added[known][~inner].mean()
        if abs(gap) > 0.5 * np.abs(added[known]).mean():
            return effect.of_many("middle values", bool(gap > 0)), 0
    return f"moves {effect.moved} in both directions, depending on other columns", 0


def _of_levels(table: Table, position: int, added: Array, effect: _Effect) -> str:
    """The levels that add most and least on average, among those that are not rare."""
    coded = table.coded(position)
    texts = [shorten(label if isinstance(label, str) else format_value(label), LONGEST_LEVEL) for label in coded.labels]
    texts.append("missing")
    means = {}
    for code in np.unique(coded.codes).tolist():
        inside = coded.codes == code
        if inside.mean() >= FREQUENT:
            means[texts[code]] = float(added[inside].mean())
    if len(means) < 2:
        return f"rare levels move {effect.moved}"
    highest, lowest = max(means, key=lambda text: means[text]), min(means, key=lambda text: means[text])
    return effect.of_levels(highest, lowest, len(means) > 2)


def _of_words(parts: Array, names: Sequence[str], effect: _Effect) -> str:
    """The words that raise and lower the output most, over all rows."""
    if len(names) == 1:
        return f"moves {effect.moved}"
    # a word that does not occur adds nothing; a frequent one need not add as much each time as a rare one
    weight = np.sign(parts.mean(axis=0)) * np.sqrt(np.square(parts).mean(axis=0))
    words = [repr(name.partition("[")[2].rstrip("]")) for name in names]
    # what a text adds beside its words, of models that are not sums, is none of them
    order = [j for j in np.argsort(-weight, kind="stable").tolist() if words[j] != "''"]
    raising = [words[j] for j in order[:MOST_WORDS] if weight[j] > 0]
    lowering = [words[j] for j in order[::-1][:MOST_WORDS] if weight[j] < 0]
    return effect.of_words(raising, lowering)
