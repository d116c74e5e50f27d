"""Conversion of columns to codes: each value becomes the position of its label, without sorting the values.

Labels are of to_label type and comparable across batches and frame libraries: strings (in object arrays), bools,
integers, or floats if some value is not whole, so that 1, 1.0 and a nullable 1 are the same label. Strings are compared
without surrounding white space, and blank ones are missing, whatever their origin (`trim_labels`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Container
from typing import Any, NamedTuple

import numpy as np

from mercer._stored import integers, stored, values
from mercer._typing import Array
from mercer.data import _loops as loops

#: slots that a lookup table may have in addition to one per value; wider ranges are hashed
SPARE_SLOTS = 1024
#: whole numbers from which compiled loops are faster than NumPy
MIN_VALUES_FOR_LOOPS = 10_000
#: number of distinct fixed-width strings up to which hashing is faster than sorting
MAX_HASHED_WORDS = 1 << 14
INT64_LIMITS = np.iinfo(np.int64)
#: words for missing values in text files; models treat them as missing unless they are known levels
MISSING_WORDS = ("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None")


@stored(codes=integers("n", least=-1, below="k"), labels=values("k"))
class Coded(NamedTuple):
    """The values `labels[codes]`; code −1 is a missing value. Labels are distinct, and need not all occur."""

    codes: Array
    labels: Array


def trim_labels(coded: Coded) -> Coded:
    """Return codes of strings without surrounding white space; blank strings are missing.

    Examples
    --------
    >>> trim_labels(Coded(np.array([0, 1, 2, 3]), np.array([" a", "b", "a ", " "], dtype=object)))
    Coded(codes=array([ 0,  1,  0, -1]), labels=array(['a', 'b'], dtype=object))
    """
    if coded.labels.dtype != object:
        return coded
    labels = coded.labels.tolist()
    if not any(isinstance(label, str) and (not label or label[0].isspace() or label[-1].isspace()) for label in labels):
        return coded
    trimmed = [label.strip() if isinstance(label, str) else label for label in labels]
    places: dict[Any, int] = {}
    codes = [-1 if label == "" else places.setdefault(label, len(places)) for label in trimmed]
    return Coded(np.array([*codes, -1], dtype=coded.codes.dtype)[coded.codes], label_array(list(places)))


def drop_missing_words(coded: Coded, known: Container[Any]) -> Coded:
    """Return codes in which words for missing values are missing, except for those that are `known` levels.

    Readers of text files convert such words to missing values, other sources do not: a model has the same predictions
    for both.
    """
    if coded.labels.dtype != object:
        return coded
    labels = coded.labels.tolist()
    absent = [isinstance(label, str) and label in MISSING_WORDS and label not in known for label in labels]
    if not any(absent):
        return coded
    codes = [-1 if is_absent else place for place, is_absent in enumerate(absent)]
    return coded._replace(codes=np.array([*codes, -1], dtype=coded.codes.dtype)[coded.codes])


def is_new_level(value: Any, known: Container[Any]) -> bool:
    """Return whether a value is neither missing nor a `known` level, ignoring surrounding white space."""
    value = value.strip() if isinstance(value, str) else value
    return not is_missing(value) and value not in known and value not in MISSING_WORDS


def code_array(values: Array) -> Coded:
    """Return the codes of a one-dimensional NumPy array of any type except dates."""
    match values.dtype.kind:
        case "b":
            return Coded(values.astype(np.int32), np.array([False, True]))
        case "i" | "u":
            return code_integers(values)
        case "f":
            return code_floats(values)
        case "U":
            return _code_strings(values)
        case "S":
            return _code_strings(np.char.decode(values, "utf-8"))
        case _:
            return code_objects(values.astype(object, copy=False))


def code_integers(values: Array) -> Coded:
    """Return the codes of integers without missing values."""
    if not values.size:
        return Coded(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64))
    return _code_whole(values, int(values.min()), int(values.max()))


def code_floats(values: Array) -> Coded:
    """Return the codes of floats; NaN is missing, and whole numbers have integer labels."""
    values = _as_loop_array(values, np.float64)
    low, high, missing, is_whole = loops.span(values)
    if missing:
        present = ~np.isnan(values)
        return _insert_missing(code_floats(values[present]), present)
    if not values.size:
        return code_integers(values)
    if is_whole and INT64_LIMITS.min <= low and high < -float(INT64_LIMITS.min):
        return _code_whole(values, int(low), int(high))
    labels, codes = np.unique(values, return_inverse=True)
    return Coded(codes.astype(np.int32), labels)


def code_arrow(array: Any) -> Coded:
    """Return the codes of a pyarrow (chunked) array; null is missing."""
    import pyarrow as pa

    array = one_chunk(array)
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _code_dictionary(array)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _from_dictionary(array.dictionary_encode())
    if pa.types.is_boolean(kind):
        return Coded(_int32(array), np.array([False, True]))
    if pa.types.is_integer(kind):
        present = array.is_valid().to_numpy(zero_copy_only=False)
        return _insert_missing(code_integers(array.drop_null().to_numpy()), present)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return code_floats(as_floats(array))
    return code_objects(array.to_numpy(zero_copy_only=False))


def code_objects(values: Array) -> Coded:
    """Return the codes of Python objects; None, NaN and pandas' NA are missing. Mixed types are hashed one by one."""
    coded = code_uniform_objects(values)
    return _code_by_hash(values) if coded is None else coded


def code_uniform_objects(values: Array) -> Coded | None:
    """Return the codes of Python objects that are all strings, all bools or all numbers; None for others."""
    import pyarrow as pa

    try:
        array = pa.array(values, from_pandas=True)
    except (pa.ArrowException, UnicodeError, OverflowError):
        return None
    kind = array.type
    plain = (pa.types.is_string, pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_null)
    return code_arrow(array) if any(is_plain(kind) for is_plain in plain) else None


def to_label(label: Any) -> Any:
    """Return a label that is a string or number unchanged, and others (intervals, dates, decimals) as strings."""
    label = label.item() if isinstance(label, np.generic) else label
    if isinstance(label, str | bool | int | float):
        return label
    hash(label)  # a list or a dict is not a label: TypeError
    return str(label)


def label_array(labels: list[Any]) -> Array:
    """Return labels as an array: typed for bools, integers and floats, of objects for strings and mixtures."""
    types = {type(label) for label in labels}
    if types == {float} and all(label.is_integer() for label in labels):
        return label_array([int(label) for label in labels])
    if types in ({bool}, {float}):
        return np.array(labels)
    if types == {int}:
        for width in (np.int64, np.uint64):
            with contextlib.suppress(OverflowError):
                return np.array(labels, dtype=width)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def one_chunk(array: Any) -> Any:
    """Return a pyarrow array as one chunk."""
    import pyarrow as pa

    if not isinstance(array, pa.ChunkedArray):
        return array
    if array.num_chunks == 1:
        return array.chunk(0)
    return array.unify_dictionaries().combine_chunks()


def as_floats(array: Any) -> Array:
    """Return a numeric pyarrow array as NumPy floats, NaN for null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    floats = pc.cast(one_chunk(array), pa.float64(), safe=False)
    values: Array = floats.to_numpy(zero_copy_only=False)
    return values


def _code_whole(values: Array, low: int, high: int) -> Coded:
    """Return the codes of whole numbers from `low` to `high`, integers or floats."""
    if high - low >= values.size + SPARE_SLOTS or high > INT64_LIMITS.max:
        import pyarrow as pa

        exact = values.astype(np.int64) if values.dtype.kind == "f" else values
        return _from_dictionary(pa.array(exact).dictionary_encode())
    occurs = np.zeros(high - low + 1, dtype=np.bool_)
    if values.size < MIN_VALUES_FOR_LOOPS:
        places = values.astype(np.int64) - low
        occurs[places] = True
        return Coded((np.cumsum(occurs, dtype=np.int32) - np.int32(1))[places], np.flatnonzero(occurs) + low)
    values = _as_loop_array(values, np.float64 if values.dtype.kind == "f" else np.int64)
    loops.mark(values, low, occurs)
    table = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    codes = np.empty(values.size, dtype=np.int32)
    loops.look_up(values, low, table, codes)
    return Coded(codes, np.flatnonzero(occurs) + low)


def _as_loop_array(values: Array, dtype: Any) -> Array:
    """Return the values as the array type for which the loops are compiled: contiguous, writable, in native byte
    order.
    """
    return np.require(values, dtype, ["C", "A", "W"])


def _code_strings(values: Array) -> Coded:
    """Return the codes of fixed-width NumPy strings, compared as rows of code points."""
    values = np.require(values, values.dtype.newbyteorder("="), ["C", "W"])
    words = values.view(np.uint32).reshape(values.size, values.dtype.itemsize // 4)
    first = np.empty(MAX_HASHED_WORDS, dtype=np.int64)
    codes = np.empty(values.size, dtype=np.int32)
    n_codes = loops.code_words(words, first, np.full(2 * MAX_HASHED_WORDS, -1, dtype=np.int32), codes)
    if n_codes < 0:
        labels, positions = np.unique(values, return_inverse=True)
        return Coded(positions.astype(np.int32), labels.astype(object))
    return Coded(codes, values[first[:n_codes]].astype(object))


def _code_dictionary(array: Any) -> Coded:
    """Return the codes of a dictionary column; the labels are its whole dictionary."""
    import pyarrow as pa

    dictionary = array.dictionary
    if dictionary.null_count or len(dictionary.unique()) < len(dictionary):
        array = array.dictionary_decode().dictionary_encode()
    if pa.types.is_floating(array.type.value_type) or pa.types.is_decimal(array.type.value_type):
        return code_arrow(array.dictionary_decode())
    return _from_dictionary(array)


def _from_dictionary(array: Any) -> Coded:
    import pyarrow as pa

    dictionary = array.dictionary
    if pa.types.is_string(dictionary.type) or pa.types.is_large_string(dictionary.type):
        return Coded(_int32(array.indices), dictionary.to_numpy(zero_copy_only=False))
    return Coded(_int32(array.indices), label_array([to_label(label) for label in dictionary.to_pylist()]))


def code_positions(array: Any) -> Array:
    """Return the positions of the values of a pyarrow dictionary array in its dictionary, −1 for null."""
    return _int32(one_chunk(array).indices)


def _int32(array: Any) -> Array:
    """Return integers or bools of a pyarrow array in a writable array, −1 for null."""
    import pyarrow as pa

    codes: Array = array.cast(pa.int32(), safe=False).fill_null(-1).to_numpy(zero_copy_only=False)
    return np.require(codes, requirements="W")


def _insert_missing(coded: Coded, present: Array) -> Coded:
    """Return the codes of the present values at their positions, −1 elsewhere."""
    codes = np.full(present.size, -1, dtype=np.int32)
    codes[present] = coded.codes
    return Coded(codes, coded.labels)


def _code_by_hash(values: Array) -> Coded:
    positions: dict[Any, int] = {}
    codes = [-1 if is_missing(value) else positions.setdefault(to_label(value), len(positions)) for value in values]
    return Coded(np.array(codes, dtype=np.int32), label_array(list(positions)))


def is_missing(value: Any) -> bool:
    """Return whether a Python object is None, NaN or pandas' NA."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return not hasattr(value, "__len__")  # pandas.NA has no truth value; an array in a cell has several
