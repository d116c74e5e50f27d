"""Rules that learn a source row after row: interrupted passes, and rows without an effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer import LinearThreshold, Perceptron
from mercer._errors import DataError, FitInterrupted
from mercer.data.sources.base import Chunk
from mercer.data.sources.memory import MemorySource
from mercer.linear_model import _linear_threshold as module
from tests._ctrl_c import interrupt

MODELS = pytest.mark.parametrize(
    "make", [Perceptron, lambda: LinearThreshold(mode="incremental")], ids=["Perceptron", "LinearThreshold"]
)
Y = np.arange(60) % 2
X = np.random.default_rng(0).normal(size=(60, 2)) + 6.0 * Y[:, None]


class Stopped(MemorySource):
    """Source that raises Ctrl-C after a number of chunks."""

    after = 0

    def __iter__(self) -> Iterator[Chunk]:
        for number, chunk in enumerate(super().__iter__()):
            if number == self.after:
                raise KeyboardInterrupt
            yield chunk


@MODELS
def test_an_early_interruption_leaves_the_old_model(make: Callable[[], Any]) -> None:
    model = make().fit(X, Y)
    before = model.coef_, model.certificate_
    with pytest.raises(KeyboardInterrupt) as stop:
        model.fit(Stopped(X, Y, rows=20))
    assert not isinstance(stop.value, FitInterrupted)
    assert (model.coef_, model.certificate_) == before


@MODELS
def test_a_certificate_of_a_part_of_the_chunks_is_not_published(make: Callable[[], Any]) -> None:
    """The rows learnt so far may be on the correct side; those of the other chunks are unknown."""
    source, model = Stopped(X, Y, rows=20), make()
    source.after = 2
    with pytest.raises(FitInterrupted, match="kept") as stop:
        model.fit(source)
    so_far = make().partial_fit(X[:20], Y[:20], classes=[0, 1]).partial_fit(X[20:40], Y[20:40])
    assert_array_equal(model.coef_, so_far.coef_)
    assert not model.certificate_.holds
    assert stop.value.solution.certificate is model.certificate_


@MODELS
def test_an_interruption_while_mistakes_are_counted_keeps_the_weights(
    make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = make().fit(MemorySource(X, Y, rows=20))
    monkeypatch.setattr(module, "_mistakes", interrupt)
    model = make()
    with pytest.raises(FitInterrupted):
        model.fit(MemorySource(X, Y, rows=20))
    assert_array_equal(model.coef_, expected.coef_)
    assert not model.certificate_.holds


@MODELS
def test_rows_of_weight_zero_have_no_effect(make: Callable[[], Any]) -> None:
    model = make().fit(X, Y)
    before = model.coef_
    with pytest.raises(DataError, match="at least one non-zero"):
        model.fit(MemorySource(X, Y, np.zeros(60), rows=20))
    assert model.coef_ is before


@MODELS
def test_labels_are_all_text_or_all_numbers(make: Callable[[], Any]) -> None:
    labels = np.array([*Y[:20].tolist(), *np.where(Y[20:] > 0, "yes", "no").tolist()], dtype=object)
    with pytest.raises(DataError, match="all text or all numbers"):
        make().fit(MemorySource(X, labels, rows=20))
