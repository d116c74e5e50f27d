"""Encoding of objects as plain records and arrays.

JSON values are written as they are; everything else is a JSON object whose first key is its tag (see
docs/guides/model-file-format.md). Objects are in one list, each after all objects to which it refers, so that reading
needs no recursion between objects and cycles are impossible.
"""

from __future__ import annotations

import base64
import datetime
import enum
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isfinite
from types import MethodType
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._errors import UnsavableError
from mercer._stored import ContradictionError, declaration_of
from mercer._tags import constant_tag
from mercer._typing import Array
from mercer.data.stored_frames import frame_bytes, frame_library
from mercer.data.texts import Texts
from mercer.families import Family
from mercer.files import _state
from mercer.files._arrays import is_storable, little, stored
from mercer.files._declarations import Verifier
from mercer.files._names import name_of_class, name_of_type
from mercer.files._rules import KeyBudget, SlowKeysError, check_safe

#: maximum nesting of lists, dicts and objects
MAX_DEPTH = 100
#: scalar types of NumPy that JSON represents without loss
SCALAR_TYPES = ("|b1", "<i4", "<i8", "<f4", "<f8")
#: bit generators of NumPy
BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
#: kinds of sparse matrices
SPARSE = ("csr_array", "csr_matrix", "csc_array", "csc_matrix")


class Encoder:
    """A collection of objects and arrays, each of which is written once however often it occurs."""

    def __init__(self) -> None:
        self.objects: list[dict[str, Any]] = []
        self.arrays: dict[str, Array] = {}
        self._path = ["model"]
        self._open: set[int] = set()
        self._places: dict[int, Any] = {}
        self._verifier = Verifier()
        self._keys = KeyBudget()
        self._kept: list[Any] = []  # references that keep ids unique

    def value(self, value: Any) -> Any:
        """Return a value as JSON."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if isfinite(value) else {"float": repr(value)}
        if (encode := _SIMPLE.get(type(value))) is not None:
            return encode(self, value)
        if (name := constant_tag(value)) is not None:
            return {"constant": name}
        return self._other(value)

    def _other(self, value: Any) -> Any:
        if isinstance(value, np.generic):
            return self._scalar(value)
        if isinstance(value, np.dtype):
            storable = is_storable(value)
            return {
                "dtype": little(value).str if storable else self.raise_unsavable(f"the type {value}", "use another")
            }
        if isinstance(value, type):
            return {"type": name_of_type(value) or self.raise_unsavable(f"the class {value.__name__}", "leave it out")}
        if isinstance(value, enum.Enum) and (name := name_of_class(type(value))):
            return {"enum": [name, value.value]}
        if isinstance(value, MethodType) and isinstance(value.__self__, Family) and value.__name__ == "transform":
            return {"transform_of": self.value(value.__self__)}
        if name := name_of_class(type(value)):
            return self._shared(value, lambda: self._object(name, value))
        if sp.issparse(value):
            return self._shared(value, lambda: self._listed(self._sparse(value)))
        if frame_library(value):
            return self._shared(value, lambda: self._listed(self._frame(value)))
        return self._raise_unsavable_value(value)

    # Objects.

    def _object(self, name: str, thing: Any) -> Any:
        check_safe(thing, self._raise_unsavable_part)
        state, parts = {}, self._without_regrown(thing)
        for part, value in parts.items():
            with self._at(f".{part}"):
                if not _state.may_have(type(thing), part):
                    self.raise_unsavable("an attribute that its class does not declare", "delete it or declare it")
                state[part] = _requests(value) if part == _state.REQUESTS else self.value(value)
        self._verify(thing, parts)
        return self._added({"class": name, "state": state})

    def _without_regrown(self, thing: Any) -> dict[str, Any]:
        """Return the parts of an object without those that are made again on loading."""
        cls: Any = type(thing)
        regrown = declaration_of(cls).regrow
        parts = _state.state_of(thing)
        return {name: part for name, part in parts.items() if name not in regrown or name_of_class(type(part))}

    def _verify(self, thing: Any, parts: dict[str, Any]) -> None:
        """Raise an error if loading the object would raise one."""
        try:
            self._verifier.verify_object(thing, self._verifier.verify_state(type(thing), parts))
        except ContradictionError as error:
            place = "".join(self._path) + (f".{error.path}" if error.path else "")
            raise UnsavableError(
                f"{place} {error.why}, so that a model file with it could not be loaded. Fit the model again, or set "
                "this attribute to the value that a fit gives it."
            ) from None

    def _listed(self, value: Any) -> Any:
        """Add a value to which others may refer, too."""
        return self._added({"value": value})

    def _added(self, record: dict[str, Any]) -> Any:
        self.objects.append(record)
        return {"object": len(self.objects) - 1}

    def _shared(self, thing: Any, encode: Callable[[], Any]) -> Any:
        """Encode an object once, and raise an error if it contains itself."""
        if id(thing) not in self._places:
            with self._entered(thing):
                self._places[id(thing)] = encode()
            self._kept.append(thing)
        return self._places[id(thing)]

    @contextmanager
    def _entered(self, thing: Any) -> Iterator[None]:
        if id(thing) in self._open:
            self.raise_unsavable("an object that contains itself", "remove the cycle")
        if len(self._open) >= MAX_DEPTH:
            self.raise_unsavable(f"nested more than {MAX_DEPTH} levels deep", "make it flatter")
        self._open.add(id(thing))
        try:
            yield
        finally:
            self._open.discard(id(thing))

    # Arrays.

    def array(self, values: Array) -> Any:
        """Return a reference to an array, which is written once."""
        return self._shared(values, lambda: self._array(np.asarray(values)))

    def _array(self, values: Array) -> Any:
        if values.dtype == object:
            return self._listed(self._things(values))
        if not is_storable(values.dtype):
            self.raise_unsavable(f"an array of {values.dtype}", "convert it to numbers or strings")
        plain, about = stored(values)
        return {"array": self._stored(plain), **about}

    def _stored(self, plain: Array) -> str:
        name = str(len(self.arrays))
        self.arrays[name] = plain
        return name

    def _things(self, values: Array) -> Any:
        """Return an array of Python objects: strings as bytes with offsets, others as a list."""
        things = values.reshape(-1).tolist()
        if things and all(type(thing) is str for thing in things):
            texts = Texts.of(things)
            packed = {"data": self._stored(texts.data), "offsets": self._stored(texts.offsets - texts.offsets[0])}
            return {"strings": packed, "shape": list(values.shape)}
        return {"things": self._list(things), "shape": list(values.shape)}

    def _scalar(self, value: np.generic) -> Any:
        if type(value) is np.str_ or value.dtype.str in SCALAR_TYPES:
            return {"scalar": self.value(value.item()), "dtype": "str" if type(value) is np.str_ else value.dtype.str}
        return {"scalar": self.array(np.asarray(value))}

    def _sparse(self, matrix: Any) -> Any:
        name = type(matrix).__name__
        if name not in SPARSE:
            self.raise_unsavable(f"a sparse matrix of the kind {name}", "convert it with .tocsr()")
        parts = {part: self.array(getattr(matrix, part)) for part in ("data", "indices", "indptr")}
        return {"sparse": name, "shape": list(matrix.shape), **parts}

    def _frame(self, frame: Any) -> Any:
        return {"frame": frame_library(frame), "bytes": self.array(frame_bytes(frame))}

    # Containers.

    def _list(self, values: Any) -> list[Any]:
        with self._entered(values):
            return [self._item(position, value) for position, value in enumerate(values)]

    def _item(self, position: int, value: Any) -> Any:
        with self._at(f"[{position}]"):
            return self.value(value)

    def _dict(self, values: dict[Any, Any]) -> Any:
        with self._entered(values):
            self._check_keys(list(values))
            keys = [self.value(key) for key in values]
            return {"dict": [keys, [self._entry(key, value) for key, value in values.items()]]}

    def set_members(self, values: Any) -> list[Any]:
        """Return the members of a set in an order that is always the same."""
        members = sorted(values, key=repr)
        self._check_keys(members)
        return self._list(members)

    def _check_keys(self, keys: list[Any]) -> None:
        """Raise an error if a file with a container of these keys could not be loaded."""
        try:
            self._keys.make_set(keys)
        except SlowKeysError as error:
            self.raise_unsavable(f"a container in which {error}", "use strings, or write them in an array")

    def _entry(self, key: Any, value: Any) -> Any:
        with self._at(f"[{key!r:.40}]"):
            return self.value(value)

    # Random numbers.

    def _generator(self, generator: np.random.Generator) -> Any:
        return {"generator": self._bits(generator.bit_generator.state)}

    def _random_state(self, random: np.random.RandomState) -> Any:
        return {"random_state": self._bits(random.get_state(legacy=False))}

    def _bits(self, state: Any) -> Any:
        if state["bit_generator"] not in BIT_GENERATORS:
            self.raise_unsavable(
                f"random numbers of {state['bit_generator']}", f"use one of {', '.join(BIT_GENERATORS)}"
            )
        return self.value(state)

    # Errors.

    @contextmanager
    def _at(self, part: str) -> Iterator[None]:
        self._path.append(part)
        try:
            yield
        finally:
            self._path.pop()

    def _raise_unsavable_part(self, part: str, what: str, remedy: str) -> Any:
        with self._at(part):
            return self.raise_unsavable(what, remedy)

    def raise_unsavable(self, what: str, remedy: str) -> Any:
        """Raise an error that names the part that cannot be written."""
        raise UnsavableError(f"{''.join(self._path)} is {what}, which model files cannot contain; {remedy}.")

    def _raise_unsavable_value(self, value: Any) -> Any:
        if callable(value) and not isinstance(value, type) and hasattr(value, "__name__"):
            remedy = "because files contain no code, use a named option instead, or set it to None before saving"
            return self.raise_unsavable(f"the function {value.__name__}", remedy)
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        remedy = "save objects of mercer, numbers, strings and arrays of them"
        return self.raise_unsavable(f"of the class {kind}", remedy)


def _requests(request: Any) -> Any:
    """Return scikit-learn's metadata requests, method by method."""
    methods = {name: dict(value.requests) for name, value in vars(request).items() if hasattr(value, "requests")}
    return {"requests": {method: requests for method, requests in methods.items() if requests}}


def _packed(values: bytes) -> str:
    return base64.b64encode(values).decode("ascii")


#: encoders of values of exactly these types, not of derived ones
_SIMPLE: dict[type, Callable[[Encoder, Any], Any]] = {
    list: lambda encoder, value: encoder._list(value),
    tuple: lambda encoder, value: {"tuple": encoder._list(value)},
    dict: lambda encoder, value: encoder._dict(value),
    set: lambda encoder, value: {"set": encoder.set_members(value)},
    frozenset: lambda encoder, value: {"frozenset": encoder.set_members(value)},
    np.ndarray: lambda encoder, value: encoder.array(value),
    np.memmap: lambda encoder, value: encoder.array(value),
    bytes: lambda encoder, value: {"bytes": _packed(value)},
    complex: lambda encoder, value: {"complex": [encoder.value(value.real), encoder.value(value.imag)]},
    slice: lambda encoder, value: {"slice": [encoder.value(part) for part in (value.start, value.stop, value.step)]},
    range: lambda encoder, value: {"range": [value.start, value.stop, value.step]},
    datetime.datetime: lambda encoder, value: {"datetime": value.isoformat()},
    datetime.date: lambda encoder, value: {"date": value.isoformat()},
    datetime.timedelta: lambda encoder, value: {"timedelta": [value.days, value.seconds, value.microseconds]},
    np.random.Generator: lambda encoder, value: encoder._generator(value),
    np.random.RandomState: lambda encoder, value: encoder._random_state(value),
}
