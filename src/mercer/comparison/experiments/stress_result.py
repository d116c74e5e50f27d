"""What came of putting models under stress."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer._typing import Array
from mercer.comparison.experiments._experiment import check_among
from mercer.data.frame_like import frame_like
from mercer.report import Axis, Chart, Field, Grid, Line, grid_html
from mercer.report.axes import named_axes

Damage = Literal["missing", "noise"]
Measure = Literal["accuracy", "log_loss", "calibration"]
DAMAGES: tuple[Damage, ...] = ("missing", "noise")
MEASURES: tuple[Measure, ...] = ("accuracy", "log_loss", "calibration")
#: which rows are damaged, in words
PLACES = {"test": "damaged rows to predict", "train": "damaged rows to learn from", "both": "damaged rows"}
WORDS = {
    "missing": "share of values removed",
    "noise": "noise, in standard deviations",
    "accuracy": "accuracy",
    "log_loss": "log loss",
    "calibration": "calibration error",
}


@dataclass(frozen=True, eq=False)
class Stress:
    """What models reach on held-out rows as values are removed, and as numbers become noisy.

    Attributes
    ----------
    names : tuple of str
        Of the models.
    amounts : mapping from damage to array
        How much of each damage, "missing" or "noise", there was.
    measured : mapping from damage to array of shape (n_models, n_amounts, n_repeats, 3)
        Accuracy, log loss and calibration error; NaN where there is nothing to measure.
    where : {"test", "train", "both"}
        Which rows were damaged: those that models were asked about, those that they were fitted to, or both.
    n_test : int
        Rows held out in each repeat.
    notes : tuple of str
        Whose gaps were filled, and who failed.
    """

    names: tuple[str, ...]
    amounts: dict[str, Array]
    measured: dict[str, Array]
    where: str
    n_test: int
    notes: tuple[str, ...] = ()

    def frame(self, library: str = "pandas") -> Any:
        """Means over the repeats as a frame of any library: "pandas", "polars", …"""
        columns = [np.array(column) for column in zip(*self._rows(), strict=True)]
        return frame_like(("model", "damage", "amount", *MEASURES), columns, library)

    def _rows(self) -> list[tuple[Any, ...]]:
        return [
            (name, damage, amount, *means)
            for damage in DAMAGES
            for name, of_model in zip(self.names, self._means(damage), strict=True)
            for amount, means in zip(self.amounts[damage].tolist(), of_model.tolist(), strict=True)
        ]

    def _means_of(self, damage: Damage, measure: Measure) -> Array:
        """(models, amounts) of one measure."""
        check_among(damage, DAMAGES, "damage")
        check_among(measure, MEASURES, "measure")
        return np.asarray(self._means(damage)[:, :, MEASURES.index(measure)])

    def _means(self, damage: Damage) -> Array:
        """(models, amounts, measures), over the repeats in which there was something to measure."""
        values = self.measured[damage]
        known = ~np.isnan(values)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(known, values, 0.0).sum(axis=2) / known.sum(axis=2))

    def grid(self) -> Grid:
        """The means as a table to print."""
        forms = {"accuracy": ".4f", "log_loss": "#.4g", "calibration": ".4f"}
        fields = (
            Field("model"),
            Field("damage"),
            Field("amount", "g"),
            *(Field(WORDS[measure], forms[measure]) for measure in MEASURES),
        )
        title = f"Under stress: {PLACES[self.where]}; {self.n_test} rows held out"
        return Grid(title, fields, tuple(self._rows()), self.notes)

    def chart(self, damage: Damage = "missing", measure: Measure = "accuracy") -> Chart:
        """One measure under one damage as a record for a page."""
        means = self._means_of(damage, measure)
        means = np.where(np.isfinite(means), means, np.nan)
        lines = tuple(Line(name, self.amounts[damage], values) for name, values in zip(self.names, means, strict=True))
        title = f"{WORDS[measure].capitalize()} as {'values are removed' if damage == 'missing' else 'noise is added'}"
        return Chart(title, Axis(WORDS[damage]), Axis(WORDS[measure]), lines, self._caption())

    def _caption(self) -> str:
        return " ".join(f"{note.removesuffix('.')}." for note in (PLACES[self.where].capitalize(), *self.notes))

    def plot(self, damage: Damage = "missing", measure: Measure = "accuracy", ax: Any = None) -> Any:
        """Draw one measure under one damage; returns the Axes. Needs matplotlib."""
        means = self._means_of(damage, measure)
        ax = named_axes(ax, WORDS[damage], WORDS[measure])
        for name, values in zip(self.names, means, strict=True):
            ax.plot(self.amounts[damage], values, "o-", markersize=3, linewidth=1.6, label=name)
        ax.legend(frameon=False)
        return ax

    def __str__(self) -> str:
        return str(self.grid())

    def _repr_html_(self) -> str:
        return grid_html(self.grid())
