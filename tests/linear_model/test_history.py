"""The record of learning as a frame and as a plot, with a bounded size."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.linear_model._learning_history import HistoryLog, LearningHistory


def written(passes: int = 3, units: int = 1, *, most_weights: int = 1000) -> LearningHistory:
    log = HistoryLog(most_weights)
    for t in range(passes):
        log.note(loss=1.0 / (t + 1), error=0.5 / (t + 1), mistakes=float(passes - t), rate=0.1)
        log.keep(np.full((2, units), float(t)), np.full(units, -float(t)))
    return log.history()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_has_a_row_for_each_pass(library: str) -> None:
    frame = written().frame(library)
    assert list(frame.columns) == ["pass", "loss", "error", "mistakes", "rate", "w0", "w1", "w2"]
    assert_array_equal(frame["w0"], [0.0, -1.0, -2.0])
    assert_array_equal(frame["w2"], [0.0, 1.0, 2.0])
    assert "w1[1]" in written(units=2).frame(library).columns


def test_a_plot_shows_loss_and_error() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, axes = pyplot.subplots()
    assert written().plot(axes) is axes
    assert_array_equal(axes.get_lines()[0].get_ydata(), written().loss)
    assert_array_equal(figure.axes[1].get_lines()[0].get_ydata(), written().error)
    assert written().plot().get_xlabel() == "pass"
    pyplot.close("all")


def test_the_lower_plot_shows_the_weights() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    upper, lower, right = written().plot().figure.axes
    assert [line.get_label() for line in (*upper.get_lines(), *right.get_lines())] == ["loss", "error"]
    assert {line.get_label(): line.get_ydata()[-1] for line in lower.get_lines()} == {"w0": -2.0, "w1": 2.0, "w2": 2.0}
    pyplot.close("all")


def test_a_single_pass_is_drawn_with_a_marker() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    upper, *_ = written(passes=1).plot().figure.axes
    assert upper.get_lines()[0].get_marker() == "."
    upper, *_ = written(passes=100).plot().figure.axes
    assert upper.get_lines()[0].get_marker() == "None"
    pyplot.close("all")


def test_weights_that_were_not_kept_are_not_drawn() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    assert len(written(most_weights=5).plot().figure.axes) == 2
    pyplot.close("all")


def test_weights_that_would_fill_the_memory_are_dropped() -> None:
    assert written(passes=2, most_weights=5).coefficients is not None
    kept = written(passes=3, most_weights=5)
    assert kept.coefficients is None
    assert list(kept.frame().columns) == ["pass", "loss", "error", "mistakes", "rate"]


def test_it_describes_itself() -> None:
    assert "3 passes, 6 mistakes" in repr(written())
    assert repr(HistoryLog().history()) == "<nothing learnt yet>"


def test_parts_of_one_pass_are_one_pass() -> None:
    first = LearningHistory(*np.array([[0.7], [0.5], [2.0], [1.0]]), None, None)
    second = LearningHistory(*np.array([[0.1], [0.1], [1.0], [0.5]]), np.ones((1, 1, 2)), np.zeros((1, 1)))
    whole = LearningHistory.of_parts([(1.0, first), (3.0, second)])
    assert len(whole) == 1
    np.testing.assert_allclose([whole.loss[0], whole.error[0], whole.mistakes[0], whole.rate[0]], [0.25, 0.2, 3.0, 1.0])
    assert whole.coefficients is second.coefficients
