"""The columns with the largest effects on the output of a model, and the direction of each effect."""

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
from mercer.explanation._shapley import MAX_PLAYERS, MIN_ORDER_PAIRS
from mercer.explanation.explanation import Explanation, explain_exactly, explain_rows
from mercer.report.wording import format_value, join_words, shorten

#: rank correlation between values and contributions from which a column has one direction
MIN_MONOTONE_CORRELATION = 0.5
#: rank correlation between numeric codes and their mean contributions from which the codes are ordered
MIN_ORDER_CORRELATION = 0.8
#: share of the rows that a level must have in order to be named
MIN_LEVEL_SHARE = 0.02
#: rows explained if the model is a sum over columns, and background rows otherwise
MAX_DRIVER_ROWS = 1000
#: rows explained at least, even if evaluations are few for the number of columns
MIN_EXPLAINED_ROWS = 10
#: words of a text named for raising the output, and for lowering it
MAX_DRIVER_WORDS = 3
#: characters of a named level
MAX_LEVEL_LENGTH = 40
#: kinds whose values have an order
ORDERED_KINDS = frozenset({Kind.NUMBER, Kind.INTEGER, Kind.COUNT, Kind.COUNTS})
#: mean absolute effect up to which a column has no effect beyond rounding
DRIVER_ROUNDING = 1e-12


@dataclass(frozen=True)
class Driver:
    """A column and its effect on the output of a model.

    Attributes
    ----------
    column : str
        Its name.
    direction : str
        In words: "higher values make yes more likely", or the levels that raise and lower the prediction most.
    size : float
        Mean absolute deviation of the contribution from its mean over rows, in log odds or units of the prediction.
    error : float
        The standard error of the size.
    sign : {-1, 0, 1}
        1 if higher values raise the output, -1 if they lower it; 0 otherwise, and for categories and text.
    of : str
        The output, such as "log odds of yes".
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
    """Rank columns by the mean size of their effect on the output of a fitted model.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        Any classifier or regressor: see `explain_rows`.
    X : data frame, array-like or sparse matrix
        Rows that the model accepts, such as those of the fit.
    most : int, default=None
        Number of drivers to return; by default all columns with an effect.
    max_rows : int, default=60
        Rows of `X` to explain if the model is not a sum over columns; otherwise 1,000 are explained.
    max_evaluations : int, default=40_000
        Approximate number of rows that the model predicts.
    random_state : int, default=0
        Seed of the drawn rows.

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
    explanation, rows = _explain_some_rows(model, table, random, max_rows, max_evaluations, random_state)
    schema = Schema.of(table) if table.library == "scipy" else Schema.infer(table)
    return summarize_drivers(explanation, table.take(rows), schema=schema, most=most)


def _explain_some_rows(
    model: Any, table: Table, random: np.random.Generator, max_rows: int, max_evaluations: int, seed: int
) -> tuple[Explanation, Array]:
    """Explain many rows if the model is a sum over columns, otherwise few; return their positions, too."""
    order = random.permutation(table.n_rows)
    # more rows would leave too few evaluations per row for a value of each column
    affordable = max_evaluations // (2 * MIN_ORDER_PAIRS * min(table.n_columns, MAX_PLAYERS))
    many = np.sort(order[:MAX_DRIVER_ROWS])
    few = np.sort(order[: min(max_rows, max(affordable, MIN_EXPLAINED_ROWS))])
    background = table.take(many).native
    if explain_exactly(model, table.take(few[:1]).native) is not None:
        exact = explain_exactly(model, background)
        if exact is not None:
            return exact, many
    sampled = explain_rows(
        model, table.take(few).native, background=background, max_evaluations=max_evaluations, random_state=seed
    )
    return sampled, few


def summarize_drivers(
    explanation: Explanation, table: Table, *, schema: Schema, most: int | None = None
) -> list[Driver]:
    """Rank the columns of an explanation of the rows of a table.

    The words of a column of text are added up. With several classes, the direction refers to the class on which the
    column has the largest effect.
    """
    kinds = {column.name: column.kind for column in schema}
    largest = []
    for name, members in _group_by_column(explanation.names, table.names).items():
        parts = explanation.contributions[:, members]
        deviations = np.abs(parts.sum(axis=1) - parts.sum(axis=1).mean(axis=0))  # (rows, outputs)
        output = int(deviations.mean(axis=0).argmax())
        size = float(deviations.mean())
        if not size > DRIVER_ROUNDING:
            continue
        effect = _Effect.on(explanation, output)
        if len(members) > 1 or name not in table.names:
            direction, sign = _describe_words(parts[..., output], [explanation.names[j] for j in members], effect), 0
        else:
            direction, sign = _describe_column(table, name, kinds.get(name, Kind.NUMBER), parts[:, 0, output], effect)
        largest.append(
            Driver(name, direction, size, _standard_error(explanation, members, deviations), sign, effect.of)
        )
    # columns of a wide table that were replaced together come last
    return sorted(largest, key=lambda driver: (driver.column.startswith("("), -driver.size))[:most]


def common_output(drivers: Sequence[Driver]) -> str:
    """Return the output that drivers refer to, without the class if they refer to several."""
    outputs = {driver.of for driver in drivers}
    if len(outputs) == 1:
        return outputs.pop()
    return min(outputs).partition(" of ")[0] if outputs else "prediction"


def _group_by_column(names: Sequence[str], columns: Sequence[str]) -> dict[str, list[int]]:
    """Group the positions of names by column: the name itself, or "column" for its words "column[word]"."""
    known = set(columns)
    members: dict[str, list[int]] = {}
    for j, name in enumerate(names):
        owner = name.partition("[")[0] if name not in known and name.partition("[")[0] in known else name
        members.setdefault(owner, []).append(j)
    return members


class _Effect(NamedTuple):
    """An output, and phrases for values that raise or lower it."""

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
        """The quantity that rises with the output: for a logarithm of the prediction, the prediction."""
        return "prediction" if "predict" in self.of else self.of

    def describe_values(self, subject: str, raises: bool) -> str:
        if self.label is None:
            return f"{subject} {'raise' if raises else 'lower'} the {self.noun}"
        return f"{subject} make {self.label} {'more' if raises else 'less'} likely"

    def describe_levels(self, highest: str, lowest: str, several: bool) -> str:
        most = " most" if several else ""
        if self.label is None:
            return f"{highest!r} raises the {self.noun}{most}, {lowest!r} lowers it{most}"
        ends = ("most likely", "least likely") if several else ("more likely", "less likely")
        return f"{highest!r} makes {self.label} {ends[0]}, {lowest!r} {ends[1]}"

    def describe_words(self, raising: list[str], lowering: list[str]) -> str:
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


def _standard_error(explanation: Explanation, members: list[int], deviations: Array) -> float:
    """Return the standard error of a mean over rows, including the errors of sampled contributions."""
    n = len(deviations)
    over_rows = deviations.mean(axis=1).var(ddof=1) / n if n > 1 else 0.0
    sampled = 0.0 if explanation.error is None else float(np.square(explanation.error[:, members]).mean()) / n
    return float(np.sqrt(over_rows + sampled))


def _describe_column(table: Table, name: str, kind: Kind, added: Array, effect: _Effect) -> tuple[str, int]:
    """Describe the effect of a column in words, and return its sign if the values are ordered."""
    position = table.names.index(name)
    if kind is Kind.TEXT:
        return f"its words move {effect.moved}", 0
    if kind is Kind.DATE:
        typed = table.kinds[position] is Kind.DATE
        days = table.days(position) if typed else days_of_labels(table.coded(position))
        return _describe_amounts(days, added, "later dates", effect)
    if table.library == "scipy" or (kind in ORDERED_KINDS and table.kinds[position].numeric):
        return _describe_amounts(table.numbers([position])[:, 0], added, "higher values", effect)
    if kind is Kind.CODE and table.kinds[position].numeric:  # codes may be ordered nevertheless
        numbers = table.numbers([position])[:, 0]
        words, sign = _describe_amounts(numbers, added, "higher values", effect)
        if sign and _is_ordered(numbers, added):
            return words, sign
    return _describe_levels(table, position, added, effect), 0


def _is_ordered(values: Array, added: Array) -> bool:
    """Return whether the mean contribution of the levels rises or falls with few exceptions."""
    levels = np.unique(values[np.isfinite(values)])
    if len(levels) < 3:
        return False
    means = np.array([added[values == level].mean() for level in levels])
    return bool(abs(np.corrcoef(rankdata(levels), rankdata(means))[0, 1]) >= MIN_ORDER_CORRELATION)


def _describe_amounts(values: Array, added: Array, higher: str, effect: _Effect) -> tuple[str, int]:
    added = added - added.mean()
    known = np.isfinite(values)
    if known.sum() < 3 or np.ptp(values[known]) == 0 or np.ptp(added[known]) == 0:
        return f"missing values move {effect.moved}", 0
    ranks, heights = rankdata(values[known]), rankdata(added[known])
    correlation = float(np.corrcoef(ranks, heights)[0, 1])
    if correlation >= MIN_MONOTONE_CORRELATION:
        return effect.describe_values(higher, True), 1
    if correlation <= -MIN_MONOTONE_CORRELATION:
        return effect.describe_values(higher, False), -1
    third = np.quantile(values[known], [1 / 3, 2 / 3])
    inner = (values[known] > third[0]) & (values[known] <= third[1])
    if inner.any() and not inner.all():
        gap = added[known][inner].mean() - added[known][~inner].mean()
        if abs(gap) > 0.5 * np.abs(added[known]).mean():
            return effect.describe_values("middle values", bool(gap > 0)), 0
    return f"moves {effect.moved} in both directions, depending on other columns", 0


def _describe_levels(table: Table, position: int, added: Array, effect: _Effect) -> str:
    """Name the levels with the largest and the smallest mean contribution among those that are not rare."""
    coded = table.coded(position)
    labels = [label if isinstance(label, str) else format_value(label) for label in coded.labels]
    texts = [shorten(label, MAX_LEVEL_LENGTH) for label in labels]
    texts.append("missing")
    means = {}
    for code in np.unique(coded.codes).tolist():
        inside = coded.codes == code
        if inside.mean() >= MIN_LEVEL_SHARE:
            means[texts[code]] = float(added[inside].mean())
    if len(means) < 2:
        return f"rare levels move {effect.moved}"
    highest, lowest = max(means, key=lambda text: means[text]), min(means, key=lambda text: means[text])
    return effect.describe_levels(highest, lowest, len(means) > 2)


def _describe_words(parts: Array, names: Sequence[str], effect: _Effect) -> str:
    """Name the words that raise and lower the output most, over all rows."""
    if len(names) == 1:
        return f"moves {effect.moved}"
    # the root mean square gives rare words with large contributions more weight than the mean would
    weight = np.sign(parts.mean(axis=0)) * np.sqrt(np.square(parts).mean(axis=0))
    words = [repr(name.partition("[")[2].rstrip("]")) for name in names]
    # the contribution of the rest of a text, with the empty name, is not a word
    order = [j for j in np.argsort(-weight, kind="stable").tolist() if words[j] != "''"]
    raising = [words[j] for j in order[:MAX_DRIVER_WORDS] if weight[j] > 0]
    lowering = [words[j] for j in order[::-1][:MAX_DRIVER_WORDS] if weight[j] < 0]
    return effect.describe_words(raising, lowering)
