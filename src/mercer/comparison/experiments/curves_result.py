"""What came of an experiment with growing training sets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from mercer._errors import DataError
from mercer._typing import Array
from mercer.comparison.experiments._experiment import check_among
from mercer.comparison.experiments.crossover import Crossover, crossover_of
from mercer.comparison.measuring.paired import Difference, difference_of, interval_of, mean_of
from mercer.data.frame_like import frame_like
from mercer.report import Axis, Chart, Field, Grid, Line, grid_html
from mercer.report.axes import logarithmic, named_axes
from mercer.report.wording import counted

Measure = Literal["error", "log_loss"]
WORDS: dict[Measure, str] = {"error": "error", "log_loss": "log loss"}


@dataclass(frozen=True, eq=False)
class LearningCurves:
    """What both halves of a pair got wrong on held-out rows, by the size of the training set.

    Attributes
    ----------
    names : tuple of str
        Of the generative and of the discriminative model.
    sizes : ndarray of shape (n_sizes,)
        Rows of the training sets.
    errors, log_losses, fit_seconds : ndarray of shape (2, n_sizes, n_repeats)
        Of each fit; NaN where it failed.
    n_test : int
        Rows held out in each repeat.
    notes : tuple of str
        Which fits failed, or warned.
    """

    names: tuple[str, ...]
    sizes: Array
    errors: Array
    log_losses: Array
    fit_seconds: Array
    n_test: int
    notes: tuple[str, ...] = ()

    @property
    def n_repeats(self) -> int:
        return int(self.errors.shape[2])

    @cached_property
    def crossover_(self) -> Crossover:
        """The size from which the discriminative model has the smaller error."""
        return self.crossover("error")

    def crossover(self, measure: Measure = "error") -> Crossover:
        """The size from which the discriminative model has less of a measure, "error" or "log_loss"."""
        return crossover_of(self.sizes, *self._values(measure))

    def settled(self, within: float = 0.01, measure: Measure = "error") -> tuple[int, ...]:
        """For each model the smallest size from which on it is `within` of what it reaches at the largest."""
        means = self._intervals(measure)[:, :, 0]
        far = ~(means <= means[:, -1:] + within)
        last = [np.flatnonzero(each)[-1] + 1 if each.any() else 0 for each in far]
        return tuple(int(self.sizes[min(place, len(self.sizes) - 1)]) for place in last)

    def difference(self, measure: Measure = "error", size: int | None = None) -> Difference:
        """What the generative model has more of a measure than the discriminative one, after `size` rows or all."""
        if size is not None and size not in self.sizes:
            raise DataError(f"size is one of {', '.join(map(str, self.sizes.tolist()))}, not {size!r}.")
        place = len(self.sizes) - 1 if size is None else int(np.searchsorted(self.sizes, size))
        # training sets of different repeats share rows: the more of those there are, the larger the sets
        overlap = self.n_test / self.sizes[-1] * (self.sizes[place] / self.sizes[-1])
        first, second = self._values(measure)[:, place]
        return difference_of(first, second, float(overlap))

    def frame(self, library: str = "pandas") -> Any:
        """Means and their 95% intervals by model and size, as a frame of any library: "pandas", "polars", …"""
        rows = [row for position in range(len(self.names)) for row in self._rows(position)]
        columns = {
            "model": np.array([name for name in self.names for _ in self.sizes]),
            "size": np.tile(self.sizes, len(self.names)),
        }
        names = ("error", "error_low", "error_high", "log_loss", "log_loss_low", "log_loss_high", "fit_seconds")
        columns |= {name: np.array(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}
        return frame_like(tuple(columns), tuple(columns.values()), library)

    def _rows(self, position: int) -> list[tuple[float, ...]]:
        means = self._intervals("error")[position], self._intervals("log_loss")[position]
        seconds = [mean_of(each) for each in self.fit_seconds[position]]
        return [(*error, *loss, each) for error, loss, each in zip(*means, seconds, strict=True)]

    def grid(self) -> Grid:
        """The means as a table to print, with what they say below."""
        fields = [Field("rows", "d")]
        columns: list[list[Any]] = [self.sizes.tolist()]
        for measure, words in WORDS.items():
            for name, intervals in zip(self.names, self._intervals(measure), strict=True):
                fields.append(Field(f"{words}, {name}", ".4f"))
                columns.append(intervals[:, 0].tolist())
        repeats = counted(self.n_repeats, "repeat")
        title = f"{self.names[0]} and {self.names[1]}, {repeats}, {self.n_test:,} rows held out"
        return Grid(title, tuple(fields), tuple(zip(*columns, strict=True)), (*self.sentences(), *self.notes))

    def sentences(self) -> tuple[str, ...]:
        """What the curves say, in plain words."""
        return (self._about_crossover(), self._about_the_end())

    def _about_crossover(self) -> str:
        first, second = self.names
        at = self.crossover_
        if not np.isfinite(self.errors).all(axis=0).any():
            return f"{first} and {second} were never fitted to the same rows."
        if at.size == np.inf:
            if at.once:
                return f"{second} does not overtake {first} up to {at.most:,} rows."
            return f"{second} has the smaller error at some sizes, but not at {at.most:,} rows."
        if not at.found:
            return f"{second} has the smaller error at every size, from {at.least:,} rows on."
        below = f"{first} has" if at.once else "now one has, now the other"
        return f"{second} has the smaller error from about {at} rows on; below, {below}."

    def _about_the_end(self) -> str:
        mean, low, high, _, _ = self.difference()
        if not np.isfinite(mean):
            return "There is nothing to say about the largest size, where fits failed."
        if np.isnan(low):
            return f"After {self.sizes[-1]:,} rows the difference is {mean:+.4f}, in a single repeat."
        better, worse = (self.names[1], self.names[0]) if mean > 0 else self.names
        if not (low > 0 or high < 0):
            told = f"{mean:+.4f} ({low:+.4f} to {high:+.4f})"
            return f"After {self.sizes[-1]:,} rows the difference is no larger than chance: {told}."
        return f"After {self.sizes[-1]:,} rows {better} errs less often than {worse}, by {abs(mean):.4f}."

    def chart(self, measure: Measure = "error") -> Chart:
        """The curves as a record for a page."""
        lines = []
        for position, name in enumerate(self.names):
            mean, low, high = np.where(np.isfinite(found := self._intervals(measure)[position].T), found, np.nan)
            lines.append(Line(name, self.sizes, mean, low, high, dashed=position == 1))
        caption = " ".join((*self.sentences(), "Bands are 95% intervals of the means.")) if measure == "error" else ""
        x = Axis("rows to learn from", "log", form=",.0f")
        return Chart(f"{self.names[0]} and {self.names[1]}", x, Axis(WORDS[measure]), tuple(lines), caption)

    def plot(self, measure: Measure = "error", ax: Any = None) -> Any:
        """Draw the curves with their intervals; returns the Axes. Needs matplotlib."""
        intervals = self._intervals(measure)
        ax = named_axes(ax, "rows to learn from", WORDS[measure])
        for name, of_model in zip(self.names, intervals, strict=True):
            mean, low, high = of_model.T
            (line,) = ax.plot(self.sizes, mean, "o-", markersize=3, linewidth=1.6, label=name)
            ax.fill_between(self.sizes, low, high, color=line.get_color(), alpha=0.18, linewidth=0)
        if measure == "error" and self.crossover_.found:
            ax.axvline(self.crossover_.size, color="0.4", linewidth=1, linestyle="--")
        logarithmic(ax, self.sizes)
        ax.legend(frameon=False)
        return ax

    def _values(self, measure: Measure) -> Array:
        check_among(measure, tuple(WORDS), "measure")
        return self.errors if measure == "error" else self.log_losses

    def _intervals(self, measure: Measure) -> Array:
        """Mean, low and high over the repeats in which the fit did not fail: (models, sizes, 3)."""
        return np.array([[interval_of(each, 0.0, low=0.0) for each in of_model] for of_model in self._values(measure)])

    def __str__(self) -> str:
        return str(self.grid())

    def _repr_html_(self) -> str:
        return grid_html(self.grid())
