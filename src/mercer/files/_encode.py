"""From objects to plain records and arrays: what a file holds.

Values are written as JSON has them; everything else is an object with one key, its tag, and
docs/guides/model-file-format.md lists them. Objects stand in one list, each after all that it refers to,
so that reading needs no recursion from object to object and there is no way to write a cycle.
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
from mercer.files._rules import refuse_unsafe

#: lists in lists, objects in dicts, …
DEEPEST = 100
#: scalars of NumPy that JSON spells without loss
SHORT = ("|b1", "<i4", "<i8", "<f4", "<f8")
#: kinds of random numbers, and of sparse matrices
BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
SPARSE = ("csr_array", "csr_matrix", "csc_array", "csc_matrix")


class Encoder:
    """Collects objects and arrays; each is written once, however often it is referred to."""

    def __init__(self) -> None:
        self.objects: list[dict[str, Any]] = []
        self.arrays: dict[str, Array] = {}
        self._path = ["model"]
        self._open: set[int] = set()
        self._places: dict[int, Any] = {}
        self._verifier = Verifier()
        self._kept: list[Any] = []  # an id is that of one thing only while the thing is there

    def value(self, value: Any) -> Any:
        """A value as JSON."""
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
            return {"dtype": little(value).str if storable else self.refuse(f"the type {value}", "use another")}
        if isinstance(value, type):
            return {"type": name_of_type(value) or self.refuse(f"the class {value.__name__}", "leave it out")}
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
        return self._refuse_other(value)

    # Objects.

    def _object(self, name: str, thing: Any) -> Any:
        refuse_unsafe(thing, self._refuse_at)
        state, parts = {}, self._without_regrown(thing)
        for part, value in parts.items():
            with self._at(f".{part}"):
                if not _state.may_have(type(thing), part):
                    self.refuse("an attribute of that name", "delete it")
                state[part] = _requests(value) if part == _state.REQUESTS else self.value(value)
        self._verify(thing, parts)
        return self._added({"class": name, "state": state})

    def _without_regrown(self, thing: Any) -> dict[str, Any]:
        """Return the parts of an object without those that are made again when it is loaded."""
        cls: Any = type(thing)
        regrown = declaration_of(cls).regrow
        parts = _state.state_of(thing)
        return {name: part for name, part in parts.items() if name not in regrown or name_of_class(type(part))}

    def _verify(self, thing: Any, parts: dict[str, Any]) -> None:
        """Refuse what would be refused when it is loaded."""
        try:
            self._verifier.verify_object(thing, self._verifier.verify_state(type(thing), parts))
        except ContradictionError as refusal:
            place = "".join(self._path) + (f".{refusal.path}" if refusal.path else "")
            raise UnsavableError(
                f"{place} {refusal.why}, so that no model file of it could be loaded. Fit the model again, or set this "
                "attribute to what a fit makes of it."
            ) from None

    def _listed(self, value: Any) -> Any:
        """A value that others may refer to as well."""
        return self._added({"value": value})

    def _added(self, record: dict[str, Any]) -> Any:
        self.objects.append(record)
        return {"object": len(self.objects) - 1}

    def _shared(self, thing: Any, encode: Callable[[], Any]) -> Any:
        """Written once; what contains itself is refused."""
        if id(thing) not in self._places:
            with self._entered(thing):
                self._places[id(thing)] = encode()
            self._kept.append(thing)
        return self._places[id(thing)]

    @contextmanager
    def _entered(self, thing: Any) -> Iterator[None]:
        if id(thing) in self._open:
            self.refuse("an object that contains itself", "break the circle")
        if len(self._open) >= DEEPEST:
            self.refuse(f"something inside {DEEPEST} others", "make it flatter")
        self._open.add(id(thing))
        try:
            yield
        finally:
            self._open.discard(id(thing))

    # Arrays.

    def array(self, values: Array) -> Any:
        """An array, written once for all who refer to it."""
        return self._shared(values, lambda: self._array(np.asarray(values)))

    def _array(self, values: Array) -> Any:
        if values.dtype == object:
            return self._listed(self._things(values))
        if not is_storable(values.dtype):
            self.refuse(f"an array of {values.dtype}", "convert it to numbers or strings")
        plain, about = stored(values)
        return {"array": self._stored(plain), **about}

    def _stored(self, plain: Array) -> str:
        name = str(len(self.arrays))
        self.arrays[name] = plain
        return name

    def _things(self, values: Array) -> Any:
        """An array of Python objects: strings as bytes with offsets, others as a list."""
        things = values.reshape(-1).tolist()
        if things and all(type(thing) is str for thing in things):
            texts = Texts.of(things)
            packed = {"data": self._stored(texts.data), "offsets": self._stored(texts.offsets - texts.offsets[0])}
            return {"strings": packed, "shape": list(values.shape)}
        return {"things": self._list(things), "shape": list(values.shape)}

    def _scalar(self, value: np.generic) -> Any:
        if type(value) is np.str_ or value.dtype.str in SHORT:
            return {"scalar": self.value(value.item()), "dtype": "str" if type(value) is np.str_ else value.dtype.str}
        return {"scalar": self.array(np.asarray(value))}

    def _sparse(self, matrix: Any) -> Any:
        name = type(matrix).__name__
        if name not in SPARSE:
            self.refuse(f"a sparse matrix of the kind {name}", "give .tocsr() of it")
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
            keys = [self.value(key) for key in values]
            return {"dict": [keys, [self._entry(key, value) for key, value in values.items()]]}

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
            self.refuse(f"random numbers of {state['bit_generator']}", f"use one of {', '.join(BIT_GENERATORS)}")
        return self.value(state)

    # Refusals.

    @contextmanager
    def _at(self, part: str) -> Iterator[None]:
        self._path.append(part)
        try:
            yield
        finally:
            self._path.pop()

    def _refuse_at(self, part: str, what: str, remedy: str) -> Any:
        with self._at(part):
            return self.refuse(what, remedy)

    def refuse(self, what: str, remedy: str) -> Any:
        """Say what cannot be written, and where it is."""
        raise UnsavableError(f"{''.join(self._path)} is {what}, which no model file holds; {remedy}.")

    def _refuse_other(self, value: Any) -> Any:
        if callable(value) and not isinstance(value, type) and hasattr(value, "__name__"):
            remedy = "files never hold code: use a named option in its place, or set it to None before saving"
            return self.refuse(f"the function {value.__name__}", remedy)
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        return self.refuse(f"of the class {kind}", "save what is of mercer, numbers, strings and arrays of them")


def _requests(request: Any) -> Any:
    """Which metadata scikit-learn is to pass on, method by method."""
    asked = {method: dict(getattr(request, method).requests) for method in _methods(request)}
    return {"requests": {method: wanted for method, wanted in asked.items() if wanted}}


def _methods(request: Any) -> list[str]:
    return [name for name, value in vars(request).items() if hasattr(value, "requests")]


def _packed(values: bytes) -> str:
    return base64.b64encode(values).decode("ascii")


#: how values of a type, and not of one derived from it, are written
_SIMPLE: dict[type, Callable[[Encoder, Any], Any]] = {
    list: lambda encoder, value: encoder._list(value),
    tuple: lambda encoder, value: {"tuple": encoder._list(value)},
    dict: lambda encoder, value: encoder._dict(value),
    set: lambda encoder, value: {"set": encoder._list(sorted(value, key=repr))},
    frozenset: lambda encoder, value: {"frozenset": encoder._list(sorted(value, key=repr))},
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
