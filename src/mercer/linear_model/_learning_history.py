"""The history of learning, pass by pass, as a record with a table and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._stored import floats, optional, stored
from mercer._typing import Array
from mercer.data.frame_like import frame_like
from mercer.report.axes import import_matplotlib
from mercer.report.wording import format_count

#: maximum number of weights that have a column each in a frame
MOST_WEIGHT_COLUMNS = 200
#: maximum number of weights that have a label in a plot
MOST_LABELLED = 12
#: maximum number of passes that have a marker each in a plot
FEW_PASSES = 30
#: maximum number of weights of all passes that are kept
MOST_WEIGHTS_KEPT = 4_000_000


@stored(
    loss=floats("n"),
    error=floats("n"),
    mistakes=floats("n"),
    rate=floats("n"),
    coefficients=optional(floats("n..")),
    intercepts=optional(floats("n.")),
)
@dataclass(frozen=True, eq=False)
class LearningHistory:
    """Losses, errors and weights of units in each pass over the rows.

    Loss, error and mistakes are those during the pass: of the weights at its beginning in batch mode, and of the
    weights before each row is learned in incremental mode.

    Attributes
    ----------
    loss : ndarray of shape (passes,)
        Mean loss of a row, summed over units.
    error : ndarray of shape (passes,)
        Share of the weight of rows that was assigned to a wrong class.
    mistakes : ndarray of shape (passes,)
        Number of rows on the wrong side of a unit, summed over units.
    rate : ndarray of shape (passes,)
        α at the beginning of the pass.
    coefficients : ndarray of shape (passes, units, columns) or None
        Weights after each pass; None if they would need too much memory.
    intercepts : ndarray of shape (passes, units) or None
        Intercepts after each pass.

    Examples
    --------
    >>> record = LearningHistory(*np.array([[0.7, 0.3], [0.5, 0.0], [2, 0], [1.0, 1.0]]), None, None)
    >>> record.frame("numpy")
    array([[1. , 0.7, 0.5, 2. , 1. ],
           [2. , 0.3, 0. , 0. , 1. ]])
    """

    loss: Array
    error: Array
    mistakes: Array
    rate: Array
    coefficients: Array | None
    intercepts: Array | None

    @classmethod
    def of_parts(cls, parts: Sequence[tuple[float, LearningHistory]]) -> LearningHistory:
        """Return the history of one pass over rows that came in parts, from the weight and the history of each part."""
        share = np.array([weight for weight, _ in parts])
        share /= share.sum()
        first, last = parts[0][1], parts[-1][1]
        return cls(
            share @ np.array([part.loss[:1] for _, part in parts]),
            share @ np.array([part.error[:1] for _, part in parts]),
            np.sum([part.mistakes[:1] for _, part in parts], axis=0),
            first.rate[:1],
            last.coefficients,
            last.intercepts,
        )

    def __len__(self) -> int:
        return len(self.loss)

    def __repr__(self) -> str:
        if not len(self):
            return "<nothing learnt yet>"
        return (
            f"<{format_count(len(self), 'pass')}, {int(self.mistakes.sum())} mistakes: loss {self.loss[0]:.4g} … "
            f"{self.loss[-1]:.4g}, error {self.error[0]:.4g} … {self.error[-1]:.4g}>"
        )

    def frame(self, library: str = "pandas") -> Any:
        """Return one row per pass in a frame of any library; w0 is the intercept and w1, w2, … are the weights.

        Parameters
        ----------
        library : str, default="pandas"
            "pandas", "polars", "pyarrow", …

        Returns
        -------
        frame : DataFrame
            Columns pass, loss, error, mistakes, rate, and the weights if they were kept and are not too many; those of
            several units are numbered like w1[0], w1[1], …
        """
        columns = {
            "pass": np.arange(1, len(self) + 1),
            "loss": self.loss,
            "error": self.error,
            "mistakes": self.mistakes,
            "rate": self.rate,
            **self._weights(),
        }
        return frame_like(list(columns), list(columns.values()), library)

    def _weights(self) -> dict[str, Array]:
        if self.coefficients is None or self.intercepts is None or self.coefficients[0].size > MOST_WEIGHT_COLUMNS:
            return {}
        weights = np.concatenate([self.intercepts[:, :, None], self.coefficients], axis=2)
        _, units, columns = weights.shape
        return {
            f"w{j}" + (f"[{k}]" if units > 1 else ""): weights[:, k, j] for k in range(units) for j in range(columns)
        }

    def plot(self, ax: Any = None) -> Any:
        """Plot the loss and the share of misclassified rows by pass, and below them the weights.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes for loss and error alone; a new figure of both panels if not given.

        Returns
        -------
        ax : matplotlib axes
            Axes of the loss; `ax.figure` has the others.
        """
        if ax is None:
            ax = self._panels()
        passes = np.arange(1, len(self) + 1)
        ax.plot(passes, self.loss, color="C0", label="loss", marker=self._marker)
        right = ax.twinx()
        right.plot(passes, self.error, color="C1", label="error", marker=self._marker)
        ax.set(xlabel="pass", ylabel="mean loss")
        right.set_ylabel("share misclassified")
        right.set_ylim(bottom=0.0)
        # above the axes, since matplotlib avoids the lines of only one of the two axes
        handles = [*ax.get_lines(), *right.get_lines()]
        ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
        return ax

    def _panels(self) -> Any:
        """Return the upper of two panels, the lower of which has the weights, or a single one if they were not kept."""
        figure = import_matplotlib("pyplot").figure(layout="constrained")
        weights = self._weights()
        if not weights:
            return figure.add_subplot()
        upper, lower = figure.subplots(2, sharex=True)
        for name, values in weights.items():
            lower.plot(np.arange(1, len(self) + 1), values, label=name, marker=self._marker)
        lower.set(xlabel="pass", ylabel="weights")
        if len(weights) <= MOST_LABELLED:
            lower.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        return upper

    @property
    def _marker(self) -> str | None:
        """Marker for few passes; a single pass has no line at all."""
        return "." if len(self) <= FEW_PASSES else None


class HistoryLog:
    """History that is being recorded; `most_weights` is the maximum number of weights of all passes that are kept."""

    def __init__(self, most_weights: int = MOST_WEIGHTS_KEPT) -> None:
        self._most_weights = most_weights
        self.loss: list[float] = []
        self.mistakes: list[float] = []
        self._error: list[float] = []
        self._rate: list[float] = []
        self._weights: list[tuple[Array, Array]] | None = []

    def __len__(self) -> int:
        return len(self.loss)

    def note(self, *, loss: float, error: float, mistakes: float, rate: float) -> None:
        for column, value in zip(self._columns(), (loss, error, mistakes, rate), strict=True):
            column.append(value)

    def _columns(self) -> tuple[list[float], ...]:
        return self.loss, self._error, self.mistakes, self._rate

    def keep(self, w: Array, bias: Array) -> None:
        """Keep the weights (columns, units) after a pass; drop all of them once they are too many."""
        if self._weights is not None:
            self._weights.append((np.array(w.T, order="C"), bias.copy()))
            if len(self._weights) * w.size > self._most_weights:
                self._weights = None

    def history(self) -> LearningHistory:
        loss, error, mistakes, rate = (np.array(column, dtype=float) for column in self._columns())
        if not self._weights:
            return LearningHistory(loss, error, mistakes, rate, None, None)
        coefficients, intercepts = (np.array(part) for part in zip(*self._weights, strict=True))
        return LearningHistory(loss, error, mistakes, rate, coefficients, intercepts)
