"""Class labels as codes, without sorting the labels of all rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._errors import DataError, NonFiniteError
from mercer._typing import Array
from mercer.data.coding import Coded, code_array, code_uniform_objects

CONTINUOUS = (
    "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects discrete classes on a "
    "regression target with continuous values. The first label that is not whole is {}; cut y into classes, or use a "
    "regression model."
)


def encode_labels(y: Any) -> tuple[Array, Array]:
    """Return the distinct labels in ascending order, and the position of each row's label (int32).

    The result is that of `np.unique(y, return_inverse=True)`, but labels are looked up or hashed instead of sorted.

    Examples
    --------
    >>> encode_labels(["b", "a", "b"])
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1], dtype=int32))
    """
    y = _as_vector(y)
    coded = _code_labels(y)
    if coded.codes.size and coded.codes.min() < 0:
        raise NonFiniteError(
            f"Input y contains NaN. The first missing label is in row {int(np.argmax(coded.codes < 0))}; drop the rows "
            "without a label."
        )
    if coded.labels.dtype.kind == "f":
        _check_not_continuous(coded)
    return _sort_labels(coded, y.dtype)


def declared_order(y: Any) -> list[Any] | None:
    """Return the labels of an ordered categorical of pandas or pyarrow from lowest to highest; None for others."""
    categories = getattr(y, "cat", y)  # a Series of pandas has them in an accessor
    if getattr(categories, "ordered", False) and hasattr(categories, "categories"):
        return list(categories.categories)
    kind = getattr(y, "type", None)
    if getattr(kind, "ordered", False):
        chunks = getattr(y, "chunks", [y])
        return list(chunks[0].dictionary.to_pylist()) if chunks else None
    return None


def codes_of(y: Any, labels: Array) -> Array:
    """Return the position of each row's label among `labels` (int32), −1 if it is not one of them."""
    own, codes = encode_labels(y)
    known = {label: position for position, label in enumerate(np.asarray(labels).tolist())}
    positions = np.array([known.get(label, -1) for label in own.tolist()], dtype=np.int32)
    return positions[codes]


def _as_vector(y: Any) -> Array:
    vector = np.asarray(y)
    if vector.ndim != 1:
        raise DataError(
            f"y should be a 1d array, got an array of shape {vector.shape} instead. Give one label per row, "
            "e.g. y.ravel() for a single column."
        )
    return vector


def _code_labels(y: Array) -> Coded:
    if y.dtype.kind in "biufU":
        return code_array(y)
    uniform = code_uniform_objects(y) if y.dtype.kind == "O" else None
    return _code_by_sorting(y) if uniform is None else uniform


def _code_by_sorting(y: Array) -> Coded:
    """Code labels of rare types by sorting; labels that cannot be ordered raise an error."""
    try:
        labels, codes = np.unique(y, return_inverse=True)
    except TypeError:
        types = sorted({type(label).__name__ for label in y.tolist()})
        raise DataError(
            f"Labels must be all strings or all numbers, but y holds {', '.join(types)}. Convert them to one type, "
            "e.g. [str(label) for label in y]."
        ) from None
    codes = codes.astype(np.int32)
    if y.dtype.kind in "mM":  # NaT is sorted last
        codes, labels = np.where(np.isnat(y), np.int32(-1), codes), labels[~np.isnat(labels)]
    return Coded(codes, labels)


def _check_not_continuous(coded: Coded) -> None:
    labels = coded.labels
    if (infinite := np.isinf(labels)).any():
        raise NonFiniteError(
            f"Input y contains infinity or a value too large for {labels.dtype!r}. The first is in row "
            f"{int(np.argmax(infinite[coded.codes]))}; give every row one of a few labels."
        )
    if (broken := labels[labels != np.floor(labels)]).size:
        raise DataError(CONTINUOUS.format(broken[0]))


def _sort_labels(coded: Coded, dtype: Any) -> tuple[Array, Array]:
    """Return the labels in ascending order and of the type of y, and the codes to match."""
    order = np.argsort(coded.labels)
    if coded.labels.dtype.kind == "b":  # the labels False and True need not both occur
        order = np.flatnonzero([(coded.codes == code).any() for code in (0, 1)])
    if np.array_equal(order, np.arange(coded.labels.size)):
        return coded.labels.astype(dtype), coded.codes
    ranks = np.zeros(coded.labels.size, dtype=np.int32)
    ranks[order] = np.arange(order.size, dtype=np.int32)
    return coded.labels[order].astype(dtype), ranks[coded.codes]
