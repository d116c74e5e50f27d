"""Decoding of plain records and arrays to objects, without importing names or calling values of a file.

Objects are made by `__new__`, and their parts are set. `_names` finds their classes, `_state` their possible parts.
"""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from mercer._errors import ModelFileError
from mercer._stored import ContradictionError, declaration_of, mark_loaded
from mercer._typing import Array
from mercer.data.stored_frames import LIBRARIES, frame_of_bytes
from mercer.data.texts import SURROGATES, are_valid_offsets
from mercer.families import Family
from mercer.files import _state
from mercer.files._arrays import is_known, restored
from mercer.files._declarations import Verifier
from mercer.files._encode import BIT_GENERATORS, MAX_DEPTH, SCALAR_TYPES, SPARSE
from mercer.files._names import class_named, constant_named, enum_named, shown, type_named
from mercer.files._rules import KeyBudget, SlowKeysError, check_safe

#: maximum levels of a file: some leaves are a level of JSON, but were not one of the saved object
MAX_NESTING = MAX_DEPTH + 4
#: maximum values of a model beyond the characters of its description, each counted as often as it occurs: a chain of
#: twenty objects that contain the previous one twice has a million values for printing, comparing and hashing
MAX_EXTRA_VALUES = 1_000_000
#: how often a file may refer to its own values, each counted for every object that contains it, because checks of an
#: object walk through its parts: values per character of the description beyond `MAX_EXTRA_TOTAL`
MAX_REPEATS = 8
MAX_EXTRA_TOTAL = 4_000_000
#: the same of numbers in arrays: numbers per byte of the arrays beyond `MAX_EXTRA_NUMBERS`
MAX_REPEATED_NUMBERS = 32
MAX_EXTRA_NUMBERS = 100_000_000
#: maximum positions in the tables of states of random numbers
POSITIONS = {"pos": 624, "buffer_pos": 4}


class Extent(NamedTuple):
    """The number of values of an object, including those to which it refers, of their levels and of their numbers."""

    values: int
    levels: int
    numbers: int


class Decoder:
    """A builder of the objects of a file, one after the other.

    The number of values is bounded by `size`, the number of characters of the description, both in one object and in
    all; the numbers of the arrays to which objects refer are bounded by the bytes of these arrays.
    """

    def __init__(self, arrays: dict[str, Array], size: int) -> None:
        self._arrays, self._most_values = arrays, size + MAX_EXTRA_VALUES
        self._most_in_all = MAX_REPEATS * size + MAX_EXTRA_TOTAL
        self._most_numbers = MAX_REPEATED_NUMBERS * sum(values.nbytes for values in arrays.values()) + MAX_EXTRA_NUMBERS
        self._objects: list[Any] = []
        self._extents: list[Extent] = []
        self._made: dict[str, Array] = {}
        self._keys = KeyBudget()
        self._verifier = Verifier(self._keys)
        #: of the object that is built
        self._level = self._deepest = self._count = self._numbers = 0
        #: of the objects before it
        self._earlier_count = self._earlier_numbers = 0

    def build(self, described: Any) -> Any:
        """Return the model of a description {"objects": […], "model": value}."""
        if not isinstance(described, dict) or set(described) != {"objects", "model"}:
            raise damaged("it does not describe a model")
        for record in described["objects"]:
            self._begin(1)
            self._objects.append(self._object(record))
            self._extents.append(Extent(self._count, self._deepest, self._numbers))
        self._begin(0)
        return self.value(described["model"])

    def _begin(self, count: int) -> None:
        """Begin to count the values of another object."""
        self._earlier_count += self._count
        self._earlier_numbers += self._numbers
        self._count, self._deepest, self._numbers = count, 0, 0

    def value(self, described: Any) -> Any:
        """Return the value of a piece of JSON."""
        self._count += 1
        if described is None or type(described) in (bool, int, float, str):
            return described
        self._level += 1
        self._reach(self._level)
        try:
            if isinstance(described, list):
                return [self.value(part) for part in described]
            return self._tagged(described)
        finally:
            self._level -= 1

    def _reach(self, level: int) -> None:
        self._deepest = max(self._deepest, level)
        total = self._earlier_count + self._count
        if self._deepest > MAX_NESTING or self._count > self._most_values or total > self._most_in_all:
            raise damaged("it has too many values, or they are nested too deeply")

    def _count_numbers(self, values: Array) -> None:
        """Count the numbers of an array for a reference to it, before the object that refers to it is verified."""
        self._add_numbers(max(1, values.size, values.nbytes // 8))

    def _add_numbers(self, more: int) -> None:
        self._numbers += more
        if self._earlier_numbers + self._numbers > self._most_numbers:
            raise damaged("its objects refer to the same arrays too often")

    def _tagged(self, described: dict[str, Any]) -> Any:
        tag = next(iter(described), None)
        if tag not in _TAGS:
            raise damaged(f"it has a value of the unknown kind {shown(tag)}")
        return _TAGS[tag](self, described)

    # Objects.

    def _object(self, record: dict[str, Any]) -> Any:
        if "value" in record:
            return self.value(record["value"])
        cls: Any = class_named(record["class"])
        state = _state.completed(cls, {name: self._part(cls, name, part) for name, part in record["state"].items()})
        if absent := _state.lacking(cls, set(state)):
            raise damaged(f"a {cls.__name__} in it lacks {', '.join(sorted(absent))}")
        try:
            sizes = self._verifier.verify_state(cls, state)
            thing = cls._make(state[name] for name in cls._fields) if _state.is_record(cls) else _made(cls, state)
            self._verifier.verify_object(thing, sizes, made=True)
            mark_loaded(thing)
        except ContradictionError as error:
            place = f"{error.path} of a {cls.__name__}" if error.path else f"a {cls.__name__} in it"
            raise damaged(f"{place} {error.why}") from None
        for part, regrow in declaration_of(cls).regrow.items():
            if part not in state:
                regrow(thing)
        return thing

    def _part(self, cls: type, name: str, described: Any) -> Any:
        if not _state.may_have(cls, name):
            raise damaged(f"a {cls.__name__} has no attribute {shown(name)}")
        return described if name == _state.REQUESTS else self.value(described)

    def earlier(self, described: dict[str, Any]) -> Any:
        """Return an object that precedes this one."""
        number = described["object"]
        if type(number) is not int or not 0 <= number < len(self._objects):
            raise damaged("an object refers to one that does not precede it")
        self._count += self._extents[number].values
        self._reach(self._level + self._extents[number].levels)
        self._add_numbers(self._extents[number].numbers)
        return self._objects[number]

    # Arrays.

    def array(self, described: dict[str, Any]) -> Array:
        """Return an array, the same one for all references."""
        name = described["array"]
        if name not in self._made:
            self._made[name] = restored(self._arrays.pop(name), described)
        self._count_numbers(self._made[name])
        return self._made[name]

    def strings(self, described: dict[str, Any]) -> Array:
        """Return an array of Python strings."""
        data, offsets = (self._taken(described["strings"][part]) for part in ("data", "offsets"))
        if not are_valid_offsets(data, offsets):
            raise damaged("strings exceed their bytes")
        octets, places = data.tobytes(), offsets.tolist()
        strings = [octets[i:j].decode("utf-8", SURROGATES) for i, j in pairwise(places)]
        return _things(strings, described["shape"])

    def frame(self, described: dict[str, Any]) -> Any:
        """Return a data frame."""
        if described["frame"] not in LIBRARIES:
            raise damaged("it has a frame of an unknown library")
        return frame_of_bytes(self._taken(described["bytes"]["array"]), described["frame"])

    def _taken(self, name: str) -> Array:
        """Return an array that is read only once, because a few bytes with many references could become large."""
        if name not in self._arrays:
            raise damaged("it reads bytes that do not exist or are read already")
        self._count_numbers(self._arrays[name])
        return self._arrays.pop(name)

    def mapping(self, described: dict[str, Any]) -> dict[Any, Any]:
        """Return a dict, unless comparing its keys takes too long."""
        keys, values = ([self.value(part) for part in parts] for parts in described["dict"])
        try:
            return self._keys.make_dict(keys, values)
        except SlowKeysError as error:
            raise damaged(str(error)) from None

    def members(self, described: list[Any]) -> set[Any]:
        """Return a set, unless comparing its members takes too long."""
        try:
            return self._keys.make_set([self.value(part) for part in described])
        except SlowKeysError as error:
            raise damaged(str(error)) from None

    def sparse(self, described: dict[str, Any]) -> Any:
        """Return a sparse matrix, after checking its indices."""
        name, shape = described["sparse"], described["shape"]
        if name not in SPARSE or len(shape) != 2 or not all(type(n) is int and n >= 0 for n in shape):
            raise damaged("it has a sparse matrix of an unknown kind")
        parts = tuple(self.array(described[part]) for part in ("data", "indices", "indptr"))
        if not _indices_hold(*parts, lines=shape[name.startswith("csc")], width=shape[name.startswith("csr")]):
            raise damaged("a sparse matrix has indices out of bounds")
        return getattr(sp, name)(parts, shape=tuple(shape), copy=False)

    def scalar(self, described: dict[str, Any]) -> Any:
        """Return a scalar of NumPy."""
        value = self.value(described["scalar"])
        if "dtype" not in described:
            return value[()]
        name = described["dtype"]
        if name == "str" and isinstance(value, str):
            return np.str_(value)
        if name not in SCALAR_TYPES or type(value) not in (bool, int, float):
            raise damaged("it has a number of an unknown type")
        return np.dtype(name).type(value)

    # Random numbers.

    def random_bits(self, described: Any) -> Any:
        """Return a bit generator in its saved state, and this state."""
        state = self.value(described)
        if state["bit_generator"] not in BIT_GENERATORS:
            raise damaged("it has random numbers of an unknown kind")
        for place in (state, state["state"]):
            for name, most in POSITIONS.items():
                if not 0 <= place.get(name, 0) <= most:
                    raise damaged("random numbers have a position outside of their table")
        if _may_be_constant(state):
            raise damaged("its random numbers would always be the same")
        bits = getattr(np.random, state["bit_generator"])(0)
        bits.state = state
        return bits, state


def damaged(why: str) -> ModelFileError:
    """Return the error of a file that `save` cannot have written."""
    return ModelFileError(f"The model file is damaged or was tampered with: {why}.")


def _may_be_constant(state: dict[str, Any]) -> bool:
    """Return whether random bits may be constant, so that rejection sampling would never end."""
    match state["bit_generator"]:
        case "MT19937":
            return not np.any(state["state"]["key"])
        case "PCG64" | "PCG64DXSM":
            return int(state["state"]["inc"]) % 2 == 0
        case _:
            return False


def _made(cls: Any, state: dict[str, Any]) -> Any:
    thing = cls.__new__(cls)
    requests = state.pop(_state.REQUESTS, None)
    if isinstance(thing, BaseEstimator):
        thing.__setstate__(state)  # warns if a part of scikit-learn was saved by another version
    else:
        vars(thing).update(state)
    if requests is not None:
        vars(thing)[_state.REQUESTS] = _metadata_request(thing, requests["requests"])
    check_safe(thing, _raise_damaged_part)
    return thing


def _raise_damaged_part(part: str, what: str, remedy: str) -> None:
    raise damaged(f"{part} is {what}")


def _metadata_request(estimator: Any, requests: dict[str, dict[str, Any]]) -> Any:
    """Return the metadata requests of an estimator as scikit-learn's object."""
    from sklearn.utils._metadata_requests import SIMPLE_METHODS, MetadataRequest

    result = MetadataRequest(owner=estimator)
    for method, aliases in requests.items():
        if method not in SIMPLE_METHODS:
            raise damaged("it routes metadata to an unknown method")
        for name, alias in aliases.items():
            getattr(result, method).add_request(param=name, alias=alias)
    return result


def _things(values: list[Any], shape: list[int]) -> Array:
    if not all(type(n) is int and n >= 0 for n in shape) or prod(shape) != len(values):
        raise damaged("an array has another number of values than its shape")
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(shape)


def _indices_hold(data: Array, indices: Array, indptr: Array, *, lines: int, width: int) -> bool:
    """Return whether all pointers and indices of a sparse matrix are in bounds.

    SciPy's own check omits the indices of a matrix whose last pointer is 0 or less.
    """
    if not (data.ndim == indices.ndim == indptr.ndim == 1 and indices.dtype.kind == indptr.dtype.kind == "i"):
        return False
    if data.dtype.kind not in "biufc":
        return False
    if len(indptr) != lines + 1 or len(data) != len(indices):
        return False
    ends = indptr[0] == 0 and indptr[-1] == len(indices) and (indptr[1:] >= indptr[:-1]).all()
    return bool(ends and (not len(indices) or (indices.min() >= 0 and indices.max() < width)))


def _range(numbers: list[Any]) -> range:
    result = range(*numbers)
    if any(abs(end) >= 1 << 62 for end in (result.start, result.stop, result.step)) or len(result) > MAX_EXTRA_VALUES:
        raise damaged("a range in it is too long")
    return result


def _enum(described: dict[str, Any]) -> Any:
    name, value = described["enum"]
    return enum_named(name)(value)


def _transform(decoder: Decoder, described: dict[str, Any]) -> Any:
    family = decoder.value(described["transform_of"])
    if not isinstance(family, Family):
        raise damaged("a transformation belongs to something other than a family")
    return family.transform


def _float(described: dict[str, Any]) -> float:
    if described["float"] not in ("nan", "inf", "-inf"):
        raise damaged("it has an invalid number")
    return float(described["float"])


def _dtype(name: Any) -> np.dtype[Any]:
    if not isinstance(name, str) or not is_known(name):
        raise damaged("it has an unknown type")
    return np.dtype(name)


def _generator(decoder: Decoder, described: dict[str, Any]) -> np.random.Generator:
    bits, _ = decoder.random_bits(described["generator"])
    return np.random.Generator(bits)


def _random_state(decoder: Decoder, described: dict[str, Any]) -> np.random.RandomState:
    bits, state = decoder.random_bits(described["random_state"])
    random = np.random.RandomState(bits)
    random.set_state(state)
    return random


#: decoders by the first key of a JSON object
_TAGS: dict[Any, Callable[[Decoder, dict[str, Any]], Any]] = {
    "object": Decoder.earlier,
    "array": Decoder.array,
    "strings": Decoder.strings,
    "things": lambda decoder, d: _things([decoder.value(part) for part in d["things"]], d["shape"]),
    "sparse": Decoder.sparse,
    "frame": Decoder.frame,
    "scalar": Decoder.scalar,
    "tuple": lambda decoder, d: tuple([decoder.value(part) for part in d["tuple"]]),
    "dict": Decoder.mapping,
    "set": lambda decoder, d: decoder.members(d["set"]),
    "frozenset": lambda decoder, d: frozenset(decoder.members(d["frozenset"])),
    "float": lambda _, d: _float(d),
    "bytes": lambda _, d: base64.b64decode(d["bytes"], validate=True),
    "complex": lambda decoder, d: complex(*[decoder.value(part) for part in d["complex"]]),
    "slice": lambda decoder, d: slice(*[decoder.value(part) for part in d["slice"]]),
    "range": lambda _, d: _range(d["range"]),
    "datetime": lambda _, d: datetime.datetime.fromisoformat(d["datetime"]),
    "date": lambda _, d: datetime.date.fromisoformat(d["date"]),
    "timedelta": lambda _, d: datetime.timedelta(*d["timedelta"]),
    "dtype": lambda _, d: _dtype(d["dtype"]),
    "type": lambda _, d: type_named(d["type"]),
    "enum": lambda _, d: _enum(d),
    "constant": lambda _, d: constant_named(d["constant"]),
    "transform_of": _transform,
    "generator": _generator,
    "random_state": _random_state,
}
