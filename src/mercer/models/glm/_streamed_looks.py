"""What a model that was fitted to a source asks of its rows beside losses: each question is a pass."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.data.sources.base import Chunk
from mercer.designs.observations import ObservedBatch
from mercer.engines.folding import fold
from mercer.families.response import Response
from mercer.families.softmax import SoftmaxResponse

#: a chunk in working coordinates; can be pickled
Prepare = Callable[[Chunk], ObservedBatch]


def cross_products(observations: Any, *, counted: bool) -> Array:
    """XᵀX of all rows by their weights; where `counted`, every row that has one weighs 1."""
    return fold(partial(_products, observations.prepare, counted), observations.source, np.add)


def least_information(observations: Any, response: Response, w: Array) -> float:
    """The least information about η that any row has at these coefficients, for a weight of 1."""
    return fold(partial(_least_information, observations.prepare, response, w), observations.source, min)


def class_collapsed(observations: Any, response: SoftmaxResponse, W: Array, portion: float) -> bool:
    """Whether some row's own class is certain, but for this portion."""
    return fold(partial(_class_collapsed, observations.prepare, response, W, portion), observations.source, max)


def _class_collapsed(prepare: Prepare, response: SoftmaxResponse, W: Array, portion: float, chunk: Chunk) -> bool:
    design, y, _, _ = prepare(chunk)
    own = response.probabilities(design.times(W))[np.arange(len(y)), y]
    return bool((own > 1 - portion).any())


def _products(prepare: Prepare, counted: bool, chunk: Chunk) -> Array:
    design, y, weight, _ = prepare(chunk)
    h = np.ones(len(y)) if weight is None else 1.0 * (weight > 0) if counted else weight
    return design.gram(h)


def _least_information(prepare: Prepare, response: Response, w: Array, chunk: Chunk) -> float:
    design, y, _, offset = prepare(chunk)
    eta = design.times(w)
    return float(response.slopes(y, eta if offset is None else eta + offset).second.min())
