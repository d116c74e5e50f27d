"""Model cards: records of the data of a fit, and of the scores and limits of the model.

`save` writes a card into the file of a model as JSON, and `describe` reads it without loading the model. A card has
summaries of columns (quantiles, or the most frequent levels) and never a row; for free text it has only the share of
missing values.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from mercer._typing import Array
from mercer.data import Kind, Schema, Table
from mercer.data.dates import days_of_labels
from mercer.data.frame_like import frame_like
from mercer.data.schema import Column
from mercer.report import Field, Grid
from mercer.report.wording import add_unit, format_count, format_number, format_plain, format_share, shorten

Value = str | int | float | bool | None

#: maximum levels of a column in a card; the others have the rest of the shares
MAX_CARD_LEVELS = 50
#: maximum columns in a card
MAX_CARD_COLUMNS = 10_000
#: steps between the quantiles of a column, of 5 % each
QUANTILE_STEPS = 20
#: steps between the quantiles of a column of a wide table, of 25 % each
WIDE_QUANTILE_STEPS = 4
#: tables with more columns are wide
WIDE_TABLE_COLUMNS = 1_000
#: numbers with more distinct values are summarized by quantiles
MAX_NUMERIC_LEVELS = 20
NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Score:
    """A measure of held-out predictions: its mean, 95% interval, unit, and the value of the baseline."""

    name: str
    mean: float
    low: float | None = None
    high: float | None = None
    baseline: float | None = None
    unit: str = ""

    def __str__(self) -> str:
        mean, low, high, baseline = (
            None if value is None else add_unit(format_plain(value, ".4g"), self.unit)
            for value in (self.mean, self.low, self.high, self.baseline)
        )
        interval = "" if low is None or high is None else f" (95% interval {low} to {high})"
        return f"{self.name} {mean}{interval}" + ("" if baseline is None else f"; baseline {baseline}")


@dataclass(frozen=True)
class ColumnSummary:
    """One column of the training data.

    Attributes
    ----------
    name, kind : str
        Name and kind as in `Schema`.
    missing : float
        Share of rows without a value.
    typical : str, int, float, bool or None
        The median, or the most frequent level; for dates the median as ISO 8601.
    unit : str
        Unit of numbers: "$", "%"; "" without one.
    quantiles : tuple or None
        For numbers and dates, the values at equal steps of probability, from the lowest to the highest.
    levels : tuple of (value, share) or None
        The most frequent values with their shares of the non-missing rows; None if there are quantiles.
    distinct : int or None
        The number of distinct values, if there are `levels`.
    used : bool
        Whether the model reads the column.
    """

    name: str
    kind: str
    missing: float = 0.0
    typical: Value = None
    unit: str = ""
    quantiles: tuple[Any, ...] | None = None
    levels: tuple[tuple[Value, float], ...] | None = None
    distinct: int | None = None
    used: bool = True

    def described(self) -> str:
        """Return a short description of the values."""
        if self.levels is not None:
            shown = ", ".join(f"{shorten(value)} {format_share(share)}" for value, share in self.levels[:4])
            more = (self.distinct or 0) - 4
            return f"{shown} and {more:,} more" if more > 0 else shown
        if self.quantiles:
            low, high = self.quantiles[0], self.quantiles[-1]
            return f"{self.written(low)} to {self.written(high)}, median {self.written(self.typical)}"
        return ""

    def written(self, value: Value) -> str:
        """Return a value of this column with its unit."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return "" if value is None else str(value)
        return add_unit(format_number(value), self.unit)

    def sample(self, n: int, random: np.random.Generator) -> Array:
        """Draw values from the distribution of the column, including missing values."""
        absent = random.random(n) < self.missing
        drawn = self._draw(n, random)
        if drawn.dtype.kind in "fi" and absent.any():
            drawn = drawn.astype(float)
            drawn[absent] = np.nan
        elif absent.any():
            drawn = drawn.astype(object)
            drawn[absent] = None
        return drawn

    def _draw(self, n: int, random: np.random.Generator) -> Array:
        if self.levels:
            shares = np.array([share for _, share in self.levels])
            places = random.choice(len(shares), size=n, p=shares / shares.sum())
            return np.asarray(_as_array([value for value, _ in self.levels])[places])
        if self.quantiles and not isinstance(self.quantiles[0], str):
            at = random.random(n) * (len(self.quantiles) - 1)
            values = np.interp(at, np.arange(len(self.quantiles)), np.asarray(self.quantiles, dtype=float))
            is_whole = all(isinstance(value, int) for value in self.quantiles)
            return np.asarray(np.round(values), dtype=np.int64) if is_whole else np.asarray(values)
        if self.quantiles:
            return _as_array([self.quantiles[j] for j in random.integers(len(self.quantiles), size=n)])
        return _as_array([self.typical] * n)


@dataclass(frozen=True)
class ModelCard:
    """Record of a model: the table that it was fitted to, its scores and its limits.

    Attributes
    ----------
    target, task, question : str
        The predicted column, the kind of task (classification, regression, …), and both in a question.
    model : str
        Name of the model.
    source : str
        Name of the file or data set, without its folder; "" if it is unknown.
    rows : int or None
        Number of rows of the fit.
    date : str
        Date of the fit, ISO 8601 in UTC.
    data_hash : str
        SHA-256 of the values of the fit; "" if it was not computed.
    scores : tuple of Score
        Scores of held-out predictions; empty if they were not measured.
    measured : str
        The method by which the scores were measured.
    columns : tuple of ColumnSummary
        The columns of the training data.
    outcome : ColumnSummary or None
        The target.
    limits : tuple of str
        Sentences about problems, columns that are left out, and predictions outside the training data.
    versions : tuple of (str, str)
        Packages on which the numbers depend, with their versions.
    """

    target: str
    task: str
    question: str
    model: str
    source: str = ""
    rows: int | None = None
    date: str = ""
    data_hash: str = ""
    scores: tuple[Score, ...] = ()
    measured: str = NOT_MEASURED
    columns: tuple[ColumnSummary, ...] = ()
    outcome: ColumnSummary | None = None
    limits: tuple[str, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()

    def column(self, name: str) -> ColumnSummary | None:
        """Return the summary of a column; None if there is no column of that name."""
        return next((column for column in self.columns if column.name == name), None)

    def typical(self) -> dict[str, Value]:
        """Return a typical row: the median or the most frequent value of each column that the model reads."""
        return {column.name: column.typical for column in self.columns if column.used}

    def sample(self, n: int, random_state: int | None = 0) -> Any:
        """Draw rows, column by column, as a pyarrow table with the columns that the model reads.

        Columns are drawn independently of each other, so that the rows have the right marginal distributions but no
        correlations.
        """
        random = np.random.default_rng(random_state)
        used = [column for column in self.columns if column.used]
        return frame_like([column.name for column in used], [column.sample(n, random) for column in used], "pyarrow")

    def to_dict(self) -> dict[str, Any]:
        """Return the card as a JSON object."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the card of a JSON object; members of newer versions are ignored."""
        known = {name: record[name] for name in cls.__dataclass_fields__ if name in record}
        known["scores"] = tuple(_record(Score, each) for each in record.get("scores", ()))
        known["columns"] = tuple(_summary(each) for each in record.get("columns", ()))
        known["outcome"] = None if record.get("outcome") is None else _summary(record["outcome"])
        known["limits"] = tuple(map(str, record.get("limits", ())))
        known["versions"] = tuple((str(name), str(value)) for name, value in record.get("versions", ()))
        for name in ("target", "task", "question", "model", "source", "date", "data_hash", "measured"):
            known[name] = str(known.get(name, ""))
        return cls(**known)

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield names and values of all facts except the columns."""
        yield "Question", self.question
        yield "Model", self.model
        rows = "" if self.rows is None else format_count(self.rows, "row")
        yield "Training data", " of ".join(filter(None, (rows, self.source))) or "not known"
        yield "Fitted", self.date.replace("T", " ").removesuffix("+00:00") + " UTC" if self.date else "not known"
        yield "Data hash", f"sha256 {self.data_hash}" if self.data_hash else "not computed"
        if not self.scores:
            yield "Held-out scores", NOT_MEASURED
        for score in self.scores:
            yield "Held-out score", str(score)
        if self.scores:
            yield "Measured by", self.measured
        if self.outcome is not None:
            yield "Target", f"{self.target}: {self.outcome.described()}"
        if self.versions:
            yield "Versions", ", ".join(f"{name} {version}" for name, version in self.versions)

    def grid(self) -> Grid:
        """Return the columns as a table."""
        rows = tuple(
            (
                shorten(column.name, 40),
                column.kind if column.used else f"{column.kind}, not used",
                f"{column.missing:.1%}" if column.missing else "",
                shorten(column.written(column.typical)),
                column.described(),
            )
            for column in self.columns
        )
        fields = (Field("column"), Field("kind"), Field("missing"), Field("typical"), Field("values seen"))
        return Grid("", fields, rows)

    def text(self) -> str:
        """Return the card as plain text."""
        width = max(len(name) for name, _ in self.facts())
        lines = [f"Model card: predict `{self.target}`" if self.target else "Model card", ""]
        lines += [f"{name.ljust(width)}  {value}" for name, value in self.facts()]
        if self.limits:
            lines += ["", "Limits", *(f"- {sentence}" for sentence in self.limits)]
        if self.columns:
            lines += ["", f"Columns ({len(self.columns)})", str(self.grid())]
        return "\n".join(lines)

    def markdown(self) -> str:
        """Return the card as Markdown."""
        lines = [f"# Model card: predict `{self.target}`" if self.target else "# Model card", ""]
        lines += [f"- **{name}:** {value}" for name, value in self.facts()]
        if self.limits:
            lines += ["", "## Limits", "", *(f"- {sentence}" for sentence in self.limits)]
        if self.columns:
            grid = self.grid()
            table = [[field.heading for field in grid.fields], ["---"] * len(grid.fields), *grid.written()]
            lines += ["", f"## Columns ({len(self.columns)})", ""]
            lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table]
        return "\n".join(lines)


def summarize_columns(
    table: Table, schema: Schema | None = None, used: set[str] | None = None
) -> tuple[ColumnSummary, ...]:
    """Return summaries of the columns of a table; `used` has the columns that the model reads, by default all."""
    inferred = Schema.infer(table) if schema is None else schema
    table = table.with_formats(inferred.formats)  # strings with numbers or dates are summarized as these
    steps = QUANTILE_STEPS if table.n_columns <= WIDE_TABLE_COLUMNS else WIDE_QUANTILE_STEPS
    columns = list(inferred)[:MAX_CARD_COLUMNS]
    return tuple(
        _summarize(table, position, column, steps, used is None or column.name in used)
        for position, column in enumerate(columns)
    )


def hash_of_data(table: Table, y: Any) -> str:
    """Return the SHA-256 of names and values of all columns and the target, the same for all libraries and formats."""
    digest = hashlib.sha256()
    for position, name in enumerate(table.names):
        digest.update(f"{name}\n".encode("utf-8", "surrogatepass"))
        if table.kinds[position].numeric:
            numbers = np.asarray(table.numbers([position]), dtype="<f8")
            digest.update(np.ascontiguousarray(np.where(np.isnan(numbers), np.nan, numbers)).data)
        else:
            coded = table.coded(position)
            _hash_labels(digest, np.asarray(coded.labels), np.asarray(coded.codes))
    labels, codes = np.unique(np.asarray(y).astype(str), return_inverse=True)
    _hash_labels(digest, labels, codes)
    return digest.hexdigest()


def _hash_labels(digest: Any, labels: Array, codes: Array) -> None:
    """Add strings to a digest, independently of their codes; code -1 is a missing value."""
    words = [str(label) for label in labels.tolist()]
    present = sorted({words[code] for code in np.unique(codes).tolist() if code >= 0})
    places = {word: place for place, word in enumerate(present)}
    digest.update("\n".join(present).encode("utf-8", "surrogatepass"))
    digest.update(np.array([*(places.get(word, -1) for word in words), -1], dtype="<i8")[codes].data)


def _summarize(table: Table, position: int, column: Column, steps: int, used: bool) -> ColumnSummary:
    kind, stored = column.kind, column.stored or column.kind
    unit = str(getattr(column.format or table.formats.get(column.name), "unit", ""))
    if kind is Kind.DATE:
        typed = table.kinds[position] is Kind.DATE
        days = table.days(position) if typed else days_of_labels(table.coded(position))
        present = np.sort(days[np.isfinite(days)])
        at = tuple(_date(value) for value in _quantiles(present, steps))
        missing = 1 - present.size / max(len(days), 1)
        return ColumnSummary(column.name, kind.value, missing, at[len(at) // 2] if at else None, "", at, used=used)
    if kind in (Kind.TEXT, Kind.IDENTIFIER):
        codes = np.asarray(table.coded(position).codes)
        missing = float((codes < 0).mean()) if codes.size else 0.0
        return ColumnSummary(column.name, kind.value, missing, "" if kind is Kind.TEXT else None, used=used)
    if table.kinds[position].numeric and table.kinds[position] is not Kind.BOOLEAN:
        values = table.numbers([position])[:, 0]
        present = np.sort(values[np.isfinite(values)])
        distinct = present[np.flatnonzero(np.diff(present, prepend=np.nan) != 0)] if present.size else present
        if distinct.size > MAX_NUMERIC_LEVELS and column.levels is None:
            numbers = tuple(_number(value) for value in _quantiles(present, steps))
            missing = 1 - present.size / max(len(values), 1)
            median = numbers[len(numbers) // 2]
            return ColumnSummary(column.name, kind.value, missing, median, unit, numbers, used=used)
    coded = table.coded(position)
    codes = np.asarray(coded.codes)
    counts = np.bincount(codes[codes >= 0], minlength=len(coded.labels))
    labels = np.asarray(coded.labels).tolist()
    order = sorted((j for j in np.flatnonzero(counts).tolist() if _plain(labels[j])), key=lambda j: -counts[j])
    total = max(int(counts.sum()), 1)
    levels = tuple((_level(labels[j]), float(counts[j] / total)) for j in order[:MAX_CARD_LEVELS])
    missing = float((codes < 0).mean()) if codes.size else 0.0
    amount = stored.numeric and kind in (Kind.NUMBER, Kind.INTEGER, Kind.COUNT)
    typical = _weighted_median(levels) if amount and levels else levels[0][0] if levels else None
    return ColumnSummary(column.name, kind.value, missing, typical, unit, None, levels, len(order), used)


def _quantiles(values: Array, steps: int) -> list[float]:
    """Return values at equal steps of probability, each of which occurs in the data."""
    if not values.size:
        return []
    return [float(values[round(j * (values.size - 1) / steps)]) for j in range(steps + 1)]


def _weighted_median(levels: tuple[tuple[Any, float], ...]) -> Value:
    ordered = sorted(levels)
    reached = np.cumsum([share for _, share in ordered])
    median: Value = ordered[int(np.searchsorted(reached, 0.5 * reached[-1]))][0]
    return median


def _date(days: float) -> str:
    """Return days since 1970 as ISO 8601, with a time of day unless it is midnight."""
    written = str(np.datetime64(round(days * 86_400), "s"))
    return written.removesuffix("T00:00:00")


def _number(value: float) -> int | float:
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _level(label: Any) -> Value:
    return _number(label) if isinstance(label, float) else label


def _plain(label: Any) -> bool:
    return isinstance(label, str | bool | int) or (isinstance(label, float) and math.isfinite(label))


def _as_array(values: list[Any]) -> Array:
    """Return an array of numbers or truth values, or of objects for any other values."""
    if values and all(isinstance(value, bool) for value in values):
        return np.array(values, dtype=bool)
    if values and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return np.array(values)
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def _summary(record: Mapping[str, Any]) -> ColumnSummary:
    known: dict[str, Any] = {name: record[name] for name in ColumnSummary.__dataclass_fields__ if name in record}
    if known.get("quantiles") is not None:
        known["quantiles"] = tuple(known["quantiles"])
    if known.get("levels") is not None:
        known["levels"] = tuple((value, float(share)) for value, share in known["levels"])
    return ColumnSummary(**{**known, "name": str(known["name"]), "kind": str(known["kind"])})


def _record(cls: Any, record: Mapping[str, Any]) -> Any:
    return cls(**{name: record[name] for name in cls.__dataclass_fields__ if name in record})
