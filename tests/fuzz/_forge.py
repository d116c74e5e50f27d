"""Forged model files: whole ones with an array, a reference or a value changed, and a checksum that is right.

A mutation is made of the number of its seed alone, so that a find is repeated by its number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.files._arrays import STORED_TYPES
from tests.files._forged import signed, taken_apart
from tests.fuzz._mutate import SIZES, in_json

Array = NDArray[Any]

CODES = {dtype: code for code, dtype in STORED_TYPES.items()}
#: values that sizes, indices and numbers are replaced by
INTEGERS = (0, 1, -1, 2, 3, 7, 100, 255, 2**15, 2**31 - 1, -(2**31), 2**31, 10**8, 2**62, -(2**63))
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-308, 5e-324, 1e308, -1e308, 1e16, float("nan"), float("inf"), float("-inf"))
#: words that stand in for strings
WORDS = ("", "x", "auto", "rbf", "linear", "gaussian", "\0", "é" * 40, "nan", "float32", "y")


class Template:
    """A whole file, taken apart once, of which many forged ones are made."""

    def __init__(self, name: str, octets: bytes) -> None:
        self.name = name
        header, described, data = taken_apart(octets)
        self._metadata = json.dumps(header.pop("__metadata__"))
        self._described = json.dumps(described)
        self._arrays = {name: _array(about, data) for name, about in header.items()}

    @cached_property
    def classes(self) -> list[str]:
        """The classes of its objects."""
        return sorted({record["class"] for record in json.loads(self._described)["objects"] if "class" in record})

    def forged(self, rng: Random, names: list[str]) -> bytes:
        """The bytes of a file with one to three changes; `names` are classes that it may be made to name."""
        described, arrays = json.loads(self._described), dict(self._arrays)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            change = rng.choice(_CHANGES) if arrays else _change_state
            with suppress(
                AttributeError, IndexError, KeyError, OverflowError, TypeError
            ):  # of what an earlier change left
                described = change(described, arrays, rng, names) or described
        return assembled(json.loads(self._metadata), described, arrays)


def assembled(metadata: dict[str, Any], described: Any, arrays: dict[str, Array]) -> bytes:
    """The bytes of a file with a right checksum."""
    header: dict[str, Any] = {"__metadata__": metadata | {"model": json.dumps(described)}}
    pieces, place = [], 0
    for name, values in arrays.items():
        octets = np.ascontiguousarray(values).tobytes()
        header[name] = {
            "dtype": CODES[values.dtype.str],
            "shape": list(values.shape),
            "data_offsets": [place, place + len(octets)],
        }
        place += len(octets)
        pieces.append(octets)
    return signed(header, b"".join(pieces))


def _array(about: dict[str, Any], data: bytes) -> Array:
    begin, end = about["data_offsets"]
    return np.frombuffer(data[begin:end], dtype=STORED_TYPES[about["dtype"]]).reshape(about["shape"])


def _holders(described: Any, key: str) -> list[dict[str, Any]]:
    """Every object of JSON with that key."""
    return [value for value in _objects(described) if key in value]


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)


def _random_number(rng: Random, dtype: np.dtype[Any], values: Array) -> Any:
    """A number of that type: a special one, one of the array, or one next to it."""
    if dtype.kind == "b":
        return rng.random() < 0.5
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return dtype.type(rng.choice(FLOATS))
    limits = np.iinfo(dtype)
    near = int(values.reshape(-1)[rng.randrange(values.size)]) + rng.choice((-1, 1, 10)) if values.size else 0
    return dtype.type(min(max(rng.choice((*INTEGERS, near, near, near)), limits.min), limits.max))


def _change_values(described: Any, arrays: dict[str, Array], rng: Random, names: list[str]) -> None:
    """Some numbers of an array, or their order."""
    name = rng.choice(list(arrays))
    values = arrays[name].copy()
    if not values.size:
        return
    flat = values.reshape(-1)
    match rng.randrange(6):
        case 0:
            flat[:] = _random_number(rng, values.dtype, values)
        case 1:
            flat[:] = flat[::-1].copy()
        case 2 if values.dtype.kind != "b":
            with np.errstate(all="ignore"):
                flat[:] = (flat * values.dtype.type(rng.choice((0, 2, 1000)))).astype(values.dtype)
        case 3:
            flat[-1] = _random_number(rng, values.dtype, values)
        case _:
            for _ in range(rng.choice((1, 1, 3))):
                flat[rng.randrange(flat.size)] = _random_number(rng, values.dtype, values)
    arrays[name] = values


def _change_shape(described: Any, arrays: dict[str, Array], rng: Random, names: list[str]) -> None:
    """A row or column less or more, none, another axis, or the axes swapped."""
    name = rng.choice(list(arrays))
    values = arrays[name]
    axis = rng.randrange(values.ndim) if values.ndim else 0
    match rng.randrange(7):
        case 0 if values.ndim and values.shape[axis]:
            values = np.delete(values, -1, axis=axis)
        case 1 if values.size:
            values = np.concatenate([np.atleast_1d(values)] * rng.choice((2, 2, 5)), axis=axis)
        case 2 if values.ndim:
            values = values[:0] if axis == 0 else values[:, :0]
        case 3:
            values = values[np.newaxis] if rng.random() < 0.5 else values[..., np.newaxis]
        case 4 if values.ndim > 1:
            values = values.swapaxes(0, -1)
        case 5:
            values = values.reshape(-1)
        case _ if values.size:
            values = values.reshape(-1)[: rng.choice((1, 2, values.size // 2))]
            values = values.reshape(()) if values.size == 1 and rng.random() < 0.3 else values
    arrays[name] = np.ascontiguousarray(values).reshape(values.shape)


def _change_dtype(described: Any, arrays: dict[str, Array], rng: Random, names: list[str]) -> None:
    """Another type, in the header and in the description."""
    name = rng.choice(list(arrays))
    dtype = rng.choice(list(CODES))
    with np.errstate(all="ignore"):
        arrays[name] = arrays[name].astype(dtype)
    for holder in _holders(described, "array"):
        if holder["array"] == name:
            holder["dtype"] = dtype
            if rng.random() < 0.2:
                holder["order"] = "F"


def _change_references(described: Any, arrays: dict[str, Array], rng: Random, names: list[str]) -> None:
    """An array or an object that is another one of the file, or the same as another."""
    key = rng.choice(("array", "object"))
    holders = _holders(described, key)
    if len(holders) < 2:
        return
    one, other = rng.sample(holders, 2)
    if rng.random() < 0.5:
        one[key], other[key] = other[key], one[key]
    else:
        one.update(other)


def _change_class(described: Any, arrays: dict[str, Array], rng: Random, names: list[str]) -> None:
    """An object of another class, or with the state of another."""
    records = [record for record in described["objects"] if "class" in record]
    if not records:
        return
    record = rng.choice(records)
    if rng.random() < 0.5:
        record["class"] = rng.choice(names)
    else:
        record["state"] = json.loads(json.dumps(rng.choice(records)["state"]))


def _change_state(described: Any, arrays: dict[str, Array], rng: Random, names: list[str]) -> None:
    """One part of one object: left out, swapped with another, or another value."""
    records = [record for record in described["objects"] if record.get("state")]
    if not records:
        return
    state = rng.choice(records)["state"]
    part = rng.choice(list(state))
    match rng.randrange(6):
        case 0:
            del state[part]
        case 1:
            other = rng.choice(list(state))
            state[part], state[other] = state[other], state[part]
        case 2:
            state[part] = rng.choice((None, True, False, [], {"dict": [[], []]}, {"tuple": []}, "x", 0, -1, 2.5))
        case _:
            state[part] = _changed_leaf(state[part], rng)


def _changed_leaf(value: Any, rng: Random) -> Any:
    """A value with one number, string or entry in it changed."""
    if isinstance(value, bool):
        return rng.choice((not value, 3, None))
    if isinstance(value, int | float):
        return rng.choice((value + 1, value - 1, -value, *INTEGERS, 0.5, {"float": rng.choice(("nan", "inf", "-inf"))}))
    if isinstance(value, str):
        return rng.choice(WORDS)
    if isinstance(value, list) and value:
        place = rng.randrange(len(value))
        match rng.randrange(5):
            case 0:
                return value[:place] + value[place + 1 :]
            case 1:
                return value[: place + 1] + value[place:]
            case _:
                return [*value[:place], _changed_leaf(value[place], rng), *value[place + 1 :]]
    if isinstance(value, dict) and value:
        key = rng.choice(list(value))
        return {**value, key: _changed_leaf(value[key], rng)}
    return rng.choice((1, "x", [], {"array": "0", "dtype": "<f8"}, {"object": 0}))


def _change_json(described: Any, arrays: dict[str, Array], rng: Random, names: list[str]) -> Any:
    """Any place of the description."""
    return in_json(described, rng, [*names[:1], *SIZES, rng.choice(names)])


_CHANGES: tuple[Callable[[Any, dict[str, Array], Random, list[str]], Any], ...] = (
    *(_change_values,) * 4,
    *(_change_shape,) * 4,
    *(_change_dtype,) * 2,
    *(_change_references,) * 2,
    *(_change_state,) * 5,
    _change_class,
    _change_json,
)
