"""Small files that would expand or take endless time raise an error before anything is built."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder

import mercer
from mercer import kernels, load, save
from mercer._errors import ModelFileError, UnsavableError
from mercer.files._encode import MAX_DEPTH
from mercer.kernels._counting import Runs
from mercer.matrices.streamed import SurveyLevels
from tests.files._cases import numbers
from tests.files._forged import forged, octets_of, read, record_of, signed, taken_apart
from tests.files._slow_keys import slow_keys


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return an empty file."""
    return octets_of(None, tmp_path_factory.mktemp("small"))


def rejected(objects: list[Any], model: Any, small: bytes, folder: Path) -> None:
    with pytest.raises(ModelFileError, match="too many values"):
        read(forged(small, lambda d: d.update(objects=objects, model=model)), folder)


def pair(one: int) -> Any:
    return {"value": {"tuple": [{"object": one}, {"object": one}]}}


def sum_of(one: int) -> Any:
    return {"class": "Sum", "state": {"k1": {"object": one}, "k2": {"object": one}}}


@pytest.mark.parametrize(
    ("first", "next_one"),
    [
        ({"value": {"tuple": [1, 2]}}, pair),
        ({"class": "Linear", "state": {}}, sum_of),
    ],
    ids=["tuples", "kernels"],
)
def test_objects_that_contain_the_previous_one_twice_are_rejected(
    first: Any, next_one: Callable[[int], Any], small: bytes, tmp_path: Path
) -> None:
    """Sixty such objects have 2⁶⁰ parts, all of which are hashed if they are a key of a dict."""
    objects = [first, *map(next_one, range(60))]
    rejected(objects, {"dict": [[{"object": 60}], [1]]}, small, tmp_path)


def test_deeply_nested_objects_are_rejected(small: bytes, tmp_path: Path) -> None:
    """Python hashes nested tuples by unbounded recursion in C, which crashes the process."""
    n = 10 * MAX_DEPTH
    objects = [{"value": {"tuple": [{"object": i - 1} if i else 1]}} for i in range(n)]
    rejected(objects, {"set": [{"object": n - 1}]}, small, tmp_path)


def test_deeply_nested_lists_are_rejected(small: bytes, tmp_path: Path) -> None:
    deep: Any = 1
    for _ in range(150):
        deep = [deep]
    rejected([], deep, small, tmp_path)
    header, _, data = taken_apart(small)
    header["__metadata__"]["model"] = "[" * 100_000
    with pytest.raises(ModelFileError):
        read(signed(header, data), tmp_path)


def test_the_deepest_object_that_can_be_saved_can_be_loaded(tmp_path: Path) -> None:
    value: Any = [kernels.RBF(1.0), 2j, slice(1, 2)]
    for _ in range(MAX_DEPTH - 2):
        value = [value]
    save(value, tmp_path / "deep")
    assert load(tmp_path / "deep") == value
    with pytest.raises(UnsavableError):
        save([[value]], tmp_path / "deeper")


@pytest.mark.parametrize(
    "value", [np.array(["a", "b"], dtype=object), pa.table({"n": [1, 2]})], ids=["strings", "frame"]
)
def test_compressed_bytes_are_expanded_only_once(value: Any, tmp_path: Path) -> None:
    octets = octets_of(value, tmp_path)
    with pytest.raises(ModelFileError, match="read already"):
        read(forged(octets, lambda d: d.update(objects=d["objects"] * 2)), tmp_path)


@pytest.mark.parametrize(
    "text", ['{"objects":[],"objects":[],"model":1}', '{"objects":[],"model":NaN}', '{"objects":[],"model":-Infinity}']
)
def test_ambiguous_json_is_rejected(text: str, small: bytes, tmp_path: Path) -> None:
    header, _, data = taken_apart(small)
    header["__metadata__"]["model"] = text
    with pytest.raises(ModelFileError, match=r"occurs twice|not valid JSON"):
        read(signed(header, data), tmp_path)


def test_an_array_described_twice_is_rejected(tmp_path: Path) -> None:
    octets = octets_of(mercer.GaussianNB().fit(numbers().X, numbers().y), tmp_path)
    header, _, data = taken_apart(octets)
    raw = signed(header, data)[8:]
    name = next(name for name in header if name != "__metadata__")
    doubled = f'{{"{name}":{json.dumps(header[name])},'.encode() + raw[1:]
    length = int.from_bytes(octets[:8], "little") + len(doubled) - len(raw)
    with pytest.raises(ModelFileError, match="occurs twice"):
        read(length.to_bytes(8, "little") + doubled, tmp_path)


def test_a_huge_degree_of_splines_is_rejected(tmp_path: Path) -> None:
    octets = octets_of(mercer.SplineFeatures().fit(numbers().X), tmp_path)

    with pytest.raises(ModelFileError, match="degree"):
        read(forged(octets, lambda d: record_of(d, "Splines")["state"].update(degree=10**6)), tmp_path)


def test_a_huge_number_of_processes_is_rejected(tmp_path: Path) -> None:
    model = make_pipeline(ColumnTransformer([("same", "passthrough", [0])], n_jobs=10**6))
    with pytest.raises(UnsavableError, match=r"model\.steps\[0\]\[1\]\.n_jobs"):
        save(model, tmp_path / "model.mercer")
    octets = octets_of(model.set_params(columntransformer__n_jobs=-1), tmp_path)
    with pytest.raises(ModelFileError, match="n_jobs"):
        read(forged(octets, lambda d: d["objects"][0]["state"].update(n_jobs=10**6)), tmp_path)


@pytest.mark.parametrize("kind", ["set", "frozenset", "dict"])
def test_keys_with_equal_hashes_are_rejected(kind: str, small: bytes, tmp_path: Path) -> None:
    """Python hashes integers modulo 2⁶¹ − 1, so that sets of chosen integers take quadratic time."""
    keys = [i * (2**61 - 1) for i in range(20_000)]
    value = {kind: [keys, keys] if kind == "dict" else keys}
    with pytest.raises(ModelFileError, match="have the same hash"):
        read(forged(small, lambda d: d.update(model=value)), tmp_path)


def test_integers_that_collide_in_the_table_of_a_dict_are_rejected(small: bytes, tmp_path: Path) -> None:
    """Their hashes differ, but each is compared with thousands of others, which takes quadratic time."""
    keys = slow_keys(17, 43_000)
    with pytest.raises(ModelFileError, match="takes too long"):
        read(forged(small, lambda d: d.update(model={"dict": [keys, keys]})), tmp_path)


def test_columns_of_a_kernel_that_collide_in_a_set(tmp_path: Path) -> None:
    """The kernel compares its columns without a set."""
    octets = octets_of(kernels.Columns(kernels.RBF(1.0), (0, 2)), tmp_path)
    columns = [i * (2**61 - 1) for i in range(20_000)]
    begin = time.thread_time()
    with suppress(ModelFileError):
        read(
            forged(octets, lambda d: record_of(d, "ColumnsKernel")["state"].update(columns={"tuple": columns})),
            tmp_path,
        )
    assert time.thread_time() - begin < 1.0  # a set takes 9 s


@pytest.mark.parametrize("container", [dict.fromkeys, set], ids=["dict", "set"])
@pytest.mark.parametrize("step", [1, 1.1, 2**32])
def test_many_numbers_as_keys_are_saved_and_loaded(
    container: Callable[[Any], Any], step: float, tmp_path: Path
) -> None:
    value = container([i * step for i in range(30_000)])
    save(value, tmp_path / "many")
    assert load(tmp_path / "many") == value


def test_arrays_that_many_objects_share_are_counted_for_each(tmp_path: Path) -> None:
    """Each object verifies its arrays: 40,000 objects with the same 16 MB would take minutes."""
    n = 100_000
    octets = octets_of(Runs(np.arange(n), np.arange(1, n + 1)), tmp_path)
    whole = read(forged(octets, lambda d: d.update(objects=d["objects"] * 100)), tmp_path)
    assert len(whole.words) == n
    with pytest.raises(ModelFileError, match="too often"):
        read(forged(octets, lambda d: d.update(objects=d["objects"] * 3000)), tmp_path)


def test_arrays_inside_shared_objects_are_counted_for_each(tmp_path: Path) -> None:
    n = 100_000
    octets = octets_of(Runs(np.arange(n), np.arange(1, n + 1)), tmp_path)
    more = [{"value": {"tuple": [{"object": 0}]}}] * 3000
    with pytest.raises(ModelFileError, match="too often"):
        read(forged(octets, lambda d: d["objects"].extend(more)), tmp_path)


def test_values_that_many_objects_share_are_counted_for_each(small: bytes, tmp_path: Path) -> None:
    objects = [{"value": [1.5] * 50_000}, *[{"value": {"tuple": [{"object": 0}]}}] * 1000]
    rejected(objects, None, small, tmp_path)


def test_missing_values_of_many_columns_are_counted_together(tmp_path: Path) -> None:
    """A column of nulls takes no bytes: 300 columns of a million rows would take 2.4 GB."""
    table = pa.table({f"x{j}": pa.nulls(1_000_000) for j in range(30)})
    octets = octets_of(table, tmp_path)
    assert len(octets) < 10_000
    with pytest.raises(ModelFileError):
        read(octets, tmp_path)


def test_values_are_bounded_by_the_length_of_the_file(small: bytes, tmp_path: Path) -> None:
    """Twenty-two objects that contain the previous one twice are four million values in a kilobyte."""
    objects = [{"value": {"tuple": [1, 2]}}, *map(pair, range(21))]
    rejected(objects, {"object": 21}, small, tmp_path)


@pytest.mark.parametrize(
    "keys", [slow_keys(17, 43_000), [i * (2**61 - 1) for i in range(20_000)]], ids=["table", "hash"]
)
@pytest.mark.parametrize("owner", ["labels", "levels"])
def test_labels_that_collide_in_the_dicts_of_methods(owner: str, keys: list[int], tmp_path: Path) -> None:
    """Methods look up labels and levels in dicts, which are not in the file."""
    labels = {"things": keys, "shape": [len(keys)]}
    if owner == "labels":
        octets = octets_of(LabelEncoder().fit([0, 1]), tmp_path)
        change = {"LabelEncoder": {"classes_": labels}}
    else:
        octets = octets_of(SurveyLevels((0, 1), (1,)), tmp_path)
        change = {"SurveyLevels": {"declared": {"tuple": keys}}}

    def forge(described: Any) -> None:
        for name, parts in change.items():
            record_of(described, name)["state"].update(parts)

    begin = time.thread_time()
    with pytest.raises(ModelFileError, match=r"have the same hash|takes too long"):
        read(forged(octets, forge), tmp_path)
    assert time.thread_time() - begin < 3.0  # 6 and 9 s in a dict


def test_repeated_and_many_labels_are_loaded(tmp_path: Path) -> None:
    for labels in (np.zeros(100_000), np.arange(100_000) * 2**32, np.arange(100_000) / 3):
        encoder = LabelEncoder()
        encoder.classes_ = labels
        save(encoder, tmp_path / "many")
        assert (load(tmp_path / "many").classes_ == labels).all()
